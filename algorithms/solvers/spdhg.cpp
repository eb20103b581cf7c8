#include "algorithms/solvers/spdhg.hpp"

#include <algorithm>
#include <cmath>
#include <memory>

#include "algorithms/solvers/pass_order.hpp"
#include "algorithms/solvers/penalised_steps.hpp"
#include "algorithms/solvers/solver_steps.hpp"

namespace halocline {
namespace {

using enum Domain;
constexpr double safety = 0.99;  // of the step condition
constexpr int refreshed = 10;    // passes after which z = A^T r is computed anew: float32 sums drift

double eta_of(int pass) {
  return std::max(0.05, 3.0 / (pass + 4));
}

class Spdhg {
 public:
  Spdhg(const RayOperator& A, const ViewSubsets& subsets, const TvParameters& penalty,
        const SpdhgParameters& parameters)
      : A_(A),
        subsets_(subsets),
        parameters_(parameters),
        order_(std::make_shared<const PassOrder>(
            subsets, parameters.passes,
            [&](int pass) { return subsets.permutation(parameters.seed, static_cast<std::uint64_t>(pass)); })),
        penalty_(A.volume(), penalty),
        program_(declared()),
        vectors_(program_, 4, 2),
        steps_(A, vectors_, parameters.weighted),
        certificate_(A, penalty_, vectors_, parameters.certificate,
                     {"x", "z", "f", "ubar", "p", "r", "b", parameters.weighted ? "w" : ""}) {
    penalty_.declare(program_);
    certificate_.declare(program_);
  }

  Program program() {
    begin();
    iteration();
    certificate_.end(program_, [this](const auto& due) { return look(due); });
    return std::move(program_);
  }

 private:
  Program declared() const {
    Program program = A_.program("spdhg", subsets_.largest());
    PenalisedSteps::declare(program, parameters_.weighted, parameters_.given_start);
    declare(program, {{.name = "z", .lifetime = Lifetime::state, .halo_inout = true},  // A^T r, but for what is in f
                      {.name = "f", .lifetime = Lifetime::state, .halo_inout = true},  // A_s^T of the change of r
                      volume_array("ubar", Lifetime::iteration),
                      projection_array("r", Lifetime::state)});
    program.needs.iterations = parameters_.passes * subsets_.count();
    return program;
  }

  // tau = 0.99 / (eta S max_s d_s), with d_s = A_s^T W A_s 1, and r = W (A x - b).
  void begin() {
    auto& steps = program_.first;
    steps = steps_.weighted_rows("f");
    append(steps, steps_.largest_of_subsets(subsets_, "f"));
    append(steps, steps_.invert(safety / (eta_of(0) * subsets_.count())));
    append(steps, steps_.start(penalty_, parameters_.given_start));
    append(steps, {A_.project("x", "r"), steps_.residual(1, "r")});
    if (!parameters_.near_minimum) return;
    steps.push_back(A_.backproject("r", "z"));
    append(steps, certificate_.start_dual());
  }

  void iteration() {
    const auto order = order_;
    const auto over_subset = [&](Step step) {
      step.views = [order](const Scalars& known) { return order->views(known); };
      return step;
    };
    const auto when = [](auto due, Step step) {
      step.due = due;
      return step;
    };
    const int every = parameters_.certificate.every;
    const auto begins_pass = [order](const Scalars& known) { return order->begins_pass(known); };
    const auto refreshes = [order](const Scalars& known) {
      return order->begins_pass(known) && order->pass(known) % refreshed == 0;
    };
    // 1 where f holds the last subset's change of z; a look has added it and written over it, and z computed anew has
    // it
    const auto carry = [order, refreshes, every](const Scalars& known) {
      const bool looked = order->begins_pass(known) && order->pass(known) % every == 0;
      return looked || refreshes(known) ? 0.0 : 1.0;
    };
    const auto subsets = [carry, count = subsets_.count()](const Scalars& known) { return carry(known) * count; };
    const auto slower = [order](const Scalars& known) {
      const int pass = order->pass(known);
      return pass > 0 ? eta_of(pass - 1) / eta_of(pass) : 1.0;
    };
    const auto factor = [order](const Scalars& known) {
      const double eta = eta_of(order->pass(known));
      return eta / (1 + eta);
    };
    program_.each = {
        when(begins_pass, vectors_.scale(slices, slower, "tau")),
        when(refreshes, A_.backproject("r", "z")),
        penalty_.prox_from("z", "f", "tau", "x", "ubar", carry, subsets),
        over_subset(A_.project_fast("x", "p")),
        over_subset(steps_.rays(factor)),
        over_subset(A_.backproject("p", "f")),
    };
    append(program_.each, look([order, every](const Scalars& known) { return order->ends_every(every, known); }));
  }

  // z gets what is in f, which a look writes over.
  std::vector<Step> look(const std::function<bool(const Scalars&)>& due) {
    std::vector<Step> steps{vectors_.combine(slices, 1, "f", 1, "z")};
    steps.back().due = due;
    append(steps, certificate_.look(due));
    return steps;
  }

  const RayOperator& A_;
  const ViewSubsets& subsets_;
  SpdhgParameters parameters_;
  std::shared_ptr<const PassOrder> order_;
  TvTerm penalty_;
  Program program_;
  VectorSteps vectors_;
  PenalisedSteps steps_;
  Certificate certificate_;
};

}  // namespace

Program spdhg(const RayOperator& A, const ViewSubsets& subsets, const TvParameters& penalty,
              const SpdhgParameters& parameters) {
  check_matched(A, "spdhg");
  return Spdhg(A, subsets, penalty, parameters).program();
}

}  // namespace halocline
