// Texts of C++ and OpenCL C sources for people: string literals and comments; and the rest, for compilers.
#pragma once

#include <algorithm>
#include <cctype>
#include <string>
#include <utility>
#include <vector>

namespace halocline {

struct SourceText {
  std::vector<std::string> literals;  ///< those that follow each other as one; escapes as they stand, but for quotes
  std::vector<std::string> comments;  ///< a line, or a block
  std::string code;                   ///< the rest: of literals "" and of comments the line breaks are left
};

inline SourceText text_of_source(const std::string& source) {
  SourceText result;
  bool follows = false;  // nothing but blanks and comments since the last literal
  const auto end_of = [&](std::size_t from, const std::string& mark) {
    const auto end = source.find(mark, from);
    return end == std::string::npos ? source.size() : end;
  };
  for (std::size_t at = 0; at < source.size();) {
    const std::size_t begin = at;
    const char kind = source[at];
    if (source.compare(at, 2, "//") == 0) {
      const auto end = end_of(at, "\n");
      result.comments.push_back(source.substr(at + 2, end - at - 2));
      at = end;
    } else if (source.compare(at, 2, "/*") == 0) {
      const auto end = end_of(at + 2, "*/");
      result.comments.push_back(source.substr(at + 2, end - at - 2));
      at = end + 2;
    } else if (source[at] == '"') {
      std::string text;
      if (at > 0 && source[at - 1] == 'R') {
        const auto open = end_of(at, "(");
        const auto end = end_of(open, ")" + source.substr(at + 1, open - at - 1) + "\"");
        text = source.substr(open + 1, end - open - 1);
        at = end + (open - at) + 1;
      } else {
        for (++at; at < source.size() && source[at] != '"'; ++at) {
          if (source[at] == '\\' && ++at < source.size() && source[at] != '"' && source[at] != '\'') text += '\\';
          if (at < source.size()) text += source[at];
        }
        ++at;
      }
      if (follows)
        result.literals.back() += text;
      else
        result.literals.push_back(std::move(text));
      follows = true;
    } else if (source[at] == '\'' && (at == 0 || std::isalnum(static_cast<unsigned char>(source[at - 1])) == 0)) {
      at += source.compare(at, 2, "'\\") == 0 ? 2 : 1;  // a character; in a number the mark follows a digit
      at = end_of(at + 1, "'") + 1;
      follows = false;
    } else {
      if (std::isspace(static_cast<unsigned char>(source[at])) == 0) follows = false;
      result.code += source[at++];
      continue;
    }
    at = std::min(at, source.size());
    if (kind != '/') result.code += "\"\"";
    result.code.append(static_cast<std::size_t>(std::count(source.begin() + static_cast<std::ptrdiff_t>(begin),
                                                           source.begin() + static_cast<std::ptrdiff_t>(at), '\n')),
                       '\n');
  }
  return result;
}

}  // namespace halocline
