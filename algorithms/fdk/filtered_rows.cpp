#include "algorithms/fdk/filtered_rows.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "host/opencl/fft.hpp"

namespace halocline {

Grid flat_detector(const Geometry& geometry, const Grid& projections) {
  Grid flat = projections;
  const double radius = geometry.radius_cylindrical_detector;
  if (radius == 0) return flat;
  double low = std::numeric_limits<double>::max(), high = std::numeric_limits<double>::lowest();
  for (const View& view : geometry.views)
    for (const double column : {0.0, static_cast<double>(projections.size[0]) - 1}) {
      const double end = projections.origin[0] + projections.direction[0] * projections.spacing[0] * column;
      const double u = ray_slopes(view, radius, end, 0)[0] * view.sdd + view.source_offset_x - view.projection_offset_x;
      low = std::min(low, u);
      high = std::max(high, u);
    }
  flat.size[0] = static_cast<std::size_t>(std::ceil((high - low) / flat.spacing[0] - 1e-9)) + 1;
  flat.origin[0] = flat.direction[0] > 0 ? low : high;
  return flat;
}

namespace {

/// Columns that a displaced detector lacks, before and after those of the rows that are filtered: as many as `measured`
/// lacks in mm at the isocentre.
std::array<std::size_t, 2> lacking_columns(const Redundancy& redundancy, const Geometry& measured,
                                           const FilteredRows& rows) {
  std::array<std::size_t, 2> columns{redundancy.columns_before, redundancy.columns_after};
  if (!rows.upright || columns[0] + columns[1] == 0) return columns;
  const auto farthest = [](const Geometry& geometry) {
    double sdd = 0;
    for (const View& view : geometry.views) sdd = std::max(sdd, view.parallel() ? 1 : view.sdd);
    return sdd;
  };
  const double scale = farthest(rows.geometry) / farthest(measured);
  const auto count = static_cast<std::size_t>(std::ceil(scale * static_cast<double>(columns[0] + columns[1])));
  // the upright's columns run along the way of the source, as fan angles do
  return {redundancy.limit > 0 ? count : 0, redundancy.limit > 0 ? 0 : count};
}

/// True if rays are seen twice in so few columns that these have to be symmetric about the axis.
bool is_narrow(const Redundancy& redundancy, const Geometry& geometry, const Grid& projections) {
  if (redundancy.kind != Redundancy::Kind::wang) return false;
  const View& view = geometry.views.front();
  const double sdd = view.parallel() ? parallel_source : view.sdd;
  return std::tan(std::abs(redundancy.limit)) * sdd < narrow_overlap * projections.spacing[0];
}

/// Column where weights that fall to 0 on the short side reach it: the first that is not measured.
double limit_of(const UprightRows& upright, double limit) {
  const View& view = upright.geometry.views.front();
  const double both = measured_on_both_sides(upright, limit > 0), pitch = upright.detector.spacing[0];
  const double slope = view.parallel() ? (both + pitch) / parallel_source : both + pitch / view.sdd;
  return std::copysign(std::atan(slope), limit);
}

}  // namespace

FilteredRows filtered_rows(const Geometry& geometry, const Grid& projections, const FdkParameters& parameters,
                           const FilteredRows* earlier, std::size_t least_length) {
  FilteredRows rows;
  const Redundancy redundancy = redundancy_of(geometry, projections, parameters.redundancy);
  const bool symmetric = is_narrow(redundancy, geometry, projections);
  if (parameters.upright_rows) {
    std::array<std::size_t, 2> kept{0, 0};
    if (earlier != nullptr && earlier->upright) kept = {earlier->measured.size[0], earlier->measured.size[1]};
    rows.upright = upright_rows(geometry, projections, kept, symmetric);
  }
  rows.symmetric = rows.upright && symmetric;
  rows.limit = rows.symmetric ? limit_of(*rows.upright, redundancy.limit) : redundancy.limit;
  rows.geometry = rows.upright ? rows.upright->geometry : geometry;
  rows.measured = rows.upright ? rows.upright->detector : flat_detector(geometry, projections);
  const auto [before, after] = lacking_columns(redundancy, geometry, rows);
  rows.before = before;
  rows.padded = rows.measured;
  rows.padded.size[0] += before + after;
  rows.padded.origin[0] -= rows.padded.direction[0] * rows.padded.spacing[0] * static_cast<double>(before);
  // A mirror image is shorter than what it mirrors. The noise of what is extrapolated is left out: beyond the first
  // pixels the square of the kernel falls with the fourth power of the distance.
  const auto columns = static_cast<double>(rows.measured.size[0]);
  const auto extent =
      parameters.variance ? 0 : static_cast<std::size_t>(std::min(parameters.pad * columns, columns - 1));
  rows.low_extent = before > 0 ? 0 : extent;
  rows.high_extent = after > 0 ? 0 : extent;
  // no column is farther than half the circle from any other, so that it meets the kernel as on a line
  rows.length =
      fft_length(std::max(least_length, 2 * (rows.padded.size[0] + std::max(rows.low_extent, rows.high_extent))));
  return rows;
}

}  // namespace halocline
