#include "apps/options/unknown_option.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <string_view>
#include <vector>

namespace halocline {
namespace {

// Letters to insert, remove, replace or exchange with their neighbour (Damerau 1964).
std::size_t edits(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> table(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t n = 0; n <= a.size(); ++n)
    for (std::size_t m = 0; m <= b.size(); ++m) {
      if (n == 0 || m == 0) {
        table[n][m] = n + m;
        continue;
      }
      table[n][m] =
          std::min({table[n - 1][m] + 1, table[n][m - 1] + 1, table[n - 1][m - 1] + (a[n - 1] == b[m - 1] ? 0 : 1)});
      if (n > 1 && m > 1 && a[n - 1] == b[m - 2] && a[n - 2] == b[m - 1])
        table[n][m] = std::min(table[n][m], table[n - 2][m - 2] + 1);
    }
  return table[a.size()][b.size()];
}

bool alike(std::string_view word, std::string_view name) {
  constexpr std::size_t shortest_beginning = 5;  // "--" and three letters
  const auto begins = [](std::string_view text, std::string_view with) {
    return with.size() >= shortest_beginning && text.substr(0, with.size()) == with;
  };
  return begins(name, word) || begins(word, name) || edits(word, name) <= word.size() / 3;
}

}  // namespace

std::string closest_name(const std::string& word, const std::vector<std::string>& names) {
  std::string best;
  std::size_t least = word.size() / 3 + 1;
  for (const auto& name : names) {
    const bool begins = word.size() > 1 && name.compare(0, word.size(), word) == 0;
    const std::size_t distance = begins ? 0 : edits(word, name);
    if (distance < least) best = name, least = distance;
  }
  return best;
}

std::string unknown_option_text(const std::string& given, const std::vector<std::string>& options) {
  const std::string word = given.substr(0, given.find('='));
  std::vector<std::string> names;
  for (const auto& name : options)
    if (word.size() > 3 && alike(word, name)) names.push_back(name);
  if (names.empty()) return fmt::format("there is no option {}", word);
  return fmt::format("there is no option {}; there {} {}", word, names.size() == 1 ? "is" : "are",
                     fmt::join(names, ", "));
}

std::string unknown_option_text(const CLI::App& app, const CLI::App& level) {
  const auto words = app.remaining(true);
  const auto found = std::find_if(words.begin(), words.end(), [](const std::string& word) {
    return word.size() > 1 && word[0] == '-' && std::isdigit(static_cast<unsigned char>(word[1])) == 0;
  });
  if (found == words.end()) return {};
  std::vector<std::string> names;
  for (const CLI::App* each = &level; each != nullptr; each = each->get_parent())
    for (const auto* option : each->get_options())
      for (const auto& name : option->get_lnames()) names.push_back("--" + name);
  return unknown_option_text(*found, names);
}

}  // namespace halocline
