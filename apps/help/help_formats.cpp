#include "apps/help/help_formats.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "apps/help/help_writers.hpp"
#include "host/system/error.hpp"

namespace halocline {
namespace {

using Files = std::vector<HelpFile>;

void add_below(const CommandEntry& command, std::vector<const CommandEntry*>& all) {
  all.push_back(&command);
  for (const auto& sub : command.subcommands) add_below(sub, all);
}
std::vector<const CommandEntry*> with_those_below(const CommandEntry& command) {
  std::vector<const CommandEntry*> all;
  add_below(command, all);
  return all;
}

Files man_files(const CommandTable& table, const CommandEntry& command) {
  Files files;
  for (const auto* each : with_those_below(command))
    files.push_back({each->whole_name("-") + ".1", man_page(table, *each)});
  return files;
}

Files rst_files(const CommandTable& table, const CommandEntry& command) {
  Files files;
  for (const auto* each : with_those_below(command))
    files.push_back({each->whole_name("-") + ".rst", rst_page(table, *each)});
  return files;
}

Files json_files(const CommandTable& table, const CommandEntry& command) {
  return {{command.whole_name("-") + ".json", help_json(table, command)}};
}

// A completion is of the whole command.
void require_whole(const std::string& format, const CommandEntry& command) {
  if (!command.path.empty())
    throw InputError(
        fmt::format("--as {} is of the whole command; leave '{}' out, or take --as man, json, rst or slicer for it",
                    format, command.key()));
}
Files bash_files(const CommandTable& table, const CommandEntry& command) {
  require_whole("bash", command);
  return {{"halocline", bash_completion(table)}};
}
Files zsh_files(const CommandTable& table, const CommandEntry& command) {
  require_whole("zsh", command);
  return {{"_halocline", zsh_completion(table)}};
}
Files fish_files(const CommandTable& table, const CommandEntry& command) {
  require_whole("fish", command);
  return {{"halocline.fish", fish_completion(table)}};
}

Files slicer_files(const CommandTable& table, const CommandEntry& command) {
  Files files;
  for (const auto* each : with_those_below(command)) {
    if (!suits_slicer(*each)) continue;
    files.push_back({slicer_module_name(*each) + ".xml", slicer_module(table, *each)});
    files.push_back({slicer_module_name(*each) + ".py", slicer_script(table, *each), true});
  }
  if (!files.empty()) return files;
  std::vector<std::string> suitable;
  for (const auto* each : table.commands())
    if (suits_slicer(*each)) suitable.push_back(each->key());
  throw InputError(
      fmt::format("'{}' does not make an image of one, so that it is no module of 3D Slicer; those are: {}",
                  command.whole_name(), fmt::join(suitable, ", ")));
}

struct Format {
  const char* name;
  Files (*files)(const CommandTable&, const CommandEntry&);
};
constexpr Format formats[] = {{"man", man_files},   {"bash", bash_files}, {"zsh", zsh_files},      {"fish", fish_files},
                              {"json", json_files}, {"rst", rst_files},   {"slicer", slicer_files}};

}  // namespace

std::vector<std::string> help_format_names() {
  std::vector<std::string> names;
  for (const auto& format : formats) names.emplace_back(format.name);
  return names;
}

Files help_files(const CommandTable& table, const std::string& format, const std::vector<std::string>& path) {
  const auto* found =
      std::find_if(std::begin(formats), std::end(formats), [&](const auto& each) { return each.name == format; });
  if (found == std::end(formats))
    throw InputError(fmt::format("--as is '{}'; the formats are: {}", format, fmt::join(help_format_names(), ", ")));
  return found->files(table, table.find(path));
}

std::string help_text(const CommandTable& table, const std::string& format, const std::vector<std::string>& path) {
  if (format == "slicer" && path.empty()) {
    std::vector<std::string> names;
    for (const auto& file : help_files(table, format, path))
      if (!file.executable) names.push_back(file.name.substr(0, file.name.find('.')));
    throw InputError(
        fmt::format("--as slicer prints the module of one subcommand, as in 'halocline help --as slicer denoise'; "
                    "--output FOLDER writes all: {}",
                    fmt::join(names, ", ")));
  }
  const auto files = help_files(table, format, path);
  if (format != "rst") return files.front().text;
  std::string all;
  for (const auto& file : files) all += (all.empty() ? "" : "\n") + file.text;
  return all;
}

}  // namespace halocline
