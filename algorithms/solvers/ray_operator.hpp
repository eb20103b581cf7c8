// The pair A, A^T of a projector as steps of a program.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>

#include "algorithms/projectors/projector.hpp"
#include "scheduling/planning/program.hpp"

namespace halocline {

class RayOperator {
 public:
  /// Line integrals of `volume` on the stack `projections` (u, v, view) and their exact adjoint, in the form for these
  /// devices; with `backprojector` the adjoint of another projector, for solvers that allow it (ba_gmres()). Where a
  /// program has several operators, a `label` tells their arrays apart. Throws as project() does.
  RayOperator(const Geometry& geometry, const Grid& volume, const Grid& projections, Projector projector,
              std::span<const DeviceModel> devices, std::optional<Projector> backprojector = std::nullopt,
              const std::string& label = "");

  const Grid& volume() const { return volume_; }
  const Grid& projections() const { return projections_; }
  /// A program without steps: sizes, and what the kernels of A and A^T need. Of a solver that works on subsets, whose
  /// geometry and projections are sorted by subset (ViewSubsets), `largest_subset` is the views of the largest; 0: all.
  Program program(const std::string& name, int largest_subset = 0) const;
  /// to = A from: `from` a volume, `to` projections.
  Step project(const std::string& from, const std::string& to) const;
  /// to = A^T from, or the adjoint of the other projector.
  Step backproject(const std::string& from, const std::string& to) const;

 private:
  Grid volume_, projections_;
  std::string forward_prefix_, adjoint_prefix_;  // of the names of their arrays
  std::shared_ptr<const RayProjection> forward_;
  std::shared_ptr<const RayBackprojection> adjoint_;
};

}  // namespace halocline
