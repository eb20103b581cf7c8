// Parallel scans with known answers.
#pragma once

#include <string>

#include "algorithms/solvers/view_subsets.hpp"
#include "tests/reference/penalised_reference.hpp"

namespace halocline::reference {

/// `views` over 180 degrees of n x n pixels by a row of `columns`, pixels and columns of `pitch` mm.
Scene parallel_scene(std::size_t n, std::size_t views, std::size_t columns, double pitch = 1);
/// 32^2 pixels, 24 views, 47 columns; 256^2 pixels, 90 views, 367 columns.
Scene small_parallel_scene();
Scene large_parallel_scene();

/// The modified Shepp-Logan phantom (Toft 1996, appendix B) on the slice of the grid: the mean of 4 x 4 points a pixel,
/// 1 in the outer ring, its y against the grid's j.
Vector toft_phantom(const Grid& grid);

/// Line integrals and their weights, the counts.
struct Counted {
  Vector b, w;
};
/// -log(I / photons) of Poisson counts I of a beam of so many photons a ray, at least 1, and w = I.
Counted counted(const Vector& line_integrals, double photons, unsigned seed);

/// n x n pixels of 2 mm, `views` over 180 degrees, enough columns of 2 mm for the whole field; the phantom times 0.02
/// per mm; lambda = 1200 mm, 0 <= x <= 0.1 per mm.
struct PenalisedScan {
  Scene scene;
  Vector truth;
  Penalised problem;
};
PenalisedScan penalised_scan(std::size_t n, std::size_t views, double photons, unsigned seed);
/// The scan with these counts instead.
PenalisedScan penalised_scan(std::size_t n, std::size_t views, const Counted& counts);
/// FDK, scaled to the data in the weighted norm, within the bounds.
Vector scaled_fdk(const PenalisedScan& scan);

/// Rays of the subsets of the views, taken in this order.
RaySubsets rays_of(const Scene& scene, const ViewSubsets& subsets, const std::vector<int>& order);
/// Rays of subsets 0, 1, 2, ...
RaySubsets rays_of(const Scene& scene, int subsets);

/// The line integrals of a scan whose matrix would be large, ray by ray.
Vector line_integrals(const Scene& scene, const Vector& x);

}  // namespace halocline::reference
