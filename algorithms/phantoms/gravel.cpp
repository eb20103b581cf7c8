#include "algorithms/phantoms/gravel.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "algorithms/support/philox.hpp"
#include "algorithms/support/vector3.hpp"

namespace halocline {
namespace {

// The heap is a cylinder about y; lengths are in units of its full width.
constexpr double heap_radius = 0.46, heap_half_height = 0.46;
constexpr double largest_grain = 0.11, smallest_grain = 0.012;
constexpr std::uint64_t candidates = 30000;
constexpr double grey_values[] = {0.6, 0.8, 1, 1.4};
constexpr double share_with_pore = 0.25;

using Matrix3 = std::array<Vector3, 3>;

/// An ellipsoid as {x: (x - centre)^T shape^-1 (x - centre) <= 1}.
struct Grain {
  Primitive primitive;
  Matrix3 shape;
  double reach;  ///< its largest semi-axis

  explicit Grain(const Primitive& p) : primitive(p), shape{}, reach(*std::ranges::max_element(p.semi_axes)) {
    for (int row = 0; row < 3; ++row)
      for (int column = 0; column < 3; ++column)
        for (int axis = 0; axis < 3; ++axis)
          shape[row][column] +=
              p.rotation[3 * row + axis] * p.rotation[3 * column + axis] * p.semi_axes[axis] * p.semi_axes[axis];
  }
};

/// Returns true only if the grains are apart. Each lambda of (0, 1) bounds the factor by which both may grow until they
/// touch (J. W. Perram & M. S. Wertheim, J. Comput. Phys. 58, 1985, 409-416): a bound above 1 shows that they do not.
bool apart(const Grain& a, const Grain& b) {
  const Vector3 r = add_scaled(b.primitive.centre, -1, a.primitive.centre);
  const double distance2 = dot(r, r), reach = a.reach + b.reach;
  constexpr double gap = 1.01;
  if (distance2 > gap * reach * reach) return true;
  constexpr int steps = 16;
  for (int step = 1; step < steps; ++step) {
    const double lambda = static_cast<double>(step) / steps;
    Matrix3 m;
    for (int row = 0; row < 3; ++row) m[row] = add_scaled(scaled(1 - lambda, a.shape[row]), lambda, b.shape[row]);
    const Matrix3 cofactors{cross(m[1], m[2]), cross(m[2], m[0]), cross(m[0], m[1])};
    const Vector3 solved{dot(cofactors[0], r), dot(cofactors[1], r), dot(cofactors[2], r)};
    if (lambda * (1 - lambda) * dot(r, solved) > gap * dot(m[0], cofactors[0])) return true;
  }
  return false;
}

/// Returns true only if the grain is within the heap.
bool in_heap(const Grain& grain) {
  const Matrix3& s = grain.shape;
  const Vector3& c = grain.primitive.centre;
  // half the widest extent of the grain's shadow along y
  const double wide = std::sqrt(0.5 * (s[0][0] + s[2][2]) + std::hypot(0.5 * (s[0][0] - s[2][2]), s[0][2]));
  return std::hypot(c[0], c[2]) + wide <= heap_radius && std::abs(c[1]) + std::sqrt(s[1][1]) <= heap_half_height;
}

double between(PhiloxStream& random, double least, double greatest) {
  return least + (greatest - least) * random.uniform();
}

Vector3 in_unit_ball(PhiloxStream& random) {
  for (;;) {
    const Vector3 at{between(random, -1, 1), between(random, -1, 1), between(random, -1, 1)};
    if (dot(at, at) <= 1 && dot(at, at) > 1e-4) return at;
  }
}

/// A uniform rotation: a direction, and one at right angles to it.
std::array<double, 9> random_rotation(PhiloxStream& random) {
  const auto unit = [](const Vector3& v) { return scaled(1 / std::sqrt(dot(v, v)), v); };
  const Vector3 x = unit(in_unit_ball(random));
  Vector3 across = cross(x, in_unit_ball(random));
  while (dot(across, across) < 1e-4) across = cross(x, in_unit_ball(random));
  const Vector3 y = unit(across), z = cross(x, y);
  return {x[0], y[0], z[0], x[1], y[1], z[1], x[2], y[2], z[2]};
}

Primitive random_grain(PhiloxStream& random, double size) {
  Primitive grain;
  for (double& axis : grain.semi_axes) axis = size * between(random, 0.6, 1.2);
  grain.centre = {between(random, -heap_radius, heap_radius), between(random, -heap_half_height, heap_half_height),
                  between(random, -heap_radius, heap_radius)};
  grain.rotation = random_rotation(random);
  grain.value = grey_values[static_cast<std::size_t>(random.uniform() * std::size(grey_values))];
  return grain;
}

/// A smaller ellipsoid of air within the grain: in units of its semi-axes, within a ball of radius 0.9.
Primitive random_pore(PhiloxStream& random, const Primitive& grain) {
  Primitive pore = grain;
  const double part = between(random, 0.15, 0.35);
  const Vector3 offset = scaled(0.9 - part, in_unit_ball(random));
  for (int axis = 0; axis < 3; ++axis) {
    pore.semi_axes[axis] *= part;
    for (int row = 0; row < 3; ++row)
      pore.centre[row] += grain.rotation[3 * row + axis] * grain.semi_axes[axis] * offset[axis];
  }
  pore.value = -grain.value;
  return pore;
}

}  // namespace

std::vector<Primitive> unit_gravel(std::uint64_t seed) {
  std::vector<Grain> grains;
  std::vector<Primitive> out;
  for (std::uint64_t n = 0; n < candidates; ++n) {
    PhiloxStream random(seed, n, 0);
    // large grains come first, and small ones fill the space between them
    const double progress = static_cast<double>(n) / static_cast<double>(candidates - 1);
    const double size = largest_grain * std::pow(smallest_grain / largest_grain, progress);
    const Grain grain(random_grain(random, size));
    if (!in_heap(grain) || !std::ranges::all_of(grains, [&](const Grain& other) { return apart(grain, other); }))
      continue;
    grains.push_back(grain);
    out.push_back(grain.primitive);
    if (random.uniform() < share_with_pore) out.push_back(random_pore(random, grain.primitive));
  }
  return out;
}

}  // namespace halocline
