// halocline bench expressions
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>

#include "apps/bench/array_statements.hpp"
#include "apps/bench/expression_bench.hpp"
#include "apps/commands/bench_commands.hpp"

namespace halocline {
namespace {

struct BenchExpressionsCommand {
  BenchVolumes volumes;
  std::string forms;
  int repeats = 20;
  BenchFormat format;

  std::vector<std::array<std::size_t, 3>> volumes_on(const DeviceInfo& device) const {
    return volumes.all(device.cpu() ? 256 : 512);
  }
  std::vector<std::string> wanted_forms() const { return words_among("forms", expression_forms(), words_of(forms)); }
};

nlohmann::json json_of(const Device& device, const ExpressionBench& bench, int repeats) {
  nlohmann::json json{{"device", device_json(device.info())},
                      {"volume", bench.volume},
                      {"repeats", repeats},
                      {"copy_bytes_per_s", bench.copy_bandwidth},
                      {"left_out", bench.left_out},
                      {"statements", nlohmann::json::array()}};
  for (const ExpressionRate& rate : bench.rates) {
    nlohmann::json row{{"statement", rate.statement},     {"form", rate.form},
                       {"kernels", rate.kernels},         {"bytes", rate.bytes},
                       {"bytes_per_s", rate.bandwidth()}, {"share_of_copy", rate.bandwidth() / bench.copy_bandwidth},
                       {"peak_bytes", rate.peak_bytes}};
    put_times(row, "seconds", rate.times);
    json["statements"].push_back(std::move(row));
  }
  return json;
}

std::string text_of(const Device& device, const ExpressionBench& bench, bool markdown) {
  const auto g = [](double value) { return fmt::format("{:.4g}", value); };
  BenchTable table{{"statement", "form", "kernels", "ms", mean_heading, "GB/s", "of copy", "peak MB"}};
  for (const ExpressionRate& rate : bench.rates)
    table.push_back({rate.statement, rate.form, std::to_string(rate.kernels), g(1e3 * rate.times.least),
                     mean_cell(rate.times), g(1e-9 * rate.bandwidth()),
                     fmt::format("{:.3g} %", 100 * rate.bandwidth() / bench.copy_bandwidth),
                     g(1e-6 * static_cast<double>(rate.peak_bytes))});
  const char* gap = markdown ? "\n" : "";
  return fmt::format("{}, {} voxels, copy {:.4g} GB/s\n{}", device_heading(device.info()), voxels_text(bench.volume),
                     1e-9 * bench.copy_bandwidth, gap) +
         bench_table(table, markdown, 2) + gap + left_out_text(bench.left_out);
}

std::string plan_text(const Device& device, const BenchExpressionsCommand& command) {
  std::vector<std::string> sizes;
  for (const auto& volume : command.volumes_on(device.info())) sizes.push_back(voxels_text(volume));
  std::string text = fmt::format("would measure on {}, {} voxels, {}, {} times each:\n", device_heading(device.info()),
                                 fmt::join(sizes, ", "), fmt::join(command.wanted_forms(), ", "), command.repeats);
  for (const ArrayStatement& statement : array_statements()) text += "  " + statement.text + "\n";
  return text;
}

void run_bench_expressions(Job& job, const BenchExpressionsCommand& command) {
  const auto forms = command.wanted_forms();
  const auto& devices = job.devices("all");
  if (job.dry_run()) {
    for (const Device& device : devices) job.print(plan_text(device, command));
    return;
  }
  const auto volumes_of = [&](const Device& device) { return command.volumes_on(device.info()); };
  run_benches(job, command.format, volumes_of, [&](const Device& device, const auto& volume) {
    const auto bench = bench_expressions(device, volume, forms, command.repeats, job.run_options().progress);
    return std::pair(json_of(device, bench, command.repeats), text_of(device, bench, command.format.markdown));
  });
}

}  // namespace

std::unique_ptr<Command> bench_expressions_command() {
  auto sub = std::make_unique<Command>("expressions", "Statements over whole arrays, as one kernel, many and by hand");
  auto command = std::make_shared<BenchExpressionsCommand>();
  Settings& settings = sub->settings;
  add_bench_volumes(settings, command->volumes, "512 on GPUs, 256 on CPUs");
  settings
      .add("forms", command->forms, fmt::format("Comma list of {}. Default: all", fmt::join(expression_forms(), ", ")))
      .unit("LIST");
  settings.add("repeats", command->repeats, "Runs of each statement, after one that compiles")
      .whole_from(1, 100000)
      .unit("N");
  add_bench_format(settings, command->format);
  sub->footer =
      "Runs on every OpenCL device unless --device or HALOCLINE_DEVICE chooses. fused: a statement is one kernel; "
      "unfused: a\nkernel and a temporary array for each operator; by-hand: a kernel with an element a work-item, sums "
      "group by group in local\nmemory. A run is from an idle device to the end of its kernels, of sums to the number "
      "on the host. GB/s and share of a\nplain copy: the bytes that the statement alone has to move, in the best run. "
      "Peak: device memory with all arrays.\nExample:\n  halocline bench expressions --device gpu --size "
      "256,512,1024 --repeats 20";
  sub->run = [command](Job& job) { run_bench_expressions(job, *command); };
  return sub;
}

}  // namespace halocline
