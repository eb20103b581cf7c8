// Double-precision oracles of the projectors and of filtered back-projection, straight from their formulas, pixel by
// pixel.
#pragma once

#include <vector>

#include "algorithms/fdk.hpp"

namespace halocline::reference {

/// Joseph (1982) in double; (u, v, view), u fastest.
std::vector<double> joseph(const Volume& volume, const Geometry& geometry, const Grid& projections);

/// sum over views of scale[n] * bilinear p_n(u, v) / w^2 (or without the distance weight). `correlation` not NaN: the
/// weights are squared and interpolated values multiplied by kappa along u (with this correlation) and v (with 0).
struct Weights {
  std::vector<double> scale;  // a view; empty: 1
  bool distance = false;
  bool variance = false;
  double correlation = 0;
};
std::vector<double> backproject(const std::vector<double>& values, const Grid& projections, const Geometry& geometry,
                                const Grid& grid, const Weights& weights);

/// The spatial kernel h_n, n = 0 .. reach, of the windowed ramp by numerical integration over the circle's frequencies.
std::vector<double> kernel(Window window, double cutoff, std::size_t length);

/// Of a ray at the angle beta along the arc and the fan angle gamma, by the pieces of Parker (1982), eq. 12, times 2,
/// and Wang (2002), eq. 5.
double redundancy_weight(const Redundancy& redundancy, double beta, double gamma);

/// Feldkamp, Davis & Kress (1984) with direct convolution and every weight from vectors in the world.
std::vector<double> fdk(const Volume& projections, const Geometry& geometry, const Grid& grid,
                        const FdkParameters& parameters);

/// Largest difference, and the largest magnitude of `expected`, for relative errors.
double largest_difference(const std::vector<float>& found, const std::vector<double>& expected);
double largest(const std::vector<double>& values);

}  // namespace halocline::reference
