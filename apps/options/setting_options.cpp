#include "apps/options/setting_options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <regex>

namespace halocline {
namespace {

// "`alpha = halves`" as "--alpha halves".
std::string with_flags(const std::string& help) {
  static const std::regex named("`([a-z_]+)( = )?([^`]*)`");
  std::string result;
  auto from = help.cbegin();
  for (std::sregex_iterator at(help.begin(), help.end(), named), end; at != end; ++at) {
    result.append(from, (*at)[0].first);
    result += flag_of((*at)[1]) + ((*at)[2].matched ? " " : "") + (*at)[3].str();
    from = (*at)[0].second;
  }
  return result.append(from, help.cend());
}

CLI::Option* add_option(CLI::App& app, Setting& setting) {
  const std::string flag = flag_of(setting.name()), help = with_flags(setting.help());
  if (setting.kind() == SettingKind::flag)
    return app.add_flag_function(
        flag, [&setting](std::int64_t count) { setting.set(count > 0 ? "true" : "false"); }, help);
  CLI::Option* option = nullptr;
  if (setting.most_words() > 1)
    option = app.add_option_function<std::vector<std::string>>(
                    flag,
                    [&setting](const std::vector<std::string>& words) {
                      setting.set(fmt::format("{}", fmt::join(words, ",")));
                    },
                    help)
                 ->expected(1, setting.most_words());
  else
    option = app.add_option_function<std::string>(
        flag, [&setting](const std::string& text) { setting.set(text); }, help);
  option->type_name(setting.unit());
  if (setting.kind() == SettingKind::word)
    option->check(CLI::IsMember(setting.words()));
  else if (setting.checked())
    option->check(CLI::Validator(
        [&setting](std::string& text) {
          const std::string expected = setting.expected(text);
          return expected.empty() ? "" : fmt::format("'{}' was given, expected {}", text, expected);
        },
        ""));
  return option->default_str(setting.initial());
}

}  // namespace

std::string flag_of(const std::string& setting) {
  std::string name = setting;
  std::replace(name.begin(), name.end(), '_', '-');
  return "--" + name;
}

std::vector<CLI::Option*> add_settings(CLI::App& app, Settings& settings) {
  std::vector<CLI::Option*> options;
  for (Setting& setting : settings.all()) {
    CLI::Option* const option = add_option(app, setting);
    if (!setting.group().empty()) option->group(setting.group());
    options.push_back(option);
  }
  for (std::size_t n = 0; n < options.size(); ++n) {
    const Setting& setting = settings.all()[n];
    if (!setting.needs().empty()) options[n]->needs(app.get_option(flag_of(setting.needs())));
    if (!setting.excludes().empty()) options[n]->excludes(app.get_option(flag_of(setting.excludes())));
  }
  return options;
}

}  // namespace halocline
