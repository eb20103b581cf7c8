#include "algorithms/preprocessing/bad_pixel_pattern.hpp"

#include <algorithm>

namespace halocline {
namespace {

using PixelOffset = PixelPattern::Offset;

constexpr std::ptrdiff_t views_around = 3;
constexpr std::ptrdiff_t farthest_example = 12;
constexpr std::size_t most_examples = 32;

class PatternOf {
 public:
  PatternOf(PixelPattern& pattern, const KnownPixels& good)
      : pattern_(pattern),
        good_(good),
        column_(static_cast<std::ptrdiff_t>(pattern.at) % good.columns),
        row_(static_cast<std::ptrdiff_t>(pattern.at) / good.columns) {}

  // Two pixels on each side in the row; three of the next row and one of that behind it above and below.
  void add_features() {
    const auto [left, right, up, down] = pattern_.distance;
    for (const std::ptrdiff_t column : {-left - 1, -left, right, right + 1})
      if ((column < 0 ? left : right) > 0) add({column, 0}, views_around);
    if (left == 0 && right > 0) add({right + 2, 0}, views_around);
    if (right == 0 && left > 0) add({-left - 2, 0}, views_around);
    for (const std::ptrdiff_t row : {-up, down}) {
      if (row == 0) continue;
      for (const std::ptrdiff_t column : {-1, 0, 1}) add({column, row}, column == 0 ? 1 : 0);
      add({0, row < 0 ? row - 1 : row + 1}, 0);
    }
  }

  void add_examples() {
    std::vector<PixelOffset> all;
    for (std::ptrdiff_t row = -farthest_example; row <= farthest_example; ++row)
      for (std::ptrdiff_t column = -farthest_example; column <= farthest_example; ++column)
        if (is_example({column, row})) all.push_back({column, row});
    const auto nearer = [](const PixelOffset& a, const PixelOffset& b) {
      return a.column * a.column + a.row * a.row < b.column * b.column + b.row * b.row;
    };
    std::stable_sort(all.begin(), all.end(), nearer);
    all.resize(std::min(all.size(), most_examples));
    pattern_.examples = std::move(all);
  }

 private:
  bool is_good(const PixelOffset& at) const { return good_.at(column_ + at.column, row_ + at.row); }

  bool is_example(const PixelOffset& from) const {
    if (!is_good(from)) return false;
    return std::all_of(pattern_.pixels.begin(), pattern_.pixels.end(), [&](const PixelOffset& each) {
      return is_good({from.column + each.column, from.row + each.row});
    });
  }

  void add(const PixelOffset& at, std::ptrdiff_t views) {
    if (!is_good(at)) return;
    auto& pixels = pattern_.pixels;
    const auto same = [&](const PixelOffset& each) { return each.column == at.column && each.row == at.row; };
    const auto found = std::find_if(pixels.begin(), pixels.end(), same);
    const auto number = static_cast<std::size_t>(found - pixels.begin());
    if (found == pixels.end()) pixels.push_back(at);
    for (std::ptrdiff_t view = -views; view <= views; ++view) pattern_.features.push_back({number, view});
  }

  PixelPattern& pattern_;
  const KnownPixels& good_;
  std::ptrdiff_t column_, row_;
};

}  // namespace

PixelPattern nearest_pixels(std::size_t at, const KnownPixels& known) {
  PixelPattern pattern;
  pattern.at = at;
  const auto column = static_cast<std::ptrdiff_t>(at) % known.columns,
             row = static_cast<std::ptrdiff_t>(at) / known.columns;
  constexpr std::array<PixelOffset, 4> steps{{{-1, 0}, {1, 0}, {0, -1}, {0, 1}}};
  const std::array<std::ptrdiff_t, 4> most{column, known.columns - 1 - column, row, known.rows - 1 - row};
  for (std::size_t side = 0; side < 4; ++side)
    for (std::ptrdiff_t n = 1; n <= most[side]; ++n) {
      const PixelOffset offset{n * steps[side].column, n * steps[side].row};
      if (!known.at(column + offset.column, row + offset.row)) continue;
      pattern.distance[side] = n;
      pattern.nearest[side] = pattern.pixels.size();
      pattern.pixels.push_back(offset);
      break;
    }
  return pattern;
}

void add_features(PixelPattern& pattern, const KnownPixels& good) {
  PatternOf pixel(pattern, good);
  pixel.add_features();
  pixel.add_examples();
}

}  // namespace halocline
