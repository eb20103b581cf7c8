// halocline bench device
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "apps/bench/device_card.hpp"
#include "apps/commands/bench_commands.hpp"
#include "apps/job/job.hpp"
#include "apps/job/report.hpp"

namespace halocline {
namespace {

struct BenchDeviceCommand {
  DeviceCardOptions options;
  BenchFormat format;
};

nlohmann::json json_of(const DeviceCard& card) {
  nlohmann::json json{{"device", device_json(card.device)},
                      {"version", HALOCLINE_VERSION},
                      {"check", card.checks},
                      {"left_out", card.left_out},
                      {"rows", nlohmann::json::array()}};
  if (card.rates)
    json["rates"] = {{"copy_bytes_per_s", card.rates->copy},
                     {"upload_bytes_per_s", card.rates->upload},
                     {"download_bytes_per_s", card.rates->download},
                     {"latency_s", card.rates->latency}};
  for (const CardRow& row : card.rows) {
    nlohmann::json each{{"work", row.work}, {"mode", row.mode}, {"rate_per_s", row.rate}, {"unit", row.unit}};
    put_times(each, "seconds", row.times);
    if (row.share >= 0) each["share_of_limit"] = row.share;
    json["rows"].push_back(std::move(each));
  }
  return json;
}

std::string checks_text(const DeviceCard& card) {
  const auto count = [&card](const char* verdict) {
    return std::count_if(card.checks.begin(), card.checks.end(),
                         [verdict](const auto& each) { return each.second.starts_with(verdict); });
  };
  std::string text = fmt::format("self-check: of {} kernel variants {} right, {} not for this device\n",
                                 card.checks.size(), count("right"), count("not for this device"));
  for (const auto& [name, finding] : card.checks)
    if (finding.starts_with("wrong") || finding.starts_with("differs"))
      text += fmt::format("  {}: {}\n", name, finding);
  return text;
}

std::string text_of(const DeviceCard& card, bool markdown) {
  BenchTable table{{"work", "mode", "ms", mean_heading, "G/s", "of", "of the limit"}};
  for (const CardRow& row : card.rows)
    table.push_back({row.work, row.mode, fmt::format("{:.4g}", 1e3 * row.times.least), mean_cell(row.times),
                     fmt::format("{:.4g}", 1e-9 * row.rate), row.unit,
                     row.share < 0 ? "-" : fmt::format("{:.3g} %", 100 * row.share)});
  std::string rates;
  if (card.rates)
    rates =
        fmt::format("copy {:.4g} GB/s, upload {:.4g}, download {:.4g}, latency {:.3g} us\n", 1e-9 * card.rates->copy,
                    1e-9 * card.rates->upload, 1e-9 * card.rates->download, 1e6 * card.rates->latency);
  const char* gap = markdown ? "\n" : "";
  return device_heading(card.device) + "\n" + rates + checks_text(card) + gap + bench_table(table, markdown, 2) + gap +
         left_out_text(card.left_out);
}

}  // namespace

std::unique_ptr<Command> bench_device_command() {
  auto sub =
      std::make_unique<Command>("device", "Self-check, rates and benches of a device, as one file that you can send");
  auto command = std::make_shared<BenchDeviceCommand>();
  Settings& settings = sub->settings;
  settings
      .add("size", command->options.size,
           "Edges of the volumes and detectors. Default: 512 on GPUs, 128 on CPUs, less if the device's memory is too "
           "small")
      .whole_from(16, 2048)
      .unit("N");
  add_bench_seconds(settings, command->options.seconds);
  add_bench_format(settings, command->format);
  sub->footer =
      "Runs on every OpenCL device unless --device or HALOCLINE_DEVICE chooses: the self-check, projection, "
      "back-projection, FDK and denoising\nbeside the limits of the device, and back-projection of RabbitCT's scan. "
      "benchmarks/compare_devices.py makes a table of several files.\nExample:\n  halocline bench device --device gpu "
      "--report card.json";
  sub->run = [command](Job& job) {
    refuse_trace(job, "bench device", "fdk");
    const auto& devices = job.devices("all");
    for (const auto& device : devices) job.host().require(device_card_bytes(device, command->options), smaller_size);
    if (job.dry_run()) {
      std::string text;
      for (const auto& device : devices)
        text += fmt::format("would check and measure {}\n", device_heading(device.info()));
      return job.print(text);
    }
    run_benches(job, command->format, [&](const Device& device) {
      const DeviceCard card = device_card(device, command->options, job.run_options().progress);
      return std::pair(json_of(card), text_of(card, command->format.markdown));
    });
  };
  return sub;
}

}  // namespace halocline
