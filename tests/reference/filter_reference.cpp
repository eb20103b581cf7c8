#include "tests/reference/filter_reference.hpp"

#include <algorithm>
#include <cmath>

namespace halocline::reference {
namespace {

using Index = std::array<std::ptrdiff_t, 3>;

Index index_of(const Lattice& lattice, std::size_t i) {
  Index index;
  for (int axis = 0; axis < 3; ++axis) index[axis] = static_cast<std::ptrdiff_t>(lattice.position(i, axis));
  return index;
}

std::ptrdiff_t size_of(const Lattice& lattice, int axis) {
  return static_cast<std::ptrdiff_t>(lattice.size[axis]);
}

bool inside(const Lattice& lattice, const Index& index) {
  for (int axis = 0; axis < 3; ++axis)
    if (index[axis] < 0 || index[axis] >= size_of(lattice, axis)) return false;
  return true;
}

// The voxel there; beyond a face, the face's.
double repeated(const Lattice& lattice, const Image& f, const Index& index) {
  std::ptrdiff_t at = 0;
  for (int axis = 0; axis < 3; ++axis)
    at += std::clamp<std::ptrdiff_t>(index[axis], 0, size_of(lattice, axis) - 1) *
          static_cast<std::ptrdiff_t>(lattice.stride(axis));
  return f[static_cast<std::size_t>(at)];
}

Index plus(const Index& a, const Index& b) {
  return {a[0] + b[0], a[1] + b[1], a[2] + b[2]};
}

// Calls visit(offset) for all offsets of the box.
template <class Visit>
void for_box(const Index& radius, Visit&& visit) {
  for (std::ptrdiff_t z = -radius[2]; z <= radius[2]; ++z)
    for (std::ptrdiff_t y = -radius[1]; y <= radius[1]; ++y)
      for (std::ptrdiff_t x = -radius[0]; x <= radius[0]; ++x) visit(Index{x, y, z});
}

Index cube(const Lattice& lattice, int radius) {
  Index result;
  for (int axis = 0; axis < 3; ++axis) result[axis] = lattice.size[axis] > 1 ? radius : 0;
  return result;
}

}  // namespace

Image gaussian(const Lattice& lattice, const Image& f, double sigma) {
  Index reach;
  for (int axis = 0; axis < 3; ++axis)
    reach[axis] = static_cast<std::ptrdiff_t>(std::ceil(4 * sigma / lattice.spacing[axis]));
  Image result(f.size());
  for (std::size_t i = 0; i < f.size(); ++i) {
    double sum = 0, total = 0;
    const Index here = index_of(lattice, i);
    for_box(reach, [&](const Index& offset) {
      const Index there = plus(here, offset);
      if (!inside(lattice, there)) return;
      double distance2 = 0;
      for (int axis = 0; axis < 3; ++axis)
        distance2 += std::pow(static_cast<double>(offset[axis]) * lattice.spacing[axis], 2);
      const double weight = std::exp(-distance2 / (2 * sigma * sigma));
      sum += weight * repeated(lattice, f, there);
      total += weight;
    });
    result[i] = sum / total;
  }
  return result;
}

Image median(const Lattice& lattice, const Image& f, int radius) {
  Image result(f.size());
  for (std::size_t i = 0; i < f.size(); ++i) {
    Image window;
    const Index here = index_of(lattice, i);
    for_box(cube(lattice, radius),
            [&](const Index& offset) { window.push_back(repeated(lattice, f, plus(here, offset))); });
    const auto middle = window.begin() + static_cast<std::ptrdiff_t>(window.size() / 2);
    std::nth_element(window.begin(), middle, window.end());
    result[i] = *middle;
  }
  return result;
}

Image non_local_means(const Lattice& lattice, const Image& f, int patch_radius, int search_radius, double strength,
                      double noise) {
  const Index patch = cube(lattice, patch_radius);
  Image result(f.size());
  for (std::size_t i = 0; i < f.size(); ++i) {
    double sum = 0, total = 0;
    const Index here = index_of(lattice, i);
    for_box(cube(lattice, search_radius), [&](const Index& offset) {
      const Index there = plus(here, offset);
      if (!inside(lattice, there)) return;
      double distance2 = 0, voxels = 0;
      for_box(patch, [&](const Index& k) {
        distance2 += std::pow(repeated(lattice, f, plus(here, k)) - repeated(lattice, f, plus(there, k)), 2);
        ++voxels;
      });
      const double excess = std::max(distance2 / voxels - 2 * noise * noise, 0.0);
      const double weight = std::exp(-excess / std::pow(strength * noise, 2));
      sum += weight * repeated(lattice, f, there);
      total += weight;
    });
    result[i] = sum / total;
  }
  return result;
}

}  // namespace halocline::reference
