#include "algorithms/preprocessing/failing_values.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>
#include <set>
#include <utility>

#include "algorithms/preprocessing/lost_parts.hpp"
#include "algorithms/preprocessing/odd_values.hpp"
#include "algorithms/preprocessing/view_of_counts.hpp"
#include "algorithms/support/parallel_slices.hpp"

namespace halocline {
namespace {

constexpr std::size_t most_pixels = 64;  // of a group
constexpr double least_gap = 0.5;        // of an odd value's
constexpr std::ptrdiff_t views_of_object = 5, most_views_beside = 12, least_reach = 2;

/// What fails by a view alone, or by it and those beside it.
struct ViewGroups {
  std::vector<std::uint32_t> lost;
  std::vector<CountGroup> groups;    // up to 64 pixels
  std::vector<CountGroup> alike;     // these, and values that are nearly odd
  std::vector<CountGroup> dropped;   // rows and columns
  std::vector<std::uint32_t> parts;  // pixels of large parts that were lost
  bool rough = false;                // whether a large part is lost
};

/// How far a part of the object moves over the detector, in columns, from a view to the next of a full turn, and how
/// much more or less from that to the one after.
struct Motion {
  std::ptrdiff_t reach, change;
  Motion(std::size_t columns, std::size_t views) {
    const double turn = 2 * std::numbers::pi / static_cast<double>(views), radius = static_cast<double>(columns) / 2;
    reach = std::max(least_reach, static_cast<std::ptrdiff_t>(std::ceil(radius * turn)));
    change = std::max(least_reach, static_cast<std::ptrdiff_t>(std::ceil(radius * turn * turn)));
  }
};

double column_of(const CountGroup& group) {
  return static_cast<double>(group.left + group.right) / 2;
}

/// A group like this one in another view, within `reach` of a column, and as odd as `gap` or nearly so; nullptr: there
/// is none.
const CountGroup* next_of(const CountGroup& group, double column, double gap, std::ptrdiff_t reach,
                          const std::vector<CountGroup>& others) {
  for (const CountGroup& other : others) {
    const std::ptrdiff_t rows = other.top + other.bottom - group.top - group.bottom;
    if (other.is_dark() == group.is_dark() && (other.gap == 0 || other.gap > least_gap * gap) &&
        std::abs(column_of(other) - column) <= static_cast<double>(reach) && std::abs(rows) <= 1)
      return &other;
  }
  return nullptr;
}

/// Whether it is a part of the object that is too dense to see through: it goes on from view to view, and moves. An odd
/// value that goes on need not move.
bool is_object(const std::vector<ViewGroups>& all, std::size_t view, const CountGroup& group, const Motion& motion) {
  const bool odd = group.kind == CountKind::dim || group.kind == CountKind::glaring;
  bool moves = odd;
  std::ptrdiff_t views = 1;
  for (const std::ptrdiff_t step : {-1, 1}) {
    const CountGroup* now = &group;
    double column = column_of(group);
    std::ptrdiff_t reach = motion.reach;
    for (std::ptrdiff_t n = 1; n <= most_views_beside; ++n) {
      const std::ptrdiff_t other = static_cast<std::ptrdiff_t>(view) + n * step;
      if (other < 0 || other >= static_cast<std::ptrdiff_t>(all.size())) break;
      const ViewGroups& there = all[static_cast<std::size_t>(other)];
      const CountGroup* next = next_of(*now, column, group.gap, reach, odd ? there.alike : there.groups);
      if (next == nullptr) break;
      moves = moves || next->pixels != now->pixels;
      column = 2 * column_of(*next) - column_of(*now);
      reach = motion.change;
      now = next;
      ++views;
    }
  }
  return moves && views >= views_of_object;
}

class FailingSearch {
 public:
  FailingSearch(const VolumeSource& counts, const CountsCalibration& calibration, const std::vector<char>& bad,
                float saturation)
      : counts_(counts),
        calibration_(calibration),
        bad_(bad),
        saturation_(saturation),
        darkest_(darkest_signal(calibration)),
        views_(counts.grid().size[2]),
        motion_(calibration.size[0], views_),
        found_(views_),
        parts_(views_) {}

  void look_at_views(bool across) {
    parallel_slices(views_, [&](std::size_t n) {
      const ViewOfCounts view = view_at(n);
      found_[n].lost = view.lost();
      found_[n].rough = found_[n].lost.size() > most_pixels && view.lost_a_part(most_pixels);
      for (CountGroup& group : view.groups()) {
        if (view.crosses(group))
          found_[n].dropped.push_back(std::move(group));
        else if (group.pixels.size() <= most_pixels)
          found_[n].groups.push_back(std::move(group));
        else if (group.is_dark())
          parts_[n].push_back(part_of(group));
      }
      if (across) add_odd(view, n);
    });
  }

  void look_for_parts() {
    parallel_slices(views_, [&](std::size_t n) {
      std::vector<std::pair<DarkPart, PartEnds>> brief;
      for (std::size_t part = 0; part < parts_[n].size(); ++part)
        if (const auto ends = ends_of_part(parts_, n, part, motion_.reach)) brief.emplace_back(parts_[n][part], *ends);
      if (brief.empty()) return;
      const std::vector<CountGroup> groups = view_at(n).groups();
      for (const auto& [part, ends] : brief)
        for (const CountGroup& group : groups)
          if (is_part(group, part) && is_lit_in(ends.before, group) && is_lit_in(ends.after, group))
            found_[n].parts.insert(found_[n].parts.end(), group.pixels.begin(), group.pixels.end());
    });
  }

  std::vector<std::uint32_t> failing_in(std::size_t view, bool across) const {
    const ViewGroups& all = found_[view];
    std::vector<std::uint32_t> pixels = all.lost;
    const auto add = [&](const std::vector<std::uint32_t>& more) {
      pixels.insert(pixels.end(), more.begin(), more.end());
    };
    for (const CountGroup& group : all.groups)
      if (!across || !is_object(found_, view, group, motion_)) add(group.pixels);
    for (const CountGroup& group : all.dropped) add(group.pixels);
    add(all.parts);
    std::sort(pixels.begin(), pixels.end());
    pixels.erase(std::unique(pixels.begin(), pixels.end()), pixels.end());
    return pixels;
  }
  bool is_rough(std::size_t view) const { return found_[view].rough || !found_[view].parts.empty(); }

 private:
  ViewOfCounts view_at(std::size_t view) const {
    return ViewOfCounts(counts_, calibration_, bad_, saturation_, darkest_, view);
  }
  static DarkPart part_of(const CountGroup& group) {
    return {group.left, group.right, group.top, group.bottom, group.pixels.size()};
  }
  static bool is_part(const CountGroup& group, const DarkPart& part) {
    return group.is_dark() && group.left == part.left && group.top == part.top && group.pixels.size() == part.pixels;
  }
  bool is_lit_in(std::optional<std::size_t> view, const CountGroup& group) const {
    std::vector<std::uint32_t> pixels = group.pixels;
    std::sort(pixels.begin(), pixels.end());
    return !view || view_at(*view).see_light(pixels);
  }

  void add_odd(const ViewOfCounts& view, std::size_t n) {
    const OddValues odd(view);
    auto& groups = found_[n].groups;
    auto& alike = found_[n].alike;
    alike = groups;
    alike.insert(alike.end(), odd.alike().begin(), odd.alike().end());
    if (odd.empty()) return;
    std::vector<std::uint32_t> grouped;
    for (const CountGroup& group : groups) grouped.insert(grouped.end(), group.pixels.begin(), group.pixels.end());
    std::sort(grouped.begin(), grouped.end());
    std::optional<ViewOfCounts> before, after;
    if (n > 0) before.emplace(view_at(n - 1));
    if (n + 1 < views_) after.emplace(view_at(n + 1));
    for (CountGroup& group : odd.among(before ? &*before : nullptr, after ? &*after : nullptr))
      if (!std::binary_search(grouped.begin(), grouped.end(), group.pixels.front())) groups.push_back(std::move(group));
  }

  const VolumeSource& counts_;
  const CountsCalibration& calibration_;
  const std::vector<char>& bad_;
  float saturation_;
  double darkest_;
  std::size_t views_;
  Motion motion_;
  std::vector<ViewGroups> found_;
  std::vector<std::vector<DarkPart>> parts_;
};

}  // namespace

FailingValues find_failing(const VolumeSource& counts, const CountsCalibration& calibration,
                           const std::vector<char>& bad, float saturation, bool within_views) {
  const std::size_t views = counts.grid().size[2], slice = bad.size();
  FailingSearch search(counts, calibration, bad, saturation);
  search.look_at_views(!within_views);
  if (!within_views) search.look_for_parts();
  FailingValues found;
  found.views.resize(views);
  std::vector<float> values(slice);
  for (std::size_t view = 0; view < views; ++view) {
    auto& pixels = found.views[view];
    pixels = search.failing_in(view, !within_views);
    if (search.is_rough(view)) found.rough.push_back(view);
    if (pixels.empty()) continue;
    counts.read(view * slice, slice, values.data());
    for (const std::uint32_t pixel : pixels) {
      const float value = values[pixel];
      if (!std::isfinite(value) || value - calibration.pixels[pixel].dark < calibration.floor) ++found.low;
      if (std::isfinite(value) && value >= saturation) ++found.saturated;
    }
  }
  return found;
}

void leave_out_replaced(std::vector<std::size_t>& pixels, const FailingValues& failing) {
  std::set<std::size_t> replaced;
  for (const auto& view : failing.views) replaced.insert(view.begin(), view.end());
  std::erase_if(pixels, [&](std::size_t pixel) { return replaced.contains(pixel); });
}

}  // namespace halocline
