#include "algorithms/preprocessing/lost_parts.hpp"

#include <algorithm>

namespace halocline {
namespace {

constexpr std::ptrdiff_t most_views = 12, least_thickness = 4;
constexpr std::size_t fewest_of_part = 8;  // one in so many of its pixels

}  // namespace

std::optional<PartEnds> ends_of_part(const std::vector<std::vector<GroupBox>>& parts, std::size_t view,
                                     const GroupBox& part, std::ptrdiff_t reach) {
  if (std::min(part.right - part.left, part.bottom - part.top) + 1 < least_thickness) return {};
  const auto all = static_cast<std::ptrdiff_t>(parts.size());
  std::ptrdiff_t views = 1;
  const auto continues = [&](const GroupBox& other) {
    return part.is_near(other, reach) && fewest_of_part * other.pixels >= part.pixels;
  };
  const auto end = [&](std::ptrdiff_t step) -> std::optional<std::size_t> {
    for (auto n = static_cast<std::ptrdiff_t>(view) + step; n >= 0 && n < all && views <= most_views; n += step) {
      const auto& there = parts[static_cast<std::size_t>(n)];
      if (std::none_of(there.begin(), there.end(), continues)) return static_cast<std::size_t>(n);
      ++views;
    }
    return {};
  };
  const PartEnds ends{end(-1), end(1)};
  if (views > most_views || (!ends.before && !ends.after)) return {};
  return ends;
}

}  // namespace halocline
