#include "algorithms/solvers/osem.hpp"

#include "algorithms/solvers/solver_steps.hpp"
#include "algorithms/solvers/subset_steps.hpp"

namespace halocline {
namespace {

using enum Domain;
constexpr const char* poisson_file = "poisson.cl";

Step divergence(const VectorSteps& vectors, const Told& told) {
  return vectors.sum(views, {poisson_file, "poisson_divergence", ""}, {"b", "r"}, told);
}

// What is given with no voxel below 0, or 1 where rays are and 0 elsewhere.
std::vector<Step> begin(Program& program, const RayOperator& A, const VectorSteps& vectors, bool from_start) {
  if (from_start) return begin_image(program, vectors, true, {.minimum = 0});
  return {vectors.set(views, 1, "r"), A.backproject("r", "x"),
          vectors.elementwise(slices, {poisson_file, "poisson_support", ""}, {inout("x")}, {})};
}

}  // namespace

Program osem(const RayOperator& A, const ViewSubsets& subsets, const OsemParameters& parameters) {
  check_iterations(parameters.passes, "`passes`");
  Program program = A.program("osem", subsets.largest());
  declare(program, {volume_array("x", Lifetime::output), volume_array("u", Lifetime::iteration),
                    projection_array("b", Lifetime::input), projection_array("r", Lifetime::iteration)});
  program.needs.iterations = parameters.passes * subsets.count();
  const VectorSteps vectors(program);
  const SubsetSteps steps(subsets, parameters.order);
  const SubsetSums sums(program, A, vectors, steps, parameters.keep_sums);
  program.first = sums.first();
  append(program.first, begin(program, A, vectors, parameters.from_start));
  program.each = {
      steps.over(A.project("x", "r")),
      steps.over(vectors.distance(views, "b", "r", steps.keep_root_of_pass(program, "residual"))),
      steps.over(divergence(vectors, steps.keep_of_pass(program, "likelihood"))),
      steps.over(vectors.elementwise(views, {poisson_file, "poisson_ratio", ""}, {in("b"), inout("r")}, {})),
      steps.over(A.backproject("r", "u"))};
  append(program.each, sums.each([&](const std::string& inverse) {
    return std::vector<Step>{
        vectors.elementwise(slices, {poisson_file, "poisson_scale", ""}, {in("u"), in(inverse), inout("x")}, {})};
  }));
  program.last = {A.project("x", "r"), vectors.distance(views, "b", "r", keep_root("residual")),
                  divergence(vectors, keep("likelihood"))};
  return program;
}

Program mlem(const RayOperator& A, const MlemParameters& parameters) {
  check_iterations(parameters.iterations);
  const ViewSubsets all(static_cast<int>(A.projections().size[2]), 1);
  Program program = osem(A, all, {.passes = parameters.iterations, .from_start = parameters.from_start});
  program.name = program.needs.algorithm = "mlem";
  return program;
}

}  // namespace halocline
