#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "algorithms/preprocessing/ridge_regression.hpp"
#include "algorithms/preprocessing/unmeasured.hpp"
#include "algorithms/support/parallel_slices.hpp"

namespace halocline {
namespace {

constexpr std::size_t fewest_views_around = 16;  // in which something can be learned
constexpr std::size_t views_to_learn = 64;       // in which examples are looked for
constexpr std::size_t examples_a_view = 400;     // of these, most
constexpr std::ptrdiff_t views_beside_a_value = 2;
constexpr double not_there = std::numeric_limits<double>::quiet_NaN();

/// A few views of the stack around one, NaN where they were not measured.
class ViewsAround {
 public:
  ViewsAround(const VolumeSource& stack, const Unmeasured& unmeasured, const RayValues& values, std::size_t view,
              std::ptrdiff_t around)
      : values_(values),
        columns_(static_cast<std::ptrdiff_t>(stack.grid().size[0])),
        rows_(static_cast<std::ptrdiff_t>(stack.grid().size[1])),
        first_(static_cast<std::ptrdiff_t>(view) - around) {
    const std::size_t slice = stack.grid().slice();
    const auto views = static_cast<std::ptrdiff_t>(stack.grid().size[2]);
    for (std::ptrdiff_t n = first_; n <= first_ + 2 * around; ++n) {
      auto& kept = views_.emplace_back();
      if (n < 0 || n >= views) continue;
      kept.resize(slice);
      stack.read(static_cast<std::size_t>(n) * slice, slice, kept.data());
      for (std::size_t pixel = 0; pixel < slice; ++pixel)
        if (unmeasured.bad[pixel] != 0) kept[pixel] = std::numeric_limits<float>::quiet_NaN();
      for (const std::uint32_t pixel : unmeasured.failing[static_cast<std::size_t>(n)])
        kept[pixel] = std::numeric_limits<float>::quiet_NaN();
    }
  }

  /// Value at a place; NaN where it was not measured, or is outside.
  double at(std::ptrdiff_t column, std::ptrdiff_t row, std::ptrdiff_t view) const {
    if (column < 0 || row < 0 || column >= columns_ || row >= rows_) return not_there;
    const std::ptrdiff_t n = view - first_;
    if (n < 0 || n >= static_cast<std::ptrdiff_t>(views_.size())) return not_there;
    const auto& kept = views_[static_cast<std::size_t>(n)];
    const auto pixel = static_cast<std::size_t>(row * columns_ + column);
    if (kept.empty() || std::isnan(kept[pixel])) return not_there;
    return values_.integral(pixel, static_cast<std::size_t>(view), kept[pixel]);
  }
  std::ptrdiff_t columns() const { return columns_; }
  std::ptrdiff_t rows() const { return rows_; }

 private:
  const RayValues& values_;
  std::ptrdiff_t columns_, rows_, first_;
  std::vector<std::vector<float>> views_;  // empty: beyond the scan
};

struct PlaceOfValue {
  std::ptrdiff_t column, row, view;
};

double value_at(const ViewsAround& views, const PlaceOfValue& from, const std::array<int, 3>& step, std::ptrdiff_t n) {
  return views.at(from.column + n * step[0], from.row + n * step[1], from.view + n * step[2]);
}

/// Interpolates between the nearest measured values in the row, in the column and, if `across`, in the views beside it.
double line_at(const ViewsAround& views, const PlaceOfValue& place, bool across) {
  std::vector<NeighbourPair> pairs;
  const auto add = [&](const std::array<int, 3>& step, std::ptrdiff_t most) {
    NeighbourPair pair{not_there, not_there, 0, 0};
    for (std::ptrdiff_t n = 1; n <= most && std::isnan(pair.low); ++n)
      pair.low = value_at(views, place, step, -n), pair.to_low = static_cast<double>(n);
    for (std::ptrdiff_t n = 1; n <= most && std::isnan(pair.high); ++n)
      pair.high = value_at(views, place, step, n), pair.to_high = static_cast<double>(n);
    pairs.push_back(pair);
  };
  add({1, 0, 0}, views.columns());
  add({0, 1, 0}, views.rows());
  if (across) add({0, 0, 1}, views_beside_a_value);
  return between(pairs);
}

/// The 26 next line integrals less `line`, without rows where there is one. Returns whether all were measured.
bool take_next(const ViewsAround& views, const PlaceOfValue& place, double line, std::vector<double>& features) {
  features.clear();
  const int rows = views.rows() > 1 ? 1 : 0;
  for (int view = -1; view <= 1; ++view)
    for (int row = -rows; row <= rows; ++row)
      for (int column = -1; column <= 1; ++column) {
        if (view == 0 && row == 0 && column == 0) continue;
        const double value = views.at(place.column + column, place.row + row, place.view + view);
        if (!std::isfinite(value)) return false;
        features.push_back(value - line);
      }
  return true;
}

std::vector<double> weights_of_next(const VolumeSource& stack, const Unmeasured& unmeasured, const RayValues& values) {
  const auto [columns, rows, all] = stack.grid().size;
  const std::size_t features = rows > 1 ? 26 : 8, count = std::min(all, views_to_learn);
  std::vector<RidgeRegression> of_views(count, RidgeRegression(features));
  parallel_slices(count, [&, columns, rows, all](std::size_t n) {
    const std::size_t view = n * all / count, pixels = columns * rows;
    const ViewsAround around(stack, unmeasured, values, view, views_beside_a_value);
    std::vector<double> next;
    const std::size_t stride = std::max<std::size_t>(1, pixels / examples_a_view);
    for (std::size_t at = n % stride; at < pixels; at += stride) {
      const PlaceOfValue place{static_cast<std::ptrdiff_t>(at % columns), static_cast<std::ptrdiff_t>(at / columns),
                               static_cast<std::ptrdiff_t>(view)};
      const double truth = around.at(place.column, place.row, place.view);
      if (!std::isfinite(truth)) continue;
      const double line = line_at(around, place, true);
      if (take_next(around, place, line, next)) of_views[n].add(next, truth - line);
    }
  });
  RidgeRegression sum(features);
  for (const auto& each : of_views) sum.add(each);
  return sum.weights();
}

double value_in_place(const ViewsAround& views, const PlaceOfValue& place, const std::vector<double>& weights,
                      bool across) {
  const double line = line_at(views, place, across);
  std::vector<double> next;
  if (weights.empty() || !take_next(views, place, line, next)) return line;
  double more = 0, most = 0;
  for (std::size_t n = 0; n < next.size(); ++n) more += weights[n] * next[n], most = std::max(most, std::abs(next[n]));
  return line + std::clamp(more, -most, most);
}

}  // namespace

void fill_failing(const VolumeSource& stack, const Unmeasured& unmeasured, const RayValues& values, bool within_views,
                  ReplacedValues& replaced) {
  const std::size_t columns = stack.grid().size[0], all = stack.grid().size[2];
  const auto& failing = unmeasured.failing;
  if (std::all_of(failing.begin(), failing.end(), [](const auto& view) { return view.empty(); })) return;
  const bool learns = !within_views && all >= fewest_views_around;
  const std::vector<double> weights = learns ? weights_of_next(stack, unmeasured, values) : std::vector<double>();
  parallel_slices(all, [&](std::size_t view) {
    if (failing[view].empty()) return;
    const ViewsAround around(stack, unmeasured, values, view, within_views ? 0 : views_beside_a_value);
    auto& kept = replaced.views[view];
    const auto before = static_cast<std::ptrdiff_t>(kept.size());
    for (const std::uint32_t pixel : failing[view]) {
      const PlaceOfValue place{static_cast<std::ptrdiff_t>(pixel % columns),
                               static_cast<std::ptrdiff_t>(pixel / columns), static_cast<std::ptrdiff_t>(view)};
      const double value = value_in_place(around, place, weights, !within_views);
      kept.push_back({pixel, values.stored(pixel, view, std::isfinite(value) ? value : 0)});
    }
    std::inplace_merge(kept.begin(), kept.begin() + before, kept.end(),
                       [](const auto& a, const auto& b) { return a.pixel < b.pixel; });
  });
}

}  // namespace halocline
