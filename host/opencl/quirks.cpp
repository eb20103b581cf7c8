#include "host/opencl/quirks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

namespace halocline {
namespace {

bool contains(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

constexpr std::size_t four_gibibytes = std::size_t{1} << 32;

bool is_pocl(const DeviceInfo& device) {
  return device.platform == "Portable Computing Language";
}

// "3.1+debian" is {3, 1}; what cannot be read is taken for new.
std::array<int, 2> version_of(const std::string& driver) {
  constexpr int unknown = std::numeric_limits<int>::max();
  std::array<int, 2> version{unknown, unknown};
  const char* const end = driver.data() + driver.size();
  const auto major = std::from_chars(driver.data(), end, version[0]);
  if (major.ec != std::errc{} || major.ptr == end || *major.ptr != '.') return {unknown, unknown};
  std::from_chars(major.ptr + 1, end, version[1]);
  return version;
}

}  // namespace

// Quirks by platform, not by vendor: the driver has the quirk, and PoCL or rusticl may drive the same device.
Quirks quirks_of(const DeviceInfo& device) {
  Quirks quirks;
  if (contains(device.platform, "NVIDIA")) {
    quirks.fill_with_kernel = true;
    quirks.allocations_beyond_max = true;
    // native_rsqrt is the instruction of rsqrt, with the same error (2 ulp), except for numbers below 1e-38, which
    // rsqrt scales first, as are native_exp2 and exp2; native_recip is one instruction with an error of 1 ulp instead
    // of ten.
    quirks.build_options = "-D INVERSE_ROOT=native_rsqrt -D EXP2=native_exp2 -D RECIPROCAL=native_recip";
  }
  if (contains(device.platform, "Intel") && device.type == "gpu" && device.global_memory > four_gibibytes) {
    // Addresses in kernels are 32 bits wide without both, and buffers end at 4 GB.
    quirks.build_options = "-cl-intel-greater-than-4GB-buffer-required";
    quirks.large_allocations = true;
  }
  // rsqrt of a vector differs from that of a number in the last bits there, and so would forms of one method.
  if (contains(device.platform, "Intel") && device.cpu()) quirks.build_options = "-DINVERSE_ROOT(x)=(1.0f/sqrt(x))";
  // PoCL's compiler prints the number of warnings to stderr, whatever the log is for.
  if (is_pocl(device)) {
    quirks.build_options = "-w";
    quirks.builds_before_binary = 16;
  }
  // Oclgrind lacks the intrinsics that inlining makes of restrict.
  if (contains(device.platform, "Oclgrind")) quirks.build_options = "-D restrict=";
  return quirks;
}

std::string program_options(const DeviceInfo& device, const std::string& file, const std::string& options) {
  // PoCL 6.0 (LLVM 18) ends the process while it optimises these kernels: "Instruction Combining did not reach a
  // fixpoint".
  const bool weighted_variant = file == "pdu_variant.cl" && contains(options, "WEIGHTED");
  const bool fixpoint = is_pocl(device) && version_of(device.driver) == std::array{6, 0} && weighted_variant;
  // Intel's runtimes for CPUs (2025.3, 2026.2) end it in their compiler's selection of instructions for a form that no
  // job takes on a CPU.
  const bool groups_variant = file == "tvgd_variant.cl" && contains(options, "MARCH_Z");
  const bool selection = contains(device.platform, "Intel") && device.cpu() && groups_variant;
  if (fixpoint || selection) return "-cl-opt-disable";
  // The sums of matrix units take more than the 128 registers that a thread of Intel's GPUs has else.
  const bool sums = file == "matrix.cl" && contains(options, "UNITS_INTEL");
  return sums && contains(device.platform, "Intel") ? "-cl-intel-256-GRF-per-thread" : "";
}

std::string refusal(const DeviceInfo& device) {
  const auto version = version_of(device.driver);
  if (is_pocl(device) && version < std::array{3, 1})
    return fmt::format("PoCL {} ends the process while it compiles kernels; PoCL 3.1 and later work", device.driver);
  if (contains(device.platform, "rusticl") && version < std::array{23, 0})
    return fmt::format("rusticl of Mesa {} ends the process while kernels run; Mesa 25.0 works, and so does PoCL 3.1",
                       device.driver);
  if (device.address_bits < 64)
    return fmt::format("its addresses have {} bits, and 64 are needed", device.address_bits);
  return {};
}

bool is_hopper(const std::string& platform, const std::string& name) {
  return contains(platform, "NVIDIA") && (contains(name, "H200") || contains(name, "H100"));
}

std::size_t usable_local_memory(const DeviceInfo& device) {
  return std::max<std::size_t>(device.local_memory, is_hopper(device.platform, device.name) ? 96 << 10 : 0);
}

bool pocl_sub_devices_lack_images(const DeviceInfo& device) {
  return is_pocl(device);
}

bool pocl_frees_sub_devices_in_use(const DeviceInfo& device) {
  return is_pocl(device);
}

}  // namespace halocline
