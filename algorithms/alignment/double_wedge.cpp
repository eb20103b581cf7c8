#include "algorithms/alignment/double_wedge.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <optional>

#include "algorithms/alignment/seam_likelihood.hpp"
#include "algorithms/geometry/opposite_views.hpp"
#include "host/system/error.hpp"
#include "host/system/interrupt.hpp"

namespace halocline {
namespace {

constexpr double narrowest = 0.1;    // half of what both ends see, in widths of the detector
constexpr double shift_step = 0.25;  // columns

struct Found {
  double shift, uncertainty, order;  // columns; order: SeamLikelihood::order
};

/// The best shift from `low` to `high`, with rows tapered about it; they are cut about `centre` at first.
std::optional<Found> look_about(const SeamRows& rows, double centre, double low, double high) {
  constexpr int most_rounds = 6;
  constexpr double near = 10, close = 0.03;  // columns
  std::optional<Found> found;
  for (int round = 0; round < most_rounds; ++round) {
    check_interrupt();
    double half = HUGE_VAL;
    for (const SeamView& view : rows.views) {
      const double axis = view.axis + centre;
      half = std::min({half, axis, static_cast<double>(rows.columns) - 1 - axis});
    }
    if (half < std::max(8.0, narrowest * static_cast<double>(rows.columns))) return found;
    const SeamLikelihood likelihood(rows, centre, half);
    double best = low, most = -HUGE_VAL;
    const auto steps = static_cast<int>(std::floor((high - low) / shift_step + 1e-9));
    for (int n = 0; n <= steps; ++n)
      if (const double value = likelihood.at(low + n * shift_step); value > most) {
        most = value;
        best = low + n * shift_step;
      }
    auto shape = likelihood.shape(best);
    for (int n = 0; n < 3 && shape.curvature > 0; ++n) {  // Newton's steps
      best = std::clamp(best + std::clamp(shape.slope / shape.curvature, -shift_step, shift_step), low, high);
      shape = likelihood.shape(best);
    }
    const double own = shape.curvature > 0 ? 1 / std::sqrt(shape.curvature) : HUGE_VAL,
                 scatter = shape.curvature > 0 ? std::sqrt(shape.scatter) / shape.curvature : HUGE_VAL;
    found = Found{best, std::max(own, scatter), likelihood.order(best)};
    if (std::abs(best - centre) < close) break;
    centre = best;
    low = std::max(low, best - near);
    high = std::min(high, best + near);
  }
  return found;
}

}  // namespace

bool is_half_turn(const Geometry& geometry) {
  return geometry.parallel() && 2 * opposed_views(geometry).size() < geometry.views.size();
}

AxisEstimate axis_by_double_wedge(const Volume& projections, const Geometry& geometry, const AxisSearch& search) {
  check_axis_stack(projections.grid, geometry);
  if (!geometry.parallel())
    throw InputError("the double wedge of the sinogram tells the axis of a parallel beam only, and this one diverges");
  if (opposed_views(geometry).empty())
    throw InputError("no view has one opposite to it, so the ends of the scan do not go on into each other");
  if (projections.grid.size[0] < 16)
    throw InputError("the detector has less than 16 columns; the axis cannot be told from their frequencies");
  const SeamRows rows(projections, geometry);
  const double pixel = projections.grid.spacing[0], middle = search.centre / pixel, range = search.range / pixel;
  // the part that both ends see changes with the axis: it is found again after each eighth of the detector
  const double part = 0.125 * static_cast<double>(rows.columns);
  const int parts = static_cast<int>(std::ceil(range / part - 0.5));
  std::optional<Found> best;
  for (int n = -parts; n <= parts; ++n) {
    const double centre = middle + n * part;
    const auto found = look_about(rows, centre, std::max(middle - range, centre - 0.6 * part),
                                  std::min(middle + range, centre + 0.6 * part));
    if (found && (!best || found->order > best->order)) best = found;
  }
  AxisEstimate out;
  if (!best) throw InputError("both ends of the scan see too little on both sides of any axis within the range");
  out.shift = best->shift * pixel;
  out.uncertainty = best->uncertainty * pixel;
  out.at_end = std::abs(best->shift - middle) > range - 0.5 * shift_step;
  return out;
}

double double_wedge_bytes(const Grid& projections) {
  const auto columns = static_cast<double>(projections.size[0]),
             rows = static_cast<double>(std::min(projections.size[1], SeamRows::most_rows));
  const double views = 2.0 * static_cast<double>(SeamRows::views_a_side),
               seen = static_cast<double>(std::min(projections.size[2], SeamRows::views_for_rings));
  // lines, their spectra, and what still_details() takes of each row
  return rows * columns * (views * (sizeof(float) + 1.5 * sizeof(std::complex<double>)) + 2 * seen * sizeof(float));
}

}  // namespace halocline
