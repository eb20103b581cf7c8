#include "apps/visibility.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "host/error.hpp"
#include "host/plural.hpp"

namespace halocline {
namespace {

struct Interval {
  double low = std::numeric_limits<double>::max(), high = std::numeric_limits<double>::lowest();
  void add(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  bool meets(const Interval& other) const { return low <= other.high && high >= other.low; }
};

// The stack's physical coordinate along an axis (0: u, 1: v) of pixel indices.
double physical(const Grid& projections, int axis, double column, double row) {
  const auto& d = projections.direction;
  return projections.origin[axis] + d[3 * axis] * projections.spacing[0] * column +
         d[3 * axis + 1] * projections.spacing[1] * row;
}

}  // namespace

void require_seen(const Grid& volume, const std::string& volume_name, const Grid& projections,
                  const std::string& projections_name, const Geometry& geometry, bool whole_lines) {
  std::array<Interval, 2> detector, shadow;  // u and v in mm
  for (int axis = 0; axis < 2; ++axis)
    for (const double column : {-0.5, static_cast<double>(projections.size[0]) - 0.5})
      for (const double row : {-0.5, static_cast<double>(projections.size[1]) - 0.5})
        detector[axis].add(physical(projections, axis, column, row));

  bool seen = false;
  std::vector<std::size_t> reached;  // views whose source the volume reaches, or what is behind it
  for (std::size_t n = 0; n < geometry.views.size(); ++n) {
    const View& view = geometry.views[n];
    const Matrix34 matrix = projection_matrix(view);
    std::array<Interval, 2> here;
    bool behind = false;
    for (int corner = 0; corner < 8; ++corner) {
      const auto edge = [&](int axis) {
        return corner >> axis & 1 ? static_cast<double>(volume.size[axis]) - 0.5 : -0.5;
      };
      const auto point = volume.world(edge(0), edge(1), edge(2));
      std::array<double, 3> image{};
      for (int row = 0; row < 3; ++row)
        image[row] = matrix[4 * row] * point[0] + matrix[4 * row + 1] * point[1] + matrix[4 * row + 2] * point[2] +
                     matrix[4 * row + 3];
      behind = behind || (!view.parallel() && image[2] > -1e-9);
      if (behind) break;
      for (int axis = 0; axis < 2; ++axis) here[axis].add(image[axis] / image[2]);
    }
    if (behind) reached.push_back(n);  // its shadow has no end
    seen = seen || behind || (here[0].meets(detector[0]) && here[1].meets(detector[1]));
    if (behind) continue;
    for (int axis = 0; axis < 2; ++axis) {
      shadow[axis].add(here[axis].low);
      shadow[axis].add(here[axis].high);
    }
  }
  if (!reached.empty())
    spdlog::warn(
        "{} reaches to the source or behind it in {} of {} (the first: view {}, SID {:.6g} mm){}, so choose a "
        "smaller volume, or check its spacing and origin and the geometry's SID (mm)",
        volume_name, reached.size(), views_text(geometry.views.size()), reached.front(),
        geometry.views[reached.front()].sid,
        whole_lines ? ", and rays are taken as whole lines: what lies behind the source counts as well" : "");
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
