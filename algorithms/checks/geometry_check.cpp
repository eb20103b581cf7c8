#include "algorithms/checks/geometry_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "algorithms/fdk/redundancy.hpp"
#include "algorithms/fdk/upright_rows.hpp"
#include "algorithms/geometry/field_of_view.hpp"
#include "algorithms/geometry/suspicious_views.hpp"
#include "algorithms/support/angles.hpp"
#include "host/system/error.hpp"
#include "host/system/plural.hpp"

namespace halocline {
namespace {

class Findings {
 public:
  template <typename... T>
  void impossible(fmt::format_string<T...> text, T&&... values) {
    all_.push_back({true, fmt::format(text, std::forward<T>(values)...)});
  }
  template <typename... T>
  void warn(fmt::format_string<T...> text, T&&... values) {
    all_.push_back({false, fmt::format(text, std::forward<T>(values)...)});
  }
  std::vector<GeometryFinding> sorted() {
    std::stable_partition(all_.begin(), all_.end(), [](const GeometryFinding& f) { return f.impossible; });
    return std::move(all_);
  }

 private:
  std::vector<GeometryFinding> all_;
};

/// Warning of filtered back-projection about gaps that it fills from the opposite side; empty if there are none.
std::string filled_gaps(const Geometry& geometry, const std::optional<Grid>& detector) {
  if (!detector) return {};
  try {
    const Redundancy redundancy = redundancy_of(geometry, *detector, {}, "the geometry");
    return redundancy.kind == Redundancy::Kind::gaps ? redundancy.notes.front() : std::string();
  } catch (const InputError&) {  // which other findings name
    return {};
  }
}

void check_coverage(const Geometry& geometry, const std::optional<Grid>& detector,
                    const std::optional<FieldOfView>& seen, Findings& findings) {
  AngularCoverage coverage;
  try {
    coverage = angular_coverage(geometry);
  } catch (const InputError& error) {
    return findings.impossible("{}", error.what());
  }
  if (!coverage.full_circle) {
    const double missing = 360 - coverage.range / degree;
    const double needed = detector ? short_scan_arc(geometry, *detector) : std::numbers::pi;
    if (arc_is_short(coverage, needed))
      findings.impossible(
          "the views leave {:.6g} degrees out and cover {:.6g} from gantry angle {:.6g}; at least "
          "{:.6g} (180 and the fan angle) are needed, so give the views that are missing",
          missing, coverage.range / degree, coverage.first_angle / degree, needed / degree);
    else
      findings.warn(
          "the views leave {:.6g} degrees out and cover {:.6g} from gantry angle {:.6g}: a short scan, which "
          "needs weights for the rays that are measured twice",
          missing, coverage.range / degree, coverage.first_angle / degree);
  }
  const bool displaced = seen && seen->radius > 0 && seen->displaced_radius > 1.25 * seen->radius;
  if (displaced && !angular_coverage(geometry, true, true).full_circle) {
    const std::string what = fmt::format(
        "the detector is displaced ({:.6g} mm round the axis are seen in every view, {:.6g} mm by its longer side) "
        "and an arc is missing: what only the longer side sees is not measured from all sides, so reconstruct no more "
        "than the smaller radius",
        seen->radius, seen->displaced_radius);
    geometry.parallel() ? findings.warn("{}", what) : findings.impossible("{}", what);
  }
  if (coverage.missing_inside > 0)
    findings.impossible(
        "the views leave {} gap{} of up to {:.6g} degrees, so that an arc inside the scan is missing; give the missing "
        "views, or reconstruct with `allow_incomplete_arc`",
        coverage.missing_arcs, coverage.missing_arcs == 1 ? "" : "s", coverage.largest_gap / degree);
  else if (coverage.inner_gap > largest_view_gap)
    findings.impossible("the views leave a gap of {:.6g} degrees; no more than {:.6g} can be reconstructed",
                        coverage.inner_gap / degree, largest_view_gap / degree);
  else if (const auto uneven = uneven_gap(coverage)) {
    const std::string filled = filled_gaps(geometry, detector);
    findings.warn("{}", filled.empty() ? *uneven : filled);
  }
  if (coverage.repeated_views > 0)
    findings.warn("{} at an angle that another has too; is one of them written twice?",
                  plural(coverage.repeated_views, "view stands", "views stand"));
  if (coverage.disordered)
    findings.warn(
        "the gantry angles neither increase nor decrease round the circle; are images and angles in the same "
        "order?");
}

/// Elevation of the ray through the isocentre, degrees.
double elevation(const View& view) {
  const auto way = view.parallel() ? ray_direction(view) : source_position(view);
  return std::atan2(std::abs(way[1]), std::hypot(way[0], way[2])) / degree;
}

void check_views(const Geometry& geometry, bool from_top, Findings& findings) {
  for (const auto& text : suspicious_views(geometry)) findings.warn("{}", text);
  for (std::size_t n = 0; n < geometry.views.size(); ++n) {
    const double in_plane = std::abs(std::remainder(geometry.views[n].in_plane_angle, 360));
    if (in_plane <= 90 || from_top) continue;
    findings.warn(
        "the in-plane angle of projection {} is {:.6g} degrees: its image stands on its head, as images do that are "
        "stored from the top row, or its u axis points the wrong way; if the volume comes out mirrored, flip the "
        "images instead",
        n, geometry.views[n].in_plane_angle);
    break;
  }
  for (std::size_t n = 0; n < geometry.views.size(); ++n) {
    const double slant = row_slant(geometry.views[n]);
    if (slant <= largest_row_slant) continue;
    findings.impossible(
        "the detector's rows stand at {:.6g} degrees to the way of the source in projection {}; filtered "
        "back-projection takes no more than {:.6g}, so {}correct the angles",
        slant, n, largest_row_slant, turn_or(slant));
    break;
  }
  const auto steepest = std::max_element(geometry.views.begin(), geometry.views.end(),
                                         [](const View& a, const View& b) { return elevation(a) < elevation(b); });
  if (elevation(*steepest) > 10)
    findings.warn(
        "in projection {} the rays to the isocentre stand at {:.6g} degrees to the plane across the rotation axis (the "
        "out-of-plane angle is {:.6g}); filtered back-projection is made for a source that turns in that plane",
        steepest - geometry.views.begin(), elevation(*steepest), steepest->out_of_plane_angle);
}

void check_axis(const Geometry& geometry, const DetectorPixels& detector, const FieldOfView& seen, Findings& findings) {
  const Grid grid = detector.grid(1);
  for (int axis = 0; axis < 2; ++axis) {
    if (axis == 1 && (geometry.parallel() || geometry.fan_stack())) break;  // which may be measured at any height
    const double low = grid.origin[axis] - 0.5 * grid.spacing[axis];
    const double high = low + static_cast<double>(grid.size[axis]) * grid.spacing[axis];
    for (std::size_t n = 0; n < geometry.views.size(); ++n) {
      const double at = isocentre_on_detector(geometry.views[n])[axis];
      // along the rows between the middles of pixels, as check_fdk() requires
      const double edge = axis == 0 ? 0.5 * grid.spacing[axis] : 0;
      if (grid.size[axis] > 1 ? at > low + edge && at < high - edge : at >= low && at <= high) continue;
      const char* letter = axis == 0 ? "u" : "v";
      if (axis == 0)
        findings.impossible(
            "the rotation axis falls on u = {:.6g} mm in projection {}, outside the detector, or on its "
            "outermost pixel; it covers {:.6g} to {:.6g} mm; check the projection offset, the detector's origin and "
            "its "
            "pixels",
            at, n, low, high);
      else
        findings.warn(
            "the isocentre falls on {} = {:.6g} mm in projection {}, outside the detector, which covers "
            "{:.6g} to {:.6g} mm: only what is above or below it is seen",
            letter, at, n, low, high);
      break;
    }
  }
  if (seen.displaced())
    findings.warn(
        "the detector is displaced: {:.6g} mm round the axis are seen in every view, {:.6g} mm by its longer "
        "side; on a full turn the longer side counts, with weights for what is measured twice",
        seen.radius, seen.displaced_radius);
}

void check_volume(const Geometry& geometry, const DetectorPixels& detector, const FieldOfView& seen, const Grid& volume,
                  Findings& findings) {
  double reach = 0;  // from the axis to the volume's farthest corner
  for (int corner = 0; corner < 8; ++corner) {
    const auto edge = [&](int axis) {
      return (corner >> axis & 1) != 0 ? static_cast<double>(volume.size[axis]) - 0.5 : -0.5;
    };
    const auto at = volume.world(edge(0), edge(1), edge(2));
    reach = std::max(reach, std::hypot(at[0], at[2]));
  }
  if (!geometry.parallel()) {
    const auto nearest = std::min_element(geometry.views.begin(), geometry.views.end(),
                                          [](const View& a, const View& b) { return a.sid < b.sid; });
    if (reach >= nearest->sid)
      findings.impossible(
          "the volume reaches {:.6g} mm from the axis, but the source passes at {:.6g} mm; choose a "
          "smaller volume",
          reach, nearest->sid);
  }
  const Coverage coverage = volume_coverage(geometry, detector, volume);
  if (coverage.half_of_views == 0)
    findings.impossible(
        "no part of the volume is seen in half of the views; check its origin and spacing (mm) and the "
        "detector's");
  else if (seen.displaced()) {  // the longer side is right on a full turn
    if (coverage.half_of_views < 1)
      findings.warn(
          "{:.1f} % of the volume are seen in half of the views, as a displaced detector needs it on a full turn; what "
          "is outside is wrong, so choose a smaller volume",
          100 * coverage.half_of_views);
  } else if (coverage.every_view < 1)
    findings.warn(
        "{:.1f} % of the volume are seen in every view, {:.1f} % in at least half of them; what is outside "
        "the field of view is wrong, so choose a smaller volume",
        100 * coverage.every_view, 100 * coverage.half_of_views);
}

}  // namespace

std::vector<GeometryFinding> geometry_findings(const Geometry& geometry, const DetectorPixels& detector,
                                               const std::optional<Grid>& volume, bool from_top) {
  check_geometry(geometry, "the geometry");
  Findings findings;
  const bool known = detector.size && detector.spacing;
  std::optional<FieldOfView> seen;
  std::optional<Grid> pixels;
  if (known) seen = field_of_view(geometry, detector), pixels = detector.grid(geometry.views.size());
  check_coverage(geometry, pixels, seen, findings);
  check_views(geometry, from_top, findings);
  if (known) check_axis(geometry, detector, *seen, findings);
  if (pixels)
    if (const auto slanted = remaining_slant(geometry, *pixels)) findings.warn("{}", *slanted);
  if (known && volume) check_volume(geometry, detector, *seen, *volume, findings);
  return findings.sorted();
}

}  // namespace halocline
