// Direct Fourier reconstruction of parallel beams by sums in double, without a Cartesian grid.
#pragma once

#include <vector>

#include "algorithms/fdk/fdk.hpp"

namespace halocline::reference {

/// Sum over the views of filtered rows at the place of each voxel: their trigonometric polynomial times the transfer
/// function of linear interpolation, linear between rows, 0 above and below the detector.
std::vector<double> direct_fourier(const Volume& projections, const Geometry& geometry, const Grid& grid,
                                   const FdkParameters& parameters);

}  // namespace halocline::reference
