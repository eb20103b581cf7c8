// The projector of a user's ray model, and its exact adjoint (cl/ray_model.clh).
#pragma once

#include "algorithms/projectors/user_arguments.hpp"
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

/// A ray model between two grids: what its two directions share.
class RayModel {
 public:
  RayModel(const UserProjector& projector, const Geometry& geometry, const Grid& volume, const Grid& projections);
  /// Sizes, tables and the status; no volumes and projections.
  Requirements requirements(const std::string& algorithm, ProgramForm form) const;
  void start(Slab& slab) const;
  ViewTables view_tables() const { return arrays_.view_tables(); }
  /// what: the input, for messages. Throws InputError as FixedPoint().
  FixedPoint fixed_point(const Scalars& scalars, const std::string& what) const;
  /// Launches a kernel over the pixels of `rows` and `views`: `read`, the rays, `between`, the slab's extent, the
  /// spacing, the batch, `after`, the user's tables. Throws InputError if a weight was too large.
  void launch(Slab& slab, const std::string& kernel, const std::string& options, Range rows, Range views,
              const std::string& read, const std::vector<SlabArgument>& between,
              const std::vector<SlabArgument>& after) const;
  const UserProjector& projector() const { return projector_; }
  const Grid& projections() const { return projections_; }

 private:
  void check_weights(Slab& slab) const;

  UserProjector projector_;
  Grid volume_, projections_;
  UserArrays arrays_;
};

class RayModelProjection : public ProjectionMethod {
 public:
  RayModelProjection(const UserProjector& projector, const Geometry& geometry, const Grid& volume,
                     const Grid& projections)
      : model_(projector, geometry, volume, projections) {}
  Requirements requirements() const override;
  bool takes_norm() const override { return true; }
  std::vector<std::string> sums() const override { return {"fixed"}; }
  void start(Slab& slab) const override { model_.start(slab); }
  ViewTables view_tables() const override { return model_.view_tables(); }
  void project(Slab& slab, Range views, const Scalars& scalars) const override;

 private:
  RayModel model_;
};

class RayModelBackprojection : public BackprojectionMethod {
 public:
  RayModelBackprojection(const UserProjector& projector, const Geometry& geometry, const Grid& volume,
                         const Grid& projections)
      : model_(projector, geometry, volume, projections) {}
  Requirements requirements() const override;
  bool takes_norm() const override { return true; }
  std::vector<std::string> sums() const override { return {"fixed"}; }
  void start(Slab& slab) const override { model_.start(slab); }
  ViewTables view_tables() const override { return model_.view_tables(); }
  /// Adds the views to the fixed-point sums of all voxels of the slab.
  void filter(Slab& slab, Range views, const Scalars& scalars) const override;
  /// Makes float32 of the sums.
  void accumulate(Slab& slab, Range views, Range slices, const Scalars& scalars) const override;

 private:
  RayModel model_;
};

}  // namespace halocline
