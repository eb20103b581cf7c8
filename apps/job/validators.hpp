// What the command line's values may be, and messages that say what was found and what was expected.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "algorithms/jobs/setting_values.hpp"

namespace CLI {
class App;
class Option;
class Validator;
}  // namespace CLI

namespace halocline {

enum class Numbers { any, positive, sizes, indices };  // sizes: whole, from 1; indices: whole, from 0

/// An option with a list of exactly N numbers, as one word with commas or as N words. CLI11's own lists take the next
/// option for a value when they are too short, so they are read as words here.
CLI::Option* add_numbers(CLI::App& app, const std::string& option, std::size_t count, const std::string& names,
                         Numbers kind, const std::string& description,
                         std::function<void(const std::vector<double>&)> take);

template <typename T, std::size_t N>
CLI::Option* add_list(CLI::App& app, const std::string& option, std::optional<std::array<T, N>>& target,
                      const std::string& names, Numbers kind, const std::string& description) {
  return add_numbers(app, option, N, names, kind, description, [&target](const std::vector<double>& values) {
    target.emplace();
    for (std::size_t n = 0; n < N; ++n) (*target)[n] = static_cast<T>(values[n]);
  });
}

CLI::Validator not_empty(const std::string& expected);
CLI::Validator finite_number();
CLI::Validator positive_number();
CLI::Validator not_negative();
CLI::Validator whole_number_from(std::int64_t minimum, std::int64_t maximum = std::numeric_limits<std::int32_t>::max());

}  // namespace halocline
