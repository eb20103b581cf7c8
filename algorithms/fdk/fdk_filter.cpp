#include "algorithms/fdk/fdk_filter.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "algorithms/fdk/fdk_weights.hpp"
#include "algorithms/fdk/row_filter.hpp"

namespace halocline {
namespace {

std::vector<float> to_float(const std::vector<double>& values) {
  return {values.begin(), values.end()};
}

// The transfer function of values, or of their variances.
std::vector<double> applied_transfer(const FdkParameters& parameters, std::size_t length) {
  const auto transfer = transfer_of(parameters, length);
  return parameters.variance ? squared_transfer(transfer) : transfer;
}

/// True if the source moves along the rows, straight across the line to the axis.
bool is_upright(const View& view) {
  const SourceOrbit orbit = source_orbit(view);
  const double length = view.parallel() ? 1 : view.sid;
  return orbit.tangent == std::array<double, 3>{length, 0, 0};
}

/// Correlations of a pixel with the next three along u and along v, once the filter and an interpolation at any
/// fraction f, all equally frequent, have passed white noise: the latter multiplies its power by 1 - 2 f (1 - f)(1 -
/// cos w), 2/3 + cos(w)/3 in the mean.
std::array<std::array<float, 4>, 2> interpolated_correlations(const FdkParameters& parameters, std::size_t length) {
  const auto transfer = transfer_of(parameters, length);
  double products[3] = {0, 0, 0}, power = 0;
  for (std::size_t n = 0; n < length; ++n) {
    const double w = 2 * std::numbers::pi * static_cast<double>(n) / static_cast<double>(length);
    const double each = transfer[n] * transfer[n] * (2 + std::cos(w));
    for (int lag = 0; lag < 3; ++lag) products[lag] += each * std::cos((lag + 1) * w);
    power += each;
  }
  const auto of = [&](int lag) { return static_cast<float>(products[lag] / power); };
  return {{{of(0), of(1), of(2), 0}, {0.25f, 0, 0, 0}}};
}

}  // namespace

FdkFilter::FdkFilter(const Geometry& geometry, const Grid& projections, const FdkParameters& parameters,
                     const FdkFilter* before, std::size_t least_length)
    : parameters_(parameters),
      raw_columns_(projections.size[0]),
      raw_rows_(projections.size[1]),
      rows_(
          filtered_rows(geometry, projections, parameters, before == nullptr ? nullptr : &before->rows_, least_length)),
      redundancy_(redundancy_of(geometry, projections, parameters.redundancy)),
      general_(redundancy_.kind != Redundancy::Kind::none || rows_.low_extent + rows_.high_extent > 0 ||
               geometry.radius_cylindrical_detector > 0 || rows_.upright ||
               (!geometry.parallel() && !std::all_of(geometry.views.begin(), geometry.views.end(), is_upright))),
      cylinder_(geometry.radius_cylindrical_detector > 0),
      local_(rows_.length <= parameters.longest_local_rows.value_or(0)),
      filter_(local_ ? local_row_table(applied_transfer(parameters, rows_.length))
                     : to_float(applied_transfer(parameters, rows_.length))),
      weights_(fdk_weights(geometry, projections, rows_, redundancy_, general_)),
      correlations_(resampled() && parameters.variance ? interpolated_correlations(parameters, rows_.length)
                                                       : std::array<std::array<float, 4>, 2>{}) {
  if (parameters.counts && parameters.counts->calibration != nullptr) beams_ = parameters.counts->calibration->beams;
  if (resampled())
    rows_read_ = measured_rows(geometry, projections, rows_.measured, rows_.upright ? &*rows_.upright : nullptr);
}

double FdkFilter::unit() const {
  const std::size_t each = weights_.size() / rows_.geometry.views.size();
  double largest = 0;  // scale, the first weight of a view
  for (std::size_t n = 0; n < weights_.size(); n += each) largest = std::max<double>(largest, std::abs(weights_[n]));
  double passed = 0;  // 0.5 for the ramp
  for (const double value : transfer_of(parameters_, rows_.length)) passed = std::max(passed, std::abs(value));
  return passed * largest;
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
         redundancy_.gaps.size() == other.redundancy_.gaps.size() &&
         rows_.upright.has_value() == other.rows_.upright.has_value() &&
         rows_.geometry.fan_stack() == other.rows_.geometry.fan_stack();
}

void FdkFilter::declare_tables(Requirements& requirements) const {
  requirements.arrays.push_back({.name = "raw",
                                 .kind = ArrayKind::projections,
                                 .lifetime = Lifetime::input,
                                 .element_bytes = component_bytes(stored_as(parameters_)),
                                 .row_length = raw_columns_,
                                 .rows = resampled() ? raw_rows_ : 0});
  requirements.arrays.push_back({.name = "filter", .kind = ArrayKind::fixed, .elements = filter_.size()});
  requirements.arrays.push_back({.name = "weights", .kind = ArrayKind::fixed, .elements = weights_.size()});
  if (redundancy_.kind == Redundancy::Kind::gaps)
    requirements.arrays.push_back({.name = "gaps", .kind = ArrayKind::fixed, .elements = 2 * redundancy_.gaps.size()});
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
}

void FdkFilter::declare(Requirements& requirements) const {
  declare_tables(requirements);
  // Two rows share a complex one. An odd number of rows is held only at the end of a detector with an odd
  // number, and is then at least 33 or all of them (detector_rows_of): room for the half pair is spread over those.
  std::size_t row_length = rows_.length;
  if (const std::size_t rows = rows_.padded.size[1]; rows % 2 == 1) {
    const std::size_t fewest = std::min<std::size_t>(rows, 33);
    row_length = (row_length * (fewest + 1) + fewest - 1) / fewest;
  }
  requirements.arrays.push_back({.name = "spectrum", .kind = ArrayKind::projections, .row_length = row_length});
  if (local_) {
    requirements.kernels.emplace_back("fdk_rows_filter");
  } else {
    for (const char* kernel : {weight_kernel(), "fdk_filter"}) requirements.kernels.emplace_back(kernel);
  }
  requirements.preferred_batch = 32;
  requirements.cost.pixel_bytes = 420;  // 10 Gpixel/s on an H200
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
  if (redundancy_.kind == Redundancy::Kind::gaps) {
    std::vector<float> gaps;
    for (const auto& [centre, half] : redundancy_.gaps)
      gaps.insert(gaps.end(), {static_cast<float>(centre), static_cast<float>(half)});
    slab.set("gaps", gaps.data(), gaps.size() * sizeof(float));
  }
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
  if (general_) add({static_cast<float>(rows_.limit)});
  add({photons, electronic});
  if (general_) add({correlations_[0], correlations_[1]});
  if (redundancy_.kind == Redundancy::Kind::gaps) add({in("gaps"), number(redundancy_.gaps.size())});
  if (parameters_.counts) {
    const CountsCalibration& calibration = *parameters_.counts->calibration;
    add({in("counts_pixels"), in("counts_beams"), in("counts_coefficients"), number(calibration.coefficients.size()),
         calibration.floor});
  }
  return arguments;
}

std::string FdkFilter::weight_options() const {
  std::string options = (parameters_.variance ? "-D VARIANCE" : "") + count_options();
  if (rows_.geometry.fan_stack()) options += " -D FAN_STACK";
  if (!general_) return options;
  if (redundancy_.kind == Redundancy::Kind::parker) options += " -D PARKER";
  if (redundancy_.kind == Redundancy::Kind::wang) options += " -D WANG";
  if (redundancy_.kind == Redundancy::Kind::gaps) options += " -D GAPS";
  if (cylinder_) options += " -D CYLINDER";
  if (rows_.upright) options += " -D UPRIGHT";
  return options;
}

// One array element a work-item: "raw" to "spectrum".
void FdkFilter::weight(Slab& slab, Range views, Range pairs) const {
  const auto number = [](auto value) { return static_cast<std::int32_t>(value); };
  const auto count = static_cast<std::size_t>(views.count());
  std::vector<SlabArgument> arguments{out("spectrum"), number(rows_.length), number(pairs.begin), number(pairs.count()),
                                      number(count)};
  const auto more = weight_arguments(slab, views);
  arguments.insert(arguments.end(), more.begin(), more.end());
  slab.launch({general_ ? "fdk_general.cl" : "fdk.cl", weight_kernel(), weight_options()},
              {rows_.length, pairs.size(), count}, arguments);
}

void FdkFilter::transform(Slab& slab, Range views, Range pairs) const {
  weight(slab, views, pairs);
  slab.fft("spectrum", rows_.length, pairs.size() * views.size(), false);
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
  transform(slab, views, range_of(0, pairs));
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

}  // namespace halocline
