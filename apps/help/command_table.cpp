#include "apps/help/command_table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <sstream>

#include "apps/images/image_format.hpp"
#include "apps/job/option_names.hpp"
#include "host/system/error.hpp"

namespace halocline {
namespace {

constexpr ExitCode codes[] = {
    {0, "done"}, {2, "a wrong command line or input, or too little device memory"}, {1, "anything else"}};

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, at);) parts.push_back(part);
  return parts;
}

// Words beside the file's name in a unit such as "FILE|halves|estimate".
std::vector<std::string> words_of_unit(const std::string& unit) {
  std::vector<std::string> words = split(unit, '|');
  std::erase_if(words, [](const std::string& word) {
    return std::any_of(word.begin(), word.end(), [](unsigned char c) { return std::isupper(c) != 0; });
  });
  return words;
}

ValueKind kind_of(const Setting& setting) {
  if (setting.file().kind != FileKind::none) return ValueKind::file;
  if (setting.unit() == "FOLDER") return ValueKind::folder;
  switch (setting.kind()) {
    case SettingKind::flag:
      return ValueKind::none;
    case SettingKind::whole:
      return ValueKind::whole_number;
    case SettingKind::number:
      return ValueKind::number;
    case SettingKind::word:
      return ValueKind::choice;
    default:
      return ValueKind::text;
  }
}

// "-i", then "--input".
std::vector<std::string> names_of(const Setting& setting) {
  std::vector<std::string> names = split(setting.flags(), ',');
  std::stable_partition(names.begin(), names.end(), [](const std::string& name) { return !name.starts_with("--"); });
  return names;
}

bool names(const std::vector<std::string>& list, const Setting& setting) {
  return std::find(list.begin(), list.end(), setting.name()) != list.end();
}

OptionEntry option_entry(const Settings& settings, const Setting& setting) {
  OptionEntry entry;
  entry.positional = setting.is_positional();
  entry.names = names_of(setting);
  entry.required = setting.is_required();
  entry.group = setting.group();
  entry.description = in_options(setting.help(), "");
  for (const Setting& other : settings.all()) {
    if (other.name() == setting.needs()) entry.needs.push_back(other.option());
    if (names(setting.excludes(), other) || names(other.excludes(), setting)) entry.excludes.push_back(other.option());
  }
  entry.kind = kind_of(setting);
  if (entry.kind == ValueKind::none) return entry;
  entry.value_name = setting.unit();
  entry.repeats = setting.repeats();
  entry.default_value = setting.initial();
  if (entry.kind == ValueKind::choice) {
    entry.choices = setting.words();
    return entry;
  }
  entry.expects = setting.expected("?");
  entry.file = setting.file();
  if (entry.kind == ValueKind::file) entry.words = words_of_unit(setting.unit());
  if (!setting.also().empty()) entry.words = setting.also();
  return entry;
}

// Paragraphs and, behind a line "Example:", indented command lines.
void take_footer(const std::string& footer, CommandEntry& entry) {
  std::string paragraph;
  const auto end_paragraph = [&] {
    if (!paragraph.empty()) entry.notes.push_back(std::move(paragraph));
    paragraph.clear();
  };
  for (const auto& line : split(footer, '\n')) {
    if (line.starts_with("  ")) {
      entry.examples.push_back(line.substr(line.find_first_not_of(' ')));
    } else if (line.empty() || line.starts_with("Exit codes: ") || line == "Example:" || line == "Examples:") {
      end_paragraph();
    } else {
      paragraph += (paragraph.empty() ? "" : " ") + line;
    }
  }
  end_paragraph();
}

OptionEntry flag_entry(std::vector<std::string> names, std::string description) {
  OptionEntry entry;
  entry.names = std::move(names);
  entry.description = std::move(description);
  return entry;
}

OptionEntry help_entry() {
  return flag_entry({"-h", "--help"}, "Print this help and exit");
}

void add_options(const Settings& settings, CommandEntry& entry) {
  for (const Setting& setting : settings.all()) entry.options.push_back(option_entry(settings, setting));
}

CommandEntry command_entry(const Command& command, std::vector<std::string> path) {
  CommandEntry entry;
  entry.path = std::move(path);
  entry.description = command.about;
  take_footer(command.footer, entry);
  entry.options.push_back(help_entry());
  add_options(command.settings, entry);
  for (const auto& sub : command.subcommands) {
    auto below = entry.path;
    below.push_back(sub->name);
    entry.subcommands.push_back(command_entry(*sub, std::move(below)));
  }
  return entry;
}

void add_commands(const CommandEntry& entry, std::vector<const CommandEntry*>& all) {
  all.push_back(&entry);
  for (const auto& sub : entry.subcommands) add_commands(sub, all);
}

std::vector<std::string> names_below(const CommandEntry& entry) {
  std::vector<std::string> names;
  for (const auto& sub : entry.subcommands) names.push_back(sub.path.back());
  for (const auto& sub : entry.subcommands)
    for (const auto& name : names_below(sub))
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  return names;
}

void give_names_of_subcommands(CommandEntry& entry, const std::vector<std::string>& names) {
  for (auto& option : entry.options)
    if (option.value_name == "SUBCOMMAND") option.words = names;
  for (auto& sub : entry.subcommands) give_names_of_subcommands(sub, names);
}

}  // namespace

const std::string& OptionEntry::name() const {
  const auto found = std::find_if(names.begin(), names.end(), [](const auto& each) { return each.starts_with("--"); });
  return found == names.end() ? names.front() : *found;
}

std::string CommandEntry::key() const {
  return fmt::format("{}", fmt::join(path, " "));
}

std::string CommandEntry::whole_name(std::string_view separator) const {
  std::string result = "halocline";
  for (const auto& name : path) result.append(separator).append(name);
  return result;
}

std::vector<OptionEntry> CommandTable::common_options() const {
  std::vector<OptionEntry> result;
  std::copy_if(root.options.begin(), root.options.end(), std::back_inserter(result),
               [](const auto& option) { return option.common; });
  return result;
}

std::vector<const CommandEntry*> CommandTable::commands() const {
  std::vector<const CommandEntry*> result;
  add_commands(root, result);
  return result;
}

const CommandEntry& CommandTable::find(const std::vector<std::string>& path) const {
  const CommandEntry* level = &root;
  for (const auto& name : path) {
    const auto& subs = level->subcommands;
    const auto found = std::find_if(subs.begin(), subs.end(), [&](const auto& sub) { return sub.path.back() == name; });
    if (found != subs.end()) {
      level = &*found;
      continue;
    }
    if (subs.empty())
      throw InputError(fmt::format("'{}' has no subcommands, and '{}' was given behind it; leave that out",
                                   level->whole_name(), name));
    std::vector<std::string> names;
    for (const auto& sub : subs) names.push_back(sub.path.back());
    throw InputError(fmt::format("there is no subcommand '{}' of '{}'; the subcommands are: {}", name,
                                 level->whole_name(), fmt::join(names, ", ")));
  }
  return *level;
}

CommandTable command_table(const Settings& common, const std::vector<const Command*>& commands) {
  CommandTable table{HALOCLINE_VERSION, {}};
  table.root.description = program_about;
  take_footer(program_footer, table.root);
  table.root.options = {flag_entry({"-V", "--version"}, "Display program version information and exit"), help_entry()};
  add_options(common, table.root);
  for (std::size_t n = 2; n < table.root.options.size(); ++n) table.root.options[n].common = true;
  for (const Command* command : commands) table.root.subcommands.push_back(command_entry(*command, {command->name}));
  give_names_of_subcommands(table.root, names_below(table.root));
  return table;
}

std::span<const ExitCode> exit_codes() {
  return codes;
}

std::string exit_codes_text() {
  std::string result = "Exit codes: ";
  for (const auto& [code, meaning] : codes)
    result += fmt::format("{}{} {}", &meaning == &codes[0].meaning ? "" : "; ", code, meaning);
  return result + ".";
}

std::vector<std::string> extensions(const FileUse& file) {
  switch (file.kind) {
    case FileKind::image:
      return image_extensions(file.written);
    case FileKind::geometry:
      if (file.written) return {".xml", ".txt"};
      return {".xml", ".txt", ".xtekct", ".pca", ".h5", ".hdf5"};
    case FileKind::picture:
      return {".png"};
    case FileKind::json:
      return {".json"};
    case FileKind::text:
      return {".txt"};
    default:
      return {};
  }
}

}  // namespace halocline
