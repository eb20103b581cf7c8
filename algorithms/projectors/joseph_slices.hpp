// Scans whose rays run within slices of the volume: a parallel beam across k, or a fan beam of one row. Joseph's
// projector and its adjoint have forms for them in which slices are innermost (cl/joseph_slices.cl,
// cl/joseph_slices_adjoint.cl).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "algorithms/projectors/rays.hpp"
#include "host/opencl/device_info.hpp"
#include "scheduling/planning/plan.hpp"

namespace halocline {

/// Position of detector rows relative to slices. aligned: row row_of_0 + row_step * k is on slice k, in every view and
/// to the last bit; row_step is 1 or -1. Otherwise rows are anywhere.
struct SliceRows {
  bool aligned = false;
  std::int32_t row_of_0 = 0, row_step = 1;

  /// Options of the kernels.
  std::string options() const;
  /// Slices, or rows if they are not aligned, of a work-item.
  std::size_t each() const { return aligned ? 4 : 1; }
};

/// Voxels of a slice: kernels count those of a block with an int.
inline constexpr std::size_t most_slice_voxels = std::size_t{1} << 25;

/// Empty unless k is one number for each row of a view, to the last bit, whatever the column. Empty for larger slices.
std::optional<SliceRows> slice_rows(const RayTable& table, const Grid& volume, const Grid& projections);

/// Slices of a block, BLOCK of cl/joseph_slices.cl.
constexpr std::size_t slice_block = 32;
/// Places along k that kernels have room for.
constexpr std::size_t padded_places(std::size_t places) {
  return (places + 3) / 4 * 4;
}
/// Views of a batch, memory allowing: `least`, or what it takes to occupy a large GPU.
int views_of_batch(const Grid& projections, int least);

/// Key of these forms in Tuning::choices, and its value where slices innermost are faster.
inline constexpr const char* slice_form_choice = "projection within slices";
inline constexpr const char* innermost_form = "slices innermost";
inline constexpr const char* rays_form = "ray by ray";

/// True if project(), backproject() and solvers take these forms for Joseph's projector: where slice_rows() allows, on
/// devices that were measured to be faster with them. The choice changes no bit.
bool slices_innermost_pay(std::span<const DeviceModel> devices, const Geometry& geometry, const Grid& volume,
                          const Grid& projections);

}  // namespace halocline
