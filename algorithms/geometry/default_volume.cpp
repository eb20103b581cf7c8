#include "algorithms/geometry/default_volume.hpp"

#include <algorithm>
#include <cmath>

#include "algorithms/geometry/detector_alignment.hpp"
#include "algorithms/geometry/detector_pixels.hpp"

namespace halocline {
namespace {

// Millimetres at the isocentre in one of the detector.
double reduction(const Geometry& geometry) {
  if (geometry.parallel()) return 1;
  double sum = 0;
  for (const View& view : geometry.views) sum += view.sid / view.sdd;
  return sum / static_cast<double>(geometry.views.size());
}

// Point on the rotation axis, y in mm, that is nearest to the rays to a point of the detector: the mean over the views.
double height_on_axis(const Geometry& geometry, double u, double v) {
  double sum = 0;
  for (const View& view : geometry.views) {
    const Ray ray = ViewRays(view, geometry.radius_cylindrical_detector).to(u, v);
    const auto& [o, d] = ray;
    const double across = d[0] * d[0] + d[2] * d[2];
    sum += o[1] - (across > 0 ? (o[0] * d[0] + o[2] * d[2]) / across * d[1] : 0);
  }
  return sum / static_cast<double>(geometry.views.size());
}

// Rounds up, tolerating rounding errors.
std::size_t whole_number(double value) {
  return static_cast<std::size_t>(std::max(1.0, std::ceil(value - 1e-6)));
}

}  // namespace

Grid default_volume(const Geometry& geometry, const Grid& projections, bool displaced, const WantedVolume& wanted) {
  const auto first = DetectorPixels::of(projections).first();
  const Alignment axis = alignment(geometry);
  const double on_detector[] = {axis.axis_u.mean, axis.axis_v.mean};
  const int columns = row_slant(geometry.views.front()) > 45 ? 1 : 0, rows = 1 - columns;  // along the axis: the rows
  const double across = reduction(geometry), along = geometry.fan_stack() ? 1 : across;
  double extent[2], middle[2];
  for (int n = 0; n < 2; ++n) {
    const double pitch = projections.spacing[n], length = static_cast<double>(projections.size[n]) * pitch;
    middle[n] = first[n] + 0.5 * (length - pitch);
    extent[n] = length;
    if (n == columns && displaced) extent[n] += 2 * std::abs(middle[n] - on_detector[n]);
  }
  const int axes[] = {columns, columns, rows};  // axes of the detector, for i, j and k
  std::array<std::size_t, 3> size{};
  std::array<double, 3> spacing{};
  for (int n = 0; n < 3; ++n) {
    const double scale = n == 2 ? along : across;
    const double wide = extent[axes[n]] * scale;
    spacing[n] = wanted.spacing ? (*wanted.spacing)[n]
                 : wanted.size  ? wide / static_cast<double>((*wanted.size)[n])
                                : projections.spacing[axes[n]] * scale;
    size[n] = wanted.size ? (*wanted.size)[n] : whole_number(wide / spacing[n]);
  }
  Grid grid = default_grid(size, spacing);
  double seen[2];
  seen[columns] = on_detector[columns];
  seen[rows] = middle[rows];
  const double height = height_on_axis(geometry, seen[0], seen[1]);
  if (std::abs(height) >= 0.5 * spacing[2]) grid.origin[1] += height;
  return grid;
}

}  // namespace halocline
