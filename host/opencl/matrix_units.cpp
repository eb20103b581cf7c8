#include "host/opencl/matrix_units.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace halocline {
namespace {

template <std::size_t N>
bool begins_with_one_of(const std::string& name, const std::array<std::string_view, N>& beginnings) {
  return std::any_of(beginnings.begin(), beginnings.end(), [&](auto beginning) { return name.starts_with(beginning); });
}

}  // namespace

MatrixUnits matrix_units_of(const DeviceInfo& device) {
  constexpr std::array<std::string_view, 4> cdna{"gfx908", "gfx90a", "gfx94", "gfx950"};
  constexpr std::array<std::string_view, 3> rdna{"gfx110", "gfx115", "gfx120"};
  constexpr unsigned of_xe_hpg = 8, of_xe_hpc = 16;
  if (device.platform.find("NVIDIA") != std::string::npos) return MatrixUnits::nvidia;
  if (device.platform.find("AMD") != std::string::npos) {
    if (begins_with_one_of(device.name, cdna)) return MatrixUnits::amd_64;
    if (begins_with_one_of(device.name, rdna)) return MatrixUnits::amd_32;
  }
  if (device.matrix_lanes == of_xe_hpg) return MatrixUnits::intel_8;
  if (device.matrix_lanes == of_xe_hpc) return MatrixUnits::intel_16;
  return MatrixUnits::none;
}

}  // namespace halocline
