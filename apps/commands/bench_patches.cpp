// halocline bench patches
#include <fmt/format.h>

#include <memory>
#include <optional>

#include "apps/bench/patch_bench.hpp"
#include "apps/commands/bench_commands.hpp"
#include "host/system/error.hpp"

namespace halocline {
namespace {

struct BenchPatchesCommand {
  std::optional<std::array<std::size_t, 2>> detector;
  std::optional<std::array<std::size_t, 3>> patch;
  std::optional<int> views, boxes;
  bool planes = false;
  int runs = 100;
  BenchFormat format;

  std::vector<PatchProblem> problems() const {
    if (!detector && !patch && !views && !boxes && !planes) return patch_problems();
    PatchProblem problem{{250, 1}, 1000, {250, 250, 1}};
    if (detector) problem.detector = *detector;
    if (patch) problem.patch = *patch;
    if (views) problem.views = static_cast<std::size_t>(*views);
    if (boxes) problem.boxes = static_cast<std::size_t>(*boxes);
    problem.planes = planes;
    return {problem};
  }
};

nlohmann::json json_of(const PatchLatency& latency) {
  const auto times = [](const RunTimes& each) {
    return nlohmann::json{
        {"least_s", each.least}, {"median_s", each.median}, {"mean_s", each.mean}, {"deviation_s", each.deviation}};
  };
  return {{"views", latency.problem.views},
          {"detector", latency.problem.detector},
          {"patch", latency.problem.patch},
          {"boxes", latency.problem.planes ? 3 : latency.problem.boxes},
          {"planes", latency.problem.planes},
          {"updates", latency.updates},
          {"backproject", times(latency.backproject)},
          {"adjoint", times(latency.adjoint)},
          {"enqueue_s", latency.enqueue}};
}

std::pair<nlohmann::json, std::string> bench(const Device& device, const BenchPatchesCommand& command) {
  nlohmann::json json{{"device", device_json(device.info())}, {"patches", nlohmann::json::array()}};
  BenchTable table{{"problem", "us", "median", mean_heading, "a box", "Gupdates/s", "adjoint us", "median",
                    mean_heading, "enqueue us"}};
  std::vector<std::string> left_out;
  const auto us = [](double seconds) { return fmt::format("{:.4g}", 1e6 * seconds); };
  for (const PatchProblem& problem : command.problems()) {
    try {
      const PatchLatency found = bench_patches(device, problem, command.runs);
      json["patches"].push_back(json_of(found));
      table.push_back({problem.text(), us(found.backproject.least), us(found.backproject.median),
                       mean_cell(found.backproject, 1e6),
                       us(found.backproject.least / static_cast<double>(problem.planes ? 3 : problem.boxes)),
                       fmt::format("{:.4g}", 1e-9 * found.updates / found.backproject.least), us(found.adjoint.least),
                       us(found.adjoint.median), mean_cell(found.adjoint, 1e6), us(found.enqueue)});
    } catch (const PlanError& error) {
      left_out.push_back(fmt::format("{}: {}", problem.text(), error.what()));
    }
  }
  json["left_out"] = left_out;
  return {json, fmt::format("{}, from the call to the result, device to device, {} runs\n{}{}",
                            device_heading(device.info()), command.runs, command.format.markdown ? "\n" : "",
                            bench_table(table, command.format.markdown) + left_out_text(left_out))};
}

}  // namespace

std::unique_ptr<Command> bench_patches_command() {
  auto sub = std::make_unique<Command>("patches", "Latency of back-projection to boxes of voxels, and of its adjoint");
  auto command = std::make_shared<BenchPatchesCommand>();
  Settings& settings = sub->settings;
  settings.add_list(
      "detector", command->detector, "NU,NV", Numbers::sizes,
      "Detector pixels; one row: a fan beam. Default, if none of these five is given: a table of problems");
  settings.add("views", command->views, "Views of a full circle").unit("N").whole_from(1);
  settings.add_list("patch", command->patch, "NX,NY,NZ", Numbers::sizes, "Voxels of a box");
  settings.add("boxes", command->boxes, "Boxes in one launch, side by side").unit("N").whole_from(1);
  settings.add("planes", command->planes, "The three planes across i, j, k through the middle of --patch")
      .excludes("boxes");
  settings.add("runs", command->runs, "Calls of which the least and the median time count").unit("N").whole_from(1);
  add_bench_format(settings, command->format);
  sub->footer =
      "Runs on every OpenCL device unless --device or HALOCLINE_DEVICE chooses. Projections and boxes are in the "
      "device's "
      "memory; the time is\nfrom the call to the end of the result, as a layer of a network waits for it. enqueue: the "
      "host's part of it.\nExample:\n  halocline bench patches --device gpu --detector 512,1 --views 1000 --patch "
      "250,250,1";
  sub->run = [command](Job& job) {
    if (job.dry_run()) {
      std::string text = "would measure:\n";
      for (const PatchProblem& problem : command->problems()) text += "  " + problem.text() + "\n";
      return job.print(text);
    }
    run_benches(job, command->format, [&](const Device& device) { return bench(device, *command); });
  };
  return sub;
}

}  // namespace halocline
