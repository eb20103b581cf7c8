// One function a subcommand: it adds the subcommand's options to the parser and, when they are parsed, leaves in
// `action` what is to be done.
#pragma once

#include <functional>
#include <span>
#include <string_view>

namespace CLI {
class App;
}

namespace halocline {

class Job;
using Action = std::function<void(Job&)>;

void add_devices(CLI::App& app, Action& action);
void add_phantom(CLI::App& app, Action& action);
void add_geometry(CLI::App& app, Action& action);
void add_project(CLI::App& app, Action& action);
void add_backproject(CLI::App& app, Action& action);
void add_noise(CLI::App& app, Action& action);
void add_counts(CLI::App& app, Action& action);
void add_fdk(CLI::App& app, Action& action);
void add_reconstruct(CLI::App& app, Action& action);
void add_slices(CLI::App& app, Action& action);
void add_noise_map(CLI::App& app, Action& action);
void add_denoise(CLI::App& app, Action& action);
void add_metrics(CLI::App& app, Action& action);
void add_preview(CLI::App& app, Action& action);
void add_view(CLI::App& app, Action& action);
void add_bench(CLI::App& app, Action& action);
void add_tune(CLI::App& app, Action& action);
void add_plan(CLI::App& app, Action& action);
void add_help(CLI::App& app, Action& action);

/// Does it and finishes the job, also where it throws.
void carry_out(const Action& action, Job& job);

struct Subcommand {
  std::string_view name;
  void (*add)(CLI::App& app, Action& action);
};
/// All of them, in the order in which help lists them.
std::span<const Subcommand> subcommands();

}  // namespace halocline
