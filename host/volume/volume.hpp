// Images in host memory: volumes (x, y, z) and projection stacks (u, v, view), float32, first index fastest.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "host/system/uninitialised.hpp"

namespace halocline {

/// Grid of voxels. Lengths in mm. world(index) = origin + direction * (spacing o index): ITK's convention, so `origin`
/// is the CENTRE of voxel (0,0,0) and `direction` holds nine numbers, row-major, whose COLUMNS are the index axes in
/// the world.
struct Grid {
  std::array<std::size_t, 3> size{0, 0, 0};
  std::array<double, 3> spacing{1, 1, 1};
  std::array<double, 3> origin{0, 0, 0};
  std::array<double, 9> direction{1, 0, 0, 0, 1, 0, 0, 0, 1};

  std::size_t slice() const { return size[0] * size[1]; }
  std::size_t count() const { return slice() * size[2]; }
  /// World position in mm of a (fractional) index.
  std::array<double, 3> world(double i, double j, double k) const;
  /// Fractional index of a world position in mm (the inverse of world).
  std::array<double, 3> index(double x, double y, double z) const;
};

/// Throws InputError that names `what` if a size is 0, there are over 2^60 voxels, a spacing is not positive and
/// finite, or the direction is not a rotation or reflection (orthonormal to 1e-4).
void check_grid(const Grid& grid, const std::string& what);

/// Throws InputError that names both images and says which property (size, spacing, origin, direction) differs and how.
void require_same_grid(const Grid& a, const std::string& name_a, const Grid& b, const std::string& name_b);

/// The default reconstruction grid: index axes i = +x, j = +z, k = +y (the rotation axis), centred on the isocentre, so
/// that slabs along k are contiguous in memory and are seen by a narrow band of detector rows.
Grid default_grid(const std::array<std::size_t, 3>& size, const std::array<double, 3>& spacing);

/// A std::vector<float> whose elements without a value are not set to 0 (see UninitialisedAllocator). Voxels(n, 0) and
/// resize(n, 0) set them. Converts from and to std::vector<float> by copying.
class Voxels : public UninitialisedVector<float> {
 public:
  using UninitialisedVector<float>::UninitialisedVector;
  Voxels() = default;
  Voxels(const std::vector<float>& values) : UninitialisedVector<float>(values.begin(), values.end()) {}
  operator std::vector<float>() const { return {begin(), end()}; }
  friend bool operator==(const Voxels& a, const Voxels& b) {
    return static_cast<const UninitialisedVector<float>&>(a) == static_cast<const UninitialisedVector<float>&>(b);
  }
};

/// A volume or a projection stack. voxels.size() == grid.count(); voxel (i,j,k) is voxels[i + size[0] * (j + size[1] *
/// k)]. A projection stack is (u, v, view): spacing and origin of its first two axes are physical detector coordinates
/// in mm.
struct Volume {
  Grid grid;
  Voxels voxels;

  Volume() = default;
  explicit Volume(const Grid& g, float value = 0) : grid(g), voxels(g.count(), value) {}
  /// A volume with undefined voxels, for callers that write every one: pages are allocated by the first access, best by
  /// many threads.
  static Volume uninitialised(const Grid& g) {
    Volume volume;
    volume.grid = g;
    volume.voxels.resize(g.count());
    return volume;
  }
  float& at(std::size_t i, std::size_t j, std::size_t k) { return voxels[i + grid.size[0] * (j + grid.size[1] * k)]; }
  float at(std::size_t i, std::size_t j, std::size_t k) const {
    return voxels[i + grid.size[0] * (j + grid.size[1] * k)];
  }
};

/// Throws InputError with the name, the first index and how many, if a value is NaN or infinite.
void require_finite(const Volume& volume, const std::string& name);

}  // namespace halocline
