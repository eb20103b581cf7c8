// The check of every option that takes a positive number.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <optional>

#include "host/error.hpp"

namespace halocline {

/// Throws InputError that names `option` if there is a value and it is not positive and finite.
inline void require_positive(const char* option, const std::optional<double>& value) {
  if (value && !(*value > 0 && std::isfinite(*value)))
    throw InputError(fmt::format("{} is {}; expected a positive number", option, *value));
}

}  // namespace halocline
