#include "algorithms/geometry/turned_views.hpp"

#include <cmath>

namespace halocline {
namespace {

// The matrix of a view that sees voxel (x, y) where this one sees the voxel turned by a quarter, (y, -x), or a half.
Matrix34 turned(const Matrix34& m, int views) {
  Matrix34 result = m;
  for (int row = 0; row < 12; row += 4) {
    result[row] = views == 2 ? -m[row] : m[row + 1];
    result[row + 1] = views == 2 ? -m[row + 1] : -m[row];
  }
  return result;
}

}  // namespace

bool agree(const Matrix34& a, const Matrix34& b, const std::array<std::size_t, 3>& size) {
  constexpr double rounding = 1e-12;
  for (int row = 0; row < 12; row += 4) {
    double apart = 0, largest = 0;
    for (int column = 0; column < 4; ++column) {
      const double reach = column < 3 ? 0.5 * static_cast<double>(size[column]) : 1;
      apart += std::abs(a[row + column] - b[row + column]) * reach;
      largest += std::abs(a[row + column]) * reach;
    }
    if (apart > rounding * largest) return false;
  }
  return true;
}

std::vector<int> turned_views(const std::vector<Matrix34>& matrices, const std::array<std::size_t, 3>& size,
                              int views) {
  const bool even = size[0] % 2 == 0 && size[1] % 2 == 0 && (views == 2 || size[0] == size[1]);
  if (!even || matrices.size() % static_cast<std::size_t>(views) != 0) return {};
  std::vector<bool> taken(matrices.size(), false);
  std::vector<int> order;
  for (std::size_t first = 0; first < matrices.size(); ++first) {
    if (taken[first]) continue;
    Matrix34 next = matrices[first];
    for (int n = 0; n < views; ++n) {
      std::size_t view = first;
      while (view < matrices.size() && (taken[view] || !agree(next, matrices[view], size))) ++view;
      if (view == matrices.size()) return {};
      taken[view] = true;
      order.push_back(static_cast<int>(view));
      next = turned(next, views);
    }
  }
  return order;
}

std::vector<int> turned_packs(const Geometry& geometry, const Grid& volume, const Grid& projections, int views) {
  std::vector<Matrix34> matrices;
  for (const View& view : geometry.views) matrices.push_back(index_to_detector(view, volume, projections));
  return turned_views(matrices, volume.size, views);
}

}  // namespace halocline
