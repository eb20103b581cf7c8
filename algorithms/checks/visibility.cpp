#include "algorithms/checks/visibility.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "host/system/error.hpp"
#include "host/system/log.hpp"
#include "host/system/plural.hpp"

namespace halocline {
namespace {

struct Interval {
  double low = std::numeric_limits<double>::max(), high = std::numeric_limits<double>::lowest();
  void add(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  void add(const Interval& other) {
    add(other.low);
    add(other.high);
  }
  bool meets(const Interval& other) const { return low <= other.high && high >= other.low; }
};

// The stack's physical coordinate along an axis (0: u, 1: v) of pixel indices.
double physical(const Grid& projections, int axis, double column, double row) {
  const auto& d = projections.direction;
  return projections.origin[axis] + d[3 * axis] * projections.spacing[0] * column +
         d[3 * axis + 1] * projections.spacing[1] * row;
}

// u and v (mm) of the corner pixels' outer corners and the middles of the edges between them, on the plane that touches
// the detector. A flat detector is that plane.
std::array<Interval, 2> extent(const View& view, double radius, const Grid& projections) {
  std::array<Interval, 2> out;
  const auto columns = static_cast<double>(projections.size[0]), rows = static_cast<double>(projections.size[1]);
  for (const double column : {-0.5, columns / 2 - 0.5, columns - 0.5})
    for (const double row : {-0.5, rows - 0.5}) {
      double u = physical(projections, 0, column, row), v = physical(projections, 1, column, row);
      if (radius > 0) {
        const auto [across, along] = ray_slopes(view, radius, u, v);
        u = across * view.sdd + view.source_offset_x - view.projection_offset_x;
        if (!view.fan_stack) v = along * view.sdd + view.source_offset_y - view.projection_offset_y;
      }
      out[0].add(u);
      out[1].add(v);
    }
  return out;
}

// The corners of the volume in one view.
struct Corners {
  std::array<Interval, 2> shadow;  // u and v in mm, on that plane
  bool behind = false;             // the source: the shadow has no end
};

Corners corners_of(const Grid& volume, const View& view) {
  Corners out;
  const Matrix34 matrix = projection_matrix(view);
  for (int corner = 0; corner < 8; ++corner) {
    const auto edge = [&](int axis) {
      return corner >> axis & 1 ? static_cast<double>(volume.size[axis]) - 0.5 : -0.5;
    };
    const auto point = volume.world(edge(0), edge(1), edge(2));
    std::array<double, 3> image{};
    for (int row = 0; row < 3; ++row)
      image[row] = matrix[4 * row] * point[0] + matrix[4 * row + 1] * point[1] + matrix[4 * row + 2] * point[2] +
                   matrix[4 * row + 3];
    out.behind = out.behind || (!view.parallel() && image[2] > -1e-9);
    for (int axis = 0; axis < 2; ++axis)
      out.shadow[axis].add(axis == 1 && view.fan_stack ? image[1] : image[axis] / image[2]);
  }
  return out;
}

std::string in_views(const std::vector<std::size_t>& views, const Geometry& geometry) {
  return fmt::format("in {} of {} (the first: view {}", views.size(), views_text(geometry.views.size()), views.front());
}

}  // namespace

void warn_of_unseen(const Grid& volume, const std::string& volume_name, const Grid& projections,
                    const Geometry& geometry) {
  std::vector<std::size_t> views;
  for (std::size_t n = 0; n < geometry.views.size(); ++n) {
    const auto here = extent(geometry.views[n], geometry.radius_cylindrical_detector, projections);
    const Corners corners = corners_of(volume, geometry.views[n]);
    if (!corners.behind && !(corners.shadow[0].meets(here[0]) && corners.shadow[1].meets(here[1]))) views.push_back(n);
  }
  if (!views.empty())
    library_log()->warn(
        "{} is not seen {}), and these views do not count: leave them out (`views`), or check the geometry's offsets",
        volume_name, in_views(views, geometry));
}

void require_seen(const Grid& volume, const std::string& volume_name, const Grid& projections,
                  const std::string& projections_name, const Geometry& geometry) {
  std::array<Interval, 2> detector, shadow;  // u and v in mm
  bool seen = false;
  for (std::size_t n = 0; n < geometry.views.size(); ++n) {
    const auto here = extent(geometry.views[n], geometry.radius_cylindrical_detector, projections);
    const Corners corners = corners_of(volume, geometry.views[n]);
    for (int axis = 0; axis < 2; ++axis) detector[axis].add(here[axis]);
    seen = seen || corners.behind || (corners.shadow[0].meets(here[0]) && corners.shadow[1].meets(here[1]));
    if (corners.behind) continue;
    for (int axis = 0; axis < 2; ++axis) shadow[axis].add(corners.shadow[axis]);
  }
  if (seen) return;
  throw InputError(
      fmt::format("{} is never seen by the detector of {}: over {} it is cast on u {:.6g} to {:.6g} mm, v "
                  "{:.6g} to {:.6g} mm, but the "
                  "detector covers u {:.6g} to {:.6g} mm, v {:.6g} to {:.6g} mm; check the origins and spacings of "
                  "both (mm) and the geometry",
                  volume_name, projections_name, views_text(geometry.views.size()), shadow[0].low, shadow[0].high,
                  shadow[1].low, shadow[1].high, detector[0].low, detector[0].high, detector[1].low, detector[1].high));
}

}  // namespace halocline
