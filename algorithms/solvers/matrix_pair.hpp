// The stored system matrix as the operator of a solver.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "algorithms/matrix/system_matrix.hpp"
#include "algorithms/solvers/methods.hpp"
#include "algorithms/solvers/ray_operator.hpp"

namespace halocline {

/// True where all of the devices are taken for ones with matrix units: NVIDIA's.
bool have_matrix_units(std::span<const DeviceModel> devices);

/// Reason why a solver takes the matrix, or does not: for people who left the choice to it.
struct OperatorChoice {
  bool matrix = false;
  std::string reason;
};
/// The choice for the geometry, whose views are sorted by subset. Throws InputError for `operator = matrix` of a method
/// without an exact adjoint.
OperatorChoice choose_operator(const ReconstructionParameters& parameters, const Geometry& geometry, const Grid& volume,
                               const Grid& projections, std::span<const DeviceModel> devices);

/// `rays` with the matrix in place of A and A^T; its A is what is exact. certified: in the steps alone
/// (RayOperator::project_fast()), because a certificate needs both directions of the projector itself.
ProjectorPair matrix_pair(const std::shared_ptr<const SystemMatrix>& matrix, ProjectorPair rays, bool certified);

}  // namespace halocline
