#include "apps/commands/bench_details.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "apps/bench/group_bench.hpp"
#include "apps/bench/stage_bench.hpp"
#include "apps/commands/bench_commands.hpp"
#include "apps/job/report.hpp"
#include "host/system/error.hpp"

namespace halocline {
namespace {

// A device's bench: what is measured on, and the forms that are not, with the reasons.
struct Bench {
  ScanBench kind{};
  ScanBenchPlan plan;
  Scan scan;
  std::vector<std::string> left_out;
};

Bench bench_of(ScanBench kind, const Device& device, const ScanBenchOptions& options) {
  Bench bench;
  bench.kind = kind;
  bench.plan = plan_scan_bench(kind, device, options);
  bench.scan = scan_of(bench.plan);
  bench.left_out = bench.plan.left_out;
  return bench;
}

nlohmann::json json_of(const Device& device, const Bench& bench) {
  return {{"device", device_json(device.info())},
          {"volume", bench.plan.volume},
          {"detector", bench.plan.detector},
          {"views", bench.plan.views},
          {"left_out", bench.left_out}};
}

std::string text_of(const Device& device, const Bench& bench, const BenchTable& table, std::size_t left,
                    bool markdown) {
  const char* gap = markdown ? "\n" : "";
  return scan_heading(bench.kind, device.info(), bench.plan) + "\n" + gap + bench_table(table, markdown, left) + gap +
         left_out_text(bench.left_out);
}

std::string ms(double seconds) {
  return fmt::format("{:.4g}", 1e3 * seconds);
}

}  // namespace

std::vector<std::string> group_modes() {
  std::vector<std::string> modes;
  for (const ScanForm& form : scan_forms())
    if (form.adjoint && !form.projector && form.tile == nullptr && form.devices == ScanForm::For::all)
      modes.push_back(form.mode);
  return modes;
}

std::pair<nlohmann::json, std::string> bench_groups_of(const Device& device, const ScanBenchOptions& options,
                                                       const std::string& groups, bool markdown,
                                                       const Progress& progress) {
  Bench bench = bench_of(ScanBench::backproject, device, options);
  const auto wanted = groups_of(groups, device.info().max_work_group, bench.plan.volume[0], bench.plan.volume[1]);
  BenchTable table{{"mode", "group", "", "ms", mean_heading, "spread", "of the default"}};
  auto rows = nlohmann::json::array();
  for (const auto& mode : bench.plan.modes) {
    ModeGroups found;
    try {
      found = bench_groups(device, scan_form(mode), bench.scan, wanted, options.seconds, progress);
    } catch (const InputError& error) {
      bench.left_out.push_back(fmt::format("{}: {}", mode, error.what()));
      continue;
    }
    for (const auto& line : found.left_out) bench.left_out.push_back(fmt::format("{}, {}", mode, line));
    const auto in_use =
        std::find_if(found.times.begin(), found.times.end(), [](const auto& each) { return each.in_use; });
    for (const GroupTime& each : found.times) {
      const bool fastest = &each == &found.fastest();
      const double part = in_use == found.times.end() ? 1 : each.times.least / in_use->times.least;
      table.push_back({mode, fmt::format("{} x {}", each.group[0], each.group[1]),
                       fmt::format("{}{}", each.in_use ? "default " : "", fastest ? "fastest" : ""),
                       ms(each.times.least), mean_cell(each.times), fmt::format("{:.1f} %", 100 * each.times.spread()),
                       fmt::format("{:.3f}", part)});
      rows.push_back({{"mode", mode},
                      {"kernel", found.kernel},
                      {"group", {each.group[0], each.group[1]}},
                      {"default", each.in_use},
                      {"fastest", fastest},
                      {"median_seconds", each.times.median},
                      {"runs", each.times.runs}});
      put_times(rows.back(), "seconds", each.times);
    }
  }
  nlohmann::json json = json_of(device, bench);
  json["groups"] = std::move(rows);
  return {json, text_of(device, bench, table, 3, markdown)};
}

std::pair<nlohmann::json, std::string> bench_stages_of(ScanBench kind, const Device& device,
                                                       const ScanBenchOptions& options, bool markdown) {
  constexpr int runs = 3;
  const bool fdk = kind == ScanBench::fdk;
  const Bench bench = bench_of(kind, device, options);
  BenchTable table{{"mode", "ms first call", "ms a call", mean_heading}};
  auto rows = nlohmann::json::array();
  for (const auto& mode : bench.plan.modes) {
    const CallStages stages = bench_stages(device, fdk, scan_form(mode), bench.scan, runs);
    table.push_back({mode, ms(stages.first_call), ms(stages.call.least), mean_cell(stages.call)});
    rows.push_back({{"mode", mode}, {"first_call_seconds", stages.first_call}});
    put_times(rows.back(), "seconds", stages.call);
    const auto put = [&](const char* heading, const char* key, double seconds) {
      if (table.size() == 2) table.front().emplace_back(heading);
      table.back().push_back(ms(seconds));
      rows.back()[key] = seconds;
    };
    put("upload", "upload_seconds", stages.upload);
    if (fdk) put("weighting + filtering", "filter_seconds", stages.filter);
    put("layout", "layout_seconds", stages.layout);
    put("texture copy", "texture_copy_seconds", stages.texture_copy);
    put("kernel", "kernel_seconds", stages.kernel);
    put("download", "download_seconds", stages.download);
    put("host alone", "host_seconds", stages.host());
  }
  nlohmann::json json = json_of(device, bench);
  json["stages"] = std::move(rows);
  return {json, text_of(device, bench, table, 1, markdown)};
}

}  // namespace halocline
