// Formulas over arrays that are put together while the program runs: Python's operators make these, and what is not
// read by name becomes part of a larger formula, so that `x + a * p` is one kernel without a temporary array.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "algorithms/expressions/expression.hpp"

namespace halocline::python {

/// Whoever touches formulas, arrays or Contexts holds it, in whatever thread.
std::recursive_mutex& lazy_mutex();

/// A value over a space that never changes: an array, or a formula that has not been recorded yet. Formulas are
/// recorded (record()) before anything else is done with arrays of their Context, so that they are computed in one pass
/// with their neighbours.
class Lazy {
 public:
  ~Lazy();
  Lazy(const Lazy&) = delete;
  Lazy& operator=(const Lazy&) = delete;
  explicit Lazy(expressions::Array array) : space_(array.space()), array_(std::move(array)) {}
  Lazy(expressions::Space space, std::vector<expressions::Op> code, expressions::Leaves leaves)
      : space_(std::move(space)), code_(std::move(code)), leaves_(std::move(leaves)) {}

  const expressions::Space& space() const { return space_; }
  /// Recorded now, if it was not.
  const expressions::Array& array();
  /// Adds it to a formula: itself where it is one that is used for the first time and small, else its array.
  void add_to(std::vector<expressions::Op>& code, expressions::Leaves& leaves);

 private:
  expressions::Space space_;
  std::vector<expressions::Op> code_;
  expressions::Leaves leaves_;
  expressions::Array array_;  // empty: not recorded
  bool used_ = false;
};

using LazyPointer = std::shared_ptr<Lazy>;

/// An operand of a formula.
struct Operand {
  LazyPointer array;           ///< or
  expressions::Scalar scalar;  ///< where that is empty
};

/// The formula `op` of operands, of which at least one is an array. Throws InputError for two spaces.
LazyPointer formula(expressions::Op op, const std::vector<Operand>& operands);
/// Values of an array's neighbours: shifted, or differences that are not yet divided by the spacing.
LazyPointer of_neighbours(const LazyPointer& array, expressions::Op op, int axis, int by);
/// Records the formulas over arrays of that Context that somebody still holds.
void record_all(const expressions::Recorder& context);
inline void record_all(const expressions::Space& space) {
  record_all(space.recorder());
}

}  // namespace halocline::python
