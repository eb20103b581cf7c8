// The check of every parameter that takes a positive number.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <optional>

#include "host/system/error.hpp"

namespace halocline {

/// Throws InputError that names `parameter`, given in backticks, if there is a value and it is not positive and finite.
inline void require_positive(const char* parameter, const std::optional<double>& value) {
  if (value && !(*value > 0 && std::isfinite(*value)))
    throw InputError({.what = parameter, .found = fmt::to_string(*value), .expected = "a positive number"});
}

}  // namespace halocline
