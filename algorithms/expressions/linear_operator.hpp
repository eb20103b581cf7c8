// Linear maps between spaces, and their algebra.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "algorithms/expressions/expression.hpp"

namespace halocline {
struct Geometry;
}

namespace halocline::expressions {

/// A and its adjoint: A * x is recorded like other statements.
class LinearOperator {
 public:
  using Function = std::function<Array(const Array&)>;
  /// Operator of the caller's functions, which take arrays over `domain` to those over `range`, and back. They have to
  /// be adjoint to each other: adjoint_error() measures it.
  LinearOperator(const Space& domain, const Space& range, Function apply, Function adjoint);

  const Space& domain() const { return domain_; }
  const Space& range() const { return range_; }
  /// A x. Throws InputError for an array of another space.
  Array operator()(const Array& x) const;
  LinearOperator adjoint() const;

  /// A projector on some of its views: y = A.views({4, 9}) * x is A x in these and 0 in the others, its adjoint reads
  /// these alone. It has the bits of a projector of these views in the order of the scan, and its kernels are compiled
  /// already. Throws InputError for a number that is no view, or there twice, for none, and for other operators.
  LinearOperator views(std::span<const int> numbers) const;
  LinearOperator views(std::initializer_list<int> numbers) const { return views(std::span(numbers)); }
  using OfViews = std::function<LinearOperator(std::vector<int> numbers)>;
  /// The operator with this for views(). The numbers are those of views, ascending.
  LinearOperator with_views(OfViews of_views) const;

  /// Replaces the geometry of a projector, of as many views: for statements and replays of prepared jobs from now on.
  /// Copies, the adjoint and combinations with other operators are moved with it. Arrays that no geometry before needed
  /// are added, and kernels compiled at their first use: GPUs have faster forms for upright scans
  /// (RayTable::upright()), and other arrays for rays that follow another axis. Throws InputError for an operator that
  /// is no projector, as projector() does, for a detector of another kind (flat, a cylinder, cylinders that differ), a
  /// stack of fans in place of other views or the other way round, and rays that end in the volume, unless some of the
  /// first geometry do; PlanError for arrays that have no room.
  void move_to(const Geometry& geometry) const;
  using Move = std::function<void(const Geometry&)>;
  /// The operator with this for move_to().
  LinearOperator with_move(Move move) const;

  /// The largest singular value: 20 steps of the power method on A^T A from random values, times 1.05, so that step
  /// lengths that follow from it are safe.
  double norm() const;
  /// A 1 and A^T 1.
  Array row_sums() const;
  Array column_sums() const;
  /// A^T W A 1 of weights w: A^T W A is at most the matrix with this diagonal, if no entry of A is negative (De Pierro
  /// 1995).
  Array majoriser(const Array& w) const;

 private:
  Space domain_, range_;
  Function apply_, adjoint_;
  Move move_;
  OfViews of_views_;
};

/// The largest singular value of a K whose K^T K is `normal`, as LinearOperator::norm() finds it.
double power_norm(const Space& domain, const LinearOperator::Function& normal);

inline LinearOperator adjoint(const LinearOperator& A) {
  return A.adjoint();
}
template <ArrayLike X>
Array operator*(const LinearOperator& A, const X& x) {
  return A(Array(x));
}
/// A B, A + B, A - B, s A. Throw InputError where the spaces do not fit.
LinearOperator operator*(const LinearOperator& A, const LinearOperator& B);
LinearOperator operator+(const LinearOperator& A, const LinearOperator& B);
LinearOperator operator-(const LinearOperator& A, const LinearOperator& B);
LinearOperator operator*(const Scalar& s, const LinearOperator& A);

LinearOperator identity(const Space& space);
/// x becomes w x.
LinearOperator diagonal(const Array& w);
/// gradient(x, axis).
LinearOperator gradient(const Space& space, int axis);

/// |<A x, y> - <x, A^T y>| / (|A x| |y|) of random x and y: about 1e-7 where the adjoint is right.
double adjoint_error(const LinearOperator& A, std::uint64_t seed = 1);

}  // namespace halocline::expressions
