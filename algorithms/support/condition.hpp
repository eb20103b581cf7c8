// Conditions of a C text (#if, #elif, #ifdef) that can be decided without its compiler.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace halocline {

/// Names that a text has defined so far.
struct KnownMacros {
  std::map<std::string, std::optional<std::string>> values;  ///< none: defined, with a value that is not known
  std::set<std::string> unsure;                              ///< defined where a condition is not known
};

/// The value of an expression of whole numbers, names, `defined`, comparisons, !, && and ||. None where it is of
/// another form, has some hundreds of brackets, or depends on a name that the compiler or the toolkit may define
/// ("__...", "cl_...", ENDS). Other names that are not known are 0, as in C.
std::optional<long long> condition_value(std::string_view expression, const KnownMacros& macros);

/// True and false as far as `#ifdef name` is decided.
std::optional<bool> is_defined(std::string_view name, const KnownMacros& macros);

}  // namespace halocline
