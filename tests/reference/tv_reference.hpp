// Double-precision oracles of the total-variation methods: whole volume, one thread, written from the formulas.
#pragma once

#include <array>
#include <limits>
#include <vector>

#include "algorithms/denoisers/schedule.hpp"
#include "host/volume/volume.hpp"

namespace halocline::reference {

using Image = std::vector<double>;
/// The components of the gradient or of the dual.
using Field = std::array<Image, 3>;

/// Size and spacing; x fastest.
struct Lattice {
  std::array<std::size_t, 3> size{1, 1, 1};
  std::array<double, 3> spacing{1, 1, 1};

  std::size_t count() const { return size[0] * size[1] * size[2]; }
  std::size_t stride(int axis) const { return axis == 0 ? 1 : axis == 1 ? size[0] : size[0] * size[1]; }
  /// Coordinate of voxel i along the axis.
  std::size_t position(std::size_t i, int axis) const { return i / stride(axis) % size[axis]; }
};

Lattice lattice_of(const Volume& volume);
Image image_of(const Volume& volume);

/// Forward differences divided by the spacing, 0 on the far faces.
Field gradient(const Lattice& lattice, const Image& u);
/// The negative adjoint of gradient().
Image divergence(const Lattice& lattice, const Field& q);
double inner(const Image& a, const Image& b);
double inner(const Field& a, const Field& b);
/// sum_i |(D u)_i|
double total_variation(const Lattice& lattice, const Image& u);

/// State and certificate of a primal-dual run.
struct PrimalDual {
  Image u;
  Field q;
  double primal = 0, dual = 0;
};

/// Rudin, Osher & Fatemi's problem with weights w (empty: 1), from u = f and q = 0, `iterations` of the schedule.
/// primal and dual are the two objective values, evaluated from their definitions; w = 0 as cl/spdu.cl says.
PrimalDual primal_dual(const Lattice& lattice, const Image& f, const Image& w, double lambda, Schedule schedule,
                       int iterations);

/// sum_i sqrt(sum_a c_a (B u)_a^2 + eps^2) with backward differences B and the weights c of these (empty: 1), and its
/// gradient from the definition, c held constant: B^T applied to c B u over the roots.
double smoothed_variation(const Lattice& lattice, const Image& u, double epsilon, const Field& c = {});
Image smoothed_variation_gradient(const Lattice& lattice, const Image& u, double epsilon, const Field& c = {});

/// exp(-(B u / delta)^2), the weights of Liu, Ma, Fan & Liang 2012.
Field adaptive_weights(const Lattice& lattice, const Image& u, double delta);

/// Variants of the descent: adaptive weights with this delta, and steps that go with the root of w (empty: 1).
struct DescentVariant {
  double delta = std::numeric_limits<double>::infinity();
  Image w;
};

/// `iterations` steps of the same RMS length along that gradient.
Image tv_descent(const Lattice& lattice, Image u, double epsilon, double step, int iterations,
                 const DescentVariant& variant = {});

/// Two balls, the test object of the convergence counts: 1 inside radius .45 n about the centre, 1.5 inside radius .2 n
/// about (.35, .5, .5) n, Gaussian noise of standard deviation `noise` (times sqrt(weights), if given).
Volume two_balls(std::size_t n, double noise, unsigned seed = 1, const Volume* weights = nullptr);
/// Weights from a third to 3, and 0 in a corner and at single voxels.
Volume weights_with_holes(const Grid& grid);
Grid grid_of(const std::array<std::size_t, 3>& size, const std::array<double, 3>& spacing);
/// 70^(x/n - 1/2), scaled to mean 1.
Volume ramp_weights(std::size_t n);

}  // namespace halocline::reference
