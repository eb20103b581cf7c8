#include "algorithms/expressions/job_numbers.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "host/opencl/program_cache.hpp"
#include "host/system/error.hpp"

namespace halocline::expressions {
namespace {

std::string at(int place) {
  return fmt::format("numbers[{}]", place);
}

std::string literal(double value) {
  if (std::isnan(value)) return "((real)NAN)";
  if (std::isinf(value)) return value > 0 ? "((real)INFINITY)" : "((real)-INFINITY)";
  return fmt::format("((real){:a})", value);
}

// A line of the kernel.
std::string assignment(int place, const std::string& value) {
  return fmt::format("  rounded[{0}] = (float)({1} = {2});\n", place, at(place), value);
}

}  // namespace

NumbersKernel::NumbersKernel(const std::vector<int>& sums, bool largest)
    : sums_(static_cast<std::int32_t>(sums.size())), largest_(largest) {
  for (std::size_t c = 0; c < sums.size(); ++c)
    lines_ += assignment(sums[c], fmt::format("{}(sums, count, values, {})", largest ? "largest_of" : "added_up", c));
}

void NumbersKernel::add(int place, const ScalarNode& number, const std::function<int(const ScalarNode&)>& place_of) {
  const std::string value = value_of(number, place_of);
  lines_ += assignment(place, value);
}

// A name for each operation, because compilers limit how deep parentheses may be.
std::string NumbersKernel::value_of(const ScalarNode& number, const std::function<int(const ScalarNode&)>& place_of) {
  if (number.value) return literal(*number.value);
  if (number.operation == nullptr) return at(place_of(number));
  if (const auto found = values_.find(&number); found != values_.end()) return found->second;
  std::array<std::string, ScalarNode::most_parts> parts;
  for (std::size_t n = 0; n < parts.size(); ++n)
    if (number.parts[n]) parts[n] = value_of(*number.parts[n], place_of);
  const std::string name = fmt::format("v{}", values_.size());
  lines_ += fmt::format("  const real {} = {};\n", name,
                        fmt::format(fmt::runtime(number.operation->on_device), parts[0], parts[1], parts[2]));
  values_.emplace(&number, name);
  return name;
}

void NumbersKernel::launch(Slab& slab, std::int32_t count, std::int32_t parts, bool fp64) const {
  const std::string option = fp64 && slab.device().fp64 ? "-D USE_FP64" : "";
  if (parts > 1)
    slab.launch({"reduce.cl", "reduce_parts", option + (largest_ ? " -D LARGEST" : "")},
                {static_cast<std::size_t>(sums_), static_cast<std::size_t>(count), 1},
                {inout("sums"), parts, sums_, count});
  const std::string text =
      "#pragma OPENCL FP_CONTRACT OFF\n#include \"numbers.clh\"\n\n"
      "__kernel void numbers(__global const ulong* restrict sums, __global real* restrict numbers,\n"
      "                      __global float* restrict rounded, int count, int values) {\n" +
      lines_ + "}\n";
  slab.launch({keep_kernel_text("numbers", text), "numbers", option}, {1, 1, 1},
              {in("sums"), inout(exact_numbers), inout(rounded_numbers), count, parts * sums_});
}

void NumbersPool::declare(Requirements& needs) {
  needs.arrays.push_back({.name = exact_numbers, .kind = ArrayKind::fixed, .element_bytes = 8, .elements = most});
  needs.arrays.push_back({.name = rounded_numbers, .kind = ArrayKind::fixed, .elements = most});
}

int NumbersPool::take() {
  if (!free_.empty()) return free_.extract(free_.begin()).value();
  if (taken_ == most)
    throw InputError({.what = "the prepared jobs of a Context",
                      .found = fmt::format("more than {} sums, and numbers that follow from them", most),
                      .expected = "fewer",
                      .remedy = "let jobs end that are not needed any longer"});
  return taken_++;
}

void NumbersPool::give_back(const std::vector<int>& places) {
  free_.insert(places.begin(), places.end());
}

int JobNumbers::take(const std::shared_ptr<ScalarNode>& node) {
  const int place = pool_->take();
  places_.push_back(place);
  known_.emplace(node.get(), place);
  kept_.push_back(node);
  return place;
}

void JobNumbers::add_sums(Step& step, const std::vector<std::shared_ptr<ScalarNode>>& sums, bool fp64) {
  std::vector<int> places;
  for (const auto& sum : sums) {
    places.push_back(take(sum));
    sum->on_device = places.back();
  }
  last_ = std::make_shared<NumbersKernel>(places, step.largest);
  step.work = [work = step.work, numbers = last_, views = step.over == Domain::views, fp64](
                  Slab& slab, const WorkRange& part, const Scalars& scalars) {
    work(slab, part, scalars);
    const auto count = (views ? part.views : part.slices).count(), parts = views ? sums_of_view(slab.rows()) : 1;
    numbers->launch(slab, static_cast<std::int32_t>(count), static_cast<std::int32_t>(parts), fp64);
  };
}

int JobNumbers::place_of(const std::shared_ptr<ScalarNode>& node) {
  if (const auto found = known_.find(node.get()); found != known_.end()) return found->second;
  if (!last_) return own_place(*node);  // which throws
  const int place = take(node);
  last_->add(place, *node, [this](const ScalarNode& sum) { return own_place(sum); });
  return place;
}

int JobNumbers::own_place(const ScalarNode& sum) const {
  const auto found = known_.find(&sum);
  if (found == known_.end())
    throw InputError({.what = "a number of a prepared job",
                      .found = "one that follows from a sum outside of it",
                      .expected = "one of sums that its function states",
                      .remedy = "state them in it, or give the value of the number"});
  return found->second;
}

double JobNumbers::value(const ScalarNode& node, const std::vector<double>& numbers) const {
  std::map<const ScalarNode*, double> values;  // of formulas, which may share parts
  const std::function<double(const ScalarNode&)> value_of = [&](const ScalarNode& each) {
    if (each.value) return *each.value;
    if (each.operation == nullptr) return numbers[static_cast<std::size_t>(own_place(each))];
    if (const auto found = values.find(&each); found != values.end()) return found->second;
    std::array<double, ScalarNode::most_parts> parts{};
    for (std::size_t n = 0; n < parts.size(); ++n)
      if (each.parts[n]) parts[n] = value_of(*each.parts[n]);
    return values[&each] = each.operation->on_host(parts[0], parts[1], parts[2]);
  };
  return value_of(node);
}

}  // namespace halocline::expressions
