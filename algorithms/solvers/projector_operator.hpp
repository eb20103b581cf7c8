// A projector as a linear operator of expressions.
#pragma once

#include <optional>
#include <vector>

#include "algorithms/expressions/context.hpp"
#include "algorithms/expressions/linear_operator.hpp"
#include "algorithms/expressions/recording.hpp"
#include "algorithms/projectors/projector.hpp"
#include "algorithms/solvers/methods.hpp"
#include "algorithms/solvers/ray_operator.hpp"

namespace halocline::expressions {

/// Line integrals of volumes over `volume` on the stack `projections` (u, v, view), and their exact adjoint. Throws as
/// project() does, and as Context::volume() does. No projector: default_projector().
/// form: matrix stores the system matrix, as SystemMatrix throws, and PlanError where it does not fit; automatic does
/// so where reconstruct() would for 100 passes. A stored matrix has no other views and is not moved.
LinearOperator projector(const Context& on, const Geometry& geometry, const Grid& volume, const Grid& projections,
                         std::optional<Projector> projector = std::nullopt, OperatorForm form = OperatorForm::rays);

/// One projector for each ordered subset of the views: operator s goes over the views of subset s alone; its results
/// are 0 in the others. `geometry` and the arrays over `projections` are sorted by subset (ViewSubsets of
/// `projections.size[2]` views). Throws InputError as ViewSubsets does.
std::vector<LinearOperator> subset_projectors(const Context& on, const Geometry& geometry, const Grid& volume,
                                              const Grid& projections, int subsets,
                                              std::optional<Projector> projector = std::nullopt,
                                              OperatorForm form = OperatorForm::rays);

/// A as formulas of a program that was made by RayOperator::program(). In Recording::over() it goes over these views.
LinearOperator projector(const Recording& on, const RayOperator& A);
/// Projector of RayOperator::project_fast() and backproject_fast().
LinearOperator fast_projector(const Recording& on, const RayOperator& A);
/// Projector of RayOperator::project_exact(), with the adjoint of projector().
LinearOperator exact_projector(const Recording& on, const RayOperator& A);

}  // namespace halocline::expressions
