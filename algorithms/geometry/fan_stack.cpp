// Checks of stacks of fans, where rows stay in slices: geometry.hpp.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "algorithms/geometry/geometry.hpp"
#include "host/system/error.hpp"

namespace halocline {

void check_fan_stack(const Geometry& geometry, const Grid& volume, const std::string& volume_name) {
  const auto& d = volume.direction;
  if (geometry.fan_stack() && std::max({std::abs(d[3]), std::abs(d[4]), std::abs(d[2]), std::abs(d[8])}) > 1e-6)
    throw InputError(
        fmt::format("{}: its slices (index axis k) do not lie across the rotation axis y, but the scan is a stack of "
                    "fans, whose rows stay in slices; turn the volume so that k runs along y",
                    volume_name));
}

void refuse_fan_stack(const Geometry& geometry, const std::string& what, const std::string& remedy) {
  if (geometry.fan_stack()) throw InputError(fmt::format("{} does not take a stack of fans; {}", what, remedy));
}

}  // namespace halocline
