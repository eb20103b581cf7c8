#include "algorithms/solvers/spdhg.hpp"

#include <algorithm>
#include <cmath>
#include <memory>

namespace halocline {
namespace {

constexpr auto slices = Domain::slices, views = Domain::views;
constexpr double safety = 0.99;      // of the step condition
constexpr int refreshed = 10;        // passes after which z = A^T r is computed anew: float32 sums drift
constexpr double least_seen = 1e-2;  // voxels that the rays hardly see count as this part of the mean in the steps

double eta_of(int pass) {
  return std::max(0.1, 3.0 / (pass + 4));
}

// What an iteration is: its number in the whole run, its pass, its subset.
class Order {
 public:
  Order(const ViewSubsets& subsets, const SpdhgParameters& parameters) : count_(subsets.count()) {
    for (int pass = 0; pass < parameters.passes; ++pass)
      for (const int s : subsets.permutation(parameters.seed, static_cast<std::uint64_t>(pass)))
        ranges_.push_back(subsets.range(s));
  }
  int pass(const Scalars& known) const { return number(known) / count_; }
  bool begins_pass(const Scalars& known) const { return number(known) % count_ == 0; }
  bool ends_pass(const Scalars& known) const { return (number(known) + 1) % count_ == 0; }
  Range views(const Scalars& known) const { return ranges_[static_cast<std::size_t>(number(known))]; }

  static int number(const Scalars& known) { return static_cast<int>(known.at(iteration_scalar)); }

 private:
  int count_;
  std::vector<Range> ranges_;
};

class Spdhg {
 public:
  Spdhg(const RayOperator& A, const ViewSubsets& subsets, const TvParameters& penalty,
        const SpdhgParameters& parameters)
      : A_(A),
        subsets_(subsets),
        parameters_(parameters),
        order_(std::make_shared<const Order>(subsets, parameters)),
        penalty_(A.volume(), penalty),
        program_(declared()),
        vectors_(program_, 4, 2),
        certificate_(A, penalty_, vectors_, parameters.certificate,
                     {"x", "z", "f", "ubar", "p", "r", "b", parameters.weighted ? "w" : ""}) {
    penalty_.declare(program_);
    if (!std::isfinite(penalty_.maximum())) vectors_.declare_largest(program_);
    Certificate::declare(program_);
  }

  Program program() {
    begin();
    iteration();
    end();
    return std::move(program_);
  }

 private:
  Program declared() const {
    constexpr auto projections = ArrayKind::projections;
    Program program = A_.program("spdhg", subsets_.largest());
    program.needs.arrays.insert(program.needs.arrays.end(),
                                {{.name = "x", .lifetime = Lifetime::output, .halo_inout = true},
                                 {.name = "z", .lifetime = Lifetime::state},  // A^T r, but for what is in f
                                 {.name = "f", .lifetime = Lifetime::state, .halo_inout = true},
                                 {.name = "ubar", .lifetime = Lifetime::iteration},
                                 {.name = "tau", .lifetime = Lifetime::state},
                                 {.name = "b", .kind = projections, .lifetime = Lifetime::input},
                                 {.name = "r", .kind = projections, .lifetime = Lifetime::state},
                                 {.name = "p", .kind = projections, .lifetime = Lifetime::iteration}});
    if (parameters_.weighted)
      program.needs.arrays.push_back({.name = "w", .kind = projections, .lifetime = Lifetime::input});
    if (parameters_.given_start) program.given = {"x"};
    program.needs.iterations = parameters_.passes * subsets_.count();
    program.scalars = {{"mean", 0}};
    return program;
  }

  KernelSpec kernel(const std::string& name) const {
    return {"penalised.cl", name, parameters_.weighted ? "-D WEIGHTED" : ""};
  }
  std::vector<ArrayAccess> rays(std::vector<ArrayAccess> more) const {
    std::vector<ArrayAccess> arrays{in("b")};
    if (parameters_.weighted) arrays.push_back(in("w"));
    arrays.insert(arrays.end(), more.begin(), more.end());
    return arrays;
  }
  Step voxels(const char* name, std::vector<ArrayAccess> arrays, std::vector<Factor> factors) const {
    return vectors_.elementwise(slices, {"penalised.cl", name, ""}, std::move(arrays), std::move(factors));
  }

  // tau = 0.99 / (eta S max_s d_s), with d_s = A_s^T W A_s 1, and r = W (A x - b).
  void begin() {
    auto& steps = program_.first;
    steps = {vectors_.set(slices, 1, "f"), A_.project("f", "p")};
    if (parameters_.weighted) steps.push_back(vectors_.multiply(views, "w", "p"));
    steps.push_back(vectors_.set(slices, 0, "tau"));
    for (int s = 0; s < subsets_.count(); ++s) {
      steps.push_back(A_.backproject("p", "f"));
      steps.back().views = [range = subsets_.range(s)](const Scalars&) { return range; };
      steps.push_back(voxels("penalised_largest", {in("f"), inout("tau")}, {}));
    }
    const auto count = static_cast<double>(A_.volume().count());
    steps.push_back(vectors_.sums(slices, {"penalised.cl", "penalised_total", ""}, {"tau"}, 1,
                                  [count](auto sums, Scalars& known) { known["mean"] = sums[0] / count; }));
    const double scale = safety / (eta_of(0) * subsets_.count());
    steps.push_back(voxels("penalised_steps", {inout("tau")}, {scale, [](const Scalars& known) {
                                                                 const double mean = known.at("mean");
                                                                 return mean > 0 ? least_seen * mean : 1.0;
                                                               }}));
    if (parameters_.given_start)
      steps.push_back(vectors_.clamp({penalty_.minimum(), penalty_.maximum()}, "x"));
    else
      steps.push_back(vectors_.set(slices, std::max(0.0, penalty_.minimum()), "x"));
    steps.insert(steps.end(), {penalty_.start(), A_.project("x", "r"),
                               vectors_.elementwise(views, kernel("penalised_residual"), rays({inout("r")}), {1.0})});
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
        voxels("penalised_voxels", {in("x"), in("tau"), inout("z"), inout("f")}, {carry, subsets}),
        penalty_.prox("f", "tau", "x"),
        over_subset(A_.project("x", "p")),
        over_subset(vectors_.elementwise(views, kernel("penalised_rays"), rays({inout("r"), inout("p")}), {factor})),
        over_subset(A_.backproject("p", "f")),
    };
    add_look(program_.each, [order, every, passes = parameters_.passes](const Scalars& known) {
      const int done = order->pass(known) + 1;
      return order->ends_pass(known) && done % every == 0 && done < passes;
    });
  }

  void end() {
    add_look(program_.last,
             [](const Scalars& known) { return known.at("certified") != known.at(iteration_scalar) - 1; });
    if (parameters_.certificate.gap_map) program_.last.push_back(certificate_.gap_map());
    program_.ends = [gap = parameters_.certificate.gap](int done, const Scalars& known) {
      return known.at("certified") == done - 1 && known.at("relative_gap") <= gap;
    };
  }

  // z gets what is in f, which a look writes over.
  void add_look(std::vector<Step>& steps, const std::function<bool(const Scalars&)>& due) {
    steps.push_back(vectors_.combine(slices, 1, "f", 1, "z"));
    steps.back().due = due;
    for (Step& step : certificate_.look(due)) steps.push_back(std::move(step));
  }

  const RayOperator& A_;
  const ViewSubsets& subsets_;
  SpdhgParameters parameters_;
  std::shared_ptr<const Order> order_;
  TvTerm penalty_;
  Program program_;
  VectorSteps vectors_;
  Certificate certificate_;
};

}  // namespace

Program spdhg(const RayOperator& A, const ViewSubsets& subsets, const TvParameters& penalty,
              const SpdhgParameters& parameters) {
  return Spdhg(A, subsets, penalty, parameters).program();
}

}  // namespace halocline
