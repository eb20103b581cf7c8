#include "apps/options/setting_options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <map>

#include "apps/job/option_names.hpp"

namespace halocline {
namespace {

CLI::Option* add_option(CLI::App& app, Setting& setting) {
  const std::string flags = setting.flags(), help = in_options(setting.help(), "");
  if (setting.kind() == SettingKind::flag)
    return app.add_flag_function(
        flags, [&setting](std::int64_t count) { setting.set({count > 0 ? "true" : "false"}); }, help);
  // CLI11 takes the next option for a value where a list of numbers is too short: words are read here.
  CLI::Option* const option =
      setting.most_words() > 1
          ? app.add_option_function<std::vector<std::string>>(
                flags, [&setting](const std::vector<std::string>& words) { setting.set(words); }, help)
          : app.add_option_function<std::string>(
                flags, [&setting](const std::string& text) { setting.set({text}); }, help);
  if (setting.most_words() > 1 && !setting.repeats()) option->expected(1, setting.most_words());
  option->type_name(setting.unit())->required(setting.is_required())->default_str(setting.initial());
  const bool word = setting.kind() == SettingKind::word;
  if (word && setting.file_suffix().empty()) return option->check(CLI::IsMember(setting.words()));
  if (!setting.checked()) return option;
  return option->check(CLI::Validator(
      [&setting](std::string& text) {
        const std::string expected = setting.expected(text);
        return expected.empty() ? "" : fmt::format("'{}' was given, expected {}", text, expected);
      },
      word ? fmt::format("{{{},FILE{}}}", fmt::join(setting.words(), ","), setting.file_suffix()) : ""));
}

}  // namespace

void add_settings(CLI::App& app, Settings& settings) {
  std::map<std::string, CLI::Option*> options;
  for (Setting& setting : settings.all()) {
    CLI::Option* const option = options[setting.name()] = add_option(app, setting);
    if (!setting.group().empty()) option->group(setting.group());
  }
  for (const Setting& setting : settings.all()) {
    if (!setting.needs().empty()) options.at(setting.name())->needs(options.at(setting.needs()));
    for (const std::string& other : setting.excludes()) options.at(setting.name())->excludes(options.at(other));
  }
}

}  // namespace halocline
