#include "algorithms/projectors/projector_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <sstream>
#include <string_view>

namespace halocline {
namespace {

constexpr std::string_view blanks = " \t\r\f\v";

bool in_names(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

std::string_view trimmed(std::string_view text) {
  const auto begin = text.find_first_not_of(blanks);
  return begin == text.npos ? std::string_view() : text.substr(begin, text.find_last_not_of(blanks) + 1 - begin);
}

// The text with lines joined that end in a backslash, and with a blank for each comment.
std::string without_comments(const std::string& source) {
  std::string text, result;
  for (std::size_t n = 0; n < source.size(); ++n)
    if (source[n] == '\\' && n + 1 < source.size() && source[n + 1] == '\n')
      ++n;
    else
      text += source[n];
  const auto end_of = [&](std::size_t found, std::size_t more) {
    return found == text.npos ? text.size() : found + more;
  };
  for (std::size_t n = 0; n < text.size();) {
    const std::string_view two(text.data() + n, std::min<std::size_t>(2, text.size() - n));
    std::size_t end = n + 1;
    if (two == "//" || two == "/*") {
      end = two == "//" ? end_of(text.find('\n', n), 0) : end_of(text.find("*/", n + 2), 2);
      result += ' ';
      n = end;
      continue;
    }
    if (text[n] == '"') {
      while (end < text.size() && text[end] != '"' && text[end] != '\n') end += text[end] == '\\' ? 2 : 1;
      end = std::min(end_of(end, end < text.size() ? 1 : 0), text.size());
    }
    result.append(text, n, end - n);
    n = end;
  }
  return result;
}

// The rest of a line after `# directive`; nothing for other lines.
std::string_view after_directive(std::string_view line, std::string_view directive) {
  line = trimmed(line);
  if (!line.starts_with('#')) return {};
  line = trimmed(line.substr(1));
  if (!line.starts_with(directive) || (line.size() > directive.size() && in_names(line[directive.size()]))) return {};
  return trimmed(line.substr(directive.size()));
}

std::map<std::string, std::vector<std::string>> defines_of(const std::string& text) {
  std::map<std::string, std::vector<std::string>> result;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    const std::string_view define = after_directive(line, "define");
    std::size_t end = 0;
    while (end < define.size() && in_names(define[end])) ++end;
    if (end > 0) result[std::string(define.substr(0, end))].emplace_back(trimmed(define.substr(end)));
  }
  return result;
}

// Names and single other characters of a text, without its directives.
std::vector<std::string_view> tokens_of(const std::string& text) {
  std::vector<std::string_view> result;
  for (std::size_t n = 0; n < text.size();) {
    std::size_t end = n + 1;
    while (in_names(text[n]) && end < text.size() && in_names(text[end])) ++end;
    if (std::isspace(static_cast<unsigned char>(text[n])) == 0) result.emplace_back(text.data() + n, end - n);
    n = end;
  }
  return result;
}

}  // namespace

ProjectorText read_projector_text(const std::string& source) {
  const std::string text = without_comments(source);
  ProjectorText result{.defines = defines_of(text)};
  const auto tokens = tokens_of(text);
  const auto at = [&](std::size_t n) { return n < tokens.size() ? tokens[n] : std::string_view(); };
  // The number of the token after attributes from token n on.
  const auto after_attributes = [&](std::size_t n) {
    while (at(n) == "__attribute__" || at(n) == "__attribute") {
      int depth = 0;
      do {
        ++n;
        depth += at(n) == "(" ? 1 : at(n) == ")" ? -1 : 0;
      } while (depth > 0 && n < tokens.size());
      ++n;
    }
    return n;
  };
  for (std::size_t n = 0; n < tokens.size(); ++n) {
    if (at(n) == "void" && at(n + 1) == "trace" && at(n + 2) == "(" && at(n + 3) == "TRACE_PARAMETERS" &&
        at(n + 4) == ")")
      result.trace = true;
    if (at(n) != "kernel" && at(n) != "__kernel") continue;
    std::size_t next = after_attributes(n + 1);
    if (at(next) != "void") continue;
    next = after_attributes(next + 1);
    if (at(next + 1) != "(") continue;
    result.project = result.project || at(next) == "project";
    result.backproject = result.backproject || at(next) == "backproject";
  }
  return result;
}

std::string with_lines_named(const std::string& source) {
  constexpr const char* own = "projector.cl";
  std::string result = fmt::format("#line 1 \"{}\"\n", own);
  std::istringstream in(source);
  std::string line;
  for (int number = 1; std::getline(in, line); ++number) {
    const std::string_view included = after_directive(line, "include");
    const auto close = included.starts_with('"') ? included.find('"', 1) : included.npos;
    const bool includes = close != included.npos;
    if (includes) result += fmt::format("#line 1 \"{}\"\n", included.substr(1, close - 1));
    result += line + "\n";
    if (includes) result += fmt::format("#line {} \"{}\"\n", number + 1, own);
  }
  return result;
}

}  // namespace halocline
