// halocline bench denoise
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>

#include "algorithms/calibration/denoise_loop.hpp"
#include "algorithms/jobs/setting_values.hpp"
#include "apps/bench/denoise_bench.hpp"
#include "apps/bench/kernel_bench.hpp"
#include "apps/commands/bench_commands.hpp"
#include "apps/images/atomic_file.hpp"
#include "apps/job/job.hpp"
#include "apps/job/report.hpp"
#include "apps/options/file_names.hpp"
#include "host/system/error.hpp"
#include "scheduling/planning/plan_text.hpp"

namespace halocline {
namespace {

struct DenoiseBenchCommand {
  BenchVolumes volumes;
  DenoiseBenchOptions options;
  std::string methods, forms, svg;
  bool kernels = false;
  BenchFormat format;

  /// Options of each volume.
  std::vector<DenoiseBenchOptions> problems() const {
    if (volumes.sizes.empty() && !volumes.volume) return {options};
    std::vector<DenoiseBenchOptions> all;
    for (const auto& volume : volumes.all(0)) {
      all.push_back(options);
      all.back().volume = volume;
    }
    return all;
  }
};

nlohmann::json bench_json(const DenoiseBench& bench) {
  const auto& volume = bench.plan.volume;
  nlohmann::json result{{"device", device_json(bench.device)},
                        {"volume", volume},
                        {"size", *std::max_element(volume.begin(), volume.end())},
                        {"copy_bytes_per_s", bench.copy_bandwidth},
                        {"forms", nlohmann::json::array()},
                        {"time_to_gap", nlohmann::json::array()},
                        {"left_out", bench.plan.left_out}};
  for (const auto& rate : bench.rates) {
    result["forms"].push_back({{"method", rate.form.method},
                               {"form", form_name(rate.form)},
                               {"voxel_iterations_per_s", rate.voxel_iterations()},
                               {"bytes_per_voxel_iteration", rate.cost.bytes},
                               {"bytes_per_s", rate.bandwidth()},
                               {"copy_bytes_per_s", rate.copy_bandwidth},
                               {"share_of_copy", rate.share_of_copy()},
                               {"flops_per_voxel_iteration", rate.cost.flops},
                               {"flops_per_s", rate.voxel_iterations() * rate.cost.flops}});
    put_times(result["forms"].back(), "seconds", rate.iteration);
  }
  for (const auto& time : bench.times) {
    result["time_to_gap"].push_back({{"method", time.form.method},
                                     {"form", form_name(time.form)},
                                     {"target", time.target},
                                     {"relative_gap", time.reached},
                                     {"reached", time.reached <= time.target},
                                     {"iterations", time.iterations}});
    put_times(result["time_to_gap"].back(), "seconds_on_device", time.on_device);
    put_times(result["time_to_gap"].back(), "seconds_host_to_host", time.host_to_host);
  }
  return result;
}

std::string heading(const DeviceInfo& device, const VolumeSize& volume) {
  return fmt::format("{}, {} voxels", device_heading(device), voxels_text(volume));
}

std::string reached_text(const TimeToGap& time) {
  return time.reached <= time.target ? "" : fmt::format(" (only {:.1e})", time.reached);
}

std::string text_of(const DenoiseBench& bench, bool markdown) {
  const auto g = [](double value) { return fmt::format("{:.4g}", value); };
  BenchTable rates{{"method", "form", "Gvoxel-iterations/s", "ms/iteration", mean_heading, "B/voxel", "GB/s",
                    "share of copy", "flops/voxel", "Gflop/s"}};
  for (const auto& rate : bench.rates)
    rates.push_back({rate.form.method, form_name(rate.form), g(1e-9 * rate.voxel_iterations()),
                     g(1e3 * rate.iteration.least), mean_cell(rate.iteration), g(rate.cost.bytes),
                     g(1e-9 * rate.bandwidth()), fmt::format("{:.3g} %", 100 * rate.share_of_copy()),
                     g(rate.cost.flops), g(1e-9 * rate.voxel_iterations() * rate.cost.flops)});
  BenchTable times{
      {"method", "form", "to a gap of", "iterations", "s on the device", mean_heading, "s host to host", mean_heading}};
  for (const auto& time : bench.times)
    times.push_back({time.form.method, form_name(time.form), fmt::format("{:g}{}", time.target, reached_text(time)),
                     std::to_string(time.iterations), g(time.on_device.least), mean_cell(time.on_device, 1),
                     g(time.host_to_host.least), mean_cell(time.host_to_host, 1)});
  const char* gap = markdown ? "\n" : "";
  return fmt::format("{}, copy {:.4g} GB/s\n{}", heading(bench.device, bench.plan.volume), 1e-9 * bench.copy_bandwidth,
                     gap) +
         bench_table(rates, markdown, 2) + (times.size() > 1 ? gap + bench_table(times, markdown, 2) : "") + gap +
         left_out_text(bench.plan.left_out);
}

nlohmann::json kernels_json(const KernelBench& bench) {
  nlohmann::json result{{"device", device_json(bench.device)},      {"volume", bench.plan.volume},
                        {"copy_bytes_per_s", bench.copy_bandwidth}, {"peak_flops_per_s", bench.flop_rate},
                        {"kernels", nlohmann::json::array()},       {"left_out", bench.plan.left_out}};
  for (const KernelRate& rate : bench.rates) {
    result["kernels"].push_back({{"method", rate.form.method},
                                 {"form", form_name(rate.form)},
                                 {"kernel", rate.kernel},
                                 {"bytes_per_voxel", rate.cost.bytes},
                                 {"flops_per_voxel", rate.cost.flops},
                                 {"bytes_per_s", rate.bandwidth()},
                                 {"flops_per_s", rate.flops()},
                                 {"limit_flops_per_s", bench.limit(rate)},
                                 {"share_of_limit", rate.flops() / bench.limit(rate)}});
    put_times(result["kernels"].back(), "seconds", rate.times);
  }
  return result;
}

std::string kernels_text(const KernelBench& bench, bool markdown) {
  const auto g = [](double value) { return fmt::format("{:.4g}", value); };
  BenchTable table{{"method", "form", "kernel", "B/voxel", "flops/voxel", "ms/iteration", mean_heading, "GB/s",
                    "Gflop/s", "of the limit", "limit"}};
  for (const KernelRate& rate : bench.rates)
    table.push_back({rate.form.method, form_name(rate.form), rate.kernel, g(rate.cost.bytes), g(rate.cost.flops),
                     g(1e3 * rate.times.least), mean_cell(rate.times), g(1e-9 * rate.bandwidth()),
                     g(1e-9 * rate.flops()), fmt::format("{:.3g} %", 100 * rate.flops() / bench.limit(rate)),
                     bench.limit(rate) < bench.flop_rate ? "copy" : "arithmetic"});
  const char* gap = markdown ? "\n" : "";
  return fmt::format("{}, copy {:.4g} GB/s, peak {:.4g} Gflop/s\n{}", heading(bench.device, bench.plan.volume),
                     1e-9 * bench.copy_bandwidth, 1e-9 * bench.flop_rate, gap) +
         bench_table(table, markdown, 3) + gap + left_out_text(bench.plan.left_out);
}

std::string plan_text(const DeviceInfo& device, const DenoiseBenchPlan& plan) {
  std::vector<std::string> forms;
  for (const auto& form : plan.forms) forms.push_back(form.method + " " + form_name(form));
  return fmt::format("would measure on {}, up to {} of device memory: {}\n{}", heading(device, plan.volume),
                     bytes_text(static_cast<double>(plan.bytes)), fmt::join(forms, ", "), left_out_text(plan.left_out));
}

void run_bench_denoise(Job& job, DenoiseBenchCommand& command) {
  command.options.methods = words_of(command.methods);
  command.options.forms = words_of(command.forms);
  if (!command.svg.empty()) require_svg("--svg", command.svg);
  job.output("--svg", command.svg);
  if (command.kernels) refuse_trace(job, "bench denoise --kernels", "denoise");
  const auto& devices = job.devices("all");
  const auto problems = command.problems();
  if (job.dry_run()) {
    for (const auto& device : devices)
      for (const auto& options : problems) job.print(plan_text(device.info(), plan_denoise_bench(device, options)));
    return;
  }
  const auto problems_of = [&](const Device&) { return problems; };
  run_benches(job, command.format, problems_of, [&](const Device& device, const DenoiseBenchOptions& options) {
    if (command.kernels) {
      const KernelBench bench = bench_kernels(device, options, job.run_options().progress);
      if (!command.svg.empty() && job.results()["benches"].empty())
        write_file_atomically(command.svg, [&](std::ostream& out) { out << roofline_svg(bench); });
      return std::pair(kernels_json(bench), kernels_text(bench, command.format.markdown));
    }
    const auto bench = bench_denoise(device, options, job.run_options().progress);
    return std::pair(bench_json(bench), text_of(bench, command.format.markdown));
  });
}

}  // namespace

std::unique_ptr<Command> bench_denoise_command() {
  auto sub =
      std::make_unique<Command>("denoise", "Iterations a second in every form, and the time to a given duality gap");
  Settings& settings = sub->settings;
  auto command = std::make_shared<DenoiseBenchCommand>();
  add_bench_volumes(settings, command->volumes, "512 on GPUs, 192 on CPUs, less if the device's memory is too small");
  settings.add("method", command->methods, "Comma list of pdu, spdu, tvgd, pdu4d. Default: all").unit("LIST");
  settings
      .add("forms", command->forms,
           "Comma list of in-place (two kernels an iteration) and SxB: S iterations (1 or 2) in one pass over "
           "memory, duals of B bits (32, 16), and, in place, chambolle-pock, seed (--schedule), huber, "
           "anisotropic (--tv), non-negative (--minimum 0) and reference (--reference) for pdu and spdu; of "
           "descent, adaptive (--adaptive-delta) and statistical (--weights) for tvgd; frames for pdu4d; or all. "
           "Default: in-place and SxB, all of tvgd, and pdu4d")
      .unit("LIST");
  settings
      .add("seconds", command->options.seconds,
           "How long each form is measured, of which the best fifth counts; slow ones take one pass")
      .positive()
      .unit("S");
  settings.add("kernels", command->kernels,
               "Instead a row for each kernel of the forms, beside the limits of the copy and of arithmetic");
  settings.add("svg", command->svg, "Roofline of those kernels to draw there (.svg), of the first device and volume")
      .unit("FILE")
      .writes(FileKind::picture)
      .needs("kernels");
  add_bench_format(settings, command->format);
  sub->footer =
      "Runs on every OpenCL device unless --device or HALOCLINE_DEVICE chooses. The share of the copy is set against a "
      "plain copy of volumes\nof the same size, measured beside each form; bytes and flops are those that the formulas "
      "need. The gap is that of two balls with\nnoise 0.1 and alpha 15 (spdu and statistical tvgd with weights "
      "from 0.06 to 4.3; pdu4d: eight frames of half the edge); forms\nthat solve the same problem by the same "
      "iterations are timed to it in the fastest; compiling is not counted.\nExample:\n  halocline bench denoise "
      "--device gpu --size "
      "512 --report bench.json";
  sub->run = [command](Job& job) { run_bench_denoise(job, *command); };
  return sub;
}

}  // namespace halocline
