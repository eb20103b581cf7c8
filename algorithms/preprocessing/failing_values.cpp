#include "algorithms/preprocessing/failing_values.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "algorithms/preprocessing/lost_parts.hpp"
#include "algorithms/preprocessing/odd_values.hpp"
#include "algorithms/preprocessing/view_of_counts.hpp"
#include "algorithms/support/parallel_slices.hpp"

namespace halocline {
namespace {

constexpr std::size_t most_pixels = 64;   // of a group
constexpr std::size_t fewest_alike = 60;  // of a scan in which views beside each other are alike
constexpr double faster = 1.5;            // than a point of the object that the whole scan sees
constexpr std::ptrdiff_t views_of_object = 5, most_views_beside = 12, least_reach = 2;

/// Groups that fail by a view alone, or by it and those beside it.
struct ViewGroups {
  std::vector<std::uint32_t> lost, odd, parts;  // parts: of large parts that were lost
  std::vector<CountGroup> groups;               // up to 64 pixels
  std::vector<CountGroup> dropped;              // rows and columns
  std::vector<GroupBox> dark, bright;           // boxes of all groups
  bool large = false;                           // true if a low group of more pixels stands out
  bool rough = false;                           // true if a large part is lost
};

/// Columns that a part of the object moves over the detector from a view to the next of a full turn, at most.
std::ptrdiff_t reach_of(std::size_t columns, std::size_t views) {
  const double turn = 2 * std::numbers::pi / static_cast<double>(views), radius = static_cast<double>(columns) / 2;
  return std::max(least_reach, static_cast<std::ptrdiff_t>(std::ceil(faster * radius * turn)));
}

GroupBox box_of(const CountGroup& group) {
  return {group.left, group.right, group.top, group.bottom, group.pixels.size()};
}

/// The nearest of others within reach; nullptr: there is none.
const GroupBox* next_of(const GroupBox& box, const std::vector<GroupBox>& others, std::ptrdiff_t reach) {
  const GroupBox* nearest = nullptr;
  std::ptrdiff_t least = 0;
  for (const GroupBox& other : others) {
    if (!box.is_near(other, reach)) continue;
    const std::ptrdiff_t away = std::abs(other.left + other.right - box.left - box.right);
    if (nearest == nullptr || away < least) nearest = &other, least = away;
  }
  return nearest;
}

class FailingSearch {
 public:
  FailingSearch(const VolumeSource& counts, const CountsCalibration& calibration, const std::vector<char>& bad,
                float saturation, bool within_views)
      : counts_(counts),
        calibration_(calibration),
        bad_(bad),
        saturation_(saturation),
        darkest_(darkest_signal(calibration)),
        views_(counts.grid().size[2]),
        across_(!within_views),
        reach_(reach_of(calibration.size[0], views_)),
        found_(views_) {}

  void run() {
    parallel_slices(views_, [&](std::size_t n) { look_at(n); });
    if (!across_ || views_ < fewest_alike) return;
    std::vector<std::vector<GroupBox>> dark;
    for (const ViewGroups& each : found_) dark.push_back(each.dark);
    parallel_slices(views_, [&](std::size_t n) { look_for_parts(n, dark); });
  }

  std::vector<std::uint32_t> failing_in(std::size_t view) const {
    const ViewGroups& all = found_[view];
    std::vector<std::uint32_t> pixels = all.lost;
    const auto add = [&](const std::vector<std::uint32_t>& more) {
      pixels.insert(pixels.end(), more.begin(), more.end());
    };
    add(all.odd);
    add(all.parts);
    for (const CountGroup& group : all.dropped) add(group.pixels);
    for (const CountGroup& group : all.groups)
      if (!across_ || !is_object(view, group)) add(group.pixels);
    std::sort(pixels.begin(), pixels.end());
    pixels.erase(std::unique(pixels.begin(), pixels.end()), pixels.end());
    return pixels;
  }
  bool is_rough(std::size_t view) const { return found_[view].rough || !found_[view].parts.empty(); }

 private:
  ViewOfCounts view_at(std::size_t view) const {
    return ViewOfCounts(counts_, calibration_, bad_, saturation_, darkest_, view);
  }

  void look_at(std::size_t n) {
    const ViewOfCounts view = view_at(n);
    ViewGroups& found = found_[n];
    found.lost = view.lost();
    found.rough = found.lost.size() > most_pixels && view.lost_a_part(most_pixels);
    std::vector<char> grouped(bad_.size(), 0);
    for (CountGroup& group : view.groups()) {
      (group.kind == CountKind::low ? found.dark : found.bright).push_back(box_of(group));
      if (!group.stands_out) continue;
      for (const std::uint32_t pixel : group.pixels) grouped[pixel] = 1;
      if (view.crosses(group))
        found.dropped.push_back(std::move(group));
      else if (group.pixels.size() <= most_pixels)
        found.groups.push_back(std::move(group));
      else if (group.kind == CountKind::low)
        found.large = true;
    }
    if (across_ && views_ >= fewest_alike) look_for_odd(view, n, grouped);
  }

  void look_for_odd(const ViewOfCounts& view, std::size_t n, const std::vector<char>& grouped) {
    const OddValues odd(view);
    if (odd.empty()) return;
    std::vector<ViewBeside> beside;
    for (const std::ptrdiff_t step : {-2, -1, 1, 2})
      if (const auto other = static_cast<std::ptrdiff_t>(n) + step;
          other >= 0 && other < static_cast<std::ptrdiff_t>(views_))
        beside.push_back({std::abs(step), view_at(static_cast<std::size_t>(other))});
    for (const std::uint32_t pixel : odd.among(beside, reach_))
      if (grouped[pixel] == 0) found_[n].odd.push_back(pixel);
  }

  void look_for_parts(std::size_t n, const std::vector<std::vector<GroupBox>>& dark) {
    if (!found_[n].large) return;
    for (CountGroup& group : view_at(n).groups()) {
      if (group.kind != CountKind::low || !group.stands_out || group.pixels.size() <= most_pixels) continue;
      const auto ends = ends_of_part(dark, n, box_of(group), reach_);
      if (!ends) continue;
      std::sort(group.pixels.begin(), group.pixels.end());
      const auto lit = [&](std::optional<std::size_t> end) { return !end || view_at(*end).see_light(group.pixels); };
      if (lit(ends->before) && lit(ends->after))
        found_[n].parts.insert(found_[n].parts.end(), group.pixels.begin(), group.pixels.end());
    }
  }

  /// True for a part of the object that is too dense to see through: it continues from view to view, and moves.
  bool is_object(std::size_t view, const CountGroup& group) const {
    bool moves = false;
    std::ptrdiff_t views = 1;
    for (const std::ptrdiff_t step : {-1, 1}) {
      GroupBox now = box_of(group);
      for (std::ptrdiff_t n = 1; n <= most_views_beside; ++n) {
        const std::ptrdiff_t other = static_cast<std::ptrdiff_t>(view) + n * step;
        if (other < 0 || other >= static_cast<std::ptrdiff_t>(views_)) break;
        const ViewGroups& there = found_[static_cast<std::size_t>(other)];
        const GroupBox* next = next_of(now, group.kind == CountKind::low ? there.dark : there.bright, reach_);
        if (next == nullptr) break;
        moves = moves || !(*next == now);
        now = *next;
        ++views;
      }
    }
    return moves && views >= views_of_object;
  }

  const VolumeSource& counts_;
  const CountsCalibration& calibration_;
  const std::vector<char>& bad_;
  float saturation_;
  double darkest_;
  std::size_t views_;
  bool across_;
  std::ptrdiff_t reach_;
  std::vector<ViewGroups> found_;
};

}  // namespace

FailingValues find_failing(const VolumeSource& counts, const CountsCalibration& calibration,
                           const std::vector<char>& bad, float saturation, bool within_views) {
  const std::size_t views = counts.grid().size[2], slice = bad.size();
  FailingSearch search(counts, calibration, bad, saturation, within_views);
  search.run();
  FailingValues found;
  found.views.resize(views);
  std::vector<float> values(slice);
  for (std::size_t view = 0; view < views; ++view) {
    auto& pixels = found.views[view];
    pixels = search.failing_in(view);
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
