#include "host/opencl/driver_environment.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "host/system/cache_folder.hpp"

namespace halocline {
namespace {

constexpr int keep_what_is_set = 0;

void set_cache() {
  if (std::getenv("POCL_CACHE_DIR") != nullptr || !user_cache_folder().empty()) return;
  if (const auto folder = temporary_cache_folder(); !folder.empty())
    ::setenv("POCL_CACHE_DIR", (folder / "pocl").c_str(), keep_what_is_set);
}

void set_topology() {
  std::error_code ignored;
  if (std::filesystem::exists("/sys/devices/system/cpu", ignored)) return;
  const long units = std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN));
  const long pages = ::sysconf(_SC_PHYS_PAGES), bytes = ::sysconf(_SC_PAGESIZE);
  if (pages <= 0 || bytes <= 0) return;
  ::setenv("HWLOC_SYNTHETIC", fmt::format("numa:1(memory={}) pu:{}", pages * bytes, units).c_str(), keep_what_is_set);
}

}  // namespace

void prepare_drivers() {
  set_cache();
  set_topology();
}

}  // namespace halocline
