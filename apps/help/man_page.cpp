// Manual pages: troff with the macros of man(7).
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cctype>
#include <utility>

#include "apps/help/help_text.hpp"
#include "apps/help/help_writers.hpp"

namespace halocline {
namespace {

// Characters that troff would make something else of: a hyphen, typographic quotes, accents.
std::string troff(std::string_view text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '\\':
        result += "\\e";
        break;
      case '-':
        result += "\\-";
        break;
      case '\'':
        result += "\\(aq";
        break;
      case '`':
        result += "\\(ga";
        break;
      case '^':
        result += "\\(ha";
        break;
      case '~':
        result += "\\(ti";
        break;
      case '"':
        result += "\\(dq";
        break;
      default:
        result += c;
    }
  }
  return result;
}

// Lines of text: none may begin like a request, and those that the text has are kept.
std::string paragraph(std::string_view text) {
  std::string result;
  while (true) {
    const auto end = std::min(text.find('\n'), text.size());
    const auto line = text.substr(0, end);
    result += (line.starts_with('.') ? "\\&" : "") + troff(line) + "\n";
    if (end == text.size()) return result;
    result += ".br\n";
    text.remove_prefix(end + 1);
  }
}

std::string bold(std::string_view text) {
  return "\\fB" + troff(text) + "\\fR";
}
std::string italic(std::string_view text) {
  return "\\fI" + troff(text) + "\\fR";
}

std::string names_and_value(const OptionEntry& option) {
  std::string result;
  if (!option.positional)
    for (const auto& name : option.names) result += (result.empty() ? "" : ", ") + bold(name);
  if (!option.takes_value()) return result;
  if (!result.empty()) result += ' ';
  if (option.kind != ValueKind::choice) {
    result += italic(option.value_name);
  } else {
    std::vector<std::string> choices;
    for (const auto& choice : option.choices) choices.push_back(bold(choice));
    result += fmt::format("{}", fmt::join(choices, "|\\:"));  // a line may break there
  }
  return result;
}

std::string option_text(const OptionEntry& option) {
  std::string result = ".TP\n" + names_and_value(option) + "\n" + paragraph(option.description);
  std::string more = option.required ? "Required." : "";
  for (const auto& remark : remarks(option)) more += (more.empty() ? "" : " ") + remark;
  if (!more.empty()) result += ".br\n" + paragraph(more);
  return result;
}

std::string man_options(const std::vector<OptionEntry>& options) {
  std::string result;
  for (const auto& group : grouped(options)) {
    if (!group.name.empty()) result += fmt::format(".SS \"{}\"\n", troff(group.name));
    for (const auto* option : group.options) result += option_text(*option);
  }
  return result;
}

std::string synopsis(const CommandEntry& command) {
  std::string line = bold(command.whole_name());
  for (const auto* option : required_options(command)) {
    line += ' ';
    if (!option->positional) line += bold(option->names.front()) + " ";
    line += option->kind == ValueKind::choice ? italic("NAME") : italic(option->value_name);
  }
  line += fmt::format(" [{}]", italic("OPTIONS"));
  if (!command.subcommands.empty()) line += fmt::format(" {}", italic("SUBCOMMAND"));
  return line + "\n";
}

std::string page_reference(const CommandEntry& command) {
  return bold(command.whole_name("-")) + "(1)";
}

std::string man_subcommands(const CommandEntry& command) {
  if (command.subcommands.empty()) return {};
  std::string result = ".SH SUBCOMMANDS\n";
  for (const auto& sub : command.subcommands)
    result += fmt::format(".TP\n{}\n{}", bold(sub.path.back()), paragraph(sub.description));
  return result;
}

std::string examples_text(const CommandEntry& command) {
  if (command.examples.empty()) return {};
  std::string result = ".SH EXAMPLES\n";
  for (const auto& example : command.examples) result += ".PP\n.nf\n.RS\n" + paragraph(example) + ".RE\n.fi\n";
  return result;
}

std::string exit_status_text() {
  std::string result = ".SH \"EXIT STATUS\"\n";
  for (const auto& [code, meaning] : exit_codes())
    result += fmt::format(".TP\n{}\n{}", bold(std::to_string(code)), paragraph(meaning));
  return result;
}

std::string environment_text() {
  std::string result = ".SH ENVIRONMENT\n";
  for (const auto& [name, meaning] :
       {std::pair("HALOCLINE_DEVICE", "What --device stands for if it is not given."),
        {"HALOCLINE_CACHE_DIR",
         "Folder of compiled kernels and tuning results. Default: $XDG_CACHE_HOME/halocline or ~/.cache/halocline."},
        {"HALOCLINE_CL_PATH", "Folder whose kernel sources replace the embedded ones."},
        {"HALOCLINE_KEEP_MEMORY", "0: return device memory after each job instead of keeping it for the next."}})
    result += fmt::format(".TP\n{}\n{}", bold(name), paragraph(meaning));
  return result;
}

std::string see_also(const CommandTable& table, const CommandEntry& command) {
  std::string result;
  const auto add = [&](const CommandEntry& other) {
    if (&other != &command) result += (result.empty() ? "" : ",\n") + page_reference(other);
  };
  if (!command.path.empty()) add(table.root);
  if (command.path.size() > 1) {
    const auto& parent = table.find({command.path.begin(), command.path.end() - 1});
    add(parent);
    for (const auto& sub : parent.subcommands) add(sub);
  }
  for (const auto& sub : command.subcommands) add(sub);
  return ".SH \"SEE ALSO\"\n" + result + "\n";
}

}  // namespace

std::string man_page(const CommandTable& table, const CommandEntry& command) {
  const bool whole = command.path.empty();
  std::string name = command.whole_name("-"), title = name;
  for (char& c : title) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  std::string page = fmt::format(
      ".\\\" Written by halocline help --as man.\n.TH {} 1 \"\" \"halocline {}\" \"Halocline Manual\"\n"
      ".nh\n.ad l\n.SH NAME\n{} \\- {}\n.SH SYNOPSIS\n{}",
      troff(title), table.version, troff(name), troff(one_line(command.description)), synopsis(command));
  page += ".SH DESCRIPTION\n" + paragraph(command.description + (command.description.ends_with('.') ? "" : "."));
  for (const auto& note : command.notes) page += ".PP\n" + paragraph(note);
  page += man_subcommands(command);
  page += ".SH OPTIONS\n";
  page += whole ? "All subcommands take these, too, except \\-\\-version.\n"
                : fmt::format("Options that all subcommands take ({}, {}, {}, ...) are in {}.\n", bold("--device"),
                              bold("--dry-run"), bold("--report"), page_reference(table.root));
  page += man_options(command.options);
  page += examples_text(command);
  page += exit_status_text();
  if (whole) page += environment_text();
  return page + see_also(table, command);
}

}  // namespace halocline
