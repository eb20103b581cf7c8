#include "algorithms/projectors/coordinate_error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "algorithms/support/philox.hpp"
#include "host/system/error.hpp"

namespace halocline {
namespace {

// A row of the matrix times the voxel: in double, as the kernels do it in float32, and how far the two may be apart.
struct MatrixRow {
  double exact;
  float rounded;
  double apart;  // in units of 2^-24 times 1
};

// Matrix entries are rounded once, and so are three sums: p1 = m_y y + m_w, p2 = m_x x + p1, p3 = m_z z + p2. Voxels
// from the centre are whole or half numbers, exact in float32.
MatrixRow row_of(const double* m, const std::array<double, 3>& x) {
  const double p1 = m[1] * x[1] + m[3], p2 = m[0] * x[0] + p1, p3 = m[2] * x[2] + p2;
  const auto f = [](double value) { return static_cast<float>(value); };
  const float inner = std::fma(f(x[1]), f(m[1]), f(m[3])), outer = std::fma(f(x[0]), f(m[0]), inner);
  const double entries = std::abs(m[0] * x[0]) + std::abs(m[1] * x[1]) + std::abs(m[2] * x[2]) + std::abs(m[3]);
  return {p3, std::fma(f(x[2]), f(m[2]), outer), entries + std::abs(p1) + std::abs(p2) + std::abs(p3)};
}

// u = U (1/W). OpenCL lets a division be wrong by 2.5 units in the last place, each of 2^-23 at most, and the product
// is rounded once: 6 times 2^-24. Products of errors are below a thousandth of their sum.
CoordinateError quotient(const MatrixRow& top, const MatrixRow& w) {
  const double u = top.exact / w.exact;
  const float inverse = 1.0f / w.rounded;
  const double apart = top.apart / w.exact + std::abs(u) * (w.apart / w.exact + 6);
  return {std::abs(static_cast<double>(top.rounded * inverse) - u), 1.001 * 0x1p-24 * apart};
}

// v of a stack of fans, which is the sum itself.
CoordinateError undivided(const MatrixRow& row) {
  return {std::abs(static_cast<double>(row.rounded) - row.exact), 1.001 * 0x1p-24 * row.apart};
}

}  // namespace

CoordinateError coordinate_error(const Matrix34& matrix, const std::array<std::size_t, 3>& size,
                                 const std::array<std::size_t, 3>& index, bool fan_stack) {
  std::array<double, 3> x;
  for (int axis = 0; axis < 3; ++axis)
    x[axis] = static_cast<double>(index[axis]) - 0.5 * (static_cast<double>(size[axis]) - 1);
  const MatrixRow w = row_of(&matrix[8], x);
  const MatrixRow row = row_of(&matrix[4], x);
  const CoordinateError u = quotient(row_of(&matrix[0], x), w), v = fan_stack ? undivided(row) : quotient(row, w);
  return {std::max(u.error, v.error), std::max(u.bound, v.bound)};
}

CoordinateError worst_coordinate_error(const Geometry& geometry, const Grid& volume, const Grid& stack, int voxels) {
  PhiloxStream random(1, 0, 0);
  CoordinateError worst;
  for (int n = 0; n < voxels; ++n) {
    std::array<std::size_t, 3> index;
    std::array<double, 3> x;
    for (int axis = 0; axis < 3; ++axis) {
      const double last = static_cast<double>(volume.size[axis] - 1);
      index[axis] =
          static_cast<std::size_t>(n % 8 < 1 ? (n >> (3 + axis) & 1 ? last : 0) : std::round(random.uniform() * last));
      x[axis] = static_cast<double>(index[axis]) - 0.5 * last;
    }
    const View& view = geometry.views[static_cast<std::size_t>(n) % geometry.views.size()];
    const Matrix34 m = index_to_detector(view, volume, stack);
    const auto row = [&](int r) { return m[r] * x[0] + m[r + 1] * x[1] + m[r + 2] * x[2] + m[r + 3]; };
    const double w = row(8), u = row(0) / w, v = view.fan_stack ? row(4) : row(4) / w;
    constexpr double nearest = 0.01;  // of SID: nearer to the source, digits are lost whatever the scan is
    if (w <= nearest || u <= -1 || v <= -1 || u >= static_cast<double>(stack.size[0]) ||
        v >= static_cast<double>(stack.size[1]))
      continue;
    const CoordinateError each = coordinate_error(m, volume.size, index, view.fan_stack);
    worst = {std::max(worst.error, each.error), std::max(worst.bound, each.bound)};
  }
  return worst;
}

void check_coordinates(const Geometry& geometry, const Grid& volume, const Grid& stack) {
  constexpr int voxels = 512;
  const double error = worst_coordinate_error(geometry, volume, stack, voxels).error;
  if (error <= most_coordinate_error) return;
  refuse_coordinates(error);
}

void refuse_coordinates(double error) {
  throw InputError(fmt::format(
      "the geometry and the grids want more digits than float32 has: places on the detector would be off by up to "
      "{:.2g} "
      "pixels; bring volume and detector nearer to where their rays meet, or take fewer pixels or a farther source",
      error));
}

}  // namespace halocline
