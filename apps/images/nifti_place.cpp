#include "apps/images/nifti_place.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace halocline {
namespace {

// Version 1 is float32 throughout, version 2 float64.
template <typename Real>
using Rows = std::array<std::array<Real, 4>, 3>;

double spacing_of(const NiftiHeader& header, std::size_t axis) {
  const double pixdim = axis < static_cast<std::size_t>(header.dim[0]) ? header.pixdim[axis + 1] : 1;
  return pixdim == 0 ? 1 : pixdim;
}

template <typename Real>
Rows<Real> sform_of(const NiftiHeader& header) {
  Rows<Real> rows{};
  for (std::size_t n = 0; n < 12; ++n) rows[n / 4][n % 4] = static_cast<Real>(header.srow[n]);
  return rows;
}

// nifti1.h, method 2. The order of operations and their precision are those of the library behind ITK.
template <typename Real>
Rows<Real> qform_of(const NiftiHeader& header) {
  auto [b, c, d] = header.quatern;
  const double squares = b * b + c * c + d * d;
  double a = 1 - squares;
  if (a < 1e-7) {  // half a turn
    const double length = 1 / std::sqrt(squares);
    b *= length, c *= length, d *= length, a = 0;
  } else {
    a = std::sqrt(a);
  }
  std::array<double, 3> spacing{};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const double pixdim = header.pixdim[axis + 1];
    spacing[axis] = pixdim > 0 ? pixdim : 1;
  }
  if (header.pixdim[0] < 0) spacing[2] = -spacing[2];
  const auto [x, y, z] = spacing;
  const auto twice = [](double part, double length) { return static_cast<Real>(2.0L * part * length); };
  const auto once = [](double part, double length) { return static_cast<Real>(part * length); };
  const auto offset = [&](std::size_t row) { return static_cast<Real>(header.qoffset[row]); };
  return {{{once(a * a + b * b - c * c - d * d, x), twice(b * c - a * d, y), twice(b * d + a * c, z), offset(0)},
           {twice(b * c + a * d, x), once(a * a + c * c - b * b - d * d, y), twice(c * d - a * b, z), offset(1)},
           {twice(b * d - a * c, x), twice(c * d + a * b, y), once(a * a + d * d - c * c - b * b, z), offset(2)}}};
}

template <typename Real>
bool are_close(const Rows<Real>& one, const Rows<Real>& other) {
  Real distance = 0;
  for (std::size_t row = 0; row < 3; ++row) {
    for (std::size_t axis = 0; axis < 3; ++axis)
      if (!(std::abs(one[row][axis] - other[row][axis]) <= 1e-5)) return false;
    distance += std::abs(one[row][3] - other[row][3]);
  }
  return distance <= 1e-7;
}

template <typename Real>
void place(const Rows<Real>& rows, std::size_t axes, Grid& grid) {
  for (std::size_t row = 0; row < axes; ++row)
    grid.origin[row] = row < 2 ? -static_cast<double>(rows[row][3]) : static_cast<double>(rows[row][3]);
  for (std::size_t axis = 0; axis < axes; ++axis) {
    double squares = 0;
    for (std::size_t row = 0; row < axes; ++row) {
      const double step = static_cast<double>(rows[row][axis]) * (row < 2 ? -1.0 : 1.0);
      grid.direction[3 * row + axis] = step;
      squares += step * step;
    }
    const double length = squares == 0 ? 1 : std::sqrt(squares);
    for (std::size_t row = 0; row < axes; ++row) grid.direction[3 * row + axis] /= length;
  }
}

template <typename Real>
bool place(const NiftiHeader& header, std::size_t axes, Grid& grid) {
  const auto q = qform_of<Real>(header);
  const auto s = sform_of<Real>(header);
  constexpr int scanner = 1;
  if (header.qform_code <= 0 && header.sform_code <= 0) return true;
  if (header.qform_code > 0) place(q, axes, grid);
  if (header.sform_code <= 0) return true;
  const Grid by_q = grid;
  place(s, axes, grid);
  if (header.qform_code <= 0) return true;
  const bool same = grid.origin == by_q.origin && grid.direction == by_q.direction;
  return same || (header.sform_code == scanner && are_close(s, q));
}

}  // namespace

std::optional<Grid> nifti_place(const NiftiHeader& header, std::size_t axes) {
  Grid grid;
  grid.size = {1, 1, 1};
  const double unit = header.length_unit == 1 ? 1e3 : header.length_unit == 3 ? 1e-3 : 1;
  for (std::size_t axis = 0; axis < axes; ++axis) {
    grid.size[axis] = static_cast<std::size_t>(header.dim[axis + 1]);
    grid.spacing[axis] = spacing_of(header, axis) * unit;
  }
  const bool sure = header.version == 2 ? place<double>(header, axes, grid) : place<float>(header, axes, grid);
  return sure ? std::optional(grid) : std::nullopt;
}

}  // namespace halocline
