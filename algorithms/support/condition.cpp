#include "algorithms/support/condition.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>

namespace halocline {
namespace {

using Value = std::optional<long long>;

bool may_be_defined_elsewhere(std::string_view name) {
  constexpr std::array beginnings{"_",    "cl_",   "CL_",   "CLK_",   "FP_",    "KERNELS_VERSION", "FLT_",
                                  "DBL_", "HALF_", "CHAR_", "SCHAR_", "UCHAR_", "SHRT_",           "USHRT_",
                                  "INT_", "UINT_", "LONG_", "ULONG_", "M_"};
  constexpr std::array names{"ADJOINT",   "ARC",      "ENDS", "RAY_MODEL", "HUGE_VAL",
                             "HUGE_VALF", "INFINITY", "NAN",  "MAXFLOAT"};
  return std::any_of(beginnings.begin(), beginnings.end(), [&](auto each) { return name.starts_with(each); }) ||
         std::find(names.begin(), names.end(), name) != names.end();
}

class Reader {
 public:
  Reader(std::string_view text, const KnownMacros& macros, int depth) : text_(text), macros_(macros), depth_(depth) {}

  Value whole() {
    const Value value = either();
    return at_end() ? value : std::nullopt;
  }

 private:
  bool at_end() {
    while (!text_.empty() && std::isspace(static_cast<unsigned char>(text_.front())) != 0) text_.remove_prefix(1);
    return text_.empty();
  }
  bool take(std::string_view sign) {
    if (at_end() || !text_.starts_with(sign)) return false;
    text_.remove_prefix(sign.size());
    return true;
  }
  std::string_view word() {
    at_end();
    std::size_t end = 0;
    while (end < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[end])) != 0 || text_[end] == '_'))
      ++end;
    const std::string_view found = text_.substr(0, end);
    text_.remove_prefix(end);
    return found;
  }

  Value either() {
    Value left = both();
    while (take("||")) {
      const Value right = both();
      left = left.value_or(0) != 0 || right.value_or(0) != 0 ? Value(1) : left && right ? Value(0) : Value();
    }
    return left;
  }
  Value both() {
    Value left = compared();
    while (take("&&")) {
      const Value right = compared();
      left = left.value_or(1) == 0 || right.value_or(1) == 0 ? Value(0) : left && right ? Value(1) : Value();
    }
    return left;
  }
  Value compared() {
    const Value left = single();
    for (const std::string_view sign : {"==", "!=", "<=", ">=", "<", ">"}) {
      if (!take(sign)) continue;
      const Value right = single();
      if (!left || !right) return std::nullopt;
      const bool less = *left < *right, same = *left == *right;
      return sign == "=="   ? same
             : sign == "!=" ? !same
             : sign == "<=" ? less || same
             : sign == ">=" ? !less
             : sign == "<"  ? less
                            : !less && !same;
    }
    return left;
  }
  Value single() {
    constexpr int most = 256;  // each is a call within another
    if (take("!")) {
      const Value value = ++signs_ <= most ? single() : std::nullopt;
      return value ? Value(*value == 0) : std::nullopt;
    }
    if (take("(")) {
      const Value value = ++signs_ <= most ? either() : std::nullopt;
      return take(")") ? value : std::nullopt;
    }
    const std::string_view found = word();
    if (found == "defined") {
      const bool in_brackets = take("(");
      const auto defined = is_defined(word(), macros_);
      if (in_brackets && !take(")")) return std::nullopt;
      return defined ? Value(*defined) : std::nullopt;
    }
    return found.empty()                                                  ? std::nullopt
           : std::isdigit(static_cast<unsigned char>(found.front())) != 0 ? number(std::string(found))
                                                                          : of_name(found);
  }
  static Value number(std::string text) {
    while (!text.empty() && std::string_view("uUlL").find(text.back()) != std::string_view::npos) text.pop_back();
    char* end = nullptr;
    const long long value = std::strtoll(text.c_str(), &end, 0);
    return *end == '\0' ? Value(value) : std::nullopt;
  }
  Value of_name(std::string_view name) const {
    constexpr int deepest = 16;  // of names whose values are names
    if (const auto defined = is_defined(name, macros_); !defined || !*defined) return defined ? Value(0) : std::nullopt;
    const auto found = macros_.values.find(std::string(name));
    return found->second && depth_ < deepest ? Reader(*found->second, macros_, depth_ + 1).whole() : std::nullopt;
  }

  std::string_view text_;
  const KnownMacros& macros_;
  int depth_, signs_ = 0;  // the latter: ! and brackets so far
};

}  // namespace

std::optional<long long> condition_value(std::string_view expression, const KnownMacros& macros) {
  return Reader(expression, macros, 0).whole();
}

std::optional<bool> is_defined(std::string_view name, const KnownMacros& macros) {
  if (macros.unsure.contains(std::string(name))) return std::nullopt;
  if (macros.values.contains(std::string(name))) return true;
  return may_be_defined_elsewhere(name) ? std::nullopt : std::optional(false);
}

}  // namespace halocline
