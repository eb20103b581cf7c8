// A page of the reference in reStructuredText; docutils and Sphinx read it.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>

#include "apps/help/help_text.hpp"
#include "apps/help/help_writers.hpp"

namespace halocline {
namespace {

bool in_flag(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-';
}

// Plain text without markup, but flags as literals: "--" would become a dash.
std::string rst(std::string_view text) {
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    const bool begins = at == 0 || text[at - 1] == ' ' || text[at - 1] == '(' || text[at - 1] == '\n';
    if (begins && text.substr(at).starts_with("--")) {
      auto end = at;
      while (end < text.size() && in_flag(text[end])) ++end;
      const bool ends = end == text.size() || std::string_view(" .,;:)?\n").find(text[end]) != std::string_view::npos;
      if (end > at + 2 && ends) {
        result += fmt::format("``{}``", text.substr(at, end - at));
        at = end;
        continue;
      }
    }
    const std::size_t length = text.substr(at).starts_with("--") ? 2 : 1;
    result += escaped(text.substr(at, length), length == 2 ? "-" : "\\*`|_", "\\");
    at += length;
  }
  return result;
}

std::string heading(const std::string& text, char line) {
  return fmt::format("{}\n{}\n\n", text, std::string(text.size(), line));
}

// A description whose own line breaks are kept.
std::string body(const std::string& text, std::string_view indent) {
  const bool lines = text.find('\n') != std::string::npos;
  std::string result = fmt::format("{}{}", indent, lines ? "| " : "");
  for (const char c : rst(text)) {
    result += c;
    if (c == '\n') result += fmt::format("{}| ", indent);
  }
  return result + "\n";
}

std::string term(const OptionEntry& option) {
  std::vector<std::string> names;
  const std::string value = value_text(option);
  for (const auto& name : option.names)
    names.push_back(option.positional ? value : name + (value.empty() ? "" : " " + value));
  return fmt::format("``{}``", fmt::join(names, "``, ``"));
}

std::string rst_options(const std::vector<OptionEntry>& options) {
  std::string result;
  for (const auto& group : grouped(options)) {
    if (!group.name.empty()) result += fmt::format("**{}**\n\n", rst(group.name));
    for (const auto* option : group.options) {
      result += term(*option) + "\n" + body(option->description, "    ");
      auto more = remarks(*option);
      if (option->required) more.insert(more.begin(), "Required.");
      if (!more.empty()) result += fmt::format("\n{}", body(fmt::format("{}", fmt::join(more, " ")), "    "));
      result += '\n';
    }
  }
  return result;
}

std::string rst_subcommands(const CommandEntry& command) {
  if (command.subcommands.empty()) return {};
  std::string result = heading("Subcommands", '-');
  for (const auto& sub : command.subcommands)
    result += fmt::format("``{}``\n{}\n", sub.path.back(), body(sub.description, "    "));
  return result;
}

}  // namespace

std::string rst_page(const CommandTable& table, const CommandEntry& command) {
  const bool whole = command.path.empty();
  std::string page = whole ? "" : fmt::format(".. _{}:\n\n", command.whole_name("-"));  // headings are targets, too
  page += heading(command.whole_name(), '=');
  page += rst(one_line(command.description)) + (command.description.ends_with('.') ? "\n\n" : ".\n\n");
  for (const auto& note : command.notes) page += rst(note) + "\n\n";
  if (!command.examples.empty()) {
    page += heading("Examples", '-') + ".. code-block:: sh\n\n";
    for (const auto& example : command.examples) page += "    " + example + "\n";
    page += "\n";
  }
  page += rst_subcommands(command) + heading("Options", '-') + rst_options(command.options);
  if (whole) {
    page += heading("Exit codes", '-');
    for (const auto& [code, meaning] : exit_codes()) page += fmt::format("``{}``\n    {}\n\n", code, rst(meaning));
  } else {
    std::vector<std::string> names;
    for (const auto& option : table.common_options()) names.push_back("``" + option.name() + "``");
    page += fmt::format("All subcommands also take {}.\n", fmt::join(names, ", "));
  }
  return page;
}

}  // namespace halocline
