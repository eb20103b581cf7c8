#include "algorithms/projectors/ray_ends.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <numbers>

#include "algorithms/projectors/rays.hpp"
#include "algorithms/support/vector3.hpp"
#include "host/error.hpp"
#include "host/log.hpp"
#include "host/plural.hpp"

namespace halocline {
namespace {

/// The elliptic cylinder inscribed in a volume, through the centres of its outermost voxels, as world points: centre +
/// s (cos(angle) across[0] + sin(angle) across[1]) + t along, s and t in [0, 1] and [-1, 1].
struct Cylinder {
  Vector3 centre, along;
  std::array<Vector3, 2> across;
};

Cylinder inscribed(const Grid& volume) {
  std::array<double, 3> middle;
  for (int axis = 0; axis < 3; ++axis) middle[axis] = 0.5 * (static_cast<double>(volume.size[axis]) - 1);
  Cylinder cylinder{volume.world(middle[0], middle[1], middle[2]), {}, {}};
  int upright = 0;
  for (int axis = 1; axis < 3; ++axis)
    if (std::abs(volume.direction[3 + axis]) > std::abs(volume.direction[3 + upright])) upright = axis;
  for (int axis = 0, n = 0; axis < 3; ++axis) {
    const double half = middle[axis] * volume.spacing[axis];
    const Vector3 side{half * volume.direction[axis], half * volume.direction[3 + axis],
                       half * volume.direction[6 + axis]};
    (axis == upright ? cylinder.along : cylinder.across[n++]) = side;
  }
  return cylinder;
}

/// Points of a cylinder, within `orbit` mm of the rotation axis, which is y.
std::vector<Vector3> points_of(const Cylinder& cylinder, double orbit) {
  constexpr int angles = 72, shells = 8, heights = 8;
  std::vector<Vector3> points;
  for (int shell = 0; shell <= shells; ++shell)
    for (int n = 0; n < (shell == 0 ? 1 : angles); ++n) {
      const double angle = 2 * std::numbers::pi * n / angles, s = static_cast<double>(shell) / shells;
      const Vector3 at = add_scaled(add_scaled(cylinder.centre, s * std::cos(angle), cylinder.across[0]),
                                    s * std::sin(angle), cylinder.across[1]);
      for (int height = -heights; height <= heights; ++height) {
        const Vector3 point = add_scaled(at, static_cast<double>(height) / heights, cylinder.along);
        if (std::hypot(point[0], point[2]) <= orbit) points.push_back(point);
      }
    }
  return points;
}

/// Where points lie to one view's source and detector, which bends if the radius of a cylindrical one is given.
class Place {
 public:
  Place(const View& view, double radius, const Grid& projections)
      : radius_(radius),
        sdd_(view.sdd),
        offset_(view.source_offset_x),
        source_(source_position(view)),
        along_(ray_direction(view)),
        matrix_(projection_matrix(view)),
        projections_(projections) {
    across_ = add_scaled(detector_point(view, 1, 0), -1, detector_point(view, 0, 0));
  }
  /// mm from the source's plane.
  double depth(const Vector3& point) const { return dot(add_scaled(point, -1, source_), along_); }
  /// mm by which a point lies beyond the detector; negative before it.
  double beyond(const Vector3& point) const {
    const double x = dot(add_scaled(point, -1, source_), across_) + offset_;
    const double bend = radius_ == 0 ? 0 : radius_ - std::sqrt(std::max(0.0, radius_ * radius_ - x * x));
    return depth(point) - (sdd_ - bend);
  }
  /// Whether the point is cast on the detector's pixels (for a cylinder, on their plane).
  bool seen(const Vector3& x) const {
    const auto row = [&](int n) {
      return matrix_[4 * n] * x[0] + matrix_[4 * n + 1] * x[1] + matrix_[4 * n + 2] * x[2] + matrix_[4 * n + 3];
    };
    const auto& d = projections_.direction;
    const double u = row(0) / row(2) - projections_.origin[0], v = row(1) / row(2) - projections_.origin[1];
    const double column = (d[0] * u + d[3] * v) / projections_.spacing[0],
                 line = (d[1] * u + d[4] * v) / projections_.spacing[1];
    return column >= -0.5 && line >= -0.5 && column <= static_cast<double>(projections_.size[0]) - 0.5 &&
           line <= static_cast<double>(projections_.size[1]) - 0.5;
  }

 private:
  double radius_, sdd_, offset_;
  Vector3 source_, along_, across_;
  Matrix34 matrix_;
  const Grid& projections_;
};

/// Numbers of the views whose source, or detector, some corner of the volume reaches.
struct Reached {
  std::vector<std::size_t> source, detector;
};
Reached reached_by(const Grid& volume, const Geometry& geometry) {
  Reached reached;
  for (std::size_t n = 0; n < geometry.views.size(); ++n) {
    bool behind = false, beyond = false;
    for (int corner = 0; corner < 8; ++corner) {
      const auto edge = [&](int axis) {
        return corner >> axis & 1 ? static_cast<double>(volume.size[axis]) - 0.5 : -0.5;
      };
      const Whereabouts where =
          whereabouts(geometry.views[n], geometry.radius_cylindrical_detector, volume.world(edge(0), edge(1), edge(2)));
      behind = behind || where == Whereabouts::behind_source;
      beyond = beyond || where == Whereabouts::beyond_detector;
    }
    if (behind) reached.source.push_back(n);
    if (beyond) reached.detector.push_back(n);
  }
  return reached;
}

std::string in_views(const std::vector<std::size_t>& views, const Geometry& geometry) {
  return fmt::format("in {} of {} (the first: view {}", views.size(), views_text(geometry.views.size()), views.front());
}

constexpr RayEnds ends[] = {RayEnds::automatic, RayEnds::end, RayEnds::through};

}  // namespace

bool detector_is_virtual(const Geometry& geometry, const Grid& volume, const Grid& projections) {
  if (geometry.parallel()) return false;
  double orbit = std::numeric_limits<double>::max();
  for (const View& view : geometry.views) {
    const Vector3 source = source_position(view);
    orbit = std::min(orbit, std::hypot(source[0], source[2]));
  }
  const Cylinder cylinder = inscribed(volume);
  const double radius = geometry.radius_cylindrical_detector;
  std::vector<Vector3> points;
  for (const View& view : geometry.views) {
    const Place place(view, radius, projections);
    const Vector3 along = ray_direction(view);
    const double farthest = place.depth(cylinder.centre) + std::abs(dot(cylinder.along, along)) +
                            std::hypot(dot(cylinder.across[0], along), dot(cylinder.across[1], along));
    if (radius == 0 && farthest <= view.sdd) continue;
    if (points.empty()) points = points_of(cylinder, orbit);
    constexpr double touches = 1e-6;  // of SDD: in the detector's face is not behind it
    if (std::any_of(points.begin(), points.end(), [&](const Vector3& point) {
          return place.beyond(point) > touches * view.sdd && place.seen(point);
        }))
      return true;
  }
  return false;
}

RayEnds ray_ends(const Geometry& geometry, const Grid& volume, const Grid& projections) {
  if (geometry.ray_ends != RayEnds::automatic) return geometry.ray_ends;
  return detector_is_virtual(geometry, volume, projections) ? RayEnds::through : RayEnds::end;
}

Geometry with_ray_ends(Geometry geometry, const Grid& volume, const Grid& projections) {
  geometry.ray_ends = ray_ends(geometry, volume, projections);
  return geometry;
}

std::vector<std::string> notes_on_ray_ends(const Geometry& geometry, const Grid& volume, const std::string& name,
                                           const Grid& projections) {
  const Reached reached = reached_by(volume, geometry);
  std::vector<std::string> notes;
  if (!reached.source.empty())
    notes.push_back(fmt::format(
        "{} reaches to the source or behind it {}, SID {:.6g} mm), and rays begin at the source: what lies behind it "
        "does not count, so choose a smaller volume, or check its spacing and origin and the geometry's SID (mm)",
        name, in_views(reached.source, geometry), geometry.views[reached.source.front()].sid));
  if (reached.detector.empty() || geometry.ray_ends == RayEnds::through) return notes;
  const View& first = geometry.views[reached.detector.front()];
  const std::string where =
      fmt::format("{}, SID {:.6g} mm, SDD {:.6g} mm)", in_views(reached.detector, geometry), first.sid, first.sdd);
  if (ray_ends(geometry, volume, projections) == RayEnds::through) {
    notes.push_back(
        fmt::format("{} reaches beyond the detector {}: it is taken for a virtual one, and rays run through it; if it "
                    "is real, take "
                    "`rays = end`",
                    name, where));
  } else {
    notes.push_back(fmt::format(
        "{} reaches to the detector or beyond it {}, and rays end at the detector: what lies beyond it does not count, "
        "so choose a smaller volume, or if the detector is a virtual one, take `rays = through`",
        name, where));
  }
  return notes;
}

void log_automatic_ray_ends(const Geometry& geometry, const Grid& volume, const Grid& projections) {
  if (geometry.ray_ends != RayEnds::automatic) return;
  for (const std::string& note : notes_on_ray_ends(geometry, volume, "the volume", projections))
    library_log()->warn("{}", note);
}

const std::vector<std::string>& ray_ends_names() {
  static const std::vector<std::string> names{"automatic", "end", "through"};
  return names;
}

RayEnds ray_ends_from_name(const std::string& name) {
  const auto& names = ray_ends_names();
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end())
    throw InputError(
        {.what = "`rays`", .found = '"' + name + '"', .expected = fmt::format("one of: {}", fmt::join(names, ", "))});
  return ends[found - names.begin()];
}

}  // namespace halocline
