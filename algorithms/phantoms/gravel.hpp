// Random grains that do not overlap.
#pragma once

#include <cstdint>
#include <vector>

#include "algorithms/phantoms/phantoms.hpp"

namespace halocline {

/// The grains of gravel() and their pores, for a width of 1 and an attenuation of 1. A grain is followed by its pore,
/// if it has one.
std::vector<Primitive> unit_gravel(std::uint64_t seed);

}  // namespace halocline
