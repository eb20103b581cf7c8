// The explicit matrix of a scan, and vectors, in double.
#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

#include "tests/reference/projector_reference.hpp"
#include "tests/reference/projector_scenes.hpp"

namespace halocline::reference {

using Vector = std::vector<double>;

class Matrix {
 public:
  Matrix(const Scene& scene, Projector projector) : rays_(scene.projections.count()), voxels_(scene.grid.count()) {
    weights(projector, scene.grid, scene.geometry, scene.projections,
            [this](std::size_t ray, std::size_t voxel, double weight) {
              entries_.push_back({ray, voxel, weight});
            });
  }
  /// Rows `first` to `end` - 1, the others being 0.
  Matrix rows(std::size_t first, std::size_t end) const {
    Matrix part(rays_, voxels_);
    for (const Entry& entry : entries_)
      if (entry.ray >= first && entry.ray < end) part.entries_.push_back(entry);
    return part;
  }
  Vector times(const Vector& x) const {
    Vector y(rays_, 0.0);
    for (const auto& [ray, voxel, weight] : entries_) y[ray] += weight * x[voxel];
    return y;
  }
  Vector transposed_times(const Vector& y) const {
    Vector x(voxels_, 0.0);
    for (const auto& [ray, voxel, weight] : entries_) x[voxel] += weight * y[ray];
    return x;
  }
  std::size_t rays() const { return rays_; }
  std::size_t voxels() const { return voxels_; }

 private:
  struct Entry {
    std::size_t ray, voxel;
    double weight;
  };
  Matrix(std::size_t rays, std::size_t voxels) : rays_(rays), voxels_(voxels) {}

  std::size_t rays_, voxels_;
  std::vector<Entry> entries_;
};

inline double dot(const Vector& a, const Vector& b) {
  double sum = 0;
  for (std::size_t n = 0; n < a.size(); ++n) sum += a[n] * b[n];
  return sum;
}
inline double norm(const Vector& a) {
  return std::sqrt(dot(a, a));
}
inline Vector minus(Vector a, const Vector& b) {
  for (std::size_t n = 0; n < a.size(); ++n) a[n] -= b[n];
  return a;
}
inline Vector times(Vector a, const Vector& b) {
  for (std::size_t n = 0; n < a.size(); ++n) a[n] *= b[n];
  return a;
}
/// a + factor b.
inline Vector plus(Vector a, double factor, const Vector& b) {
  for (std::size_t n = 0; n < a.size(); ++n) a[n] += factor * b[n];
  return a;
}
/// 1 / a, 0 where a is not above 0.
inline Vector inverse(Vector a) {
  for (double& each : a) each = each > 0 ? 1 / each : 0;
  return a;
}
inline Vector exact(const Volume& volume) {
  return {volume.voxels.begin(), volume.voxels.end()};
}

}  // namespace halocline::reference
