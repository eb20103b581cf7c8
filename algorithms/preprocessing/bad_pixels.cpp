#include "algorithms/preprocessing/bad_pixels.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace halocline {
namespace {

constexpr std::size_t neighbour_reach = 8;               // pixels on either side that a flat is compared with
constexpr std::size_t most_wild = 5, fewest_views = 20;  // in 100 views; in which wild counts can be known

// A pixel at the end of a row that does not move may be good where there is no noise: it sees the beam beside the
// object, or the rim of a round object that turns about its own axis and hides what moves. From there on inward all is
// dimmer than the beam, and nothing that moves is brighter. With noise a good pixel does not stand still, and those
// that see the beam in some view rise above it. So the still ones at an end are let be if one of them is as bright as
// nearly all that moves ever is: nearly, since single counts may be wild. One that is far brighter than its flat sees
// no beam. Those that are bad for another reason (`dead`) neither end the still ones nor say how bright the beam is.
void mark_stuck(const std::vector<double>& open, const std::vector<double>& dark, const std::vector<SeenPixel>& seen,
                std::size_t columns, std::size_t views, bool with_flats, double step, const std::vector<char>& dead,
                std::vector<char>& bad) {
  const auto moves = [&](std::size_t n) {  // a few counts below the floor may be wild ones
    return seen[n].lowest != seen[n].highest || 10 * seen[n].raised >= views;
  };
  const auto often_moves = [&](std::size_t n) {  // not by a few wild counts alone
    return moves(n) && (views < fewest_views || views - std::min(views, seen[n].lead) > 2 * most_wild * views / 100);
  };
  const auto brightest = [&](std::size_t n) { return (seen[n].highest - dark[n]) / open[n]; };
  std::vector<double> moving;
  for (std::size_t n = 0; n < seen.size(); ++n)
    if (!dead[n] && moves(n)) moving.push_back(brightest(n));
  if (moving.empty()) return;
  const auto ninth = moving.begin() + static_cast<std::ptrdiff_t>(moving.size() - 1 - moving.size() / 10);
  std::nth_element(moving.begin(), ninth, moving.end());
  const double bright = *ninth, hot = with_flats ? 2 * std::max(1.0, bright) : INFINITY;
  const auto mark_end = [&](std::size_t begin, std::size_t end) {
    bool sees_beam = false;
    for (std::size_t n = begin; n < end; ++n)  // both counts, and their flats, are rounded
      if (!dead[n] && brightest(n) <= hot) sees_beam = sees_beam || brightest(n) + 2 * step / open[n] >= bright;
    for (std::size_t n = begin; n < end; ++n)
      if (!bad[n] && (!sees_beam || brightest(n) > hot)) bad[n] = 1;
  };
  for (std::size_t row = 0; row < seen.size(); row += columns) {
    std::size_t first = row, last = row + columns;
    while (first < last && (dead[first] || !often_moves(first))) ++first;
    while (last > first && (dead[last - 1] || !often_moves(last - 1))) --last;
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
    for (std::size_t m = n - std::min(n, neighbour_reach); m < std::min(columns, n + neighbour_reach + 1); ++m)
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
                     double step, std::vector<char>& bad) {
  for (std::size_t n = 0; n < seen.size(); ++n)
    if (seen[n].raised == views) bad[n] = 1;
  const auto mark_odd_flats = [&](std::vector<char>& marks) {
    for (std::size_t row = 0; row < seen.size(); row += columns)
      mark_outliers(open.data() + row, columns, marks.data() + row);
  };
  if (views > 1) {
    std::vector<char> dead = bad;
    mark_odd_flats(dead);
    mark_stuck(open, dark, seen, columns, views, with_flats, step, dead, bad);
  }
  mark_odd_flats(bad);
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

std::vector<std::size_t> rows_of_bad_pixels(const std::vector<char>& bad, std::size_t columns) {
  std::vector<std::size_t> rows;
  for (std::size_t row = 0; row * columns < bad.size(); ++row) {
    const char* marks = bad.data() + row * columns;
    if (std::find(marks, marks + columns, 0) == marks + columns) rows.push_back(row);
  }
  return rows;
}

std::array<std::size_t, 2> thickest_group(const std::vector<char>& bad, std::size_t columns) {
  std::vector<std::size_t> wide(bad.size(), 0), high(bad.size(), 0);  // how many on end
  const std::size_t rows = bad.size() / columns;
  const auto measure = [&](std::size_t first, std::size_t step, std::size_t count, std::vector<std::size_t>& lengths) {
    for (std::size_t n = 0; n < count;) {
      std::size_t end = n;
      while (end < count && bad[first + end * step] != 0) ++end;
      for (std::size_t m = n; m < end; ++m) lengths[first + m * step] = end - n;
      n = end + 1;
    }
  };
  for (std::size_t row = 0; row < rows; ++row) measure(row * columns, 1, columns, wide);
  for (std::size_t column = 0; column < columns; ++column) measure(column, columns, rows, high);
  std::array<std::size_t, 2> thickest{0, 0};
  const auto thickness = [](std::size_t a, std::size_t b) { return std::pair{std::min(a, b), std::max(a, b)}; };
  for (std::size_t n = 0; n < bad.size(); ++n)
    if (thickness(wide[n], high[n]) > thickness(thickest[0], thickest[1])) thickest = {wide[n], high[n]};
  return thickest;
}

}  // namespace halocline
