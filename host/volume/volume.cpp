#include "host/volume/volume.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "host/system/error.hpp"
#include "host/volume/finite_source.hpp"

namespace halocline {

std::array<double, 3> Grid::world(double i, double j, double k) const {
  const double a = i * spacing[0], b = j * spacing[1], c = k * spacing[2];
  const auto& d = direction;
  return {origin[0] + d[0] * a + d[1] * b + d[2] * c, origin[1] + d[3] * a + d[4] * b + d[5] * c,
          origin[2] + d[6] * a + d[7] * b + d[8] * c};
}

std::array<double, 3> Grid::index(double x, double y, double z) const {
  // direction is orthonormal, so its inverse is its transpose
  const double a = x - origin[0], b = y - origin[1], c = z - origin[2];
  const auto& d = direction;
  return {(d[0] * a + d[3] * b + d[6] * c) / spacing[0], (d[1] * a + d[4] * b + d[7] * c) / spacing[1],
          (d[2] * a + d[5] * b + d[8] * c) / spacing[2]};
}

void check_grid(const Grid& grid, const std::string& what) {
  constexpr double most = 0x1p60;  // voxels, whose bytes 64 bits still count
  if (static_cast<double>(grid.size[0]) * static_cast<double>(grid.size[1]) * static_cast<double>(grid.size[2]) > most)
    throw InputError(fmt::format("{}: size {} is absurdly large; correct the sizes", what, fmt::join(grid.size, ",")));
  for (int axis = 0; axis < 3; ++axis) {
    if (grid.size[axis] == 0)
      throw InputError(
          fmt::format("{}: size {} has a 0; every size must be at least 1", what, fmt::join(grid.size, ",")));
    if (!(grid.spacing[axis] > 0) || !std::isfinite(grid.spacing[axis]))
      throw InputError(fmt::format("{}: spacing {} mm; every spacing must be positive and finite", what,
                                   fmt::join(grid.spacing, ",")));
    if (!std::isfinite(grid.origin[axis]))
      throw InputError(fmt::format("{}: origin {} mm is not finite", what, fmt::join(grid.origin, ",")));
    constexpr double coarse = 1e9, fine = 1e-9, far = 1e12;  // beyond, squares and quotients of float32 overflow
    if (grid.spacing[axis] > coarse || grid.spacing[axis] < fine)
      throw InputError(fmt::format("{}: spacing {} mm; {:g} to {:g} mm are expected", what,
                                   fmt::join(grid.spacing, ","), fine, coarse));
    if (std::abs(grid.origin[axis]) > far)
      throw InputError(
          fmt::format("{}: origin {} mm; no more than {:g} mm are expected", what, fmt::join(grid.origin, ","), far));
  }
  for (int a = 0; a < 3; ++a)
    for (int b = 0; b <= a; ++b) {
      double dot = 0;
      for (int row = 0; row < 3; ++row) dot += grid.direction[3 * row + a] * grid.direction[3 * row + b];
      if (!(std::abs(dot - (a == b ? 1 : 0)) < 1e-4))
        throw InputError(
            fmt::format("{}: direction {} is not a rotation or reflection; its columns must be three "
                        "perpendicular unit vectors",
                        what, fmt::join(grid.direction, " ")));
    }
}

void require_same_grid(const Grid& a, const std::string& name_a, const Grid& b, const std::string& name_b) {
  const auto differ = [&](const char* property, const auto& values_a, const auto& values_b) {
    throw InputError(
        fmt::format("{} and {} must lie on the same grid, but their {} differs: {} against {}; resample one "
                    "of them, or make it with `grid = the other's`",
                    name_a, name_b, property, fmt::join(values_a, ","), fmt::join(values_b, ",")));
  };
  if (a.size != b.size) differ("size", a.size, b.size);
  for (int axis = 0; axis < 3; ++axis) {
    if (std::abs(a.spacing[axis] - b.spacing[axis]) > 1e-5 * a.spacing[axis]) differ("spacing", a.spacing, b.spacing);
    if (std::abs(a.origin[axis] - b.origin[axis]) > 1e-3 * a.spacing[axis]) differ("origin", a.origin, b.origin);
  }
  for (int n = 0; n < 9; ++n)
    if (std::abs(a.direction[n] - b.direction[n]) > 1e-4) differ("direction", a.direction, b.direction);
}

Grid default_grid(const std::array<std::size_t, 3>& size, const std::array<double, 3>& spacing) {
  Grid grid;
  grid.size = size;
  grid.spacing = spacing;
  grid.direction = {1, 0, 0, 0, 0, 1, 0, 1, 0};
  const auto half = [&](int axis) { return -0.5 * (static_cast<double>(size[axis]) - 1) * spacing[axis]; };
  grid.origin = {half(0), half(2), half(1)};  // world (x, y, z) of voxel 0; y runs along k, z along j
  return grid;
}

void require_finite(const Volume& volume, const std::string& name) {
  require_finite(MemorySource(volume), name);
}

}  // namespace halocline
