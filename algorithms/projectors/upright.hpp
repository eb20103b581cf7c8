// Forward projection of upright scans (RayTable::upright()): a circular scan about k without tilt. The rays of a
// detector column differ along k alone, so GPUs take them side by side, with slices innermost (cl/upright.clh).
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "algorithms/projectors/rays.hpp"
#include "algorithms/support/kernel_numbers.hpp"
#include "host/opencl/device_info.hpp"
#include "scheduling/planning/plan.hpp"

namespace halocline {

class Projector;

/// Form of the kernels and of their stacks of voxels.
struct UprightForm {
  int halo = 1;               ///< slices above a slab that its rays read; places before those held, and after them
  int views = 4;              ///< of a work-group: neighbours that pass nearly the same voxels, else 1
  int lines = 0, voxels = 0;  ///< distance-driven: lines along k and slices that a pixel's shadow may touch

  static constexpr std::size_t group = 128;     ///< work-items of a group
  static constexpr std::size_t depth_step = 4;  ///< of which the depth of the stacks is a multiple
  std::size_t depth(std::size_t held) const {
    return parts_of(held + 2 * static_cast<std::size_t>(halo), depth_step) * depth_step;
  }
  std::string options() const;
};

/// Empty if the projector has no such form for the scan: Joseph's and distance-driven for upright ones, the latter with
/// pixels of up to three voxels.
std::optional<UprightForm> upright_form(const RayTable& table, const Grid& volume, const Projector& projector);

/// Key of upright projection in Tuning::choices; its value: rays_form, for other forms.
inline constexpr const char* upright_form_choice = "projection of columns of rays";

/// True if project() and solvers take it where there is one: with enough detector rows, on devices that were measured
/// to be faster with it. Joseph's has the bits of the other forms.
bool upright_pays(std::span<const DeviceModel> devices, const Projector& projector, const Grid& projections);

}  // namespace halocline
