#include "algorithms/alignment/truncation.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "algorithms/geometry/opposite_views.hpp"

namespace halocline {
namespace {

constexpr std::size_t most_truncation_views = 90;
constexpr double of_view = 0.1, of_all = 0.02;

std::vector<double> columns_of(const Volume& projections, std::size_t view) {
  const auto [columns, rows, views] = projections.grid.size;
  std::vector<double> out(columns, 0.0);
  for (std::size_t row = 0; row < rows; ++row)
    for (std::size_t n = 0; n < columns; ++n) out[n] += projections.at(n, row, view) / static_cast<double>(rows);
  return out;
}

// One standard deviation of white noise, from second differences.
double noise_of(const std::vector<double>& columns) {
  if (columns.size() < 3) return 0;
  std::vector<double> bends;
  for (std::size_t n = 1; n + 1 < columns.size(); ++n)
    bends.push_back(std::abs(columns[n - 1] - 2 * columns[n] + columns[n + 1]));
  const auto middle = bends.begin() + static_cast<std::ptrdiff_t>(bends.size() / 2);
  std::nth_element(bends.begin(), middle, bends.end());
  return *middle / (0.6745 * std::sqrt(6.0));
}

}  // namespace

double truncated_views(const Volume& projections, const Redundancy& redundancy) {
  struct Seen {
    double edge, greatest;  // edge: less three standard deviations of its noise
  };
  const auto width = static_cast<std::ptrdiff_t>(std::max<std::size_t>(1, projections.grid.size[0] / 100));
  std::vector<Seen> seen;
  double greatest = 0;
  for (const std::size_t view : spread(projections.grid.size[2], most_truncation_views)) {
    const auto columns = columns_of(projections, view);
    const double first = std::accumulate(columns.begin(), columns.begin() + width, 0.0),
                 last = std::accumulate(columns.end() - width, columns.end(), 0.0);
    const double edge = std::max(redundancy.columns_before > 0 ? 0 : first, redundancy.columns_after > 0 ? 0 : last);
    const double noise = noise_of(columns) / std::sqrt(static_cast<double>(width));
    seen.push_back({edge / static_cast<double>(width) - 3 * noise, *std::max_element(columns.begin(), columns.end())});
    greatest = std::max(greatest, seen.back().greatest);
  }
  const auto truncated = std::count_if(seen.begin(), seen.end(), [greatest](const Seen& each) {
    return each.edge > of_view * each.greatest && each.edge > of_all * greatest;
  });
  return seen.empty() ? 0 : static_cast<double>(truncated) / static_cast<double>(seen.size());
}

}  // namespace halocline
