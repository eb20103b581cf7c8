#include "algorithms/solvers/cgls.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "algorithms/solvers/ramp_filter.hpp"
#include "algorithms/solvers/solver_steps.hpp"

namespace halocline {
namespace {

using enum Domain;

// A scalar, or its negative, as a factor.
Factor known_as(const char* name, double sign = 1) {
  return [=](const Scalars& known) { return sign * known.at(name); };
}

class Cgls {
 public:
  Cgls(const RayOperator& A, const CglsParameters& parameters)
      : A_(A), parameters_(parameters), program_(A.program("cgls")) {
    declare(program_, {volume_array("x", Lifetime::output), volume_array("p", Lifetime::state),
                       volume_array("e", Lifetime::state),  // the first gradient, or M times it, unit
                       volume_array("s", Lifetime::iteration), projection_array("b", Lifetime::input),
                       projection_array("r", Lifetime::state), projection_array("q", Lifetime::iteration)});
    if (parameters.weights) declare(program_, {projection_array("w", Lifetime::input)});
    if (parameters.ramp) {
      declare(program_, {volume_array("z", Lifetime::iteration)});  // M s
      ramp_.emplace(program_, A.volume());
    }
    program_.needs.iterations = parameters.iterations;
    for (const char* name : {"gamma", "beta", "qq", "es", "residual"}) program_.scalars[name] = 0;
    declare_gradient(program_);
    vectors_.emplace(program_);
  }

  Program program() {
    begin();
    iteration();
    end_at_gradient(program_, parameters_.tolerance);
    return std::move(program_);
  }

 private:
  // The squared norm in the inner product of W.
  Step square(const std::string& y, const Told& told) const {
    return parameters_.weights ? vectors_->dot(views, y, y, "w", told) : vectors_->dot(views, y, y, told);
  }

  // s = A^T W r.
  std::vector<Step> back() const {
    if (!parameters_.weights) return {A_.backproject("r", "s")};
    return {vectors_->scale(views, 1, "r", "q"), vectors_->multiply(views, "w", "q"), A_.backproject("q", "s")};
  }

  // What the next direction is made of.
  const char* descent() const { return ramp_ ? "z" : "s"; }

  void begin() {
    auto& steps = program_.first;
    const bool from_start = parameters_.from_start;
    if (from_start) steps = gradient_at_zero(A_, *vectors_, parameters_.weights ? "w" : "", "s", "q");
    append(steps, begin_image(program_, *vectors_, from_start, {}));
    steps.push_back(vectors_->scale(views, 1, "b", "r"));
    if (from_start) append(steps, {A_.project("x", "q"), vectors_->combine(views, -1, "q", 1, "r")});
    append(steps, back());
    const auto told = [from_start, ramp = parameters_.ramp](double sum, Scalars& known) {
      known["gradient"] = std::sqrt(sum);
      if (!from_start) known["gradient at 0"] = known["gradient"];
      if (!ramp) known["gamma"] = sum;
    };
    steps.push_back(vectors_->dot(slices, "s", "s", told));
    if (ramp_) append(steps, {ramp_->filter("s", "z"), vectors_->dot(slices, "s", "z", keep("gamma"))});
    const auto inverse_norm = [](const Scalars& known) { return ratio(1, std::sqrt(known.at("gamma"))); };
    append(steps, {vectors_->scale(slices, 1, descent(), "p"), vectors_->scale(slices, inverse_norm, descent(), "e")});
  }

  void iteration() {
    const auto step_length = [](double sign) {
      return [sign](const Scalars& known) { return sign * ratio(known.at("gamma"), known.at("qq")); };
    };
    auto& steps = program_.each;
    steps = {A_.project("p", "q"), square("q", keep("qq")), vectors_->combine(slices, step_length(1), "p", 1, "x"),
             vectors_->combine(views, step_length(-1), "q", 1, "r"), square("r", keep_root("residual"))};
    append(steps, back());
    append(steps, ramp_ ? preconditioned() : plain());
    steps.push_back(vectors_->combine(slices, 1, descent(), known_as("beta"), "p"));
  }

  static void go_on(double gamma, Scalars& known) {
    known["beta"] = ratio(gamma, known["gamma"]);
    known["gamma"] = gamma;
  }

  // s, made orthogonal to the first; gamma = <s, s>.
  std::vector<Step> plain() const {
    const auto told = [](double square, Scalars& known) {
      go_on(square, known);
      known["gradient"] = std::sqrt(square);
    };
    return {vectors_->dot(slices, "e", "s", keep("es")), vectors_->combine(slices, known_as("es", -1), "e", 1, "s"),
            vectors_->dot(slices, "s", "s", told)};
  }

  // z = M s of an s that were made orthogonal to the first in the inner product of M, and gamma = <s, z> of it: with s'
  // = s - <e, s> s0 and e = M s0, <s0, M s0> = 1, that is <s, M s> - <e, s>^2.
  std::vector<Step> preconditioned() const {
    const auto told = [](double sum, Scalars& known) {
      go_on(std::max(0.0, sum - known.at("es") * known.at("es")), known);
    };
    return {vectors_->dot(slices, "s", "s", keep_root("gradient")), ramp_->filter("s", "z"),
            vectors_->dot(slices, "e", "s", keep("es")), vectors_->dot(slices, "s", "z", told),
            vectors_->combine(slices, known_as("es", -1), "e", 1, "z")};
  }

  const RayOperator& A_;
  CglsParameters parameters_;
  Program program_;
  std::optional<RampFilter> ramp_;
  std::optional<VectorSteps> vectors_;
};

}  // namespace

Program cgls(const RayOperator& A, const CglsParameters& parameters) {
  check_matched(A, "cgls");
  check_iterations(parameters.iterations);
  check_tolerance(parameters.tolerance);
  return Cgls(A, parameters).program();
}

}  // namespace halocline
