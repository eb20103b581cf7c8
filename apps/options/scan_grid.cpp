#include "apps/options/scan_grid.hpp"

#include <fmt/format.h>

#include "algorithms/geometry/default_volume.hpp"
#include "algorithms/geometry/field_of_view.hpp"
#include "apps/job/report.hpp"
#include "host/system/error.hpp"

namespace halocline {
namespace {

// The scan's own checks report what they refuse.
bool is_displaced(const Geometry& geometry, const Grid& stack, const RedundancyOptions& options) {
  try {
    return redundancy_of(geometry, stack, options).displaced();
  } catch (const InputError&) {
    return false;
  }
}

bool is_whole(const Grid& stack, const DetectorPixels& detector) {
  return detector.size && (*detector.size)[0] == stack.size[0] && (*detector.size)[1] == stack.size[1];
}

std::string seen_text(const Geometry& geometry, const Grid& stack, bool displaced) {
  if (geometry.radius_cylindrical_detector > 0) return "";  // the field of view is that of flat detectors
  const FieldOfView seen = field_of_view(geometry, DetectorPixels::of(stack));
  const double radius = displaced ? seen.displaced_radius : seen.radius;
  return radius > 0 ? fmt::format("; a cylinder {:.4g} mm wide round the axis is seen, what lies outside is not right",
                                  2 * radius)
                    : "";
}

}  // namespace

Grid scan_grid(Job& job, const GridOptions& options, const ScanFile& scan, const Geometry& geometry, const Grid& stack,
               const RedundancyOptions& redundancy) {
  const bool displaced = is_displaced(geometry, stack, redundancy);
  const bool stated = scan.volume && !options.size && !options.spacing && is_whole(stack, scan.detector);
  const Grid grid = stated ? *scan.volume : default_volume(geometry, stack, displaced, {options.size, options.spacing});
  const std::string text =
      fmt::format("grid of the volume: {}, from {}{}", grid_summary(grid),
                  stated ? "what the geometry file says of its voxels" : "the geometry and the detector",
                  seen_text(geometry, stack, displaced));
  job.dry_run() ? job.print(text) : job.say(text);
  return grid;
}

}  // namespace halocline
