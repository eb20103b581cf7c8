// Names of units of length in image headers.
#pragma once

#include <optional>
#include <string>

namespace halocline {

/// Returns the length in mm of a unit such as "mm", "inch" or "micrometres" (in lower case); nothing for other words.
/// The micro sign may be in Latin-1 or in UTF-8.
std::optional<double> length_unit_in_mm(const std::string& unit);

}  // namespace halocline
