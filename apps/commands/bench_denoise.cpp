// halocline bench denoise
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>

#include "algorithms/calibration/denoise_loop.hpp"
#include "algorithms/jobs/setting_values.hpp"
#include "apps/commands/bench_commands.hpp"
#include "apps/job/job.hpp"
#include "apps/job/report.hpp"
#include "scheduling/planning/plan_text.hpp"

namespace halocline {
namespace {

struct DenoiseBenchCommand {
  DenoiseBenchOptions options;
  std::string methods, forms;
  bool json = false, markdown = false;
};

nlohmann::json bench_json(const DenoiseBench& bench) {
  nlohmann::json result{{"device", device_json(bench.device)},      {"size", bench.plan.size},
                        {"copy_bytes_per_s", bench.copy_bandwidth}, {"forms", nlohmann::json::array()},
                        {"time_to_gap", nlohmann::json::array()},   {"left_out", bench.plan.left_out}};
  for (const auto& rate : bench.rates)
    result["forms"].push_back({{"method", rate.form.method},
                               {"form", form_name(rate.form)},
                               {"voxel_iterations_per_s", rate.voxel_iterations},
                               {"bytes_per_voxel_iteration", rate.cost.bytes},
                               {"bytes_per_s", rate.bandwidth()},
                               {"copy_bytes_per_s", rate.copy_bandwidth},
                               {"share_of_copy", rate.share_of_copy()},
                               {"flops_per_voxel_iteration", rate.cost.flops},
                               {"flops_per_s", rate.voxel_iterations * rate.cost.flops}});
  for (const auto& time : bench.times)
    result["time_to_gap"].push_back({{"method", time.form.method},
                                     {"form", form_name(time.form)},
                                     {"target", time.target},
                                     {"relative_gap", time.reached},
                                     {"reached", time.reached <= time.target},
                                     {"iterations", time.iterations},
                                     {"seconds_on_device", time.seconds_on_device},
                                     {"seconds_host_to_host", time.seconds_host_to_host}});
  return result;
}

std::string heading(const DeviceInfo& device, std::size_t size) {
  return fmt::format("{}, {}^3 voxels", device_heading(device), size);
}

std::string reached_text(const TimeToGap& time) {
  return time.reached <= time.target ? "" : fmt::format(" (only {:.1e})", time.reached);
}

std::string table(const DenoiseBench& bench) {
  std::string text =
      fmt::format("{}, copy {:.4g} GB/s\n", heading(bench.device, bench.plan.size), 1e-9 * bench.copy_bandwidth);
  text += fmt::format("{:<7} {:<14} {:>20} {:>13} {:>10} {:>9} {:>16} {:>10}\n", "method", "form",
                      "Gvoxel-iterations/s", "ms/iteration", "B/voxel", "GB/s", "share of copy", "Gflop/s");
  for (const auto& rate : bench.rates)
    text += fmt::format("{:<7} {:<14} {:>20.4g} {:>13.4g} {:>10.3g} {:>9.4g} {:>14.3g} % {:>10.4g}\n", rate.form.method,
                        form_name(rate.form), 1e-9 * rate.voxel_iterations, 1e3 * rate.voxels / rate.voxel_iterations,
                        rate.cost.bytes, 1e-9 * rate.bandwidth(), 100 * rate.share_of_copy(),
                        1e-9 * rate.voxel_iterations * rate.cost.flops);
  if (!bench.times.empty())
    text += fmt::format("{:<7} {:<14} {:>20} {:>13} {:>20} {:>17}\n", "method", "form", "to a gap of", "iterations",
                        "s on the device", "s host to host");
  for (const auto& time : bench.times)
    text += fmt::format("{:<7} {:<14} {:>20g} {:>13} {:>20.4g} {:>17.4g}{}\n", time.form.method, form_name(time.form),
                        time.target, time.iterations, time.seconds_on_device, time.seconds_host_to_host,
                        reached_text(time));
  for (const auto& each : bench.plan.left_out) text += fmt::format("left out: {}\n", each);
  return text;
}

std::string markdown(const DenoiseBench& bench) {
  std::string text =
      fmt::format("{}, copy {:.4g} GB/s\n\n", heading(bench.device, bench.plan.size), 1e-9 * bench.copy_bandwidth);
  text +=
      "| method | form | Gvoxel-iterations/s | bytes a voxel and iteration | GB/s | share of the copy | flops a voxel "
      "and iteration | Gflop/s |\n|---|---|---|---|---|---|---|---|\n";
  for (const auto& rate : bench.rates)
    text += fmt::format("| {} | {} | {:.3g} | {:.3g} | {:.4g} | {:.2g} % | {:.3g} | {:.4g} |\n", rate.form.method,
                        form_name(rate.form), 1e-9 * rate.voxel_iterations, rate.cost.bytes, 1e-9 * rate.bandwidth(),
                        100 * rate.share_of_copy(), rate.cost.flops, 1e-9 * rate.voxel_iterations * rate.cost.flops);
  if (bench.times.empty()) return text;
  text +=
      "\n| method | form | relative gap | iterations | s on the device | s host to host |\n|---|---|---|---|---|---|\n";
  for (const auto& time : bench.times)
    text += fmt::format("| {} | {} | {:g}{} | {} | {:.3g} | {:.3g} |\n", time.form.method, form_name(time.form),
                        time.target, reached_text(time), time.iterations, time.seconds_on_device,
                        time.seconds_host_to_host);
  return text;
}

std::string plan_text(const DeviceInfo& device, const DenoiseBenchPlan& plan) {
  std::vector<std::string> forms;
  for (const auto& form : plan.forms) forms.push_back(form.method + " " + form_name(form));
  std::string text = fmt::format("would measure on {}, up to {} of device memory: {}\n", heading(device, plan.size),
                                 bytes_text(static_cast<double>(plan.bytes)), fmt::join(forms, ", "));
  for (const auto& each : plan.left_out) text += fmt::format("left out: {}\n", each);
  return text;
}

void run_bench_denoise(Job& job, DenoiseBenchCommand& command) {
  command.options.methods = words_of(command.methods);
  command.options.forms = words_of(command.forms);
  const auto& devices = job.devices("all");
  if (job.dry_run()) {
    for (const auto& device : devices) job.print(plan_text(device.info(), plan_denoise_bench(device, command.options)));
    return;
  }
  auto& results = job.results();
  results["benches"] = nlohmann::json::array();
  const auto options = job.run_options();
  for (const auto& device : devices) {
    const auto bench = job.timed("bench", [&] { return bench_denoise(device, command.options, options.progress); });
    results["benches"].push_back(bench_json(bench));
    if (!command.json) job.print(command.markdown ? markdown(bench) : table(bench));
  }
  if (command.json) job.print(results.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
}

}  // namespace

std::unique_ptr<Command> bench_denoise_command() {
  auto sub =
      std::make_unique<Command>("denoise", "Iterations a second in every form, and the time to a given duality gap");
  Settings& settings = sub->settings;
  auto command = std::make_shared<DenoiseBenchCommand>();
  settings
      .add("size", command->options.size,
           "Voxels along each edge of the test volume. Default: 512 on GPUs, 192 on CPUs, less if the device's "
           "memory is too small")
      .whole_from(1, most_bench_size)
      .unit("N");
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
  settings.add("json", command->json, "Print JSON");
  settings.add("markdown", command->markdown, "Print Markdown tables").excludes("json");
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
