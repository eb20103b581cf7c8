// Double-precision oracle of PDU in four dimensions, from the formulas.
#pragma once

#include <array>

#include "algorithms/denoisers/schedule.hpp"
#include "tests/reference/tv_reference.hpp"

namespace halocline::reference {

/// Size and spacing of (x, y, z, t); x fastest, t slowest.
struct Lattice4 {
  std::array<std::size_t, 4> size{1, 1, 1, 1};
  std::array<double, 4> spacing{1, 1, 1, 1};

  std::size_t count() const { return size[0] * size[1] * size[2] * size[3]; }
  std::size_t stride(int axis) const;
  std::size_t position(std::size_t i, int axis) const { return i / stride(axis) % size[axis]; }
};

using Field4 = std::array<Image, 4>;
Field4 gradient(const Lattice4& lattice, const Image& u);
Image divergence(const Lattice4& lattice, const Field4& q);

struct PrimalDual4 {
  Image u;
  Field4 q;
  double primal = 0, dual = 0;
};

/// Iterates from u = f and q = 0; standard or chambolle_pock.
PrimalDual4 primal_dual(const Lattice4& lattice, const Image& f, double lambda, Schedule schedule, int iterations);

}  // namespace halocline::reference
