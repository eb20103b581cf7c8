#include "algorithms/bad_pixels.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "host/error.hpp"

namespace halocline {
namespace {

constexpr std::size_t reach = 8;  // pixels on either side that a flat is compared with

void mark_stuck(const SeenPixel* seen, std::size_t columns, char* bad) {
  const auto moves = [&](std::size_t n) { return seen[n].lowest != seen[n].highest; };
  std::size_t first = 0, last = columns;
  while (first < columns && !moves(first)) ++first;
  while (last > first && !moves(last - 1)) --last;
  for (std::size_t n = first; n < last; ++n)
    if (!moves(n)) bad[n] = 1;
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

void mark_bad_pixels(const std::vector<double>& open, const std::vector<SeenPixel>& seen, std::size_t columns,
                     std::size_t views, std::vector<char>& bad) {
  for (std::size_t n = 0; n < seen.size(); ++n)
    if (seen[n].raised == views) bad[n] = 1;
  for (std::size_t row = 0; row < seen.size(); row += columns) {
    if (views > 1) mark_stuck(seen.data() + row, columns, bad.data() + row);
    mark_outliers(open.data() + row, columns, bad.data() + row);
  }
}

void find_good_neighbours(const std::vector<char>& bad, const std::string& name, CountsCalibration& calibration) {
  const std::size_t columns = calibration.size[0];
  for (std::size_t row = 0; row < calibration.size[1]; ++row) {
    const char* marks = bad.data() + row * columns;
    auto* pixels = calibration.pixels.data() + row * columns;
    if (std::find(marks, marks + columns, 0) == marks + columns)
      throw InputError(fmt::format(
          "{}: all {} pixels of detector row {} are bad, so that there is nothing to interpolate them from; leave that "
          "row out of the counts, flats and darks, or give the map of bad pixels yourself (--bad-pixels)",
          name, columns, row));
    const auto steps_to = [&](std::size_t n, std::ptrdiff_t step) -> std::ptrdiff_t {  // 0: there is none
      for (auto m = static_cast<std::ptrdiff_t>(n); m >= 0 && m < static_cast<std::ptrdiff_t>(columns); m += step)
        if (!marks[m]) return m - static_cast<std::ptrdiff_t>(n);
      return 0;
    };
    for (std::size_t n = 0; n < columns; ++n) {
      std::ptrdiff_t left = steps_to(n, -1), right = steps_to(n, 1);
      if (left == 0) left = right;
      if (right == 0) right = left;
      pixels[n].left = static_cast<float>(left);
      pixels[n].right = static_cast<float>(right);
    }
  }
}

}  // namespace halocline
