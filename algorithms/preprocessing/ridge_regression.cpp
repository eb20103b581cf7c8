#include "algorithms/preprocessing/ridge_regression.hpp"

#include <algorithm>
#include <cmath>

namespace halocline {
namespace {

constexpr double ridge = 1e-4;
constexpr std::size_t samples_a_feature = 8;

/// Solves A x = b in place by Cholesky's factor of A, whose lower triangle is given; A is positive definite.
void solve(std::vector<double>& a, std::vector<double>& b) {
  const std::size_t n = b.size();
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j <= i; ++j) {
      double sum = a[i * n + j];
      for (std::size_t k = 0; k < j; ++k) sum -= a[i * n + k] * a[j * n + k];
      a[i * n + j] = i == j ? std::sqrt(sum) : sum / a[j * n + j];
    }
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t k = 0; k < i; ++k) b[i] -= a[i * n + k] * b[k];
    b[i] /= a[i * n + i];
  }
  for (std::size_t i = n; i-- > 0;) {
    for (std::size_t k = i + 1; k < n; ++k) b[i] -= a[k * n + i] * b[k];
    b[i] /= a[i * n + i];
  }
}

}  // namespace

void RidgeRegression::add(std::span<const double> features, double target) {
  for (std::size_t i = 0; i < features_; ++i) {
    for (std::size_t j = 0; j <= i; ++j) products_[i * features_ + j] += features[i] * features[j];
    targets_[i] += features[i] * target;
  }
  power_ += target * target;
  ++samples_;
}

void RidgeRegression::add(const RidgeRegression& other) {
  for (std::size_t n = 0; n < products_.size(); ++n) products_[n] += other.products_[n];
  for (std::size_t n = 0; n < features_; ++n) targets_[n] += other.targets_[n];
  power_ += other.power_;
  samples_ += other.samples_;
}

std::vector<double> RidgeRegression::weights() const {
  double trace = 0;
  for (std::size_t i = 0; i < features_; ++i) trace += products_[i * features_ + i];
  std::vector<double> found(features_, 0.0);
  if (samples_ < samples_a_feature * features_ || !(trace > 0)) return found;
  auto matrix = products_;
  for (std::size_t i = 0; i < features_; ++i)
    matrix[i * features_ + i] += ridge * trace / static_cast<double>(features_);
  found = targets_;
  solve(matrix, found);
  const bool finite = std::all_of(found.begin(), found.end(), [](double each) { return std::isfinite(each); });
  return finite ? found : std::vector<double>(features_, 0.0);
}

double RidgeRegression::residual(std::span<const double> weights) const {
  if (samples_ == 0) return 0;
  double sum = power_;
  for (std::size_t i = 0; i < features_; ++i) {
    sum -= 2 * weights[i] * targets_[i];
    for (std::size_t j = 0; j <= i; ++j)
      sum += (i == j ? 1 : 2) * weights[i] * weights[j] * products_[i * features_ + j];
  }
  return std::sqrt(std::max(0.0, sum) / static_cast<double>(samples_));
}

}  // namespace halocline
