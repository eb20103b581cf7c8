// The pair A, A^T of a projector as steps of a program.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "algorithms/fdk/fdk_parameters.hpp"
#include "algorithms/projectors/projector.hpp"
#include "algorithms/solvers/picked_views.hpp"
#include "scheduling/planning/program.hpp"

namespace halocline {

/// Approximations that a solver accepts in place of A and its exact adjoint, and forms of them.
struct RayOperatorForms {
  /// Projector whose adjoint replaces A^T, for solvers that allow it (ba_gmres()).
  std::optional<Projector> backprojector = std::nullopt;
  bool voxel_driven = false;                        ///< unweighted voxel-driven back-projection replaces A^T
  std::optional<FdkParameters> fdk = std::nullopt;  ///< FDK of all views replaces A^T (iterative_fdk())
  bool hardware_interpolation = false;              ///< of that, and of project_fast()
  /// Views that follow each other share its texels, two by two: turned_packs() has their order.
  bool in_pairs = false;
  bool images = false;  ///< Siddon's projection from images where it is faster: the same bits, of more memory
};

/// A forward projection, and the back-projection that a solver takes with it.
struct ProjectorPair {
  std::shared_ptr<const ProjectionMethod> forward;
  std::shared_ptr<const BackprojectionMethod> adjoint;
  std::shared_ptr<const ProjectionMethod> fast = nullptr;  ///< RayOperator::project_fast(); nullptr: forward
  bool matched = true;                                     ///< `adjoint` is A^T
  bool all_rows = false;                                   ///< `adjoint` needs all detector rows for every slab
  std::shared_ptr<const BackprojectionMethod> fast_adjoint = nullptr;  ///< that of `fast`; nullptr: adjoint
  std::shared_ptr<const ProjectionMethod> exact = nullptr;  ///< without the errors of `forward`; nullptr: forward
  /// Arrays that are the same in both directions of the fast ones, or if those are not a pair, of the others; the
  /// forward one fills them.
  std::vector<std::string> shared = {};
};

/// The pair of a named projector in the form for these devices, of checked_models() where they are open. Throws as
/// project() does, and with `fdk` as check_fdk() does.
ProjectorPair named_pair(const Geometry& geometry, const Grid& volume, const Grid& projections, Projector projector,
                         std::span<const DeviceModel> devices, const RayOperatorForms& forms = {});

class RayOperator {
 public:
  /// A from `volume` to the stack `projections` (u, v, view), and A^T.
  RayOperator(const Grid& volume, const Grid& projections, ProjectorPair pair)
      : volume_(volume), projections_(projections), pair_(std::move(pair)) {}
  /// The operator of named_pair(), and throws as that does.
  RayOperator(const Geometry& geometry, const Grid& volume, const Grid& projections, Projector projector,
              std::span<const DeviceModel> devices, const RayOperatorForms& forms = {})
      : RayOperator(volume, projections, named_pair(geometry, volume, projections, projector, devices, forms)) {}

  /// The operator with other names for its arrays, for programs with several operators.
  RayOperator labelled(const std::string& label) const;

  const Grid& volume() const { return volume_; }
  const Grid& projections() const { return projections_; }
  /// A program without steps: sizes, and what the kernels of A and A^T need. For a solver that works on subsets, with
  /// geometry and projections sorted by subset (ViewSubsets), `largest_subset` is the views of the largest; 0: all.
  Program program(const std::string& name, int largest_subset = 0) const;
  /// to = A from: `from` a volume, `to` projections.
  Step project(const std::string& from, const std::string& to) const;
  /// Projection for which an error of 1e-3 of a weight does not matter: for steps of solvers that converge in spite of
  /// it, but not for what is reported of their result.
  Step project_fast(const std::string& from, const std::string& to) const;
  /// The adjoint of project_fast().
  Step backproject_fast(const std::string& from, const std::string& to) const;
  /// Projection by the projector itself, for what is reported.
  Step project_exact(const std::string& from, const std::string& to) const;
  bool is_exact() const { return !pair_.exact; }
  /// True if the step's scalars must have input_norm.
  bool project_takes_norm() const { return pair_.forward->takes_norm(); }
  bool backproject_takes_norm() const { return pair_.adjoint->takes_norm(); }
  /// True if the operator used for A^T is A^T.
  bool matched() const { return pair_.matched; }
  /// to = A^T from, or its replacement.
  Step backproject(const std::string& from, const std::string& to) const;

  /// A on some of its views, by the kernels of all. Its steps need these arrays, too.
  Program views_program() const;
  /// to = A from in these views, 0 in the others.
  Step project(const std::string& from, const std::string& to, const ViewNumbers& views) const;
  /// to = A^T from of these views alone.
  Step backproject(const std::string& from, const std::string& to, const ViewNumbers& views) const;
  /// to = from in these views, 0 in the others.
  Step keep(const std::string& from, const std::string& to, const ViewNumbers& views) const;

 private:
  PickedViews picked() const { return {projections_, label_}; }
  /// Names in the program of a method's own arrays, in one direction.
  std::map<std::string, std::string> own_names(const Requirements& needs, const char* direction) const;
  void add_start(Program& program, const auto& method, const char* direction) const;
  Step step_of(const auto& method, const std::string& from, const std::string& to, const char* direction) const;

  Grid volume_, projections_;
  std::string label_;
  ProjectorPair pair_;
};

}  // namespace halocline
