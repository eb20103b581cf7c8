#include "apps/help/help_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>

namespace halocline {

std::vector<std::string> remarks(const OptionEntry& option) {
  std::vector<std::string> result;
  const bool stated = option.description.find("Default") != std::string::npos ||
                      option.description.find("default") != std::string::npos;
  if (!option.default_value.empty() && !stated) result.push_back(fmt::format("Default: {}.", option.default_value));
  if (!option.needs.empty()) result.push_back(fmt::format("Needs {}.", fmt::join(option.needs, ", ")));
  if (!option.excludes.empty()) result.push_back(fmt::format("Not with {}.", fmt::join(option.excludes, ", ")));
  if (option.repeats) result.emplace_back("May be given several times.");
  return result;
}

std::vector<OptionGroup> grouped(const std::vector<OptionEntry>& options) {
  std::vector<OptionGroup> groups{{"", {}}};
  for (const auto& option : options) {
    auto found =
        std::find_if(groups.begin(), groups.end(), [&](const auto& each) { return each.name == option.group; });
    if (found == groups.end()) found = groups.insert(groups.end(), {option.group, {}});
    found->options.push_back(&option);
  }
  if (groups.front().options.empty()) groups.erase(groups.begin());
  return groups;
}

std::string value_text(const OptionEntry& option) {
  if (!option.takes_value()) return {};
  if (option.kind == ValueKind::choice) return fmt::format("{{{}}}", fmt::join(option.choices, "|"));
  return option.value_name;
}

std::string one_line(const std::string& text) {
  std::string result = text;
  std::replace(result.begin(), result.end(), '\n', ' ');
  return result;
}

std::string short_description(const std::string& description, std::size_t width) {
  std::string text = one_line(description.substr(0, description.find('\n')));
  const auto begins_sentence = [&](std::size_t dot) {  // unlike what is behind "e.g. "
    return dot + 2 < text.size() && std::isupper(static_cast<unsigned char>(text[dot + 2])) != 0;
  };
  auto dot = text.find(". ");
  while (dot != std::string::npos && !begins_sentence(dot)) dot = text.find(". ", dot + 1);
  text.resize(std::min(text.size(), dot));
  if (text.size() > width) {
    const auto space = text.rfind(' ', width);
    text.resize(space == std::string::npos ? width : space);
    text += " ...";
  }
  while (!text.empty() && (text.back() == '.' || text.back() == ':') && !text.ends_with("...")) text.pop_back();
  return text;
}

std::vector<const OptionEntry*> required_options(const CommandEntry& command) {
  std::vector<const OptionEntry*> result;
  for (const auto& option : command.options)
    if (option.required) result.push_back(&option);
  return result;
}

std::string escaped(std::string_view text, std::string_view characters, std::string_view escape) {
  std::string result;
  for (const char c : text) {
    if (characters.find(c) != characters.npos) result += escape;
    result += c;
  }
  return result;
}

std::string shell_quoted(std::string_view text, std::string_view quote) {
  std::string result = "'";
  for (const char c : text) {
    if (c == '\'')
      result += quote;
    else
      result += c;
  }
  return result + "'";
}

}  // namespace halocline
