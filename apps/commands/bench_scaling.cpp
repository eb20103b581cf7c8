// halocline bench scaling
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "algorithms/jobs/setting_values.hpp"
#include "apps/bench/scaling_bench.hpp"
#include "apps/commands/bench_commands.hpp"
#include "apps/job/job.hpp"
#include "apps/job/report.hpp"
#include "host/system/error.hpp"
#include "scheduling/planning/plan_text.hpp"
#include "scheduling/transport/ranks.hpp"

namespace halocline {
namespace {

struct ScalingCommand {
  ScalingOptions options;
  std::vector<std::size_t> sizes{512};
  std::string jobs, iterations;
  std::size_t out_of_core = 0;
  bool weak = false;
  BenchFormat format;
};

// The first rank alone, the first 2, 4, ... and all, each with all its devices.
std::vector<ScalingTeam> teams_of_ranks(Job& job, const ScalingCommand& command) {
  if (command.out_of_core > 0)
    throw InputError("bench scaling: --out-of-core is for one process; start it without the launcher");
  const auto& devices = job.devices();
  const PlanOptions all = job.run_options().plan;
  std::vector<ScalingTeam> teams{{"1 rank", devices}};
  const int size = ranks().size();
  for (int count = 2; count < 2 * size; count *= 2) {
    ScalingTeam& team = teams.emplace_back();
    team.ranks = std::min(count, size);
    team.name = fmt::format("{} ranks", team.ranks);
    team.devices = devices;
    team.plan = all;
    team.plan.idle_ranks = true;
    std::erase_if(team.plan.all_devices, [&](const DeviceModel& device) { return device.rank >= team.ranks; });
    if (!command.weak) continue;
    ScalingTeam more = team;
    more.times = static_cast<std::size_t>(team.ranks);
    more.name += fmt::format(", {} times the slices", team.ranks);
    teams.push_back(std::move(more));
  }
  return teams;
}

// The first device alone and with a budget, the first 2, 4, ... and all together; then the same with as many times the
// slices.
std::vector<ScalingTeam> teams_of(Job& job, const ScalingCommand& command) {
  if (ranks().several()) return teams_of_ranks(job, command);
  const auto& devices = job.devices();
  std::vector<ScalingTeam> teams{{"1 device", {devices[0]}}};
  if (command.out_of_core > 0) {
    if (is_part(devices[0].info())) throw InputError("bench scaling: --out-of-core is not for a device in parts");
    teams.push_back(
        {fmt::format("1 device, {}", bytes_text(static_cast<double>(command.out_of_core))),
         open_devices({.device = std::to_string(devices[0].info().index), .device_memory = command.out_of_core})});
    job.trace(teams.back().devices.front());
  }
  for (std::size_t count = 2; count < 2 * devices.size(); count *= 2) {
    const auto together = std::min(count, devices.size());
    teams.push_back({fmt::format("{} devices", together),
                     {devices.begin(), devices.begin() + static_cast<std::ptrdiff_t>(together)}});
    if (command.weak) {
      teams.push_back(teams.back());
      teams.back().times = together;
      teams.back().name += fmt::format(", {} times the slices", together);
    }
  }
  return teams;
}

// Updates a second and device, over those of the first team.
double efficiency(const ScalingRate& rate, const ScalingRate& first, double seconds, double first_seconds) {
  return rate.updates / first.updates * first_seconds / seconds / static_cast<double>(rate.devices);
}

struct Shares {
  double host_to_host = 0, iterations = 0;
};

Shares shares_of(const ScalingRate& rate, const std::vector<ScalingRate>& rates, const ScalingOptions& options) {
  const auto& first = *std::find_if(rates.begin(), rates.end(), [&](const auto& each) { return each.job == rate.job; });
  // out of core all of the run has to keep up with the iterations of the run in core
  const double own =
      std::isnan(rate.iteration_seconds) ? rate.times.least / iterations_of(options, rate.job) : rate.iteration_seconds;
  return {efficiency(rate, first, rate.times.least, first.times.least),
          efficiency(rate, first, own, first.iteration_seconds)};
}

nlohmann::json runs_json(const std::vector<ScalingRate>& rates, const ScalingOptions& options) {
  nlohmann::json runs = nlohmann::json::array();
  for (const auto& rate : rates) {
    const auto shares = shares_of(rate, rates, options);
    nlohmann::json run{{"job", rate.job},
                       {"size", options.size},
                       {"team", rate.team},
                       {"devices", rate.devices},
                       {"slabs", rate.slabs},
                       {"resident", rate.resident},
                       {"updates", rate.updates},
                       {"predicted_seconds", rate.predicted},
                       {"efficiency", shares.host_to_host}};
    put_times(run, "seconds", rate.times);
    if (!std::isnan(rate.iteration_seconds)) run["iteration_seconds"] = rate.iteration_seconds;
    if (!std::isnan(shares.iterations)) run["efficiency_of_iterations"] = shares.iterations;
    if (rate.same) run["same_bits"] = *rate.same;
    if (usual_iterations(rate.job) > 0) run["iterations"] = iterations_of(options, rate.job);
    runs.push_back(std::move(run));
  }
  return runs;
}

std::string table(const std::vector<ScalingRate>& rates, const ScalingOptions& options, bool markdown) {
  BenchTable rows{{"job", "devices", "used", "slabs", "s host to host", mean_heading, "predicted", "Gupdates/s",
                   "efficiency, %", "iterations/s", "efficiency, %"}};
  const auto percent = [](double share) {
    return std::isnan(share) ? std::string("") : fmt::format("{:.1f}", 100 * share);
  };
  for (const auto& rate : rates) {
    const auto shares = shares_of(rate, rates, options);
    const char* bits = !rate.same ? "" : *rate.same ? "" : ", other bits";
    rows.push_back({rate.job, rate.team + bits, std::to_string(rate.devices), std::to_string(rate.slabs),
                    fmt::format("{:.4g}", rate.times.least), mean_cell(rate.times, 1),
                    fmt::format("{:.4g}", rate.predicted), fmt::format("{:.4g}", 1e-9 * rate.rate()),
                    percent(shares.host_to_host),
                    std::isnan(rate.iteration_seconds) ? "" : fmt::format("{:.4g}", 1 / rate.iteration_seconds),
                    percent(shares.iterations)});
  }
  return bench_table(rows, markdown, 2);
}

// "60", or a list such as "tvgd=50,pdu=200". jobs: those that run; none: the usual ones.
std::map<std::string, int> parsed_iterations(const std::string& text, const std::vector<std::string>& jobs) {
  std::vector<std::string> iterating = jobs.empty() ? usual_scaling_jobs() : jobs;
  std::erase_if(iterating, [](const std::string& job) { return usual_iterations(job) == 0; });
  if (iterating.empty() && !text.empty())
    throw InputError(fmt::format("`iterations` is \"{}\", but no job that `jobs` names iterates; leave it out", text));
  std::map<std::string, int> iterations;
  for (const std::string& word : words_of(text)) {
    const auto equals = word.find('=');
    const std::string job = equals == std::string::npos ? "" : word.substr(0, equals);
    const auto number = parsed_number(word.substr(equals == std::string::npos ? 0 : equals + 1));
    const bool known =
        equals == std::string::npos || std::find(iterating.begin(), iterating.end(), job) != iterating.end();
    const auto& all = scaling_jobs();
    const bool named = std::find(all.begin(), all.end(), job) != all.end();
    if (!(known || named) || !number || *number < 1 || *number > 100000 || *number != std::floor(*number))
      throw InputError({.what = "`iterations`",
                        .found = fmt::format("\"{}\"", word),
                        .expected = "a whole number from 1 to 100000, or such numbers by job, as tvgd=50,pdu=200"});
    if (!job.empty() && !known)
      throw InputError({.what = "`iterations`",
                        .found = fmt::format("\"{}\"", word),
                        .expected = "jobs that iterate, and that `jobs` names"});
    for (const std::string& each : job.empty() ? iterating : std::vector{job})
      iterations[each] = static_cast<int>(*number);
  }
  return iterations;
}

void run_bench_scaling(Job& job, ScalingCommand& command) {
  command.options.jobs = words_of(command.jobs);
  check_scaling_jobs(command.options.jobs);
  command.options.iterations = parsed_iterations(command.iterations, command.options.jobs);
  const auto teams = teams_of(job, command);
  std::size_t times = 1;
  for (const auto& team : teams) times = std::max(times, team.times);
  std::vector<ScalingOptions> problems;
  for (const std::size_t size : command.sizes) {
    problems.push_back(command.options);
    problems.back().size = size;
    job.host().require(scaling_bytes(problems.back(), times), smaller_size);
  }
  if (job.dry_run()) {
    std::vector<std::string> names;
    for (const auto& team : teams) names.push_back(team.name);
    for (const std::size_t size : command.sizes)
      job.print(fmt::format("would run {}, {}^3, on: {}\n",
                            fmt::join(command.options.jobs.empty() ? usual_scaling_jobs() : command.options.jobs, ", "),
                            size, fmt::join(names, "; ")));
    return;
  }
  auto& results = job.results();
  results = {{"device", device_json(teams.front().devices.front().info())}, {"runs", nlohmann::json::array()}};
  for (const ScalingOptions& options : problems) {
    const auto rates = job.timed("bench", [&] { return bench_scaling(teams, options, job.run_options().progress); });
    for (auto& run : runs_json(rates, options)) results["runs"].push_back(std::move(run));
    const char* gap = &options == &problems.front() ? "" : "\n";
    if (!command.format.json)
      job.print(fmt::format("{}{}^3\n{}{}", gap, options.size, command.format.markdown ? "\n" : "",
                            table(rates, options, command.format.markdown)));
  }
  if (command.format.json) job.print(json_text(results));
}

}  // namespace

std::unique_ptr<Command> bench_scaling_command() {
  auto sub = std::make_unique<Command>("scaling", "Whole runs on several devices together, and out of core");
  Settings& settings = sub->settings;
  auto command = std::make_shared<ScalingCommand>();
  add_whole_numbers(settings, "size", command->sizes, 8, 8192,
                    "Comma list of N: N^3 voxels, of a scan N views of N^2 pixels. Default: 512");
  settings
      .add("jobs", command->jobs,
           fmt::format("Comma list of {}. Default: {}", fmt::join(scaling_jobs(), ", "),
                       fmt::join(usual_scaling_jobs(), ",")))
      .unit("LIST");
  settings
      .add("iterations", command->iterations,
           "Iterations without a gap, passes of a solver; by job as tvgd=50,pdu=200. Default: 60, and 10 passes")
      .unit("N|LIST");
  settings
      .add_bytes("out-of-core", command->out_of_core,
                 "Also the first device with this budget, with which the volume is streamed in slabs")
      .unit("BYTES");
  settings.add("weak", command->weak, "Also N times the slices on N devices");
  settings.add(
      "stay", command->options.stay,
      "Denoisers: slabs that fit stay on the devices, also where it is faster to stream them beside the kernels");
  settings.add("runs", command->options.runs, "Of which the best counts, after one that compiles. Default: 2")
      .whole_from(1, 100)
      .unit("N");
  add_bench_format(settings, command->format);
  sub->on_ranks = true;
  sub->footer =
      "From host memory that has been touched to host memory: the first of the devices alone, the first 2, 4, ... and "
      "all.\nEfficiency: updates a second and device, over those of the first alone; the second column is that of the "
      "iterations alone, from\nruns of once and three times as many, but out of core that of the whole run over the "
      "first device's iterations.\nUnder a launcher of MPI: the first of the ranks alone, the first 2, 4, ... and all, "
      "and whether the bits are the same.\nExample:\n  halocline bench scaling --device 0,1 --size 1024 --out-of-core "
      "10G";
  sub->run = [command](Job& job) { run_bench_scaling(job, *command); };
  return sub;
}

}  // namespace halocline
