#include "algorithms/projectors/projector_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <sstream>
#include <string_view>

#include "algorithms/support/condition.hpp"

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

// The text with lines joined that end in a backslash, and with a blank for each comment. Joined lines and comments of
// several are followed by as many empty lines, so that line numbers stay.
std::string without_comments(const std::string& source) {
  std::string result;
  std::size_t owed = 0;  // line feeds
  bool quoted = false;
  const auto starts = [&](std::size_t n, std::string_view with) { return source.compare(n, with.size(), with) == 0; };
  for (std::size_t n = 0; n < source.size();) {
    if (starts(n, "\\\n")) {
      ++owed, n += 2;
    } else if (source[n] == '\n') {
      result.append(1 + owed, '\n');
      owed = 0, quoted = false, ++n;
    } else if (!quoted && starts(n, "/*")) {
      const auto end = std::min(source.find("*/", n + 2), source.size() - 2) + 2;
      owed += static_cast<std::size_t>(std::count(source.begin() + static_cast<std::ptrdiff_t>(n),
                                                  source.begin() + static_cast<std::ptrdiff_t>(end), '\n'));
      result += ' ';
      n = end;
    } else if (!quoted && starts(n, "//")) {
      while (n < source.size() && source[n] != '\n') {  // a backslash continues it
        if (starts(n, "\\\n")) ++owed, ++n;
        ++n;
      }
    } else {
      if (source[n] == '"') quoted = !quoted;
      if (quoted && source[n] == '\\' && n + 1 < source.size()) result += source[n++];
      result += source[n++];
    }
  }
  return result;
}

bool is_directive(std::string_view line, std::string_view directive) {
  line = trimmed(line);
  if (!line.starts_with('#')) return false;
  line = trimmed(line.substr(1));
  return line.starts_with(directive) && (line.size() == directive.size() || !in_names(line[directive.size()]));
}

// The rest of a line after `# directive`; nothing for other lines.
std::string_view after_directive(std::string_view line, std::string_view directive) {
  return is_directive(line, directive) ? trimmed(line.substr(line.find(directive) + directive.size()))
                                       : std::string_view();
}

// The name that a directive begins with.
std::string_view first_name(std::string_view text) {
  std::size_t end = 0;
  while (end < text.size() && in_names(text[end])) ++end;
  return text.substr(0, end);
}

// #if and what belongs to it, line by line.
class Conditions {
 public:
  explicit Conditions(const KnownMacros& macros) : macros_(macros) {}
  /// True if a line may count, nothing if that is not known.
  std::optional<bool> counts() const { return counting_.empty() ? std::optional(true) : counting_.back().here; }
  /// False for another line.
  bool take(std::string_view line) {
    if (const auto rest = after_directive(line, "if"); !rest.empty()) return begin(truth(rest));
    if (const auto name = after_directive(line, "ifdef"); !name.empty())
      return begin(is_defined(first_name(name), macros_));
    if (const auto name = after_directive(line, "ifndef"); !name.empty()) {
      const auto defined = is_defined(first_name(name), macros_);
      return begin(defined ? std::optional(!*defined) : std::nullopt);
    }
    if (counting_.empty()) return false;
    if (is_directive(line, "else")) return next(true);
    if (const auto rest = after_directive(line, "elif"); !rest.empty()) return next(truth(rest));
    if (!is_directive(line, "endif")) return false;
    counting_.pop_back();
    return true;
  }

 private:
  struct Branches {
    std::optional<bool> around, before, here;  // lines around; an earlier branch was taken; this one is
  };
  static std::optional<bool> both(std::optional<bool> a, std::optional<bool> b) {
    if (!a.value_or(true) || !b.value_or(true)) return false;
    return a && b ? std::optional(true) : std::nullopt;
  }
  std::optional<bool> truth(std::string_view expression) const {
    const auto value = condition_value(expression, macros_);
    return value ? std::optional(*value != 0) : std::nullopt;
  }
  bool begin(std::optional<bool> condition) {
    const auto around = counts();
    counting_.push_back({around, false, false});
    return next(condition);
  }
  bool next(std::optional<bool> condition) {
    Branches& now = counting_.back();
    const auto not_before = now.before ? std::optional(!*now.before) : std::nullopt;
    const auto taken = both(not_before, condition);
    now.here = both(now.around, taken);
    if (now.before != true) now.before = taken == true ? taken : taken && now.before ? now.before : std::nullopt;
    return true;
  }

  const KnownMacros& macros_;
  std::vector<Branches> counting_;
};

// Notes a define of a text, or an #undef.
void note_define(std::string_view line, bool certain, KnownMacros& macros, ProjectorText& text) {
  const std::string_view define = after_directive(line, "define"), undef = after_directive(line, "undef");
  const std::string name(first_name(define.empty() ? undef : define));
  if (name.empty()) return;
  if (!certain) {
    macros.unsure.insert(name);
  } else {
    macros.unsure.erase(name);
    macros.values.erase(name);
  }
  if (define.empty()) return;
  const std::string_view after = define.substr(name.size());
  const std::string value(trimmed(after));
  text.defines[name].push_back(value);
  macros.values[name] = value.empty() || after.front() == '(' ? std::nullopt : std::optional(value);
}

// The lines that count or may count, the others empty, directives too. Reads the defines among them.
std::string counting_lines(const std::string& source, const std::map<std::string, std::string>& given,
                           ProjectorText& text) {
  KnownMacros macros;
  for (const auto& [name, value] : given) macros.values[name] = value.empty() ? std::nullopt : std::optional(value);
  Conditions conditions(macros);
  std::istringstream in(source);
  std::string result;
  for (std::string line; std::getline(in, line); result += '\n') {
    if (conditions.take(line)) continue;
    const auto counts = conditions.counts();
    if (!counts.value_or(true)) continue;
    if (trimmed(line).starts_with('#'))
      note_define(line, counts.has_value(), macros, text);
    else
      result += line;
  }
  return result;
}

// A name or a single other character of a text.
struct Token {
  std::string_view text;
  int line;
};

std::vector<Token> tokens_of(const std::string& text) {
  std::vector<Token> result;
  int line = 1;
  for (std::size_t n = 0; n < text.size();) {
    std::size_t end = n + 1;
    while (in_names(text[n]) && end < text.size() && in_names(text[end])) ++end;
    if (std::isspace(static_cast<unsigned char>(text[n])) == 0)
      result.push_back({std::string_view(text.data() + n, end - n), line});
    line += text[n] == '\n' ? 1 : 0;
    n = end;
  }
  return result;
}

}  // namespace

ProjectorText read_projector_text(const std::string& source, const std::map<std::string, std::string>& macros) {
  ProjectorText result;
  const std::string text = counting_lines(without_comments(source), macros, result);
  const auto tokens = tokens_of(text);
  const auto at = [&](std::size_t n) { return n < tokens.size() ? tokens[n].text : std::string_view(); };
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
    result.knows_ends = result.knows_ends || at(n) == "segment" || at(n) == "SEGMENT_OF";
    if (at(n) != "kernel" && at(n) != "__kernel") continue;
    std::size_t next = after_attributes(n + 1);
    if (at(next) != "void") continue;
    next = after_attributes(next + 1);
    if (at(next + 1) != "(") continue;
    if (at(next) == "project") result.project = tokens[next].line;
    if (at(next) == "backproject") result.backproject = tokens[next].line;
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
