// The subcommands: of each its settings and what it does.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "apps/options/subcommand.hpp"

namespace CLI {
class App;
}

namespace halocline {

std::unique_ptr<Command> devices_command();
std::unique_ptr<Command> phantom_command();
std::unique_ptr<Command> geometry_command();
std::unique_ptr<Command> project_command();
std::unique_ptr<Command> backproject_command();
std::unique_ptr<Command> noise_command();
std::unique_ptr<Command> counts_command();
std::unique_ptr<Command> fdk_command();
std::unique_ptr<Command> reconstruct_command();
std::unique_ptr<Command> slices_command();
std::unique_ptr<Command> noise_map_command();
std::unique_ptr<Command> denoise_command();
std::unique_ptr<Command> metrics_command();
std::unique_ptr<Command> plot_command();
std::unique_ptr<Command> preview_command();
std::unique_ptr<Command> view_command();
std::unique_ptr<Command> bench_command();
std::unique_ptr<Command> tune_command();
std::unique_ptr<Command> plan_command();
std::unique_ptr<Command> kernel_command();
/// app: the whole command, whose common settings these are.
std::unique_ptr<Command> help_command(CLI::App& app, Settings& common);

/// Does it and finishes the job, also where it throws.
void carry_out(const Action& action, Job& job);

/// All but help, in the order in which help lists them.
std::vector<std::unique_ptr<Command>> make_commands();
/// One of these or of those below, as "geometry find-axis".
struct NamedCommand {
  std::unique_ptr<Command> root;  ///< which owns it
  Command* command = nullptr;
};
/// Throws InputError that lists those that there are.
NamedCommand make_named_command(const std::string& name);

}  // namespace halocline
