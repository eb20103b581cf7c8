#include "apps/options/counts_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <algorithm>

#include "algorithms/preprocessing/bad_pixels.hpp"
#include "apps/job/job.hpp"
#include "host/system/plural.hpp"

namespace halocline {

std::string rings_text(std::size_t pixels, double rms) {
  return pixels == 0 ? "no rings found, none taken off"
                     : fmt::format(
                           "ring offsets of {:.3g} RMS taken off, of {}; what the object has on both sides of "
                           "the axis is left",
                           rms, plural(pixels, "pixel", "pixels"));
}

void warn_of_edges(const LostEdges& edges, const std::string& path) {
  if (!edges.hide_the_object()) return;
  spdlog::warn(
      "'{}': {} of the detector that {} not measured, and the object reaches {}: line integrals there (up to {:.3g}) "
      "are continued from the next column, and wrong by a tenth and more; reconstruct gives them no weight, for fdk "
      "leave such columns out (--crop)",
      path, plural(edges.columns, "column at the edge", "columns at the edges"), edges.columns == 1 ? "was" : "were",
      edges.columns == 1 ? "it" : "them", edges.integral);
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
