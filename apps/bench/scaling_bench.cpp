#include "apps/bench/scaling_bench.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "algorithms/calibration/scan_loop.hpp"
#include "algorithms/denoise/denoise.hpp"
#include "algorithms/fdk/fdk.hpp"
#include "host/system/error.hpp"
#include "scheduling/planning/cost.hpp"
#include "scheduling/profiling/measure.hpp"

namespace halocline {
namespace {

bool is_fdk(const std::string& job) {
  return job.starts_with("fdk");
}

// The results of a run of a job.
struct Ran {
  Plan plan;
  double seconds = 0;
};

// Inputs and results of the jobs for one number of slices.
class Data {
 public:
  Data(const ScalingOptions& options, std::size_t times)
      : options_(options), scan_(bench_scan(options.size, options.size)) {
    // the same field of view in thinner slices
    scan_.volume.size[2] *= times;
    scan_.volume.spacing[2] /= static_cast<double>(times);
    cube_.size = {options.size, options.size, options.size * times};
  }

  /// stays: slabs that fit remain on the devices, whether that is faster or not.
  Ran run(const std::string& job, const std::vector<Device>& devices, int iterations, bool stays = false) {
    if (is_fdk(job)) {
      if (projections_.voxels.empty()) projections_ = bench_numbers(scan_.stack);
      FdkParameters parameters;
      parameters.hardware_interpolation = job == "fdk-texture";
      MemorySink sink(scan_.volume, result(scan_.volume));
      const auto ran = fdk_into(MemorySource(projections_), scan_.stack, scan_.geometry, sink, parameters, devices);
      return {ran.plan, ran.seconds};
    }
    if (noisy_.voxels.empty()) noisy_ = bench_numbers(cube_);
    DenoiseParameters parameters;
    parameters.method = job;
    parameters.iterations = iterations;
    if (job == "pdu")
      parameters.alpha = 15, parameters.gap = 0;
    else
      parameters.step = 1e-3;
    MemorySink sink(cube_, result(cube_));
    RunOptions options;
    options.plan.may_stream = !stays;
    const auto ran = denoise_into(MemorySource(noisy_), nullptr, sink, parameters, devices, options);
    return {ran.plan, ran.seconds};
  }

  double updates(const std::string& job) const {
    return is_fdk(job) ? static_cast<double>(scan_.volume.count()) * static_cast<double>(scan_.stack.size[2])
                       : static_cast<double>(cube_.count()) * iterations_of(options_, job);
  }

 private:
  // touched before, so that no run pays for fresh memory
  float* result(const Grid& grid) {
    if (result_.size() != grid.count()) result_.assign(grid.count(), 0.0f);
    return result_.data();
  }

  ScalingOptions options_;
  Scan scan_;
  Grid cube_;
  Volume projections_, noisy_;
  Voxels result_;
};

ScalingRate rate_of(Data& data, const std::string& job, const ScalingTeam& team, const ScalingOptions& options) {
  Plan plan;
  const auto times = [&](int iterations, bool stays) {
    const auto run = [&] {
      Ran ran = data.run(job, team.devices, iterations, stays);
      plan = std::move(ran.plan);
      return ran.seconds;
    };
    return repeat(run, options.runs);
  };
  const int iterations = iterations_of(options, job);
  data.run(job, team.devices, is_fdk(job) ? 1 : iterations, options.stay);  // compiles, and measures rates
  ScalingRate rate;
  rate.job = job, rate.team = team.name;
  rate.updates = data.updates(job);
  rate.times = times(iterations, options.stay);
  rate.devices = used_devices(plan).size();
  rate.slabs = plan.slabs.size();
  rate.resident = plan.resident;
  rate.predicted = plan.seconds;
  if (is_fdk(job) || (!rate.resident && !plan.streamed)) return rate;
  const double once = rate.resident ? rate.times.least : times(iterations, true).least;
  rate.iteration_seconds = (times(3 * iterations, true).least - once) / (2.0 * iterations);
  return rate;
}

}  // namespace

const std::vector<std::string>& scaling_jobs() {
  static const std::vector<std::string> jobs{"pdu", "tvgd", "fdk", "fdk-texture"};
  return jobs;
}

int iterations_of(const ScalingOptions& options, const std::string& job) {
  const auto found = options.iterations.find(job);
  return found == options.iterations.end() ? 60 : found->second;
}

double scaling_bytes(const ScalingOptions& options, std::size_t times) {
  const double n = static_cast<double>(options.size), cube = n * n * n;
  return sizeof(float) * cube * static_cast<double>(2 * times + 1);
}

std::vector<ScalingRate> bench_scaling(const std::vector<ScalingTeam>& teams, const ScalingOptions& options,
                                       const Progress& progress) {
  const auto& known = scaling_jobs();
  auto jobs = options.jobs.empty() ? known : options.jobs;
  if (options.jobs.empty() && std::any_of(teams.begin(), teams.end(), [](const ScalingTeam& team) {
        return std::any_of(team.devices.begin(), team.devices.end(),
                           [](const Device& device) { return !device.info().images; });
      }))
    std::erase(jobs, "fdk-texture");
  for (const auto& job : jobs)
    if (std::find(known.begin(), known.end(), job) == known.end())
      throw InputError(fmt::format("`jobs` has \"{}\"; expected some of: {}", job, fmt::join(known, ", ")));
  if (options.size < 8)
    throw InputError({.what = "`size`", .found = fmt::to_string(options.size), .expected = "8 or more"});

  std::vector<ScalingRate> rates;
  double done = 0;
  for (std::size_t times = 1;; ++times) {
    if (std::none_of(teams.begin(), teams.end(), [&](const auto& team) { return team.times >= times; })) break;
    Data data(options, times);
    for (const auto& job : jobs)
      for (const auto& team : teams) {
        if (team.times != times) continue;
        if (progress)
          progress({"bench", done++, static_cast<double>(jobs.size() * teams.size()), job + " on " + team.name, 0, {}});
        rates.push_back(rate_of(data, job, team, options));
      }
  }
  return rates;
}

}  // namespace halocline
