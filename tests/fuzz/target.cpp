#include "tests/fuzz/target.hpp"

#include <spdlog/spdlog.h>

#include <cstddef>
#include <fstream>
#include <stdexcept>

#include "apps/command.hpp"
#include "apps/images/image_file.hpp"
#include "host/system/captured_stderr.hpp"
#include "host/system/error.hpp"
#include "host/system/log.hpp"
#include "host/system/temporary_folder.hpp"

namespace halocline::fuzz {

std::map<std::string, Target>& targets() {
  static std::map<std::string, Target> all;
  return all;
}

void run(Target target, const std::string& bytes) {
  spdlog::set_level(spdlog::level::off);
  library_log()->set_level(spdlog::level::off);
  try {
    target(bytes);
  } catch (const Error&) {
  }
}

std::string path_of(const std::string& name) {
  static const TemporaryFolder folder("halocline-fuzz");
  return folder / name;
}

std::string file_of(const std::string& name, const std::string& bytes) {
  std::string path = path_of(name);
  std::ofstream(path, std::ios::binary | std::ios::trunc)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  return path;
}

void require(bool good, const std::string& what) {
  if (!good) throw std::logic_error("a finding: " + what);
}

std::optional<Volume> read_any_image(const std::string& path) {
  const ImageInfo info = read_image_info(path);
  check_image_file(path);
  const auto source = open_image(path, true);
  constexpr std::size_t most = 4096;
  return info.grid.count() <= most ? std::optional(read_volume(*source)) : std::nullopt;
}

void run_words(const std::vector<std::string>& words) {
  std::vector<const char*> argv{"halocline"};
  for (const std::string& word : words) argv.push_back(word.c_str());
  const CapturedStderr captured("halocline");
  const int code = run_command(static_cast<int>(argv.size()), argv.data());
  require(code == 0 || code == 2, "exit code " + std::to_string(code));
}

}  // namespace halocline::fuzz
