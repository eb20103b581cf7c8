#include "apps/options/counts_options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <algorithm>

#include "algorithms/preprocessing/bad_pixels.hpp"
#include "algorithms/preprocessing/unmeasured.hpp"
#include "apps/job/job.hpp"
#include "apps/job/report.hpp"
#include "apps/options/geometry_file.hpp"
#include "host/system/error.hpp"
#include "host/system/plural.hpp"

namespace halocline {
namespace {

std::string quoted(const std::string& option, const std::string& path) {
  return fmt::format("{} '{}'", option, path);
}

double check_field(Job& job, const std::string& option, const std::string& path, const Grid& counts,
                   const std::string& counts_path) {
  const Grid grid = job.input_image(option, path).grid;
  require_same_detector(grid, quoted(option, path), counts, "'" + counts_path + "'");
  return grid_bytes(grid);
}

}  // namespace

void add_counts_files(Settings& settings, CountsArguments& arguments) {
  const std::string needed = settings.find("counts") != nullptr ? "counts" : "";
  for (Setting* setting :
       {&settings
             .add("flat", arguments.flats,
                  "Images without the object (u, v, n); their mean is taken. Two files: from before and after the "
                  "scan, and the beam is interpolated over the views, as it is for one file if its images have one "
                  "clear step of less than 30 % about half-way. This, --air or both; transmissions (0 to 1) need "
                  "neither")
             .named("--flat,--flats")
             .at_most(2),
        &settings.add("dark", arguments.dark, "Images without the beam (u, v, n); their mean is taken. Default: 0")
             .named("--dark,--darks"),
        &settings.add("bad-pixels", arguments.bad_pixels,
                      "Map of the detector (u, v), not 0 where a pixel is bad: it is interpolated from the good ones "
                      "around it. Default: pixels are looked for that are dark, stuck at one count, or whose flat is "
                      "below half or above double that of those around them")})
    setting->unit("FILE").group(counts_group).needs(needed);
}

void take_white_level(Job& job, bool counts, const std::string& geometry, CountsArguments& arguments) {
  if (!counts || !arguments.flats.empty() || arguments.options.air) return;
  arguments.white_level = white_level_in(geometry);
  if (!arguments.white_level) return;
  arguments.white_level_name = fmt::format("WhiteLevel of '{}'", geometry);
  job.say(fmt::format("neither --flat nor --air: the beam alone gives {:.6g} counts, the WhiteLevel of '{}'",
                      *arguments.white_level, geometry));
}

double check_counts_arguments(Job& job, const CountsArguments& arguments, const ImageInfo& counts,
                              const std::string& counts_path) {
  const bool whole = is_integer(component_named(counts.component)) && counts.scaling.identity();
  check_counts_options(arguments.options, counts.grid, arguments.has_open_beam(), !whole, "'" + counts_path + "'");
  double bytes = 0;
  for (const auto& [option, path] : field_files(arguments))
    bytes += check_field(job, option, path, counts.grid, counts_path);
  return bytes;
}

std::vector<std::pair<const char*, std::string>> field_files(const CountsArguments& arguments) {
  std::vector<std::pair<const char*, std::string>> files;
  for (const std::string& path : arguments.flats) files.emplace_back("--flat", path);
  if (!arguments.dark.empty()) files.emplace_back("--dark", arguments.dark);
  if (!arguments.bad_pixels.empty()) files.emplace_back("--bad-pixels", arguments.bad_pixels);
  return files;
}

TypedVolume read_counts(Job& job, const ImageInfo& info, const std::string& path) {
  if (info.component != "uint16" || !info.scaling.identity()) return to_typed(job.images().read_rays(path));
  TypedVolume counts(info.grid, Component::uint16);
  TypedSink sink(counts);
  const auto source = job.images().open_rays(path);
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

namespace {

std::string rings_text(std::size_t pixels, double rms) {
  return pixels == 0 ? "no rings found, none taken off"
                     : fmt::format(
                           "ring offsets of {:.3g} RMS taken off, of {}; what the object has on both sides of "
                           "the axis is left",
                           rms, plural(pixels, "pixel", "pixels"));
}

}  // namespace

DetectorOffsets find_rings(Job& job, const CountsArguments& arguments, const VolumeSource& line_integrals,
                           const std::string& path) {
  DetectorOffsets offsets =
      job.timed("rings", [&] { return ring_offsets(line_integrals, arguments.options.ring_width, "'" + path + "'"); });
  job.results()["ring_offset_rms"] = offsets.rms;
  job.results()["ring_pixels"] = offsets.count;
  job.say(fmt::format("'{}': {}", path, rings_text(offsets.count, offsets.rms)));
  return offsets;
}

namespace {

void warn_of_edges(const LostEdges& edges, const std::string& path) {
  if (!edges.hide_the_object()) return;
  spdlog::warn(
      "'{}': {} of the detector that {} not measured, and the object reaches {}: line integrals there (up to {:.3g}) "
      "are continued from the next column, and wrong by a tenth and more; reconstruct gives them no weight, for fdk "
      "leave such columns out (--crop)",
      path, plural(edges.columns, "column at the edge", "columns at the edges"), edges.columns == 1 ? "was" : "were",
      edges.columns == 1 ? "it" : "them", edges.integral);
}

// Values that are not finite, where they are allowed.
ReplacedValues fill_unmeasured_rays(Job& job, const CountsArguments& arguments, const VolumeSource& line_integrals,
                                    const std::string& path) {
  if (!job.common().allow_nonfinite) return {};
  FilledValues found = job.timed(
      "fill", [&] { return fill_nonfinite(line_integrals, arguments.options.within_views, "'" + path + "'"); });
  const std::size_t count = found.replaced.count();
  job.results()["not_measured"] = count;
  if (count > 0)
    spdlog::warn("'{}': {} NaN or infinite: taken for not measured, and interpolated", path,
                 plural(count, "value is", "values are"));
  warn_of_edges(found.edges, path);
  return std::move(found.replaced);
}

// Line integrals with interpolated ones in them. Holds both.
class FilledSource : public VolumeSource {
 public:
  FilledSource(std::unique_ptr<VolumeSource> source, ReplacedValues replaced)
      : source_(std::move(source)), replaced_(std::move(replaced)), mended_(*source_, replaced_) {}
  const Grid& grid() const override { return source_->grid(); }
  void read(std::size_t first, std::size_t count, float* to) const override { mended_.read(first, count, to); }

 private:
  std::unique_ptr<VolumeSource> source_;
  ReplacedValues replaced_;
  MendedSource mended_;
};

}  // namespace

std::unique_ptr<VolumeSource> open_line_integrals(Job& job, const CountsArguments& arguments, const std::string& path,
                                                  ReplacedValues* replaced) {
  auto file = job.images().open_rays(path);
  ReplacedValues filled = fill_unmeasured_rays(job, arguments, *file, path);
  if (replaced != nullptr) *replaced = filled;
  if (!filled.empty()) file = std::make_unique<FilledSource>(std::move(file), std::move(filled));
  if (arguments.options.ring_width == 0) return file;
  DetectorOffsets offsets = find_rings(job, arguments, *file, path);
  return std::make_unique<RingFreeSource>(std::move(file), std::move(offsets));
}

Volume read_line_integrals(Job& job, const CountsArguments& arguments, const std::string& path,
                           ReplacedValues* replaced) {
  Volume projections = job.images().read_rays(path);
  ReplacedValues filled = fill_unmeasured_rays(job, arguments, MemorySource(projections), path);
  filled.put(0, projections.voxels.size(), projections.voxels.data());
  if (replaced != nullptr) *replaced = std::move(filled);
  if (arguments.options.ring_width == 0) return projections;
  take_off(find_rings(job, arguments, MemorySource(projections), path), 0, projections.voxels.size(),
           projections.voxels.data());
  return projections;
}

CountsCalibrator begin_calibration(Job& job, const CountsArguments& arguments, const VolumeSource& counts,
                                   const ImageInfo& info, const std::string& counts_path) {
  const auto read = [&](const std::string& path) { return path.empty() ? Volume() : job.images().read_rays(path); };
  const std::string flat = arguments.flats.empty() ? "" : arguments.flats.front(),
                    after = arguments.flats.size() < 2 ? "" : arguments.flats.back();
  Volume flats = read(flat);
  if (arguments.white_level) {
    flats.grid.size = {info.grid.size[0], info.grid.size[1], 1};
    flats.voxels.assign(flats.grid.count(), static_cast<float>(*arguments.white_level));
  }
  const Volume flats_after = read(after), darks = read(arguments.dark),
               bad = arguments.bad_pixels.empty() ? Volume() : job.images().read(arguments.bad_pixels);
  const auto field = [&](const Volume& stack, const std::string& option, const std::string& path) {
    return CountsField{path.empty() ? nullptr : &stack, quoted(option, path)};
  };
  CountsOptions options = arguments.options;
  if (const auto stored = component_named(info.component);
      !options.saturation && is_integer(stored) && info.scaling.identity())
    options.saturation = component_highest(stored);
  options.allow_nonfinite = job.common().allow_nonfinite;
  const CountsField open_beam =
      arguments.white_level ? CountsField{&flats, arguments.white_level_name, false} : field(flats, "--flat", flat);
  return job.timed("calibrate", [&] {
    return CountsCalibrator(counts,
                            {open_beam, field(flats_after, "--flat", after), field(darks, "--dark", arguments.dark),
                             field(bad, "--bad-pixels", arguments.bad_pixels), "'" + counts_path + "'"},
                            options);
  });
}

void report_counts(Job& job, const CountsCalibration& calibration) {
  const CountsReport& report = calibration.report;
  job.results()["counts"] = {{"pixels", report.pixels},
                             {"raised", report.raised},
                             {"saturated", report.saturated},
                             {"bad_pixels", report.bad_pixels},
                             {"failing_pixels", report.failing},
                             {"beam_lowest", report.beam_low},
                             {"beam_highest", report.beam_high},
                             {"ring_offset_rms", report.ring_rms},
                             {"bad_rows", calibration.bad_rows},
                             {"replaced", report.replaced},
                             {"bad_group", report.bad_group},
                             {"filled_rms", report.filled_rms},
                             {"lost_edge_columns", report.lost_edges.columns},
                             {"flats_left_out", report.flats_left_out},
                             {"ring_pixels", report.rings},
                             {"transmissions", report.transmissions},
                             {"between_flats", report.between_flats},
                             {"clipped_flats", report.clipped_flats ? report.clipped_flats->share : 0.0},
                             {"rough_views", report.rough_views},
                             {"floor", calibration.floor}};
}

namespace {

// "view 7", "views 3, 4, 5, 9, 10 and 12 others"
std::string list_of_views(const std::vector<std::size_t>& views) {
  constexpr std::size_t most = 5;
  const std::vector<std::size_t> first(views.begin(),
                                       views.begin() + static_cast<std::ptrdiff_t>(std::min(most, views.size())));
  const std::string more = views.size() > most ? fmt::format(" and {} others", views.size() - most) : "";
  return fmt::format("{} {}{}", views.size() == 1 ? "view" : "views", fmt::join(first, ", "), more);
}

void warn_of_flats(const CountsReport& report, const std::string& counts_path) {
  if (const auto& step = report.odd_flats)
    spdlog::warn(
        "'{}': of the {} images of --flat the first {} and the others differ: the others are {:.4g} times as bright. "
        "The mean of all is taken, and the same for all views. Leave out the images that do not fit the scan's "
        "exposure; if the beam did change over the scan, give --flat BEFORE AFTER",
        counts_path, step->images, step->before, step->levels.after / step->levels.before);
  if (const auto& clipped = report.clipped_flats)
    spdlog::warn(
        "'{}': {:.3g} % of the values of --flat are {:.6g}, the greatest that they can be: the beam was brighter than "
        "that, and line integrals of these pixels come out too low; take flats of a shorter exposure, or lower the "
        "beam for flats and scan",
        counts_path, 100 * clipped->share, clipped->value);
  if (report.above_flats > 1)
    spdlog::warn(
        "'{}': most counts lie above what the beam alone gives by the flats, {:.4g} times that in the median, and "
        "their line integrals below 0: are flats and scan of different exposure, or is --dark missing? Take flats of "
        "the "
        "scan's exposure, or give a region that sees the beam alone (--air)",
        counts_path, report.above_flats);
}

}  // namespace

void warn_of_calibration(const CountsCalibrator& calibrator, const std::string& counts_path,
                         const CountsReport* reported) {
  const CountsCalibration& calibration = calibrator.calibration();
  const CountsReport& report = calibration.report;
  const auto is_new = [&](bool (*holds)(const CountsReport&)) {
    return holds(report) && (reported == nullptr || !holds(*reported));
  };
  if (reported == nullptr) warn_of_flats(report, counts_path);
  if (!calibration.bad_rows.empty() && reported == nullptr)
    spdlog::warn(
        "'{}': {} of {} detector rows have no good pixel, row {} the first: they are interpolated from the nearest "
        "that "
        "have some, and what they alone saw is lost",
        counts_path, calibration.bad_rows.size(), calibration.size[1], calibration.bad_rows.front());
  if (std::min(report.bad_group[0], report.bad_group[1]) > filled_well && reported == nullptr)
    spdlog::warn(
        "'{}': bad pixels lie together, {} x {} of them: inside the detector groups up to {} pixels thick are filled "
        "well; what such a "
        "one hid is a guess, which reconstruct does not use (its rays get the weight 0)",
        counts_path, report.bad_group[0], report.bad_group[1], filled_well);
  if (!report.rough_views.empty() && (reported == nullptr || reported->rough_views != report.rough_views))
    spdlog::warn(
        "'{}': a large part of the detector was lost in {}: it was interpolated, which "
        "is a rough guess (reconstruct gives it the weight 0); leave such views out of the stack and of the geometry, "
        "or scan again",
        counts_path, list_of_views(report.rough_views));
  if (reported == nullptr) warn_of_edges(report.lost_edges, counts_path);
  if (is_new([](const CountsReport& each) { return each.saturated > 0; }))
    spdlog::warn(
        "'{}': {} of {} counts are saturated ({:.6g} or more): more came than was counted, and their line integrals "
        "are "
        "too high; a shorter exposure helps",
        counts_path, report.saturated, report.pixels, *calibrator.options().saturation);
  static constexpr double steady = 1.3;  // tubes waver by a tenth
  if (calibrator.options().air &&
      is_new([](const CountsReport& each) { return each.beam_high > steady * each.beam_low; }))
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
        "through there",
        counts_path, report.raised, report.pixels, calibration.floor);
}

CountsCalibration calibrate(Job& job, const CountsArguments& arguments, const VolumeSource& counts,
                            const ImageInfo& info, const std::string& counts_path) {
  const CountsCalibrator calibrator = begin_calibration(job, arguments, counts, info, counts_path);
  report_counts(job, calibrator.calibration());
  warn_of_calibration(calibrator, counts_path);
  return calibrator.calibration();
}

namespace {

std::string beam_text(const CountsReport& report) {
  std::string text;
  if (report.transmissions) text += "; values from 0 to 1, taken for transmissions I/I0, which need no flats";
  if (report.between_flats)
    text += fmt::format("; the beam varies from {:.6g} to {:.6g} of that of the flats, by those before and after",
                        report.beam_low, report.beam_high);
  else if (report.beam_low != report.beam_high)
    text += fmt::format("; the beam varies from {:.6g} to {:.6g}", report.beam_low, report.beam_high);
  if (report.flats_left_out > 0)
    text += fmt::format("; {} of flats and darks far from the others, left out",
                        plural(report.flats_left_out, "value", "values"));
  return text;
}

}  // namespace

std::string counts_summary(const CountsCalibration& calibration) {
  const CountsReport& report = calibration.report;
  std::string text = fmt::format(
      "{} of {} counts were raised to {:.4g} above the dark field, {} saturated; {} detector pixels are bad "
      "and interpolated",
      report.raised, report.pixels, calibration.floor, report.saturated, report.bad_pixels);
  if (report.bad_pixels > 1) text += fmt::format(" (up to {} x {})", report.bad_group[0], report.bad_group[1]);
  if (report.filled_rms > 0) text += fmt::format(", off by {:.2g} RMS where that can be said", report.filled_rms);
  if (report.replaced > 0)
    text += fmt::format("; {} failed in a view and {} interpolated", plural(report.replaced, "value", "values"),
                        report.replaced == 1 ? "is" : "are");
  text += beam_text(report);
  if (report.looked_for_rings) text += "; " + rings_text(report.rings, report.ring_rms);
  return text;
}

}  // namespace halocline
