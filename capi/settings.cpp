#include "capi/settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

#include "host/system/error.hpp"

namespace halocline::capi {
namespace {

// Of all of the text, whatever the locale.
template <class Number>
std::optional<Number> parsed(const std::string& text) {
  Number number{};
  const char* const end = text.data() + text.size();
  const char* const begin = text.data() + (text.size() > 1 && text[0] == '+' ? 1 : 0);
  const auto [stop, error] = std::from_chars(begin, end, number);
  if (error != std::errc() || stop != end || text.empty()) return std::nullopt;
  return number;
}

std::optional<double> finite(const std::string& text) {
  const auto number = parsed<double>(text);
  return number && std::isfinite(*number) ? number : std::nullopt;
}

}  // namespace

std::string either(const std::vector<std::string>& words) {
  std::string text;
  for (std::size_t n = 0; n < words.size(); ++n)
    text += (n == 0 ? "" : n + 1 == words.size() ? " or " : ", ") + words[n];
  return text;
}

void SettingValue::refuse(const std::string& expected) const {
  throw InputError({.what = "`" + name_ + "`", .found = "\"" + text_ + "\"", .expected = expected});
}

double SettingValue::number() const {
  const auto number = finite(text_);
  if (!number) refuse("a number");
  return *number;
}

double SettingValue::positive() const {
  const auto number = finite(text_);
  if (!number || !(*number > 0)) refuse("a positive number");
  return *number;
}

std::int64_t SettingValue::whole() const {
  const auto number = parsed<std::int64_t>(text_);
  if (number) return *number;
  const auto real = finite(text_);  // as halocline_job_set_number() writes large ones
  if (!real || *real != std::floor(*real) || std::abs(*real) > 0x1p53) refuse("a whole number");
  return static_cast<std::int64_t>(*real);
}

int SettingValue::count() const {
  const std::int64_t number = whole();
  if (number < 0 || number > std::numeric_limits<int>::max()) refuse("a whole number from 0 on");
  return static_cast<int>(number);
}

bool SettingValue::flag() const {
  if (text_ == "true" || text_ == "1") return true;
  if (text_ != "false" && text_ != "0") refuse("true or false");
  return false;
}

std::size_t SettingValue::bytes() const {
  std::string digits = text_;
  double unit = 1;
  if (!digits.empty())
    if (const auto power = std::string("KMGT").find(digits.back()); power != std::string::npos) {
      unit = std::pow(1024.0, static_cast<double>(power + 1));
      digits.pop_back();
    }
  const auto number = finite(digits);
  if (!number || !(*number > 0) || *number * unit > 0x1p62)
    refuse("a number of bytes, with K, M, G or T for powers of 1024");
  return static_cast<std::size_t>(*number * unit);
}

std::vector<double> SettingValue::numbers() const {
  std::vector<double> result;
  for (std::size_t at = 0; at <= text_.size();) {
    const auto comma = std::min(text_.find(',', at), text_.size());
    const auto number = finite(text_.substr(at, comma - at));
    if (!number) refuse("numbers with commas between them");
    result.push_back(*number);
    at = comma + 1;
  }
  return result;
}

std::array<std::size_t, 4> SettingValue::four_indices() const {
  const auto values = numbers();
  const bool right = values.size() == 4 && std::all_of(values.begin(), values.end(), [](double value) {
                       return value >= 0 && value == std::floor(value) && value < 0x1p31;
                     });
  if (!right) refuse("four whole numbers U0,V0,U1,V1");
  std::array<std::size_t, 4> result{};
  std::transform(values.begin(), values.end(), result.begin(),
                 [](double value) { return static_cast<std::size_t>(value); });
  return result;
}

const std::string& SettingValue::one_of(const std::vector<std::string>& words) const {
  if (std::find(words.begin(), words.end(), text_) == words.end()) refuse(either(words));
  return text_;
}

void Settings::set(const std::string& verb, const std::string& name, const std::string& value) {
  std::string spelled = name;
  std::replace(spelled.begin(), spelled.end(), '_', '-');
  const auto found = takes_.find(spelled);
  if (found == takes_.end())
    throw InputError({.what = fmt::format("the setting `{}`", name),
                      .found = fmt::format("none of {}", verb),
                      .expected = either(names())});
  found->second(SettingValue(spelled, value));
  given_.insert(spelled);
}

std::vector<std::string> Settings::names() const {
  std::vector<std::string> result;
  for (const auto& [name, take] : takes_) result.push_back(name);
  return result;
}

}  // namespace halocline::capi
