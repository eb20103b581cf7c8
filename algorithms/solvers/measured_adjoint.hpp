// A user's projector and its adjoint, measured before a solver relies on it.
#pragma once

#include <vector>

#include "algorithms/projectors/projector.hpp"

namespace halocline {

/// | |A x|^2 - <x, A^T A x> | / |A x|^2 of random x, in at most 16 of the views: about 1e-7 where A^T is the adjoint,
/// and of the order of 1 where it is that of another projector, NaN if A x is 0. Throws as
/// project() does.
double measured_adjoint_error(const Projector& projector, const Geometry& geometry, const Grid& volume,
                              const Grid& projections, const std::vector<Device>& devices);

/// Error up to which a pair counts as adjoint.
inline constexpr double largest_adjoint_error = 1e-4;

/// Warns of a user's pair of kernels that are not each other's adjoints. Throws InputError for one that projects
/// nothing, and for a method that needs the exact adjoint. Of named projectors nothing is measured; of a user's, once
/// in a process for the same text, tables, scan and devices.
void check_users_adjoint(const Projector& projector, const std::string& method, const Geometry& geometry,
                         const Grid& volume, const Grid& projections, const std::vector<Device>& devices);

}  // namespace halocline
