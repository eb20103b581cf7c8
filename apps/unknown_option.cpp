#include "apps/unknown_option.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <numeric>
#include <string_view>
#include <vector>

namespace halocline {
namespace {

// Letters to insert, remove or replace (Levenshtein 1966).
std::size_t edits(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t n = 0; n < a.size(); ++n) {
    std::size_t diagonal = row[0]++;
    for (std::size_t m = 0; m < b.size(); ++m) {
      const std::size_t replaced = diagonal + (a[n] == b[m] ? 0 : 1);
      diagonal = row[m + 1];
      row[m + 1] = std::min({replaced, diagonal + 1, row[m] + 1});
    }
  }
  return row.back();
}

bool alike(std::string_view word, std::string_view name) {
  constexpr std::size_t shortest_beginning = 5;  // "--" and three letters
  const auto begins = [](std::string_view text, std::string_view with) {
    return with.size() >= shortest_beginning && text.substr(0, with.size()) == with;
  };
  return begins(name, word) || begins(word, name) || edits(word, name) <= word.size() / 3;
}

}  // namespace

std::string unknown_option_text(const CLI::App& app, const CLI::App& level) {
  const auto words = app.remaining(true);
  const auto found = std::find_if(words.begin(), words.end(), [](const std::string& word) {
    return word.size() > 1 && word[0] == '-' && std::isdigit(static_cast<unsigned char>(word[1])) == 0;
  });
  if (found == words.end()) return {};
  const std::string word = found->substr(0, found->find('='));
  std::vector<std::string> names;
  for (const CLI::App* each = &level; each != nullptr; each = each->get_parent())
    for (const auto* option : each->get_options())
      for (const auto& name : option->get_lnames())
        if (word.size() > 3 && alike(word, "--" + name)) names.push_back("--" + name);
  if (names.empty()) return fmt::format("there is no option {}", word);
  return fmt::format("there is no option {}; there {} {}", word, names.size() == 1 ? "is" : "are",
                     fmt::join(names, ", "));
}

}  // namespace halocline
