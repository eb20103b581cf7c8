#include "algorithms/solvers/vector_steps.hpp"

namespace halocline {
namespace {

constexpr const char* file = "vectors.cl";

std::int32_t number(auto value) {
  return static_cast<std::int32_t>(value);
}

}  // namespace

VectorSteps::VectorSteps(Program& program)
    : volume_(program.needs.size),
      stack_(program.needs.stack),
      slices_(program.needs.size, 1),
      views_(program.needs.stack, 1) {
  slices_.declare(program.needs);
  views_.declare_views(program.needs);
}

Step VectorSteps::elementwise(Domain over, const std::string& kernel, std::vector<ArrayAccess> arrays,
                              std::vector<Factor> factors) const {
  const auto& size = over == Domain::slices ? volume_ : stack_;
  const std::size_t layer = size[0] * size[1];
  Step step{.name = kernel, .over = over, .arrays = arrays};
  step.work = [=, factors = std::move(factors)](Slab& slab, const WorkRange& part, const Scalars& scalars) {
    const Range range = over == Domain::slices ? part.slices : part.views;
    const std::size_t count = layer * static_cast<std::size_t>(range.count());
    std::vector<SlabArgument> arguments(arrays.begin(), arrays.end());
    for (const Factor& factor : factors) arguments.emplace_back(factor(scalars));
    const std::size_t first =
        over == Domain::slices ? layer * static_cast<std::size_t>(range.begin - slab.offset()) : 0;
    arguments.emplace_back(std::uint64_t{first});
    arguments.emplace_back(std::uint64_t{first + count});
    slab.launch({file, kernel, ""}, {count, 1, 1}, arguments);
  };
  return step;
}

Step VectorSteps::set(Domain over, double a, const std::string& y) const {
  return elementwise(over, "vectors_set", {out(y)}, {a});
}

Step VectorSteps::scale(Domain over, Factor a, const std::string& x, const std::string& y) const {
  return elementwise(over, "vectors_scale", {in(x), out(y)}, {std::move(a)});
}

Step VectorSteps::combine(Domain over, Factor a, const std::string& x, Factor b, const std::string& y) const {
  return elementwise(over, "vectors_combine", {in(x), inout(y)}, {std::move(a), std::move(b)});
}

Step VectorSteps::reciprocal(Domain over, const std::string& y) const {
  return elementwise(over, "vectors_reciprocal", {inout(y)}, {});
}

Step VectorSteps::residual(const std::string& b, const std::string& w, const std::string& r) const {
  return elementwise(Domain::views, "vectors_residual", {in(b), in(w), inout(r)}, {});
}

Step VectorSteps::update(double a, const std::string& u, const std::string& w, const std::string& x,
                         double lower) const {
  return elementwise(Domain::slices, "vectors_update", {in(u), in(w), inout(x)}, {a, lower});
}

Step VectorSteps::sum(Domain over, const std::string& kernel, const std::string& x, const std::string& y,
                      Told told) const {
  Step step{.name = kernel, .over = over, .arrays = {in(x)}};
  step.reduced = [told = std::move(told)](std::span<const double> sums, Scalars& scalars) {
    told(sums.front(), scalars);
  };
  if (y != x) step.arrays.push_back(in(y));
  const bool slices = over == Domain::slices;
  if (!slices) step.names = {{"partials", "view_partials"}, {"sums", "view_sums"}};
  const auto& size = slices ? volume_ : stack_;
  step.work = [=, sums = slices ? slices_ : views_](Slab& slab, const WorkRange& part, const Scalars&) {
    const Range range = slices ? part.slices : part.views;
    const std::int32_t offset = slices ? slab.offset() : number(range.begin);
    const structs::Extent extent{number(size[0]), number(size[1]),     number(size[2]),
                                 offset,          number(range.begin), number(range.end)};
    sums.launch(slab, file, kernel, range, offset, {in(x), in(y), out("partials"), argument_struct(extent)});
  };
  return step;
}

Step VectorSteps::dot(Domain over, const std::string& x, const std::string& y, Told told) const {
  return sum(over, "vectors_dot", x, y, std::move(told));
}

Step VectorSteps::distance(Domain over, const std::string& x, const std::string& y, Told told) const {
  return sum(over, "vectors_distance", x, y, std::move(told));
}

}  // namespace halocline
