#include "apps/commands/command_line.hpp"

#include <CLI/CLI.hpp>

#include "apps/options/setting_options.hpp"

namespace halocline {

void add_command(CLI::App& app, Command& command, Command*& chosen) {
  CLI::App* const sub = app.add_subcommand(command.name, command.about);
  add_settings(*sub, command.settings);
  sub->footer(command.footer);
  for (const auto& each : command.subcommands) add_command(*sub, *each, chosen);
  if (command.subcommands.empty())
    sub->callback([&command, &chosen] { chosen = &command; });
  else
    sub->require_subcommand(1);
}

}  // namespace halocline
