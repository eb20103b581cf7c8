#include "algorithms/solvers/os_sart.hpp"

#include <cmath>

#include "algorithms/solvers/solver_steps.hpp"
#include "algorithms/solvers/subset_steps.hpp"

namespace halocline {

Program os_sart(const RayOperator& A, const ViewSubsets& subsets, const OsSartParameters& parameters) {
  using enum Domain;
  check_iterations(parameters.passes, "`passes`");
  check_relaxation(parameters.relaxation);
  check_part("relaxation_factor", parameters.relaxation_factor);
  check_bounds(parameters.bounds);
  Program program = A.program("os-sart", subsets.largest());
  declare(program, {volume_array("x", Lifetime::output), volume_array("u", Lifetime::iteration),
                    projection_array("b", Lifetime::input), projection_array("r", Lifetime::iteration),
                    projection_array("1/R", Lifetime::state)});
  program.needs.iterations = parameters.passes * subsets.count();
  const VectorSteps vectors(program);
  const SubsetSteps steps(subsets, parameters.order);
  const SubsetSums sums(program, A, vectors, steps, parameters.keep_sums);
  program.first = {vectors.set(slices, 1, "u"), A.project("u", "1/R"), vectors.reciprocal(views, "1/R")};
  append(program.first, sums.first());
  append(program.first, begin_image(program, vectors, parameters.from_start, parameters.bounds));
  program.each = {steps.over(A.project("x", "r")),
                  steps.over(vectors.distance(views, "b", "r", steps.keep_root_of_pass(program, "residual"))),
                  steps.over(vectors.residual("b", "1/R", "r")), steps.over(A.backproject("r", "u"))};
  const auto omega = [steps, parameters](const Scalars& known) {
    return parameters.relaxation * std::pow(parameters.relaxation_factor, steps.passes_done(known));
  };
  append(program.each, sums.each([&](const std::string& inverse) {
    return std::vector<Step>{vectors.update(omega, "u", inverse, "x", parameters.bounds)};
  }));
  program.last = {A.project("x", "r"), vectors.distance(views, "b", "r", keep_root("residual"))};
  return program;
}

}  // namespace halocline
