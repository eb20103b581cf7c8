#include "host/system/cache_folder.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <system_error>

namespace halocline {
namespace {

namespace fs = std::filesystem;

bool can_be_written(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  return !error && ::access(folder.c_str(), W_OK | X_OK) == 0;
}

fs::path of_environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

}  // namespace

fs::path user_cache_folder() {
  fs::path folder = of_environment("XDG_CACHE_HOME");
  if (const fs::path home = of_environment("HOME"); folder.empty() && !home.empty()) folder = home / ".cache";
  return !folder.empty() && can_be_written(folder) ? folder : fs::path{};
}

fs::path temporary_cache_folder() {
  std::error_code error;
  const fs::path parent = fs::temp_directory_path(error);
  if (error) return {};
  const fs::path folder = parent / fmt::format("halocline-{}", ::geteuid());
  ::mkdir(folder.c_str(), S_IRWXU);
  struct stat found {};
  const bool ours = ::lstat(folder.c_str(), &found) == 0 && S_ISDIR(found.st_mode) && found.st_uid == ::geteuid() &&
                    (found.st_mode & (S_IWGRP | S_IWOTH)) == 0;
  return ours ? folder : fs::path{};
}

}  // namespace halocline
