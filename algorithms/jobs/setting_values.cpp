#include "algorithms/jobs/setting_values.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>

#include "host/system/error.hpp"

namespace halocline {
namespace {

std::string as_given(const std::vector<std::string>& words) {
  return fmt::format("{}", fmt::join(words, " "));
}

}  // namespace

std::optional<double> parsed_number(std::string_view text) {
  if (!text.empty() && text.front() == '+') text.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

std::size_t parse_bytes(const std::string& what, const std::string& text) {
  const auto fail = [&] {
    throw InputError(fmt::format(
        "{} '{}' is not a number of bytes; expected a positive number, with K, M, G or T if wanted, e.g. 64M or 1.5G",
        what, text));
  };
  std::size_t digits = text.find_first_not_of("0123456789.");
  digits = std::min(digits, text.size());
  const auto value = parsed_number(text.substr(0, digits));
  std::string suffix = text.substr(digits);
  for (char& c : suffix) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  int power = 0;
  if (!suffix.empty() && suffix != "B") {
    const auto at = std::string("KMGT").find(suffix.front());
    const std::string rest = suffix.substr(1);
    if (at == std::string::npos || (!rest.empty() && rest != "B" && rest != "IB")) fail();
    power = static_cast<int>(at) + 1;
  }
  const double bytes = value ? std::floor(std::ldexp(*value, 10 * power)) : 0;
  if (!(bytes >= 1) || bytes > 9e18) fail();
  return static_cast<std::size_t>(bytes);
}

std::vector<double> parse_numbers(const std::string& what, const std::vector<std::string>& words) {
  constexpr const char* space = " \t\r\n";
  std::vector<double> values;
  for (const auto& word : words) {
    for (std::size_t at = 0; at <= word.size();) {
      const auto comma = std::min(word.find(',', at), word.size());
      const std::string part = word.substr(at, comma - at);
      at = comma + 1;
      std::size_t from = part.find_first_not_of(space);
      if (from == std::string::npos && word.size() > part.size())
        throw InputError(fmt::format("{} {}: a number is missing beside a comma", what, as_given(words)));
      while (from != std::string::npos) {
        const auto to = std::min(part.find_first_of(space, from), part.size());
        const auto value = parsed_number(part.substr(from, to - from));
        if (!value)
          throw InputError(
              fmt::format("{} {}: '{}' is not a finite number", what, as_given(words), part.substr(from, to - from)));
        constexpr double greatest = 1e18;  // no length or factor is greater, and float32 holds its square
        if (std::abs(*value) > greatest)
          throw InputError(fmt::format("{} {}: {:g} was found, numbers no greater than {:g} are expected", what,
                                       as_given(words), *value, greatest));
        values.push_back(*value);
        from = part.find_first_not_of(space, to);
      }
    }
  }
  return values;
}

std::vector<double> parse_numbers(const std::string& what, const std::vector<std::string>& words, std::size_t count,
                                  const std::string& names) {
  auto values = parse_numbers(what, words);
  if (values.size() != count)
    throw InputError(fmt::format("{} {}: {} number{} given, {} expected: {} {}", what, as_given(words), values.size(),
                                 values.size() == 1 ? "" : "s", count, what, names));
  return values;
}

void require_whole(const std::string& what, const std::vector<double>& values, std::int64_t minimum) {
  for (const double value : values)
    if (value != std::floor(value) || value < static_cast<double>(minimum) || value > 2147483647.0)
      throw InputError(fmt::format("{} {}: {} was found, whole numbers of at least {} are expected", what,
                                   fmt::join(values, ","), value, minimum));
}

void require_positive(const std::string& what, const std::vector<double>& values) {
  for (const double value : values)
    if (!(value > 0))
      throw InputError(
          fmt::format("{} {}: {} was found, positive numbers are expected", what, fmt::join(values, ","), value));
}

}  // namespace halocline
