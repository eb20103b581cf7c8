#include "apps/help/command_table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <sstream>

#include "algorithms/denoise/parameter_choice.hpp"
#include "host/system/error.hpp"

namespace halocline {
namespace {

constexpr ExitCode codes[] = {
    {0, "done"}, {2, "a wrong command line or input, or too little device memory"}, {1, "anything else"}};

// What the parser does not know of options that name files. The first row that fits counts; an option with FILE for its
// value and without a row here reads an image.
struct FileRow {
  std::string_view command, option;
  FileUse use;
};
constexpr FileRow file_rows[] = {
    {"geometry convert", "--input", {FileKind::geometry}},
    {"geometry", "--output", {FileKind::geometry, true}},
    {"preview", "--output", {FileKind::picture, true}},
    {"slices", "--output", {FileKind::image, true, true}},
    {"slices", "--variance-out", {FileKind::image, true, true}},
    {"help", "--output", {}},
    {"view", "--output", {FileKind::any, true}},
    {"", "--output", {FileKind::image, true}},
    {"", "--variance-out", {FileKind::image, true}},
    {"", "--undenoised", {FileKind::image, true}},
    {"", "--gap-map", {FileKind::image, true}},
    {"", "--halves-out", {FileKind::image, true, true}},
    {"", "--halves", {FileKind::image, false, true}},
    {"", "--png", {FileKind::picture, true}},
    {"", "--plot", {FileKind::picture, true}},
    {"", "--report", {FileKind::json, true}},
    {"", "--html", {FileKind::any, true}},
    {"", "--trace", {FileKind::json, true}},
    {"", "--checkpoint", {FileKind::any, true}},
    {"", "--machine", {FileKind::json}},
    {"", "--angles", {FileKind::text}},
    {"", "--geometry", {FileKind::geometry}},
    {"", "geometry", {FileKind::geometry}},
};

const FileRow* file_row(const std::string& command, const OptionEntry& option) {
  for (const auto& row : file_rows) {
    const bool same_command = row.command.empty() || command == row.command ||
                              command.compare(0, row.command.size() + 1, fmt::format("{} ", row.command)) == 0;
    if (same_command && option.name() == row.option) return &row;
  }
  return nullptr;
}

bool is_word(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return std::islower(c) != 0 || std::isdigit(c) != 0 || c == '-';
  });
}

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, at);) parts.push_back(part);
  return parts;
}

std::vector<CLI::Validator*> validators_of(CLI::Option& option) {
  std::vector<CLI::Validator*> result;
  try {
    for (int n = 0;; ++n) result.push_back(option.get_validator(n));
  } catch (const CLI::OptionNotFound&) {  // there are no more
  }
  return result;
}

bool accepts(const std::vector<CLI::Validator*>& validators, const std::string& text) {
  return std::all_of(validators.begin(), validators.end(), [&](const auto* each) { return (*each)(text).empty(); });
}

// A parser of numbers refuses words; one of whole numbers refuses fractions as well.
ValueKind kind_by_trial(const std::vector<CLI::Validator*>& validators) {
  const auto any = [&](std::initializer_list<const char*> texts) {
    return std::any_of(texts.begin(), texts.end(), [&](const char* text) { return accepts(validators, text); });
  };
  if (validators.empty() || any({"word", "?"})) return ValueKind::text;
  if (any({"0.5", "1.5", "-0.5"})) return ValueKind::number;
  return any({"0", "1", "8", "100", "1000"}) ? ValueKind::whole_number : ValueKind::text;
}

std::string expectation(const std::vector<CLI::Validator*>& validators) {
  constexpr std::string_view before = "'?' was given, expected ";
  for (const auto* each : validators) {
    const std::string text = (*each)("?");
    if (text.starts_with(before)) return text.substr(before.size());
    if (!each->get_description().empty()) return each->get_description();
  }
  return {};
}

// Words that only the subcommands know.
void add_words(const std::string& command, OptionEntry& entry) {
  if (entry.name() == "--device") entry.words = {"all", "cpu", "gpu", "accelerator"};
  if (command == "denoise" && entry.name() == "--alpha") {
    entry.words = parameter_rules();
    entry.words.emplace_back("target");
  }
}

void take_value(CLI::Option& option, const std::string& command, OptionEntry& entry) {
  const auto validators = validators_of(option);
  std::string type = option.get_type_name();
  for (const auto* each : validators) {
    const std::string text = each->get_description();
    if (text.size() > 2 && text.front() == '{' && text.back() == '}')
      entry.choices = split(text.substr(1, text.size() - 2), ',');
    if (!text.empty()) type.resize(std::min(type.size(), type.find(":" + text)));
  }
  entry.value_name = type;
  const auto* row = file_row(command, entry);
  if (!entry.choices.empty()) {
    entry.kind = ValueKind::choice;
    return;
  }
  entry.expects = expectation(validators);
  const auto parts = split(type, '|');
  const auto has = [&](std::string_view part) { return std::find(parts.begin(), parts.end(), part) != parts.end(); };
  if (type == "INT" || type == "UINT" || type == "FLOAT") {
    entry.kind = type == "FLOAT" ? ValueKind::number : ValueKind::whole_number;
  } else if (has("FOLDER")) {
    entry.kind = ValueKind::folder;
  } else if (has("FILE") || (row != nullptr && row->use.several)) {
    entry.kind = ValueKind::file;
    entry.file = row != nullptr ? row->use : FileUse{FileKind::image};
    std::copy_if(parts.begin(), parts.end(), std::back_inserter(entry.words), is_word);
  } else {
    entry.kind = kind_by_trial(validators);
  }
  add_words(command, entry);
}

// In the order in which the parser has them: sets of pointers have another in every run.
std::vector<std::string> names_of(const std::set<CLI::Option*>& options, const CLI::App& app) {
  std::vector<std::string> result;
  for (auto* each : app.get_options())
    if (options.contains(const_cast<CLI::Option*>(each))) result.push_back(each->get_name());
  return result;
}

OptionEntry option_entry(CLI::Option& option, const CLI::App& app, const std::string& command) {
  OptionEntry entry;
  entry.positional = option.get_positional();
  for (const auto& name : option.get_snames()) entry.names.push_back("-" + name);
  for (const auto& name : option.get_lnames()) entry.names.push_back("--" + name);
  if (entry.positional) entry.names = {option.get_name(true)};
  entry.required = option.get_required();
  entry.group = option.get_group() == "Options" || option.get_group() == "Positionals" ? "" : option.get_group();
  entry.description = option.get_description();
  entry.needs = names_of(option.get_needs(), app);
  entry.excludes = names_of(option.get_excludes(), app);
  if (option.get_items_expected_max() == 0) return entry;
  take_value(option, command, entry);
  entry.repeats = option.get_expected_max() >= CLI::detail::expected_max_vector_size;
  entry.default_value = option.get_default_str() == "[]" ? "" : option.get_default_str();
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

CommandEntry command_entry(CLI::App& app, std::vector<std::string> path) {
  CommandEntry entry;
  entry.path = std::move(path);
  entry.description = app.get_description();
  take_footer(app.get_footer(), entry);
  const std::string command = entry.key();
  for (auto* option : app.get_options())
    if (!option->get_group().empty()) entry.options.push_back(option_entry(*option, app, command));
  for (auto* sub : app.get_subcommands([](CLI::App*) { return true; })) {
    if (sub->get_group().empty()) continue;
    auto below = entry.path;
    below.push_back(sub->get_name());
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

CommandTable command_table(CLI::App& app) {
  CommandTable table{HALOCLINE_VERSION, command_entry(app, {})};
  give_names_of_subcommands(table.root, names_below(table.root));
  for (auto& option : table.root.options) option.common = option.name() != "--help" && option.name() != "--version";
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
      if (file.written) return {".mha", ".mhd", ".raw", ".nrrd", ".nii", ".nii.gz", ".tif", ".tiff"};
      return {".mha",    ".mhd", ".raw", ".nrrd", ".nhdr", ".nii", ".nii.gz", ".hdr",
              ".img.gz", ".img", ".tif", ".tiff", ".dcm",  ".h5",  ".hdf5"};
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
