// The projector of a user's pair of kernels (cl/user_projector.clh).
#pragma once

#include "algorithms/projectors/user_arguments.hpp"
#include "algorithms/projectors/user_projector.hpp"

namespace halocline {

/// Rays, matrices and launches of the two kernels.
class UserKernels {
 public:
  UserKernels(const UserProjector& projector, const Geometry& geometry, const Grid& volume, const Grid& projections);
  /// Adds sizes and the arrays besides volume and projections.
  void declare(Requirements& requirements) const;
  void start(Slab& slab) const;
  ViewTables view_tables() const;
  void launch(Slab& slab, const std::string& kernel, const std::array<std::size_t, 3>& global, const std::string& read,
              const std::string& written, Range slices, Range rows, Range views) const;
  const UserProjector& projector() const { return projector_; }
  const Grid& volume() const { return volume_; }
  const Grid& projections() const { return projections_; }

 private:
  void check_arguments(Slab& slab, const std::string& kernel, const std::string& options, std::size_t count) const;
  [[noreturn]] void refuse(const std::string& kernel, const std::string& found) const;

  UserProjector projector_;
  Grid volume_, projections_;
  UserArrays arrays_;
  std::vector<float> matrices_;  // 12 a view
};

class UserProjection : public ProjectionMethod {
 public:
  UserProjection(const UserProjector& projector, const Geometry& geometry, const Grid& volume, const Grid& projections)
      : kernels_(projector, geometry, volume, projections) {}
  Requirements requirements() const override;
  void start(Slab& slab) const override { kernels_.start(slab); }
  ViewTables view_tables() const override { return kernels_.view_tables(); }
  void project(Slab& slab, Range views, const Scalars& scalars) const override;

 private:
  UserKernels kernels_;
};

class UserBackprojection : public BackprojectionMethod {
 public:
  UserBackprojection(const UserProjector& projector, const Geometry& geometry, const Grid& volume,
                     const Grid& projections)
      : kernels_(projector, geometry, volume, projections) {}
  Requirements requirements() const override;
  void start(Slab& slab) const override { kernels_.start(slab); }
  ViewTables view_tables() const override { return kernels_.view_tables(); }
  void filter(Slab&, Range, const Scalars&) const override {}
  void accumulate(Slab& slab, Range views, Range slices, const Scalars& scalars) const override;

 private:
  UserKernels kernels_;
};

}  // namespace halocline
