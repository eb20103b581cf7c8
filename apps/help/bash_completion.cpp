// Completion for bash. It needs bash 4.4 or later, and no other package.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>

#include "apps/help/help_text.hpp"
#include "apps/help/help_writers.hpp"

namespace halocline {
namespace {

constexpr const char* bash_head = R"(# Completion of halocline for bash. Written by halocline help --as bash.

)";

// Candidates for a word. _halocline_value leaves what it finds in the variables of _halocline.
constexpr const char* tail = R"bash(
# Files that end so, and folders; all files where there are none such.
_halocline_files() {
  local pattern=$1 before= part=$current file path
  local -a all found=()
  if [[ -n $several && $current == *,* ]]; then
    before=${current%,*},
    part=${current##*,}
  fi
  mapfile -t all < <(compgen -f -- "$part")
  for file in "${all[@]}"; do
    path=${file/#\~\//$HOME/}
    if [[ -d $path || -z $pattern || ${file,,} =~ \.($pattern)$ ]]; then found+=("$before$file"); fi
  done
  if ((${#found[@]} == 0 && ${#COMPREPLY[@]} == 0)); then found=("${all[@]/#/$before}"); fi
  COMPREPLY+=("${found[@]}")
  compopt -o filenames 2>/dev/null
}

_halocline_words() {
  local before=
  if [[ -n $several && $current == *,* ]]; then before=${current%,*},; fi
  mapfile -t COMPREPLY < <(compgen -P "$before" -W "$1" -- "${current#"$before"}")
}

_halocline() {
  local current=${COMP_WORDS[COMP_CWORD]} command= option= kind= words= files= many= several= word
  local -i count=0
  local -a given=("${COMP_WORDS[@]:1:COMP_CWORD-1}")
  COMPREPLY=()
  if [[ $current == '=' ]]; then current=; fi  # --option=value comes as three words
  for word in "${given[@]}"; do
    if [[ $word == '=' ]]; then continue; fi
    if [[ $word == -?* && ! $word =~ ^-[0-9.] ]]; then
      option=$word count=0
      _halocline_value
      continue
    fi
    count+=1
    if [[ -n $kind ]] && ((count == 1 || ${many:-0})); then continue; fi
    option= kind=
    if [[ " $(_halocline_subcommands) " == *" $word "* ]]; then command+=${command:+ }$word; fi
  done
  if [[ -z $kind || $current == -* || (count -gt 0 && -z $many) ]]; then
    option= several=
    if [[ $current == -* ]]; then
      _halocline_words "$(_halocline_options)"
      return
    fi
    words=$(_halocline_subcommands)
    if [[ -n $words ]]; then
      _halocline_words "$words"
      return
    fi
    _halocline_value
    if [[ -z $kind ]]; then
      _halocline_words "$(_halocline_options)"
      return
    fi
  fi
  if [[ -n $words ]]; then _halocline_words "$words"; fi
  case $kind in
    file) _halocline_files "$files" ;;
    folder)
      mapfile -t COMPREPLY < <(compgen -d -- "$current")
      compopt -o filenames 2>/dev/null
      ;;
  esac
}

complete -F _halocline halocline
)bash";

std::string file_variable(const FileUse& file) {
  switch (file.kind) {
    case FileKind::image:
      return file.written ? "written_image" : "image";
    case FileKind::geometry:
      return file.written ? "written_geometry" : "geometry";
    case FileKind::picture:
      return "picture";
    case FileKind::json:
      return "json";
    case FileKind::text:
      return "text";
    default:
      return {};
  }
}

std::string name_variables() {
  std::string result;
  for (const FileUse& file : named_files) {
    std::vector<std::string> patterns;
    for (const auto& extension : extensions(file)) patterns.push_back(escaped(extension.substr(1), ".", "\\"));
    result += fmt::format("_halocline_{}='{}'\n", file_variable(file), fmt::join(patterns, "|"));
  }
  return result;
}

// An assignment of what the option takes.
std::string value_of(const OptionEntry& option) {
  const bool list = option.file.several || option.name() == "--device";
  std::string result = option.kind == ValueKind::file     ? "kind=file"
                       : option.kind == ValueKind::folder ? "kind=folder"
                                                          : "kind=value";
  const auto& words = option.kind == ValueKind::choice ? option.choices : option.words;
  result += fmt::format(" words={}", shell_quoted(fmt::format("{}", fmt::join(words, " "))));
  const std::string variable = file_variable(option.file);
  result += variable.empty() ? " files=" : fmt::format(" files=$_halocline_{}", variable);
  return result + (option.repeats ? " many=1" : " many=") + (list ? " several=1" : " several=");
}

// Rows of a case over "$command $option"; equal ones of a subcommand in one row.
std::string value_rows(const std::string& command, const std::vector<OptionEntry>& options) {
  std::string result;
  for (const auto& option : options) {
    if (!option.takes_value()) continue;
    std::vector<std::string> patterns;
    for (const auto& name : option.names)
      patterns.push_back(option.common ? fmt::format("*' {}'", name)
                                       : shell_quoted(command + " " + (option.positional ? "" : name)));
    result += fmt::format("    {}) {} ;;\n", fmt::join(patterns, "|"), value_of(option));
  }
  return result;
}

std::string option_names(const std::vector<OptionEntry>& options) {
  std::vector<std::string> names;
  for (const auto& option : options)
    if (!option.positional) names.insert(names.end(), option.names.begin(), option.names.end());
  return fmt::format("{}", fmt::join(names, " "));
}

}  // namespace

std::string bash_completion(const CommandTable& table) {
  std::string subcommands = "_halocline_subcommands() {\n  case $command in\n",
              options = "_halocline_options() {\n  case $command in\n",
              values = "_halocline_value() {\n  kind=\n  case \"$command $option\" in\n";
  for (const auto* command : table.commands()) {
    std::vector<std::string> names;
    for (const auto& sub : command->subcommands) names.push_back(sub.path.back());
    if (!names.empty())
      subcommands += fmt::format("    {}) echo {} ;;\n", shell_quoted(command->key()), fmt::join(names, " "));
    options += fmt::format("    {}) echo {} ;;\n", shell_quoted(command->key()), option_names(command->options));
    if (!command->path.empty()) values += value_rows(command->key(), command->options);
  }
  values += value_rows("", table.common_options());
  options +=
      fmt::format("  esac\n  if [[ -n $command ]]; then echo {}; fi\n}}\n\n", option_names(table.common_options()));
  return bash_head + name_variables() + "\n" + subcommands + "  esac\n}\n\n" + options + values + "  esac\n}\n" + tail;
}

}  // namespace halocline
