// halocline geometry find-axis
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>

#include "algorithms/alignment/axis_choice.hpp"
#include "algorithms/alignment/double_wedge.hpp"
#include "algorithms/alignment/find_axis.hpp"
#include "algorithms/alignment/find_tilt.hpp"
#include "algorithms/alignment/truncation.hpp"
#include "algorithms/geometry/field_of_view.hpp"
#include "algorithms/geometry/geometry_xml.hpp"
#include "algorithms/geometry/opposite_views.hpp"
#include "algorithms/jobs/setting_values.hpp"
#include "algorithms/preprocessing/counts.hpp"
#include "apps/commands/find_axis_report.hpp"
#include "apps/commands/geometry_commands.hpp"
#include "apps/images/atomic_file.hpp"
#include "apps/job/job.hpp"
#include "apps/job/report.hpp"
#include "apps/options/chosen_scan.hpp"
#include "apps/options/counts_options.hpp"
#include "apps/options/counts_report.hpp"
#include "apps/options/geometry_file.hpp"
#include "apps/options/projection_options.hpp"
#include "host/system/error.hpp"
#include "scheduling/profiling/rates.hpp"

namespace halocline {
namespace {

struct FindAxisCommand {
  std::string input, geometry, output, method = "all";
  ProjectionOptions projections;
  bool counts = false, force = false;
  CountsArguments counts_arguments;
  std::optional<double> range;

  bool all() const { return method == "all" || method == "both"; }
  bool looks_by(const char* name) const { return all() || method == name; }
};

// The options that leave fewer columns than the file has; where --crop leaves too few, --bin is not to blame.
std::string narrowing_options(const ProjectionOptions& options, std::size_t columns, std::size_t enough) {
  const std::size_t cropped = options.crop ? (*options.crop)[2] : columns;
  std::string text;
  if (cropped < columns) text = fmt::format("--crop {}", fmt::join(*options.crop, ","));
  if (cropped < enough) return text;
  return fmt::format("{}{}--bin {}", text, text.empty() ? "" : " and ", fmt::join(options.bin, ","));
}

// Checks that every method needs.
void require_enough(const ChosenProjections& chosen, const FindAxisCommand& command) {
  constexpr std::size_t columns = 4, views = 2;
  const Grid stack = chosen.stack();
  if (stack.size[0] < columns && chosen.file.size[0] >= columns)
    throw InputError(fmt::format(
        "{}: of the {} columns of '{}' {} are left; the axis is looked for along the rows, which takes {} at the "
        "least, so leave more",
        narrowing_options(command.projections, chosen.file.size[0], columns), chosen.file.size[0], command.input,
        stack.size[0], columns));
  if (stack.size[0] < columns)
    throw InputError(
        fmt::format("'{}': the detector has {} column{}; the axis is looked for along its rows, which takes {} at the "
                    "least, so give projections that are wider",
                    command.input, stack.size[0], stack.size[0] == 1 ? "" : "s", columns));
  if (stack.size[2] < views && chosen.file.size[2] >= views)
    throw InputError(
        fmt::format("--views {}: one view of '{}' is left; the axis is found from views all round, so leave those of "
                    "half a turn at the least",
                    command.projections.views, command.input));
  if (stack.size[2] < views)
    throw InputError(
        fmt::format("'{}' has one view; the axis is found from views all round, so give those of half a turn at the "
                    "least",
                    command.input));
}

// The steps come one after the other. Opens the devices, as drivers take memory, too.
double search_bytes(Job& job, const FindAxisCommand& command, const Grid& stack, const Geometry& geometry) {
  double bytes = tilt_bytes(stack, geometry);
  if (command.looks_by("correlation")) bytes = std::max(bytes, correlation_bytes(stack, geometry));
  if (command.looks_by("double-wedge") && is_half_turn(geometry)) bytes = std::max(bytes, double_wedge_bytes(stack));
  if (command.looks_by("sharpness"))
    bytes = std::max(bytes, sharpness_bytes(stack, geometry, device_models(job.devices())));
  return bytes;
}

// The part of the scan that is looked at.
struct FindAxisWork {
  ImageInfo input;
  ChosenProjections chosen;
  Grid stack;
  Geometry whole, geometry;  // geometries of all views in the file, and of the chosen ones
  double fields = 0;         // bytes of the images that go with counts
};

FindAxisWork prepare(Job& job, const FindAxisCommand& command) {
  FindAxisWork work;
  const std::string input = "'" + command.input + "'", geometry = "'" + command.geometry + "'";
  work.input = job.input_image("-i", command.input);
  work.chosen = choose_projections(command.projections, work.input, input, command.geometry);
  work.fields = check_counts_or_integrals(job, command.counts, command.counts_arguments, work.input, command.input);
  work.stack = work.chosen.stack();
  job.input("--geometry", command.geometry);
  job.output("-o", command.output);
  work.whole = load_geometry(command.geometry, {}, DetectorPixels::of(work.chosen.file)).geometry;
  check_view_count(work.chosen, command.projections, work.whole, input, geometry);
  work.geometry = work.chosen.geometry(work.whole, 0);
  check_projections(work.stack, input, work.geometry, geometry);
  require_enough(work.chosen, command);
  return work;
}

Volume line_integrals(Job& job, const FindAxisCommand& command, const FindAxisWork& work) {
  ChosenScan scan = read_chosen(job, work.chosen, work.input, command.input, command.counts_arguments, command.counts);
  if (!command.counts) return std::move(scan.projections);
  job.timed("counts", [&] { counts_to_line_integrals(scan.projections, scan.calibration, "'" + command.input + "'"); });
  job.say(fmt::format("from {}: {}{}", command.input, work.chosen.whole ? "" : "of the whole scan, ",
                      counts_summary(scan.calibration)));
  return std::move(scan.projections);
}

// The share of the views in which the object reaches over the edge of the detector.
double cut_off_views(const FindAxisWork& work, const Volume& projections) {
  Redundancy redundancy;
  try {
    redundancy = redundancy_of(work.geometry, work.stack);
  } catch (const InputError&) {  // views are missing, which the search reports
  }
  return truncated_views(projections, redundancy);
}

void warn_of_truncation(const FindAxisCommand& command, const FindAxisWork& work, double views) {
  spdlog::warn(
      "'{}': the object reaches over the detector's edge in {:.0f} % of the views: opposite views are compared where "
      "both see it{}, and the sharpness of reconstructions is not to be trusted",
      command.input, 100 * views,
      is_half_turn(work.geometry) ? ", the double wedge of the sinogram needs no more than that" : "");
}

// The measures one after the other; `why`: what those say that cannot be had.
class AxisSearches {
 public:
  AxisSearches(Job& job, const FindAxisCommand& command, const FindAxisWork& work, const Volume& projections,
               AxisReport& report)
      : job_(job), command_(command), work_(work), projections_(projections), report_(report) {}

  AxisMeasures run(const AxisSearch& search) {
    const double pixel = work_.stack.spacing[0];
    constexpr double some_views = 0.1;
    const double cut_off = cut_off_views(work_, projections_);
    found_.truncated = cut_off >= some_views;
    if (command_.looks_by("correlation"))
      measure("correlation", found_.correlation,
              [&] { return axis_by_correlation(projections_, work_.geometry, search); });
    if (command_.all() ? is_half_turn(work_.geometry) : command_.looks_by("double-wedge"))
      measure("double wedge", found_.double_wedge,
              [&] { return axis_by_double_wedge(projections_, work_.geometry, search); });
    if (is_half_turn(work_.geometry))
      found_.opposite_error = opposite_error(work_.geometry) * 0.5 * pixel * static_cast<double>(work_.stack.size[0]);
    const auto best = best_so_far();
    if (command_.looks_by("sharpness") && !(best && found_.truncated))
      measure("sharpness", found_.sharpness,
              [&] { return axis_by_sharpness(projections_, work_.geometry, about(best, search), job_.devices()); });
    if (found_.sharpness)
      found_.displaced =
          field_of_view(with_axis_shifted(work_.geometry, found_.sharpness->shift), DetectorPixels::of(work_.stack))
              .displaced();
    if (best || found_.sharpness) {
      if (found_.truncated) warn_of_truncation(command_, work_, cut_off);
      for (const auto& [method, text] : why_) spdlog::warn("by {}, no axis is found: {}", method, text);
      return found_;
    }
    throw InputError(
        fmt::format("no axis can be found in '{}' with '{}': {}", command_.input, command_.geometry, reasons()));
  }

 private:
  template <typename Search>
  void measure(const char* method, std::optional<AxisEstimate>& axis, const Search& search) {
    try {
      axis = job_.timed(method, search);
      report_.add(method, *axis);
    } catch (const InputError& error) {
      why_.emplace_back(method, error.what());
    }
  }
  std::optional<AxisEstimate> best_so_far() const {
    if (!found_.correlation && !found_.double_wedge) return std::nullopt;
    return choose_axis(found_, work_.stack.spacing[0]).axis;
  }
  // Sharpness takes a reconstruction an axis: unless a range is given, near what is certain.
  AxisSearch about(const std::optional<AxisEstimate>& best, const AxisSearch& search) const {
    const double pixel = work_.stack.spacing[0];
    if (command_.range || !best || best->at_end || !best->certain(pixel)) return search;
    return {best->shift, std::min(search.range, 6 * pixel)};
  }
  std::string reasons() const {
    std::string text;
    for (const auto& [method, why] : why_)
      if (text.find(why) == std::string::npos) text += text.empty() ? why : fmt::format("; but by {}: {}", method, why);
    return text;
  }

  Job& job_;
  const FindAxisCommand& command_;
  const FindAxisWork& work_;
  const Volume& projections_;
  AxisReport& report_;
  AxisMeasures found_;
  std::vector<std::pair<std::string, std::string>> why_;
};

// Throws what keeps the geometry from being written.
// `bin`: columns that make one.
void require_trusted(Job& job, const FindAxisCommand& command, const AxisChoice& choice, const Grid& file, double bin,
                     double range) {
  if (choice.axis.at_end) {
    job.keep_report();
    throw InputError(
        fmt::format("-o '{}' was not written, for the best axis is at the end of the range that was tried, {:g} pixels "
                    "on each side of the geometry's; give a larger --range",
                    command.output, range));
  }
  if (command.force) return;
  const double pixel = file.spacing[0], uncertainty = choice.axis.uncertainty.value_or(0);
  if (choice.agreed() && choice.axis.uncertainty && !choice.axis.certain(bin * pixel)) {
    job.keep_report();
    throw InputError(
        fmt::format("-o '{}' was not written, for the axis is uncertain: one standard deviation is {:.3g} pixels; look "
                    "at a slice with it, give more views or rows or a smaller --range, or --force to write it",
                    command.output, uncertainty / pixel));
  }
  if (choice.agreed()) return;
  job.keep_report();
  std::vector<std::string> others;
  for (const AxisDifference& each : choice.differing)
    if (each.trusted) others.push_back(fmt::format("{} by {:.3g} pixels", each.method, each.apart / pixel));
  throw InputError(
      fmt::format("-o '{}' was not written, for the measures disagree: from the axis by {} differs that by {}; "
                  "reconstruct a slice with each, and choose by --method, or give --force to write that by {}",
                  command.output, choice.method, fmt::join(others, ", by "), choice.method));
}

void write_corrected(Job& job, const FindAxisCommand& command, const FindAxisWork& task, const AxisChoice& choice,
                     const TiltEstimate& tilt, const AxisReport& report) {
  const bool turned = tilt.significant();
  // found together, axis and tilt do not blur each other; other measures have their axis from more views
  const double shift = !turned                          ? choice.axis.shift
                       : choice.method != "correlation" ? choice.axis.shift + tilt.lever
                                                        : tilt.shift;
  const Geometry corrected = with_detector_turned(with_axis_shifted(task.whole, shift), turned ? tilt.change : 0);
  // TIFF files do not state their pixels, so the example repeats --pixel or the geometry's.
  const auto pixels = task.input.format.starts_with("TIFF") ? DetectorPixels::of(task.chosen.file) : DetectorPixels();
  write_file_atomically(command.output, [&](std::ostream& out) { write_geometry(corrected, out, pixels); });
  job.say(fmt::format("{}: the geometry with its axis at column {:.2f}{}", command.output, report.column(shift),
                      turned ? fmt::format(" and the detector turned by {:+.2f} degrees", tilt.change) : ""));
}

void run_find_axis(Job& job, const FindAxisCommand& command) {
  const FindAxisWork task = prepare(job, command);
  const Grid& stack = task.stack;
  const double pixel = stack.spacing[0], pixel_of_file = task.chosen.file.spacing[0];
  AxisSearch search;
  search.range = command.range ? *command.range * pixel_of_file : 0.05 * static_cast<double>(stack.size[0]) * pixel;
  AxisReport report(job, task.chosen.file, pixel, task.geometry);
  const double work = search_bytes(job, command, stack, task.geometry);
  job.host().require(grid_bytes(stack) + task.fields, {}, work);
  if (job.dry_run())
    return job.print(fmt::format("would look for the axis between columns {:.1f} and {:.1f}",
                                 report.column(-search.range), report.column(search.range)));

  const Volume projections = line_integrals(job, command, task);
  const AxisChoice choice = choose_axis(AxisSearches(job, command, task, projections, report).run(search), pixel);
  report.add(choice);
  job.results()["column"] = report.column(choice.axis.shift);
  report.add_offset(choice.axis.shift);
  TiltEstimate tilt;
  if (choice.axis.at_end)
    tilt.unknown = "the axis lies beyond the range that was tried";
  else
    tilt = job.timed("tilt", [&] { return detector_tilt(projections, task.geometry, choice.axis.shift); });
  report.add(tilt);
  if (command.output.empty()) return;
  require_trusted(job, command, choice, task.chosen.file, pixel / pixel_of_file, search.range / pixel_of_file);
  write_corrected(job, command, task, choice, tilt, report);
}

}  // namespace

std::unique_ptr<Command> geometry_find_axis_command() {
  auto sub = std::make_unique<Command>(
      "find-axis", "Find where the rotation axis falls on the detector, and how that is tilted, from the projections");
  Settings& settings = sub->settings;
  auto command = std::make_shared<FindAxisCommand>();
  add_input(settings, command->input, "Projections (u, v, view): line integrals, or with --counts counts");
  add_geometry_option(settings, command->geometry);
  add_views_option(settings, command->projections);
  add_detector_options(settings, command->projections);
  settings
      .add("method", command->method,
           "correlation: opposite rays agree best; sharpness: short reconstructions are sharpest; double-wedge: "
           "the ends of half a turn of a parallel beam go on into each other best (needs no whole object); all: "
           "those that apply. Then sharpness counts where it is within a pixel (with --bin: a bin) of the double "
           "wedge, or else of correlation; elsewhere these do, as for a displaced detector, and for an object "
           "that reaches over its edge")
      .one_of({"all", "correlation", "sharpness", "double-wedge", "both"});
  settings
      .add("range", command->range,
           "Pixels of the file on each side of the geometry's axis that are tried, by each measure. Default: 5 "
           "% of the columns, and by sharpness 6 on each side of an axis that is certain")
      .positive()
      .unit("N");
  settings.add("force", command->force,
               "Write the geometry (-o) even if the measures disagree about the axis by more than a pixel, or it is "
               "uncertain (one standard deviation is more than a quarter of a pixel)");
  add_counts_flag(settings, command->counts, command->counts_arguments.options);
  add_counts_files(settings, command->counts_arguments);
  settings
      .add("output", command->output,
           "Geometry to write, of all views in the file, with the axis that was found, and with the detector's tilt "
           "about the beam if it is more than three times its uncertainty (RTK's XML)")
      .named("-o,--output")
      .writes(FileKind::geometry);
  sub->footer =
      "Columns are those of the file, also with --crop and --bin.\nExample:\n  halocline geometry find-axis -i "
      "counts.mha --counts --flat flats.mha --dark darks.mha --geometry geometry.xml -o corrected.xml";
  sub->run = [command](Job& job) {
    take_white_level(job, command->counts, command->geometry, command->counts_arguments);
    run_find_axis(job, *command);
  };
  return sub;
}

}  // namespace halocline
