// Completion for fish.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "apps/help/help_text.hpp"
#include "apps/help/help_writers.hpp"

namespace halocline {
namespace {

constexpr const char* fish_head = R"(# Completion of halocline for fish. Written by halocline help --as fish.

# Whether these are the subcommands on the command line.
function __halocline_at
    set -l words (commandline -opc)
    set -e words[1]
    set -l path
    for word in $words
        if contains -- $word (__halocline_subcommands $path)
            set -a path $word
        end
    end
    test "$path" = "$argv"
end

# Files that end so, and folders; all files where there are none such.
function __halocline_files
    set -l files (__fish_complete_path (commandline -ct))
    set -l found (string match -r -i -- "^[^\t]*(?:/|[.](?:$argv))(?:\t.*)?\$" $files)
    if test (count $found) -gt 0
        printf '%s\n' $found
    else
        printf '%s\n' $files
    end
end

)";

std::string fish_quoted(std::string_view text) {
  return fmt::format("'{}'", escaped(text, "\\'", "\\"));
}

std::string files_action(const OptionEntry& option) {
  std::vector<std::string> patterns;
  for (const auto& extension : extensions(option.file)) patterns.push_back(escaped(extension.substr(1), ".", "\\"));
  std::string words;
  for (const auto& word : option.words) words += word + " ";
  if (patterns.empty()) return words.empty() ? " -F" : " -F -a " + fish_quoted(words);
  return " -f -k -a " + fish_quoted(fmt::format("{}(__halocline_files \"{}\")", words, fmt::join(patterns, "|")));
}

std::string value_part(const OptionEntry& option) {
  if (!option.takes_value()) return {};
  std::string result = option.positional ? "" : " -r";
  if (option.kind == ValueKind::file) return result + files_action(option);
  if (option.kind == ValueKind::folder) return result + " -f -a '(__fish_complete_directories)'";
  const auto& words = option.kind == ValueKind::choice ? option.choices : option.words;
  result += " -f";
  return words.empty() ? result : result + " -a " + fish_quoted(fmt::format("{}", fmt::join(words, " ")));
}

std::string option_line(const std::string& condition, const OptionEntry& option) {
  std::string line = "complete -c halocline" + condition;
  if (!option.positional)
    for (const auto& name : option.names)
      line += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  line += value_part(option);
  return line + " -d " + fish_quoted(short_description(option.description)) + "\n";
}

std::string subcommands_function(const CommandTable& table) {
  std::string result = "function __halocline_subcommands\n    switch \"$argv\"\n";
  for (const auto* command : table.commands()) {
    std::vector<std::string> names;
    for (const auto& sub : command->subcommands) names.push_back(sub.path.back());
    if (!names.empty())
      result += fmt::format("        case {}\n            printf '%s\\n' {}\n", fish_quoted(command->key()),
                            fmt::join(names, " "));
  }
  return result + "    end\nend\n\n";
}

}  // namespace

std::string fish_completion(const CommandTable& table) {
  std::string result = fish_head + subcommands_function(table) + "complete -c halocline -f\n";
  for (const auto& option : table.common_options()) result += option_line("", option);
  for (const auto* command : table.commands()) {
    const std::string at = fmt::format("__halocline_at{}{}", command->path.empty() ? "" : " ", command->key()),
                      condition = fmt::format(" -n {}", fish_quoted(at));
    for (const auto& sub : command->subcommands)
      result += fmt::format("complete -c halocline{} -a {} -d {}\n", condition, sub.path.back(),
                            fish_quoted(short_description(sub.description)));
    for (const auto& option : command->options)
      if (!option.common) result += option_line(condition, option);
  }
  return result;
}

}  // namespace halocline
