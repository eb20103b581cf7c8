#include <string_view>

#include "apps/command.hpp"
#include "apps/images/image_reader_process.hpp"

int main(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == halocline::reader_word && halocline::run_image_reader()) return 0;
  halocline::read_images_in_process_of("/proc/self/exe");
  return halocline::run_command(argc, argv);
}
