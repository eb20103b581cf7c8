#include "algorithms/projectors/ray_ends.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include "algorithms/projectors/rays.hpp"
#include "algorithms/support/vector3.hpp"
#include "host/system/error.hpp"
#include "host/system/log.hpp"
#include "host/system/plural.hpp"

namespace halocline {
namespace {

/// The part [from, to] of a ray, mm from its origin.
struct Span {
  double from, to;
};
constexpr Span nothing{0, 0};

Span common(const Span& a, const Span& b) {
  return {std::max(a.from, b.from), std::min(a.to, b.to)};
}

/// Coordinates of a ray's origin and direction along an axis of a body, in units of half its width.
struct Along {
  double start, step;
};
Along along(const Ray& ray, const Vector3& centre, const Vector3& half) {
  const double square = dot(half, half);
  return {dot(add_scaled(ray.origin, -1, centre), half) / square, dot(ray.direction, half) / square};
}

/// Part of the line within a slab.
Span within(const Along& a) {
  constexpr double far = std::numeric_limits<double>::max();
  if (a.step == 0) return std::abs(a.start) <= 1 ? Span{-far, far} : nothing;
  const double one = (-1 - a.start) / a.step, other = (1 - a.start) / a.step;
  return {std::min(one, other), std::max(one, other)};
}

/// Part of the line within an elliptic cylinder.
Span within(const Along& a, const Along& b) {
  constexpr double far = std::numeric_limits<double>::max();
  const double square = a.step * a.step + b.step * b.step;
  const double nearest = square == 0 ? 0 : -(a.start * a.step + b.start * b.step) / square;
  const double x = a.start + nearest * a.step, y = b.start + nearest * b.step, left = 1 - x * x - y * y;
  if (left <= 0) return nothing;
  if (square == 0) return {-far, far};
  const double half = std::sqrt(left / square);
  return {nearest - half, nearest + half};
}

/// The elliptic cylinder inscribed in a volume along the index axis nearest to the rotation axis, y, through the
/// centres of its outermost voxels, and the cylinder about y that the sources go round on.
class RoundVolume {
 public:
  RoundVolume(const Grid& volume, const Geometry& geometry) {
    std::array<double, 3> middle;
    for (int axis = 0; axis < 3; ++axis) middle[axis] = 0.5 * (static_cast<double>(volume.size[axis]) - 1);
    centre_ = volume.world(middle[0], middle[1], middle[2]);
    int upright = 0;
    for (int axis = 1; axis < 3; ++axis)
      if (std::abs(volume.direction[3 + axis]) > std::abs(volume.direction[3 + upright])) upright = axis;
    for (int axis = 0, n = 0; axis < 3; ++axis) {
      const double half = std::max(0.5, axis == upright ? middle[axis] + 0.5 : middle[axis]) * volume.spacing[axis];
      const Vector3 side{half * volume.direction[axis], half * volume.direction[3 + axis],
                         half * volume.direction[6 + axis]};
      (axis == upright ? upright_ : across_[n++]) = side;
    }
    orbit_ = std::numeric_limits<double>::max();
    for (const View& view : geometry.views) {
      const Vector3 source = source_position(view);
      orbit_ = std::min(orbit_, std::hypot(source[0], source[2]));
    }
  }
  Span part_of(const Ray& ray) const {
    const Span inside = within(along(ray, centre_, across_[0]), along(ray, centre_, across_[1]));
    const Span orbit = within(along(ray, {}, {orbit_, 0, 0}), along(ray, {}, {0, 0, orbit_}));
    return common(common(inside, orbit), within(along(ray, centre_, upright_)));
  }
  /// The greatest coordinate along a unit vector from a point.
  double farthest(const Vector3& point, const Vector3& along) const {
    return dot(add_scaled(centre_, -1, point), along) + std::abs(dot(upright_, along)) +
           std::hypot(dot(across_[0], along), dot(across_[1], along));
  }

 private:
  Vector3 centre_, upright_;
  std::array<Vector3, 2> across_;
  double orbit_;
};

/// True if one of a view's rays (as many as represent the whole detector) continues within the field of view behind the
/// detector, which bends if the radius of a cylindrical one is given.
bool any_goes_on(const View& view, double radius, const RoundVolume& field, const Grid& projections) {
  if (radius == 0 && field.farthest(source_position(view), ray_direction(view)) <= view.sdd) return false;
  const ViewRays rays(view, radius);
  const auto& d = projections.direction;
  const std::size_t columns = std::min<std::size_t>(projections.size[0], 33),
                    rows = std::min<std::size_t>(projections.size[1], 9);
  const auto spread = [](std::size_t n, std::size_t of, std::size_t pixels) {
    return of == 1 ? 0.5 * static_cast<double>(pixels - 1)
                   : static_cast<double>(n) * static_cast<double>(pixels - 1) / static_cast<double>(of - 1);
  };
  for (std::size_t row = 0; row < rows; ++row)
    for (std::size_t column = 0; column < columns; ++column) {
      const double a = projections.spacing[0] * spread(column, columns, projections.size[0]),
                   b = projections.spacing[1] * spread(row, rows, projections.size[1]);
      const double u = projections.origin[0] + d[0] * a + d[1] * b, v = projections.origin[1] + d[3] * a + d[4] * b;
      const auto slopes = ray_slopes(view, radius, u, v);
      const double bend = radius == 0 ? 0 : radius * (1 - std::cos((u + view.projection_offset_x) / radius));
      const double end = (view.sdd - bend) * std::hypot(slopes[0], slopes[1], 1.0);
      constexpr double touching = 1e-6;  // of the way: in the detector's face is not behind it
      const Span behind = common(field.part_of(rays.to(u, v)), {end, std::numeric_limits<double>::max()});
      if (behind.to - behind.from > touching * end) return true;
    }
  return false;
}

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

constexpr RayEnds all_ray_ends[] = {RayEnds::automatic, RayEnds::end, RayEnds::through};

}  // namespace

bool detector_is_virtual(const Geometry& geometry, const Grid& volume, const Grid& projections) {
  if (geometry.parallel()) return false;
  const RoundVolume field(volume, geometry);
  return std::any_of(geometry.views.begin(), geometry.views.end(), [&](const View& view) {
    return any_goes_on(view, geometry.radius_cylindrical_detector, field, projections);
  });
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
  return all_ray_ends[found - names.begin()];
}

}  // namespace halocline
