#include "host/quirks.hpp"

#include <algorithm>

namespace halocline {
namespace {

bool contains(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

constexpr std::size_t four_gibibytes = std::size_t{1} << 32;

}  // namespace

// By platform, not by vendor: the driver has the quirk, and PoCL or rusticl may drive the same device.
Quirks quirks_of(const DeviceInfo& device) {
  Quirks quirks;
  if (contains(device.platform, "NVIDIA")) {
    quirks.fill_with_kernel = true;
    quirks.allocations_beyond_max = true;
    // The same instruction with the same error (2 ulp), but for numbers below 1e-38, which rsqrt scales first; and one
    // instruction with an error of 1 ulp instead of ten.
    quirks.build_options = "-D INVERSE_ROOT=native_rsqrt -D RECIPROCAL=native_recip";
  }
  if (contains(device.platform, "Intel") && device.type == "gpu" && device.global_memory > four_gibibytes) {
    // Without both, addresses in kernels are 32 bits wide and buffers end at 4 GB.
    quirks.build_options = "-cl-intel-greater-than-4GB-buffer-required";
    quirks.large_allocations = true;
  }
  // Its compiler prints how many warnings there were to stderr, whatever the log is for.
  if (contains(device.platform, "Portable Computing Language")) quirks.build_options = "-w";
  // It does not know the intrinsics that inlining makes of restrict.
  if (contains(device.platform, "Oclgrind")) quirks.build_options = "-D restrict=";
  return quirks;
}

bool is_hopper(const std::string& platform, const std::string& name) {
  return contains(platform, "NVIDIA") && (contains(name, "H200") || contains(name, "H100"));
}

std::size_t usable_local_memory(const DeviceInfo& device) {
  return std::max<std::size_t>(device.local_memory, is_hopper(device.platform, device.name) ? 96 << 10 : 0);
}

bool pocl_sub_devices_lack_images(const DeviceInfo& device) {
  return device.platform == "Portable Computing Language";
}

bool pocl_frees_sub_devices_in_use(const DeviceInfo& device) {
  return device.platform == "Portable Computing Language";
}

}  // namespace halocline
