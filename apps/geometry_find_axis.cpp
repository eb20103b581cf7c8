// halocline geometry find-axis
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <memory>
#include <string>

#include "algorithms/counts.hpp"
#include "algorithms/field_of_view.hpp"
#include "algorithms/find_axis.hpp"
#include "algorithms/find_tilt.hpp"
#include "algorithms/geometry_check.hpp"
#include "algorithms/geometry_xml.hpp"
#include "apps/chosen_scan.hpp"
#include "apps/counts_options.hpp"
#include "apps/geometry_commands.hpp"
#include "apps/geometry_file.hpp"
#include "apps/io/atomic_file.hpp"
#include "apps/job.hpp"
#include "apps/projection_options.hpp"
#include "apps/report.hpp"
#include "apps/validators.hpp"
#include "host/error.hpp"
#include "scheduling/rates.hpp"

namespace halocline {
namespace {

struct FindAxisCommand {
  std::string input, geometry, output, method = "both";
  ProjectionOptions projections;
  bool counts = false;
  CountsArguments counts_arguments;
  std::optional<double> range;
};

// Columns and pixels are those of the file, whatever part of it is looked at.
class Report {
 public:
  Report(Job& job, const Grid& file, const Geometry& geometry)
      : job_(job), file_(file), from_(alignment(geometry).axis_u.mean), in_plane_(alignment(geometry).in_plane.mean) {}
  double column(double shift) const { return (from_ + shift - file_.origin[0]) / file_.spacing[0]; }
  void add(const char* method, const AxisEstimate& axis) {
    job_.results()[method] = {{"column", column(axis.shift)},
                              {"u_mm", from_ + axis.shift},
                              {"shift_mm", axis.shift},
                              {"contrast", axis.contrast}};
    job_.print(fmt::format("{:<13}axis at column {:.2f} (u = {:.6g} mm, {:+.6g} mm from the geometry's)", method,
                           column(axis.shift), from_ + axis.shift, axis.shift));
    if (axis.at_end)
      spdlog::warn("by {}, the best axis is at the end of the range that was tried; give a larger --range", method);
    if (axis.contrast < 1.05)
      spdlog::warn(
          "by {}, no axis is much better than another (the worst scores {:.3g} times the best); the result is "
          "uncertain",
          method, axis.contrast);
  }
  /// Where the detector stands.
  void add_offset(double shift) {
    const double pixels = 0.5 * (static_cast<double>(file_.size[0]) - 1) - column(shift);
    job_.results()["detector_offset_mm"] = pixels * file_.spacing[0];
    job_.results()["detector_offset_pixels"] = pixels;
    job_.print(fmt::format("detector offset: its centre stands {:+.6g} mm ({:+.2f} pixels) along u from the axis",
                           pixels * file_.spacing[0], pixels));
  }
  void add(const TiltEstimate& tilt) {
    if (!tilt.unknown.empty()) {
      job_.results()["tilt"] = {{"unknown", tilt.unknown}};
      return job_.print("detector tilt about the beam: cannot be told, as " + tilt.unknown);
    }
    const double total = in_plane_ + tilt.change;
    job_.results()["tilt"] = {{"in_plane_degrees", total},
                              {"change_degrees", tilt.change},
                              {"uncertainty_degrees", tilt.uncertainty},
                              {"significant", tilt.significant()},
                              {"isocentre_column", column(tilt.shift)}};
    std::string verdict;
    if (std::abs(tilt.change) <= tilt.uncertainty)
      verdict = fmt::format(", within its uncertainty of the geometry's {:.6g}", in_plane_);
    else if (!tilt.significant())
      verdict = fmt::format(", not certain to differ from the geometry's {:.6g}", in_plane_);
    job_.print(fmt::format("detector tilt about the beam: {:.2f} +- {:.2f} degrees (in-plane angle){}",
                           std::round(100 * total) / 100 + 0.0, tilt.uncertainty, verdict));
  }

 private:
  Job& job_;
  Grid file_;
  double from_, in_plane_;
};

// Which of two estimates is to be trusted. Sharpness goes by a reconstruction, which views that see only one side of
// the object, or the range, may lead astray; correlation by the data alone. pixel: of the projections that are looked
// at; the message is in those of the file.
bool takes_second(const AxisEstimate& correlated, const AxisEstimate& sharpest, double pixel, double pixel_of_file,
                  bool displaced) {
  constexpr double certain = 1.05;  // contrast
  const double apart = std::abs(sharpest.shift - correlated.shift);
  // weights for what is seen twice change with the axis, and sharpness with them: by up to 0.4 pixels
  if (displaced && correlated.contrast >= certain && apart <= pixel) return false;
  if (!sharpest.at_end && (apart <= pixel || correlated.contrast < certain)) return true;
  if (apart > pixel)
    spdlog::warn(
        "the two differ by {:.3g} pixels; the axis is that by correlation, so look at a reconstruction with it",
        apart / pixel_of_file);
  return false;
}

// The options that leave fewer columns than the file has; where --crop leaves too few, --bin is not to blame.
std::string narrowing_options(const ProjectionOptions& options, std::size_t columns, std::size_t enough) {
  const std::size_t cropped = options.crop ? (*options.crop)[2] : columns;
  std::string text;
  if (cropped < columns) text = fmt::format("--crop {}", fmt::join(*options.crop, ","));
  if (cropped < enough) return text;
  return fmt::format("{}{}--bin {}", text, text.empty() ? "" : " and ", fmt::join(options.bin, ","));
}

// What no method can do without.
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
  if (command.method != "sharpness") bytes = std::max(bytes, correlation_bytes(stack, geometry));
  if (command.method != "correlation")
    bytes = std::max(bytes, sharpness_bytes(stack, geometry, budgets(job.devices())));
  return bytes;
}

// The part of the scan that is looked at.
struct FindAxisWork {
  ImageInfo input;
  ChosenProjections chosen;
  Grid stack;
  Geometry whole, geometry;  // of all views in the file, and of those that are chosen
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

Volume read_line_integrals(Job& job, const FindAxisCommand& command, const FindAxisWork& work) {
  ChosenScan scan =
      read_chosen(job, work.chosen, work.input, command.input, command.counts ? &command.counts_arguments : nullptr);
  if (!command.counts) return std::move(scan.projections);
  job.timed("counts", [&] { counts_to_line_integrals(scan.projections, scan.calibration, "'" + command.input + "'"); });
  job.say(fmt::format("from {}: {}{}", command.input, work.chosen.whole ? "" : "of the whole scan, ",
                      counts_summary(scan.calibration)));
  return std::move(scan.projections);
}

void run_find_axis(Job& job, const FindAxisCommand& command) {
  const FindAxisWork task = prepare(job, command);
  const Grid& stack = task.stack;
  const Geometry& geometry = task.geometry;
  const double pixel = stack.spacing[0], pixel_of_file = task.chosen.file.spacing[0];
  AxisSearch search;
  search.range = command.range ? *command.range * pixel_of_file : 0.05 * static_cast<double>(stack.size[0]) * pixel;
  const double range = search.range / pixel_of_file;
  Report report(job, task.chosen.file, geometry);
  const double work = search_bytes(job, command, stack, geometry);
  job.require_host_memory(grid_bytes(stack) + task.fields, {}, work);
  if (job.dry_run())
    return job.print(fmt::format("would look for the axis between columns {:.1f} and {:.1f}",
                                 report.column(-search.range), report.column(search.range)));

  const Volume projections = read_line_integrals(job, command, task);
  AxisEstimate best;
  bool found = false, sharper = false;
  std::string why;  // there is none by correlation
  if (command.method != "sharpness") {
    try {
      best = job.timed("correlation", [&] { return axis_by_correlation(projections, geometry, search); });
      report.add("correlation", best);
      found = true;
    } catch (const InputError& error) {
      why = error.what();
    }
  }
  if (command.method != "correlation") {
    if (found && !best.at_end) search = {best.shift, std::min(search.range, 6 * pixel)};
    try {
      const AxisEstimate sharpest =
          job.timed("sharpness", [&] { return axis_by_sharpness(projections, geometry, search, job.devices()); });
      if (!why.empty()) spdlog::warn("{}", why);
      report.add("sharpness", sharpest);
      const bool displaced =
          field_of_view(with_axis_shifted(geometry, sharpest.shift), DetectorPixels::of(stack)).displaced();
      sharper = !found || takes_second(best, sharpest, pixel, pixel_of_file, displaced);
      if (sharper) best = sharpest;
      found = true;
    } catch (const InputError& error) {  // a shifted axis may need a longer arc than there is
      if (found)
        spdlog::warn("{}; the axis is that by correlation", error.what());
      else if (why != error.what())
        why += (why.empty() ? "" : "; but by sharpness: ") + std::string(error.what());
    }
  }
  if (!found)
    throw InputError(fmt::format("no axis can be found in '{}' with '{}': {}", command.input, command.geometry, why));
  job.results()["column"] = report.column(best.shift);
  report.add_offset(best.shift);
  TiltEstimate tilt;
  if (best.at_end)
    tilt.unknown = "the axis lies beyond the range that was tried";
  else
    tilt = job.timed("tilt", [&] { return detector_tilt(projections, geometry, best.shift); });
  report.add(tilt);
  if (command.output.empty()) return;
  if (best.at_end) {
    job.keep_report();
    throw InputError(
        fmt::format("-o '{}' was not written, for the best axis is at the end of the range that was tried, {:g} pixels "
                    "on each side of the geometry's; give a larger --range",
                    command.output, range));
  }
  const bool turned = tilt.significant();
  // found together, axis and tilt do not blur each other; sharpness has its axis from more views
  const double shift = !turned ? best.shift : sharper ? best.shift + tilt.lever : tilt.shift;
  const Geometry corrected = with_detector_turned(with_axis_shifted(task.whole, shift), turned ? tilt.change : 0);
  // TIFF files do not say their pixels, so what --pixel or the geometry said of them goes with it.
  const auto pixels = task.input.format.starts_with("TIFF") ? DetectorPixels::of(task.chosen.file) : DetectorPixels();
  write_file_atomically(command.output, [&](std::ostream& out) { write_geometry(corrected, out, pixels); });
  job.say(fmt::format("{}: the geometry with its axis at column {:.2f}{}", command.output, report.column(shift),
                      turned ? fmt::format(" and the detector turned by {:+.2f} degrees", tilt.change) : ""));
}

}  // namespace

void add_geometry_find_axis(CLI::App& app, Action& action) {
  auto* sub = app.add_subcommand(
      "find-axis", "Find where the rotation axis falls on the detector, and how that is tilted, from the projections");
  auto command = std::make_shared<FindAxisCommand>();
  sub->add_option("-i,--input", command->input, "Projections (u, v, view): line integrals, or with --counts counts")
      ->required()
      ->type_name("FILE");
  sub->add_option("-g,--geometry", command->geometry, geometry_file_help)->required()->type_name("FILE");
  add_views_option(*sub, command->projections);
  add_detector_options(*sub, command->projections);
  sub->add_option("--method", command->method,
                  "correlation: opposite rays agree best; sharpness: short reconstructions are sharpest; both: the "
                  "second about where the first was found; the first counts where they differ by more than a pixel "
                  "(with --bin: a bin), or the detector is displaced")
      ->check(CLI::IsMember({"both", "correlation", "sharpness"}));
  sub->add_option("--range", command->range,
                  "Pixels of the file on each side of the geometry's axis that are tried. Default: 5 % of the columns")
      ->check(positive_number())
      ->type_name("N");
  add_counts_flag(*sub, command->counts, command->counts_arguments);
  sub->add_option(
         "-o,--output", command->output,
         "Geometry to write, of all views in the file, with the axis that was found, and with the detector's tilt "
         "about the beam if it is more than three times its uncertainty (RTK's XML)")
      ->type_name("FILE");
  sub->footer(
      "Columns are those of the file, also with --crop and --bin.\nExample:\n  halocline geometry find-axis -i "
      "counts.mha --counts --flat flats.mha --dark darks.mha --geometry geometry.xml -o corrected.xml");
  sub->callback([&action, command] { action = [command](Job& job) { run_find_axis(job, *command); }; });
}

}  // namespace halocline
