#include "apps/commands/subcommands.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <sstream>

#include "apps/job/job.hpp"
#include "host/system/error.hpp"

namespace halocline {

void carry_out(const Action& action, Job& job) {
  try {
    action(job);
  } catch (...) {
    job.finish(true);
    throw;
  }
  job.finish(false);
}

namespace {

struct Maker {
  std::string_view name;
  std::unique_ptr<Command> (*make)();
};
constexpr Maker makers[] = {
    {"devices", devices_command},
    {"phantom", phantom_command},
    {"geometry", geometry_command},
    {"project", project_command},
    {"backproject", backproject_command},
    {"noise", noise_command},
    {"counts", counts_command},
    {"fdk", fdk_command},
    {"reconstruct", reconstruct_command},
    {"slices", slices_command},
    {"noise-map", noise_map_command},
    {"denoise", denoise_command},
    {"metrics", metrics_command},
    {"plot", plot_command},
    {"preview", preview_command},
    {"view", view_command},
    {"bench", bench_command},
    {"tune", tune_command},
    {"plan", plan_command},
    {"kernel", kernel_command},
};

}  // namespace

std::vector<std::unique_ptr<Command>> make_commands() {
  std::vector<std::unique_ptr<Command>> result;
  for (const Maker& each : makers) result.push_back(each.make());
  return result;
}

NamedCommand make_named_command(const std::string& name) {
  std::istringstream words(name);
  std::string word;
  words >> word;
  NamedCommand result;
  std::vector<std::string> names;
  for (const Maker& each : makers) {
    names.emplace_back(each.name);
    if (each.name == word) result.root = each.make();
  }
  result.command = result.root.get();
  while (result.command != nullptr && !result.command->subcommands.empty()) {
    names.clear();
    word.clear();
    words >> word;
    Command* below = nullptr;
    for (const auto& each : result.command->subcommands) {
      names.push_back(result.root->name + " " + each->name);
      if (each->name == word) below = each.get();
    }
    result.command = below;
  }
  if (result.command == nullptr || words >> word)
    throw InputError(fmt::format("there is no verb '{}'; there are {}", name, fmt::join(names, ", ")));
  return result;
}

}  // namespace halocline
