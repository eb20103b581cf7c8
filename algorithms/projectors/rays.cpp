#include "algorithms/projectors/rays.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "algorithms/projectors/coordinate_error.hpp"
#include "algorithms/projectors/ray_ends.hpp"
#include "algorithms/support/vector3.hpp"
#include "host/system/error.hpp"

namespace halocline {
namespace {

Vector3 minus(const Vector3& a, const Vector3& b) {
  return {a[0] - b[0], a[1] - b[1], a[2] - b[2]};
}

/// World mm to volume indices about the volume's centre.
Vector3 centred_index(const Grid& volume, const Vector3& world) {
  Vector3 index = volume.index(world[0], world[1], world[2]);
  for (int axis = 0; axis < 3; ++axis) index[axis] -= 0.5 * (static_cast<double>(volume.size[axis]) - 1);
  return index;
}

/// The detector's physical (u, v) of a pixel index.
Vector3 pixel(const View& view, const Grid& volume, const Grid& projections, double column, double row) {
  const auto& d = projections.direction;
  const double a = column * projections.spacing[0], b = row * projections.spacing[1];
  const double u = projections.origin[0] + d[0] * a + d[1] * b, v = projections.origin[1] + d[3] * a + d[4] * b;
  return centred_index(volume, detector_point(view, u, v));
}

/// A point of the detector in pixels from its centre.
struct DetectorPlace {
  double u, v;
};

/// A view's pixels on the plane that touches a cylindrical detector; those of a flat one unchanged.
class Touching {
 public:
  Touching(const View& view, const Grid& projections, double radius)
      : view_(view), radius_(radius), half_(0.5 * (static_cast<double>(projections.size[0]) - 1)) {
    for (int axis = 0; axis < 2; ++axis) {
      pitch_[axis] = projections.direction[4 * axis] * projections.spacing[axis];
      centre_[axis] = projections.origin[axis] + 0.5 * (static_cast<double>(projections.size[axis]) - 1) * pitch_[axis];
    }
  }

  /// The share of the way to that plane after which the ray meets the detector.
  double share(double u) const { return radius_ == 0 ? 1 : 1 - radius_ / view_.sdd * (1 - std::cos(angle(u))); }
  DetectorPlace operator()(DetectorPlace at) const {
    if (radius_ == 0) return at;
    const double across = view_.source_offset_x - view_.projection_offset_x,
                 along = view_.source_offset_y - view_.projection_offset_y;
    const double u = (radius_ * std::sin(angle(at.u)) - view_.source_offset_x) / share(at.u) + across;
    const double v = (centre_[1] + pitch_[1] * at.v - along) / share(at.u) + along;
    return {(u - centre_[0]) / pitch_[0], view_.fan_stack ? at.v : (v - centre_[1]) / pitch_[1]};
  }
  /// cl/rays.clh's, of the places half a column apart.
  std::vector<float> arc() const {
    std::vector<float> out;
    for (double u = -half_ - 0.5; u <= half_ + 0.75; u += 0.5) {
      const DetectorPlace middle = (*this)({u, 0});
      const double step = view_.fan_stack ? 1 : 1 / share(u);
      for (const double value : {middle.u, middle.v, step, share(u)}) out.push_back(static_cast<float>(value));
    }
    return out;
  }

 private:
  double angle(double u) const { return (view_.projection_offset_x + centre_[0] + pitch_[0] * u) / radius_; }

  const View& view_;
  double radius_, half_;
  std::array<double, 2> pitch_, centre_;  // mm
};

/// Direction and moment at the detector's centre and their steps a column and a row: what cl/rays.clh says. Stack of
/// fans: those within a slice, and k of the middle row and its step a row.
struct ViewVectors : std::array<Vector3, 6> {
  bool fan_stack = false;
  double k = 0, k_step = 0;
};
ViewVectors vectors_of_fans(const View& view, const Grid& volume, const Grid& projections) {
  const double column = 0.5 * (static_cast<double>(projections.size[0]) - 1),
               row = 0.5 * (static_cast<double>(projections.size[1]) - 1);
  const auto level = [](Vector3 point) {
    point[2] = 0;
    return point;
  };
  const Vector3 centre = level(pixel(view, volume, projections, column, row)),
                step = level(minus(pixel(view, volume, projections, column + 1, row), centre)),
                source = level(centred_index(volume, source_position(view)));
  const Matrix34 m = index_to_detector(view, volume, projections);
  return {{minus(centre, source), cross(source, centre), step, cross(source, step), {}, {}},
          true,
          (row - m[7]) / m[6],
          1 / m[6]};
}
ViewVectors vectors_of(const View& view, const Grid& volume, const Grid& projections) {
  if (view.fan_stack) return vectors_of_fans(view, volume, projections);
  const double column = 0.5 * (static_cast<double>(projections.size[0]) - 1),
               row = 0.5 * (static_cast<double>(projections.size[1]) - 1);
  const Vector3 centre = pixel(view, volume, projections, column, row);
  const Vector3 step_u = minus(pixel(view, volume, projections, column + 1, row), centre);
  const Vector3 step_v = minus(pixel(view, volume, projections, column, row + 1), centre);
  if (view.parallel()) {
    const Vector3 origin = volume.world(0, 0, 0), along = ray_direction(view);
    Vector3 direction = minus(centred_index(volume, {origin[0] + along[0], origin[1] + along[1], origin[2] + along[2]}),
                              centred_index(volume, origin));
    if (projections.size[1] > 1) {  // rows on slices are so to the bit if the only divisors are 1 and -1
      const double longest = std::max({std::abs(direction[0]), std::abs(direction[1]), std::abs(direction[2])});
      for (double& component : direction) component /= longest;
    }
    return {{direction, cross(centre, direction), Vector3{}, cross(step_u, direction), Vector3{},
             cross(step_v, direction)}};
  }
  const Vector3 source = centred_index(volume, source_position(view));
  return {{minus(centre, source), cross(source, centre), step_u, cross(source, step_u), step_v, cross(source, step_v)}};
}

struct CentredRay {
  Vector3 direction, moment;
};
CentredRay ray_at(const ViewVectors& view, double u, double v) {
  CentredRay ray;
  for (int axis = 0; axis < 3; ++axis) {
    ray.direction[axis] = view[0][axis] + u * view[2][axis] + v * view[4][axis];
    ray.moment[axis] = view[1][axis] + u * view[3][axis] + v * view[5][axis];
  }
  if (view.fan_stack) {
    const double k = view.k + v * view.k_step;
    ray.moment[0] = -k * ray.direction[1], ray.moment[1] = k * ray.direction[0];
  }
  return ray;
}

/// The bits of the axes that a ray of the view may follow. Direction components are affine over the detector, so one
/// axis beats another everywhere if it does so, with one sign, in all corners.
std::int32_t axes_of(const ViewVectors& view, const DetectorPlace& low, const DetectorPlace& high) {
  std::int32_t axes = 0;
  for (int axis = 0; axis < 3; ++axis) {
    bool beaten = false;
    for (int other = 0; other < 3; ++other)
      for (const double sign : {-1.0, 1.0}) {
        bool everywhere = other != axis;
        for (int corner = 0; corner < 4; ++corner) {
          const auto d = ray_at(view, (corner & 1 ? high : low).u, (corner & 2 ? high : low).v).direction;
          everywhere = everywhere && sign * d[other] * (1 - 1e-5) > std::abs(d[axis]);
        }
        beaten = beaten || everywhere;
      }
    if (!beaten) axes |= 1 << axis;
  }
  return view.fan_stack ? axes & 3 : axes;
}

/// The least and the greatest place of all pixels on the plane that touches the detector.
std::array<DetectorPlace, 2> bounds(const Touching& touching, double half_u, double half_v) {
  std::array<DetectorPlace, 2> all{touching({-half_u, -half_v}), touching({half_u, half_v})};
  for (double u = -half_u; u <= half_u; u += 0.5)
    for (const double v : {-half_v, half_v}) {
      const DetectorPlace at = touching({u, v});
      all[0] = {std::min(all[0].u, at.u), std::min(all[0].v, at.v)};
      all[1] = {std::max(all[1].u, at.u), std::max(all[1].v, at.v)};
    }
  return all;
}

/// Places of the corners of the volume, or of the reach of its voxels. widths: RayTable's.
struct Corners {
  bool behind_source = false, beyond_detector = false;
  double depth = 0;  // of the farthest from the source, mm along the perpendicular to the detector
};
Corners corners_of(const View& view, double radius, const Grid& volume, const Vector3& widths) {
  Corners corners;
  for (int corner = 0; corner < 8; ++corner) {
    Vector3 index;
    for (int axis = 0; axis < 3; ++axis) {
      const double reach = std::max(1.0, 0.5 + 0.5 * widths[axis]);  // of interpolation, and of a pixel's shadow
      index[axis] = corner >> axis & 1 ? static_cast<double>(volume.size[axis]) - 1 + reach : -reach;
    }
    const Vector3 point = volume.world(index[0], index[1], index[2]), along = ray_direction(view),
                  way = minus(point, source_position(view));
    const Whereabouts where = whereabouts(view, radius, point);
    corners.behind_source = corners.behind_source || where == Whereabouts::behind_source;
    corners.beyond_detector = corners.beyond_detector || where == Whereabouts::beyond_detector;
    corners.depth = std::max(corners.depth, way[0] * along[0] + way[1] * along[1] + way[2] * along[2]);
  }
  return corners;
}

/// Sources, where rays end within the volume. Rays that run through a virtual detector end behind the volume: their
/// vectors, a multiple of which is the same line, are made so many times as long (a power of 2, which changes no bit).
void add_sources(RayTable& table, const Geometry& geometry, const Grid& volume, const Grid& projections) {
  const double radius = geometry.radius_cylindrical_detector;
  const bool through = ray_ends(geometry, volume, projections) == RayEnds::through;
  std::vector<Corners> corners;
  for (const View& view : geometry.views) corners.push_back(corners_of(view, radius, volume, table.widths));
  if (std::none_of(corners.begin(), corners.end(),
                   [&](const Corners& each) { return each.behind_source || (each.beyond_detector && !through); }))
    return;
  for (std::size_t n = 0; n < geometry.views.size(); ++n) {
    for (const double value : centred_index(volume, source_position(geometry.views[n])))
      table.sources.push_back(static_cast<float>(value));
    table.sources.push_back(0);
    if (!through || geometry.views[n].parallel()) continue;
    constexpr double least_share = 0.1;  // of a cylindrical detector: check_projections()
    const double beyond = 2 * corners[n].depth / (least_share * geometry.views[n].sdd);
    const auto factor = static_cast<float>(std::exp2(std::ceil(std::log2(std::max(1.0, beyond)))));
    for (std::size_t at = 18 * n; at < 18 * (n + 1); ++at) table.rays[at] *= factor;
  }
}

void add_arc(RayTable& table, const Touching& touching, std::size_t view, std::size_t views) {
  const std::vector<float> arc = touching.arc();
  for (std::size_t at = 4; at < arc.size(); at += 4)
    if (!(arc[at] > arc[at - 4]))
      throw InputError(
          fmt::format("the cylindrical detector turns back, as the source of view {} sees it; check its radius and the "
                      "offsets of source and detector, in mm",
                      view));
  if (view == 0) table.arcs = arc;
  if (table.arcs.size() == arc.size()) {  // the same in all views so far
    if (table.arcs == arc) return;
    const std::vector<float> shared = table.arcs;
    table.arcs.reserve(arc.size() * views);
    for (std::size_t n = 1; n < view; ++n) table.arcs.insert(table.arcs.end(), shared.begin(), shared.end());
  }
  table.arcs.insert(table.arcs.end(), arc.begin(), arc.end());
}

/// Error that float32 causes in the rays of a view, in voxels, at the points nearest to the volume's middle of those
/// rays that meet the volume: of the corners, the middles of the edges and the centre of the detector.
double rounding_of(const ViewVectors& exact, const float* rounded, const Grid& volume, const DetectorPlace& low,
                   const DetectorPlace& high) {
  const auto foot = [](const auto& d, const auto& m) {  // d x M / |d|^2
    const auto inverse = 1 / (d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
    return std::array{(d[1] * m[2] - d[2] * m[1]) * inverse, (d[2] * m[0] - d[0] * m[2]) * inverse,
                      (d[0] * m[1] - d[1] * m[0]) * inverse};
  };
  double error = 0;
  for (int n = 0; n < 9; ++n) {
    const double u = low.u + 0.5 * (n % 3) * (high.u - low.u), v = low.v + 0.5 * (n / 3) * (high.v - low.v);
    const CentredRay ray = ray_at(exact, u, v);
    const Vector3 at = foot(ray.direction, ray.moment);
    std::array<float, 6> r;
    for (int axis = 0; axis < 6; ++axis)
      r[axis] = std::fma(static_cast<float>(u), rounded[6 + axis],
                         std::fma(static_cast<float>(v), rounded[12 + axis], rounded[axis]));
    if (exact.fan_stack) {
      const float k = std::exchange(r[2], 0.0f);
      r[3] = -(k * r[1]), r[4] = k * r[0];
    }
    const auto found = foot(std::array{r[0], r[1], r[2]}, std::array{r[3], r[4], r[5]});
    bool meets = true;
    for (int axis = 0; axis < 3; ++axis) meets = meets && std::abs(at[axis]) <= static_cast<double>(volume.size[axis]);
    for (int axis = 0; meets && axis < 3; ++axis)
      error = std::max(error, std::abs(static_cast<double>(found[axis]) - at[axis]));
  }
  return error;
}

/// True if the rays of a view run within the one slice of a volume: level, and within half a slice of its middle.
bool runs_within_slice(const ViewVectors& view, const DetectorPlace& low, const DetectorPlace& high) {
  constexpr double level = 1e-9;
  for (const double u : {low.u, high.u}) {
    const auto [d, m] = ray_at(view, u, 0);
    const double square = d[0] * d[0] + d[1] * d[1];
    if (std::abs(d[2]) > level * std::sqrt(square) || std::abs(d[0] * m[1] - d[1] * m[0]) > 0.5 * square) return false;
  }
  return true;
}

/// Enlarges `widths` to what a pixel casts on the first and the last plane across axis a. ray_to: the ray to a point so
/// many pixels from its middle.
void enlarge(Vector3& widths, const auto& ray_to, int a, const Grid& volume) {
  const int b = (a + 1) % 3, c = (a + 2) % 3;
  const double end = 0.5 * (static_cast<double>(volume.size[a]) - 1);
  for (const double p : {-end, end}) {
    const auto point = [&](double du, double dv) -> std::array<double, 2> {
      const auto ray = ray_to(du, dv);
      const auto &d = ray.direction, &m = ray.moment;
      return {(p * d[b] - m[c]) / d[a], (m[b] + p * d[c]) / d[a]};
    };
    const auto left = point(-0.5, 0), right = point(0.5, 0), below = point(0, -0.5), above = point(0, 0.5);
    widths[b] = std::max(widths[b], std::abs(right[0] - left[0]) + std::abs(above[0] - below[0]));
    widths[c] = std::max(widths[c], std::abs(right[1] - left[1]) + std::abs(above[1] - below[1]));
  }
}

/// Enlarges `widths` to what pixel (u, v) casts on the first and the last plane across the axis that its ray follows.
void enlarge(Vector3& widths, const ViewVectors& view, const Touching& touching, const DetectorPlace& pixel,
             const Grid& volume) {
  const auto ray_to = [&](double du, double dv) {
    const DetectorPlace at = touching({pixel.u + du, pixel.v + dv});
    return ray_at(view, at.u, at.v);
  };
  const auto direction = ray_to(0, 0).direction;
  const double longest = std::max({std::abs(direction[0]), std::abs(direction[1]), std::abs(direction[2])});
  constexpr double tie = 0.99;  // rounding may let kernels follow either axis
  for (int a = 0; a < 3; ++a)
    if (std::abs(direction[a]) >= tie * longest) enlarge(widths, ray_to, a, volume);
}

/// Parts of the way from the detector's middle to `edge`, and beyond to -edge, between which shadows are looked at:
/// rays turn by at most 1 / 25 from one to the next, so that the width changes by less than the 5 % that are added.
int parts_along(const ViewVectors& view, const Touching& touching, const DetectorPlace& edge) {
  constexpr double turn = 0.04;
  const auto direction = [&](double part) {
    const DetectorPlace at = touching({part * edge.u, part * edge.v});
    return ray_at(view, at.u, at.v).direction;
  };
  const auto angle = [](const auto& a, const auto& b) {
    double product = 0, square_a = 0, square_b = 0;
    for (int axis = 0; axis < 3; ++axis)
      product += a[axis] * b[axis], square_a += a[axis] * a[axis], square_b += b[axis] * b[axis];
    return std::acos(std::clamp(product / std::sqrt(square_a * square_b), -1.0, 1.0));
  };
  int parts = 4;
  const auto turns_too_far = [&] {
    for (int n = -parts; n < parts; ++n)
      if (angle(direction(1.0 * n / parts), direction((n + 1.0) / parts)) > turn) return true;
    return false;
  };
  while (parts < std::max(edge.u, edge.v) && turns_too_far()) parts *= 2;
  return parts;
}

}  // namespace

Whereabouts whereabouts(const View& view, double radius, const std::array<double, 3>& point) {
  if (view.parallel()) return Whereabouts::between;
  const Vector3 from_source = minus(point, source_position(view)), along = ray_direction(view),
                across = minus(detector_point(view, 1, 0), detector_point(view, 0, 0));
  const double depth = dot(from_source, along), x = dot(from_source, across) + view.source_offset_x;
  const double bend = radius == 0 ? 0 : radius - std::sqrt(std::max(0.0, radius * radius - x * x));
  return depth <= 0                 ? Whereabouts::behind_source
         : depth >= view.sdd - bend ? Whereabouts::beyond_detector
                                    : Whereabouts::between;
}

bool RayTable::any_follows(int axis) const {
  return std::any_of(axes.begin(), axes.end(), [&](std::int32_t each) { return (each >> axis & 1) != 0; });
}

bool RayTable::upright() const {
  bool result = !any_follows(2);
  for (std::size_t view = 0; result && view < axes.size(); ++view) {
    const float* step = &rays[18 * view + 12];  // of direction and moment, a row
    result = step[0] == 0 && step[1] == 0 && step[5] == 0;
  }
  return result;
}

RayTable make_rays(const Geometry& geometry, const Grid& volume, const Grid& projections) {
  RayTable table;
  table.fan_stack = geometry.fan_stack();
  const double half_u = 0.5 * (static_cast<double>(projections.size[0]) - 1),
               half_v = 0.5 * (static_cast<double>(projections.size[1]) - 1);
  const double radius = geometry.radius_cylindrical_detector;
  double rounding = 0;
  table.within_slice = projections.size[1] == 1 && volume.size[2] == 1;
  for (std::size_t n = 0; n < geometry.views.size(); ++n) {
    const View& each = geometry.views[n];
    const ViewVectors view = vectors_of(each, volume, projections);
    const Touching touching(each, projections, radius);
    for (const Vector3& vector : view)
      for (const double value : vector) table.rays.push_back(static_cast<float>(value));
    if (each.fan_stack) {
      float* rays = &table.rays[18 * n];
      rays[2] = static_cast<float>(view.k), rays[14] = static_cast<float>(view.k_step);
    }
    const auto [low, high] = radius == 0 ? std::array<DetectorPlace, 2>{{{-half_u, -half_v}, {half_u, half_v}}}
                                         : bounds(touching, half_u, half_v);
    table.axes.push_back(axes_of(view, low, high));
    table.within_slice = table.within_slice && runs_within_slice(view, low, high);
    rounding = std::max(rounding, rounding_of(view, &table.rays[18 * n], volume, low, high));
    const std::array<int, 2> parts{parts_along(view, touching, {half_u, 0}), parts_along(view, touching, {0, half_v})};
    for (int i = -parts[0]; i <= parts[0]; ++i)
      for (int j = -parts[1]; j <= parts[1]; ++j)
        enlarge(table.widths, view, touching, {half_u * i / parts[0], half_v * j / parts[1]}, volume);
    if (radius != 0) add_arc(table, touching, n, geometry.views.size());
  }
  const double pixel = std::max({table.widths[0], table.widths[1], table.widths[2]});
  if (rounding > most_coordinate_error * pixel) refuse_coordinates(rounding / pixel);
  if (table.within_slice) table.widths[2] = std::max(table.widths[2], 1.0);
  for (double& width : table.widths) width *= 1.05;
  if (!geometry.parallel()) add_sources(table, geometry, volume, projections);
  return table;
}

}  // namespace halocline
