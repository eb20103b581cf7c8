#include "apps/options/counts_options.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>

#include "apps/job/job.hpp"
#include "apps/job/report.hpp"
#include "apps/job/validators.hpp"
#include "apps/options/geometry_file.hpp"
#include "host/error.hpp"

namespace halocline {
namespace {

std::string quoted(const std::string& option, const std::string& path) {
  return fmt::format("{} '{}'", option, path);
}

double check_field(Job& job, const std::string& option, const std::string& path, const Grid& counts,
                   const std::string& counts_path) {
  if (path.empty()) return 0;
  const Grid grid = job.input_image(option, path).grid;
  require_same_detector(grid, quoted(option, path), counts, "'" + counts_path + "'");
  return grid_bytes(grid);
}

const std::string group = "From counts to line integrals";

std::vector<CLI::Option*> add_calibration_options(CLI::App& app, CountsArguments& arguments) {
  CountsOptions& options = arguments.options;
  std::vector<CLI::Option*> added{
      app.add_option("--flat,--flats", arguments.flat,
                     "Images without the object (u, v, n); their mean is taken. This, --air or both")
          ->type_name("FILE"),
      app.add_option("--dark,--darks", arguments.dark,
                     "Images without the beam (u, v, n); their mean is taken. Default: 0")
          ->type_name("FILE"),
      add_list(app, "--air", options.air, "U0,V0,U1,V1", Numbers::indices,
               "Pixels of the detector, upper ends not included, that see the beam alone in every view: their mean is "
               "the view's beam"),
      app.add_option("--bad-pixels", arguments.bad_pixels,
                     "Map of the detector (u, v), not 0 where a pixel is bad: it is interpolated from the good ones "
                     "beside it in its row, a row of bad pixels from the rows above and below. Default: pixels are "
                     "looked for that are dark, stuck at one count, or whose "
                     "flat is below half or above double that of those around them")
          ->type_name("FILE"),
      app.add_option("--floor", options.floor,
                     "Counts above the dark field; lower ones, and zeros, are raised to it (default 0.5). Of a bin "
                     "(--bin): its "
                     "sum")
          ->check(positive_number())
          ->type_name("COUNTS"),
      app.add_option("--saturation", options.saturation,
                     "Tell how many counts reach this. Default: the greatest number of an integer type")
          ->check(finite_number())
          ->type_name("COUNTS"),
      app.add_option_function<std::string>(
             "--beam-hardening",
             [&options](const std::string& text) { options.hardening = parse_numbers("--beam-hardening", {text}); },
             "Line integrals q become C1 q + C2 q^2 + ...")
          ->type_name("C1,C2,...")};
  for (auto* option : added) option->group(group);
  return added;
}

void add_ring_option(CLI::App& app, CountsOptions& options, const std::string& inputs) {
  app.add_option("--reduce-rings", options.ring_width,
                 "Take off what a pixel differs by from those on both sides of it in the median over all views: "
                 "rings up to W pixels wide go (try 2; 0: none)" +
                     inputs)
      ->check(whole_number_from(0, 1000))
      ->type_name("W")
      ->group(group);
}

}  // namespace

void add_counts_options(CLI::App& app, CountsArguments& arguments) {
  add_calibration_options(app, arguments);
  add_ring_option(app, arguments.options, "");
}

CLI::Option* add_counts_flag(CLI::App& app, bool& counts, CountsArguments& arguments) {
  auto* flag = app.add_flag("--counts", counts,
                            "The projections are a detector's counts: they become line integrals on the way, as "
                            "'halocline counts' would make them. --flat, --dark, --bad-pixels, --air are of the whole "
                            "detector, before --crop and --bin");
  flag->group(group);
  for (auto* option : add_calibration_options(app, arguments)) option->needs(flag);
  add_ring_option(app, arguments.options, ". Of line integrals, too");
  return flag;
}

void take_white_level(Job& job, bool counts, const std::string& geometry, CountsArguments& arguments) {
  if (!counts || !arguments.flat.empty() || arguments.options.air) return;
  arguments.white_level = white_level_in(geometry);
  if (!arguments.white_level) return;
  arguments.white_level_name = fmt::format("WhiteLevel of '{}'", geometry);
  job.say(fmt::format("neither --flat nor --air: the beam alone gives {:.6g} counts, the WhiteLevel of '{}'",
                      *arguments.white_level, geometry));
}

double check_counts_arguments(Job& job, const CountsArguments& arguments, const ImageInfo& counts,
                              const std::string& counts_path) {
  check_counts_options(arguments.options, counts.grid, arguments.has_open_beam(), "'" + counts_path + "'");
  return check_field(job, "--flat", arguments.flat, counts.grid, counts_path) +
         check_field(job, "--dark", arguments.dark, counts.grid, counts_path) +
         check_field(job, "--bad-pixels", arguments.bad_pixels, counts.grid, counts_path);
}

TypedVolume read_counts(Job& job, const ImageInfo& info, const std::string& path) {
  if (info.component != "uint16" || !info.scaling.identity()) return to_typed(job.read(path));
  TypedVolume counts(info.grid, Component::uint16);
  TypedSink sink(counts);
  const auto source = job.open(path);
  job.timed("read", [&] { copy_voxels(*source, sink); });
  return counts;
}

double check_counts_or_integrals(Job& job, bool counts, const CountsArguments& arguments, const ImageInfo& info,
                                 const std::string& path) {
  if (counts) return check_counts_arguments(job, arguments, info, path);
  check_ring_width(arguments.options.ring_width, info.grid, "'" + path + "'");
  if (is_integer(component_named(info.component)) && info.scaling.identity())
    spdlog::warn("'{}' holds whole numbers ({}), where line integrals are expected: if they are counts, give --counts",
                 path, info.component);
  return 0;
}

DetectorOffsets find_rings(Job& job, const CountsArguments& arguments, const VolumeSource& line_integrals,
                           const std::string& path) {
  DetectorOffsets offsets =
      job.timed("rings", [&] { return ring_offsets(line_integrals, arguments.options.ring_width, "'" + path + "'"); });
  job.results()["ring_offset_rms"] = offsets.rms;
  job.say(fmt::format("'{}': ring offsets of {:.3g} RMS taken off", path, offsets.rms));
  return offsets;
}

std::unique_ptr<VolumeSource> open_line_integrals(Job& job, const CountsArguments& arguments, const std::string& path) {
  auto file = job.open(path);
  if (arguments.options.ring_width == 0) return file;
  DetectorOffsets offsets = find_rings(job, arguments, *file, path);
  return std::make_unique<RingFreeSource>(std::move(file), std::move(offsets));
}

Volume read_line_integrals(Job& job, const CountsArguments& arguments, const std::string& path) {
  Volume projections = job.read(path);
  if (arguments.options.ring_width == 0) return projections;
  take_off(find_rings(job, arguments, MemorySource(projections), path), 0, projections.voxels.size(),
           projections.voxels.data());
  return projections;
}

CountsCalibrator begin_calibration(Job& job, const CountsArguments& arguments, const VolumeSource& counts,
                                   const ImageInfo& info, const std::string& counts_path) {
  const auto read = [&](const std::string& path) { return path.empty() ? Volume() : job.read(path); };
  Volume flats = read(arguments.flat);
  if (arguments.white_level) {
    flats.grid.size = {info.grid.size[0], info.grid.size[1], 1};
    flats.voxels.assign(flats.grid.count(), static_cast<float>(*arguments.white_level));
  }
  const Volume darks = read(arguments.dark), bad = read(arguments.bad_pixels);
  const auto field = [&](const Volume& stack, const std::string& option, const std::string& path) {
    return CountsField{path.empty() ? nullptr : &stack, quoted(option, path)};
  };
  CountsOptions options = arguments.options;
  if (const auto stored = component_named(info.component);
      !options.saturation && is_integer(stored) && info.scaling.identity())
    options.saturation = component_highest(stored);
  const CountsField open_beam =
      arguments.white_level ? CountsField{&flats, arguments.white_level_name} : field(flats, "--flat", arguments.flat);
  return job.timed("calibrate", [&] {
    return CountsCalibrator(counts,
                            {open_beam, field(darks, "--dark", arguments.dark),
                             field(bad, "--bad-pixels", arguments.bad_pixels), "'" + counts_path + "'"},
                            options);
  });
}

void report_counts(Job& job, const CountsCalibration& calibration) {
  const CountsReport& report = calibration.report;
  job.results()["counts"] = {{"pixels", report.pixels},          {"raised", report.raised},
                             {"saturated", report.saturated},    {"bad_pixels", report.bad_pixels},
                             {"failing_pixels", report.failing}, {"beam_lowest", report.beam_low},
                             {"beam_highest", report.beam_high}, {"ring_offset_rms", report.ring_rms},
                             {"bad_rows", calibration.bad_rows}};
}

void warn_of_calibration(const CountsCalibrator& calibrator, const std::string& counts_path, const CountsReport* told) {
  const CountsCalibration& calibration = calibrator.calibration();
  const CountsReport& report = calibration.report;
  const auto is_new = [&](bool (*holds)(const CountsReport&)) {
    return holds(report) && (told == nullptr || !holds(*told));
  };
  if (!calibration.bad_rows.empty() && told == nullptr)
    spdlog::warn(
        "'{}': {} of {} detector rows have no good pixel, row {} the first: they are interpolated from the nearest "
        "that "
        "have some, and what they alone saw is lost",
        counts_path, calibration.bad_rows.size(), calibration.size[1], calibration.bad_rows.front());
  if (is_new([](const CountsReport& each) { return each.saturated > 0; }))
    spdlog::warn(
        "'{}': {} of {} counts are saturated ({:.6g} or more): more came than was counted, and their line integrals "
        "are "
        "too high; a shorter exposure helps",
        counts_path, report.saturated, report.pixels, *calibrator.options().saturation);
  static constexpr double steady = 1.3;  // tubes waver by a tenth
  if (is_new([](const CountsReport& each) { return each.beam_high > steady * each.beam_low; }))
    spdlog::warn(
        "'{}': the beam in --air is from {:.6g} to {:.6g}, and views are scaled by it; does the region see the object "
        "in "
        "some of them?",
        counts_path, report.beam_low, report.beam_high);
  if (is_new([](const CountsReport& each) { return each.failing > 0; }))
    spdlog::warn(
        "'{}': {} pixels show nothing in part of the views, in which those beside them do, column {} of row {} the "
        "first: if they fail now and then, and are no thin dense part by the axis, give a map of them (--bad-pixels)",
        counts_path, report.failing, report.first_failing % calibration.size[0],
        report.first_failing / calibration.size[0]);
  if (is_new([](const CountsReport& each) { return 1000 * each.raised > each.pixels; }))
    spdlog::warn(
        "'{}': {} of {} counts lie less than {:.4g} above the dark field and were raised to that: nothing comes "
        "through "
        "there, or these are no counts (then choose --floor)",
        counts_path, report.raised, report.pixels, calibrator.options().floor);
}

CountsCalibration calibrate(Job& job, const CountsArguments& arguments, const VolumeSource& counts,
                            const ImageInfo& info, const std::string& counts_path) {
  const CountsCalibrator calibrator = begin_calibration(job, arguments, counts, info, counts_path);
  report_counts(job, calibrator.calibration());
  warn_of_calibration(calibrator, counts_path);
  return calibrator.calibration();
}

std::string counts_summary(const CountsCalibration& calibration) {
  const CountsReport& report = calibration.report;
  std::string text = fmt::format(
      "{} of {} counts were raised to {:.4g} above the dark field, {} saturated; {} detector pixels are bad "
      "and interpolated",
      report.raised, report.pixels, calibration.floor, report.saturated, report.bad_pixels);
  if (report.beam_low != report.beam_high)
    text += fmt::format("; the beam varies from {:.6g} to {:.6g}", report.beam_low, report.beam_high);
  if (report.ring_rms > 0) text += fmt::format("; ring offsets of {:.3g} RMS taken off", report.ring_rms);
  return text;
}

}  // namespace halocline
