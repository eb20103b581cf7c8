// halocline help
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>

#include "apps/commands/subcommands.hpp"
#include "apps/help/help_formats.hpp"
#include "apps/images/atomic_file.hpp"
#include "apps/job/job.hpp"
#include "host/system/error.hpp"
#include "host/system/plural.hpp"

namespace halocline {
namespace {

namespace fs = std::filesystem;

struct HelpCommand {
  std::string format, output;
  std::vector<std::string> path;
};

void make_folder(const std::string& folder) {
  std::error_code code;
  fs::create_directories(folder, code);
  if (!fs::is_directory(folder))
    throw InputError(fmt::format("-o '{}' is no folder and cannot be made{}; give another", folder,
                                 code ? ": " + code.message() : ""));
}

void write_files(Job& job, const HelpCommand& command, const std::vector<HelpFile>& files) {
  if (job.dry_run()) {
    for (const auto& file : files)
      job.print(fmt::format("would write {}", (fs::path(command.output) / file.name).string()));
    return;
  }
  make_folder(command.output);
  for (const auto& file : files) job.output("-o", (fs::path(command.output) / file.name).string());
  for (const auto& file : files) {
    const std::string path = (fs::path(command.output) / file.name).string();
    write_file_atomically(path, [&](std::ostream& out) { out << file.text; });
  }
  job.say(fmt::format("{}: {}", command.output, plural(files.size(), "file", "files")));
}

// Job::print() would make flags of parameters in backticks, which are markup here.
void print(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0)
    throw FileError(fmt::format("the standard output could not be written: {}", std::strerror(errno)));
}

// The text of --help, with the names of the commands above in its usage.
std::string plain_text(CLI::App& app, const std::vector<std::string>& path) {
  std::string above;
  CLI::App* level = &app;
  for (const auto& name : path) {
    above += (above.empty() ? "" : " ") + level->get_name();
    level = level->get_subcommand(name);
  }
  return level->help(above);
}

CommandTable whole_table(CLI::App& app, Settings& common) {
  const auto commands = make_commands();
  const auto help = help_command(app, common);
  std::vector<const Command*> all;
  for (const auto& each : commands) all.push_back(each.get());
  all.push_back(help.get());
  return command_table(common, all);
}

void run_help(Job& job, CLI::App& app, Settings& common, const HelpCommand& command) {
  const CommandTable table = whole_table(app, common);
  if (command.format.empty()) {
    table.find(command.path);  // reports wrong names
    return print(plain_text(app, command.path));
  }
  if (!command.output.empty()) return write_files(job, command, help_files(table, command.format, command.path));
  print(help_text(table, command.format, command.path));
}

}  // namespace

std::unique_ptr<Command> help_command(CLI::App& app, Settings& common) {
  auto sub =
      std::make_unique<Command>("help", "Help of a subcommand, also as manual pages and as completion for shells");
  Settings& settings = sub->settings;
  auto command = std::make_shared<HelpCommand>();
  settings.add("subcommand", command->path, "The subcommand, as in geometry circular. Default: the whole command")
      .positional()
      .unit("SUBCOMMAND")
      .initial("");
  settings
      .add("as", command->format,
           "man: a manual page; bash, zsh: completion of the whole command; json: all options with their types and "
           "defaults; rst: a page of reStructuredText. Default: plain text")
      .one_of(help_format_names());
  settings
      .add("output", command->output,
           "Write files there instead of printing: of man and rst a page for each subcommand")
      .named("-o,--output")
      .needs("as")
      .unit("FOLDER");
  sub->footer =
      "Example:\n  halocline help geometry circular\n  halocline help --as man fdk | man -l -\n"
      "  halocline help --as bash -o ~/.local/share/bash-completion/completions";
  sub->run = [&app, &common, command](Job& job) { run_help(job, app, common, *command); };
  return sub;
}

}  // namespace halocline
