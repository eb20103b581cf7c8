#include "apps/bench/scaling_bench.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "host/system/error.hpp"
#include "scheduling/planning/cost.hpp"
#include "scheduling/profiling/measure.hpp"
#include "scheduling/transport/ranks.hpp"

namespace halocline {
namespace {

// A run of a team; with several ranks, the time of the slowest, and the sum over the results of all.
ScalingData::Ran run_of(ScalingData& data, const std::string& job, const ScalingTeam& team, int iterations,
                        bool stays) {
  PlanOptions plan = team.plan;
  plan.may_stream = !stays || !is_denoiser(job);
  Ranks& all = ranks();
  ScalingData::Ran ran;
  if (team.ranks > 1 || all.first()) ran = data.run(job, team.devices, iterations, plan);
  if (!all.several()) return ran;
  double seconds = 0;
  std::uint64_t result = 0;
  for (const std::string& each : all.gather("a run", fmt::format("{} {}", ran.seconds, ran.result))) {
    std::size_t end = 0;
    seconds = std::max(seconds, std::stod(each, &end));
    result += std::stoull(each.substr(end));
  }
  return {std::move(ran.plan), seconds, result};
}

ScalingRate rate_of(ScalingData& data, const std::string& job, const ScalingTeam& team, const ScalingOptions& options) {
  Plan plan;
  const auto times = [&](int iterations, bool stays) {
    const auto run = [&] {
      auto ran = run_of(data, job, team, iterations, stays);
      plan = std::move(ran.plan);
      return ran.seconds;
    };
    return repeat(run, options.runs);
  };
  const int iterations = iterations_of(options, job);
  ScalingRate rate;
  rate.result = run_of(data, job, team, iterations, options.stay).result;  // compiles, and measures rates
  rate.job = job, rate.team = team.name;
  rate.updates = data.updates(job, iterations);
  rate.times = times(iterations, options.stay);
  rate.devices = used_devices(plan).size();
  rate.slabs = plan.slabs.size();
  rate.resident = plan.resident;
  rate.predicted = plan.seconds;
  if (iterations == 0 || (!rate.resident && !plan.streamed)) return rate;
  const double once = rate.resident ? rate.times.least : times(iterations, true).least;
  const double more = times(3 * iterations, true).least - once;
  if (more > 0) rate.iteration_seconds = more / (2.0 * iterations);  // short runs of a busy device may not tell
  return rate;
}

}  // namespace

int iterations_of(const ScalingOptions& options, const std::string& job) {
  const auto found = options.iterations.find(job);
  return found == options.iterations.end() ? usual_iterations(job) : found->second;
}

double scaling_bytes(const ScalingOptions& options, std::size_t times) {
  const double n = static_cast<double>(options.size), cube = n * n * n;
  const auto& jobs = options.jobs;
  const bool weights = std::find(jobs.begin(), jobs.end(), "spdu") != jobs.end();
  const std::size_t stacks = std::any_of(jobs.begin(), jobs.end(), is_solver) ? 4 : 1;  // b, and r, p of the state
  return sizeof(float) * cube * static_cast<double>((weights ? 3 : 2) * times + stacks);
}

std::vector<ScalingRate> bench_scaling(const std::vector<ScalingTeam>& teams, const ScalingOptions& options,
                                       const Progress& progress) {
  check_scaling_jobs(options.jobs);
  auto jobs = options.jobs.empty() ? usual_scaling_jobs() : options.jobs;
  if (options.jobs.empty() && std::any_of(teams.begin(), teams.end(), [](const ScalingTeam& team) {
        return std::any_of(team.devices.begin(), team.devices.end(),
                           [](const Device& device) { return !device.info().images; });
      }))
    std::erase_if(jobs, needs_images);
  if (options.size < 8)
    throw InputError({.what = "`size`", .found = fmt::to_string(options.size), .expected = "8 or more"});

  std::vector<ScalingRate> rates;
  double done = 0;
  for (std::size_t times = 1;; ++times) {
    if (std::none_of(teams.begin(), teams.end(), [&](const auto& team) { return team.times >= times; })) break;
    ScalingData data(options.size, times);
    for (const auto& job : jobs)
      for (const auto& team : teams) {
        if (team.times != times) continue;
        if (progress)
          progress({"bench", done++, static_cast<double>(jobs.size() * teams.size()), job + " on " + team.name, 0, {}});
        rates.push_back(rate_of(data, job, team, options));
        const auto first = std::find_if(rates.begin(), rates.end(), [&](const auto& each) { return each.job == job; });
        if (ranks().several() && times == 1) rates.back().same = rates.back().result == first->result;
      }
  }
  return rates;
}

}  // namespace halocline
