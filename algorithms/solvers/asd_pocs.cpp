#include "algorithms/solvers/asd_pocs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "algorithms/solvers/os_sart.hpp"
#include "algorithms/solvers/solver_steps.hpp"
#include "algorithms/solvers/subset_steps.hpp"
#include "host/system/error.hpp"
#include "scheduling/slabs/structs.hpp"

namespace halocline {
namespace {

using enum Domain;
constexpr float smoothing = 1e-8f;  // as in the paper

// g = the gradient of TV at x.
Step gradient_of_variation(const std::array<double, 3>& spacing) {
  const auto inverse = per_axis(std::array{1 / spacing[0], 1 / spacing[1], 1 / spacing[2]});
  return {.name = "asd_pocs_gradient",
          .over = slices,
          .arrays = {in("x"), out("g")},
          .halo_low = 1,
          .halo_high = 1,
          .work = [inverse](Slab& slab, const WorkRange& part, const Scalars&) {
            slab.launch({"asd_pocs.cl", "asd_pocs_gradient", ""}, part.slices,
                        {in("x"), out("g"), slab.extent(part.slices), inverse, smoothing * smoothing});
          }};
}

// What follows from how far the descent moved x.
void adapt(double square, const AsdPocsParameters& parameters, Scalars& known) {
  known["descended"] = std::sqrt(square);
  const bool agrees = parameters.data_distance > 0 && known["distance"] <= parameters.data_distance;
  if (!agrees && known["descended"] > parameters.largest_ratio * known["moved"])
    known["step"] *= parameters.descent_factor;
}

// Of the program's volume "before": from x as the pass found it to x as the descent found it.
std::vector<Step> descent(const RayOperator& A, const VectorSteps& vectors, const AsdPocsParameters& parameters) {
  const auto moved = [alpha = parameters.descent_length](double square, Scalars& known) {
    known["moved"] = std::sqrt(square);
    if (known["step"] == 0) known["step"] = alpha * known["moved"];
  };
  const auto minus_step = [](const Scalars& known) { return -ratio(known.at("step"), known.at("slope")); };
  std::vector<Step> steps{vectors.distance(slices, "x", "before", moved)};
  if (parameters.data_distance > 0)
    append(steps, {A.project("x", "r"), vectors.distance(views, "b", "r", keep_root("distance"))});
  steps.push_back(vectors.scale(slices, 1, "x", "before"));
  for (int n = 0; n < parameters.descent_steps; ++n)
    append(steps, {gradient_of_variation(A.volume().spacing), vectors.dot(slices, "g", "g", keep_root("slope")),
                   vectors.combine(slices, minus_step, "g", 1, "x")});
  steps.push_back(vectors.distance(slices, "x", "before",
                                   [parameters](double square, Scalars& known) { adapt(square, parameters, known); }));
  return steps;
}

// What os_sart() does not check.
void check(const AsdPocsParameters& parameters) {
  check_iterations(parameters.descent_steps, "descent_steps");
  check_part("descent_length", parameters.descent_length);
  check_part("descent_factor", parameters.descent_factor);
  check_part("largest_ratio", parameters.largest_ratio);
  if (!(parameters.data_distance >= 0))
    throw InputError(
        {.what = "data_distance", .found = fmt::format("{:g}", parameters.data_distance), .expected = "0 or more"});
}

}  // namespace

Program asd_pocs(const RayOperator& A, const ViewSubsets& subsets, const AsdPocsParameters& parameters) {
  check(parameters);
  Program program = os_sart(A, subsets,
                            {.passes = parameters.passes,
                             .relaxation = parameters.relaxation,
                             .bounds = parameters.bounds,
                             .from_start = parameters.from_start,
                             .order = parameters.order,
                             .keep_sums = parameters.keep_sums,
                             .relaxation_factor = parameters.relaxation_factor});
  program.name = program.needs.algorithm = "asd-pocs";
  program.needs.halo_low = std::max(program.needs.halo_low, 1);
  program.needs.halo_high = std::max(program.needs.halo_high, 1);
  declare(program, {volume_array("before", Lifetime::state), volume_array("g", Lifetime::iteration)});
  for (const char* name : {"moved", "descended", "distance", "slope", "step"}) program.scalars[name] = 0;
  const VectorSteps vectors(program);
  const SubsetSteps steps(subsets, parameters.order);
  program.each.insert(program.each.begin(), steps.if_first(vectors.scale(slices, 1, "x", "before")));
  for (Step& step : descent(A, vectors, parameters)) program.each.push_back(steps.if_last(std::move(step)));
  return program;
}

}  // namespace halocline
