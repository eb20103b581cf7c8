#include "algorithms/solvers/view_subsets.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "algorithms/support/philox.hpp"
#include "host/system/error.hpp"

namespace halocline {

ViewSubsets::ViewSubsets(int views, int subsets) {
  if (subsets < 1 || subsets > views)
    throw InputError({.what = "`subsets`",
                      .found = std::to_string(subsets),
                      .expected = fmt::format("a number from 1 to that of the views, {}", views)});
  for (int s = 0; s < subsets; ++s) {
    begins_.push_back(static_cast<std::int64_t>(order_.size()));
    for (int view = s; view < views; view += subsets) order_.push_back(view);
  }
  begins_.push_back(views);
}

ViewSubsets::ViewSubsets(std::vector<int> order)
    : order_(std::move(order)), begins_{0, static_cast<std::int64_t>(order_.size())} {}

Range ViewSubsets::range(int s) const {
  const auto n = static_cast<std::size_t>(s);
  return {begins_[n], begins_[n + 1]};
}

int ViewSubsets::largest() const {
  return static_cast<int>(range(0).count());
}

std::vector<int> ViewSubsets::bit_reversed() const {
  int bits = 0;
  while (1 << bits < count()) ++bits;
  std::vector<int> result;
  for (int n = 0; n < 1 << bits; ++n) {
    int reversed = 0;
    for (int bit = 0; bit < bits; ++bit) reversed |= (n >> bit & 1) << (bits - 1 - bit);
    if (reversed < count()) result.push_back(reversed);
  }
  return result;
}

std::vector<int> ViewSubsets::permutation(std::uint64_t seed, std::uint64_t pass) const {
  constexpr std::uint32_t purpose = 0x53504448;  // no other stream of random numbers has it
  std::vector<int> result(static_cast<std::size_t>(count()));
  std::iota(result.begin(), result.end(), 0);
  PhiloxStream random(seed, pass, purpose);
  for (std::size_t n = result.size(); n > 1; --n)
    std::swap(result[n - 1], result[static_cast<std::size_t>(random.uniform() * static_cast<double>(n))]);
  return result;
}

Geometry ViewSubsets::sorted(const Geometry& geometry) const {
  return select_views(geometry, {order_.begin(), order_.end()});
}

SortedViews::SortedViews(const VolumeSource& stack, std::vector<int> order)
    : stack_(stack), grid_(stack.grid()), order_(std::move(order)) {
  grid_.size[2] = order_.size();
}

void SortedViews::read(std::size_t first, std::size_t count, float* to) const {
  const std::size_t view = stack_.grid().size[0] * stack_.grid().size[1];
  while (count > 0) {
    const std::size_t within = first % view, now = std::min(count, view - within);
    stack_.read(static_cast<std::size_t>(order_[first / view]) * view + within, now, to);
    first += now;
    to += now;
    count -= now;
  }
}

}  // namespace halocline
