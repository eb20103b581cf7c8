#include "algorithms/solvers/certificate.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "host/system/error.hpp"

namespace halocline {
namespace {

constexpr double room = 1.5;      // of the maximum where it is not given, in the largest voxel
constexpr int start_steps = 300;  // of start_dual()

}  // namespace

Certificate::Certificate(const RayOperator& A, const TvTerm& penalty, const VectorSteps& vectors,
                         const CertificateParameters& parameters, Arrays arrays)
    : A_(A), penalty_(penalty), vectors_(vectors), parameters_(parameters), arrays_(std::move(arrays)) {}

void Certificate::declare(Program& program) const {
  if (!std::isfinite(penalty_.maximum())) vectors_.declare_largest(program);
  constexpr double unknown = std::numeric_limits<double>::infinity();
  for (const char* name : {"primal", "gap", "relative_gap"}) program.scalars[name] = unknown;
  program.scalars["dual"] = -unknown;
  for (const char* name : {"data", "mismatch", "variation", "maximum", "dual maximum"}) program.scalars[name] = 0;
  program.scalars["certified"] = -1;
  for (const char* kernel : {"penalised_data", "pdu_variant_certificate"}) program.needs.kernels.emplace_back(kernel);
  if (!parameters_.gap_map) return;
  for (const auto& [q, polished] : penalty_.polished_duals())  // the map is of the last look, in whatever iteration
    for (ArrayNeed& need : program.needs.arrays)
      if (need.name == polished) need.lifetime = Lifetime::state;
}

std::vector<Step> Certificate::start_dual() const {
  const auto maximum = [most = penalty_.maximum()](const Scalars& known) {
    return std::isfinite(most) ? most : known.at("maximum");
  };
  std::vector<Step> steps;
  if (!std::isfinite(penalty_.maximum())) steps.push_back(told_maximum());
  steps.push_back(vectors_.scale(Domain::slices, 1, arrays_.x, arrays_.u));
  for (int n = 0; n < start_steps; ++n) steps.push_back(penalty_.improve(arrays_.z, arrays_.u, arrays_.ubar, maximum));
  return steps;
}

// 1.5 times the largest voxel.
Step Certificate::told_maximum() const {
  return vectors_.largest(arrays_.x, [lowest = penalty_.minimum()](double largest, Scalars& known) {
    known["maximum"] = largest > 0 ? room * largest : std::max(largest, lowest + std::abs(lowest));
  });
}

Step Certificate::told_data() const {
  std::vector<std::string> arrays{arrays_.p, arrays_.b};
  if (!arrays_.w.empty()) arrays.push_back(arrays_.w);
  arrays.push_back(arrays_.r);
  return vectors_.sums(Domain::views, {"penalised.cl", "penalised_data", arrays_.w.empty() ? "" : "-D WEIGHTED"},
                       arrays, 2, [](std::span<const double> sums, Scalars& known) {
                         known["data"] = sums[0];
                         known["mismatch"] = sums[1];
                       });
}

// The best dual value of all looks at this maximum is one, too: a bound for a smaller box says nothing of a larger one.
Step Certificate::told_volume() const {
  const auto told = [lambda = penalty_.lambda(), judge = parameters_.judge](std::span<const double> sums,
                                                                            Scalars& known) {
    const double gap = known["mismatch"] + sums[0] + known["maximum"] * sums[1] - sums[2];
    known["variation"] = sums[3];
    known["primal"] = known["data"] + lambda * sums[3];
    known["certified"] = known[iteration_scalar];
    const bool number = std::isfinite(known["primal"]) && std::isfinite(gap);
    if (judge) judge(number ? known["primal"] : std::numeric_limits<double>::infinity(), known);
    if (!number && judge) return;
    if (!number)
      throw InputError(
          "the iterations diverge: the objective is not finite. Check the projections, the weights (`weights`) "
          "and `lambda` for values that float32 does not hold, and scale them");
    const bool same_box = known["dual maximum"] == known["maximum"];
    known["dual"] = same_box ? std::max(known["dual"], known["primal"] - gap) : known["primal"] - gap;
    known["dual maximum"] = known["maximum"];
    known["gap"] = std::max(0.0, known["primal"] - known["dual"]);
    known["relative_gap"] = known["primal"] > 0 ? known["gap"] / known["primal"] : 0;
  };
  return penalty_.certificate(arrays_.x, arrays_.z, told);
}

std::vector<Step> Certificate::look(const std::function<bool(const Scalars&)>& due, bool projected) const {
  const auto maximum = [](const Scalars& known) { return known.at("maximum"); };
  std::vector<Step> steps;
  if (!projected) steps.push_back(A_.project(arrays_.x, arrays_.p));
  steps.push_back(told_data());
  if (std::isfinite(penalty_.maximum()))
    steps.back().reduced = [told = steps.back().reduced, most = penalty_.maximum()](auto sums, Scalars& known) {
      told(sums, known);
      known["maximum"] = most;
    };
  else
    steps.push_back(told_maximum());
  steps.push_back(vectors_.scale(Domain::slices, 1, arrays_.x, arrays_.u));
  for (const auto& [q, polished] : penalty_.polished_duals())
    steps.push_back(vectors_.scale(Domain::slices, 1, q, polished));
  for (int n = 0; n < parameters_.polish_steps; ++n)
    steps.push_back(penalty_.polish(arrays_.z, arrays_.u, arrays_.ubar, maximum));
  steps.push_back(told_volume());
  for (Step& step : steps) step.due = due;
  return steps;
}

void Certificate::end(Program& program,
                      const std::function<std::vector<Step>(const std::function<bool(const Scalars&)>& due)>& look_if,
                      const std::vector<Step>& more) const {
  program.last = look_if([](const Scalars& known) { return known.at("certified") != known.at(iteration_scalar) - 1; });
  program.last.insert(program.last.end(), more.begin(), more.end());
  if (parameters_.gap_map)
    program.last.push_back(
        penalty_.gap_map(arrays_.x, arrays_.z, arrays_.ubar, [](const Scalars& known) { return known.at("maximum"); }));
  program.ends = [gap = parameters_.gap](int done, const Scalars& known) {
    return gap > 0 && known.at("certified") == done - 1 && known.at("relative_gap") <= gap;
  };
}

}  // namespace halocline
