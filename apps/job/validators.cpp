#include "apps/job/validators.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <cmath>

#include "host/system/error.hpp"

namespace halocline {
namespace {

// A validator from a test and what it expects.
CLI::Validator validator(std::function<bool(double)> good, const std::string& expected) {
  return CLI::Validator(
      [good = std::move(good), expected](std::string& text) {
        const auto value = parsed_number(text);
        return value && good(*value) ? std::string() : fmt::format("'{}' was given, expected {}", text, expected);
      },
      "");
}

}  // namespace

CLI::Option* add_numbers(CLI::App& app, const std::string& option, std::size_t count, const std::string& names,
                         Numbers kind, const std::string& description,
                         std::function<void(const std::vector<double>&)> take) {
  const auto read = [=, take = std::move(take)](const std::vector<std::string>& words) {
    const auto values = parse_numbers(option, words, count, names);
    if (kind == Numbers::positive) require_positive(option, values);
    if (kind == Numbers::sizes) require_whole(option, values, 1);
    if (kind == Numbers::indices) require_whole(option, values, 0);
    take(values);
  };
  return app.add_option_function<std::vector<std::string>>(option, read, description)
      ->expected(1, static_cast<int>(count))
      ->type_name(names);
}

CLI::Validator not_empty(const std::string& expected) {
  return CLI::Validator(
      [expected](std::string& text) {
        return text.empty() ? fmt::format("'' was given, expected {}", expected) : std::string();
      },
      "");
}
CLI::Validator finite_number() {
  return validator([](double) { return true; }, "a finite number");
}
CLI::Validator positive_number() {
  return validator([](double value) { return value > 0; }, "a positive number");
}
CLI::Validator not_negative() {
  return validator([](double value) { return value >= 0; }, "a number that is not negative");
}
CLI::Validator whole_number_from(std::int64_t minimum, std::int64_t maximum) {
  const auto good = [=](double value) {
    return value == std::floor(value) && value >= static_cast<double>(minimum) && value <= static_cast<double>(maximum);
  };
  const bool bounded = maximum < std::numeric_limits<std::int32_t>::max();
  return validator(good, bounded ? fmt::format("a whole number from {} to {}", minimum, maximum)
                                 : fmt::format("a whole number of at least {}", minimum));
}

}  // namespace halocline
