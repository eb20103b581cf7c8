// halocline bench project, backproject, fdk and slices
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>

#include "algorithms/jobs/setting_values.hpp"
#include "apps/bench/group_bench.hpp"
#include "apps/bench/scan_bench.hpp"
#include "apps/bench/stage_bench.hpp"
#include "apps/commands/bench_commands.hpp"
#include "apps/commands/bench_details.hpp"
#include "apps/job/job.hpp"
#include "apps/job/report.hpp"
#include "host/system/error.hpp"
#include "host/system/plural.hpp"
#include "scheduling/planning/plan_text.hpp"

namespace halocline {
namespace {

struct ScanBenchCommand {
  ScanBenchOptions options;
  std::string modes, groups;
  bool stages = false;
  BenchFormat format;

  std::vector<std::size_t> sizes;

  /// Options of each problem.
  std::vector<ScanBenchOptions> problems() const {
    if (sizes.empty()) return {options};
    std::vector<ScanBenchOptions> all;
    for (const std::size_t size : sizes) {
      all.push_back(options);
      all.back().size = size;
    }
    return all;
  }
  void set_modes() {
    options.modes = words_of(modes);
    if (!groups.empty()) options.modes = words_among("modes", group_modes(), options.modes);
    if (stages) options.modes = words_among("modes", stage_modes(), options.modes);
  }
  bool records(ScanBench bench) const { return bench == ScanBench::fdk || !groups.empty() || stages; }
};

// Bytes of the projections and of the result.
double host_bytes(ScanBench bench, const ScanBenchPlan& plan) {
  const double views = static_cast<double>(plan.views * plan.detector[0] * plan.detector[1]);
  const std::size_t result =
      bench == ScanBench::slices ? 3 * plan.slice[0] * plan.slice[1] : plan.volume[0] * plan.volume[1] * plan.volume[2];
  return sizeof(float) * (views + static_cast<double>(result));
}

const char* beam_name(const ScanBenchPlan& plan) {
  return plan.fan_stack ? "fan-stack" : plan.slices > 0 ? "parallel" : "cone";
}

nlohmann::json bench_json(ScanBench kind, const ScanBenchResult& bench) {
  nlohmann::json result{{"device", device_json(bench.device)}, {"size", bench.plan.size},
                        {"views", bench.plan.views},           {"slices", bench.plan.volume[2]},
                        {"rows", bench.plan.detector[1]},      {"beam", beam_name(bench.plan)},
                        {"modes", nlohmann::json::array()},    {"left_out", bench.plan.left_out}};
  result["detector"] = bench.plan.detector;
  if (kind == ScanBench::slices)
    result["slice"] = bench.plan.slice;
  else
    result["volume"] = bench.plan.volume;
  if (bench.coordinate_bound > 0)
    result["float32_coordinates"] = {{"worst_error_px", bench.coordinate_error}, {"bound_px", bench.coordinate_bound}};
  for (const auto& rate : bench.rates) {
    nlohmann::json mode{
        {"mode", rate.mode}, {"updates_per_s", rate.updates / rate.seconds()}, {"relative_rmse", rate.relative_rmse}};
    put_times(mode, "seconds", rate.times);
    if (kind != ScanBench::slices) mode["rays_per_s"] = rate.rays / rate.seconds();
    if (rate.host) {
      mode["device_seconds"] = rate.host->device_seconds;
      mode["kernel_seconds"] = rate.host->kernel_seconds;
      mode["upload_seconds"] = rate.host->upload_seconds;
      mode["download_seconds"] = rate.host->download_seconds;
      mode["ratio_to_least"] = rate.seconds() / rate.host->least_seconds();
    } else {
      if (rate.host_to_host.runs > 0) put_times(mode, "host_to_host_seconds", rate.host_to_host);
      mode["fetch"] = fetch_name(rate.fetch);
      mode["fetches_per_s"] = rate.fetches / rate.seconds();
      mode["fetch_limit_per_s"] = rate.fetch_limit;
      mode["share_of_fetches"] = rate.share_of_fetches();
      mode["bytes_per_s"] = rate.bytes / rate.seconds();
      mode["copy_bytes_per_s"] = rate.copy_limit;
      mode["share_of_copy"] = rate.share_of_copy();
      mode["limit"] = rate.share_of_fetches() >= rate.share_of_copy() ? "fetches" : "copy";
    }
    result["modes"].push_back(mode);
  }
  return result;
}

}  // namespace

std::string scan_heading(ScanBench bench, const DeviceInfo& device, const ScanBenchPlan& plan) {
  if (plan.slices > 0)
    return fmt::format("{}, {}^2 x {} voxels, {}, {} of {} x {} pixels", device_heading(device), plan.size, plan.slices,
                       plan.fan_stack ? "stack of fans" : "parallel beam", views_text(plan.views), plan.size,
                       plan.rows);
  if (bench == ScanBench::slices)
    return fmt::format("{}, three slices of {} pixels, {} of {} pixels", device_heading(device),
                       pixels_text(plan.slice), views_text(plan.views), pixels_text(plan.detector));
  return fmt::format("{}, {} voxels, {} of {} pixels", device_heading(device), voxels_text(plan.volume),
                     views_text(plan.views), pixels_text(plan.detector));
}

namespace {

using Row = BenchTable::value_type;

// The limit that counts: the one that is nearer.
Row limit_cells(const ScanRate& rate) {
  if (rate.share_of_fetches() >= rate.share_of_copy())
    return {fmt::format("{:.3g} %", 100 * rate.share_of_fetches()),
            fmt::format("{:.4g} G/s {}", 1e-9 * rate.fetch_limit, fetch_name(rate.fetch))};
  return {fmt::format("{:.3g} %", 100 * rate.share_of_copy()), fmt::format("{:.4g} GB/s copy", 1e-9 * rate.copy_limit)};
}

BenchTable table_of(ScanBench bench, const ScanBenchResult& result) {
  const auto g = [](double value) { return fmt::format("{:.4g}", value); };
  BenchTable rows;
  if (bench == ScanBench::fdk)
    rows.push_back({"mode", "s host to host", mean_heading, "GUPS", "first to last command", "s kernels", "s up",
                    "s down", "over the larger of kernels and transfers", "RMSE/max"});
  else if (bench == ScanBench::slices)
    rows.push_back({"mode", "ms", mean_heading, "GUPS", "of the limit", "limit", "RMSE/max"});
  else
    rows.push_back({"mode", "ms", mean_heading, "GUPS", "Grays/s", "of the limit", "limit", "ms host to host",
                    mean_heading, "RMSE/max"});
  for (const auto& rate : result.rates) {
    Row row{rate.mode};
    if (rate.host) {
      const HostToHost& host = *rate.host;
      row.insert(row.end(), {g(rate.seconds()), mean_cell(rate.times, 1), g(1e-9 * rate.updates / rate.seconds()),
                             fmt::format("{:.3g} %", 100 * host.device_seconds / rate.seconds()),
                             g(host.kernel_seconds), g(host.upload_seconds), g(host.download_seconds),
                             fmt::format("{:.3g}", rate.seconds() / host.least_seconds())});
    } else {
      row.insert(row.end(), {g(1e3 * rate.seconds()), mean_cell(rate.times), g(1e-9 * rate.updates / rate.seconds())});
      if (bench != ScanBench::slices) row.push_back(g(1e-9 * rate.rays / rate.seconds()));
      for (auto& cell : limit_cells(rate)) row.push_back(std::move(cell));
      if (bench != ScanBench::slices)
        row.insert(row.end(), {g(1e3 * rate.host_to_host.least), mean_cell(rate.host_to_host)});
    }
    row.push_back(fmt::format("{:.2e}", rate.relative_rmse));
    rows.push_back(std::move(row));
  }
  return rows;
}

std::string notes(const ScanBenchResult& result) {
  std::string text;
  if (result.coordinate_bound > 0)
    text += fmt::format("float32 coordinates: {:.2g} pixels off at most where looked at, {:.2g} anywhere\n",
                        result.coordinate_error, result.coordinate_bound);
  return text + left_out_text(result.plan.left_out);
}

std::string text_of(ScanBench bench, const ScanBenchResult& result, bool markdown) {
  const char* gap = markdown ? "\n" : "";
  return scan_heading(bench, result.device, result.plan) + "\n" + gap + bench_table(table_of(bench, result), markdown) +
         gap + notes(result);
}

std::string plan_text(ScanBench bench, const DeviceInfo& device, const ScanBenchPlan& plan) {
  return fmt::format("would measure on {}, up to {} of device memory: {}\n{}", scan_heading(bench, device, plan),
                     bytes_text(static_cast<double>(plan.bytes)), fmt::join(plan.modes, ", "),
                     left_out_text(plan.left_out));
}

void run_bench(ScanBench bench, Job& job, ScanBenchCommand& command) {
  command.set_modes();
  if (command.records(bench)) refuse_trace(job, "bench " + scan_bench_name(bench), scan_bench_name(bench));
  const auto& devices = job.devices("all");
  const auto problems = command.problems();
  for (const auto& device : devices)
    for (const auto& options : problems)
      job.host().require(host_bytes(bench, plan_scan_bench(bench, device, options)),
                         options.detector ? "A smaller --detector takes less." : smaller_size);
  if (!command.groups.empty()) groups_of(command.groups, 1, 1, 1);  // refused before anything is measured
  if (job.dry_run()) {
    for (const auto& device : devices)
      for (const auto& options : problems)
        job.print(plan_text(bench, device.info(), plan_scan_bench(bench, device, options)));
    return;
  }
  const auto problems_of = [&](const Device&) { return problems; };
  run_benches(job, command.format, problems_of, [&](const Device& device, const ScanBenchOptions& options) {
    if (!command.groups.empty())
      return bench_groups_of(device, options, command.groups, command.format.markdown, job.run_options().progress);
    if (command.stages) return bench_stages_of(bench, device, options, command.format.markdown);
    const auto result = run_scan_bench(bench, device, options, job.run_options().progress);
    return std::pair(bench_json(bench, result), text_of(bench, result, command.format.markdown));
  });
}

const char* description(ScanBench bench) {
  switch (bench) {
    case ScanBench::project:
      return "Forward projection by every projector";
    case ScanBench::backproject:
      return "Back-projection in every mode, and the projectors' adjoints";
    case ScanBench::fdk:
      return "FDK from host to host, and how much of that is the device's";
    case ScanBench::slices:
      return "Three orthogonal slices of projections that stay on the device";
  }
  return "";
}

void add_sizes(Settings& settings, ScanBench bench, ScanBenchCommand& command) {
  const bool slices = bench == ScanBench::slices;
  ScanBenchOptions& options = command.options;
  add_whole_numbers(
      settings, "size", command.sizes, 2, 8192,
      fmt::format("Comma list of N: {} and views of N^2 pixels. Default: {} on GPUs, 128 on CPUs, less if the device's "
                  "memory is too small",
                  slices ? "slices of N^2 pixels" : "a volume of N^3 voxels", slices ? 1024 : 512));
  settings
      .add("views", options.views,
           fmt::format("Views on the circle. Default: {}", slices ? "128" : "as many as N, at least 12"))
      .whole_from(least_bench_views(bench), 65536)
      .unit("N");
  if (!slices) {
    settings
        .add("slices", options.slices, "A parallel beam and N slices of the volume instead of a cone beam and a cube")
        .whole_from(1, 8192)
        .unit("N");
    settings
        .add("rows", options.rows,
             "Rows of the parallel beam's detector, as high as all slices. Default: a row on each slice")
        .whole_from(1, 8192)
        .needs("slices")
        .unit("N");
    settings
        .add("fan-stack", options.fan_stack, "A stack of fans, a source for each row, in place of the parallel beam")
        .needs("slices");
    settings
        .add_list("volume", options.volume, "NX,NY,NZ", Numbers::sizes,
                  "Voxels along the axes, with --detector, instead of a cube")
        .excludes("size")
        .needs("detector");
    settings
        .add_list("detector", options.detector, "NU,NV", Numbers::sizes, "Columns and rows of a view of that volume")
        .needs("volume");
  }
  if (slices) {
    settings
        .add_list("detector", options.detector, "NU,NV", Numbers::sizes,
                  "Columns and rows of a view. Default: N of --size, both")
        .unit("NU,NV");
    settings
        .add_list(
            "slice", options.slice, "NX,NY", Numbers::sizes,
            "Pixels of each slice, in the middle of a volume as wide as its longer side. Default: N of --size, both")
        .unit("NX,NY");
  }
}

void add_groups(Settings& settings, ScanBenchCommand& command) {
  settings
      .add("groups", command.groups,
           fmt::format("Times of the kernel for shapes of its work-groups instead, voxels along i and j: all, or a "
                       "list such as 16x4,152x1; --modes of {}",
                       fmt::join(group_modes(), ", ")))
      .excludes("slices")
      .unit("LIST");
}

void add_stages(Settings& settings, ScanBench bench, ScanBenchCommand& command) {
  Setting& stages = settings.add("stages", command.stages,
                                 fmt::format("Times of the stages of a call from host to host instead; --modes of {}",
                                             fmt::join(stage_modes(), ", ")));
  stages.excludes("slices");
  if (bench == ScanBench::backproject) stages.excludes("groups");
}

std::unique_ptr<Command> scan_bench_command(ScanBench bench) {
  auto sub = std::make_unique<Command>(scan_bench_name(bench), description(bench));
  Settings& settings = sub->settings;
  auto command = std::make_shared<ScanBenchCommand>();
  add_sizes(settings, bench, *command);
  if (bench == ScanBench::backproject) add_groups(settings, *command);
  if (bench == ScanBench::backproject || bench == ScanBench::fdk) add_stages(settings, bench, *command);
  settings
      .add("modes", command->modes,
           fmt::format("Comma list of {}. Default: all that the device has", fmt::join(scan_bench_modes(bench), ", ")))
      .unit("LIST");
  add_bench_seconds(settings, command->options.seconds);
  add_bench_format(settings, command->format);
  sub->footer = fmt::format(
      "Runs on every OpenCL device unless --device or HALOCLINE_DEVICE chooses. {}\nRMSE/max: of 256 places, to fp64, "
      "over "
      "the largest value there, of pseudo-random data between 0 and 1.\nExample:\n  halocline bench {} --device gpu "
      "--size 512 --report bench.json",
      bench == ScanBench::fdk
          ? "Kernels, up and down: sums over the commands of the best run. --stages:\nweighting and filtering are one "
            "kernel with the row filter in local memory, which writes the layout, too, where rows fit\nthere; else "
            "they are those of an FFT library, and what writes the layout follows. The mode gridding needs --slices,\n"
            "a parallel beam; its RMSE/max, to linear interpolation, is large for such data by what that lets through "
            "of\nhigher frequencies."
          : "The limit is the nearer of two that are measured beside\neach mode: fetches by a kernel that does little "
            "else (of texels, or of so many bytes of a buffer), and a plain\ncopy, over the fetches and bytes that the "
            "formula needs.",
      scan_bench_name(bench));
  sub->run = [command, bench](Job& job) { run_bench(bench, job, *command); };
  return sub;
}

}  // namespace

std::vector<std::unique_ptr<Command>> bench_scans_commands() {
  std::vector<std::unique_ptr<Command>> result;
  for (const auto bench : {ScanBench::project, ScanBench::backproject, ScanBench::fdk, ScanBench::slices})
    result.push_back(scan_bench_command(bench));
  return result;
}

}  // namespace halocline
