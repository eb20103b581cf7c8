// halocline slices --follow: windows of a scan whose files are still being written.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <numeric>
#include <optional>
#include <utility>

#include "algorithms/preprocessing/counts_part.hpp"
#include "algorithms/preprocessing/unmeasured.hpp"
#include "apps/commands/slices_work.hpp"
#include "apps/images/formats_of_itk.hpp"
#include "apps/images/growing_series.hpp"
#include "apps/images/image_file.hpp"
#include "apps/job/report.hpp"
#include "apps/options/counts_report.hpp"
#include "apps/options/geometry_file.hpp"
#include "host/system/error.hpp"
#include "host/system/interrupt.hpp"
#include "host/system/plural.hpp"
#include "host/volume/finite_source.hpp"

namespace halocline {
namespace {

using Clock = GrowingSeries::Clock;

std::string in_quotes(const std::string& path) {
  return "'" + path + "'";
}

// Views as they come, in the numbers that windows ask for. No more of them are held.
class GrowingProjections {
 public:
  struct Views {
    Volume projections;
    std::vector<float> beams;  // calibration of counts
    Clock::time_point arrived;
  };

  GrowingProjections(Job& job, const SlicesCommand& command, GrowingSeries series)
      : job_(job), command_(command), series_(std::move(series)), progress_(job.run_options().progress) {}

  GrowingSeries& series() { return series_; }

  // The header of the first file, once that is there; it is kept for the first window.
  ImageInfo wait_for_first() {
    take();
    return info_;
  }

  Views next(const SlicesWork& work, Range fresh) {
    const auto count = static_cast<std::size_t>(fresh.count());
    // Bins of counts want the calibration, and rings the whole detector, so their pixels are kept until the views of
    // this window are there.
    const bool rings = !command_.counts && command_.counts_arguments.options.ring_width > 0;
    const bool cut = !work.chosen.whole && !command_.counts && !rings;
    Views out{Volume::uninitialised(of_views(cut ? work.stack : work.chosen.file, count)), {}, {}};
    for (std::size_t n = 0; n < count; ++n) {
      if (view_.voxels.empty()) take();
      view_.grid = of_views(work.chosen.file, 1);
      if (calibrator_) {
        const auto added =
            job_.timed("calibrate", [&] { return calibrator_->add(MemorySource(view_), in_quotes(file_)); });
        out.beams.push_back(added.beams.front());
        added.replaced.put(0, view_.voxels.size(), view_.voxels.data());
      }
      const Volume part = cut ? take_part(MemorySource(view_), first_views(work, 1)) : std::move(view_);
      std::copy(part.voxels.begin(), part.voxels.end(),
                out.projections.voxels.begin() + static_cast<std::ptrdiff_t>(n * part.voxels.size()));
      view_ = {};
      if (progress_)
        progress_({fmt::format("views {} to {}", fresh.begin, fresh.end - 1),
                   static_cast<double>(n + 1),
                   static_cast<double>(count),
                   {}});
    }
    out.arrived = arrived_;
    if (command_.counts) calibrate(work, out);
    if (rings) take_off_rings(work, out);
    out.projections.grid = of_views(work.stack, count);
    return out;
  }

  // Calibration of the first window, for parts of the detector as they are asked for.
  const CountsCalibration& calibration() const { return calibration_; }
  // Beams of all views so far.
  const CountsCalibration* whole_calibration() const { return calibrator_ ? &calibrator_->calibration() : nullptr; }
  // Warns of faults that only views after the first window show.
  void warn_of_later_views() const {
    if (calibrator_) warn_of_calibration(*calibrator_, command_.input, &warned_);
  }

 private:
  static Grid of_views(Grid grid, std::size_t views) {
    grid.size[2] = views;
    return grid;
  }
  // The part of so many views.
  static ProjectionPart first_views(const SlicesWork& work, std::size_t count) {
    ProjectionPart part = work.chosen.frames.front();
    part.views.resize(count);
    std::iota(part.views.begin(), part.views.end(), std::size_t{0});
    return part;
  }

  // By the first window; then of the part that was asked for.
  void calibrate(const SlicesWork& work, Views& views) {
    const MemorySource counts(views.projections);
    const bool first = !calibrator_;
    if (first) {
      ImageInfo info = info_;
      info.grid = views.projections.grid;
      CountsArguments arguments = command_.counts_arguments;
      arguments.options.scan_views = work.stack.size[2];
      calibrator_.emplace(begin_calibration(job_, arguments, counts, info, command_.input));
      warn_of_calibration(*calibrator_, command_.input);
      warned_ = calibrator_->calibration().report;
      views.beams = calibrator_->calibration().beams;
      calibrator_->calibration().replaced.put(0, views.projections.voxels.size(), views.projections.voxels.data());
      whole_ = calibrator_->calibration();
      whole_.replaced = {};  // beams of later views, too
    }
    if (work.chosen.whole) {
      if (first) calibration_ = whole_;
      return;
    }
    const ProjectionPart part = first_views(work, views.projections.grid.size[2]);
    if (first) calibration_ = part_calibration(whole_, part);
    views.projections = take_counts(counts, part, whole_);
  }

  // Takes off rings of line integrals, as the first window shows them.
  void take_off_rings(const SlicesWork& work, Views& views) {
    Volume& projections = views.projections;
    if (offsets_.pixels.empty())
      offsets_ = find_rings(job_, command_.counts_arguments, MemorySource(projections), command_.input);
    take_off(offsets_, 0, projections.voxels.size(), projections.voxels.data());
    if (!work.chosen.whole)
      projections = take_part(MemorySource(projections), first_views(work, projections.grid.size[2]));
  }

  // The next file's pixels into view_.
  void take() {
    const auto taken = series_.take(std::chrono::duration<double>(command_.wait), [&](const std::string& path) {
      return job_.timed("read", [&]() -> std::string {
        ImageInfo info;
        try {
          info = read_image_info(path);
          view_ = read_rays(path, true);
        } catch (const InputError& error) {
          return error.what();
        } catch (const FileError& error) {
          return error.what();
        }
        if (series_.taken() == 0) {
          info_ = info;
          first_file_ = path;
        }
        require_same_images(view_.grid, path, info_.grid, first_file_, command_.input);
        require_same_kind(path, first_file_, command_.input);
        return "";
      });
    });
    file_ = taken.path;
    if (!job_.common().allow_nonfinite) {
      require_rays(MemorySource(view_), in_quotes(file_), false);
    } else if (!command_.counts) {
      const ReplacedValues filled = fill_nonfinite(MemorySource(view_), true, in_quotes(file_)).replaced;
      filled.put(0, view_.voxels.size(), view_.voxels.data());
      if (const std::size_t count = filled.count(); count > 0)
        spdlog::warn("'{}': {} NaN or infinite: taken for not measured, and interpolated", file_,
                     plural(count, "value is", "values are"));
    }
    arrived_ = taken.arrived;
  }

  Job& job_;
  const SlicesCommand& command_;
  GrowingSeries series_;
  Progress progress_;
  ImageInfo info_;  // header of the first file
  std::string first_file_, file_;
  Volume view_;  // empty: it was handed on
  Clock::time_point arrived_;
  std::optional<CountsCalibrator> calibrator_;
  CountsReport warned_;  // faults that the user was warned of
  CountsCalibration whole_, calibration_;
  DetectorOffsets offsets_;  // rings of line integrals
};

// Checks the command before the scan begins, as far as that can be done without its first file.
void check_without_projections(const Job& job, const SlicesCommand& command, const std::optional<Geometry>& geometry) {
  namespace fs = std::filesystem;
  check_readable_series(command.input);
  if (fs::is_directory(command.input) || is_tiff_name(command.input))
    placed_projections(command.projections.detector, {{}, {}, "TIFF", {}}, in_quotes(command.input), command.geometry);
  // The views of the first window, which is calibrated. One of all views may have any number until the geometry is
  // read.
  std::size_t window = SIZE_MAX;
  if (geometry || command.views)
    window = static_cast<std::size_t>(
        slice_windows(command, geometry ? geometry->views.size() : *command.views).front().count());
  const CountsArguments& arguments = command.counts_arguments;
  Grid detector;
  detector.size = {SIZE_MAX, SIZE_MAX, window};
  if (!command.counts) return check_ring_width(arguments.options.ring_width, detector, in_quotes(command.input));
  for (const auto& [option, path] : field_files(arguments)) {
    job.claims().check_beside_growing(option, path);
    const Grid grid = read_image_info(path).grid;
    std::copy_n(grid.size.begin(), 2, detector.size.begin());
  }
  check_counts_options(arguments.options, detector, arguments.has_open_beam(), false, in_quotes(command.input));
}

ImageInfo of_all_views(ImageInfo info, std::size_t views) {
  info.grid.size[2] = views;
  if (info.format == "TIFF") info.format = "TIFF series";
  return info;
}

// The geometry says how many files there will be.
void expect(GrowingSeries& series, const SlicesCommand& command, const Geometry& geometry) {
  series.expect(geometry.views.size(),
                fmt::format("'{}' has {}: give the geometry of all views, or a pattern that they alone match",
                            command.geometry, views_text(geometry.views.size())));
}

std::optional<ImageInfo> header_so_far(const std::string& path) {
  try {
    return read_image_info(path);
  } catch (const InputError&) {  // not whole yet
    return {};
  }
}

void print_without_projections(Job& job, const SlicesCommand& command, const SlicesWork& work,
                               const std::optional<Geometry>& geometry) {
  std::string windows;
  if (geometry) {
    const auto all = slice_windows(command, geometry->views.size());
    windows = fmt::format(", {} of {}", all.size(), views_text(static_cast<std::size_t>(all.front().count())));
  }
  for (const Quantity& quantity : work.quantities)
    for (std::size_t n = 0; n < work.slices.size(); ++n)
      job.print(fmt::format("{}: {}{}\n", quantity.outputs[n], work.names[n], windows));
  job.print(fmt::format(
      "no file of '{}' is there yet: the first one tells how large the detector is, and so what memory this takes\n",
      command.input));
}

// Whatever ends it, this is what was made.
void keep_windows(Job& job, const SlicesCommand& command, SlicesWork& work, std::vector<SliceWindows>& windows,
                  const GrowingProjections& projections, const Device& device, const nlohmann::json& updates) {
  const HeldInterrupts held(true);
  const std::size_t done = windows.back().done();  // one of every quantity
  report_windows(job, work, done);
  job.results()["updates"] = updates;
  job.keep_report();
  for (std::size_t n = 0; n < windows.size(); ++n)
    write_windows(job, command, work, work.quantities[n], windows[n].take_stacks(done), device);
  if (const CountsCalibration* calibration = projections.whole_calibration()) {
    projections.warn_of_later_views();
    report_counts(job, *calibration);
    job.say(fmt::format("  from {}: {}", command.input, counts_summary(*calibration)));
  }
}

// A viewer finds the newest there, whole.
void write_newest(Job& job, const SlicesWork& work, const std::vector<SliceWindows>& windows) {
  for (std::size_t n = 0; n < windows.size(); ++n)
    for (std::size_t slice = 0; slice < work.slices.size(); ++slice)
      job.images().write(windows[n].newest()[slice], work.quantities[n].outputs[slice]);
}

void run_windows(Job& job, const SlicesCommand& command, SlicesWork& work, GrowingProjections& projections,
                 const Device& device) {
  std::vector<SliceWindows> windows;
  windows.reserve(work.quantities.size());
  for (const Quantity& quantity : work.quantities) windows.emplace_back(job, command, work, quantity, device);
  auto updates = nlohmann::json::array();
  try {
    for (std::size_t n = 0; n < work.windows.size(); ++n) {
      const auto fresh = projections.next(work, windows.front().fresh());
      if (n == 0)
        warn_of_projections(command, work, fresh.projections, command.counts ? &projections.calibration() : nullptr);
      for (SliceWindows& each : windows) each.add(fresh.projections, &projections.calibration(), fresh.beams);
      write_newest(job, work, windows);
      const double seconds = std::chrono::duration<double>(Clock::now() - fresh.arrived).count();
      updates.push_back({{"views", {work.windows[n].begin, work.windows[n].end - 1}}, {"seconds", seconds}});
      job.say(fmt::format("views {} to {} of {}: {} written, {} after the last of them came", work.windows[n].begin,
                          work.windows[n].end - 1, work.stack.size[2],
                          work.slices.size() == 1 ? "the slice is" : "the slices are", seconds_text(seconds)));
    }
    projections.series().next_so_far();  // are there more than views?
  } catch (const std::exception& error) {
    const std::size_t done = windows.back().done();
    if (done == 0) throw;
    bool lost = false;
    try {
      keep_windows(job, command, work, windows, projections, device, updates);
    } catch (const std::exception& other) {
      lost = true;
      spdlog::warn("the windows so far could not be written: {}", other.what());
    }
    if (lost) throw;
    const std::string kept = fmt::format("{} of {} windows are kept in {}", done, work.windows.size(),
                                         fmt::join(work.quantities.front().outputs, ", "));
    if (dynamic_cast<const Interrupted*>(&error) != nullptr)
      throw Interrupted(fmt::format("interrupted: {}, the input files are untouched", kept));
    spdlog::warn("{}", kept);
    throw;
  }
  keep_windows(job, command, work, windows, projections, device, updates);
}

}  // namespace

void follow_slices(Job& job, const SlicesCommand& command) {
  command.noise.check(command.counts);
  job.input_growing("-i", command.input);
  SlicesWork work = choose_slices(job, command);
  std::optional<Geometry> geometry;
  if (knows_no_detector(command.geometry)) geometry = load_geometry(command.geometry).geometry;
  check_without_projections(job, command, geometry);
  GrowingSeries series(command.input);
  if (geometry) expect(series, command, *geometry);
  const auto there = series.next_so_far();
  if (job.dry_run()) {
    const auto info = there ? header_so_far(*there) : std::nullopt;
    if (!info) return print_without_projections(job, command, work, geometry);
    work.input = *info;
  }
  GrowingProjections projections(job, command, std::move(series));
  if (!job.dry_run()) {
    if (!there) job.say(fmt::format("waiting for the first file of {}", command.input));
    work.input = projections.wait_for_first();
  }
  if (!geometry) {
    const Grid placed =
        placed_projections(command.projections.detector, work.input, in_quotes(command.input), command.geometry);
    geometry = load_geometry(command.geometry, {}, DetectorPixels::of(placed)).geometry;
    expect(projections.series(), command, *geometry);
  }
  work.input = of_all_views(work.input, geometry->views.size());
  place_projections(job, command, work, std::move(geometry));
  const std::size_t held =
      work.chosen.whole ? 0 : sizeof(float) * work.chosen.file.slice() * (command.counts ? work.window_views() : 1);
  const Device& device = slices_device(job, work, true, grid_bytes(work.window_stack()) + static_cast<double>(held));
  if (job.dry_run()) return print_slices(job, work);
  run_windows(job, command, work, projections, device);
}

}  // namespace halocline
