// Shapes of the bricks of adjoints for upright scans (cl/bricks.clh), and which one a device takes.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "algorithms/projectors/rays.hpp"
#include "host/opencl/device_info.hpp"
#include "scheduling/planning/plan.hpp"

namespace halocline {

class Projector;

/// Contents of a work-group. The shape changes no bit.
struct AdjointBrick {
  int x = 0, y = 0;  ///< voxels of a slice; two to eight
  int items = 0;     ///< work-items, which have neighbouring slices; a multiple of four
  int layers = 0;    ///< slices of a work-item: 1, 2 or 4

  bool operator==(const AdjointBrick&) const = default;
  int slices() const { return items * layers; }
  /// Local memory of a group: its sums, and the crossings that it lists.
  std::size_t local_bytes() const;
  std::string options() const;  ///< of the kernel
  std::string text() const;     ///< "8x4x128"
  /// The brick with as few layers as `slices` need: thin slabs would leave the others idle.
  AdjointBrick for_slices(std::size_t slices) const;
};

/// Bricks that are worth a trial.
std::span<const AdjointBrick> adjoint_bricks();

/// True if there are bricks of the projector for the scan: an upright one, distance-driven up to 4 x 4, Siddon's
/// without rays in faces (may_run_in_faces(), for the caller to ask), and the kernels' numbers hold a detector of so
/// many pixels: rows in float32, a view's pixels in an int.
bool bricks_take(const RayTable& table, const AdjointBrick& brick, Projector projector, std::size_t columns,
                 std::size_t rows);

/// True if the device has room for the brick.
bool takes_brick(const DeviceInfo& device, const AdjointBrick& brick);

/// Key of bricks in Tuning::choices; its value: rays_form, for other forms.
inline constexpr const char* brick_form_choice = "adjoint in bricks";

/// The one that was measured to be faster than the projector's other forms on all of the devices; null: none.
const AdjointBrick* faster_brick(std::span<const DeviceModel> devices, const Projector& projector);

}  // namespace halocline
