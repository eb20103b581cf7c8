#include "algorithms/jobs/settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "algorithms/jobs/setting_values.hpp"
#include "host/system/error.hpp"

namespace halocline {
namespace {

std::string spelled(std::string name, char from, char to) {
  std::replace(name.begin(), name.end(), from, to);
  return name;
}

// The name as messages have it.
std::string in_backticks(const std::string& name) {
  return '`' + spelled(name, '-', '_') + '`';
}

bool is_true(const std::string& text) {
  return text == "true" || text == "1";
}

// The value of text that was found right.
double number_of(const std::string& text) {
  return parsed_number(text).value_or(std::numeric_limits<double>::quiet_NaN());
}

bool is_whole(double value) {
  return value == std::floor(value) && std::abs(value) <= 0x1p53;
}

// All 64 bits, of which a double has 53.
std::optional<std::uint64_t> whole_of(const std::string& text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
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
  by_kind_ = !checks_.empty();
}

std::string Setting::id() const {
  return spelled(name_, '-', '_');
}

Setting& Setting::require(std::string expected, std::function<bool(const std::string&)> good) {
  if (std::exchange(by_kind_, false)) checks_.clear();
  checks_.push_back({std::move(expected), std::move(good)});
  return *this;
}

Setting& Setting::one_of(std::vector<std::string> words) {
  words_ = std::move(words);
  kind_ = SettingKind::word;
  return require(either(words_), [this](const std::string& text) {
    const bool file = !suffix_.empty() && text.ends_with(suffix_);
    return file || std::find(words_.begin(), words_.end(), text) != words_.end();
  });
}

Setting& Setting::or_file(std::string suffix) {
  suffix_ = std::move(suffix);
  checks_.back().expected += ", or a file that ends in " + suffix_;
  return *this;
}

Setting& Setting::finite() {
  return require("a finite number", [](const std::string& text) { return parsed_number(text).has_value(); });
}

Setting& Setting::positive() {
  return require("a positive number", [](const std::string& text) { return number_of(text) > 0; });
}

Setting& Setting::not_negative() {
  return require("a number that is not negative", [](const std::string& text) { return number_of(text) >= 0; });
}

Setting& Setting::between(double least, double greatest) {
  return require(fmt::format("a number from {:g} to {:g}", least, greatest), [=](const std::string& text) {
    const double value = number_of(text);
    return value >= least && value <= greatest;
  });
}

Setting& Setting::whole_from(std::int64_t least, std::int64_t greatest) {
  constexpr std::int64_t bottom = std::numeric_limits<std::int32_t>::min(),
                         top = std::numeric_limits<std::int32_t>::max();
  return require(greatest < top   ? fmt::format("a whole number from {} to {}", least, greatest)
                 : least > bottom ? fmt::format("a whole number of at least {}", least)
                                  : "a whole number",
                 [=](const std::string& text) {
                   const auto value = parsed_number(text);
                   return value && is_whole(*value) && *value >= static_cast<double>(least) &&
                          *value <= static_cast<double>(greatest);
                 });
}

Setting& Setting::whole_of_64_bits() {
  return require(fmt::format("a whole number from 0 to {}", std::numeric_limits<std::uint64_t>::max()),
                 [](const std::string& text) { return whole_of(text).has_value(); });
}

Setting& Setting::not_empty(std::string expected) {
  return require(std::move(expected), [](const std::string& text) { return !text.empty(); });
}

Setting& Setting::file(FileKind kind, bool written, bool several) {
  file_ = {kind, written, several};
  return unit_ == default_unit(kind_) ? unit("FILE") : *this;
}

FileUse Setting::file() const {
  const bool names_file = unit_ == "FILE" || unit_.starts_with("FILE|") || unit_.ends_with("|FILE");
  return names_file && file_.kind == FileKind::none ? FileUse{FileKind::image} : file_;
}

std::string Setting::expected(const std::string& text) const {
  if (kind_ == SettingKind::flag) {
    const bool right = is_true(text) || text == "false" || text == "0";
    return right ? "" : "true or false";
  }
  for (const Check& check : checks_)
    if (!check.good(text)) return check.expected;
  return "";
}

void Setting::set(const std::vector<std::string>& words) {
  for (const std::string& text : words)
    if (const std::string wanted = expected(text); !wanted.empty())
      throw InputError({.what = in_backticks(name_), .found = '"' + text + '"', .expected = wanted});
  take_(words);
  value_ = words;
  given_ = true;
}

Setting& Settings::add(const std::string& name, SettingKind kind, const std::string& help, Setting::Take take) {
  return settings_.emplace_back(name, kind, help, std::move(take));
}

Setting& Settings::add(const std::string& name, bool& target, const std::string& help) {
  return add(name, SettingKind::flag, help, [&target](const auto& words) { target = is_true(words.front()); });
}

Setting& Settings::add(const std::string& name, int& target, const std::string& help) {
  return add(name, SettingKind::whole, help,
             [&target](const auto& words) { target = static_cast<int>(number_of(words.front())); })
      .initial(fmt::to_string(target));
}

Setting& Settings::add(const std::string& name, std::uint64_t& target, const std::string& help) {
  return add(name, SettingKind::whole, help, [&target](const auto& words) { target = *whole_of(words.front()); })
      .whole_of_64_bits()
      .by_default()
      .initial(fmt::to_string(target));
}

Setting& Settings::add(const std::string& name, double& target, const std::string& help) {
  return add(name, SettingKind::number, help, [&target](const auto& words) { target = number_of(words.front()); })
      .initial(fmt::format("{:g}", target));
}

Setting& Settings::add(const std::string& name, std::string& target, const std::string& help) {
  return add(name, SettingKind::text, help, [&target](const auto& words) { target = words.front(); }).initial(target);
}

Setting& Settings::add(const std::string& name, std::optional<int>& target, const std::string& help) {
  return add(name, SettingKind::whole, help,
             [&target](const auto& words) { target = static_cast<int>(number_of(words.front())); });
}

Setting& Settings::add(const std::string& name, std::optional<std::size_t>& target, const std::string& help) {
  return add(name, SettingKind::whole, help,
             [&target](const auto& words) {
               const auto whole = whole_of(words.front());  // of a "1e6" the number
               target = whole ? *whole : static_cast<std::size_t>(number_of(words.front()));
             })
      .whole_from(0)
      .by_default();
}

Setting& Settings::add(const std::string& name, std::optional<double>& target, const std::string& help) {
  return add(name, SettingKind::number, help, [&target](const auto& words) { target = number_of(words.front()); });
}

Setting& Settings::add(const std::string& name, std::vector<double>& target, const std::string& help) {
  return add(name, SettingKind::numbers, help,
             [&target, what = in_backticks(name)](const auto& words) { target = parse_numbers(what, words); });
}

Setting* Settings::find(const std::string& name) {
  const std::string wanted = spelled(name, '_', '-');
  const auto found =
      std::find_if(settings_.begin(), settings_.end(), [&](const Setting& each) { return each.name() == wanted; });
  return found == settings_.end() ? nullptr : &*found;
}

Setting& Settings::add_bytes(const std::string& name, std::size_t& target, const std::string& help) {
  return add(name, SettingKind::bytes, help,
             [&target, what = in_backticks(name)](const auto& words) { target = parse_bytes(what, words.front()); });
}

Setting& Settings::add(const std::string& name, std::vector<std::string>& target, const std::string& help) {
  return add(name, SettingKind::text, help, [&target](const auto& words) { target = words; })
      .at_most(Setting::any_number);
}

Setting& Settings::add_numbers(const std::string& name, std::size_t count, const std::string& names, Numbers numbers,
                               const std::string& help, std::function<void(const std::vector<double>&)> take) {
  const std::string what = in_backticks(name);
  return add(name, SettingKind::numbers, help,
             [=, take = std::move(take)](const std::vector<std::string>& words) {
               const auto values = parse_numbers(what, words, count, names);
               if (numbers == Numbers::positive) require_positive(what, values);
               if (numbers == Numbers::sizes) require_whole(what, values, 1);
               if (numbers == Numbers::indices) require_whole(what, values, 0);
               take(values);
             })
      .at_most(static_cast<int>(count))
      .unit(names);
}

void Settings::set(const std::string& job, const std::string& name, const std::vector<std::string>& words) {
  Setting* const setting = find(name);
  if (setting == nullptr)
    throw InputError(
        {.what = "the setting `" + name + "`", .found = fmt::format("none of {}", job), .expected = either(names())});
  setting->set(words);
}

bool Settings::given(const std::string& name) const {
  return std::any_of(settings_.begin(), settings_.end(),
                     [&](const Setting& each) { return each.name() == name && each.given(); });
}

void Settings::check(bool required) const {
  for (const Setting& setting : settings_) {
    const std::string name = in_backticks(setting.name());
    if (required && setting.is_required() && !setting.given()) throw InputError(name + " is missing");
    if (!setting.given()) continue;
    if (!setting.needs().empty() && !given(setting.needs()))
      throw InputError(name + " needs " + in_backticks(setting.needs()));
    for (const std::string& other : setting.excludes())
      if (given(other)) throw InputError(name + " and " + in_backticks(other) + " exclude each other");
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
