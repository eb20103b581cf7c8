#include "algorithms/preprocessing/bad_pixels.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "host/error.hpp"

namespace halocline {
namespace {

constexpr std::size_t reach = 8;                    // pixels on either side that a flat is compared with
constexpr std::ptrdiff_t farthest = (1 << 24) - 1;  // up to here a float holds all whole numbers

// A pixel at the end of a row that does not move may be good where there is no noise: it sees the beam beside the
// object, or the rim of a round object that turns about its own axis and hides what moves. From there on inward all is
// dimmer than the beam, and nothing that moves is brighter. With noise a good pixel does not stand still, and those
// that see the beam in some view rise above it. So the still ones at an end are let be if one of them is as bright as
// nearly all that moves ever is: nearly, since single counts may be wild. One that is far brighter than its flat sees
// no beam.
void mark_stuck(const std::vector<double>& open, const std::vector<double>& dark, const std::vector<SeenPixel>& seen,
                std::size_t columns, bool with_flats, std::vector<char>& bad) {
  const auto moves = [&](std::size_t n) { return seen[n].lowest != seen[n].highest; };
  const auto brightest = [&](std::size_t n) { return (seen[n].highest - dark[n]) / open[n]; };
  std::vector<double> moving;
  for (std::size_t n = 0; n < seen.size(); ++n)
    if (!bad[n] && moves(n)) moving.push_back(brightest(n));
  if (moving.empty()) return;
  const auto ninth = moving.begin() + static_cast<std::ptrdiff_t>(moving.size() - 1 - moving.size() / 10);
  std::nth_element(moving.begin(), ninth, moving.end());
  const double bright = *ninth, hot = with_flats ? 2 * std::max(1.0, bright) : INFINITY;
  const auto mark_end = [&](std::size_t begin, std::size_t end) {
    bool sees_beam = false;
    for (std::size_t n = begin; n < end; ++n)  // both counts, and their flats, may be rounded to whole ones
      if (!bad[n] && brightest(n) <= hot) sees_beam = sees_beam || brightest(n) + 2 / open[n] >= bright;
    for (std::size_t n = begin; n < end; ++n)
      if (!bad[n] && (!sees_beam || brightest(n) > hot)) bad[n] = 1;
  };
  for (std::size_t row = 0; row < seen.size(); row += columns) {
    std::size_t first = row, last = row + columns;
    while (first < last && !moves(first)) ++first;
    while (last > first && !moves(last - 1)) --last;
    mark_end(row, first);
    mark_end(last, row + columns);
    for (std::size_t n = first; n < last; ++n)
      if (!moves(n)) bad[n] = 1;
  }
}

void mark_outliers(const double* open, std::size_t columns, char* bad) {
  std::vector<std::size_t> found;
  std::vector<double> around;
  for (std::size_t n = 0; n < columns; ++n) {
    if (bad[n]) continue;
    around.clear();
    for (std::size_t m = n - std::min(n, reach); m < std::min(columns, n + reach + 1); ++m)
      if (!bad[m]) around.push_back(open[m]);
    const auto middle = around.begin() + static_cast<std::ptrdiff_t>(around.size() / 2);
    std::nth_element(around.begin(), middle, around.end());
    if (open[n] < 0.5 * *middle || open[n] > 2 * *middle) found.push_back(n);
  }
  for (const std::size_t n : found) bad[n] = 1;
}

}  // namespace

void mark_bad_pixels(const std::vector<double>& open, const std::vector<double>& dark,
                     const std::vector<SeenPixel>& seen, std::size_t columns, std::size_t views, bool with_flats,
                     std::vector<char>& bad) {
  for (std::size_t n = 0; n < seen.size(); ++n)
    if (seen[n].raised == views) bad[n] = 1;
  if (views > 1) mark_stuck(open, dark, seen, columns, with_flats, bad);
  for (std::size_t row = 0; row < seen.size(); row += columns)
    mark_outliers(open.data() + row, columns, bad.data() + row);
}

std::vector<std::size_t> failing_pixels(const std::vector<SeenPixel>& seen, const std::vector<char>& bad,
                                        std::size_t columns, std::size_t views) {
  constexpr std::size_t away = 2;
  std::vector<std::size_t> found;
  for (std::size_t n = 0; n < seen.size(); ++n) {
    if (bad[n] || 10 * seen[n].raised < views || seen[n].raised == 0) continue;
    const auto rarer = [&](std::size_t other) { return bad[other] || 4 * seen[other].raised < seen[n].raised; };
    const std::size_t column = n % columns;
    if ((column < away || rarer(n - away)) && (column + away >= columns || rarer(n + away))) found.push_back(n);
  }
  return found;
}

void find_good_neighbours(const std::vector<char>& bad, const std::string& name, CountsCalibration& calibration) {
  const auto columns = static_cast<std::ptrdiff_t>(calibration.size[0]);
  const auto rows = static_cast<std::ptrdiff_t>(calibration.size[1]);
  auto& lost = calibration.bad_rows;
  lost.clear();
  for (std::ptrdiff_t row = 0; row < rows; ++row) {
    const char* marks = bad.data() + row * columns;
    auto* pixels = calibration.pixels.data() + row * columns;
    if (std::find(marks, marks + columns, 0) == marks + columns) {
      lost.push_back(static_cast<std::size_t>(row));
      continue;
    }
    const auto steps_to = [&](std::ptrdiff_t n, std::ptrdiff_t step) -> std::ptrdiff_t {  // 0: there is none
      for (auto m = n; m >= 0 && m < columns; m += step)
        if (!marks[m]) return m - n;
      return 0;
    };
    for (std::ptrdiff_t n = 0; n < columns; ++n) {
      std::ptrdiff_t left = steps_to(n, -1), right = steps_to(n, 1);
      if (left == 0) left = right;
      if (right == 0) right = left;
      pixels[n].left = static_cast<float>(left);
      pixels[n].right = static_cast<float>(right);
    }
  }
  const auto is_lost = [&](std::ptrdiff_t row) {
    return std::binary_search(lost.begin(), lost.end(), static_cast<std::size_t>(row));
  };
  for (const std::size_t each : lost) {
    const auto row = static_cast<std::ptrdiff_t>(each);
    const auto rows_to = [&](std::ptrdiff_t step) -> std::ptrdiff_t {  // 0: there is none that a float counts to
      for (auto m = row; m >= 0 && m < rows && std::abs(m - row) < farthest / columns; m += step)
        if (!is_lost(m)) return m - row;
      return 0;
    };
    std::ptrdiff_t before = rows_to(-1), after = rows_to(1);
    if (before == 0 && after == 0)
      throw InputError(
          fmt::format("{}: all pixels of the detector are bad, or all of row {} and thousands beside it, so that there "
                      "is nothing to interpolate them from; give the map of bad pixels yourself (`bad_pixels`)",
                      name, row));
    if (before == 0) before = after;
    if (after == 0) after = before;
    auto* pixels = calibration.pixels.data() + row * columns;
    for (std::ptrdiff_t n = 0; n < columns; ++n) {
      // where those are bad themselves, good ones beside them: one on the left and one on the right
      pixels[n].left = static_cast<float>(before * columns) + pixels[before * columns + n].left;
      pixels[n].right =
          before == after ? pixels[n].left : static_cast<float>(after * columns) + pixels[after * columns + n].right;
    }
  }
}

}  // namespace halocline
