#include "algorithms/fdk.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "host/error.hpp"

namespace halocline {
namespace {

constexpr double pi = std::numbers::pi;
constexpr double largest_gap = pi / 3;       // a few views evenly spread are a full circle by their gaps, but no scan
constexpr std::size_t weights_per_view = 5;  // FDK_WEIGHTS of fdk.cl

std::vector<float> to_float(const std::vector<double>& values) {
  return {values.begin(), values.end()};
}

std::vector<double> transfer_of(const FdkParameters& parameters, std::size_t length) {
  const auto transfer = ramp_transfer(parameters.window, parameters.cutoff, length);
  return parameters.variance ? squared_transfer(transfer) : transfer;
}

/// Per view: scale, u/SDD of column 0, its step, v/SDD of row 0, its step.
std::vector<float> weights_of(const Geometry& geometry, const Grid& projections) {
  const AngularCoverage coverage = angular_coverage(geometry);
  const double du = projections.spacing[0];
  std::vector<float> weights;
  for (std::size_t n = 0; n < geometry.views.size(); ++n) {
    const View& view = geometry.views[n];
    if (view.parallel()) {
      weights.push_back(static_cast<float>(coverage.gaps[n] / du));
      weights.insert(weights.end(), weights_per_view - 1, 0.0f);
      continue;
    }
    const double u = projections.origin[0] + view.projection_offset_x - view.source_offset_x;
    const double v = projections.origin[1] + view.projection_offset_y - view.source_offset_y;
    for (const double value :
         {coverage.gaps[n] * 0.5 * view.sdd / view.sid / du, u / view.sdd, projections.direction[0] * du / view.sdd,
          v / view.sdd, projections.direction[4] * projections.spacing[1] / view.sdd})
      weights.push_back(static_cast<float>(value));
  }
  return weights;
}

VoxelDriven::Options voxel_options(const Geometry& geometry, const FdkParameters& parameters, std::size_t length) {
  VoxelDriven::Options options;
  options.hardware_interpolation = parameters.hardware_interpolation;
  options.distance_weight = !geometry.parallel();
  options.variance = parameters.variance.has_value();
  if (options.variance)
    options.correlation = neighbour_correlation(ramp_transfer(parameters.window, parameters.cutoff, length));
  return options;
}

void check_parameters(const FdkParameters& parameters) {
  if (!(parameters.cutoff > 0 && parameters.cutoff <= 1))
    throw InputError(
        fmt::format("the filter's cut-off is {}; it must be a fraction of the highest frequency, above 0 and at most 1",
                    parameters.cutoff));
  if (!parameters.variance) return;
  const auto [photons, electronic] = *parameters.variance;
  if (!(photons > 0) || !std::isfinite(photons))
    throw InputError(fmt::format("the number of photons a pixel is {}; it must be positive", photons));
  if (!(electronic >= 0) || !std::isfinite(electronic))
    throw InputError(
        fmt::format("the electronic noise is {}; it must be a standard deviation in photons, 0 or more", electronic));
}

std::size_t padded_length(const Grid& projections) {
  return fft_length(2 * projections.size[0]);
}

struct Interval {
  double low = std::numeric_limits<double>::max(), high = std::numeric_limits<double>::lowest();
  void include(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  bool meets(double from, double to) const { return high > from && low < to; }
};

/// Whether some view's detector lies in the volume's shadow; the bounding box of the corners is generous.
bool is_seen(const Geometry& geometry, const Grid& projections, const Grid& grid) {
  for (const View& view : geometry.views) {
    const Matrix34 m = index_to_detector(view, grid, projections);
    Interval u, v;
    int behind = 0;
    for (int corner = 0; corner < 8; ++corner) {
      double p[3];
      for (int axis = 0; axis < 3; ++axis)
        p[axis] = 0.5 * (static_cast<double>(grid.size[axis]) - 1) * (corner >> axis & 1 ? 1 : -1);
      const auto row = [&](int n) {
        return m[4 * n] * p[0] + m[4 * n + 1] * p[1] + m[4 * n + 2] * p[2] + m[4 * n + 3];
      };
      const double w = row(2);
      if (w <= 0) {
        ++behind;
        continue;
      }
      u.include(row(0) / w);
      v.include(row(1) / w);
    }
    if (behind == 8) continue;    // all of it behind the source
    if (behind > 0) return true;  // the source lies within its bounds: too near to tell by corners
    if (u.meets(-1, static_cast<double>(projections.size[0])) && v.meets(-1, static_cast<double>(projections.size[1])))
      return true;
  }
  return false;
}

/// Where the detector's ends lie in mm at the isocentre's depth, over all views.
struct Reach {
  Interval across, along;
};
Reach reach_of(const Geometry& geometry, const Grid& projections) {
  Reach reach;
  for (const View& view : geometry.views) {
    const double scale = view.parallel() ? 1 : view.sid / view.sdd;
    const auto include = [&](Interval& interval, int axis, double sign, double projection_offset,
                             double source_offset) {
      for (const double end : {-0.5, static_cast<double>(projections.size[axis]) - 0.5}) {
        const double mm = projections.origin[axis] + sign * end * projections.spacing[axis] + projection_offset;
        interval.include(view.parallel() ? mm : (mm - source_offset) * scale + source_offset);
      }
    };
    include(reach.across, 0, projections.direction[0], view.projection_offset_x, view.source_offset_x);
    include(reach.along, 1, projections.direction[4], view.projection_offset_y, view.source_offset_y);
  }
  return reach;
}

[[noreturn]] void refuse_unseen(const Geometry& geometry, const Grid& projections, const Grid& grid) {
  Interval box[3];
  for (int corner = 0; corner < 8; ++corner) {
    double index[3];
    for (int axis = 0; axis < 3; ++axis)
      index[axis] = corner >> axis & 1 ? static_cast<double>(grid.size[axis]) - 1 : 0;
    const auto world = grid.world(index[0], index[1], index[2]);
    for (int axis = 0; axis < 3; ++axis) box[axis].include(world[axis]);
  }
  const Reach reach = reach_of(geometry, projections);
  throw InputError(fmt::format(
      "no view sees any of the volume: it spans x {:.6g} to {:.6g}, y {:.6g} to {:.6g} and z {:.6g} to {:.6g} mm, "
      "but at the isocentre's depth the detector spans {:.6g} to {:.6g} mm across and {:.6g} to {:.6g} mm along "
      "the rotation axis y; check the volume's origin and spacing, and the detector's origin and offsets",
      box[0].low, box[0].high, box[1].low, box[1].high, box[2].low, box[2].high, reach.across.low, reach.across.high,
      reach.along.low, reach.along.high));
}

}  // namespace

Fdk::Fdk(const Geometry& geometry, const Grid& projections, const Grid& grid, const FdkParameters& parameters)
    : projections_(projections),
      parameters_(parameters),
      length_(padded_length(projections)),
      filter_(to_float(transfer_of(parameters, length_))),
      weights_(weights_of(geometry, projections)),
      voxels_(geometry, projections, grid, voxel_options(geometry, parameters, length_)) {}

Requirements Fdk::requirements() const {
  Requirements requirements;
  requirements.algorithm = parameters_.variance ? "fdk variance" : "fdk";
  requirements.arrays.push_back({.name = "raw", .kind = ArrayKind::projections, .lifetime = Lifetime::input});
  // Two rows share a complex one of length_. An odd number of rows is held only at the end of a detector with an odd
  // number, and is then at least 33 or all of them (detector_rows_of): room for the half pair is spread over those.
  std::size_t row_length = length_;
  if (const std::size_t rows = projections_.size[1]; rows % 2 == 1) {
    const std::size_t fewest = std::min<std::size_t>(rows, 33);
    row_length = (length_ * (fewest + 1) + fewest - 1) / fewest;
  }
  requirements.arrays.push_back({.name = "spectrum", .kind = ArrayKind::projections, .row_length = row_length});
  requirements.arrays.push_back({.name = "filter", .kind = ArrayKind::fixed, .elements = filter_.size()});
  requirements.arrays.push_back({.name = "weights", .kind = ArrayKind::fixed, .elements = weights_.size()});
  requirements.kernels = {"fdk_weight", "fdk_filter", voxels_.quads() ? "fdk_unpack_quads" : "fdk_unpack"};
  requirements.preferred_batch = 32;
  voxels_.declare(requirements);
  return requirements;
}

void Fdk::start(Slab& slab) const {
  slab.set("filter", filter_.data(), filter_.size() * sizeof(float));
  slab.set("weights", weights_.data(), weights_.size() * sizeof(float));
  voxels_.start(slab);
}

void Fdk::filter(Slab& slab, Range views) const {
  const auto number = [](auto value) { return static_cast<std::int32_t>(value); };
  const auto columns = projections_.size[0];
  const auto rows = static_cast<std::size_t>(slab.rows().count()), pairs = (rows + 1) / 2;
  const auto count = static_cast<std::size_t>(views.count());
  const std::string options = parameters_.variance ? "-D VARIANCE" : "";
  const auto noise = parameters_.variance.value_or(FdkParameters::Noise{});
  slab.launch({"fdk.cl", "fdk_weight", options}, {length_, pairs, count},
              {in("raw"), in("weights"), out("spectrum"), number(columns), number(slab.rows().begin), number(rows),
               number(length_), number(pairs), number(views.begin), number(count), static_cast<float>(noise.photons),
               static_cast<float>(noise.electronic)});
  slab.fft("spectrum", length_, pairs * count, false);
  slab.launch({"fdk.cl", "fdk_filter", options}, {length_, pairs, count},
              {inout("spectrum"), in("filter"), number(length_), number(pairs), number(count)});
  slab.fft("spectrum", length_, pairs * count, true);
  slab.launch(
      {"fdk.cl", voxels_.quads() ? "fdk_unpack_quads" : "fdk_unpack", options}, voxels_.filtered_items(slab, views),
      {in("spectrum"), out("filtered"), number(columns), number(rows), number(length_), number(pairs), number(count)});
}

void Fdk::accumulate(Slab& slab, Range views) const {
  voxels_.accumulate(slab, views);
}

std::vector<std::string> check_fdk(const Geometry& geometry, const Grid& projections, const Grid& grid,
                                   const std::string& projections_name, const std::string& geometry_name) {
  check_projections(projections, projections_name, geometry, geometry_name);
  check_grid(grid, "the volume");
  const auto& d = projections.direction;
  if (std::max(std::abs(d[1]), std::abs(d[3])) > 1e-4)
    throw InputError(fmt::format(
        "{}: the detector's axes are turned by {:.4g} degrees in its plane; filtering needs rows along u, so give "
        "that angle as the geometry's in-plane angle",
        projections_name, std::atan2(d[3], d[0]) * 180 / pi));
  const AngularCoverage coverage = angular_coverage(geometry);
  if (!coverage.full_circle)
    throw InputError(fmt::format(
        "{}: its {} views cover only {:.6g} degrees, with a gap of {:.6g} before gantry angle {:.6g}; a cone or "
        "fan beam is reconstructed from the full circle only, so give the missing views",
        geometry_name, geometry.views.size(), coverage.range * 180 / pi, coverage.largest_gap * 180 / pi,
        coverage.first_angle * 180 / pi));
  if (!geometry.parallel() && coverage.largest_gap > largest_gap)
    throw InputError(
        fmt::format("{}: its {} views leave a gap of {:.6g} degrees; a reconstruction needs views all round, "
                    "no farther apart than {:.6g} degrees",
                    geometry_name, geometry.views.size(), coverage.largest_gap * 180 / pi, largest_gap * 180 / pi));
  if (!is_seen(geometry, projections, grid)) refuse_unseen(geometry, projections, grid);

  std::vector<std::string> notes;
  if (coverage.repeated_views > 0)
    notes.push_back(fmt::format("{}: {} views repeat an angle; views at one angle share its weight", geometry_name,
                                coverage.repeated_views));
  if (coverage.disordered)
    notes.push_back(fmt::format(
        "{}: the gantry angles are in no order round the circle; each view is weighted by the gaps beside it",
        geometry_name));
  const Interval across = reach_of(geometry, projections).across;
  const double wide = std::max(-across.low, across.high), narrow = std::min(-across.low, across.high);
  if (narrow < 0.8 * wide)
    notes.push_back(fmt::format(
        "{}: the detector is displaced; at the isocentre it spans {:.6g} to {:.6g} mm, so what lies farther than "
        "{:.6g} mm from the axis is missed by part of the views and comes out wrong",
        geometry_name, across.low, across.high, std::max(0.0, narrow)));
  return notes;
}

RunResult fdk(const Volume& projections, const Geometry& geometry, const Grid& grid, const FdkParameters& parameters,
              const std::vector<Device>& devices, const RunOptions& options) {
  check_parameters(parameters);
  const auto notes = check_fdk(geometry, projections.grid, grid);
  if (!parameters.variance)  // it follows the reconstruction, which has told them
    for (const auto& note : notes) spdlog::warn("{}", note);
  return run_backprojection(Fdk(geometry, projections.grid, grid, parameters), projections, grid, devices, options);
}

Plan plan_fdk(const Geometry& geometry, const Grid& projections, const Grid& grid, const FdkParameters& parameters,
              const std::vector<DeviceBudget>& budgets, const PlanOptions& options) {
  check_parameters(parameters);
  check_fdk(geometry, projections, grid);
  return make_plan(Fdk(geometry, projections, grid, parameters).requirements(), budgets, options);
}

}  // namespace halocline
