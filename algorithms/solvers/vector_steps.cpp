#include "algorithms/solvers/vector_steps.hpp"

#include <algorithm>

#include "algorithms/support/kernel_numbers.hpp"

namespace halocline {
namespace {

constexpr const char* vectors = "vectors.cl";

auto first_of(Told told) {
  return [told = std::move(told)](std::span<const double> sums, Scalars& scalars) { told(sums.front(), scalars); };
}

}  // namespace

VectorSteps::VectorSteps(Program& program, int slice_sums, int view_sums)
    : volume_(program.needs.size), stack_(program.needs.stack) {
  const auto& arrays = program.needs.arrays;
  if (std::any_of(arrays.begin(), arrays.end(), [](const ArrayNeed& need) { return need.name == "view_sums"; })) return;
  SliceSums(volume_, slice_sums).declare(program.needs);
  SliceSums(stack_, view_sums).declare_views(program.needs);
}

Step VectorSteps::elementwise(Domain over, const KernelSpec& kernel, const std::vector<ArrayAccess>& arrays,
                              std::vector<Factor> factors) const {
  const auto& size = over == Domain::slices ? volume_ : stack_;
  const std::size_t layer = size[0] * size[1];
  Step step{.name = kernel.kernel, .over = over, .arrays = arrays};
  step.work = [=, factors = std::move(factors)](Slab& slab, const WorkRange& part, const Scalars& scalars) {
    const Range range = over == Domain::slices ? part.slices : part.views;
    const std::size_t count = layer * static_cast<std::size_t>(range.count());
    std::vector<SlabArgument> arguments(arrays.begin(), arrays.end());
    for (const Factor& factor : factors) arguments.emplace_back(factor(scalars));
    const std::size_t first =
        over == Domain::slices ? layer * static_cast<std::size_t>(range.begin - slab.offset()) : 0;
    arguments.emplace_back(std::uint64_t{first});
    arguments.emplace_back(std::uint64_t{first + count});
    slab.launch(kernel, {count, 1, 1}, arguments);
  };
  return step;
}

Step VectorSteps::set(Domain over, double a, const std::string& y) const {
  return elementwise(over, {vectors, "vectors_set", ""}, {out(y)}, {a});
}

Step VectorSteps::scale(Domain over, Factor a, const std::string& x, const std::string& y) const {
  return elementwise(over, {vectors, "vectors_scale", ""}, {in(x), out(y)}, {std::move(a)});
}

Step VectorSteps::scale(Domain over, Factor a, const std::string& y) const {
  return elementwise(over, {vectors, "vectors_rescale", ""}, {inout(y)}, {std::move(a)});
}

Step VectorSteps::combine(Domain over, Factor a, const std::string& x, Factor b, const std::string& y) const {
  return elementwise(over, {vectors, "vectors_combine", ""}, {in(x), inout(y)}, {std::move(a), std::move(b)});
}

Step VectorSteps::reciprocal(Domain over, const std::string& y) const {
  return elementwise(over, {vectors, "vectors_reciprocal", ""}, {inout(y)}, {});
}

Step VectorSteps::residual(const std::string& b, const std::string& w, const std::string& r) const {
  return elementwise(Domain::views, {vectors, "vectors_residual", ""}, {in(b), in(w), inout(r)}, {});
}

Step VectorSteps::multiply(Domain over, const std::string& x, const std::string& y) const {
  return elementwise(over, {vectors, "vectors_multiply", ""}, {in(x), inout(y)}, {});
}

Step VectorSteps::choose(Domain over, Factor condition, const std::string& x, const std::string& y) const {
  return elementwise(over, {vectors, "vectors_choose", ""}, {in(x), inout(y)}, {std::move(condition)});
}

Step VectorSteps::clamp(const Bounds& bounds, const std::string& x) const {
  return elementwise(Domain::slices, {vectors, "vectors_clamp", ""}, {inout(x)}, {bounds.minimum, bounds.maximum});
}

Step VectorSteps::update(Factor a, const std::string& u, const std::string& w, const std::string& x,
                         const Bounds& bounds) const {
  return elementwise(Domain::slices, {vectors, "vectors_update", ""}, {in(u), in(w), inout(x)},
                     {std::move(a), bounds.minimum, bounds.maximum});
}

Step VectorSteps::extrapolate(Domain over, Factor a, const std::string& u, const std::string& x) const {
  return elementwise(over, {vectors, "vectors_extrapolate", ""}, {inout(u), inout(x)}, {std::move(a)});
}

Step VectorSteps::sums(Domain over, const KernelSpec& kernel, const std::vector<std::string>& arrays, int count,
                       std::function<void(std::span<const double>, Scalars&)> told) const {
  Step step{.name = kernel.kernel, .over = over, .arrays = {}, .reduced = std::move(told), .sums = count};
  std::vector<SlabArgument> arguments;
  for (const auto& name : arrays) {
    arguments.emplace_back(in(name));
    const auto same = [&](const ArrayAccess& other) { return other.name == name; };
    if (std::none_of(step.arrays.begin(), step.arrays.end(), same)) step.arrays.push_back(in(name));
  }
  arguments.emplace_back(out("partials"));
  const bool slices = over == Domain::slices;
  if (!slices) step.names = {{"partials", "view_partials"}, {"sums", "view_sums"}};
  const auto& size = slices ? volume_ : stack_;
  step.work = [=, sums = SliceSums(size, count)](Slab& slab, const WorkRange& part, const Scalars&) {
    const Range range = slices ? part.slices : part.views;
    const std::int32_t offset = slices ? slab.offset() : number(range.begin);
    const structs::Extent extent{number(size[0]), number(size[1]),     number(size[2]),
                                 offset,          number(range.begin), number(range.end)};
    auto all = arguments;
    all.emplace_back(argument_struct(extent));
    sums.launch(slab, kernel.file, kernel.kernel, range, offset, all, kernel.options);
  };
  return step;
}

Step VectorSteps::sum(Domain over, const KernelSpec& kernel, const std::vector<std::string>& arrays, Told told) const {
  return sums(over, kernel, arrays, 1, first_of(std::move(told)));
}

Step VectorSteps::largest(const std::string& x, Told told) const {
  Step step{.name = "largest", .arrays = {in(x)}, .reduced = first_of(std::move(told)), .largest = true};
  step.work = [x, sums = SliceSums(volume_, 1)](Slab& slab, const WorkRange& part, const Scalars&) {
    sums.largest(slab, x, part.slices);
  };
  return step;
}

void VectorSteps::declare_largest(Program& program) const {
  SliceSums(volume_, 1).declare_largest(program.needs);
}

Step VectorSteps::dot(Domain over, const std::string& x, const std::string& y, Told told) const {
  return sum(over, {vectors, "vectors_dot", ""}, {x, y}, std::move(told));
}

Step VectorSteps::dot(Domain over, const std::string& x, const std::string& y, const std::string& w, Told told) const {
  return sum(over, {vectors, "vectors_weigh", ""}, {x, y, w}, std::move(told));
}

Step VectorSteps::distance(Domain over, const std::string& x, const std::string& y, Told told) const {
  return sum(over, {vectors, "vectors_distance", ""}, {x, y}, std::move(told));
}

}  // namespace halocline
