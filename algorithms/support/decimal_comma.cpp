#include "algorithms/support/decimal_comma.hpp"

#include <algorithm>

namespace halocline {
namespace {

std::size_t skip_digits(std::string_view word, std::size_t at) {
  while (at < word.size() && word[at] >= '0' && word[at] <= '9') ++at;
  return at;
}

std::size_t skip_sign(std::string_view word, std::size_t at) {
  return at < word.size() && (word[at] == '-' || word[at] == '+') ? at + 1 : at;
}

}  // namespace

bool is_decimal(std::string_view word, char mark) {
  const std::size_t first = skip_sign(word, 0), comma = skip_digits(word, first);
  if (comma == first || comma == word.size() || word[comma] != mark) return false;
  const std::size_t end = skip_digits(word, comma + 1);
  if (end == comma + 1) return false;
  if (end == word.size()) return true;
  if (word[end] != 'e' && word[end] != 'E') return false;
  const std::size_t exponent = skip_sign(word, end + 1);
  return exponent < word.size() && skip_digits(word, exponent) == word.size();
}

std::string with_points(std::string_view number) {
  std::string text(number);
  std::replace(text.begin(), text.end(), ',', '.');
  return text;
}

}  // namespace halocline
