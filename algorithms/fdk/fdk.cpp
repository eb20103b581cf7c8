#include "algorithms/fdk/fdk.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "algorithms/fdk/row_filter.hpp"
#include "algorithms/geometry/suspicious_views.hpp"
#include "algorithms/projectors/projector_variants.hpp"
#include "algorithms/validation/check_input.hpp"
#include "host/error.hpp"
#include "host/plural.hpp"
#include "scheduling/execution/device_selection.hpp"
#include "scheduling/profiling/rates.hpp"

namespace halocline {
namespace {

constexpr double pi = std::numbers::pi;

std::vector<float> to_float(const std::vector<double>& values) {
  return {values.begin(), values.end()};
}

Component stored_as(const FdkParameters& parameters) {
  return parameters.counts && parameters.counts->stored == Component::uint16 ? Component::uint16 : Component::float32;
}

std::vector<double> transfer_of(const FdkParameters& parameters, std::size_t length) {
  const auto transfer = ramp_transfer(parameters.window, parameters.cutoff, length);
  return parameters.variance ? squared_transfer(transfer) : transfer;
}

constexpr double noticeable_elevation = 10;  // degrees

/// That the geometry has by itself, or in the scan that its views are taken from.
std::size_t number_of(std::size_t view, std::span<const std::size_t> numbers) {
  return numbers.empty() ? view : numbers[view];
}

/// The angle between the rays to a point and the plane across the rotation axis, degrees.
double elevation(const View& view, const std::array<double, 3>& point) {
  std::array<double, 3> way = ray_direction(view);
  if (!view.parallel()) {
    const auto source = source_position(view);
    for (int axis = 0; axis < 3; ++axis) way[axis] = point[axis] - source[axis];
  }
  return std::atan2(std::abs(way[1]), std::hypot(way[0], way[2])) * 180 / pi;
}

/// Whether the source moves along the rows, straight across the line to the axis.
bool is_upright(const View& view) {
  const SourceOrbit orbit = source_orbit(view);
  const double length = view.parallel() ? 1 : view.sid;
  return orbit.tangent == std::array<double, 3>{length, 0, 0};
}

/// Parallel beam: K of fdk_general.cl, the same for all pixels.
double parallel_factor(const View& view) {
  const auto tangent = source_orbit(view).tangent;
  return (tangent[0] * tangent[0] + tangent[1] * tangent[1]) / std::abs(tangent[0]);
}

/// What fdk_general.cl adds to the weights of a view if UPRIGHT.
void add_map(std::vector<float>& weights, const UprightRows::Map& map, const View& measured, const Grid& raw) {
  for (const double value : map.to_measured) weights.push_back(static_cast<float>(value));
  for (const double value : map.ends) weights.push_back(static_cast<float>(value));
  const double pitch = raw.direction[4] * raw.spacing[1];
  const double v = raw.origin[1] + measured.projection_offset_y - measured.source_offset_y;
  for (const double value : {v, pitch})
    weights.push_back(static_cast<float>(measured.parallel() ? 0 : value / measured.sdd));
}

/// What fdk.cl, or fdk_general.cl, calls weights.
std::vector<float> weights_of(const Geometry& measured, const Grid& raw, const FilteredRows& rows,
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
      add({way[0], way[1], way[2], inward[0], inward[1], inward[2], 0, 0, 0, 0, 0});
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
    add({redundancy.betas.empty() ? 0 : redundancy.betas[n], radius / on.sdd, -on.source_offset_x / on.sdd,
         -(on.projection_offset_x + raw.origin[0]) / pitch, radius / pitch});
    if (rows.upright) add_map(weights, rows.upright->maps[n], on, raw);
  }
  return weights;
}

/// Of a pixel with the next three along u and along v, once the filter and an interpolation at any fraction f, all
/// equally frequent, have passed white noise: the latter multiplies its power by 1 - 2 f (1 - f)(1 - cos w), 2/3 +
/// cos(w)/3 in the mean.
std::array<std::array<float, 4>, 2> interpolated_correlations(const FdkParameters& parameters, std::size_t length) {
  const auto transfer = ramp_transfer(parameters.window, parameters.cutoff, length);
  double products[3] = {0, 0, 0}, power = 0;
  for (std::size_t n = 0; n < length; ++n) {
    const double w = 2 * pi * static_cast<double>(n) / static_cast<double>(length);
    const double each = transfer[n] * transfer[n] * (2 + std::cos(w));
    for (int lag = 0; lag < 3; ++lag) products[lag] += each * std::cos((lag + 1) * w);
    power += each;
  }
  const auto of = [&](int lag) { return static_cast<float>(products[lag] / power); };
  return {{{of(0), of(1), of(2), 0}, {0.25f, 0, 0, 0}}};
}

VoxelDriven::Options voxel_options(const Geometry& geometry, const FdkParameters& parameters, std::size_t length,
                                   std::span<const DeviceModel> devices) {
  VoxelDriven::Options options;
  options.hardware_interpolation = parameters.hardware_interpolation;
  options.half_texels = parameters.half_texels;
  set_device_options(options, devices);
  options.distance_weight = !geometry.parallel();
  options.variance = parameters.variance.has_value();
  if (options.variance)
    options.correlation = neighbour_correlation(ramp_transfer(parameters.window, parameters.cutoff, length));
  return options;
}

/// Columns of the same pitch on the plane that a cylindrical detector touches, over all that some view measures; its
/// rows. A flat detector is its own.
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

}  // namespace

FilteredRows filtered_rows(const Geometry& geometry, const Grid& projections, const FdkParameters& parameters,
                           const FilteredRows* earlier) {
  FilteredRows rows;
  if (parameters.upright_rows) {
    std::array<std::size_t, 2> kept{0, 0};
    if (earlier != nullptr && earlier->upright) kept = {earlier->measured.size[0], earlier->measured.size[1]};
    rows.upright = upright_rows(geometry, projections, kept);
  }
  rows.geometry = rows.upright ? rows.upright->geometry : geometry;
  rows.measured = rows.upright ? rows.upright->detector : flat_detector(geometry, projections);
  const Redundancy redundancy = redundancy_of(geometry, projections, parameters.redundancy);
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
  rows.length = fft_length(2 * (rows.padded.size[0] + std::max(rows.low_extent, rows.high_extent)));
  return rows;
}

void check_fdk_parameters(const FdkParameters& parameters) {
  if (!(parameters.pad >= 0 && parameters.pad <= 1))
    throw InputError(
        fmt::format("truncated rows are to go on by {} of their length (`pad`); it must be 0 to 1", parameters.pad));
  if (!(parameters.cutoff > 0 && parameters.cutoff <= 1))
    throw InputError(
        fmt::format("the filter's cut-off is {}; it must be a fraction of the highest frequency, above 0 and at most 1",
                    parameters.cutoff));
  if (!parameters.variance) return;
  const auto [photons, electronic] = *parameters.variance;
  constexpr double most_photons = 1e15, most_noise = 1e9;  // so that float32 holds what is made of them
  if (!(photons > 0 && photons <= most_photons))
    throw InputError(
        fmt::format("the number of photons a pixel (or a count) is {:g}; it must be positive, and no more "
                    "than {:g}",
                    photons, most_photons));
  if (!(electronic >= 0 && electronic <= most_noise))
    throw InputError(fmt::format("the electronic noise is {:g}; it must be a standard deviation in photons, 0 to {:g}",
                                 electronic, most_noise));
}

FdkFilter::FdkFilter(const Geometry& geometry, const Grid& projections, const FdkParameters& parameters,
                     const FdkFilter* before)
    : parameters_(parameters),
      raw_columns_(projections.size[0]),
      raw_rows_(projections.size[1]),
      rows_(filtered_rows(geometry, projections, parameters, before == nullptr ? nullptr : &before->rows_)),
      redundancy_(redundancy_of(geometry, projections, parameters.redundancy)),
      general_(redundancy_.kind != Redundancy::Kind::none || rows_.low_extent + rows_.high_extent > 0 ||
               geometry.radius_cylindrical_detector > 0 || rows_.upright ||
               (!geometry.parallel() && !std::all_of(geometry.views.begin(), geometry.views.end(), is_upright))),
      cylinder_(geometry.radius_cylindrical_detector > 0),
      local_(rows_.length <= parameters.longest_local_rows.value_or(0)),
      filter_(local_ ? local_row_table(transfer_of(parameters, rows_.length))
                     : to_float(transfer_of(parameters, rows_.length))),
      weights_(weights_of(geometry, projections, rows_, redundancy_, general_)),
      correlations_(resampled() && parameters.variance ? interpolated_correlations(parameters, rows_.length)
                                                       : std::array<std::array<float, 4>, 2>{}) {
  if (parameters.counts && parameters.counts->calibration != nullptr) beams_ = parameters.counts->calibration->beams;
  if (resampled()) find_rows_read(geometry, projections);
}

void FdkFilter::take_in_order(const std::vector<int>& order) {
  std::vector<float> in_order;
  const auto each = static_cast<std::ptrdiff_t>(weights_.size() / order.size());
  for (const int view : order)
    in_order.insert(in_order.end(), weights_.begin() + each * view, weights_.begin() + each * (view + 1));
  weights_ = std::move(in_order);
  const auto beams = beams_;
  for (std::size_t n = 0; n < beams_.size(); ++n) beams_[n] = beams[static_cast<std::size_t>(order[n])];
}

bool FdkFilter::fits(const FdkFilter& other) const {
  return raw_columns_ == other.raw_columns_ && rows_.padded.size == other.rows_.padded.size &&
         rows_.padded.origin == other.rows_.padded.origin && rows_.length == other.rows_.length &&
         general_ == other.general_ && redundancy_.kind == other.redundancy_.kind &&
         rows_.upright.has_value() == other.rows_.upright.has_value();
}

void FdkFilter::declare(Requirements& requirements) const {
  requirements.arrays.push_back({.name = "raw",
                                 .kind = ArrayKind::projections,
                                 .lifetime = Lifetime::input,
                                 .element_bytes = component_bytes(stored_as(parameters_)),
                                 .row_length = raw_columns_,
                                 .rows = resampled() ? raw_rows_ : 0});
  // Two rows share a complex one. An odd number of rows is held only at the end of a detector with an odd
  // number, and is then at least 33 or all of them (detector_rows_of): room for the half pair is spread over those.
  std::size_t row_length = rows_.length;
  if (const std::size_t rows = rows_.padded.size[1]; rows % 2 == 1) {
    const std::size_t fewest = std::min<std::size_t>(rows, 33);
    row_length = (row_length * (fewest + 1) + fewest - 1) / fewest;
  }
  requirements.arrays.push_back({.name = "spectrum", .kind = ArrayKind::projections, .row_length = row_length});
  requirements.arrays.push_back({.name = "filter", .kind = ArrayKind::fixed, .elements = filter_.size()});
  requirements.arrays.push_back({.name = "weights", .kind = ArrayKind::fixed, .elements = weights_.size()});
  if (parameters_.counts) {
    requirements.arrays.push_back({.name = "counts_pixels",
                                   .kind = ArrayKind::fixed,
                                   .element_bytes = sizeof(CountsCalibration::Pixel),
                                   .elements = raw_columns_ * raw_rows_});
    requirements.arrays.push_back(
        {.name = "counts_beams", .kind = ArrayKind::fixed, .elements = rows_.measured.size[2]});
    requirements.arrays.push_back(
        {.name = "counts_coefficients", .kind = ArrayKind::fixed, .elements = most_hardening_coefficients});
  }
  if (local_) {
    requirements.kernels.emplace_back("fdk_rows_filter");
  } else {
    for (const char* kernel : {general_ ? "fdk_general_weight" : "fdk_weight", "fdk_filter"})
      requirements.kernels.emplace_back(kernel);
  }
  requirements.preferred_batch = 32;
  requirements.cost.pixel_bytes = 420;  // 10 Gpixel/s on an H200
}

namespace {

/// And those that replacements of bad pixels in them come from.
Range with_replacements(Range rows, const std::vector<std::size_t>& bad,
                        const std::vector<std::array<std::size_t, 2>>& read) {
  Range held = rows;
  for (std::size_t n = 0; n < bad.size(); ++n) {
    if (!rows.contains(static_cast<std::int64_t>(bad[n]))) continue;
    held.begin = std::min(held.begin, static_cast<std::int64_t>(read[n][0]));
    held.end = std::max(held.end, static_cast<std::int64_t>(read[n][1]) + 1);
  }
  return held;
}

}  // namespace

void FdkFilter::hold_rows_read(Requirements& requirements) const {
  const auto* calibration = parameters_.counts ? parameters_.counts->calibration : nullptr;
  if (resampled() || !requirements.detector_rows || calibration == nullptr || calibration->bad_rows.empty()) return;
  requirements.detector_rows = [bad = calibration->bad_rows, read = calibration->rows_read(),
                                limit = static_cast<std::int64_t>(raw_rows_),
                                rows_of = requirements.detector_rows](Range slices) -> Range {
    const Range held = with_replacements(rows_of(slices), bad, read);
    // the first is even, for rows pair by their numbers
    return {held.begin / 2 * 2, std::min(limit, (held.end + 1) / 2 * 2)};
  };
}

void FdkFilter::find_rows_read(const Geometry& geometry, const Grid& projections) {
  rows_read_ = measured_rows(geometry, projections, rows_.measured, rows_.upright ? &*rows_.upright : nullptr);
  const auto* calibration = parameters_.counts ? parameters_.counts->calibration : nullptr;
  if (calibration == nullptr || calibration->bad_rows.empty()) return;
  const auto read = calibration->rows_read();
  for (Range& rows : rows_read_) rows = with_replacements(rows, calibration->bad_rows, read);
}

Range FdkFilter::rows_read(Range rows) const {
  if (!resampled()) return rows;
  if (rows.count() == static_cast<std::int64_t>(rows_read_.size())) return {0, static_cast<std::int64_t>(raw_rows_)};
  Range read = rows_read_[static_cast<std::size_t>(rows.begin)];
  for (std::int64_t row = rows.begin; row < rows.end; ++row) {
    const Range& each = rows_read_[static_cast<std::size_t>(row)];
    read = {std::min(read.begin, each.begin), std::max(read.end, each.end)};
  }
  return read;
}

void FdkFilter::start(Slab& slab) const {
  slab.set("filter", filter_.data(), filter_.size() * sizeof(float));
  slab.set("weights", weights_.data(), weights_.size() * sizeof(float));
  if (parameters_.counts) {
    const CountsCalibration& calibration = *parameters_.counts->calibration;
    const auto set = [&slab](const std::string& name, const auto* data, std::size_t count) {
      slab.set(name, data, count * sizeof(*data));
    };
    set("counts_pixels", calibration.pixels.data(), raw_columns_ * raw_rows_);
    set("counts_beams", beams_.data(), beams_.size());
    set("counts_coefficients", calibration.coefficients.data(), calibration.coefficients.size());
  }
}

std::string FdkFilter::count_options() const {
  if (!parameters_.counts) return "";
  return parameters_.counts->stored == Component::uint16 ? " -D COUNTS -D COUNTS_USHORT" : " -D COUNTS";
}

// FDK_WEIGHT_ARGUMENTS of fdk_weight.clh or fdk_general.clh.
std::vector<SlabArgument> FdkFilter::weight_arguments(Slab& slab, Range views) const {
  const auto number = [](auto value) { return static_cast<std::int32_t>(value); };
  const auto noise = parameters_.variance.value_or(FdkParameters::Noise{});
  const auto photons = static_cast<float>(noise.photons), electronic = static_cast<float>(noise.electronic);
  const Range rows = slab.rows(), read = rows_read(rows);
  std::vector<SlabArgument> arguments{in("raw"), in("weights"), number(raw_columns_)};
  const auto add = [&](std::initializer_list<SlabArgument> more) {
    arguments.insert(arguments.end(), more.begin(), more.end());
  };
  if (general_)
    add({number(raw_rows_), number(read.begin), number(read.count()), number(rows_.measured.size[0]),
         number(rows_.before), number(rows_.low_extent), number(rows_.high_extent)});
  add({number(rows.begin), number(rows.count()), number(views.begin)});
  if (general_) add({static_cast<float>(redundancy_.limit)});
  add({photons, electronic});
  if (general_) add({correlations_[0], correlations_[1]});
  if (parameters_.counts) {
    const CountsCalibration& calibration = *parameters_.counts->calibration;
    add({in("counts_pixels"), in("counts_beams"), in("counts_coefficients"), number(calibration.coefficients.size()),
         calibration.floor});
  }
  return arguments;
}

std::string FdkFilter::weight_options() const {
  std::string options = (parameters_.variance ? "-D VARIANCE" : "") + count_options();
  if (!general_) return options;
  if (redundancy_.kind == Redundancy::Kind::parker) options += " -D PARKER";
  if (redundancy_.kind == Redundancy::Kind::wang) options += " -D WANG";
  if (cylinder_) options += " -D CYLINDER";
  if (rows_.upright) options += " -D UPRIGHT";
  return options;
}

// One array element a work-item: "raw" to "spectrum".
void FdkFilter::weight(Slab& slab, Range views) const {
  const auto number = [](auto value) { return static_cast<std::int32_t>(value); };
  const auto pairs = (static_cast<std::size_t>(slab.rows().count()) + 1) / 2;
  const auto count = static_cast<std::size_t>(views.count());
  std::vector<SlabArgument> arguments{out("spectrum"), number(rows_.length), number(pairs), number(count)};
  const auto more = weight_arguments(slab, views);
  arguments.insert(arguments.end(), more.begin(), more.end());
  slab.launch(general_ ? KernelSpec{"fdk_general.cl", "fdk_general_weight", weight_options()}
                       : KernelSpec{"fdk.cl", "fdk_weight", weight_options()},
              {rows_.length, pairs, count}, arguments);
}

void FdkFilter::run_local(Slab& slab, Range views) const {
  const auto number = [](auto value) { return static_cast<std::int32_t>(value); };
  const auto pairs = (static_cast<std::size_t>(slab.rows().count()) + 1) / 2;
  const std::size_t items = local_row_items(slab.device(), rows_.length);
  std::vector<SlabArgument> arguments{out("spectrum"), in("filter"), number(rows_.padded.size[0]), number(pairs)};
  const auto more = weight_arguments(slab, views);
  arguments.insert(arguments.end(), more.begin(), more.end());
  slab.launch({"fdk_rows.cl", "fdk_rows_filter",
               fmt::format("-D LENGTH={} -D GROUP={}{} {}", rows_.length, items, general_ ? " -D GENERAL" : "",
                           weight_options())},
              {items, pairs, static_cast<std::size_t>(views.count())}, {items, 1, 1}, arguments);
}

void FdkFilter::run(Slab& slab, Range views) const {
  if (local_) return run_local(slab, views);
  const auto number = [](auto value) { return static_cast<std::int32_t>(value); };
  const auto length = rows_.length;
  const auto pairs = (static_cast<std::size_t>(slab.rows().count()) + 1) / 2;
  const auto count = static_cast<std::size_t>(views.count());
  weight(slab, views);
  slab.fft("spectrum", length, pairs * count, false);
  slab.launch({"fdk.cl", "fdk_filter", parameters_.variance ? "-D VARIANCE" : ""}, {length, pairs, count},
              {inout("spectrum"), in("filter"), number(length), number(pairs), number(count)});
  slab.fft("spectrum", length, pairs * count, true);
}

void FdkFilter::unpack(Slab& slab, Range views, const std::string& layout, std::array<std::size_t, 3> items) const {
  const auto number = [](auto value) { return static_cast<std::int32_t>(value); };
  const auto rows = slab.rows().count();
  slab.launch({"fdk.cl", "fdk_unpack", (parameters_.variance ? "-D VARIANCE " : " ") + layout}, items,
              {in("spectrum"), out("filtered"), number(rows_.padded.size[0]), number(rows), number(rows_.length),
               number((rows + 1) / 2), number(views.count())});
}

Fdk::Fdk(const Geometry& geometry, const Grid& projections, const Grid& grid, const FdkParameters& parameters,
         std::span<const DeviceModel> devices)
    : variance_(parameters.variance.has_value()),
      filter_(geometry, projections, parameters),
      voxels_(filter_.rows().geometry, filter_.rows().padded, grid,
              voxel_options(geometry, parameters, filter_.rows().length, devices)) {
  filter_.take_in_order(voxels_.order());
}

Requirements Fdk::requirements() const {
  Requirements requirements;
  requirements.algorithm = variance_ ? "fdk variance" : "fdk";
  filter_.declare(requirements);
  requirements.kernels.emplace_back("fdk_unpack");
  voxels_.declare(requirements);
  filter_.hold_rows_read(requirements);
  return requirements;
}

void Fdk::start(Slab& slab) const {
  filter_.start(slab);
  voxels_.start(slab);
}

void Fdk::filter(Slab& slab, Range views) const {
  filter_.run(slab, views);
  filter_.unpack(slab, views, voxels_.layout_options(), voxels_.filtered_items(slab, views));
  voxels_.filtered(slab, views);
}

void Fdk::accumulate(Slab& slab, Range views, Range slices) const {
  voxels_.accumulate(slab, views, slices);
}

namespace {

// Refuses rows that stand far too steep to the way of the source.
void check_row_slant(const Geometry& geometry, const std::string& geometry_name,
                     std::span<const std::size_t> numbers = {}) {
  const auto steepest = std::max_element(geometry.views.begin(), geometry.views.end(),
                                         [](const View& a, const View& b) { return row_slant(a) < row_slant(b); });
  const double slant = row_slant(*steepest);
  if (slant > largest_row_slant)
    throw InputError(
        fmt::format("{}: in projection {} the detector's rows stand at {:.4g} degrees to the way of the source; "
                    "filtering needs rows across the rotation axis, so {}correct the angles",
                    geometry_name, number_of(static_cast<std::size_t>(steepest - geometry.views.begin()), numbers),
                    slant, turn_or(slant)));
}

}  // namespace

std::vector<std::string> check_fdk_views(const Geometry& geometry, const Grid& grid, const std::string& geometry_name,
                                         std::span<const std::size_t> numbers) {
  std::vector<std::string> notes;
  check_row_slant(geometry, geometry_name, numbers);
  const auto half = [](std::size_t size) { return 0.5 * (static_cast<double>(size) - 1); };
  const auto centre = grid.world(half(grid.size[0]), half(grid.size[1]), half(grid.size[2]));
  const auto highest =
      std::max_element(geometry.views.begin(), geometry.views.end(),
                       [&](const View& a, const View& b) { return elevation(a, centre) < elevation(b, centre); });
  if (const double angle = elevation(*highest, centre); angle > noticeable_elevation)
    notes.push_back(fmt::format(
        "{}: rays of projection {} meet the volume's centre at {:.4g} degrees to the plane across the rotation axis; "
        "filtered back-projection is made for that plane, and values are off by per cents",
        geometry_name, number_of(static_cast<std::size_t>(highest - geometry.views.begin()), numbers), angle));
  for (const auto& suspicious : suspicious_views(geometry, numbers))
    notes.push_back(fmt::format("{}: {}", geometry_name, suspicious));
  return notes;
}

std::vector<std::string> check_fdk(const Geometry& geometry, const Grid& projections, const Grid& grid,
                                   const std::string& projections_name, const std::string& geometry_name,
                                   const RedundancyOptions& options) {
  check_projections(projections, projections_name, geometry, geometry_name, DetectorShape::flat_or_cylinder);
  check_grid(grid, "the volume");
  const auto& d = projections.direction;
  if (std::max(std::abs(d[1]), std::abs(d[3])) > 1e-4)
    throw InputError(fmt::format(
        "{}: the detector's axes are turned by {:.4g} degrees in its plane; filtering needs rows along u, so give "
        "that angle as the geometry's in-plane angle",
        projections_name, std::atan2(d[3], d[0]) * 180 / pi));
  check_row_slant(geometry, geometry_name);
  const AngularCoverage coverage = angular_coverage(geometry, options.allow_incomplete_arc);
  if (coverage.inner_gap > largest_view_gap)
    throw InputError(
        fmt::format("{}: its {} views leave a gap of {:.6g} degrees; a reconstruction needs views all round, "
                    "no farther apart than {:.6g} degrees",
                    geometry_name, geometry.views.size(), coverage.inner_gap * 180 / pi, largest_view_gap * 180 / pi));
  const Redundancy redundancy = redundancy_of(geometry, projections, options, geometry_name);
  const Grid seen = flat_detector(geometry, projections);
  if (!is_seen(geometry, seen, grid)) refuse_unseen(geometry, seen, grid);

  std::vector<std::string> notes;
  if (coverage.repeated_views > 0)
    notes.push_back(fmt::format("{}: {} an angle; views at one angle share its weight", geometry_name,
                                plural(coverage.repeated_views, "view repeats", "views repeat")));
  if (coverage.disordered)
    notes.push_back(fmt::format(
        "{}: the gantry angles are in no order round the circle; each view is weighted by the gaps beside it",
        geometry_name));
  if (const auto slanted = slant_that_stays(geometry, projections))
    notes.push_back(fmt::format("{}: {}", geometry_name, *slanted));
  notes.insert(notes.end(), redundancy.notes.begin(), redundancy.notes.end());
  const Interval across = reach_of(geometry, seen).across;
  const double wide = std::max(-across.low, across.high), narrow = std::min(-across.low, across.high);
  if (redundancy.kind != Redundancy::Kind::wang && narrow < 0.8 * wide)
    notes.push_back(fmt::format(
        "{}: the detector is displaced; at the isocentre it spans {:.6g} to {:.6g} mm, so what lies farther than "
        "{:.6g} mm from the axis is missed by part of the views and comes out wrong",
        geometry_name, across.low, across.high, std::max(0.0, narrow)));
  return notes;
}

FdkParameters with_row_filter(const FdkParameters& parameters, const std::vector<Device>& devices) {
  FdkParameters chosen = parameters;
  if (!chosen.longest_local_rows) chosen.longest_local_rows = longest_local_rows(devices);
  return chosen;
}

namespace {

// Projections in the type that the parameters say, to a sink or to a volume on a grid.
template <class Output>
RunResult fdk_of(const ProjectionStack& projections, const Geometry& geometry, Output& output, const Grid& grid,
                 const FdkParameters& parameters, const std::vector<Device>& devices, const RunOptions& options) {
  const Grid& stack = projections.grid;
  check_devices(devices);
  check_fdk_parameters(parameters);
  if (parameters.counts) {
    if (parameters.counts->calibration == nullptr)
      throw InputError("the projections are counts, but there is no calibration for them");
    require_calibrated(*parameters.counts->calibration, stack, "the projections");
  }
  const auto notes = check_fdk(geometry, stack, grid, "the projections", "the geometry", parameters.redundancy);
  if (parameters.hardware_interpolation)
    require_variant(parameters.half_texels ? half_texture_variant() : texture_variant(), devices,
                    parameters.half_texels ? "`half_texels`" : "`hardware_interpolation`");
  if (parameters.tell && !parameters.variance) {  // which follows the reconstruction
    for (const auto& note : check_fdk_views(geometry, grid)) spdlog::warn("{}", note);
    for (const auto& note : notes) spdlog::warn("{}", note);
  }
  const auto method_for = [&](const std::vector<Device>& used) {
    return Fdk(geometry, stack, grid, with_row_filter(parameters, used), checked_budgets(used));
  };
  RunOptions wanted = options;
  if constexpr (std::is_base_of_v<VolumeSink, Output>)
    if (output.on_devices()) wanted.plan.on_devices.insert("volume");
  const auto plan = [&](const std::vector<Device>& used) {
    return plan_backprojection(method_for(used), device_models(used), wanted.plan);
  };
  return run_on_selection(devices, wanted, plan, [&](const std::vector<Device>& used, const RunOptions& planned) {
    const Fdk method = method_for(used);
    for (const Device& device : used) method.check_device(device.info());
    return run_backprojection(method, projections, output, used, planned);
  });
}

}  // namespace

RunResult fdk(const Volume& projections, const Geometry& geometry, const Grid& grid, const FdkParameters& parameters,
              const std::vector<Device>& devices, const RunOptions& options) {
  check_volume(projections, "the projections");
  FdkParameters stored = parameters;
  if (stored.counts) stored.counts->stored = Component::float32;
  return fdk_of({projections.grid, reinterpret_cast<const std::byte*>(projections.voxels.data())}, geometry, grid, grid,
                stored, devices, options);
}

namespace {

FdkParameters stored_in(const TypedVolume& projections, const FdkParameters& parameters) {
  FdkParameters stored = parameters;
  if (stored.counts) stored.counts->stored = projections.component;
  if (!projections.scaling.identity() || projections.component != stored_as(stored))
    throw InputError(fmt::format("the projections are stored as {}; expected float32, or uint16 for counts, not scaled",
                                 component_name(projections.component)));
  return stored;
}

}  // namespace

RunResult fdk(const TypedVolume& projections, const Geometry& geometry, const Grid& grid,
              const FdkParameters& parameters, const std::vector<Device>& devices, const RunOptions& options) {
  return fdk_of({projections.grid, projections.bytes()}, geometry, grid, grid, stored_in(projections, parameters),
                devices, options);
}

RunResult fdk_into(const TypedVolume& projections, const Geometry& geometry, VolumeSink& output,
                   const FdkParameters& parameters, const std::vector<Device>& devices, const RunOptions& options) {
  return fdk_of({projections.grid, projections.bytes()}, geometry, output, output.grid(),
                stored_in(projections, parameters), devices, options);
}

RunResult fdk_into(const VolumeSource& projections, const Grid& stack, const Geometry& geometry, VolumeSink& output,
                   const FdkParameters& parameters, const std::vector<Device>& devices, const RunOptions& options) {
  if (projections.grid().size != stack.size) throw std::logic_error("the source has another size than the stack");
  FdkParameters stored = parameters;
  if (stored.counts) stored.counts->stored = Component::float32;
  return fdk_of({stack, reinterpret_cast<const std::byte*>(projections.data()), &projections}, geometry, output,
                output.grid(), stored, devices, options);
}

Plan plan_fdk(const Geometry& geometry, const Grid& projections, const Grid& grid, const FdkParameters& parameters,
              const std::vector<DeviceModel>& models, const PlanOptions& options) {
  check_fdk_parameters(parameters);
  check_fdk(geometry, projections, grid, "the projections", "the geometry", parameters.redundancy);
  return plan_on_selection(models, [&](const std::vector<DeviceModel>& used) {
    return plan_backprojection(Fdk(geometry, projections, grid, parameters, used), used, options);
  });
}

}  // namespace halocline
