#include "algorithms/jobs/settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "algorithms/jobs/setting_values.hpp"
#include "host/system/error.hpp"

namespace halocline {
namespace {

std::string spelled(std::string name, char from, char to) {
  std::replace(name.begin(), name.end(), from, to);
  return name;
}

// For messages.
std::string in_backticks(const std::string& name) {
  return '`' + spelled(name, '-', '_') + '`';
}

bool is_true(const std::string& text) {
  return text == "true" || text == "1";
}

// Of text that was found right.
double number_of(const std::string& text) {
  return parsed_number(text).value_or(std::numeric_limits<double>::quiet_NaN());
}

bool is_whole(double value) {
  return value == std::floor(value) && std::abs(value) <= 0x1p53;
}

const char* default_unit(SettingKind kind) {
  switch (kind) {
    case SettingKind::flag:
      return "";
    case SettingKind::whole:
      return "INT";
    case SettingKind::number:
      return "FLOAT";
    default:
      return "TEXT";
  }
}

}  // namespace

Setting::Setting(std::string name, SettingKind kind, std::string help, Take take)
    : name_(std::move(name)), help_(std::move(help)), unit_(default_unit(kind)), kind_(kind), take_(std::move(take)) {
  if (kind == SettingKind::number) finite();
  if (kind == SettingKind::whole) whole_from(std::numeric_limits<std::int32_t>::min());
}

Setting& Setting::one_of(std::vector<std::string> words) {
  words_ = std::move(words);
  kind_ = SettingKind::word;
  expected_ = either(words_);
  good_ = [this](const std::string& text) { return std::find(words_.begin(), words_.end(), text) != words_.end(); };
  return *this;
}

Setting& Setting::finite() {
  expected_ = "a finite number";
  good_ = [](const std::string& text) { return parsed_number(text).has_value(); };
  return *this;
}

Setting& Setting::positive() {
  expected_ = "a positive number";
  good_ = [](const std::string& text) { return number_of(text) > 0; };
  return *this;
}

Setting& Setting::not_negative() {
  expected_ = "a number that is not negative";
  good_ = [](const std::string& text) { return number_of(text) >= 0; };
  return *this;
}

Setting& Setting::between(double least, double greatest) {
  expected_ = fmt::format("a number from {:g} to {:g}", least, greatest);
  good_ = [=](const std::string& text) {
    const double value = number_of(text);
    return value >= least && value <= greatest;
  };
  return *this;
}

Setting& Setting::whole_from(std::int64_t least, std::int64_t greatest) {
  constexpr std::int64_t bottom = std::numeric_limits<std::int32_t>::min(),
                         top = std::numeric_limits<std::int32_t>::max();
  expected_ = greatest < top   ? fmt::format("a whole number from {} to {}", least, greatest)
              : least > bottom ? fmt::format("a whole number of at least {}", least)
                               : "a whole number";
  good_ = [=](const std::string& text) {
    const auto value = parsed_number(text);
    return value && is_whole(*value) && *value >= static_cast<double>(least) && *value <= static_cast<double>(greatest);
  };
  return *this;
}

Setting& Setting::not_empty(std::string expected) {
  expected_ = std::move(expected);
  good_ = [](const std::string& text) { return !text.empty(); };
  return *this;
}

std::string Setting::expected(const std::string& text) const {
  if (kind_ == SettingKind::flag) {
    const bool right = is_true(text) || text == "false" || text == "0";
    return right ? "" : "true or false";
  }
  return !good_ || good_(text) ? "" : expected_;
}

void Setting::set(const std::string& text) {
  const std::string wanted = expected(text);
  if (!wanted.empty()) throw InputError({.what = in_backticks(name_), .found = '"' + text + '"', .expected = wanted});
  take_(text);
  given_ = true;
}

Setting& Settings::add(const std::string& name, SettingKind kind, const std::string& help, Setting::Take take) {
  return settings_.emplace_back(name, kind, help, std::move(take));
}

Setting& Settings::add(const std::string& name, bool& target, const std::string& help) {
  return add(name, SettingKind::flag, help, [&target](const std::string& text) { target = is_true(text); });
}

Setting& Settings::add(const std::string& name, int& target, const std::string& help) {
  return add(name, SettingKind::whole, help,
             [&target](const std::string& text) { target = static_cast<int>(number_of(text)); })
      .initial(fmt::to_string(target));
}

Setting& Settings::add(const std::string& name, std::uint64_t& target, const std::string& help) {
  return add(name, SettingKind::whole, help,
             [&target](const std::string& text) { target = static_cast<std::uint64_t>(number_of(text)); })
      .whole_from(0, std::int64_t{1} << 53)
      .initial(fmt::to_string(target));
}

Setting& Settings::add(const std::string& name, double& target, const std::string& help) {
  return add(name, SettingKind::number, help, [&target](const std::string& text) { target = number_of(text); })
      .initial(fmt::format("{:g}", target));
}

Setting& Settings::add(const std::string& name, std::string& target, const std::string& help) {
  return add(name, SettingKind::text, help, [&target](const std::string& text) { target = text; }).initial(target);
}

Setting& Settings::add(const std::string& name, std::optional<int>& target, const std::string& help) {
  return add(name, SettingKind::whole, help,
             [&target](const std::string& text) { target = static_cast<int>(number_of(text)); });
}

Setting& Settings::add(const std::string& name, std::optional<std::size_t>& target, const std::string& help) {
  return add(name, SettingKind::whole, help,
             [&target](const std::string& text) { target = static_cast<std::size_t>(number_of(text)); })
      .whole_from(0);
}

Setting& Settings::add(const std::string& name, std::optional<double>& target, const std::string& help) {
  return add(name, SettingKind::number, help, [&target](const std::string& text) { target = number_of(text); });
}

Setting& Settings::add(const std::string& name, std::vector<double>& target, const std::string& help) {
  return add(name, SettingKind::numbers, help,
             [&target, what = in_backticks(name)](const std::string& text) { target = parse_numbers(what, {text}); });
}

Setting* Settings::find(const std::string& name) {
  const std::string wanted = spelled(name, '_', '-');
  const auto found =
      std::find_if(settings_.begin(), settings_.end(), [&](const Setting& each) { return each.name() == wanted; });
  return found == settings_.end() ? nullptr : &*found;
}

void Settings::set(const std::string& job, const std::string& name, const std::string& text) {
  Setting* const setting = find(name);
  if (setting == nullptr)
    throw InputError(
        {.what = "the setting `" + name + "`", .found = fmt::format("none of {}", job), .expected = either(names())});
  setting->set(text);
}

bool Settings::given(const std::string& name) const {
  return std::any_of(settings_.begin(), settings_.end(),
                     [&](const Setting& each) { return each.name() == name && each.given(); });
}

void Settings::check_pairs() const {
  for (const Setting& setting : settings_) {
    if (!setting.given()) continue;
    if (!setting.needs().empty() && !given(setting.needs()))
      throw InputError(fmt::format("{} needs {}", in_backticks(setting.name()), in_backticks(setting.needs())));
    if (!setting.excludes().empty() && given(setting.excludes()))
      throw InputError(
          fmt::format("{} and {} exclude each other", in_backticks(setting.name()), in_backticks(setting.excludes())));
  }
}

std::vector<std::string> Settings::names() const {
  std::vector<std::string> result;
  for (const Setting& setting : settings_) result.push_back(setting.name());
  std::sort(result.begin(), result.end());
  return result;
}

std::string either(const std::vector<std::string>& words) {
  std::string text;
  for (std::size_t n = 0; n < words.size(); ++n)
    text += (n == 0 ? "" : n + 1 == words.size() ? " or " : ", ") + words[n];
  return text;
}

}  // namespace halocline
