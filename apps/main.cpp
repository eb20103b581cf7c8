#include <fcntl.h>

#include <cerrno>
#include <string_view>

#include "apps/command.hpp"
#include "apps/images/image_reader_process.hpp"

namespace {

// Standard files that are closed would become those that are opened next, and text would go into them. Writing to their
// substitutes fails, as to a closed file.
void open_standard_files() {
  for (int file = 0; file <= 2; ++file)
    if (::fcntl(file, F_GETFD) == -1 && errno == EBADF) (void)::open("/dev/null", file == 0 ? O_WRONLY : O_RDONLY);
}

}  // namespace

int main(int argc, char** argv) {
  open_standard_files();
  if (argc == 2 && std::string_view(argv[1]) == halocline::reader_word && halocline::run_image_reader()) return 0;
  halocline::read_images_in_process_of("/proc/self/exe");
  return halocline::run_command(argc, argv);
}
