// Linear operators of one domain above each other.
#pragma once

#include <vector>

#include "algorithms/expressions/linear_operator.hpp"

namespace halocline::expressions {

/// K = (A, B, ...): x becomes A x, B x, ..., each over its own space, and K^T y is A^T y_0 + B^T y_1 + ....
class StackedOperator {
 public:
  /// Throws InputError for none, and for operators of several domains.
  explicit StackedOperator(std::vector<LinearOperator> parts);

  const Space& domain() const { return parts_.front().domain(); }
  const std::vector<LinearOperator>& parts() const { return parts_; }
  /// K x. Throws InputError for an array of another space.
  std::vector<Array> operator()(const Array& x) const;
  /// K^T y. Throws InputError for another number of arrays than parts(), and for arrays of other spaces than theirs.
  Array adjoint(const std::vector<Array>& y) const;
  /// K^T K, which is an operator like others.
  LinearOperator normal() const;
  /// Norm, as LinearOperator::norm().
  double norm() const;

 private:
  std::vector<LinearOperator> parts_;
};

inline StackedOperator vstack(std::vector<LinearOperator> parts) {
  return StackedOperator(std::move(parts));
}
template <ArrayLike X>
std::vector<Array> operator*(const StackedOperator& K, const X& x) {
  return K(Array(x));
}

/// Error as that of LinearOperator, with random x and y.
double adjoint_error(const StackedOperator& K, std::uint64_t seed = 1);

}  // namespace halocline::expressions
