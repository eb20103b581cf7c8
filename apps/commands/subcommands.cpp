#include "apps/commands/subcommands.hpp"

#include <fmt/format.h>

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
    {"preview", preview_command},
    {"view", view_command},
    {"bench", bench_command},
    {"tune", tune_command},
    {"plan", plan_command},
};

}  // namespace

std::vector<std::unique_ptr<Command>> make_commands() {
  std::vector<std::unique_ptr<Command>> result;
  for (const Maker& each : makers) result.push_back(each.make());
  return result;
}

std::unique_ptr<Command> make_command(std::string_view name) {
  for (const Maker& each : makers)
    if (each.name == name) return each.make();
  throw InputError(fmt::format("there is no verb '{}'", name));
}

}  // namespace halocline
