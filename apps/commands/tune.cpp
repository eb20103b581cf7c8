// halocline tune
#include "algorithms/calibration/tune.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "algorithms/calibration/denoise_loop.hpp"
#include "algorithms/jobs/setting_values.hpp"
#include "apps/commands/bench_commands.hpp"
#include "apps/job/job.hpp"
#include "apps/job/progress.hpp"
#include "apps/job/report.hpp"
#include "host/system/error.hpp"

namespace halocline {
namespace {

struct TuneCommand {
  TuneOptions options;
  std::optional<std::array<std::size_t, 3>> volume;
  std::optional<std::array<std::size_t, 2>> detector;
  std::optional<std::size_t> views;
  bool forget = false, json = false, all_values = false;

  void set_problem() {
    if (volume && detector && views) options.problem = ScanSizes{*volume, *detector, *views};
  }
};

std::string scope_of(const TuneOptions& options) {
  return options.problem ? "problems like " + options.problem->problem()->text() : "all problems";
}

std::string heading(const std::string& device, const TuneOptions& options, const TuneResult& result) {
  return fmt::format("{}, for {}, {:.1f} s\n", device, scope_of(options), result.seconds);
}

// "1.25 (1.22 to 1.27)": the gain of the fastest runs, and of the pairs in turns.
std::string gain_text(const TunedItem& item) {
  if (!item.changed()) return "1";
  return fmt::format("{:.2f} ({:.2f} to {:.2f})", item.seconds_before / item.seconds_after, item.least_gain,
                     item.largest_gain);
}

std::string milliseconds(double seconds) {
  return fmt::format("{:.4f}", 1e3 * seconds);
}

std::string gains(const TuneResult& result) {
  BenchTable rows{{"class", "kernel", "before", "now", "ms before", "ms now", "times (in turns)"}};
  for (const auto& item : result.items)
    rows.push_back({item.tune_class, item.name, item.before, item.changed() ? item.after : "the same",
                    milliseconds(item.seconds_before), milliseconds(item.seconds_after), gain_text(item)});
  std::string text = result.items.empty() ? "no kernel was measured\n" : bench_table(rows, false, 4);
  for (const auto& line : result.left_out) text += "left out: " + line + "\n";
  return text;
}

const char* mark_text(TuneTrial::Mark mark) {
  return mark == TuneTrial::Mark::before ? "before" : mark == TuneTrial::Mark::after ? "now" : "";
}

// Every value that was measured.
std::string all_values(const TuneResult& result) {
  BenchTable rows{{"class", "kernel", "tunable", "value", "", "ms", "spread", "runs"}};
  for (const auto& item : result.items)
    for (const auto& trial : item.trials)
      rows.push_back({item.tune_class, item.name, trial.tunable, trial.value, mark_text(trial.mark),
                      milliseconds(trial.times.least), fmt::format("{:.1f} %", 100 * trial.times.spread()),
                      std::to_string(trial.times.runs)});
  return bench_table(rows, false, 5);
}

nlohmann::json item_json(const TunedItem& item) {
  nlohmann::json text{{"class", item.tune_class},
                      {"name", item.name},
                      {"before", item.before},
                      {"after", item.after},
                      {"seconds_before", item.seconds_before},
                      {"seconds_after", item.seconds_after},
                      {"gain_in_turns", {item.least_gain, item.largest_gain}},
                      {"trials", nlohmann::json::array()}};
  for (const auto& trial : item.trials)
    text["trials"].push_back({{"tunable", trial.tunable},
                              {"value", trial.value},
                              {"mark", mark_text(trial.mark)},
                              {"seconds", trial.times.least},
                              {"median_seconds", trial.times.median},
                              {"runs", trial.times.runs}});
  return text;
}

nlohmann::json tune_json(const Device& device, const TuneOptions& options, const TuneResult& result) {
  nlohmann::json text{{"device", device_json(device.info())},
                      {"problems", scope_of(options)},
                      {"seconds", result.seconds},
                      {"left_out", result.left_out},
                      {"items", nlohmann::json::array()}};
  for (const auto& item : result.items) text["items"].push_back(item_json(item));
  return text;
}

void run(Job& job, TuneCommand& command) {
  command.set_problem();
  const char* smaller =
      command.options.problem ? "A smaller --volume or --detector, or fewer --views, take less." : smaller_size;
  auto results = nlohmann::json::array();
  std::vector<std::string> unfit;
  for (const Device& device : job.devices()) {
    if (job.dry_run()) {
      const auto kept = stored_tuning(device.info()).value_or(Tuning{});
      if (command.forget)
        job.print(fmt::format("would forget what was measured on {}", device.info().name));
      else
        job.print(fmt::format("would measure {} on {} for about {:g} s, for {}{}",
                              fmt::join(classes_of(command.options), ", "), device.info().name, command.options.seconds,
                              scope_of(command.options), kept == Tuning{} ? "" : "; it was tuned before"));
      continue;
    }
    if (command.forget) {
      store_tuning(device.info(), {});
      use_tuning(device, {});
      job.say(fmt::format("{}: what was measured is forgotten", device.info().name));
      continue;
    }
    job.host().require(tune_host_bytes(device.info(), command.options), smaller);
    const TuneResult result = tune(device, command.options, job.run_options().progress);
    if (result.items.empty() && !result.left_out.empty()) {
      unfit.push_back(fmt::format("{}", fmt::join(result.left_out, "\n")));
      continue;
    }
    store_tuning(device.info(), result.tuning);
    use_tuning(device, result.tuning);
    results.push_back(tune_json(device, command.options, result));
    if (!command.json)
      job.print(heading(device.info().name, command.options, result) +
                (command.all_values ? all_values(result) + "\n" : "") + gains(result));
  }
  job.results()["tuning"] = results;
  if (command.json && !job.dry_run()) job.print(results.dump(2));
  if (!unfit.empty()) throw PlanError(fmt::format("no kernel was measured: {}\n{}", fmt::join(unfit, "\n"), smaller));
}

}  // namespace

std::unique_ptr<Command> tune_command() {
  auto sub = std::make_unique<Command>("tune", "Measure what is fastest on a device, and use that from now on");
  Settings& settings = sub->settings;
  auto command = std::make_shared<TuneCommand>();
  settings
      .add(
          "class", SettingKind::text,
          "Comma list of kinds of work: pdu, spdu, fdk, project; patches with --volume. Default: all but patches; with "
          "--volume fdk and project",
          [command](const std::vector<std::string>& words) { command->options.classes = words_of(words.front()); })
      .unit("LIST");
  settings
      .add("seconds", command->options.seconds,
           "About how long to measure, for each device: what would not fit is left out. Kernels are compiled to the "
           "end all the same, which may take seconds more the first time")
      .positive()
      .unit("S");
  settings
      .add("size", command->options.size,
           "Voxels along each edge of the test volumes. Default: 320 on GPUs, 96 on CPUs")
      .whole_from(8)
      .unit("N")
      .initial("");
  settings
      .add_list("volume", command->volume, "NX,NY,NZ", Numbers::sizes,
                "Voxels of the problem to tune for, of a patch for patches, with --detector and --views; what is found "
                "counts for problems of these powers of two alone. Default: all problems")
      .needs("detector")
      .excludes("size");
  settings.add_list("detector", command->detector, "NU,NV", Numbers::sizes, "Its detector's columns and rows")
      .needs("views");
  settings.add("views", command->views, "Its views, on a circle").whole_from(1, 65536).needs("volume").unit("N");
  settings.add("table", command->all_values, "Print every value that was measured, with its time and spread")
      .excludes("forget");
  settings.add("forget", command->forget, "Go back to the defaults instead").excludes("volume");
  settings.add("json", command->json, "Print JSON").excludes("forget");
  sub->footer =
      "Shapes of work-groups, slices of a work-item, views of a launch, forms of kernels, and how many iterations a\n"
      "pass pdu and spdu make. No result depends on them: the bits are the same. What was found is kept beside the\n"
      "compiled kernels, by device, driver, version and, with --volume, class of problem; the default stays where\n"
      "nothing is clearly faster. Times are sums over the launches of the shortest run; the spread is how much longer\n"
      "the run in the middle took. The first run on a GPU for which no defaults were measured does the same for two\n"
      "seconds, unless --no-tune is given.\n"
      "Examples:\n  halocline tune --device gpu --seconds 60\n  halocline tune --class fdk --volume 300,300,1200 "
      "--detector 300,1548 --views 3 --table";
  sub->run = [command](Job& job) { run(job, *command); };
  return sub;
}

}  // namespace halocline
