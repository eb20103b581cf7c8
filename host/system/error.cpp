#include "host/system/error.hpp"

#include <algorithm>
#include <string_view>

namespace halocline {
namespace {

// Functions and classes have other characters.
bool is_parameter(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
  });
}

}  // namespace

std::string Problem::text() const {
  std::string result = what;
  if (!found.empty()) result += (result.empty() ? "" : " is ") + found;
  if (!expected.empty()) result += (result.empty() ? "expected " : "; expected ") + expected;
  if (!remedy.empty()) result += (result.empty() ? "" : "; ") + remedy;
  return result;
}

Error::Error(Problem problem)
    : std::runtime_error(problem.text()), problem_(std::make_shared<const Problem>(std::move(problem))) {}

const Problem& Error::problem() const {
  static const Problem none;
  return problem_ ? *problem_ : none;
}

std::vector<std::string> Error::parameters() const {
  std::vector<std::string> result;
  const std::string_view text = what();
  for (auto open = text.find('`'); open != text.npos; open = text.find('`', open)) {
    const auto close = text.find('`', open + 1);
    if (close == text.npos) break;
    std::string_view quoted = text.substr(open + 1, close - open - 1);
    quoted = quoted.substr(0, quoted.find(" = "));
    for (auto comma = quoted.find(", "); !quoted.empty(); comma = quoted.find(", ")) {  // of "`a, b`"
      const std::string_view name = quoted.substr(0, comma);
      if (is_parameter(name)) result.emplace_back(name);
      quoted = comma == quoted.npos ? "" : quoted.substr(comma + 2);
    }
    open = close + 1;
  }
  return result;
}

}  // namespace halocline
