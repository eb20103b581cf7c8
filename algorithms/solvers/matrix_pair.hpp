// The stored system matrix as the operator of a solver.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "algorithms/matrix/system_matrix.hpp"
#include "algorithms/solvers/methods.hpp"
#include "algorithms/solvers/ray_operator.hpp"
#include "host/system/error.hpp"

namespace halocline {

/// The matrix units that all of the devices have; none, if they differ.
MatrixUnits matrix_units_of(std::span<const DeviceModel> devices);

/// Reason why a solver takes the matrix, or does not: for people who left the choice to it.
struct OperatorChoice {
  OperatorForm form = OperatorForm::rays;  ///< not OperatorForm::automatic
  std::string reason{};
  bool stored() const { return form != OperatorForm::rays; }
};
/// The choice for the geometry, whose views are sorted by subset. Throws InputError for `operator = matrix` of a method
/// without an exact adjoint, and for `operator = symmetric` with ordered subsets.
OperatorChoice choose_operator(const ReconstructionParameters& parameters, const Geometry& geometry, const Grid& volume,
                               const Grid& projections, std::span<const DeviceModel> devices);

/// Work for which an operator is chosen.
struct OperatorUse {
  OperatorForm form = OperatorForm::automatic;
  int passes = 1;  ///< applications of A and A^T to all views
  int subsets = 1;
};
OperatorChoice choose_operator(const OperatorUse& use, const Geometry& geometry, const Grid& volume,
                               const Grid& projections, const Projector& projector,
                               std::span<const DeviceModel> devices);
/// Writes the reason into the log, if there is one.
void log_choice(const OperatorChoice& choice);

/// True if these models have matrix units, which pass their self-check on the devices of the ranks; a warning says if
/// they fail it. All ranks call it.
bool matrix_units_serve(std::span<const DeviceModel> models, const std::vector<Device>& devices,
                        Ranks& all = one_rank());
/// The models, without matrix units if these do not serve.
std::vector<DeviceModel> with_units_that_serve(std::vector<DeviceModel> models, const std::vector<Device>& devices,
                                               Ranks& all = one_rank());
/// Options of a stored form for these devices: buffers that they take, and, if asked for, the matrix units that they
/// have. A part for each subset.
MatrixOptions matrix_options(std::span<const DeviceModel> devices, bool units, OperatorForm form,
                             const ViewSubsets& subsets);

/// Does the work, and adds to a PlanError what needs less memory than a matrix that was asked for.
template <typename Work>
auto with_matrix_remedy(OperatorForm form, Work&& work) {
  try {
    return work();
  } catch (const PlanError& error) {
    if (form == OperatorForm::automatic || form == OperatorForm::rays) throw;
    throw PlanError(std::string(error.what()) +
                    (form != OperatorForm::symmetric
                         ? " `operator = symmetric` stores an eighth of it where the scan is symmetric;"
                         : "") +
                    " `operator = rays` stores no matrix.");
  }
}

/// The matrix alone.
ProjectorPair matrix_pair(const std::shared_ptr<const SystemMatrix>& matrix);

/// `rays` with the matrix in place of A and A^T; its A is what is exact. certified: in the steps alone
/// (RayOperator::project_fast()), because a certificate needs both directions of the projector itself.
ProjectorPair matrix_pair(const std::shared_ptr<const SystemMatrix>& matrix, ProjectorPair rays, bool certified);

}  // namespace halocline
