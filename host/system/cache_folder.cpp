#include "host/system/cache_folder.hpp"

#include <fmt/format.h>
#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <mutex>
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

// True for a group that has the user's name and no other members, which Debian, Ubuntu and Fedora give every user.
bool is_private(gid_t group, uid_t user) {
  static std::mutex mutex;  // the answers of getpwuid() and getgrgid() are shared
  const std::lock_guard lock(mutex);
  const passwd* account = ::getpwuid(user);
  const std::string name = account != nullptr ? account->pw_name : "";
  const struct group* found = ::getgrgid(group);
  if (name.empty() || found == nullptr || name != found->gr_name) return false;
  for (char** member = found->gr_mem; *member != nullptr; ++member)
    if (name != *member) return false;
  return true;
}

}  // namespace

fs::path user_cache_folder() {
  fs::path folder = of_environment("XDG_CACHE_HOME");
  if (const fs::path home = of_environment("HOME"); folder.empty() && !home.empty()) folder = home / ".cache";
  return !folder.empty() && can_be_written(folder) ? folder : fs::path{};
}

std::string changeable_by_others(const fs::path& path) {
  struct stat found {};
  if (::stat(path.c_str(), &found) != 0) return {};
  if (found.st_uid != ::geteuid() && found.st_uid != 0) return "it belongs to another user";
  const bool by_group = (found.st_mode & S_IWGRP) != 0 && !is_private(found.st_gid, found.st_uid);
  if (by_group || (found.st_mode & S_IWOTH) != 0) return "other users may write to it";
  return {};
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
