#include "algorithms/geometry/suspicious_views.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace halocline {
namespace {

/// The view that is farthest from the median, and by how much. period: of angles; otherwise infinite.
std::pair<std::size_t, double> farthest(const Geometry& geometry, double View::*member, double period) {
  const auto apart = [&](double a, double b) { return std::isinf(period) ? a - b : std::remainder(a - b, period); };
  const double first = geometry.views.front().*member;
  std::vector<double> values;  // relative to the first: angles about 180 degrees may have either sign
  for (const View& view : geometry.views) values.push_back(apart(view.*member, first));
  auto sorted = values;
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
  std::nth_element(sorted.begin(), middle, sorted.end());
  const double median = *middle;
  std::pair<std::size_t, double> out{0, apart(values[0], median)};
  for (std::size_t n = 1; n < values.size(); ++n)
    if (const double by = apart(values[n], median); std::abs(by) > std::abs(out.second)) out = {n, by};
  return out;
}

}  // namespace

std::vector<std::string> suspicious_views(const Geometry& geometry, std::span<const std::size_t> numbers) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  std::vector<std::string> found;
  const auto jump = [&](const char* what, double View::*member, const char* unit, double period, double limit) {
    const auto [view, by] = farthest(geometry, member, period);
    if (std::abs(by) > limit)
      found.push_back(fmt::format(
          "{} of projection {} is {:.6g} {}, which is {:.6g} {} from the median of all views; do all views belong to "
          "one scan? If not, correct it, or leave out what does not belong there",
          what, numbers.empty() ? view : numbers[view], geometry.views[view].*member, unit, by, unit));
  };
  const View& front = geometry.views.front();
  if (!geometry.parallel()) {
    constexpr double far_off = 0.02;  // more than gantries sag
    jump("the source to isocentre distance", &View::sid, "mm", infinity, far_off * front.sid);
    jump("the source to detector distance", &View::sdd, "mm", infinity, far_off * front.sdd);
  }
  jump("the in-plane angle", &View::in_plane_angle, "degrees", 360, 5);
  jump("the out-of-plane angle", &View::out_of_plane_angle, "degrees", 360, 5);
  if (!geometry.parallel() && front.sdd < front.sid * 1.001)
    found.push_back(fmt::format(
        "the detector stands on the rotation axis (source to isocentre {:.6g} mm, to detector {:.6g} mm), where the "
        "object is: right for a virtual detector, as simulations have; if it is a real one, correct the distances",
        front.sid, front.sdd));
  return found;
}

}  // namespace halocline
