#include "algorithms/alignment/find_axis.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numbers>
#include <numeric>

#include "algorithms/fdk/fdk.hpp"
#include "algorithms/geometry/detector_pixels.hpp"
#include "algorithms/geometry/field_of_view.hpp"
#include "algorithms/geometry/opposite_views.hpp"
#include "host/opencl/fft.hpp"
#include "host/system/error.hpp"

namespace halocline {
namespace {

using std::numbers::pi;
constexpr std::size_t most_compared_rows = 16;  // of a parallel beam, for opposite rays

/// The minimum of the parabola that fits (x, y) best.
double parabola_minimum(const std::vector<double>& x, const std::vector<double>& y, double otherwise) {
  const double n = static_cast<double>(x.size());
  const double mean = std::accumulate(x.begin(), x.end(), 0.0) / n;
  // y = a + b t + c s over t = x - mean and s = t^2 made orthogonal to 1 and t by Gram and Schmidt
  double tt = 0, ttt = 0, ty = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double t = x[i] - mean;
    tt += t * t;
    ttt += t * t * t;
    ty += t * y[i];
  }
  double ss = 0, sy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double t = x[i] - mean, s = t * t - tt / n - ttt / tt * t;
    ss += s * s;
    sy += s * y[i];
  }
  if (!(tt > 0) || !(ss > 0) || !(sy > 0)) return otherwise;
  const double c = sy / ss, b = ty / tt - c * ttt / tt;
  const double best = mean - b / (2 * c);
  return best >= x.front() && best <= x.back() ? best : otherwise;
}

/// Tries steps of up to `coarse` over the range, then `fine` ones around the best, and fits a parabola to those.
AxisEstimate minimise(const AxisSearch& search, double coarse, double fine,
                      const std::function<double(double, bool)>& score) {
  const auto steps = [](double range, double step) { return static_cast<int>(std::ceil(range / step - 1e-9)); };
  const int half = std::max(1, steps(search.range, coarse));
  coarse = search.range / half;
  double best = search.centre, least = HUGE_VAL, most = -HUGE_VAL;
  int at = 0;
  for (int n = -half; n <= half; ++n) {
    const double shift = search.centre + n * coarse, value = score(shift, false);
    if (std::isfinite(value)) most = std::max(most, value);
    if (value < least) {
      least = value;
      best = shift;
      at = n;
    }
  }
  AxisEstimate out;
  out.shift = best;
  out.at_end = std::abs(at) == half;
  if (!std::isfinite(least)) return out;
  out.contrast = least > 0 ? most / least : HUGE_VAL;
  std::vector<double> x, y;
  for (int n = -steps(coarse, fine); n <= steps(coarse, fine); ++n) {
    const double shift = best + n * fine;
    if (std::abs(shift - search.centre) > search.range + 1e-9 * coarse) continue;
    const double value = score(shift, true);
    if (!std::isfinite(value)) continue;
    x.push_back(shift);
    y.push_back(value);
  }
  if (x.empty()) return out;
  const auto lowest = static_cast<std::size_t>(std::min_element(y.begin(), y.end()) - y.begin());
  // the four nearest on each side at most: farther off the score is no parabola
  const std::size_t from = lowest > 4 ? lowest - 4 : 0, to = std::min(x.size(), lowest + 5);
  out.shift = parabola_minimum(
      {x.begin() + static_cast<std::ptrdiff_t>(from), x.begin() + static_cast<std::ptrdiff_t>(to)},
      {y.begin() + static_cast<std::ptrdiff_t>(from), y.begin() + static_cast<std::ptrdiff_t>(to)}, x[lowest]);
  return out;
}

/// Rows of all views, smoothed with 1-2-1 so that interpolation changes the noise little: [(row * views + view) * nu].
class SmoothedRows {
 public:
  SmoothedRows(const Volume& projections, const std::vector<std::size_t>& rows)
      : columns_(projections.grid.size[0]), views_(projections.grid.size[2]), count_(rows.size()) {
    values_.resize(count_ * views_ * columns_);
    for (std::size_t r = 0; r < count_; ++r)
      for (std::size_t n = 0; n < views_; ++n)
        for (std::size_t i = 0; i < columns_; ++i) {
          const auto value = [&](std::size_t column) { return projections.at(column, rows[r], n); };
          values_[(r * views_ + n) * columns_ + i] =
              0.25f * (value(i == 0 ? 0 : i - 1) + 2 * value(i) + value(std::min(i + 1, columns_ - 1)));
        }
  }
  std::size_t count() const { return count_; }
  std::size_t columns() const { return columns_; }
  float at(std::size_t row, std::size_t view, std::size_t column) const {
    return values_[(row * views_ + view) * columns_ + column];
  }
  double between(std::size_t row, std::size_t view, std::size_t column, double fraction) const {
    const double low = at(row, view, column);
    return fraction == 0 ? low : low + fraction * (at(row, view, column + 1) - low);
  }

 private:
  std::size_t columns_, views_, count_;
  std::vector<float> values_;
};

/// Differences between rays and their opposite ones, by view.
class OppositeRays {
 public:
  OppositeRays(const Volume& projections, const Geometry& geometry, const std::vector<std::size_t>& rows,
               std::vector<std::size_t> views)
      : grid_(projections.grid),
        geometry_(geometry),
        values_(projections, rows),
        circle_(geometry),
        views_(std::move(views)) {}

  struct Sum {
    double difference = 0, power = 0;
    std::size_t pairs = 0;
  };
  Sum of_view(std::size_t n, double shift) const {
    Sum sum;
    const View& view = geometry_.views[n];
    const double last = static_cast<double>(grid_.size[0]) - 1;
    const double px = view.projection_offset_x - shift, sx = view.source_offset_x;
    const double phase = view.parallel() ? 0 : std::atan2(sx, view.sid);
    ViewCircle::Between at{};
    if (view.parallel() && !circle_.find(view.gantry_angle * pi / 180 + pi, at)) return sum;
    for (std::size_t i = 0; i < values_.columns(); ++i) {
      const double u = grid_.origin[0] + grid_.spacing[0] * static_cast<double>(i);
      double back = -u - 2 * px;  // the opposite ray's u
      if (!view.parallel()) {
        const double alpha = std::atan2(u + px - sx, view.sdd);
        if (!circle_.find(view.gantry_angle * pi / 180 + pi - 2 * (alpha + phase), at)) continue;
        back = sx - px + view.sdd * std::tan(-alpha - 2 * phase);
      }
      const double column = (back - grid_.origin[0]) / grid_.spacing[0];
      if (!(column >= 0 && column <= last)) continue;
      const auto low = std::min(static_cast<std::size_t>(column), grid_.size[0] - 2);
      const double fraction = column - static_cast<double>(low);
      for (std::size_t r = 0; r < values_.count(); ++r) {
        const double p = values_.at(r, n, i);
        const double q = (1 - at.fraction) * values_.between(r, at.low, low, fraction) +
                         at.fraction * values_.between(r, at.high, low, fraction);
        sum.difference += (p - q) * (p - q);
        sum.power += p * p + q * q;
      }
      ++sum.pairs;
    }
    return sum;
  }

  double score(double shift) const {
    Sum sum;
    for (const std::size_t n : views_) {
      const Sum view = of_view(n, shift);
      sum.difference += view.difference;
      sum.power += view.power;
      sum.pairs += view.pairs;
    }
    // an axis at the detector's edge leaves nothing to compare
    return sum.pairs >= views_.size() * grid_.size[0] / 10 && sum.power > 0 ? sum.difference / sum.power : HUGE_VAL;
  }

  /// One standard deviation of the best shift, from the spread of the views' best shifts: the scatter of their slopes
  /// over the curvature of the sum (White 1982). Each pair of rays is in two views. None from few views.
  std::optional<double> uncertainty(double best) const {
    if (views_.size() < 16) return std::nullopt;
    const double step = 0.5 * grid_.spacing[0];
    double scatter = 0, curvature = 0;
    for (const std::size_t n : views_) {
      const Sum low = of_view(n, best - step), middle = of_view(n, best), high = of_view(n, best + step);
      if (!(low.power > 0 && middle.power > 0 && high.power > 0)) continue;
      const double before = low.difference / low.power, after = high.difference / high.power,
                   there = middle.difference / middle.power;
      const double slope = (after - before) / (2 * step) * middle.power;
      scatter += 2 * slope * slope;
      curvature += (after + before - 2 * there) / (step * step) * middle.power;
    }
    return curvature > 0 ? std::optional(std::sqrt(scatter) / curvature) : std::nullopt;
  }

 private:
  const Grid& grid_;
  const Geometry& geometry_;
  SmoothedRows values_;
  ViewCircle circle_;
  std::vector<std::size_t> views_;
};

}  // namespace

Geometry with_axis_shifted(const Geometry& geometry, double shift) {
  Geometry out = geometry;
  for (View& view : out.views) view.projection_offset_x -= shift;
  return out;
}

AxisEstimate axis_by_correlation(const Volume& projections, const Geometry& geometry, const AxisSearch& search) {
  check_axis_stack(projections.grid, geometry);
  const Grid& grid = projections.grid;
  std::vector<std::size_t> rows;
  if (geometry.parallel()) {
    rows = spread(grid.size[1], most_compared_rows);
  } else {
    const double row = std::clamp(middle_row(projections.grid, geometry), 0.0, static_cast<double>(grid.size[1] - 1));
    rows = {static_cast<std::size_t>(std::lround(row))};
  }
  const std::vector<std::size_t> views = opposed_views(geometry);
  if (views.empty())
    throw InputError("no view has one opposite to it, so no ray is measured twice; find the axis by sharpness instead");
  std::vector<std::size_t> base;
  for (const std::size_t n : spread(views.size(), 120)) base.push_back(views[n]);

  if (grid.size[0] < 4) throw InputError("the detector has less than 4 columns; the axis cannot be found on it");
  const OppositeRays rays(projections, geometry, rows, base);
  AxisEstimate axis =
      minimise(search, grid.spacing[0], 0.25 * grid.spacing[0], [&](double shift, bool) { return rays.score(shift); });
  axis.uncertainty = rays.uncertainty(axis.shift);
  return axis;
}

namespace {

/// Rows that the slices need, as a separate stack, and the slices on `n` x `n` voxels.
struct SearchSlices {
  Grid rows;  ///< first, first + stride, ... of the projections
  std::size_t first = 0, stride = 1, count = 1;
  double radius = 0, first_y = 0, spacing_y = 1;

  Grid grid(std::size_t n) const {
    const double voxel = 2 * radius / static_cast<double>(n);
    Grid out = default_grid({n, n, count}, {voxel, voxel, spacing_y});
    out.origin[1] = first_y;
    return out;
  }
};

SearchSlices slices_of(const Grid& grid, const Geometry& geometry) {
  const View& view = geometry.views.front();
  SearchSlices out;
  std::size_t rows = 1;
  if (geometry.parallel()) {
    rows = std::min<std::size_t>(grid.size[1], 4);
    out.stride = grid.size[1] / rows;
    out.first = (grid.size[1] - 1 - (rows - 1) * out.stride) / 2;
    out.count = rows;
    out.spacing_y = grid.spacing[1] * static_cast<double>(out.stride);
    out.first_y = grid.origin[1] + grid.spacing[1] * static_cast<double>(out.first) + view.projection_offset_y;
  } else {
    const double middle = middle_row(grid, geometry);
    if (!(middle >= -0.5 && middle <= static_cast<double>(grid.size[1]) - 0.5))
      throw InputError(
          fmt::format("the plane across the axis through the source is seen on detector row {:.1f} of {}; "
                      "the axis is found by sharpness only where that row is measured",
                      middle, grid.size[1]));
    double lean = 0;  // how far tilts move the plane's image over the detector, in rows
    for (const View& v : geometry.views)
      lean = std::max(
          lean, std::abs(std::sin(v.in_plane_angle * pi / 180)) + std::abs(std::sin(v.out_of_plane_angle * pi / 180)));
    const double reach = 2 + lean * static_cast<double>(grid.size[0]) * grid.spacing[0] / grid.spacing[1];
    out.first = static_cast<std::size_t>(std::max(0.0, std::floor(middle - reach)));
    rows = std::min(grid.size[1], static_cast<std::size_t>(std::ceil(middle + reach)) + 1) - out.first;
    out.first_y = view.source_offset_y;
    out.spacing_y = grid.spacing[1] * view.sid / view.sdd;
  }
  out.rows = grid;
  out.rows.size[1] = rows;
  out.rows.origin[1] += grid.spacing[1] * static_cast<double>(out.first);
  out.rows.spacing[1] *= static_cast<double>(out.stride);
  out.radius = field_of_view(geometry, DetectorPixels::of(grid)).radius;
  if (!(out.radius > 0))
    throw InputError(
        "the axis falls outside the detector in the given geometry; give one that has it on the detector, "
        "even if not at the right place");
  return out;
}

Volume rows_of(const SearchSlices& slices, const Volume& projections) {
  Volume out(slices.rows);
  const auto& size = slices.rows.size;
  for (std::size_t n = 0; n < size[2]; ++n)
    for (std::size_t row = 0; row < size[1]; ++row)
      for (std::size_t i = 0; i < size[0]; ++i)
        out.at(i, row, n) = projections.at(i, slices.first + row * slices.stride, n);
  return out;
}

/// Voxels of a slice along x and z.
std::size_t voxels_across(const Grid& projections, bool fine) {
  return std::min<std::size_t>(fine ? 512 : 256, std::max<std::size_t>(16, projections.size[0]));
}

/// Filter smooth enough that noise does not hide the values below zero of a wrong axis.
FdkParameters smooth_filter() {
  FdkParameters smooth;
  smooth.window = Window::hann;
  smooth.cutoff = 0.5;
  smooth.upright_rows = false;  // rows may be few and far apart
  smooth.log_notes = false;     // each axis that is tried would log the same notes
  return smooth;
}

/// Throws InputError if views are missing: a reconstruction may accept that, the search for the axis does not.
Redundancy whole_arc(const Geometry& geometry, const Grid& stack) {
  try {
    return redundancy_of(geometry, stack);
  } catch (const InputError&) {
    const auto coverage = angular_coverage(geometry, true);
    if (coverage.missing_inside == 0 && !arc_is_short(coverage, short_scan_arc(geometry, stack))) throw;
    throw InputError(fmt::format(
        "{} views leave a gap of {:.4g} degrees, and the axis is found by sharpness from a whole scan only: "
        "half a turn of a parallel beam, half a turn and the detector's fan of a divergent one; give the missing views",
        geometry.views.size(), coverage.largest_gap * 180 / pi));
  }
}

/// Measure that is least with the right axis, over the cylinder of `radius`. Moving the axis of half a turn moves the
/// phase of each line through the origin of Fourier space, and the power of the volume does not change: there the
/// measure is the power below zero. Where a full turn measures every line twice, the two interfere, and the power is
/// greatest with the right axis, while double contours need not be below zero.
double blur(const Volume& volume, double radius, bool full_turn) {
  double negative = 0, power = 0;
  const Grid& grid = volume.grid;
  for (std::size_t k = 0; k < grid.size[2]; ++k)
    for (std::size_t j = 0; j < grid.size[1]; ++j)
      for (std::size_t i = 0; i < grid.size[0]; ++i) {
        const auto at = grid.world(static_cast<double>(i), static_cast<double>(j), static_cast<double>(k));
        if (std::hypot(at[0], at[2]) >= radius) continue;
        const double value = volume.at(i, j, k);
        negative -= std::min(0.0, value);
        power += value * value;
      }
  const double count = static_cast<double>(grid.count());
  return full_turn ? count / power : negative / count;
}

}  // namespace

AxisEstimate axis_by_sharpness(const Volume& projections, const Geometry& geometry, const AxisSearch& search,
                               const std::vector<Device>& devices) {
  check_axis_stack(projections.grid, geometry);
  const SearchSlices slices = slices_of(projections.grid, geometry);
  const Volume rows = rows_of(slices, projections);
  const bool full_turn = 2 * opposed_views(geometry).size() >= geometry.views.size();
  FdkParameters smooth = smooth_filter();
  // weighed alike for all shifts, as the detector stands: a step in the weights would be taken for sharpness; not at
  // all for a parallel beam, where the smooth weights themselves are (0.1 to 0.2 pixels) and opposite views decide
  const bool wang = whole_arc(geometry, slices.rows).displaced();
  smooth.redundancy.displaced = wang && !geometry.parallel();
  const FftKernels kernels;  // of all shifts
  const auto score = [&](double shift, bool fine) {
    const Grid grid = slices.grid(voxels_across(projections.grid, fine));
    const Volume volume = fdk(rows, with_axis_shifted(geometry, shift), grid, smooth, devices).output;
    return blur(volume, 0.9 * slices.radius, full_turn);
  };
  const double pixel = projections.grid.spacing[0];
  return minimise(search, 2 * pixel, 0.5 * pixel, score);
}

double correlation_bytes(const Grid& projections, const Geometry& geometry) {
  const std::size_t rows = geometry.parallel() ? std::min(projections.size[1], most_compared_rows) : 1;
  return sizeof(float) * static_cast<double>(projections.size[0] * rows * projections.size[2]);
}

double sharpness_bytes(const Grid& projections, const Geometry& geometry, const std::vector<DeviceModel>& devices) {
  try {
    const SearchSlices slices = slices_of(projections, geometry);
    const Grid grid = slices.grid(voxels_across(projections, true));
    return sizeof(float) * static_cast<double>(slices.rows.count() + grid.count()) +
           plan_fdk(geometry, slices.rows, grid, smooth_filter(), devices).host_bytes;
  } catch (const InputError&) {  // which the search throws as well
    return 0;
  }
}

}  // namespace halocline
