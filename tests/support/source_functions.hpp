// Functions of a C++ source and their lengths, found by counting braces.
#pragma once

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <regex>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/support/source_text.hpp"

namespace halocline {

struct SourceFunction {
  std::string name;       ///< as written: with its class, without its parameters
  std::size_t lines = 0;  ///< from its signature to its closing brace
};

/// Owner of a brace, by the text between it and what came before: the end of a statement or of another brace.
class BraceHead {
 public:
  explicit BraceHead(const std::string& text) {
    int depth = 0;
    for (std::size_t at = 0; at < text.size(); ++at) {
      if (depth == 0 && text[at] == '(') {
        if (before_.empty() &&
            std::count(outside_.begin(), outside_.end(), '<') == std::count(outside_.begin(), outside_.end(), '>'))
          before_ = outside_;
        outside_ += '(';
      }
      if (text[at] == ')') --depth;
      if (depth == 0 && text[at] != '(') outside_ += text[at];
      if (text[at] == '(') ++depth;
    }
  }
  /// True for a namespace or a class, which may hold functions.
  bool holds_functions() const {
    static const std::regex pattern("(^|\\s)(namespace|class|struct|union|extern)(\\s|\"|$)");
    return outside_.find('(') == std::string::npos && std::regex_search(outside_, pattern);
  }
  /// True if it is not an initialiser, unless it is that of a lambda.
  bool is_function() const {
    if (outside_.find('(') == std::string::npos) return false;
    static const std::regex value("[^=!<>]=\\s*([^=\\s\\[]|$)");
    return outside_.find("operator") != std::string::npos || !std::regex_search(outside_, value);
  }
  std::string name() const {
    static const std::regex pattern("([\\w:~]+|operator\\S*)(\\s*=\\s*\\[.*\\])?\\s*$");
    std::smatch found;
    return std::regex_search(before_, found, pattern) ? found.str(1) : before_;
  }

 private:
  std::string outside_;  // of parentheses, which are left as "()"
  std::string before_;   // the first of them that are not within <>
};

/// The code without preprocessor lines.
inline std::string without_directives(const std::string& code) {
  std::string result;
  bool directive = false;
  for (std::size_t at = 0; at < code.size();) {
    const auto end = std::min(code.find('\n', at), code.size());
    const std::string line = code.substr(at, end - at);
    const auto first = line.find_first_not_of(" \t");
    directive = directive || (first != std::string::npos && line[first] == '#');
    result += (directive ? "" : line) + '\n';
    directive = directive && line.ends_with('\\');
    at = end + 1;
  }
  return result;
}

/// Throws std::logic_error if braces do not match.
inline std::vector<SourceFunction> functions_of_source(const std::string& source) {
  const std::string code = without_directives(text_of_source(source).code);
  const auto is_space = [](char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; };
  std::vector<SourceFunction> result;
  std::size_t open = 0;   // braces that hold functions
  std::size_t depth = 0;  // braces of a function or an initialiser
  std::size_t head = 0;   // where the text before a brace begins
  bool counts = false;    // the outermost of `depth` is a function
  std::string name;
  std::size_t listed = 0;  // parentheses and braces of a list of parameters or arguments
  for (std::size_t at = 0; at < code.size(); ++at) {
    if (depth == 0 && (code[at] == '(' || (listed > 0 && code[at] == '{'))) {
      ++listed;
    } else if (listed > 0) {
      if (code[at] == ')' || code[at] == '}') --listed;
    } else if (code[at] == '{') {
      const BraceHead before(code.substr(head, at - head));
      if (depth == 0 && before.holds_functions()) {
        ++open, head = at + 1;
      } else if (depth++ == 0) {
        counts = before.is_function();
        name = before.name();
      }
    } else if (code[at] == '}') {
      if (depth == 0) {
        if (open == 0) throw std::logic_error("a closing brace without an opening one");
        --open, head = at + 1;
      } else if (--depth == 0) {
        // a member initialised by braces: the function's own braces follow
        const auto next = std::find_if_not(code.begin() + static_cast<std::ptrdiff_t>(at) + 1, code.end(), is_space);
        if (next != code.end() && (*next == ',' || *next == '{')) continue;
        while (head < at && is_space(code[head])) ++head;
        const auto lines = std::count(code.begin() + static_cast<std::ptrdiff_t>(head),
                                      code.begin() + static_cast<std::ptrdiff_t>(at), '\n');
        if (counts) result.push_back({name, static_cast<std::size_t>(lines) + 1});
        head = at + 1;
      }
    } else if (code[at] == ';' && depth == 0) {
      head = at + 1;
    }
  }
  if (open + depth + listed != 0) throw std::logic_error("an opening brace or parenthesis without a closing one");
  return result;
}

}  // namespace halocline
