#include "algorithms/alignment/seam_rows.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "algorithms/geometry/opposite_views.hpp"
#include "algorithms/preprocessing/rings.hpp"
#include "algorithms/support/parallel_slices.hpp"

namespace halocline {
namespace {

constexpr int ring_width = 2;

/// The angle after the largest gap, degrees.
double arc_start(const Geometry& geometry) {
  std::vector<double> angles;
  for (const View& view : geometry.views) {
    const double angle = std::fmod(view.gantry_angle, 360.0);
    angles.push_back(angle < 0 ? angle + 360 : angle);
  }
  std::sort(angles.begin(), angles.end());
  double start = angles.front(), widest = angles.front() + 360 - angles.back();
  for (std::size_t n = 0; n + 1 < angles.size(); ++n)
    if (angles[n + 1] - angles[n] > widest) {
      widest = angles[n + 1] - angles[n];
      start = angles[n + 1];
    }
  return start;
}

/// Views nearest to where the first view and the mirrored last one meet.
std::vector<SeamView> seam_views(const Geometry& geometry, const Grid& grid) {
  const double start = arc_start(geometry);
  std::array<std::vector<SeamView>, 2> sides;
  for (std::size_t n = 0; n < geometry.views.size(); ++n) {
    const View& view = geometry.views[n];
    const double from_start = view.gantry_angle - start;
    const double angle = std::remainder(from_start, 180.0);
    const bool mirrored = std::lround((from_start - angle) / 180) % 2 != 0;
    const double axis = (-view.projection_offset_x - grid.origin[0]) / grid.spacing[0];
    sides[mirrored].push_back({n, angle * std::numbers::pi / 180, mirrored, axis});
  }
  std::vector<SeamView> out;
  for (auto& side : sides) {
    const std::size_t count = std::min({sides[0].size(), sides[1].size(), SeamRows::views_a_side});
    std::sort(side.begin(), side.end(),
              [](const SeamView& a, const SeamView& b) { return std::abs(a.angle) < std::abs(b.angle); });
    out.insert(out.end(), side.begin(), side.begin() + static_cast<std::ptrdiff_t>(count));
  }
  return out;
}

std::vector<float> offsets_of(const Volume& projections, std::size_t row) {
  const std::size_t columns = projections.grid.size[0];
  const auto taken = spread(projections.grid.size[2], SeamRows::views_for_rings);
  if (taken.size() < fewest_views_for_rings) return std::vector<float>(columns, 0);
  std::vector<float> lines;
  for (const std::size_t view : taken)
    for (std::size_t i = 0; i < columns; ++i) lines.push_back(projections.at(i, row, view));
  return still_details(lines, columns, taken.size(), ring_width);
}

}  // namespace

SeamRows::SeamRows(const Volume& projections, const Geometry& geometry)
    : views(seam_views(geometry, projections.grid)), columns(projections.grid.size[0]) {
  const auto taken = spread(projections.grid.size[1], most_rows);
  rows = taken.size();
  values.resize(rows * views.size() * columns);
  parallel_slices(rows, [&](std::size_t r) {
    const auto offsets = offsets_of(projections, taken[r]);
    for (std::size_t n = 0; n < views.size(); ++n)
      for (std::size_t i = 0; i < columns; ++i)
        values[(r * views.size() + n) * columns + i] = projections.at(i, taken[r], views[n].view) - offsets[i];
  });
}

}  // namespace halocline
