#include "algorithms/solvers/fista.hpp"

#include <cmath>
#include <memory>
#include <optional>

#include "algorithms/solvers/pass_order.hpp"
#include "algorithms/solvers/penalised_steps.hpp"
#include "algorithms/solvers/solver_steps.hpp"

namespace halocline {
namespace {

using enum Domain;

class Fista {
 public:
  Fista(const RayOperator& A, const ViewSubsets& subsets, const TvParameters& penalty,
        const FistaParameters& parameters)
      : A_(A),
        subsets_(subsets),
        parameters_(parameters),
        order_(
            std::make_shared<const PassOrder>(subsets, parameters.passes, [&](int) { return subsets.bit_reversed(); })),
        penalty_(A.volume(), penalty),
        program_(declared()),
        vectors_(program_, 4, 2),
        steps_(A, vectors_, parameters.weighted),
        certificate_(A, penalty_, vectors_, judged(parameters.certificate),
                     {"x", "f", "u", "ubar", "p", "r", "b", parameters.weighted ? "w" : ""}) {
    if (may_diverge()) best_.emplace(program_);
    penalty_.declare(program_);
    certificate_.declare(program_);
    program_.scalars["t"] = 1;
    program_.scalars["beta"] = 0;
  }

  Program program() {
    begin();
    iteration();
    certificate_.end(
        program_, [this](const auto& due) { return look(due); }, best_ ? back_to_best() : std::vector<Step>{});
    return std::move(program_);
  }

 private:
  bool may_diverge() const { return subsets_.count() > 1; }

  CertificateParameters judged(CertificateParameters certificate) const {
    if (may_diverge()) certificate.judge = BestIterate::judge;
    return certificate;
  }

  // What is known of the best image, if the last look went back to it.
  std::vector<Step> back_to_best() { return look(BestIterate::goes_back); }

  // To the best image with a dual of 0, where the look has found so.
  std::vector<Step> go_back(const std::function<bool(const Scalars&)>& due) const {
    std::vector<Step> steps{best_->restore(vectors_), penalty_.start(), vectors_.scale(slices, 1, "x", "u"),
                            vectors_.scale(slices, 1, "x", "y")};
    for (Step& step : steps)
      step.due = [due](const Scalars& known) { return due(known) && BestIterate::goes_back(known); };
    return steps;
  }

  Program declared() const {
    Program program = A_.program(subsets_.count() > 1 ? "os-fista" : "fista", subsets_.largest());
    PenalisedSteps::declare(program, parameters_.weighted, parameters_.given_start);
    declare(program, {{.name = "u", .lifetime = Lifetime::state, .halo_inout = true},  // x+
                      volume_array("y", Lifetime::state),
                      volume_array("f", Lifetime::iteration),
                      volume_array("ubar", Lifetime::iteration),
                      projection_array("r", Lifetime::iteration)});
    program.needs.iterations = parameters_.passes * subsets_.count();
    return program;
  }

  void begin() {
    auto& steps = program_.first;
    steps = steps_.weighted_rows("f");
    if (best_) steps.push_back(BestIterate::at_zero(vectors_, parameters_.weighted ? "w" : ""));
    if (may_diverge() && !std::getenv("OLD"))
      append(steps, steps_.largest_of_subsets(subsets_, "f"));
    else
      steps.push_back(A_.backproject("p", "tau"));
    append(steps, steps_.invert(1.0 / (std::getenv("OLD") ? 1 : subsets_.count())));
    append(steps, steps_.start(penalty_, parameters_.given_start));
    if (parameters_.near_minimum) {
      append(steps, {A_.project("x", "p"), steps_.residual(1, "p"), A_.backproject("p", "f")});
      append(steps, certificate_.start_dual());
    }
    append(steps, {vectors_.scale(slices, 1, "x", "y"), vectors_.scale(slices, 1, "x", "u")});
  }

  void iteration() {
    const auto over_subset = [order = order_](Step step) {
      step.views = [order](const Scalars& known) { return order->views(known); };
      return step;
    };
    auto& steps = program_.each;
    steps = {over_subset(A_.project_fast("y", "p")), over_subset(steps_.residual(subsets_.count(), "p")),
             over_subset(A_.backproject("p", "f")),
             steps_.voxels("penalised_descent", {in("y"), in("tau"), inout("f")}, {})};
    for (int n = 0; n < parameters_.prox_steps; ++n) steps.push_back(penalty_.prox("f", "tau", "u"));
    steps.push_back(vectors_.sum(slices, {"penalised.cl", "penalised_restart", ""}, {"y", "u", "x", "tau"},
                                 [restarts = subsets_.count() == 1](double along, Scalars& known) {
                                   const bool restart = restarts ? along > 0 : BestIterate::diverged(known);
                                   const double t = known["t"], grown = (1 + std::sqrt(1 + 4 * t * t)) / 2;
                                   known["beta"] = restart ? 0 : (t - 1) / grown;
                                   known["t"] = restart ? 1 : grown;
                                 }));
    steps.push_back(steps_.voxels("penalised_momentum", {in("u"), inout("x"), inout("y")},
                                  {[](const Scalars& known) { return known.at("beta"); }}));
    // one after the first pass, too, of a method that may diverge
    append(steps,
           look([order = order_, every = parameters_.certificate.every, first = may_diverge()](const Scalars& known) {
             return order->ends_every(every, known) ||
                    (first && order->pass(known) == 0 && order->ends_every(1, known));
           }));
  }

  // With the dual r = W (A x - b) of the rays. It writes over f, which the next iteration makes anew, and over u.
  std::vector<Step> look(const std::function<bool(const Scalars&)>& due) {
    std::vector<Step> steps{A_.project("x", "p"), vectors_.scale(views, 1, "p", "r"), steps_.residual(1, "r"),
                            A_.backproject("r", "f")};
    const auto all_due = [&due](std::vector<Step> own) {
      for (Step& step : own) step.due = due;
      return own;
    };
    steps = all_due(std::move(steps));
    append(steps, certificate_.look(due, true));
    std::vector<Step> then;
    if (best_) then.push_back(best_->keep(vectors_));
    then.push_back(vectors_.scale(slices, 1, "x", "u"));
    append(steps, all_due(std::move(then)));
    if (best_) append(steps, go_back(due));
    return steps;
  }

  const RayOperator& A_;
  const ViewSubsets& subsets_;
  FistaParameters parameters_;
  std::shared_ptr<const PassOrder> order_;
  TvTerm penalty_;
  Program program_;
  VectorSteps vectors_;
  PenalisedSteps steps_;
  Certificate certificate_;
  std::optional<BestIterate> best_;
};

}  // namespace

Program fista(const RayOperator& A, const ViewSubsets& subsets, const TvParameters& penalty,
              const FistaParameters& parameters) {
  check_matched(A, subsets.count() > 1 ? "os-fista" : "fista");
  return Fista(A, subsets, penalty, parameters).program();
}

}  // namespace halocline
