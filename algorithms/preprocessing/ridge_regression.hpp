// Least squares with a ridge: weights of features that predict a value.
#pragma once

#include <span>
#include <vector>

namespace halocline {

/// Adds up samples. Sums depend on their order.
class RidgeRegression {
 public:
  explicit RidgeRegression(std::size_t features)
      : features_(features), products_(features * features), targets_(features) {}

  void add(std::span<const double> features, double target);
  /// Adds those of another one.
  void add(const RidgeRegression& other);
  std::size_t samples() const { return samples_; }
  /// w that minimises sum (target - w features)^2 + ridge |w|^2, with a ridge of 1e-4 of the features' mean power. All
  /// 0 where there are less than eight samples a feature, or no power.
  std::vector<double> weights() const;
  /// Root of the mean of (target - w features)^2.
  double residual(std::span<const double> weights) const;

 private:
  std::size_t features_, samples_ = 0;
  std::vector<double> products_, targets_;  // of features with features (lower triangle) and with targets
  double power_ = 0;                        // of the targets
};

}  // namespace halocline
