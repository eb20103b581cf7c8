#include "apps/options/machine_file.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <vector>

#include "host/system/error.hpp"

namespace halocline {
namespace {

namespace fs = std::filesystem;

// Folders beside the command, as it is installed and as it is built.
fs::path machines_folder() {
  std::error_code code;
  const fs::path program = fs::read_symlink("/proc/self/exe", code);
  return (program.parent_path() / HALOCLINE_DATA_FROM_BIN / "machines").lexically_normal();
}

std::vector<std::string> machine_names() {
  std::vector<std::string> names;
  std::error_code code;
  for (const auto& entry : fs::directory_iterator(machines_folder(), code))
    if (entry.path().extension() == ".json") names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

std::string machine_file(const std::string& path_or_name) {
  std::error_code code;
  if (fs::exists(path_or_name, code) || code == std::errc::permission_denied) return path_or_name;
  const auto names = machine_names();
  if (std::find(names.begin(), names.end(), path_or_name) != names.end())
    return (machines_folder() / (path_or_name + ".json")).string();
  throw InputError(fmt::format("--machine '{}' does not exist; give the path of a JSON description{}", path_or_name,
                               names.empty() ? "" : fmt::format(", or one of: {}", fmt::join(names, ", "))));
}

}  // namespace halocline
