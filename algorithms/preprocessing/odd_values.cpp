#include "algorithms/preprocessing/odd_values.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

namespace halocline {
namespace {

constexpr float least_ratio = 2;           // of signals
constexpr float share_of_gap = 1.0f / 12;  // of its line integral less that of the nearest
constexpr double ranges = 2, ranges_of_few = 4, photon_deviations = 6;
constexpr std::size_t many = 17, most = 26, most_of_a_row = 8, fewest = 7;  // values around a pixel

using Values = std::vector<float>;  // signals in units of the open beam

/// Adds the values around the pixel, and its own if `with_own`. Returns whether some are at the darkest signal.
bool add_around(const ViewOfCounts& view, std::uint32_t pixel, bool with_own, Values& values) {
  bool some_low = false;
  view.around(pixel, 1, [&](std::uint32_t next) {
    if (next == pixel && !with_own) return;
    const CountKind kind = view.kind(next);
    some_low = some_low || kind == CountKind::low;
    if (kind == CountKind::measured || kind == CountKind::low) values.push_back(view.of_beam(next));
  });
  return some_low;
}

/// True if a pixel beside it in the row or column has twice its value or half: else it is not odd. Most are not.
bool may_be_odd(const ViewOfCounts& view, std::uint32_t pixel) {
  const auto columns = static_cast<std::uint32_t>(view.columns()), rows = static_cast<std::uint32_t>(view.rows()),
             column = pixel % columns, row = pixel / columns;
  const float value = view.of_beam(pixel);
  const auto differs = [&](std::uint32_t next) {
    const float other = view.of_beam(next);
    return other > least_ratio * value || value > least_ratio * other;
  };
  return (column > 0 && differs(pixel - 1)) || (column + 1 < columns && differs(pixel + 1)) ||
         (row > 0 && differs(pixel - columns)) || (row + 1 < rows && differs(pixel + columns));
}

/// Kind of an odd value: dark among brighter ones or not. limit: the value that a part of the object beside it has,
/// too: several parts may hide each other in one view.
struct Oddity {
  bool dark;
  float limit;
};

/// A comparison of a value with those around it, sorted.
struct Comparison {
  float value;
  Values around;
  bool some_low;       ///< some are dark: then nothing glares, for single photons do
  double photons;      ///< of a value of 1: a count of whole numbers has one each at least
  std::size_t others;  ///< number of values around, when all views are compared

  /// The oddity, if the value is beyond all but a few, further than they are from each other.
  std::optional<Oddity> odd() const {
    if (around.size() < 3) return {};
    constexpr std::size_t with_it = 1;
    const double factor = others < many ? ranges_of_few : ranges;
    const auto beyond = [&](float nearest, float furthest) {
      const double gap = std::abs(std::log(static_cast<double>(nearest) / value)),
                   range = std::abs(std::log(static_cast<double>(furthest) / nearest)),
                   deviations = 2 * std::abs(std::sqrt(nearest * photons) - std::sqrt(value * photons));
      return gap > std::max(std::log(double{least_ratio}), factor * range) && deviations > photon_deviations;
    };
    const float low = around[with_it], high = around[around.size() - 1 - with_it];
    if (value < low && beyond(low, around.back())) return Oddity{true, low * std::pow(value / low, share_of_gap)};
    if (!some_low && value > high && beyond(high, around.front()))
      return Oddity{false, high * std::pow(value / high, share_of_gap)};
    return {};
  }
};

/// True if a pixel of the view at most `reach` columns and a row away is as far beyond `limit`: a part of the object
/// that moves.
bool continues_in(const ViewOfCounts& view, std::uint32_t pixel, const Oddity& odd, std::ptrdiff_t reach) {
  bool found = false;
  view.around(pixel, reach, [&](std::uint32_t other) {
    const float value = view.of_beam(other);
    found = found || (view.kind(other) != CountKind::bad && (odd.dark ? value < odd.limit : value > odd.limit));
  });
  return found;
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
    if (each.around.size() < 3 || each.odd()) found_.push_back(n);
  }
}

std::vector<std::uint32_t> OddValues::among(const std::vector<ViewBeside>& beside, std::ptrdiff_t reach) const {
  std::vector<std::uint32_t> pixels;
  for (const std::uint32_t n : found_) {
    Comparison each{view_.of_beam(n), {}, false, view_.photons(n), 0};
    each.some_low = add_around(view_, n, false, each.around);
    for (const ViewBeside& other : beside)
      if (other.distance == 1 && add_around(other.view, n, true, each.around)) each.some_low = true;
    std::sort(each.around.begin(), each.around.end());
    each.others = each.around.size();
    const auto odd = each.others < fewest ? std::nullopt : each.odd();
    if (odd && std::none_of(beside.begin(), beside.end(), [&](const ViewBeside& other) {
          return continues_in(other.view, n, *odd, other.distance * reach);
        }))
      pixels.push_back(n);
  }
  return pixels;
}

}  // namespace halocline
