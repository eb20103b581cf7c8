#include "apps/bench/stage_bench.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>
#include <memory>

#include "algorithms/calibration/scan_loop.hpp"
#include "algorithms/fdk/fdk.hpp"
#include "apps/bench/device_forms.hpp"
#include "host/opencl/trace.hpp"
#include "scheduling/profiling/measure.hpp"

namespace halocline {
namespace {

// The stage that a command of the device belongs to.
double& stage_of(CallStages& stages, const TraceEntry& command) {
  if (command.queue == "upload") return stages.upload;
  if (command.queue == "download") return stages.download;
  if (command.name.ends_with("to image")) return stages.texture_copy;
  if (command.name.starts_with("fft ") || (command.name.starts_with("fdk_") && command.name != "fdk_unpack"))
    return stages.filter;
  return command.name.starts_with("backproject_") && command.name != "backproject_copy" ? stages.kernel : stages.layout;
}

CallStages stages_of(const Trace& trace) {
  CallStages stages;
  auto commands = trace.entries();
  std::sort(commands.begin(), commands.end(),
            [](const TraceEntry& a, const TraceEntry& b) { return a.start_ns < b.start_ns; });
  std::uint64_t end = 0;
  for (const TraceEntry& command : commands) {
    stage_of(stages, command) += 1e-9 * static_cast<double>(command.end_ns - command.start_ns);
    const std::uint64_t start = std::max(end, command.start_ns);
    if (command.end_ns > start) stages.device += 1e-9 * static_cast<double>(command.end_ns - start);
    end = std::max(end, command.end_ns);
  }
  return stages;
}

}  // namespace

const std::vector<std::string>& stage_modes() {
  static const std::vector<std::string> modes{"exact", "texture", "half"};
  return modes;
}

CallStages bench_stages(const Device& device, bool with_filter, const ScanForm& form, const Scan& scan, int runs) {
  using Clock = std::chrono::steady_clock;
  const Volume projections = bench_numbers(scan.stack);
  const BackprojectionParameters parameters{.hardware_interpolation = form.hardware, .half_texels = form.half};
  Device traced = device;
  CallStages stages;
  double best = std::numeric_limits<double>::infinity();
  const auto call = [&] {
    const auto trace = std::make_shared<Trace>();
    traced.record(trace);
    const auto begin = Clock::now();
    if (with_filter)
      fdk(projections, scan.geometry, scan.volume, fdk_parameters(form), {device});
    else
      backproject(projections, scan.geometry, scan.volume, parameters, {device});
    const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    traced.record(nullptr);
    if (seconds < best) stages = stages_of(*trace);
    best = std::min(best, seconds);
    return seconds;
  };
  const double first_call = call();
  best = std::numeric_limits<double>::infinity();
  const RunTimes calls = repeat(call, runs);
  stages.mode = form.mode;
  stages.first_call = first_call;
  stages.call = calls;
  return stages;
}

}  // namespace halocline
