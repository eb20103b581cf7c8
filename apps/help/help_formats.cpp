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
        fmt::format("--as {} is of the whole command; leave '{}' out, or take --as man, json or rst for it", format,
                    command.key()));
}
Files bash_files(const CommandTable& table, const CommandEntry& command) {
  require_whole("bash", command);
  return {{"halocline", bash_completion(table)}};
}
Files zsh_files(const CommandTable& table, const CommandEntry& command) {
  require_whole("zsh", command);
  return {{"_halocline", zsh_completion(table)}};
}

struct Format {
  const char* name;
  Files (*files)(const CommandTable&, const CommandEntry&);
};
constexpr Format formats[] = {
    {"man", man_files}, {"bash", bash_files}, {"zsh", zsh_files}, {"json", json_files}, {"rst", rst_files}};

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
  const auto files = help_files(table, format, path);
  if (format != "rst") return files.front().text;
  std::string all;
  for (const auto& file : files) all += (all.empty() ? "" : "\n") + file.text;
  return all;
}

}  // namespace halocline
