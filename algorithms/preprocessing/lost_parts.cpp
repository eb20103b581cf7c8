#include "algorithms/preprocessing/lost_parts.hpp"

#include <algorithm>

namespace halocline {
namespace {

constexpr std::ptrdiff_t most_views = 12, least_thickness = 4;

bool goes_on_in(const std::vector<DarkPart>& others, const DarkPart& part, std::ptrdiff_t reach) {
  return std::any_of(others.begin(), others.end(), [&](const DarkPart& other) {
    return other.left <= part.right + reach && part.left <= other.right + reach && other.top <= part.bottom + 1 &&
           part.top <= other.bottom + 1 && 8 * other.pixels >= part.pixels;
  });
}

}  // namespace

std::optional<PartEnds> ends_of_part(const std::vector<std::vector<DarkPart>>& parts, std::size_t view,
                                     const DarkPart& part, std::ptrdiff_t reach) {
  if (std::min(part.right - part.left, part.bottom - part.top) + 1 < least_thickness) return {};
  const auto all = static_cast<std::ptrdiff_t>(parts.size());
  std::ptrdiff_t views = 1;
  const auto end = [&](std::ptrdiff_t step) -> std::optional<std::size_t> {
    for (auto n = static_cast<std::ptrdiff_t>(view) + step; n >= 0 && n < all && views <= most_views; n += step) {
      if (!goes_on_in(parts[static_cast<std::size_t>(n)], part, reach)) return static_cast<std::size_t>(n);
      ++views;
    }
    return {};
  };
  const PartEnds ends{end(-1), end(1)};
  if (views > most_views || (!ends.before && !ends.after)) return {};
  return ends;
}

}  // namespace halocline
