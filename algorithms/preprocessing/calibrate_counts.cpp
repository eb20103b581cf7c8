#include "algorithms/preprocessing/calibrate_counts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "algorithms/preprocessing/bad_pixels.hpp"
#include "algorithms/preprocessing/failing_values.hpp"
#include "algorithms/preprocessing/ring_reduction.hpp"
#include "algorithms/preprocessing/rings.hpp"
#include "algorithms/preprocessing/unmeasured.hpp"
#include "algorithms/support/parallel_slices.hpp"
#include "host/system/error.hpp"
#include "host/system/plural.hpp"
#include "host/volume/finite_source.hpp"

namespace halocline {
namespace {

constexpr double relative_floor = 1e-5;  // of the beam, for counts that are not whole numbers
constexpr double relative_dark = 1e-3;   // of the beam: less in all pixels is a dark view, if they are not
constexpr double far_too_bright = 2;     // of what nearly all counts are below
constexpr double brightest_transmission = 1.5;
constexpr double far_above_flats = 1.22;  // a line integral of -0.2
constexpr double of_divided_counts = 50;  // flats, of counts that they were divided by

void check_field(const CountsField& field, const Grid& counts, const std::string& counts_name, bool allow_nonfinite) {
  const Volume& stack = *field.stack;
  require_same_detector(stack.grid, field.name, counts, counts_name);
  if (!allow_nonfinite) require_finite(MemorySource(stack), field.name);
  if (stack.grid.size[2] == 0) throw InputError(fmt::format("{}: no views; at least one is needed", field.name));
}

/// Numbers of up to `most` views, spread evenly.
std::vector<std::size_t> some_views(std::size_t views, std::size_t most) {
  std::vector<std::size_t> some;
  for (std::size_t n = 0; n < std::min(views, most); ++n)
    some.push_back(views <= most ? n : n * (views - 1) / (most - 1));
  return some;
}

/// True if the finite values of three views are whole.
bool are_whole(const VolumeSource& counts) {
  const std::size_t slice = counts.grid().slice();
  std::vector<float> view(slice);
  for (const std::size_t n : some_views(counts.grid().size[2], 3)) {
    counts.read(n * slice, slice, view.data());
    if (!std::all_of(view.begin(), view.end(),
                     [](float each) { return !std::isfinite(each) || each == std::floor(each); }))
      return false;
  }
  return true;
}

/// Counts and their line integrals.
class CountValues : public RayValues {
 public:
  CountValues(const CountsCalibration& calibration, const std::vector<float>& beams, bool whole)
      : calibration_(calibration), beams_(beams), whole_(whole) {}
  double integral(std::size_t pixel, std::size_t view, float stored) const override {
    const auto& [dark, open] = calibration_.pixels[pixel];
    const double signal = std::max(static_cast<double>(stored) - dark, static_cast<double>(calibration_.floor));
    return -std::log(signal / (static_cast<double>(open) * beams_[view]));
  }
  float stored(std::size_t pixel, std::size_t view, double integral) const override {
    const auto& [dark, open] = calibration_.pixels[pixel];
    const double count = dark + static_cast<double>(open) * beams_[view] * std::exp(-integral);
    return static_cast<float>(whole_ ? std::round(count) : count);
  }

 private:
  const CountsCalibration& calibration_;
  const std::vector<float>& beams_;
  bool whole_;
};

}  // namespace

CountsCalibrator::CountsCalibrator(const VolumeSource& counts, const CountsFields& fields, const CountsOptions& options)
    : options_(options) {
  const Grid& grid = counts.grid();
  with_flats_ = fields.flats.stack != nullptr;
  check_counts_options(options, grid, with_flats_, true, fields.counts_name);
  out_.size = grid.size;
  if (!options.hardening.empty()) out_.coefficients = {options.hardening.begin(), options.hardening.end()};
  out_.report.pixels = grid.count();
  take_fields(grid, fields);
  take_scale(counts, fields);
  std::vector<SeenPixel> seen(grid.slice());
  look_through(counts, fields.counts_name, [&](std::size_t row, const std::vector<SeenPixel>& pixels) {
    std::copy(pixels.begin(), pixels.end(), seen.begin() + static_cast<std::ptrdiff_t>(row * pixels.size()));
  });
  mark_bad(seen, grid, fields);
  report_lost(lost_in(seen, 0));
  out_.beams = beams_of(counts, fields.counts_name);
  report_beams(out_.beams);
  out_.replaced = replace(counts, out_.beams, fields.counts_name);
  if (options_.ring_width > 0) take_off_rings(counts);
  views_ = grid.size[2];
}

CountsCalibrator::Added CountsCalibrator::add(const VolumeSource& counts, const std::string& name) {
  const Grid& grid = counts.grid();
  if (grid.size[0] != out_.size[0] || grid.size[1] != out_.size[1])
    throw InputError(fmt::format("{}: the detector has {} x {} pixels, but {} x {} in the views before", name,
                                 grid.size[0], grid.size[1], out_.size[0], out_.size[1]));
  std::vector<Lost> lost(grid.size[1]);  // of a row: what its pixels showed is not kept, views may come one by one
  look_through(counts, name, [&](std::size_t row, const std::vector<SeenPixel>& pixels) {
    lost[row] = lost_in(pixels, row * pixels.size());
  });
  for (const Lost& each : lost) report_lost(each);
  out_.report.pixels += grid.count();
  Added added{beams_of(counts, name), {}};
  added.replaced = replace(counts, added.beams, name);
  views_ += grid.size[2];
  report_beams(added.beams);
  return added;
}

void CountsCalibrator::take_fields(const Grid& grid, const CountsFields& fields) {
  const std::size_t slice = grid.slice();
  const auto check = [&](const CountsField& field) {
    if (field.stack != nullptr) check_field(field, grid, fields.counts_name, options_.allow_nonfinite);
  };
  check(fields.darks);
  check(fields.flats);
  check(fields.flats_after);
  dark_.assign(slice, 0.0);
  open_.assign(slice, 1.0);
  if (fields.darks.stack != nullptr) {
    FieldMean darks = mean_of_darks(*fields.darks.stack);
    dark_ = std::move(darks.pixels);
    out_.report.flats_left_out += darks.left_out;
    out_.dark_noise = static_cast<float>(darks.noise);
  }
  if (with_flats_) {
    FieldMean flats = mean_of_flats(*fields.flats.stack, fields.flats_after.stack, dark_);
    take_beam_of_flats(flats, fields);
    if (fields.flats.is_measured)
      out_.report.clipped_flats = clipped_in(*fields.flats.stack, fields.flats_after.stack, options_.saturation);
    open_ = std::move(flats.pixels);
    out_.report.flats_left_out += flats.left_out;
  }
  bad_.assign(slice, 0);
  out_.pixels.resize(slice);
  for (std::size_t n = 0; n < slice; ++n) {
    if (with_flats_) open_[n] -= dark_[n];
    if (!std::isfinite(dark_[n])) open_[n] = 0, dark_[n] = 0;
    if (!(open_[n] > 0)) open_[n] = std::min(0.0, open_[n]), bad_[n] = 1;
    if (std::isnan(open_[n])) open_[n] = 0;
    out_.pixels[n] = {static_cast<float>(dark_[n]), static_cast<float>(open_[n])};
  }
  if (const auto dead = std::count(bad_.begin(), bad_.end(), 1); 2 * static_cast<std::size_t>(dead) > slice)
    throw InputError(fmt::format(
        "{}: in {} of {} pixels they do not lie above {}; are the two exchanged, or the flats taken without a beam?",
        fields.flats.name, dead, slice, fields.darks.stack != nullptr ? fields.darks.name : "0"));
}

void CountsCalibrator::take_beam_of_flats(const FieldMean& flats, const CountsFields& fields) {
  if (options_.air) return;
  if (fields.flats_after.stack != nullptr) {
    levels_ = levels_before_and_after(flats.levels, fields.flats.stack->grid.size[2]);
  } else if (const auto step = step_in(flats.levels)) {
    if (step->is_of_a_scan())
      levels_ = step->levels;
    else
      out_.report.odd_flats = step;
  }
  out_.report.between_flats = levels_.has_value();
}

// Takes the beam's scale, by which floors and tests go: that of flats, of the air region, or 1.
void CountsCalibrator::take_scale(const VolumeSource& counts, const CountsFields& fields) {
  std::vector<double> beam;
  whole_ = are_whole(counts);
  if (with_flats_) {
    for (std::size_t n = 0; n < open_.size(); ++n)
      if (bad_[n] == 0) beam.push_back(open_[n]);
  } else if (options_.air) {
    const std::size_t columns = out_.size[0];
    const auto [u0, v0, u1, v1] = *options_.air;
    std::vector<float> line(u1 - u0);
    for (const std::size_t view : some_views(out_.size[2], 5))
      for (std::size_t row = v0; row < v1; ++row) {
        counts.read((view * out_.size[1] + row) * columns + u0, line.size(), line.data());
        for (std::size_t n = 0; n < line.size(); ++n)
          if (std::isfinite(line[n])) beam.push_back(line[n] - dark_[row * columns + u0 + n]);
      }
  } else if (are_transmissions(counts)) {
    out_.report.transmissions = true;
  } else {
    check_counts_options(options_, counts.grid(), false, false, fields.counts_name);
  }
  if (const double found = median_of(beam); found > 0) scale_ = found;
  take_brightest(counts, fields);
  const double floor = options_.floor.value_or(whole_ ? 0.5 : relative_floor * scale_);
  out_.floor = static_cast<float>(floor);
  least_ = options_.floor || whole_ ? out_.floor : relative_dark * scale_;
}

bool CountsCalibrator::are_transmissions(const VolumeSource& counts) const {
  if (whole_) return false;
  const std::size_t slice = counts.grid().slice();
  std::vector<float> view(slice);
  std::vector<double> values;
  for (const std::size_t n : some_views(counts.grid().size[2], 12)) {
    counts.read(n * slice, slice, view.data());
    std::copy_if(view.begin(), view.end(), std::back_inserter(values), [](float each) { return std::isfinite(each); });
  }
  if (values.empty()) return false;
  const auto at = [&](double share) {
    const auto there = values.begin() + static_cast<std::ptrdiff_t>(share * static_cast<double>(values.size() - 1));
    std::nth_element(values.begin(), there, values.end());
    return *there;
  };
  // One in a thousand on each side may be wild. Line integrals have many zeros, where the beam passes the object.
  return at(0.001) > -0.1 && at(0.1) > 0.01 && at(0.999) < brightest_transmission && at(0.999) > 0.5;
}

// Takes twice the signal that 99 of 100 are below, in units of the open beam. Refuses transmissions with the flats that
// have been divided out of them.
void CountsCalibrator::take_brightest(const VolumeSource& counts, const CountsFields& fields) {
  const std::size_t slice = counts.grid().slice();
  std::vector<float> view(slice);
  std::vector<double> signals, of_view, medians;
  float highest = 0;
  for (const std::size_t n : some_views(counts.grid().size[2], 12)) {
    counts.read(n * slice, slice, view.data());
    of_view.clear();
    for (std::size_t at = 0; at < slice; ++at) {
      if (!std::isfinite(view[at]) || bad_[at] != 0) continue;
      highest = std::max(highest, view[at]);
      of_view.push_back((view[at] - dark_[at]) / open_[at]);
    }
    signals.insert(signals.end(), of_view.begin(), of_view.end());
    medians.push_back(median_of(of_view));
  }
  // An air region, if given, determines how bright the beam is.
  if (with_flats_ && !options_.air)
    if (const double median = median_of(medians); median > far_above_flats) out_.report.above_flats = median;
  if (with_flats_ && !whole_ && scale_ >= of_divided_counts && highest < brightest_transmission)
    throw InputError(fmt::format(
        "{}: the counts are {:.4g} at most, and {} about {:.6g}: these seem to be transmissions I/I0, which "
        "flats have been divided out of; leave the flats out",
        fields.counts_name, highest, fields.flats.name, scale_));
  if (signals.empty()) return;
  const auto nearly = signals.begin() + static_cast<std::ptrdiff_t>(99 * (signals.size() - 1) / 100);
  std::nth_element(signals.begin(), nearly, signals.end());
  brightest_ = static_cast<float>(far_too_bright * std::max(*nearly, with_flats_ ? 1.0 : 0.0));
}

// Least and greatest count of each pixel, what is too low or too high, and that no view is dark. Calls take_row(row,
// its pixels) from several threads.
template <typename TakeRow>
void CountsCalibrator::look_through(const VolumeSource& counts, const std::string& name,
                                    const TakeRow& take_row) const {
  const auto [columns, rows, views] = counts.grid().size;
  std::vector<char> lit(rows * views, 0);  // by row, so that threads do not meet
  const float saturation = options_.saturation ? static_cast<float>(*options_.saturation) : INFINITY;
  parallel_slices(rows, [&, columns, rows, views](std::size_t row) {
    std::vector<float> line(columns);
    std::vector<SeenPixel> seen(columns);
    const auto* pixels = out_.pixels.data() + row * columns;
    for (std::size_t view = 0; view < views; ++view) {
      counts.read((view * rows + row) * columns, columns, line.data());
      for (std::size_t n = 0; n < columns; ++n) {
        const float count = line[n];
        if (!std::isfinite(count)) {
          if (!options_.allow_nonfinite) require_finite(counts, name);
          ++seen[n].raised;
          continue;
        }
        if (count - pixels[n].dark < out_.floor) {
          ++seen[n].raised;
        } else {
          seen[n].take(count);
          seen[n].lowest = std::min(seen[n].lowest, count);
          seen[n].highest = std::max(seen[n].highest, count);
          if (count - pixels[n].dark <= brightest_ * pixels[n].open) {
            seen[n].low_usual = std::min(seen[n].low_usual, count);
            seen[n].high_usual = std::max(seen[n].high_usual, count);
          }
        }
        if (count - pixels[n].dark >= static_cast<float>(least_)) lit[row * views + view] = 1;
        if (count >= saturation) ++seen[n].saturated;
      }
    }
    take_row(row, seen);
  });
  for (std::size_t view = 0; view < views; ++view) {
    bool any = false;
    for (std::size_t row = 0; row < rows; ++row) any = any || lit[row * views + view] != 0;
    if (!any)
      throw InputError(fmt::format(
          "{}: view {} has no count of {:.4g} or more above the dark field: the beam was off, the view is lost, or "
          "these are no counts; leave the view out of the stack and of the geometry (or set `floor`)",
          name, views_ + view, least_));
  }
}

void CountsCalibrator::mark_bad(const std::vector<SeenPixel>& seen, const Grid& grid, const CountsFields& fields) {
  if (fields.bad_pixels.stack != nullptr) {
    const Volume* stack = fields.bad_pixels.stack;
    const std::string& name = fields.bad_pixels.name;
    require_same_detector(stack->grid, name, grid, fields.counts_name);
    if (stack->grid.size[2] != 1)
      throw InputError(fmt::format("{}: {} images, where one map of the detector is expected (0 good, else bad)", name,
                                   stack->grid.size[2]));
    require_finite(MemorySource(*stack), name);
    for (std::size_t n = 0; n < bad_.size(); ++n)
      if (stack->voxels[n] != 0) bad_[n] = 1;
  } else {
    std::vector<SeenPixel> usual;
    for (const SeenPixel& each : seen) usual.push_back(each.usual());
    mark_bad_pixels(open_, dark_, usual, out_.size[0], out_.size[2], with_flats_, whole_ ? 1 : relative_floor * scale_,
                    bad_);
  }
  for (std::size_t n = 0; n < bad_.size(); ++n)
    if (!(seen[n].highest >= seen[n].lowest)) bad_[n] = 1;
  failing_ = failing_pixels(seen, bad_, out_.size[0], out_.size[2]);
  out_.bad_rows = rows_of_bad_pixels(bad_, out_.size[0]);
  out_.report.bad_pixels = static_cast<std::size_t>(std::count(bad_.begin(), bad_.end(), 1));
  out_.report.bad_group = thickest_group(bad_, out_.size[0]);
  take_pixels();
}

// Bad pixels get the usual values, for counts that replace theirs.
void CountsCalibrator::take_pixels() {
  std::vector<double> darks, opens;
  for (std::size_t n = 0; n < bad_.size(); ++n) {
    if (bad_[n] != 0) continue;
    darks.push_back(dark_[n]);
    opens.push_back(open_[n]);
  }
  const auto dark = static_cast<float>(median_of(darks)), open = static_cast<float>(median_of(opens));
  for (std::size_t n = 0; n < bad_.size(); ++n)
    if (bad_[n] != 0) out_.pixels[n] = {dark, open > 0 ? open : 1};
}

// Counts lost values of pixels from `first` on.
CountsCalibrator::Lost CountsCalibrator::lost_in(std::span<const SeenPixel> seen, std::size_t first) const {
  Lost lost;
  for (std::size_t n = 0; n < seen.size(); ++n) {
    if (bad_[first + n]) continue;
    lost.raised += seen[n].raised;
    lost.saturated += seen[n].saturated;
  }
  return lost;
}

void CountsCalibrator::report_lost(const Lost& lost) {
  out_.report.raised += lost.raised;
  out_.report.saturated += lost.saturated;
}

void CountsCalibrator::report_beams(const std::vector<float>& beams) {
  if (beams.empty() || (!options_.air && !levels_)) return;
  const auto [low, high] = std::minmax_element(beams.begin(), beams.end());
  CountsReport& report = out_.report;
  report.beam_low = views_ == 0 ? *low : std::min<double>(report.beam_low, *low);
  report.beam_high = views_ == 0 ? *high : std::max<double>(report.beam_high, *high);
}

std::vector<float> CountsCalibrator::beams_of(const VolumeSource& counts, const std::string& name) const {
  if (options_.air) return beams_in_air(counts, name);
  std::vector<float> beams(counts.grid().size[2], 1);
  const std::size_t all = options_.scan_views > 0 ? options_.scan_views : counts.grid().size[2];
  if (levels_)
    for (std::size_t n = 0; n < beams.size(); ++n) beams[n] = static_cast<float>(levels_->at(views_ + n, all));
  return beams;
}

std::vector<float> CountsCalibrator::beams_in_air(const VolumeSource& counts, const std::string& name) const {
  const auto [columns, rows, views] = counts.grid().size;
  const auto [u0, v0, u1, v1] = *options_.air;
  std::vector<float> beams(views);
  std::size_t good = 0;
  for (std::size_t row = v0; row < v1; ++row)
    good += static_cast<std::size_t>(std::count(bad_.begin() + static_cast<std::ptrdiff_t>(row * columns + u0),
                                                bad_.begin() + static_cast<std::ptrdiff_t>(row * columns + u1), 0));
  const std::string region = fmt::format("the air region {},{},{},{}", u0, v0, u1, v1);
  if (good == 0) throw InputError(fmt::format("{}: {} has no good pixel; choose another", name, region));
  parallel_slices(views, [&, columns, rows, u0, v0, u1, v1](std::size_t view) {
    std::vector<float> line(u1 - u0);
    double sum = 0;
    std::size_t lit = 0;
    for (std::size_t row = v0; row < v1; ++row) {
      counts.read((view * rows + row) * columns + u0, line.size(), line.data());
      for (std::size_t n = u0; n < u1; ++n) {
        const std::size_t at = row * columns + n;
        const double signal = line[n - u0] - dark_[at];
        if (bad_[at] || !std::isfinite(signal) || signal < out_.floor) continue;
        sum += signal / open_[at];
        ++lit;
      }
    }
    const double beam = lit > 0 && 2 * lit >= good ? sum / static_cast<double>(lit) : 0;
    if (!(beam > 0))
      throw InputError(
          fmt::format("{}: view {} is dark in {}, {:.4g} of the beam in the mean; choose a region that "
                      "sees the beam alone in every view",
                      name, views_ + view, region, beam));
    beams[view] = static_cast<float>(beam);
  });
  return beams;
}

// Counts in place of those of bad pixels, and of good ones that fail in a view, which then have not been raised.
ReplacedValues CountsCalibrator::replace(const VolumeSource& counts, const std::vector<float>& beams,
                                         const std::string& name) {
  CountsCalibration here;
  here.size = counts.grid().size;
  here.pixels = out_.pixels;
  here.beams = beams;
  here.floor = out_.floor;
  here.dark_noise = out_.dark_noise;
  const float saturation = options_.saturation ? static_cast<float>(*options_.saturation) : INFINITY;
  FailingValues failing = find_failing(counts, here, bad_, saturation, options_.within_views);
  CountsReport& report = out_.report;
  report.raised -= std::min(report.raised, failing.low);
  report.saturated -= std::min(report.saturated, failing.saturated);
  for (const auto& view : failing.views) report.replaced += view.size();
  for (const std::size_t view : failing.rough) report.rough_views.push_back(views_ + view);
  leave_out_replaced(failing_, failing);
  report.failing = failing_.size();
  if (!failing_.empty()) report.first_failing = failing_.front();
  FilledValues filled = fill_unmeasured(counts, {bad_, std::move(failing.views)}, CountValues(here, beams, whole_),
                                        options_.within_views, name);
  report.filled_rms = filled.rms;
  report.lost_edges = filled.edges;
  return std::move(filled.replaced);
}

// q - offset = -ln(signal / (open exp(-offset) beam))
void CountsCalibrator::take_off_rings(const VolumeSource& counts) {
  const auto [columns, rows, views] = out_.size;
  const MendedSource mended(counts, out_.replaced);
  out_.report.looked_for_rings = true;
  std::vector<float> details(rows * columns, 0.0f), means = details;
  parallel_slices(rows, [&, columns, rows, views](std::size_t row) {
    const auto& lost = out_.bad_rows;  // they take what others have
    if (std::binary_search(lost.begin(), lost.end(), row)) return;
    std::vector<float> line(columns), values(columns * views);
    for (std::size_t view = 0; view < views; ++view) {
      mended.read((view * rows + row) * columns, columns, line.data());
      attenuations_of_row(out_, row, view, line.data(), values.data() + view * columns);
    }
    const auto found = still_details(values, columns, views, options_.ring_width);
    const auto at = static_cast<std::ptrdiff_t>(row * columns);
    std::copy(found.begin(), found.end(), details.begin() + at);
    const auto mean = column_means(values, columns, views);
    std::copy(mean.begin(), mean.end(), means.begin() + at);
  });
  const auto offsets = ring_offsets(details, means, columns, options_.ring_width);
  double sum = 0;
  for (std::size_t n = 0; n < offsets.size(); ++n) {
    if (bad_[n] != 0 || offsets[n] == 0) continue;
    float& open = out_.pixels[n].open;
    open = static_cast<float>(open * std::exp(-static_cast<double>(offsets[n])));
    sum += static_cast<double>(offsets[n]) * offsets[n];
    ++out_.report.rings;
  }
  out_.report.ring_rms = std::sqrt(sum / static_cast<double>(columns * rows - out_.report.bad_pixels));
}

CountsCalibration calibrate_counts(const VolumeSource& counts, const CountsFields& fields,
                                   const CountsOptions& options) {
  return CountsCalibrator(counts, fields, options).calibration();
}

}  // namespace halocline
