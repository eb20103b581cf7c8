// The pair A, A^T of a projector as steps of a program.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>

#include "algorithms/fdk/fdk_parameters.hpp"
#include "algorithms/projectors/projector.hpp"
#include "scheduling/planning/program.hpp"

namespace halocline {

/// What else than A and its exact adjoint a solver takes.
struct RayOperatorForms {
  /// The adjoint of another projector stands for A^T, for solvers that allow it (ba_gmres()).
  std::optional<Projector> backprojector = std::nullopt;
  bool voxel_driven = false;                        ///< unweighted voxel-driven back-projection stands for A^T
  std::optional<FdkParameters> fdk = std::nullopt;  ///< FDK of all views stands for A^T (iterative_fdk())
  bool hardware_interpolation = false;              ///< of that, and of project_fast()
};

class RayOperator {
 public:
  /// Line integrals of `volume` on the stack `projections` (u, v, view) and their exact adjoint, in the form for these
  /// devices. Throws as project() does, and with `fdk` as check_fdk() does.
  RayOperator(const Geometry& geometry, const Grid& volume, const Grid& projections, Projector projector,
              std::span<const DeviceModel> devices, const RayOperatorForms& forms = {});

  /// The same with names of their own for its arrays, for programs with several operators.
  RayOperator labelled(const std::string& label) const;

  const Grid& volume() const { return volume_; }
  const Grid& projections() const { return projections_; }
  /// A program without steps: sizes, and what the kernels of A and A^T need. Of a solver that works on subsets, whose
  /// geometry and projections are sorted by subset (ViewSubsets), `largest_subset` is the views of the largest; 0: all.
  Program program(const std::string& name, int largest_subset = 0) const;
  /// to = A from: `from` a volume, `to` projections.
  Step project(const std::string& from, const std::string& to) const;
  /// The same where 1e-3 of a weight does not matter: for steps of solvers that converge for all that, but not for what
  /// is told of their result.
  Step project_fast(const std::string& from, const std::string& to) const;
  /// Whether what stands for A^T is A^T.
  bool matched() const { return matched_; }
  /// to = A^T from, or what stands for it.
  Step backproject(const std::string& from, const std::string& to) const;

 private:
  Grid volume_, projections_;
  std::string label_;
  std::shared_ptr<const RayProjection> forward_, fast_;  // fast_: nullptr where they are the same
  std::shared_ptr<const BackprojectionMethod> adjoint_;
  bool matched_ = true;
  bool all_rows_ = false;  // of the detector are needed for every slab
};

}  // namespace halocline
