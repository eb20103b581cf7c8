#include "algorithms/preprocessing/failing_values.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "algorithms/preprocessing/flat_fields.hpp"
#include "algorithms/support/parallel_slices.hpp"

namespace halocline {
namespace {

constexpr std::size_t most_pixels = 64;  // of a group
constexpr double clear_light = 20;       // floors
constexpr double far_below = 10;         // floors, below the dark field
constexpr double above_beam = 1.05;      // of saturated ones
constexpr double brighter = 2;           // than the beam, and than what lies around it
constexpr std::ptrdiff_t views_of_object = 5, most_views_beside = 12, most_columns_a_view = 2, most_dropped = 4;

enum class CountKind : char { measured, bad, low, bright, lost };

struct CountGroup {
  CountKind kind;
  std::vector<std::uint32_t> pixels;
  std::ptrdiff_t left, right, top, bottom;
};

/// One view: what its pixels are, and the groups of those that are too dark or too bright.
class ViewOfCounts {
 public:
  ViewOfCounts(const VolumeSource& counts, const CountsCalibration& calibration, const std::vector<char>& bad,
               float saturation, std::size_t view)
      : calibration_(calibration),
        columns_(static_cast<std::ptrdiff_t>(calibration.size[0])),
        rows_(static_cast<std::ptrdiff_t>(calibration.size[1])),
        signal_(calibration.size[0] * calibration.size[1]),
        kinds_(signal_.size()),
        beam_(calibration.beams[view]) {
    counts.read(view * signal_.size(), signal_.size(), signal_.data());
    for (std::size_t n = 0; n < signal_.size(); ++n) {
      kinds_[n] = kind_of(n, bad[n] != 0, signal_[n] >= saturation);
      signal_[n] -= calibration.pixels[n].dark;
    }
  }

  /// Of those that are sure; the others in groups.
  std::vector<std::uint32_t> lost() const {
    std::vector<std::uint32_t> found;
    for (std::size_t n = 0; n < kinds_.size(); ++n)
      if (kinds_[n] == CountKind::lost) found.push_back(static_cast<std::uint32_t>(n));
    return found;
  }

  /// Those that fail by this view alone.
  std::vector<CountGroup> groups() const {
    std::vector<CountGroup> found;
    std::vector<char> seen(kinds_.size(), 0);
    for (std::size_t n = 0; n < kinds_.size(); ++n) {
      if (seen[n] != 0 || (kinds_[n] != CountKind::low && kinds_[n] != CountKind::bright)) continue;
      CountGroup group = group_from(static_cast<std::uint32_t>(n), seen);
      if (fails(group)) found.push_back(std::move(group));
    }
    return found;
  }

  /// Rows or columns that were dropped, with what fails beside them.
  bool crosses(const CountGroup& group) const {
    const std::ptrdiff_t wide = group.right - group.left + 1, high = group.bottom - group.top + 1;
    const auto pixels = static_cast<std::ptrdiff_t>(group.pixels.size());
    return (wide == columns_ && high <= most_dropped && rows_ > most_dropped && pixels <= 2 * columns_) ||
           (high == rows_ && wide <= most_dropped && rows_ > most_dropped && columns_ > most_dropped &&
            pixels <= 2 * rows_);
  }

 private:
  CountKind kind_of(std::size_t n, bool bad, bool saturated) const {
    if (bad) return CountKind::bad;
    if (!std::isfinite(signal_[n])) return CountKind::lost;
    const auto& [dark, open] = calibration_.pixels[n];
    const double floor = calibration_.floor, signal = static_cast<double>(signal_[n]) - dark;
    if (dark > 2 * far_below * floor && signal_[n] < dark / 2 && signal < -far_below * floor) return CountKind::lost;
    if (signal < floor) return CountKind::low;
    const double of_beam = signal / (open * beam_);
    return of_beam > brighter || (saturated && of_beam > above_beam) ? CountKind::bright : CountKind::measured;
  }

  template <class Visit>
  void around(std::uint32_t pixel, const Visit& visit) const {
    const auto column = static_cast<std::ptrdiff_t>(pixel) % columns_,
               row = static_cast<std::ptrdiff_t>(pixel) / columns_;
    for (std::ptrdiff_t v = std::max<std::ptrdiff_t>(0, row - 1); v <= std::min(rows_ - 1, row + 1); ++v)
      for (std::ptrdiff_t u = std::max<std::ptrdiff_t>(0, column - 1); u <= std::min(columns_ - 1, column + 1); ++u)
        visit(static_cast<std::uint32_t>(v * columns_ + u));
  }

  CountGroup group_from(std::uint32_t first, std::vector<char>& seen) const {
    CountGroup group{kinds_[first], {first}, columns_, -1, rows_, -1};
    seen[first] = 1;
    for (std::size_t n = 0; n < group.pixels.size(); ++n) {
      const std::uint32_t pixel = group.pixels[n];
      const auto column = static_cast<std::ptrdiff_t>(pixel) % columns_,
                 row = static_cast<std::ptrdiff_t>(pixel) / columns_;
      group.left = std::min(group.left, column), group.right = std::max(group.right, column);
      group.top = std::min(group.top, row), group.bottom = std::max(group.bottom, row);
      around(pixel, [&](std::uint32_t next) {
        if (seen[next] != 0 || kinds_[next] != group.kind) return;
        seen[next] = 1;
        group.pixels.push_back(next);
      });
    }
    return group;
  }

  double of_beam(std::uint32_t pixel) const {
    return static_cast<double>(signal_[pixel]) / (calibration_.pixels[pixel].open * beam_);
  }

  bool fails(const CountGroup& group) const {
    if (group.pixels.size() > most_pixels && !crosses(group)) return false;
    std::vector<double> signals, shares;
    for (const std::uint32_t pixel : group.pixels)
      around(pixel, [&](std::uint32_t next) {
        if (kinds_[next] != CountKind::measured) return;
        signals.push_back(signal_[next]);
        shares.push_back(of_beam(next));
      });
    if (signals.empty()) return false;
    if (group.kind == CountKind::low) return median_of(signals) >= clear_light * calibration_.floor;
    double least = INFINITY;
    for (const std::uint32_t pixel : group.pixels) least = std::min(least, of_beam(pixel));
    return brighter * *std::max_element(shares.begin(), shares.end()) < least;
  }

  const CountsCalibration& calibration_;
  std::ptrdiff_t columns_, rows_;
  std::vector<float> signal_;
  std::vector<CountKind> kinds_;
  double beam_;
};

struct CountGroups {
  std::vector<std::uint32_t> lost;
  std::vector<CountGroup> groups;
  std::vector<char> crosses;
};

/// A group like this one beside it in another view; nullptr: there is none.
const CountGroup* next_of(const CountGroup& group, const std::vector<CountGroup>& others) {
  for (const CountGroup& other : others) {
    const std::ptrdiff_t u = other.left + other.right - group.left - group.right,
                         v = other.top + other.bottom - group.top - group.bottom;
    if (other.kind == group.kind && std::abs(u) <= 2 * most_columns_a_view && std::abs(v) <= 1) return &other;
  }
  return nullptr;
}

/// Whether it is a part of the object that is too dense to see through: it goes on from view to view, and moves.
bool is_object(const std::vector<CountGroups>& all, std::size_t view, const CountGroup& group) {
  bool moves = false;
  std::ptrdiff_t views = 1;
  for (const std::ptrdiff_t step : {-1, 1}) {
    const CountGroup* now = &group;
    for (std::ptrdiff_t n = 1; n <= most_views_beside; ++n) {
      const std::ptrdiff_t other = static_cast<std::ptrdiff_t>(view) + n * step;
      if (other < 0 || other >= static_cast<std::ptrdiff_t>(all.size())) break;
      const CountGroup* next = next_of(*now, all[static_cast<std::size_t>(other)].groups);
      if (next == nullptr) break;
      moves = moves || next->pixels != now->pixels;
      now = next;
      ++views;
    }
  }
  return moves && views >= views_of_object;
}

}  // namespace

FailingValues find_failing(const VolumeSource& counts, const CountsCalibration& calibration,
                           const std::vector<char>& bad, float saturation, bool within_views) {
  const std::size_t views = counts.grid().size[2], slice = bad.size();
  std::vector<CountGroups> all(views);
  parallel_slices(views, [&](std::size_t view) {
    const ViewOfCounts each(counts, calibration, bad, saturation, view);
    all[view] = {each.lost(), each.groups(), {}};
    for (const CountGroup& group : all[view].groups) all[view].crosses.push_back(each.crosses(group) ? 1 : 0);
  });
  FailingValues found{std::vector<std::vector<std::uint32_t>>(views)};
  std::vector<float> values(slice);
  for (std::size_t view = 0; view < views; ++view) {
    auto& pixels = found.views[view];
    pixels = all[view].lost;
    found.low += pixels.size();
    for (std::size_t n = 0; n < all[view].groups.size(); ++n) {
      const CountGroup& group = all[view].groups[n];
      if (!within_views && all[view].crosses[n] == 0 && is_object(all, view, group)) continue;
      pixels.insert(pixels.end(), group.pixels.begin(), group.pixels.end());
      if (group.kind == CountKind::low) found.low += group.pixels.size();
    }
    std::sort(pixels.begin(), pixels.end());
    if (pixels.empty() || !std::isfinite(saturation)) continue;
    counts.read(view * slice, slice, values.data());
    for (const std::uint32_t pixel : pixels) found.saturated += values[pixel] >= saturation ? 1 : 0;
  }
  return found;
}

void leave_out_replaced(std::vector<std::size_t>& pixels, const FailingValues& failing) {
  std::set<std::size_t> replaced;
  for (const auto& view : failing.views) replaced.insert(view.begin(), view.end());
  std::erase_if(pixels, [&](std::size_t pixel) { return replaced.contains(pixel); });
}

}  // namespace halocline
