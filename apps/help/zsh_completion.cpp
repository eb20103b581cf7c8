// Completion for zsh, on its function _arguments.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "apps/help/help_text.hpp"
#include "apps/help/help_writers.hpp"

namespace halocline {
namespace {

std::string function_name(const CommandEntry& command) {
  return fmt::format("_{}", command.whole_name("_"));
}

std::string kind_of(const FileUse& file) {
  switch (file.kind) {
    case FileKind::image:
      return file.written ? "written-image" : "image";
    case FileKind::geometry:
      return file.written ? "written-geometry" : "geometry";
    case FileKind::picture:
      return "picture";
    case FileKind::json:
      return "json";
    case FileKind::text:
      return "text";
    default:
      return "any";
  }
}

// Candidates for the value. A leading space keeps _arguments from adding words of its own.
std::string action(const OptionEntry& option) {
  if (option.kind == ValueKind::choice) return fmt::format("({})", fmt::join(option.choices, " "));
  if (option.kind == ValueKind::folder) return "_files -/";
  if (option.kind == ValueKind::file) {
    std::string words = option.file.several ? " several" : " one";
    for (const auto& word : option.words) words += " " + word;
    return " _halocline_file " + kind_of(option.file) + words;
  }
  if (option.name() == "--device") return fmt::format("_sequence compadd - {}", fmt::join(option.words, " "));
  return option.words.empty() ? " " : fmt::format("({})", fmt::join(option.words, " "));
}

std::string value_spec(const OptionEntry& option) {
  return fmt::format(":{}:{}", escaped(option.value_name, ":", "\\"), action(option));
}

// One word for _arguments for each name, in lines that end so.
constexpr const char* continued = " \\\n";
std::string option_specs(const OptionEntry& option, const char* end = continued) {
  if (option.positional) {
    return fmt::format("    {}{}", shell_quoted(fmt::format("{}{}", option.repeats ? "*" : "1", value_spec(option))),
                       end);
  }
  std::string result;
  const std::string others = fmt::format("({})", fmt::join(option.names, " "));
  const std::string text = escaped(short_description(option.description), "[]:\\", "\\");
  for (const auto& name : option.names) {
    std::string spec = (option.repeats ? "*" : others) + name;
    if (option.takes_value() && name.starts_with("--")) spec += "=";
    spec += "[" + text + "]";
    if (option.takes_value()) spec += value_spec(option);
    result += fmt::format("    {}{}", shell_quoted(spec), end);
  }
  return result;
}

std::string leaf_function(const CommandEntry& command) {
  std::string result = function_name(command) + "() {\n  _arguments \\\n";
  for (const auto& option : command.options) result += option_specs(option);
  return result + "    \"${common[@]}\"\n}\n\n";
}

std::string branch_function(const CommandTable& table, const CommandEntry& command) {
  std::string result =
      function_name(command) + "() {\n  local curcontext=$curcontext state line\n  local -a commands\n";
  if (command.path.empty()) {  // all others see it
    result += "  local -a common\n  common=(\n";
    for (const auto& option : table.common_options()) result += option_specs(option, "\n");
    result += "  )\n";
  }
  result += "  typeset -A opt_args\n  commands=(\n";
  for (const auto& sub : command.subcommands)
    result +=
        "    " + shell_quoted(sub.path.back() + ":" + escaped(short_description(sub.description), ":\\", "\\")) + "\n";
  result += "  )\n  _arguments -C \\\n";
  for (const auto& option : command.options)
    if (!option.common) result += option_specs(option);
  result += "    \"${common[@]}\" '1:subcommand:->subcommand' '*:: :->rest' && return\n  case $state in\n";
  result += "    subcommand) _describe -t commands subcommand commands ;;\n    rest)\n      case $words[1] in\n";
  for (const auto& sub : command.subcommands)
    result += fmt::format("        {}) {} ;;\n", sub.path.back(), function_name(sub));
  return result + "      esac ;;\n  esac\n}\n\n";
}

std::string file_function() {
  std::string result =
      "# Files of a kind, one or several with commas between, and words that may stand for one.\n"
      "_halocline_file() {\n  local kind=$1 several=$2 pattern='*'\n  shift 2\n  case $kind in\n";
  for (const FileUse& file : named_files) {
    std::vector<std::string> names;
    for (const auto& extension : extensions(file)) names.push_back(extension.substr(1));
    result += fmt::format("    {}) pattern='*.({})(-.)' ;;\n", kind_of(file), fmt::join(names, "|"));
  }
  return result +
         "  esac\n  [[ $several == several ]] && compset -P '*,'\n"
         "  if (( $# )); then\n    _alternative \"words:word:($*)\" \"files:file:_files -g '$pattern'\"\n"
         "  else\n    _files -g $pattern\n  fi\n}\n\n";
}

}  // namespace

std::string zsh_completion(const CommandTable& table) {
  std::string result =
      "#compdef halocline\n# Completion of halocline for zsh. Written by halocline help --as zsh.\n\n" +
      file_function();
  for (const auto* command : table.commands())
    result += command->subcommands.empty() ? leaf_function(*command) : branch_function(table, *command);
  return result + "_halocline \"$@\"\n";
}

}  // namespace halocline
