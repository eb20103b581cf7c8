#include "algorithms/geometry/opposite_views.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "host/system/error.hpp"

namespace halocline {
namespace {

using std::numbers::pi;

}  // namespace

void check_axis_stack(const Grid& projections, const Geometry& geometry) {
  check_projections(projections, "the projections", geometry, "the geometry");
  refuse_fan_stack(geometry, "the search for the rotation axis",
                   "give one row and the geometry without `fan_stack`, a fan beam");
  const auto& d = projections.direction;
  if (!(d[0] > 0.9999) || !(d[4] > 0.9999))
    throw InputError(
        "the projections' direction turns or mirrors the detector; the axis is looked for along its rows, so give a "
        "file with its columns and rows in the order of increasing u and v, and direction 1 0 0 0 1 0 0 0 1");
}

double middle_row(const Grid& projections, const Geometry& geometry) {
  const View& view = geometry.views.front();
  return (view.source_offset_y - view.projection_offset_y - projections.origin[1]) / projections.spacing[1];
}

ViewCircle::ViewCircle(const Geometry& geometry) {
  for (std::size_t n = 0; n < geometry.views.size(); ++n) {
    double angle = std::fmod(geometry.views[n].gantry_angle * pi / 180, 2 * pi);
    if (angle < 0) angle += 2 * pi;
    views_.push_back({angle, n});
  }
  std::sort(views_.begin(), views_.end());
  std::vector<double> gaps;
  for (std::size_t n = 0; n + 1 < views_.size(); ++n) gaps.push_back(views_[n + 1].first - views_[n].first);
  std::sort(gaps.begin(), gaps.end());
  median_ = gaps.empty() ? 0 : gaps[gaps.size() / 2];
}

bool ViewCircle::find(double angle, Between& out) const {
  angle = std::fmod(angle, 2 * pi);
  if (angle < 0) angle += 2 * pi;
  const auto above = std::lower_bound(views_.begin(), views_.end(), std::pair<double, std::size_t>{angle, 0});
  const auto& high = above == views_.end() ? views_.front() : *above;
  const auto& low = above == views_.begin() ? views_.back() : *(above - 1);
  double to_low = angle - low.first, to_high = high.first - angle;
  if (to_low < 0) to_low += 2 * pi;
  if (to_high < 0) to_high += 2 * pi;
  if (to_low + to_high <= 3 * median_ + 1e-9 && to_low + to_high > 0) {
    out = {low.second, high.second, to_low / (to_low + to_high)};
    return true;
  }
  if (std::min(to_low, to_high) > 1.5 * median_ + 1e-9) return false;
  out = to_low < to_high ? Between{low.second, low.second, 0} : Between{high.second, high.second, 0};
  return true;
}

std::vector<std::size_t> opposed_views(const Geometry& geometry) {
  const ViewCircle circle(geometry);
  std::vector<std::size_t> views;
  ViewCircle::Between opposite{};
  for (std::size_t n = 0; n < geometry.views.size(); ++n)
    if (circle.find(geometry.views[n].gantry_angle * pi / 180 + pi, opposite)) views.push_back(n);
  return views;
}

double opposite_error(const Geometry& geometry) {
  double least = 180;
  for (const std::size_t n : opposed_views(geometry))
    for (const View& view : geometry.views)
      least =
          std::min(least, std::abs(std::remainder(view.gantry_angle - geometry.views[n].gantry_angle - 180, 360.0)));
  return least * pi / 180;
}

std::vector<std::size_t> spread(std::size_t count, std::size_t most) {
  const std::size_t take = std::min(count, most);
  std::vector<std::size_t> out;
  for (std::size_t n = 0; n < take; ++n) out.push_back((2 * n + 1) * count / (2 * take));
  return out;
}

}  // namespace halocline
