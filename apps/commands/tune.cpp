// halocline tune
#include "algorithms/calibration/tune.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>
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
  bool forget = false, json = false;
};

std::string table(const std::string& device, const TuneResult& result) {
  std::size_t wide = 6;
  for (const auto& item : result.items) wide = std::max(wide, item.name.size());
  std::string text =
      fmt::format("{}, {:.1f} s\n{:<8}  {:<{}}  {:<22}  {:<22}  {:>10}  {:>10}  {:>6}\n", device, result.seconds,
                  "class", "kernel", wide, "before", "now", "ms before", "ms now", "times");
  for (const auto& item : result.items)
    text += fmt::format("{:<8}  {:<{}}  {:<22}  {:<22}  {:>10.3f}  {:>10.3f}  {:>6.2f}\n", item.tune_class, item.name,
                        wide, item.before, item.changed() ? item.after : "the same", 1e3 * item.seconds_before,
                        1e3 * item.seconds_after, item.seconds_before / item.seconds_after);
  if (result.items.empty()) text += "no kernel was measured\n";
  for (const auto& line : result.left_out) text += "left out: " + line + "\n";
  return text;
}

nlohmann::json tune_json(const Device& device, const TuneResult& result) {
  nlohmann::json json{{"device", device_json(device.info())},
                      {"seconds", result.seconds},
                      {"left_out", result.left_out},
                      {"items", nlohmann::json::array()}};
  for (const auto& item : result.items)
    json["items"].push_back({{"class", item.tune_class},
                             {"name", item.name},
                             {"before", item.before},
                             {"after", item.after},
                             {"seconds_before", item.seconds_before},
                             {"seconds_after", item.seconds_after}});
  return json;
}

void run(Job& job, const TuneCommand& command) {
  auto results = nlohmann::json::array();
  std::vector<std::string> unfit;
  for (const Device& device : job.devices()) {
    if (job.dry_run()) {
      const auto kept = stored_tuning(device.info()).value_or(Tuning{});
      if (command.forget)
        job.print(fmt::format("would forget what was measured on {}", device.info().name));
      else
        job.print(
            fmt::format("would measure {} on {} for about {:g} s{}",
                        fmt::join(command.options.classes.empty() ? tune_classes() : command.options.classes, ", "),
                        device.info().name, command.options.seconds, kept == Tuning{} ? "" : "; it was tuned before"));
      continue;
    }
    if (command.forget) {
      store_tuning(device.info(), {});
      use_tuning(device, {});
      job.say(fmt::format("{}: what was measured is forgotten", device.info().name));
      continue;
    }
    job.host().require(tune_host_bytes(device.info(), command.options), smaller_size);
    const TuneResult result = tune(device, command.options, job.run_options().progress);
    if (result.items.empty() && !result.left_out.empty()) {
      unfit.push_back(fmt::format("{}", fmt::join(result.left_out, "\n")));
      continue;
    }
    store_tuning(device.info(), result.tuning);
    use_tuning(device, result.tuning);
    results.push_back(tune_json(device, result));
    if (!command.json) job.print(table(device.info().name, result));
  }
  job.results()["tuning"] = results;
  if (command.json && !job.dry_run()) job.print(results.dump(2));
  if (!unfit.empty())
    throw PlanError(fmt::format("no kernel was measured: {}\n{}", fmt::join(unfit, "\n"), smaller_size));
}

}  // namespace

std::unique_ptr<Command> tune_command() {
  auto sub = std::make_unique<Command>("tune", "Measure what is fastest on a device, and use that from now on");
  Settings& settings = sub->settings;
  auto command = std::make_shared<TuneCommand>();
  settings
      .add("class", SettingKind::text, "Comma list of kinds of work: pdu, spdu, fdk, project. Default: all",
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
  settings.add("forget", command->forget, "Go back to the defaults instead");
  settings.add("json", command->json, "Print JSON").excludes("forget");
  sub->footer =
      "Shapes of work-groups, and how many iterations a pass pdu and spdu make. No result depends on them: the bits "
      "are the\n"
      "same. What was found is kept beside the compiled kernels, by device, driver and version; the default stays "
      "where\n"
      "nothing is clearly faster. The first run on a GPU for which no defaults were measured does the same for two "
      "seconds,\n"
      "unless --no-tune is given.\n"
      "Example:\n  halocline tune --device gpu --seconds 60";
  sub->run = [command](Job& job) { run(job, *command); };
  return sub;
}

}  // namespace halocline
