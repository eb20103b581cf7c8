#include "algorithms/solvers/subset_steps.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "algorithms/solvers/solver_steps.hpp"
#include "host/system/error.hpp"

namespace halocline {
namespace {

std::string inverse_name(int s) {
  return fmt::format("1/C {}", s);
}

constexpr const char* inverse_of_turn = "1/C";

}  // namespace

SubsetSteps::SubsetSteps(const ViewSubsets& subsets, std::vector<int> order)
    : subsets_(subsets), order_(order.empty() ? subsets.bit_reversed() : std::move(order)) {
  std::vector<int> sorted = order_;
  std::sort(sorted.begin(), sorted.end());
  bool right = sorted.size() == static_cast<std::size_t>(count());
  for (std::size_t n = 0; right && n < sorted.size(); ++n) right = sorted[n] == static_cast<int>(n);
  if (!right)
    throw InputError({.what = "the order of the subsets",
                      .found = fmt::format("{}", fmt::join(order_, ", ")),
                      .expected = fmt::format("each of the subsets 0 to {} once", count() - 1)});
}

int SubsetSteps::turn(const Scalars& known) const {
  return static_cast<int>(known.at(iteration_scalar)) % count();
}

int SubsetSteps::passes_done(const Scalars& known) const {
  return static_cast<int>(known.at(iteration_scalar)) / count();
}

Step SubsetSteps::over(Step step) const {
  step.views = [*this](const Scalars& known) { return subsets_.range(order_[static_cast<std::size_t>(turn(known))]); };
  return step;
}

Step SubsetSteps::over(Step step, int s) const {
  step.views = [range = subsets_.range(s)](const Scalars&) { return range; };
  return step;
}

Step SubsetSteps::if_subset(Step step, int s) const {
  step.due = [*this, s](const Scalars& known) { return order_[static_cast<std::size_t>(turn(known))] == s; };
  return step;
}

Step SubsetSteps::if_first(Step step) const {
  step.due = [*this](const Scalars& known) { return turn(known) == 0; };
  return step;
}

Step SubsetSteps::if_last(Step step) const {
  step.due = [*this](const Scalars& known) { return turn(known) == count() - 1; };
  return step;
}

Told SubsetSteps::told_of_pass(Program& program, const std::string& scalar, double (*shown)(double)) const {
  const std::string sums = scalar + " so far";
  program.scalars[scalar] = program.scalars[sums] = 0;
  return [*this, scalar, sums, shown](double sum, Scalars& known) {
    double& all = known[sums];
    all = turn(known) == 0 ? sum : all + sum;
    if (turn(known) == count() - 1) known[scalar] = shown(all);
  };
}

Told SubsetSteps::keep_root_of_pass(Program& program, const std::string& scalar) const {
  return told_of_pass(program, scalar, [](double sum) { return std::sqrt(sum); });
}

Told SubsetSteps::keep_of_pass(Program& program, const std::string& scalar) const {
  return told_of_pass(program, scalar, [](double sum) { return sum; });
}

SubsetSums::SubsetSums(Program& program, const RayOperator& A, const VectorSteps& vectors, const SubsetSteps& subsets,
                       bool kept)
    : A_(A), vectors_(vectors), subsets_(subsets), kept_(kept || subsets.count() == 1) {
  if (!kept_) declare(program, {volume_array(inverse_of_turn, Lifetime::iteration)});
  for (int s = 0; kept_ && s < subsets.count(); ++s) declare(program, {volume_array(inverse_name(s), Lifetime::state)});
}

std::vector<Step> SubsetSums::inverse(const std::string& name, const std::function<Step(Step)>& over) const {
  return {over(vectors_.set(Domain::views, 1, "r")), over(A_.backproject("r", name)),
          vectors_.reciprocal(Domain::slices, name)};
}

std::vector<Step> SubsetSums::first() const {
  std::vector<Step> steps;
  for (int s = 0; kept_ && s < subsets_.count(); ++s)
    append(steps, inverse(inverse_name(s), [&](Step step) { return subsets_.over(std::move(step), s); }));
  return steps;
}

std::vector<Step> SubsetSums::each(const std::function<std::vector<Step>(const std::string& inverse)>& use) const {
  if (!kept_) {
    std::vector<Step> steps = inverse(inverse_of_turn, [&](Step step) { return subsets_.over(std::move(step)); });
    append(steps, use(inverse_of_turn));
    return steps;
  }
  std::vector<Step> steps;
  for (int s = 0; s < subsets_.count(); ++s)
    for (Step& step : use(inverse_name(s))) steps.push_back(subsets_.if_subset(std::move(step), s));
  return steps;
}

}  // namespace halocline
