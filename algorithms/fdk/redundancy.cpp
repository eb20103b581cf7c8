#include "algorithms/fdk/redundancy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "host/system/error.hpp"

namespace halocline {
namespace {

using std::numbers::pi;
constexpr double displaced_from = 0.1;  // of the width, as in RTK

double degrees(double radians) {
  return radians * 180 / pi;
}

/// Tangents of the fan angles at the detector's ends, in one view.
struct Ends {
  double low, high, farthest = 0;
  double width() const { return high - low; }
  bool displaced() const { return std::abs(high + low) > displaced_from * width(); }
};

double source_distance(const View& view) {
  return view.parallel() ? parallel_source : view.sid;
}

double detector_distance(const View& view) {
  return view.parallel() ? parallel_source : view.sdd;
}

double fan_tangent(const SourceOrbit& orbit, const std::array<double, 2>& slopes) {
  const auto dot = [&](const std::array<double, 3>& a) { return a[0] * slopes[0] + a[1] * slopes[1] - a[2]; };
  return dot(orbit.tangent) / dot(orbit.inward);
}

// Rows tilted against the orbit end at different fan angles: the nearest on each side count, and the farthest of all.
Ends ends_of(const View& view, double radius, const Grid& projections) {
  const SourceOrbit orbit = source_orbit(view);
  const auto tangent = [&](std::size_t column, std::size_t row) {
    const auto p = projections.world(static_cast<double>(column), static_cast<double>(row), 0);
    return fan_tangent(orbit, fan_slopes(view, radius, p[0], p[1]));
  };
  const std::size_t column = projections.size[0] - 1, row = projections.size[1] - 1;
  const auto first = std::minmax({tangent(0, 0), tangent(0, row)}),
             last = std::minmax({tangent(column, 0), tangent(column, row)});
  const double farthest = std::max({-first.first, first.second, -last.first, last.second});
  return first.first < last.first ? Ends{first.second, last.first, farthest} : Ends{last.second, first.first, farthest};
}

struct Fan {
  Ends widest, narrowest;                             // seen by some view, and by all
  std::size_t left = 0, right = 0, without_axis = 0;  // views displaced to either side, and that miss the axis
  std::size_t missing_view = 0;                       // the first that misses it
  std::size_t little_left = 0, little_right = 0;      // views displaced by a pixel or more

  /// True if the detector does not just sway: all views see less than half of what some see.
  bool to_both_sides() const { return left > 0 && right > 0 && narrowest.width() < 0.5 * widest.width(); }
  bool displaced() const { return to_both_sides() || narrowest.displaced(); }
  bool displaced_by_little(std::size_t views) const {
    return without_axis == 0 && (little_left == views || little_right == views);
  }
};

Fan fan_of(const Geometry& geometry, const Grid& projections) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  Fan fan{{infinity, -infinity}, {-infinity, infinity}};
  for (std::size_t n = 0; n < geometry.views.size(); ++n) {
    const Ends ends = ends_of(geometry.views[n], geometry.radius_cylindrical_detector, projections);
    fan.widest = {std::min(fan.widest.low, ends.low), std::max(fan.widest.high, ends.high),
                  std::max(fan.widest.farthest, ends.farthest)};
    fan.narrowest = {std::max(fan.narrowest.low, ends.low), std::min(fan.narrowest.high, ends.high)};
    if (ends.displaced()) ++(ends.high + ends.low > 0 ? fan.right : fan.left);
    const double pixel = projections.spacing[0] / detector_distance(geometry.views[n]);
    if (std::abs(ends.high + ends.low) > 1.999 * pixel)
      ++(ends.high + ends.low > 0 ? fan.little_right : fan.little_left);
    if (!(ends.low < 0 && ends.high > 0) && fan.without_axis++ == 0) fan.missing_view = n;
  }
  return fan;
}

// Extent at the isocentre's depth, to the outer edges of the pixels; for messages.
std::string span(const Geometry& geometry, const Grid& projections, const Ends& ends) {
  const View& view = geometry.views.front();
  const double edge = 0.5 * projections.spacing[0] / detector_distance(view), sid = source_distance(view);
  return fmt::format("{:.6g} to {:.6g} mm", sid * (ends.low - edge), sid * (ends.high + edge));
}

Redundancy wang(const Geometry& geometry, const Grid& projections, const Fan& fan, bool slight,
                const std::string& name) {
  if (fan.to_both_sides())
    throw InputError(fmt::format(
        "{}: the detector is displaced to the left in {} views and to the right in {}; a displaced detector "
        "must stand to one side, so reconstruct the two parts apart, or give `displaced = false`",
        name, fan.left, fan.right));
  if (fan.without_axis > 0)
    throw InputError(fmt::format(
        "{}: the detector misses the rotation axis in {} of {} views, the first of them {} (at the isocentre all views "
        "see {}); a displaced detector must reach beyond the axis on both sides, so check the offsets and the origin",
        name, fan.without_axis, geometry.views.size(), fan.missing_view, span(geometry, projections, fan.widest)));
  const bool right = fan.narrowest.high + fan.narrowest.low > 0;
  const double both = std::min(-fan.narrowest.low, fan.narrowest.high);
  Redundancy out;
  out.kind = Redundancy::Kind::wang;
  out.slight = slight;
  out.limit = (right ? 1 : -1) * std::atan(both);
  const double lacking = right ? fan.widest.high + fan.narrowest.low : -fan.widest.low - fan.narrowest.high;
  double sdd = 0;
  for (const View& view : geometry.views) sdd = std::max(sdd, detector_distance(view));
  const auto columns = static_cast<std::size_t>(std::ceil(std::max(0.0, lacking) * sdd / projections.spacing[0]));
  for (const View& view : geometry.views) {
    const bool ascending =
        projections.direction[0] * source_orbit(view).tangent[0] > 0;  // fan angles along the columns
    (right == ascending ? out.columns_before : out.columns_after) = columns;
  }
  if (slight) {
    out.flat = std::max(0.0, std::min(0.75, 1 - 16 * projections.spacing[0] / (sdd * both)));
    return out;
  }
  out.notes.push_back(
      fmt::format("{}: the detector is displaced; at the isocentre it spans {}. Rays within {:.6g} mm of the axis are "
                  "seen twice and share their weight (Wang 2002); `displaced = false` leaves that out",
                  name, span(geometry, projections, fan.widest), source_distance(geometry.views.front()) * both));
  return out;
}

double arc_of(const Fan& fan) {
  return pi + 2 * std::atan(fan.widest.farthest);
}

/// Sum of all weights of a ray through the axis, relative to 2 pi (cl/fdk_general.cl, gamma = 0).
double parker_sum(const AngularCoverage& coverage, const Redundancy& parker) {
  double sum = 0;
  for (std::size_t n = 0; n < coverage.gaps.size(); ++n) {
    const double rise = 2 * parker.limit, beta = parker.betas[n];
    const double sine = std::sin(pi / 2 * std::clamp(std::min(beta, pi + rise - beta) / rise, 0.0, 1.0));
    sum += coverage.gaps[n] * 2 * sine * sine;
  }
  return sum;
}

std::string factor_text(const Redundancy& redundancy) {
  return fmt::format("values are multiplied by {:.4g}, so that a uniform object keeps its mean", redundancy.factor);
}

Redundancy parker(const AngularCoverage& coverage, const Fan& fan, const RedundancyOptions& options,
                  const std::string& name) {
  const double half_fan = 0.5 * (arc_of(fan) - pi);
  const double delta = 0.5 * (coverage.range - pi);
  const bool too_short = arc_is_short(coverage, arc_of(fan));
  const std::string what = fmt::format(
      "{}: its {} views cover only {:.6g} degrees, with a gap of {:.6g} before gantry angle {:.6g}", name,
      coverage.gaps.size(), degrees(coverage.range), degrees(coverage.largest_gap), degrees(coverage.first_angle));
  const std::string needed = fmt::format("{:.6g} degrees (180 and the detector's fan of {:.6g})",
                                         degrees(pi + 2 * half_fan), degrees(2 * half_fan));
  if (too_short && !options.allow_incomplete_arc)
    throw InputError(fmt::format(
        "{}; a cone or fan beam is reconstructed from the full circle or from an arc of at least {}, so give "
        "the missing views, or `allow_incomplete_arc` to go on without",
        what, needed));
  Redundancy out;
  out.kind = Redundancy::Kind::parker;
  out.limit = std::max(delta, half_fan);
  for (const double beta : coverage.betas) out.betas.push_back(beta + out.limit - delta);
  if (too_short) {
    if (const double sum = parker_sum(coverage, out); sum > 0) out.factor = 2 * pi / sum;
    out.notes.push_back(
        fmt::format("{}; {} are needed: it is weighted as the middle of such an arc, {}, and what the "
                    "missing views would show is lost",
                    what, needed, factor_text(out)));
  } else {
    out.notes.push_back(
        fmt::format("{}: a short scan of {:.6g} degrees; rays that are seen twice share their weight (Parker 1982)",
                    name, degrees(coverage.range)));
  }
  return out;
}

double usual_gap(std::vector<double> gaps) {
  const auto middle = gaps.begin() + static_cast<std::ptrdiff_t>(gaps.size() / 2);
  std::nth_element(gaps.begin(), middle, gaps.end());
  return *middle;
}

constexpr double uneven_from = 3;  // usual gaps
constexpr std::size_t fewest_views = 8;

/// Gaps within a whole turn, if all their rays are seen from the opposite side; none otherwise.
std::vector<std::array<double, 2>> gaps_from_opposite(const AngularCoverage& coverage, double half_fan) {
  std::vector<std::array<double, 2>> gaps;
  if (coverage.gaps.size() < fewest_views) return gaps;
  std::vector<double> betas = coverage.betas;
  std::sort(betas.begin(), betas.end());
  betas.push_back(betas.front() + 2 * pi);
  const double usual = usual_gap(coverage.gaps);
  for (std::size_t n = 0; n + 1 < betas.size(); ++n)
    if (const double gap = betas[n + 1] - betas[n]; gap > uneven_from * usual)
      gaps.push_back({0.5 * (betas[n] + betas[n + 1]), 0.5 * gap});
  const auto meet = [&](const std::array<double, 2>& a, const std::array<double, 2>& b) {
    return std::abs(std::remainder(a[0] - b[0] - pi, 2 * pi)) < a[1] + b[1] + 2 * half_fan + 0.5 * gap_rise;
  };
  for (const auto& a : gaps)
    for (const auto& b : gaps)
      if (meet(a, b)) return {};
  return gaps;
}

Redundancy filled(const AngularCoverage& coverage, std::vector<std::array<double, 2>> gaps, const std::string& name) {
  Redundancy out;
  out.kind = Redundancy::Kind::gaps;
  out.betas = coverage.betas;
  out.gaps = std::move(gaps);
  out.notes.push_back(
      fmt::format("{}: there {} of up to {:.6g} degrees between views that are mostly {:.6g} apart; the rays from the "
                  "opposite side take the place of those that are missing",
                  name, out.gaps.size() == 1 ? "is a gap" : fmt::format("are {} gaps", out.gaps.size()),
                  degrees(coverage.inner_gap), degrees(usual_gap(coverage.gaps))));
  return out;
}

}  // namespace

double short_scan_arc(const Geometry& geometry, const Grid& projections) {
  return geometry.parallel() ? pi : arc_of(fan_of(geometry, projections));
}

std::array<double, 2> fan_slopes(const View& view, double radius, double u, double v) {
  if (!view.parallel()) return ray_slopes(view, radius, u, v);
  return {(view.projection_offset_x + u) / parallel_source, (view.projection_offset_y + v) / parallel_source};
}

AngularCoverage coverage_for(const Redundancy& redundancy, const Geometry& geometry) {
  return angular_coverage(geometry, true, redundancy.kind == Redundancy::Kind::wang);
}

bool arc_is_short(const AngularCoverage& coverage, double needed) {
  return coverage.range < needed - 2e-9;
}

const char* turn_or(double row_slant) {
  return 90 - row_slant <= largest_row_slant ? "turn the images by 90 degrees (their columns become rows, and the "
                                               "in-plane angle changes by as much), or "
                                             : "";
}

std::optional<std::string> uneven_gap(const AngularCoverage& coverage) {
  const double usual = coverage.gaps.empty() ? 0 : usual_gap(coverage.gaps);
  if (coverage.gaps.size() < fewest_views || coverage.inner_gap <= uneven_from * usual) return std::nullopt;
  return fmt::format(
      "there is a gap of {:.6g} degrees between views that are mostly {:.6g} apart; its neighbours stand for the views "
      "that are missing, which makes streaks",
      degrees(coverage.inner_gap), degrees(usual));
}

Redundancy redundancy_of(const Geometry& geometry, const Grid& projections, const RedundancyOptions& options,
                         const std::string& name) {
  const AngularCoverage coverage = angular_coverage(geometry, options.allow_incomplete_arc);
  Redundancy out;
  if (geometry.parallel() && !coverage.full_circle && coverage.range > 0) out.factor = pi / coverage.range;
  std::vector<std::string> notes;
  if (coverage.missing_inside > 0) {
    const std::string what =
        fmt::format("{}: its {} views leave {} gap{} of up to {:.6g} degrees", name, geometry.views.size(),
                    coverage.missing_arcs, coverage.missing_arcs == 1 ? "" : "s", degrees(coverage.largest_gap));
    if (!options.allow_incomplete_arc)
      throw InputError(
          fmt::format("{}, so that an arc inside the scan is missing; give the missing views, or "
                      "`allow_incomplete_arc` to go on without",
                      what));
    notes.push_back(what + "; what the missing views would show is lost" +
                    (out.factor != 1 ? ", and " + factor_text(out) : ""));
  } else if (const auto uneven = uneven_gap(coverage)) {
    notes.push_back(name + ": " + *uneven);
  }
  const std::size_t views = geometry.views.size();
  if (geometry.parallel()) {
    // Half a turn sees all rays through the middle once: a displaced detector then misses those that are farther out.
    if (options.displaced && angular_coverage(geometry, true, true).full_circle) {
      const Fan fan = fan_of(geometry, projections);
      const bool displaced = options.force_displaced || fan.displaced();
      if (displaced || fan.displaced_by_little(views)) {
        out = wang(geometry, projections, fan, !displaced, name);
        if (const auto uneven = uneven_gap(angular_coverage(geometry, true, true)); uneven && notes.empty())
          notes.push_back(name + ": " + *uneven);
      }
    }
  } else {
    const Fan fan = fan_of(geometry, projections);
    const bool displaced = options.displaced && (options.force_displaced || fan.displaced());
    if (displaced && !coverage.full_circle)
      throw InputError(fmt::format(
          "{}: the detector is displaced (at the isocentre it spans {}) and the scan is short ({:.6g} degrees); a ray "
          "that the detector misses on its short side is then seen from no other side. Give the full circle, or "
          "`displaced = false` (best with `pad`) for what all views see",
          name, span(geometry, projections, fan.widest), degrees(coverage.range)));
    if (!coverage.full_circle)
      out = parker(coverage, fan, options, name);
    else if (displaced || (options.displaced && fan.displaced_by_little(views)))
      out = wang(geometry, projections, fan, !displaced, name);
    else if (auto gaps = gaps_from_opposite(coverage, std::atan(fan.widest.farthest)); !gaps.empty())
      out = filled(coverage, std::move(gaps), name), notes.clear();
  }
  out.notes.insert(out.notes.begin(), notes.begin(), notes.end());
  return out;
}

}  // namespace halocline
