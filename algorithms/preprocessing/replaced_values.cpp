#include "algorithms/preprocessing/replaced_values.hpp"

#include <algorithm>

namespace halocline {
namespace {

using Value = ReplacedValues::Value;

bool before(const Value& value, std::size_t pixel) {
  return value.pixel < pixel;
}

/// Calls visit(position, value) for those of `count` values from number `first` of the stack on.
template <class Visit>
void for_each_in(const ReplacedValues& replaced, std::size_t first, std::size_t count, const Visit& visit) {
  if (replaced.views.empty() || count == 0) return;
  const std::size_t last = first + count;
  for (std::size_t view = first / replaced.pixels; view * replaced.pixels < last; ++view) {
    const auto& values = replaced.views[view];
    const std::size_t begin = view * replaced.pixels, from = first > begin ? first - begin : 0;
    for (auto at = std::lower_bound(values.begin(), values.end(), from, before);
         at != values.end() && begin + at->pixel < last; ++at)
      visit(begin + at->pixel, at->value);
  }
}

}  // namespace

std::size_t ReplacedValues::count() const {
  std::size_t sum = 0;
  for (const auto& view : views) sum += view.size();
  return sum;
}

ReplacedValues ReplacedValues::of_views(const std::vector<std::size_t>& chosen) const {
  ReplacedValues part{pixels, {}};
  if (views.empty()) return part;
  for (const std::size_t view : chosen) part.views.push_back(views.at(view));
  return part;
}

void ReplacedValues::put(std::size_t first, std::size_t count, float* values) const {
  for_each_in(*this, first, count, [&](std::size_t at, float value) { values[at - first] = value; });
}

void ReplacedValues::put(TypedVolume& stack) const {
  const std::size_t bytes = component_bytes(stack.component);
  for_each_in(*this, 0, stack.grid.count(), [&](std::size_t at, float value) {
    convert_from_float(stack.component, &value, stack.bytes() + at * bytes, 1);
  });
}

bool ReplacedValues::are_in(const TypedVolume& stack) const {
  const std::size_t bytes = component_bytes(stack.component);
  bool all = true;
  for_each_in(*this, 0, stack.grid.count(), [&](std::size_t at, float value) {
    std::byte wanted[sizeof(double)];
    convert_from_float(stack.component, &value, wanted, 1);
    all = all && std::equal(wanted, wanted + bytes, stack.bytes() + at * bytes);
  });
  return all;
}

void MendedSource::read(std::size_t first, std::size_t count, float* to) const {
  source_.read(first, count, to);
  replaced_.put(first, count, to);
}

void withhold(const ReplacedValues& replaced, const ProjectionPart& part, std::size_t columns, Volume& weights) {
  if (replaced.views.empty()) return;
  const std::size_t bin_pixels = part.bin[0] * part.bin[1];
  const std::array<std::size_t, 2> bins{part.size[0] / part.bin[0], part.size[1] / part.bin[1]};
  std::vector<std::size_t> lost(bins[0] * bins[1]);
  for (std::size_t n = 0; n < part.views.size(); ++n) {
    std::fill(lost.begin(), lost.end(), 0);
    for (const Value& value : replaced.views[part.views[n]]) {
      const std::size_t column = value.pixel % columns, row = value.pixel / columns;
      if (column < part.first[0] || row < part.first[1]) continue;
      const std::size_t u = (column - part.first[0]) / part.bin[0], v = (row - part.first[1]) / part.bin[1];
      if (u < bins[0] && v < bins[1]) ++lost[v * bins[0] + u];
    }
    for (std::size_t at = 0; at < lost.size(); ++at)
      if (lost[at] > 0)
        weights.voxels[n * lost.size() + at] *=
            static_cast<float>(static_cast<double>(bin_pixels - lost[at]) / static_cast<double>(bin_pixels));
  }
}

void withhold(const ReplacedValues& replaced, Volume& weights) {
  for_each_in(replaced, 0, weights.voxels.size(), [&](std::size_t at, float) { weights.voxels[at] = 0; });
}

}  // namespace halocline
