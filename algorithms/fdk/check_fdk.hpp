// Checks whether a scan can be reconstructed by filtered back-projection, and notes about it.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "algorithms/fdk/redundancy.hpp"

namespace halocline {

/// Throws InputError unless the scan can be reconstructed: the stack has as many views as the geometry, its rows are
/// along u, the arc is long enough and the detector well placed (redundancy_of; a parallel beam needs 180 degrees), and
/// the detector sees some of the volume. Returns notes about the views together: repeated or disordered ones, slanted
/// rows that cannot be made upright (remaining_slant()), a short scan, a displaced detector.
std::vector<std::string> check_fdk(const Geometry& geometry, const Grid& projections, const Grid& grid,
                                   const std::string& projections_name = "the projections",
                                   const std::string& geometry_name = "the geometry",
                                   const RedundancyOptions& redundancy = {});

/// Throws InputError if the detector's rows stand far too steep in some view, as check_fdk does. Returns notes about
/// single views, by their numbers: steep rays, suspicious_views(). Meant for all views of a scan at once, of which
/// check_fdk may get a part. numbers: see suspicious_views().
std::vector<std::string> check_fdk_views(const Geometry& geometry, const Grid& grid,
                                         const std::string& geometry_name = "the geometry",
                                         std::span<const std::size_t> numbers = {});

}  // namespace halocline
