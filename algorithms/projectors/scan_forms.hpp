// All forms of projection and back-projection in one table, which self-checks, tuning and benches read.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "algorithms/projectors/backprojection.hpp"
#include "algorithms/projectors/projector.hpp"
#include "algorithms/support/variant_check.hpp"

namespace halocline {

/// A scan and a volume.
struct Scan {
  Geometry geometry;
  Grid volume, stack;
};

/// A row of the table.
struct ScanForm {
  std::string mode;                                   ///< its name in benches
  std::string name = {};                              ///< its name in checks; "": a reference, or the device's default
  bool adjoint = true;                                ///< back-projection
  std::optional<Projector> projector = std::nullopt;  ///< a ray-driven one; none: voxel-driven
  enum class For { all, cpus, gpus } devices = For::all;
  bool images = false, hardware = false, half = false;  ///< images, interpolated by the sampler, of half precision
  int pack = 1;                                         ///< views that share a fetch
  bool innermost = false;                               ///< slices innermost: rays run within slices
  bool upright = false;                                 ///< ... of scans whose columns' rays differ along k alone
  const LocalTile* tile = nullptr;                      ///< through local memory
  const AdjointBrick* brick = nullptr;                  ///< the adjoint in bricks
  double error = 0;                                     ///< by which values in [0, 1) may be off in each term of a sum
};

const std::vector<ScanForm>& scan_forms();
/// Throws std::logic_error if there is none of that mode.
const ScanForm& scan_form(const std::string& mode);

/// Reason why a device does not take the form, whatever the scan; "": it takes it.
std::string lack_of(const ScanForm& form, const DeviceInfo& device);
/// Reason why a device does not take the form for this scan.
std::string lack_of(const ScanForm& form, const Scan& scan, const DeviceInfo& device);

/// gpu: the kernels for GPUs where there are others for CPUs.
std::unique_ptr<ProjectionMethod> make_projection(const ScanForm& form, const Scan& scan, bool gpu);
std::unique_ptr<BackprojectionMethod> make_backprojection(const ScanForm& form, const Scan& scan, bool gpu);

/// A form with a name on small scans beside the reference, which every device takes: equal to the bit, to the fractions
/// of texture units, or to rounding where sums are added in another order.
Variant variant_of(const ScanForm& form);
inline Variant variant_of(const std::string& mode) {
  return variant_of(scan_form(mode));
}
Variant tile_variant(const LocalTile& tile);  ///< one of local_tiles()
/// One of adjoint_bricks(); empty: the projector has no such form.
std::optional<Variant> brick_variant(const AdjointBrick& brick, const Projector& projector);

/// require_variant() of the form by textures that each of the devices takes.
void require_textures(bool adjoint, bool half, const std::vector<Device>& devices, const std::string& parameter);

}  // namespace halocline
