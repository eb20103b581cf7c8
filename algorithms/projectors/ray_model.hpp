// The projector of a user's ray model, and its exact adjoint (cl/ray_model.clh).
#pragma once

#include "algorithms/projectors/rays.hpp"
#include "algorithms/projectors/user_projector.hpp"

namespace halocline {

/// Fixed point for sums of values times weights: bitwise identical in any order. Whole numbers of 64 bits whose unit
/// follows from the largest weight and from the norm of the input, so that none overflows.
struct FixedPoint {
  std::array<float, 4> scale;  ///< the largest weight, two factors to whole numbers
  std::array<float, 2> down;   ///< their inverses
  /// Throws InputError, which calls the input by `what`, if its norm is not finite.
  FixedPoint(double largest_weight, double norm, const std::string& what);
};

class RayModelProjection : public ProjectionMethod {
 public:
  RayModelProjection(const UserProjector& projector, const Geometry& geometry, const Grid& volume,
                     const Grid& projections);
  Requirements requirements() const override;
  bool takes_norm() const override { return true; }
  std::vector<std::string> sums() const override { return {"fixed"}; }
  void start(Slab& slab) const override;
  void project(Slab& slab, Range views, const Scalars& scalars) const override;

 private:
  UserProjector projector_;
  Grid volume_, projections_;
  RayTable table_;
};

class RayModelBackprojection : public BackprojectionMethod {
 public:
  RayModelBackprojection(const UserProjector& projector, const Geometry& geometry, const Grid& volume,
                         const Grid& projections);
  Requirements requirements() const override;
  bool takes_norm() const override { return true; }
  std::vector<std::string> sums() const override { return {"fixed"}; }
  void start(Slab& slab) const override;
  /// Adds the views to the fixed-point sums of all voxels of the slab.
  void filter(Slab& slab, Range views, const Scalars& scalars) const override;
  /// Makes float32 of the sums.
  void accumulate(Slab& slab, Range views, Range slices, const Scalars& scalars) const override;

 private:
  UserProjector projector_;
  Grid volume_, projections_;
  RayTable table_;
};

}  // namespace halocline
