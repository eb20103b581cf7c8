#include "algorithms/fdk/fdk_weights.hpp"

#include <array>
#include <initializer_list>

namespace halocline {
namespace {

/// Parallel beam: K of fdk_general.cl, the same for all pixels.
double parallel_factor(const View& view) {
  const auto tangent = source_orbit(view).tangent;
  return (tangent[0] * tangent[0] + tangent[1] * tangent[1]) / std::abs(tangent[0]);
}

/// Adds to the weights of a view what fdk_general.cl reads if UPRIGHT.
void add_map(std::vector<float>& weights, const UprightRows::Map& map, const View& measured, const Grid& raw) {
  for (const double value : map.to_measured) weights.push_back(static_cast<float>(value));
  for (const double value : map.ends) weights.push_back(static_cast<float>(value));
  const double pitch = raw.direction[4] * raw.spacing[1];
  const double v = raw.origin[1] + measured.projection_offset_y - measured.source_offset_y;
  for (const double value : {v, pitch})
    weights.push_back(static_cast<float>(measured.parallel() ? 0 : value / measured.sdd));
}

}  // namespace

std::vector<float> fdk_weights(const Geometry& measured, const Grid& raw, const FilteredRows& rows,
                               const Redundancy& redundancy, bool general) {
  const Grid& grid = rows.padded;
  const Geometry& geometry = rows.geometry;
  const AngularCoverage coverage = coverage_for(redundancy, measured);
  const double du = grid.spacing[0];
  std::vector<float> weights;
  const auto add = [&](std::initializer_list<double> values) {
    for (const double value : values) weights.push_back(static_cast<float>(value));
  };
  for (std::size_t n = 0; n < geometry.views.size(); ++n) {
    const View& view = geometry.views[n];
    const double gap = coverage.gaps[n] * redundancy.factor;
    if (view.parallel()) {
      if (!general) {
        add({gap / du * parallel_factor(view), 0, 0, 0, 0});
        continue;
      }
      const auto [a, b] = fan_slopes(view, 0, grid.origin[0], grid.origin[1]);
      const double turns = redundancy.kind == Redundancy::Kind::wang ? 2 : 1;  // of half a circle
      const auto [angle, way, inward] = source_orbit(view);
      add({gap / du / turns, a, grid.direction[0] * du / parallel_source, b,
           grid.direction[4] * grid.spacing[1] / parallel_source});
      add({way[0], way[1], way[2], inward[0], inward[1], inward[2], redundancy.flat, 0, 0, 0, 0});
      if (rows.upright) add_map(weights, rows.upright->maps[n], measured.views[n], raw);
      continue;
    }
    const double u = grid.origin[0] + view.projection_offset_x - view.source_offset_x;
    const double v = grid.origin[1] + view.projection_offset_y - view.source_offset_y;
    add({gap * 0.5 * view.sdd / view.sid / du, u / view.sdd, grid.direction[0] * du / view.sdd, v / view.sdd,
         grid.direction[4] * grid.spacing[1] / view.sdd});
    if (!general) continue;
    const auto [angle, way, inward] = source_orbit(view);
    add({way[0] / view.sid, way[1] / view.sid, way[2] / view.sid});
    add({inward[0] / view.sid, inward[1] / view.sid, inward[2] / view.sid});
    const View& on = measured.views[n];  // the detector itself
    const double pitch = raw.direction[0] * raw.spacing[0], radius = measured.radius_cylindrical_detector;
    add({redundancy.betas.empty() ? redundancy.flat : redundancy.betas[n], radius / on.sdd,
         -on.source_offset_x / on.sdd, -(on.projection_offset_x + raw.origin[0]) / pitch, radius / pitch});
    if (rows.upright) add_map(weights, rows.upright->maps[n], on, raw);
  }
  return weights;
}

}  // namespace halocline
