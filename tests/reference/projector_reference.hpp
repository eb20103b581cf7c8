// Double-precision oracles of the projectors and of filtered back-projection, straight from their formulas, pixel by
// pixel.
#pragma once

#include <functional>
#include <vector>

#include "algorithms/fdk/fdk.hpp"
#include "algorithms/projectors/projector.hpp"

namespace halocline::reference {

/// Physical detector mm to pixel index.
std::array<double, 2> pixel_index(const Grid& projections, double u, double v);

/// Visits every weight of a projector in double, from its definition, for flat and cylindrical detectors, rays being
/// cut off at the source, and at the detector unless geometry.ray_ends is `through`: visit(ray, voxel, weight), rays
/// numbered (u, v, view), u fastest; a pair may be visited more than once.
using Visit = std::function<void(std::size_t ray, std::size_t voxel, double weight)>;
void weights(Projector projector, const Grid& volume, const Geometry& geometry, const Grid& projections,
             const Visit& visit);

/// Shift, in mm along each ray, of the crossings between voxels if the volume is shifted by a voxel: the sum, over the
/// axes along which the ray leaves a voxel for the next, of 1/|voxels a mm|. Exact lengths are ill-conditioned for rays
/// that run almost along a plane between voxels.
std::vector<double> crossing_shifts(const Grid& volume, const Geometry& geometry, const Grid& projections);

/// Largest change of each voxel in Siddon's adjoint if the planes between voxels are found to `rounding` voxels.
std::vector<double> crossing_errors(const Volume& projections, const Geometry& geometry, const Grid& volume,
                                    double rounding);

/// A x and A^T y with them.
std::vector<double> project(Projector projector, const Volume& volume, const Geometry& geometry,
                            const Grid& projections);
std::vector<double> backproject(Projector projector, const Volume& projections, const Geometry& geometry,
                                const Grid& volume);

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

/// Weight of a ray at the angle beta along the arc and the fan angle gamma, by the pieces of Parker (1982), eq. 12,
/// times 2, and Wang (2002), eq. 5.
double redundancy_weight(const Redundancy& redundancy, double beta, double gamma);

/// Weighted and filtered rows, by direct convolution, and what their back-projection needs.
struct FilteredStack {
  std::vector<double> values;
  Grid stack;
  Geometry geometry;
  Weights weights;
};
/// length: rows go on to a whole circle of so many columns or more, a power of two; 0: they end with the detector.
FilteredStack filtered_stack(const Volume& projections, const Geometry& geometry, const FdkParameters& parameters,
                             std::size_t length = 0);

/// Feldkamp, Davis & Kress (1984) with direct convolution and every weight from vectors in the world.
std::vector<double> fdk(const Volume& projections, const Geometry& geometry, const Grid& grid,
                        const FdkParameters& parameters);

/// Largest difference, and the largest magnitude of `expected`, for relative errors.
double largest_difference(const std::vector<float>& found, const std::vector<double>& expected);
double largest(const std::vector<double>& values);

}  // namespace halocline::reference
