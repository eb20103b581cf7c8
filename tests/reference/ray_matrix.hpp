// The explicit matrix of a scan in double precision.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "algorithms/projectors/projector.hpp"
#include "tests/reference/projector_scenes.hpp"

namespace halocline::reference {

using Vector = std::vector<double>;

double dot(const Vector& a, const Vector& b);
double norm(const Vector& a);
Vector minus(Vector a, const Vector& b);
/// a + factor b
Vector plus(Vector a, double factor, const Vector& b);
/// Element by element.
Vector product(Vector a, const Vector& b);
/// 1 / a, 0 where a is not above 0.
Vector inverse(Vector a);
/// ||a - b|| / ||b||
double relative_difference(const Vector& a, const Vector& b);
/// sqrt(mean (a - b)^2)
double rms_difference(const Vector& a, const Vector& b);

Vector vector_of(const Volume& volume);
/// Volume in float32.
Volume volume_of(const Grid& grid, const Vector& values);

/// A sparse matrix, row by row.
class RayMatrix {
 public:
  struct Entry {
    std::size_t row, column;
    double weight;
  };
  /// `entries` in any order; several of one place add up.
  RayMatrix(std::size_t rows, std::size_t columns, const std::vector<Entry>& entries);
  /// The projector's weights: rays (u, v, view) times voxels.
  explicit RayMatrix(const Scene& scene, Projector projector = Projector::joseph);

  std::size_t rows() const { return begins_.size() - 1; }
  std::size_t columns() const { return columns_; }
  std::size_t entries() const { return weights_.size(); }

  Vector times(const Vector& x) const;
  Vector transposed_times(const Vector& y) const;
  /// A 1 and A^T 1.
  Vector row_sums() const { return times(Vector(columns(), 1.0)); }
  Vector column_sums() const { return transposed_times(Vector(rows(), 1.0)); }
  /// These rows only, in this order.
  RayMatrix of_rows(const std::vector<std::size_t>& rows) const;
  /// Row n times factors[n].
  RayMatrix rows_scaled(const Vector& factors) const;
  /// The matrix with factor times the identity below.
  RayMatrix with_identity(double factor) const;
  /// ||A||^2 from below, as the length of A^T A v after so many power steps from a vector of ones.
  double squared_norm(int steps) const;

 private:
  RayMatrix() = default;

  std::size_t columns_ = 0;
  std::vector<std::size_t> begins_{0};
  std::vector<std::uint32_t> places_;
  Vector weights_;
};

}  // namespace halocline::reference
