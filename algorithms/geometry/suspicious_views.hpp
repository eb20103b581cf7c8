// Distances and angles that a geometry may have, but that a scanner hardly has: of them geometry check tells as FDK
// does.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "algorithms/geometry/geometry.hpp"

namespace halocline {

/// A view whose source or detector distance, or tilt, is far from the median of all; a detector that stands on the
/// rotation axis. What was found, in which view, and what to do. numbers: the views' in the scan that they are taken
/// from, which the texts tell; empty: they are all of it.
std::vector<std::string> suspicious_views(const Geometry& geometry, std::span<const std::size_t> numbers = {});

}  // namespace halocline
