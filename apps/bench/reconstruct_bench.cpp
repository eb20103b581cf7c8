#include "apps/bench/reconstruct_bench.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <memory>

#include "algorithms/calibration/scan_loop.hpp"
#include "algorithms/solvers/reconstruct.hpp"
#include "host/opencl/trace.hpp"
#include "host/system/error.hpp"
#include "scheduling/profiling/measure.hpp"

namespace halocline {
namespace {

constexpr double unmeasured = std::numeric_limits<double>::infinity();

KernelSeconds least_of(const KernelSeconds& a, const KernelSeconds& b) {
  return {std::min(a.forward, b.forward), std::min(a.adjoint, b.adjoint), std::min(a.other, b.other)};
}

bool is_one_of(const std::string& name, std::initializer_list<const char*> names) {
  return std::any_of(names.begin(), names.end(), [&](const char* each) { return name == each; });
}

// The part that a command on the compute queue belongs to, by its kernel's name.
double& part_of(KernelSeconds& parts, const std::string& name) {
  const auto has = [&](const char* word) { return name.find(word) != std::string::npos; };
  if (has("backproject") || has("_adjoint") || name.ends_with("_table") || name.starts_with("fdk_") ||
      name.starts_with("fft ") ||
      is_one_of(name, {"copy filtered to image", "matrix_largest_pixels", "matrix_values", "matrix_fold"}))
    return parts.adjoint;
  if (has("project") || name.ends_with(" to image") ||
      is_one_of(name, {"joseph_turn", "joseph_image_planes", "joseph_slices_stack", "matrix_largest_voxels",
                       "matrix_voxels"}))
    return parts.forward;
  return parts.other;
}

KernelSeconds seconds_of(const Trace& trace) {
  KernelSeconds parts;
  for (const TraceEntry& command : trace.entries())
    if (command.queue != "upload" && command.queue != "download")
      part_of(parts, command.name) += 1e-9 * static_cast<double>(command.end_ns - command.start_ns);
  return parts;
}

// Runs of one method with one number of passes.
struct Runs {
  SolverTimes times;  // the least of kernels, too: another user of the device slows some runs
  ReconstructionResult result;
};

ReconstructionParameters parameters_of(const std::string& method, int passes) {
  ReconstructionParameters parameters;
  parameters.method = method;
  parameters.passes = passes;
  if (solver_method(method).penalty) {
    parameters.lambda = 0.01;
    parameters.gap = 0;
  }
  return parameters;
}

class SolverRuns {
 public:
  SolverRuns(Device device, std::string method, const Scan& scan)
      : device_(std::move(device)), method_(std::move(method)), scan_(scan), projections_(bench_numbers(scan.stack)) {
    result_.assign(scan.volume.count(), 0.0f);  // touched before, so that no run pays for fresh memory
  }

  ReconstructionResult run(int passes) {
    const MemorySource projections(projections_);
    ReconstructionInputs inputs;
    inputs.projections = &projections;
    MemorySink sink(scan_.volume, result_.data());
    auto result = reconstruct(inputs, scan_.geometry, sink, parameters_of(method_, passes), {device_});
    if (result.run.iterations != passes * result.subsets)
      throw InputError(fmt::format("{} ended after {} of {} passes; choose fewer `iterations`", method_,
                                   result.run.iterations / result.subsets, passes));
    return result;
  }

  Runs runs(int passes, int repeats) {
    Runs runs;
    runs.times.kernels = {unmeasured, unmeasured, unmeasured};
    double best = unmeasured;
    const auto recorded = [&] {
      const auto trace = std::make_shared<Trace>();
      device_.record(trace);
      auto result = run(passes);
      device_.record(nullptr);
      const double seconds = result.run.seconds;
      if (seconds < best) {
        best = seconds;
        runs.result = std::move(result);
      }
      runs.times.kernels = least_of(runs.times.kernels, seconds_of(*trace));
      return seconds;
    };
    runs.times.seconds = repeat(recorded, repeats);
    return runs;
  }

 private:
  Device device_;
  std::string method_;
  const Scan& scan_;
  Volume projections_;
  Voxels result_;
};

}  // namespace

SolverTimes times_of_pass(const SolverTimes& shorter, const SolverTimes& longer, int passes) {
  const auto more = [passes](double in_longer, double in_shorter) {
    return std::max(0.0, in_longer - in_shorter) / passes;
  };
  const KernelSeconds &few = shorter.kernels, &many = longer.kernels;
  SolverTimes times{longer.seconds.after(shorter.seconds.least).over(passes),
                    {more(many.forward, few.forward), more(many.adjoint, few.adjoint), more(many.other, few.other)}};
  for (double* each : {&times.seconds.least, &times.seconds.median, &times.seconds.mean})
    *each = std::max(*each, times.kernels.all());
  return times;
}

ReconstructRate bench_reconstruct(const Device& device, const std::string& method, const Scan& scan, int passes,
                                  int repeats) {
  SolverRuns solver(device, method, scan);
  solver.run(shorter_run);  // compiles
  const Runs shorter = solver.runs(shorter_run, repeats), longer = solver.runs(shorter_run + passes, repeats);
  ReconstructRate rate;
  rate.method = method;
  rate.subsets = longer.result.subsets;
  rate.run = longer.times.seconds;
  rate.run_passes = shorter_run + passes;
  const SolverTimes pass = times_of_pass(shorter.times, longer.times, passes);
  rate.pass = pass.seconds;
  rate.kernels = pass.kernels;
  rate.slabs = longer.result.run.plan.slabs.size();
  rate.resident = longer.result.run.plan.resident;
  rate.peak_bytes = longer.result.run.peak_bytes;
  return rate;
}

}  // namespace halocline
