// Distances and angles that a geometry may have, but a scanner hardly has. geometry check and FDK warn of them.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "algorithms/geometry/geometry.hpp"

namespace halocline {

/// Findings about views whose source or detector distance, or tilt, is far from the median of all, and about a detector
/// on the rotation axis: what was found, in which view, and what to do. numbers: the views' numbers in the scan that
/// they are taken from, for the texts; empty: the views are the whole scan.
std::vector<std::string> suspicious_views(const Geometry& geometry, std::span<const std::size_t> numbers = {});

}  // namespace halocline
