#include "algorithms/preprocessing/calibrate_counts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "algorithms/preprocessing/bad_pixels.hpp"
#include "algorithms/preprocessing/ring_reduction.hpp"
#include "algorithms/preprocessing/rings.hpp"
#include "algorithms/support/parallel_slices.hpp"
#include "host/error.hpp"
#include "host/finite_source.hpp"
#include "host/plural.hpp"

namespace halocline {
namespace {

std::vector<double> mean_over_views(const CountsField& field, const Grid& counts, const std::string& counts_name) {
  const Volume& stack = *field.stack;
  require_same_detector(stack.grid, field.name, counts, counts_name);
  require_finite(MemorySource(stack), field.name);
  const std::size_t slice = stack.grid.slice(), views = stack.grid.size[2];
  if (views == 0) throw InputError(fmt::format("{}: no views; at least one is needed", field.name));
  std::vector<double> mean(slice, 0.0);
  for (std::size_t view = 0; view < views; ++view)
    for (std::size_t n = 0; n < slice; ++n) mean[n] += stack.voxels[view * slice + n];
  for (double& value : mean) value /= static_cast<double>(views);
  return mean;
}

}  // namespace

CountsCalibrator::CountsCalibrator(const VolumeSource& counts, const CountsFields& fields, const CountsOptions& options)
    : options_(options) {
  const Grid& grid = counts.grid();
  check_counts_options(options, grid, fields.flats.stack != nullptr, fields.counts_name);
  out_.size = grid.size;
  out_.beams.assign(grid.size[2], 1);
  out_.floor = static_cast<float>(options.floor);
  if (!options.hardening.empty()) out_.coefficients = {options.hardening.begin(), options.hardening.end()};
  out_.report.pixels = grid.count();
  take_fields(grid, fields);
  std::vector<SeenPixel> seen(grid.slice());
  look_through(counts, fields.counts_name, [&](std::size_t row, const std::vector<SeenPixel>& pixels) {
    std::copy(pixels.begin(), pixels.end(), seen.begin() + static_cast<std::ptrdiff_t>(row * pixels.size()));
  });
  mark_bad(seen, grid, fields);
  report_lost(lost_in(seen, 0));
  if (options_.air) {
    out_.beams = beams_of(counts, fields.counts_name);
    const auto [low, high] = std::minmax_element(out_.beams.begin(), out_.beams.end());
    out_.report.beam_low = *low;
    out_.report.beam_high = *high;
  }
  if (options_.ring_width > 0) take_off_rings(counts);
  views_ = grid.size[2];
}

std::vector<float> CountsCalibrator::add(const VolumeSource& counts, const std::string& name) {
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
  auto beams = options_.air ? beams_of(counts, name) : std::vector<float>(grid.size[2], 1);
  views_ += grid.size[2];
  if (!options_.air) return beams;
  for (const double beam : beams) {
    out_.report.beam_low = std::min(out_.report.beam_low, beam);
    out_.report.beam_high = std::max(out_.report.beam_high, beam);
  }
  return beams;
}

void CountsCalibrator::take_fields(const Grid& grid, const CountsFields& fields) {
  const std::size_t slice = grid.slice();
  const bool with_flats = fields.flats.stack != nullptr;
  dark_ = fields.darks.stack != nullptr ? mean_over_views(fields.darks, grid, fields.counts_name)
                                        : std::vector<double>(slice, 0.0);
  open_ = with_flats ? mean_over_views(fields.flats, grid, fields.counts_name) : std::vector<double>(slice, 1.0);
  bad_.assign(slice, 0);
  out_.pixels.resize(slice);
  for (std::size_t n = 0; n < slice; ++n) {
    if (with_flats) open_[n] -= dark_[n];
    bad_[n] = open_[n] > 0 ? 0 : 1;
    out_.pixels[n].dark = static_cast<float>(dark_[n]);
    out_.pixels[n].open = static_cast<float>(open_[n]);
  }
  if (const auto dead = std::count(bad_.begin(), bad_.end(), 1); 2 * static_cast<std::size_t>(dead) > slice)
    throw InputError(fmt::format(
        "{}: in {} of {} pixels they do not lie above {}; are the two exchanged, or the flats taken without a beam?",
        fields.flats.name, dead, slice, fields.darks.stack != nullptr ? fields.darks.name : "0"));
}

// Least and greatest count of each pixel, what is too low or too high, and that no view is dark. Calls take_row(row,
// its pixels) from several threads.
template <typename TakeRow>
void CountsCalibrator::look_through(const VolumeSource& counts, const std::string& name,
                                    const TakeRow& take_row) const {
  const auto [columns, rows, views] = counts.grid().size;
  std::vector<char> lit(rows * views, 0);  // by row, so that threads do not meet
  const float saturation = options_.saturation ? static_cast<float>(*options_.saturation) : INFINITY;
  parallel_slices(rows, [&, columns = columns, rows = rows, views = views](std::size_t row) {
    std::vector<float> line(columns);
    std::vector<SeenPixel> seen(columns);
    const auto* pixels = out_.pixels.data() + row * columns;
    for (std::size_t view = 0; view < views; ++view) {
      counts.read((view * rows + row) * columns, columns, line.data());
      for (std::size_t n = 0; n < columns; ++n) {
        const float count = line[n];
        if (!std::isfinite(count)) require_finite(counts, name);
        if (view == 0) seen[n] = {count, count};
        seen[n].lowest = std::min(seen[n].lowest, count);
        seen[n].highest = std::max(seen[n].highest, count);
        if (count - pixels[n].dark < out_.floor)
          ++seen[n].raised;
        else
          lit[row * views + view] = 1;
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
          name, views_ + view, options_.floor));
  }
}

void CountsCalibrator::mark_bad(const std::vector<SeenPixel>& seen, const Grid& grid, const CountsFields& fields) {
  if (fields.bad_pixels.stack != nullptr) {
    const auto& [stack, name] = fields.bad_pixels;
    require_same_detector(stack->grid, name, grid, fields.counts_name);
    if (stack->grid.size[2] != 1)
      throw InputError(fmt::format("{}: {} images, where one map of the detector is expected (0 good, else bad)", name,
                                   stack->grid.size[2]));
    require_finite(MemorySource(*stack), name);
    for (std::size_t n = 0; n < bad_.size(); ++n)
      if (stack->voxels[n] != 0) bad_[n] = 1;
  } else {
    mark_bad_pixels(open_, dark_, seen, out_.size[0], out_.size[2], fields.flats.stack != nullptr, bad_);
  }
  const auto failing = failing_pixels(seen, bad_, out_.size[0], out_.size[2]);
  out_.report.failing = failing.size();
  if (!failing.empty()) out_.report.first_failing = failing.front();
  find_good_neighbours(bad_, fields.counts_name, out_);
  out_.report.bad_pixels = static_cast<std::size_t>(std::count(bad_.begin(), bad_.end(), 1));
}

// Of pixels from `first` on.
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

std::vector<float> CountsCalibrator::beams_of(const VolumeSource& counts, const std::string& name) const {
  const auto [columns, rows, views] = counts.grid().size;
  const auto [u0, v0, u1, v1] = *options_.air;
  std::vector<float> beams(views);
  std::size_t good = 0;
  for (std::size_t row = v0; row < v1; ++row)
    good += static_cast<std::size_t>(std::count(bad_.begin() + static_cast<std::ptrdiff_t>(row * columns + u0),
                                                bad_.begin() + static_cast<std::ptrdiff_t>(row * columns + u1), 0));
  const std::string region = fmt::format("the air region {},{},{},{}", u0, v0, u1, v1);
  if (good == 0) throw InputError(fmt::format("{}: {} has no good pixel; choose another", name, region));
  parallel_slices(views, [&, columns = columns, rows = rows, u0 = u0, v0 = v0, u1 = u1, v1 = v1](std::size_t view) {
    std::vector<float> line(u1 - u0);
    double sum = 0;
    for (std::size_t row = v0; row < v1; ++row) {
      counts.read((view * rows + row) * columns + u0, line.size(), line.data());
      for (std::size_t n = u0; n < u1; ++n)
        if (const std::size_t at = row * columns + n; !bad_[at]) sum += (line[n - u0] - dark_[at]) / open_[at];
    }
    const double beam = sum / static_cast<double>(good);
    if (!(beam > 0))
      throw InputError(
          fmt::format("{}: view {} is dark in {}, {:.4g} of the beam in the mean; choose a region that "
                      "sees the beam alone in every view",
                      name, views_ + view, region, beam));
    beams[view] = static_cast<float>(beam);
  });
  return beams;
}

// q - offset = -ln(signal / (open exp(-offset) beam))
void CountsCalibrator::take_off_rings(const VolumeSource& counts) {
  const auto [columns, rows, views] = out_.size;
  std::vector<double> squares(rows, 0.0);
  parallel_slices(rows, [&, columns = columns, rows = rows, views = views](std::size_t row) {
    const auto& lost = out_.bad_rows;  // they take what others have
    if (std::binary_search(lost.begin(), lost.end(), row)) return;
    std::vector<float> line(columns), values(columns * views);
    for (std::size_t view = 0; view < views; ++view) {
      counts.read((view * rows + row) * columns, columns, line.data());
      attenuations_of_row(out_, row, view, line.data(), values.data() + view * columns);
    }
    const auto offsets = ring_offsets(values, columns, views, options_.ring_width);
    for (std::size_t n = 0; n < columns; ++n) {
      if (bad_[row * columns + n]) continue;
      float& open = out_.pixels[row * columns + n].open;
      open = static_cast<float>(open * std::exp(-static_cast<double>(offsets[n])));
      squares[row] += static_cast<double>(offsets[n]) * offsets[n];
    }
  });
  double sum = 0;
  for (const double each : squares) sum += each;
  out_.report.ring_rms = std::sqrt(sum / static_cast<double>(columns * rows - out_.report.bad_pixels));
}

void require_same_detector(const Grid& image, const std::string& name, const Grid& counts,
                           const std::string& counts_name) {
  if (image.size[0] == counts.size[0] && image.size[1] == counts.size[1]) return;
  throw InputError(
      fmt::format("{}: the detector has {} x {} pixels, but {} x {} in {}; both must come from the same detector "
                  "with the same crop and binning",
                  name, image.size[0], image.size[1], counts.size[0], counts.size[1], counts_name));
}

void check_counts_options(const CountsOptions& options, const Grid& counts, bool with_flats,
                          const std::string& counts_name) {
  if (!with_flats && !options.air)
    throw InputError(
        fmt::format("{}: what the beam alone gives is not known; give images without the object (`flats`), a region of "
                    "the detector that sees the beam alone in every view (`air`), or both",
                    counts_name));
  if (!(options.floor > 0) || !std::isfinite(options.floor))
    throw InputError(fmt::format("the floor of the counts (`floor`) is {}; it must be above 0", options.floor));
  if (options.hardening.size() > most_hardening_coefficients)
    throw InputError(fmt::format("`hardening` has {} coefficients; expected at most {}", options.hardening.size(),
                                 most_hardening_coefficients));
  for (const double c : options.hardening)
    if (!std::isfinite(c))
      throw InputError(fmt::format("a coefficient of `hardening` is {}; it must be a finite number", c));
  if (!options.hardening.empty() && !(options.hardening.front() > 0))
    throw InputError(
        fmt::format("`hardening` begins with C1 = {}; it must be positive, or thin parts would not attenuate "
                    "(1 where the line integrals of thin parts are right)",
                    options.hardening.front()));
  for (const double c : options.hardening)
    if (std::abs(c) > 1e6)
      throw InputError(fmt::format("a coefficient of `hardening` is {:g}; no more than 1e+06 is expected", c));
  check_ring_width(options.ring_width, counts, counts_name);
  if (!options.air) return;
  const auto [u0, v0, u1, v1] = *options.air;
  if (u0 >= u1 || v0 >= v1)
    throw InputError(
        fmt::format("the air region {},{},{},{} (`air`) holds no pixel; expected U0,V0,U1,V1 with U0 < U1 and V0 < V1, "
                    "upper ends not included",
                    u0, v0, u1, v1));
  if (u1 > counts.size[0] || v1 > counts.size[1])
    throw InputError(
        fmt::format("the air region {},{},{},{} (`air`) reaches beyond the detector of {}, which has {} x "
                    "{} pixels",
                    u0, v0, u1, v1, counts_name, counts.size[0], counts.size[1]));
}

CountsCalibration calibrate_counts(const VolumeSource& counts, const CountsFields& fields,
                                   const CountsOptions& options) {
  return CountsCalibrator(counts, fields, options).calibration();
}

}  // namespace halocline
