#include "algorithms/preprocessing/rings.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>

namespace halocline {
namespace {

/// Median; of an even number of values the mean of the two in the middle. Sorts partly.
float median(float* begin, std::size_t count) {
  float* middle = begin + count / 2;
  std::nth_element(begin, middle, begin + count);
  return count % 2 == 1 ? *middle : 0.5f * (*middle + *std::max_element(begin, middle));
}

constexpr double axis_alike = 0.8;      // correlation of the means with their mirror images
constexpr double clearly_alike = 0.35;  // of the details
constexpr double least_deviations = 5;  // and of that, of independent ones
constexpr double alike_here = 0.5;      // of those around a pixel
constexpr double slack = 1.25;          // mirror images fall between pixels
constexpr std::ptrdiff_t most_off = 1;  // pixels that they may be off by

/// Correlation of rows with their mirror images, in which column n is column sum - n. Columns nearer to the axis than
/// `apart` do not count.
double likeness(const std::vector<float>& rows, std::ptrdiff_t columns, std::ptrdiff_t sum, double mean,
                std::ptrdiff_t apart) {
  const std::ptrdiff_t first = std::max<std::ptrdiff_t>(0, sum - columns + 1), last = std::min(columns - 1, sum);
  double products = 0, squares = 0;
  for (std::ptrdiff_t row = 0; row < static_cast<std::ptrdiff_t>(rows.size()); row += columns)
    for (std::ptrdiff_t n = first; n <= last; ++n) {
      const double here = rows[static_cast<std::size_t>(row + n)] - mean,
                   there = rows[static_cast<std::size_t>(row + sum - n)] - mean;
      if (std::abs(2 * n - sum) > 2 * apart) products += here * there;
      squares += here * here;
    }
  return squares > 0 ? products / squares : 0;
}

/// Column n is mirrored to column sum - n. Nothing if no axis is clear, or no details are alike. At least half of the
/// columns must have mirror images.
std::optional<std::ptrdiff_t> sum_of_mirrored(const std::vector<float>& details, const std::vector<float>& means,
                                              std::ptrdiff_t columns) {
  double mean = 0, best = axis_alike;
  for (const float each : means) mean += static_cast<double>(each) / static_cast<double>(means.size());
  std::ptrdiff_t axis = -1;
  for (std::ptrdiff_t sum = columns / 2; sum <= 2 * (columns - 1) - columns / 2; ++sum)
    if (const double alike = likeness(means, columns, sum, mean, 0); alike > best) best = alike, axis = sum;
  if (axis < 0) return {};
  const auto pairs = static_cast<double>(details.size()) / 2;
  best = std::max(clearly_alike, least_deviations / std::sqrt(pairs));
  std::optional<std::ptrdiff_t> found;
  for (std::ptrdiff_t sum = axis - most_off; sum <= axis + most_off; ++sum)
    if (const double alike = likeness(details, columns, sum, 0, most_off); alike > best) best = alike, found = sum;
  return found;
}

/// A detector row's details, 0 beyond its ends.
class RowOfDetails {
 public:
  RowOfDetails(const float* details, std::ptrdiff_t columns, std::ptrdiff_t sum)
      : details_(details), columns_(columns), sum_(sum) {}

  /// The best correlation of the details around column n with the mirror image, which may be a pixel off.
  double likeness(std::ptrdiff_t n, std::ptrdiff_t reach) const {
    double best = 0;
    for (std::ptrdiff_t shift = -most_off; shift <= most_off; ++shift) {
      double products = 0, here = 0, there = 0;
      for (std::ptrdiff_t m = n - reach; m <= n + reach; ++m) {
        const double a = at(m), b = at(sum_ - m + shift);
        products += a * b;
        here += a * a;
        there += b * b;
      }
      if (here > 0 && there > 0) best = std::max(best, products / std::sqrt(here * there));
    }
    return best;
  }

  /// Part of column n that exceeds its mirror image.
  double beyond(std::ptrdiff_t n) const {
    const double here = at(n), sign = here < 0 ? -1 : 1;
    double there = 0;
    for (std::ptrdiff_t shift = -most_off; shift <= most_off; ++shift)
      there = std::max(there, sign * at(sum_ - n + shift));
    return sign * std::max(0.0, std::abs(here) - slack * there);
  }

 private:
  double at(std::ptrdiff_t n) const { return n < 0 || n >= columns_ ? 0 : details_[n]; }

  const float* details_;
  std::ptrdiff_t columns_, sum_;
};

}  // namespace

std::vector<float> still_details(const std::vector<float>& values, std::size_t columns, std::size_t views, int width) {
  const std::size_t most = 2 * static_cast<std::size_t>(width) + 1;
  const auto reach_at = [&](std::size_t n) { return std::min({most, n, columns - 1 - n}); };
  std::vector<float> details(values.size());  // columns by views
  std::vector<float> around(2 * most + 1);
  for (std::size_t view = 0; view < views; ++view) {
    const float* row = values.data() + view * columns;
    for (std::size_t n = 0; n < columns; ++n) {
      const std::size_t reach = reach_at(n);
      for (std::size_t d = 1; d <= reach; ++d) around[d - 1] = 0.5f * (row[n - d] + row[n + d]);
      details[n * views + view] = reach == 0 ? 0 : row[n] - median(around.data(), reach);
    }
  }
  std::vector<float> raw(columns), offsets(columns);
  for (std::size_t n = 0; n < columns; ++n) raw[n] = median(details.data() + n * views, views);
  for (std::size_t n = 0; n < columns; ++n) {
    const std::size_t reach = reach_at(n);
    std::copy_n(raw.begin() + static_cast<std::ptrdiff_t>(n - reach), 2 * reach + 1, around.begin());
    offsets[n] = raw[n] - median(around.data(), 2 * reach + 1);
  }
  return offsets;
}

std::vector<float> column_means(const std::vector<float>& values, std::size_t columns, std::size_t views) {
  std::vector<double> sums(columns, 0.0);
  for (std::size_t n = 0; n < values.size(); ++n) sums[n % columns] += values[n];
  for (double& sum : sums) sum /= static_cast<double>(views);
  return {sums.begin(), sums.end()};
}

std::vector<float> ring_offsets(const std::vector<float>& details, const std::vector<float>& means, std::size_t columns,
                                int width) {
  std::vector<float> offsets = details;
  const auto count = static_cast<std::ptrdiff_t>(columns);
  const auto sum = sum_of_mirrored(details, means, count);
  if (!sum) return offsets;
  const std::ptrdiff_t reach = 2 * width + 1;
  for (std::size_t first = 0; first < details.size(); first += columns) {
    const RowOfDetails row(details.data() + first, count, *sum);
    for (std::ptrdiff_t n = 0; n < count; ++n) {
      float& offset = offsets[first + static_cast<std::size_t>(n)];
      if (std::abs(2 * n - *sum) <= 2 * most_off)
        offset = 0;
      else if (*sum - n >= 0 && *sum - n < count && row.likeness(n, reach) >= alike_here)
        offset = static_cast<float>(row.beyond(n));
    }
  }
  return offsets;
}

}  // namespace halocline
