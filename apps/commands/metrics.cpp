// halocline metrics
#include "algorithms/metrics/metrics.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "algorithms/jobs/setting_values.hpp"
#include "apps/commands/subcommands.hpp"
#include "apps/job/job.hpp"
#include "apps/job/report.hpp"
#include "host/system/error.hpp"
#include "host/volume/cutout.hpp"

namespace halocline {
namespace {

struct MetricsCommand {
  std::string input, reference;
  std::vector<std::string> boxes;  // words of --roi
  bool json = false;
};

// A word with commas is a whole box; words without are taken six at a time.
std::vector<std::array<long long, 6>> parse_boxes(const std::vector<std::string>& words) {
  const std::string option = "--roi";
  std::vector<std::vector<double>> lists;
  std::vector<std::string> single;
  const auto take = [&](const std::vector<std::string>& some) {
    lists.push_back(parse_numbers(option, some, 6, "X0,Y0,Z0,X1,Y1,Z1"));
    require_whole(option, lists.back(), 0);
  };
  for (const auto& word : words) {
    const bool whole = word.find_first_of(", ") != std::string::npos;
    if (whole && !single.empty()) take(single);  // too few: says so
    if (whole) {
      take({word});
      continue;
    }
    single.push_back(word);
    if (single.size() == 6) {
      take(single);
      single.clear();
    }
  }
  if (!single.empty()) take(single);
  std::vector<std::array<long long, 6>> result;
  for (const auto& list : lists) {
    auto& box = result.emplace_back();
    for (std::size_t n = 0; n < 6; ++n) box[n] = static_cast<long long>(list[n]);
  }
  return result;
}

nlohmann::json box_json(const Box& box, const BoxStatistics& statistics) {
  return {{"lower", box.lower},
          {"upper", box.upper},
          {"voxels", statistics.count},
          {"mean", statistics.mean},
          {"std", statistics.deviation},
          {"minimum", statistics.minimum},
          {"maximum", statistics.maximum},
          {"snr", statistics.snr}};
}

std::string box_row(const std::string& name, const BoxStatistics& s, const std::string& cnr) {
  return fmt::format("{:<26} {:>10} {:>12.6g} {:>12.6g} {:>12.6g} {:>12.6g} {:>10.4g} {:>10}\n", name, s.count, s.mean,
                     s.deviation, s.minimum, s.maximum, s.snr, cnr);
}

// Bytes of the largest box; they are measured one after the other.
double box_bytes(const std::vector<Box>& boxes) {
  std::size_t voxels = 0;
  for (const Box& box : boxes) voxels = std::max(voxels, box.count());
  return sizeof(float) * static_cast<double>(voxels);
}

// Statistics of a box, which alone is read.
BoxStatistics measure(const VolumeSource& volume, const Box& box) {
  Cutout part{box.lower, {}};
  for (int axis = 0; axis < 3; ++axis) part.size[axis] = box.upper[axis] - box.lower[axis];
  const Volume voxels = cut_out(volume, part);
  return box_statistics(voxels, {{0, 0, 0}, part.size});
}

// whole: what lies in all of the volume, if it was asked for.
std::string measure_boxes(const VolumeSource& volume, const std::optional<BoxStatistics>& whole,
                          const std::vector<Box>& boxes, nlohmann::json& results) {
  std::string text = fmt::format("{:<26} {:>10} {:>12} {:>12} {:>12} {:>12} {:>10} {:>10}\n", "box", "voxels", "mean",
                                 "std", "minimum", "maximum", "SNR", boxes.size() > 1 ? "CNR to 1" : "");
  if (whole) {
    results["whole"] = box_json({{0, 0, 0}, volume.grid().size}, *whole);
    text += box_row("all", *whole, "");
  }
  results["boxes"] = nlohmann::json::array();
  BoxStatistics first;
  for (std::size_t n = 0; n < boxes.size(); ++n) {
    const auto statistics = measure(volume, boxes[n]);
    auto entry = box_json(boxes[n], statistics);
    std::string cnr;
    if (n == 0) first = statistics;
    if (n > 0) {
      const double value = contrast_to_noise(first, statistics);
      entry["cnr_to_first"] = value;
      cnr = fmt::format("{:.4g}", value);
    }
    results["boxes"].push_back(std::move(entry));
    text += box_row(fmt::format("{} {},{}", n + 1, fmt::join(boxes[n].lower, ","), fmt::join(boxes[n].upper, ",")),
                    statistics, cnr);
  }
  return text;
}

std::string compare(const Volume& volume, const Volume& reference, const MetricsCommand& command,
                    nlohmann::json& results) {
  const auto c = compare_images(volume, reference, "'" + command.input + "'", "'" + command.reference + "'");
  results["reference"] = {{"path", command.reference},
                          {"rmse", c.rmse},
                          {"mse", c.mse},
                          {"psnr_db", c.psnr},
                          {"ssim", c.ssim},
                          {"r", c.correlation},
                          {"mean_difference", c.mean_difference},
                          {"largest_difference", c.largest_difference}};
  return fmt::format(
      "against {}\n  RMSE                {:.6g}\n  PSNR                {:.4f} dB\n  SSIM                {:.6f}\n"
      "  correlation r       {:.8f}\n  mean difference     {:.6g}\n  largest difference  {:.6g}\n",
      command.reference, c.rmse, c.psnr, c.ssim, c.correlation, c.mean_difference, c.largest_difference);
}

void run_metrics(Job& job, const MetricsCommand& command) {
  const auto numbers = parse_boxes(command.boxes);
  const Grid grid = job.input_volume("-i", command.input).grid;
  if (!command.reference.empty()) {
    const Grid reference = job.input_volume("--reference", command.reference).grid;
    require_same_grid(grid, "'" + command.input + "'", reference, "--reference '" + command.reference + "'");
  }
  std::vector<Box> boxes;
  for (const auto& box : numbers) boxes.push_back(make_box(box, grid, "--roi"));
  // Nothing else is read for boxes alone.
  const bool boxes_alone = !boxes.empty() && command.reference.empty();
  job.host().require(boxes_alone ? box_bytes(boxes) + (is_read_in_pieces(command.input) ? 0 : grid_bytes(grid))
                                 : grid_bytes(grid) * (command.reference.empty() ? 1 : 2));
  if (job.dry_run())
    return job.print(fmt::format("would measure {} ({}), {} boxes{}", command.input, grid_summary(grid), boxes.size(),
                                 command.reference.empty() ? "" : ", against " + command.reference));
  auto& results = job.results();
  results["path"] = command.input;
  std::string text = fmt::format("{}: {}\n", command.input, grid_summary(grid));
  if (boxes_alone) {
    text += measure_boxes(*job.images().open(command.input), {}, boxes, results);
  } else {
    const Volume volume = job.images().read(command.input);
    const auto whole = box_statistics(volume, {{0, 0, 0}, grid.size});
    text += measure_boxes(MemorySource(volume), whole, boxes, results);
    if (!command.reference.empty()) text += compare(volume, job.images().read(command.reference), command, results);
  }
  job.print(command.json ? json_text(results) : text);
}

}  // namespace

std::unique_ptr<Command> metrics_command() {
  auto sub =
      std::make_unique<Command>("metrics", "Measure a volume: noise and contrast in boxes, error against a reference");
  Settings& settings = sub->settings;
  auto command = std::make_shared<MetricsCommand>();
  add_input(settings, command->input, "Volume to measure");
  settings.add("reference", command->reference, "The truth on the same grid: adds RMSE, PSNR, SSIM and correlation")
      .unit("FILE");
  settings
      .add("roi", command->boxes,
           "Box of voxel indices, upper ends not included; several give the contrast-to-noise ratio of the "
           "first against each "
           "other one. Without --reference nothing else is measured, nor read where the format allows that "
           "(MetaImage, NRRD, NIfTI and TIFF that are not compressed, series). Repeatable")
      .unit("X0,Y0,Z0,X1,Y1,Z1");
  settings.add("json", command->json, "Print JSON; what is not defined is null");
  sub->footer =
      "Example:\n  halocline metrics -i volume.mha --reference phantom.mha --roi 50,50,50,60,60,60 --roi "
      "70,50,50,80,60,60";
  sub->run = [command](Job& job) { run_metrics(job, *command); };
  return sub;
}

}  // namespace halocline
