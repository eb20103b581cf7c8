// Units of angles.
#pragma once

#include <numbers>

namespace halocline {

constexpr double degree = std::numbers::pi / 180;  // in radians

}  // namespace halocline
