#include "algorithms/preprocessing/odd_values.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

namespace halocline {
namespace {

constexpr double least_ratio = 2, ranges = 2, ranges_of_few = 4, photon_deviations = 6;
constexpr double loose = 0.5;        // of these, for values that are a part of the object in other views
constexpr float loose_ratio = 1.4f;  // least_ratio, loosely
constexpr std::size_t many = 17, most = 26, most_of_a_row = 8, fewest = 7;  // values around a pixel

using Values = std::vector<float>;  // signals in units of the open beam

/// Adds the values around the pixel, and its own if `with_own`. Returns whether some are at the darkest signal.
bool add_around(const ViewOfCounts& view, std::uint32_t pixel, bool with_own, Values& values) {
  const auto column = static_cast<std::ptrdiff_t>(pixel) % view.columns(),
             row = static_cast<std::ptrdiff_t>(pixel) / view.columns();
  bool some_low = false;
  for (std::ptrdiff_t v = std::max<std::ptrdiff_t>(0, row - 1); v <= std::min(view.rows() - 1, row + 1); ++v)
    for (std::ptrdiff_t u = std::max<std::ptrdiff_t>(0, column - 1); u <= std::min(view.columns() - 1, column + 1);
         ++u) {
      const auto next = static_cast<std::uint32_t>(v * view.columns() + u);
      if (next == pixel && !with_own) continue;
      const CountKind kind = view.kind(next);
      some_low = some_low || kind == CountKind::low;
      if (kind == CountKind::measured || kind == CountKind::low) values.push_back(view.of_beam(next));
    }
  return some_low;
}

/// Whether a pixel beside it in the row or column has 1.4 times its value, or less by that: else it is not odd. Most
/// are not.
bool may_be_odd(const ViewOfCounts& view, std::uint32_t pixel) {
  const auto columns = static_cast<std::uint32_t>(view.columns()), rows = static_cast<std::uint32_t>(view.rows()),
             column = pixel % columns, row = pixel / columns;
  const float value = view.of_beam(pixel);
  const auto differs = [&](std::uint32_t next) {
    const float other = view.of_beam(next);
    return other > loose_ratio * value || value > loose_ratio * other;
  };
  return (column > 0 && differs(pixel - 1)) || (column + 1 < columns && differs(pixel + 1)) ||
         (row > 0 && differs(pixel - columns)) || (row + 1 < rows && differs(pixel + columns));
}

struct Oddity {
  CountKind kind;
  double gap;
};

/// A comparison of a value with those around it, sorted.
struct Comparison {
  float value;
  Values around;
  bool some_low;       ///< some are dark: then nothing glares, for single photons do
  double photons;      ///< of a value of 1: a count of whole numbers has one each at least
  std::size_t others;  ///< number of values around, when all views are compared

  /// Whether it lies beyond all but a few, further than they do from each other. strict: 1, or less.
  std::optional<Oddity> odd(double strict) const {
    if (around.size() < 3) return {};
    const std::size_t with_it = std::min<std::size_t>(others < many ? 1 : 3, around.size() - 2);
    const double factor = others < many ? ranges_of_few : ranges;
    const auto beyond = [&](float nearest, float furthest) {
      const double gap = std::abs(std::log(static_cast<double>(nearest) / value)),
                   range = std::abs(std::log(static_cast<double>(furthest) / nearest)),
                   deviations = 2 * std::abs(std::sqrt(nearest * photons) - std::sqrt(value * photons));
      return gap > strict * std::max(std::log(least_ratio), factor * range) && deviations > strict * photon_deviations;
    };
    const float low = around[with_it], high = around[around.size() - 1 - with_it];
    if (value < low && beyond(low, around.back())) return Oddity{CountKind::dim, std::log(double{low} / value)};
    if (!some_low && value > high && beyond(high, around.front()))
      return Oddity{CountKind::glaring, std::log(double{value} / high)};
    return {};
  }
};

CountGroup group_of(const ViewOfCounts& view, std::uint32_t pixel, const Oddity& odd) {
  const auto column = static_cast<std::ptrdiff_t>(pixel) % view.columns(),
             row = static_cast<std::ptrdiff_t>(pixel) / view.columns();
  return {odd.kind, {pixel}, column, column, row, row, odd.gap};
}

}  // namespace

OddValues::OddValues(const ViewOfCounts& view) : view_(view) {
  const auto last = static_cast<std::uint32_t>(view.columns() * view.rows());
  Comparison each;
  each.others = view.rows() > 1 ? most : most_of_a_row;
  for (std::uint32_t n = 0; n < last; ++n) {
    if ((view.kind(n) != CountKind::measured && view.kind(n) != CountKind::low) || !may_be_odd(view, n)) continue;
    each.around.clear();
    each.some_low = add_around(view, n, false, each.around);
    std::sort(each.around.begin(), each.around.end());
    each.value = view.of_beam(n);
    each.photons = view.photons(n);
    if (const auto odd = each.odd(loose)) alike_.push_back(group_of(view, n, *odd));
    if (each.odd(1)) found_.push_back(n);
  }
}

std::vector<CountGroup> OddValues::among(const ViewOfCounts* before, const ViewOfCounts* after) const {
  std::vector<CountGroup> groups;
  for (const std::uint32_t n : found_) {
    Comparison each{view_.of_beam(n), {}, false, view_.photons(n), 0};
    each.some_low = add_around(view_, n, false, each.around);
    for (const ViewOfCounts* beside : {before, after})
      if (beside != nullptr && add_around(*beside, n, true, each.around)) each.some_low = true;
    std::sort(each.around.begin(), each.around.end());
    each.others = each.around.size();
    if (each.others < fewest) continue;
    if (const auto odd = each.odd(1)) groups.push_back(group_of(view_, n, *odd));
  }
  return groups;
}

}  // namespace halocline
