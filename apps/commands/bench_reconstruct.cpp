// halocline bench reconstruct
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>

#include "algorithms/calibration/scan_loop.hpp"
#include "algorithms/solvers/methods.hpp"
#include "apps/bench/left_out.hpp"
#include "apps/bench/reconstruct_bench.hpp"
#include "apps/commands/bench_commands.hpp"
#include "host/system/error.hpp"
#include "host/system/plural.hpp"

namespace halocline {
namespace {

struct BenchReconstructCommand {
  BenchScans scans;
  std::string methods = "cgls";
  int iterations = 10, repeats = 3;
  BenchFormat format;

  std::vector<BenchScan> scans_on(const DeviceInfo& device) const { return scans.all(device.cpu() ? 64 : 512); }
  std::vector<std::string> wanted_methods() const {
    return words_among("method", reconstruction_methods(), words_of(methods));
  }
};

using Cells = BenchTable::value_type;

std::string heading(const DeviceInfo& device, const BenchScan& scan) {
  return fmt::format("{}, {} voxels, {} of {} pixels", device_heading(device), voxels_text(scan.volume),
                     views_text(scan.views), pixels_text(scan.detector));
}

nlohmann::json json_of(const ReconstructRate& rate) {
  nlohmann::json row{{"method", rate.method},
                     {"subsets", rate.subsets},
                     {"forward_seconds", rate.kernels.forward},
                     {"adjoint_seconds", rate.kernels.adjoint},
                     {"rest_seconds", rate.rest()},
                     {"other_kernel_seconds", rate.kernels.other},
                     {"run_passes", rate.run_passes},
                     {"slabs", rate.slabs},
                     {"resident", rate.resident},
                     {"peak_bytes", rate.peak_bytes}};
  put_times(row, "seconds", rate.pass);
  put_times(row, "run_seconds", rate.run);
  return row;
}

Cells cells_of(const ReconstructRate& rate) {
  const auto g = [](double value) { return fmt::format("{:.4g}", value); };
  return {rate.method,
          g(rate.pass.least),
          mean_cell(rate.pass, 1),
          g(rate.kernels.forward),
          g(rate.kernels.adjoint),
          g(rate.rest()),
          g(rate.kernels.other),
          std::to_string(rate.subsets),
          g(rate.run.least),
          std::to_string(rate.slabs),
          g(1e-9 * static_cast<double>(rate.peak_bytes))};
}

std::pair<nlohmann::json, std::string> bench(const Device& device, const BenchScan& problem,
                                             const BenchReconstructCommand& command, const Progress& progress) {
  const int longer = shorter_run + command.iterations;
  nlohmann::json json{{"device", device_json(device.info())}, {"volume", problem.volume},
                      {"detector", problem.detector},         {"views", problem.views},
                      {"iterations", command.iterations},     {"methods", nlohmann::json::array()}};
  BenchTable table{{"method", "s a pass", mean_heading, "A", "A^T", "rest", "kernels of it", "subsets",
                    fmt::format("s of {} passes", longer), "slabs", "peak GB"}};
  std::vector<std::string> left_out;
  const Scan scan = bench_scan(problem.volume, problem.detector, problem.views);
  const auto methods = command.wanted_methods();
  for (const std::string& method : methods) {
    if (progress)
      progress({"bench", static_cast<double>(&method - methods.data()), static_cast<double>(methods.size()),
                fmt::format("{}, {} voxels", method, voxels_text(problem.volume))});
    try {
      const auto rate = bench_reconstruct(device, method, scan, command.iterations, command.repeats);
      json["methods"].push_back(json_of(rate));
      table.push_back(cells_of(rate));
    } catch (const PlanError& error) {
      left_out.push_back(halocline::left_out(method, error.what()));
    } catch (const InputError& error) {
      left_out.push_back(halocline::left_out(method, error.what()));
    }
  }
  json["left_out"] = left_out;
  const char* gap = command.format.markdown ? "\n" : "";
  return {json, heading(device.info(), problem) + "\n" + gap + bench_table(table, command.format.markdown) + gap +
                    left_out_text(left_out)};
}

void run_bench_reconstruct(Job& job, const BenchReconstructCommand& command) {
  const auto methods = command.wanted_methods();
  refuse_trace(job, "bench reconstruct", "reconstruct");
  const auto& devices = job.devices("all");
  for (const Device& device : devices)
    for (const BenchScan& scan : command.scans_on(device.info())) job.host().require(scan.bytes(), smaller_size);
  if (job.dry_run()) {
    for (const Device& device : devices)
      for (const BenchScan& scan : command.scans_on(device.info()))
        job.print(fmt::format("would measure on {}: {}, runs of {} and {} passes, {} times\n",
                              heading(device.info(), scan), fmt::join(methods, ", "), shorter_run,
                              shorter_run + command.iterations, command.repeats));
    return;
  }
  const auto scans_of = [&](const Device& device) { return command.scans_on(device.info()); };
  run_benches(job, command.format, scans_of, [&](const Device& device, const BenchScan& scan) {
    return bench(device, scan, command, job.run_options().progress);
  });
}

}  // namespace

std::unique_ptr<Command> bench_reconstruct_command() {
  auto sub = std::make_unique<Command>("reconstruct", "Passes of iterative reconstruction, and of them A and A^T");
  auto command = std::make_shared<BenchReconstructCommand>();
  Settings& settings = sub->settings;
  settings.add("method", command->methods, fmt::format("Comma list of {}", fmt::join(reconstruction_methods(), ", ")))
      .unit("LIST");
  add_bench_scans(settings, command->scans, "512 on GPUs, 64 on CPUs");
  settings.add("iterations", command->iterations, "Passes by which the longer run is longer")
      .whole_from(1, 100000)
      .unit("N");
  settings.add("repeats", command->repeats, "Runs of each length, after one that compiles")
      .whole_from(1, 1000)
      .unit("N");
  add_bench_format(settings, command->format);
  sub->footer = fmt::format(
      "Runs on every OpenCL device unless --device or HALOCLINE_DEVICE chooses, from host memory to host memory. A "
      "pass: "
      "the time of a\nrun of {0} + N passes less that of {0}, over N. A and A^T: their kernels, with what they make of "
      "volume and projections; the\nrest: all other kernels, the host, and transfers within a pass. Methods with a "
      "penalty take a fixed strength.\nExample:\n  halocline bench reconstruct --device gpu --method cgls,sirt --size "
      "256,512",
      shorter_run);
  sub->run = [command](Job& job) { run_bench_reconstruct(job, *command); };
  return sub;
}

}  // namespace halocline
