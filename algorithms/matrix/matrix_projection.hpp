// A x and A^T y by the stored system matrix (system_matrix.hpp), in the places of the projectors that follow rays.
#pragma once

#include <functional>
#include <memory>

#include "algorithms/matrix/system_matrix.hpp"
#include "algorithms/projectors/backprojection_method.hpp"
#include "algorithms/projectors/projection_method.hpp"

namespace halocline {

/// Sums of weights of half precision; with matrix units, times values of half precision, scaled by slice. A slice's
/// bits depend neither on other slices nor on slabs.
class MatrixProjection : public ProjectionMethod {
 public:
  explicit MatrixProjection(std::shared_ptr<const SystemMatrix> matrix) : matrix_(std::move(matrix)) {}
  Requirements requirements() const override;
  void start(Slab& slab) const override { matrix_->start(slab); }
  void loaded(Slab& slab) const override;
  void project(Slab& slab, Range views, const Scalars& scalars) const override;

 private:
  std::shared_ptr<const SystemMatrix> matrix_;
};

/// The transpose of MatrixProjection, from the same tiles.
class MatrixBackprojection : public BackprojectionMethod {
 public:
  /// filled: another method of the program fills the arrays of the matrix, which are the same.
  MatrixBackprojection(std::shared_ptr<const SystemMatrix> matrix, bool filled)
      : matrix_(std::move(matrix)), filled_(filled) {}
  Requirements requirements() const override;
  void start(Slab& slab) const override {
    if (!filled_) matrix_->start(slab);
  }
  void filter(Slab& slab, Range views, const Scalars& scalars) const override;
  void accumulate(Slab& slab, Range views, Range slices, const Scalars& scalars) const override;

 private:
  void accumulate(Slab& slab, std::size_t part, Range slices) const;

  std::shared_ptr<const SystemMatrix> matrix_;
  bool filled_;
};

}  // namespace halocline
