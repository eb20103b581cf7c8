#include "algorithms/checks/view_count.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "algorithms/geometry/detector_pixels.hpp"
#include "algorithms/geometry/field_of_view.hpp"

namespace halocline {
namespace {

using std::numbers::pi;

struct Across {
  double width = 0, step = 0;  // mm: the widest axis across the rotation axis, its voxels
};

Across across_axis(const Grid& volume) {
  Across widest;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (std::abs(volume.direction[3 + axis]) > std::sqrt(0.5)) continue;  // along y
    const double width = static_cast<double>(volume.size[axis]) * volume.spacing[axis];
    if (width > widest.width) widest = {width, volume.spacing[axis]};
  }
  return widest;
}

std::size_t different(std::vector<double> angles) {
  std::sort(angles.begin(), angles.end());
  const auto same = [](double a, double b) { return b - a < 1e-6; };
  return static_cast<std::size_t>(std::unique(angles.begin(), angles.end(), same) - angles.begin());
}

}  // namespace

ViewCount view_count(const Geometry& geometry, const Grid& projections, const Grid& volume,
                     const RedundancyOptions& options) {
  const Redundancy redundancy = redundancy_of(geometry, projections, options);
  const AngularCoverage coverage = coverage_for(redundancy, geometry);
  const bool displaced = redundancy.displaced();
  const View& first = geometry.views.front();
  auto [width, step] = across_axis(volume);
  step = std::max(step, projections.spacing[0] * (first.parallel() ? 1 : first.sid / first.sdd));
  if (geometry.radius_cylindrical_detector == 0) {
    const FieldOfView seen = field_of_view(geometry, DetectorPixels::of(projections));
    const double radius = displaced ? seen.displaced_radius : seen.radius;
    if (radius > 0) width = std::min(width, 2 * radius);
  }
  ViewCount count;
  count.columns = width / step;
  const double twice = !geometry.parallel() && coverage.full_circle && !displaced ? 2 : 1;
  count.needed = pi / 2 * count.columns * coverage.range / (twice * pi);
  count.views = different(coverage.betas);
  return count;
}

std::string too_few_views(const ViewCount& count, const std::string& name) {
  if (!count.few()) return {};
  return fmt::format(
      "{}: {} different angles are few for {:.0f} voxels across, and streaks are to be expected: about {:.0f} would do "
      "if the object covers all of them; larger voxels need fewer",
      name, count.views, count.columns, std::ceil(count.needed));
}

}  // namespace halocline
