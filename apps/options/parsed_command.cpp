#include "apps/options/parsed_command.hpp"

namespace halocline {

const CLI::App& innermost(const CLI::App& app) {
  const CLI::App* level = &app;
  while (!level->get_subcommands().empty()) level = level->get_subcommands().front();
  return *level;
}

std::string command_name(const CLI::App& app) {
  std::string name;
  for (const CLI::App* level = &app; !level->get_subcommands().empty();) {
    level = level->get_subcommands().front();
    name += (name.empty() ? "" : " ") + level->get_name();
  }
  return name;
}

}  // namespace halocline
