#include "tests/reference/ray_matrix.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "tests/reference/projector_reference.hpp"

namespace halocline::reference {

double dot(const Vector& a, const Vector& b) {
  double sum = 0;
  for (std::size_t n = 0; n < a.size(); ++n) sum += a[n] * b[n];
  return sum;
}

double norm(const Vector& a) {
  return std::sqrt(dot(a, a));
}

Vector minus(Vector a, const Vector& b) {
  for (std::size_t n = 0; n < a.size(); ++n) a[n] -= b[n];
  return a;
}

Vector plus(Vector a, double factor, const Vector& b) {
  for (std::size_t n = 0; n < a.size(); ++n) a[n] += factor * b[n];
  return a;
}

Vector product(Vector a, const Vector& b) {
  for (std::size_t n = 0; n < a.size(); ++n) a[n] *= b[n];
  return a;
}

Vector inverse(Vector a) {
  for (double& each : a) each = each > 0 ? 1 / each : 0;
  return a;
}

double relative_difference(const Vector& a, const Vector& b) {
  return norm(minus(a, b)) / norm(b);
}

double rms_difference(const Vector& a, const Vector& b) {
  return norm(minus(a, b)) / std::sqrt(static_cast<double>(a.size()));
}

Vector vector_of(const Volume& volume) {
  return {volume.voxels.begin(), volume.voxels.end()};
}

Volume volume_of(const Grid& grid, const Vector& values) {
  Volume volume = Volume::uninitialised(grid);
  std::transform(values.begin(), values.end(), volume.voxels.begin(),
                 [](double each) { return static_cast<float>(each); });
  return volume;
}

RayMatrix::RayMatrix(std::size_t rows, std::size_t columns, const std::vector<Entry>& entries)
    : columns_(columns), begins_(rows + 1, 0), places_(entries.size()), weights_(entries.size()) {
  for (const Entry& entry : entries) ++begins_[entry.row + 1];
  for (std::size_t row = 0; row < rows; ++row) begins_[row + 1] += begins_[row];
  std::vector<std::size_t> next(begins_.begin(), begins_.end() - 1);
  for (const auto& [row, column, weight] : entries) {
    places_[next[row]] = static_cast<std::uint32_t>(column);
    weights_[next[row]++] = weight;
  }
}

RayMatrix::RayMatrix(const Scene& scene, Projector projector) : columns_(scene.grid.count()) {
  reference::weights(projector, scene.grid, scene.geometry, scene.projections,
                     [this](std::size_t ray, std::size_t voxel, double weight) {
                       if (ray + 1 < begins_.size()) throw std::logic_error("rays come one after another");
                       while (begins_.size() <= ray) begins_.push_back(weights_.size());
                       places_.push_back(static_cast<std::uint32_t>(voxel));
                       weights_.push_back(weight);
                     });
  while (begins_.size() <= scene.projections.count()) begins_.push_back(weights_.size());
}

Vector RayMatrix::times(const Vector& x) const {
  Vector y(rows(), 0.0);
  for (std::size_t row = 0; row < rows(); ++row)
    for (std::size_t n = begins_[row]; n < begins_[row + 1]; ++n) y[row] += weights_[n] * x[places_[n]];
  return y;
}

Vector RayMatrix::transposed_times(const Vector& y) const {
  Vector x(columns_, 0.0);
  for (std::size_t row = 0; row < rows(); ++row)
    for (std::size_t n = begins_[row]; n < begins_[row + 1]; ++n) x[places_[n]] += weights_[n] * y[row];
  return x;
}

RayMatrix RayMatrix::of_rows(const std::vector<std::size_t>& rows) const {
  RayMatrix result;
  result.columns_ = columns_;
  for (const std::size_t row : rows) {
    const auto first = static_cast<std::ptrdiff_t>(begins_[row]), end = static_cast<std::ptrdiff_t>(begins_[row + 1]);
    result.places_.insert(result.places_.end(), places_.begin() + first, places_.begin() + end);
    result.weights_.insert(result.weights_.end(), weights_.begin() + first, weights_.begin() + end);
    result.begins_.push_back(result.weights_.size());
  }
  return result;
}

RayMatrix RayMatrix::rows_scaled(const Vector& factors) const {
  RayMatrix result = *this;
  for (std::size_t row = 0; row < rows(); ++row)
    for (std::size_t n = begins_[row]; n < begins_[row + 1]; ++n) result.weights_[n] *= factors[row];
  return result;
}

RayMatrix RayMatrix::with_identity(double factor) const {
  RayMatrix result = *this;
  for (std::size_t n = 0; n < columns_; ++n) {
    result.places_.push_back(static_cast<std::uint32_t>(n));
    result.weights_.push_back(factor);
    result.begins_.push_back(result.weights_.size());
  }
  return result;
}

double RayMatrix::squared_norm(int steps) const {
  Vector x(columns_, 1.0);
  double found = norm(x);
  for (int k = 0; k < steps; ++k) {
    for (double& each : x) each /= found;
    x = transposed_times(times(x));
    found = norm(x);
  }
  return found;
}

}  // namespace halocline::reference
