// The parts that programs of solvers share: their operator, image, data and weights, their start, what they report.
#pragma once

#include "algorithms/expressions/recording.hpp"
#include "algorithms/solvers/method_list.hpp"
#include "algorithms/solvers/projector_operator.hpp"

namespace halocline {

using expressions::Array;
using expressions::LinearOperator;
using expressions::Scalar;
using expressions::Variable;

/// The range that voxels are kept within.
struct Bounds {
  double minimum = -std::numeric_limits<double>::infinity(), maximum = std::numeric_limits<double>::infinity();
};

/// e, put into the bounds.
auto within(const Bounds& bounds, const auto& e) {
  return min(bounds.maximum, max(bounds.minimum, e));
}

/// 1 / y, and 0 where y is not above 0.
inline auto reciprocal(const Array& y) {
  return where(y, 1 / y, 0);
}

/// The scalar of a program that compares its image with a truth: ||x - truth||.
inline constexpr const char* truth_scalar = "truth error";

/// The program of a solver, before its formulas are recorded.
class Solver : public expressions::Recording {
 public:
  Solver(const char* name, const ReconstructionProblem& problem);

  const ReconstructionParameters& parameters;
  const GivenInputs given;
  const Bounds bounds;
  const LinearOperator A, fast_A, exact_A;
  Array x, b, w;  ///< w: none without weights

  /// x = 0, or what the caller gives, put into the bounds.
  void begin_image();
  /// b - A x of this start.
  Array start_residual() const;
  /// True if A is the projector itself.
  bool is_exact() const { return exact_; }
  /// A^T W r. With weights it writes over q, which may be r.
  Array gradient(const Array& r, Array& q) const;
  /// <y, W y>.
  Scalar square(const Array& y) const;
  /// States the error of an image to the truth, if one is given. The Certificate does so where it is found.
  void compare(const Array& image);
  /// The program, complete. Without a Certificate it compares with the truth after each pass over the subsets. image:
  /// states what makes the image after an iteration, where it is not in x yet.
  Program finish(const std::function<Array()>& image = {});

 private:
  bool exact_;
  int subsets_;
  Array truth_;
};

/// The normal equations A^T W (b - A x) = 0: the scalars "gradient", the norm of their left side, and "gradient at 0",
/// the same at x = 0; and "residual", ||b - A x||_W.
class NormalEquations {
 public:
  /// The program ends where "gradient" <= tolerance times "gradient at 0".
  explicit NormalEquations(Solver& solver);
  /// Belongs before the image begins: "gradient at 0" of W = diag(w), of 1 where w is empty. Writes over u.
  void at_zero(Array& u, const Array& w);
  /// Belongs at the end: where A is not the projector itself, every tenth iteration and the last find "residual" by
  /// that.
  void renew_residual();
  /// "gradient" of that norm; in first() it is "gradient at 0", too, if the image begins with 0.
  void report(const Scalar& norm, bool first = false);

  Variable residual;

 private:
  Solver& solver_;
  Variable gradient_, at_zero_;
};

}  // namespace halocline
