#include "algorithms/phantoms/phantoms.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <exception>
#include <functional>
#include <limits>
#include <mutex>
#include <numbers>
#include <thread>

#include "algorithms/phantoms/gravel.hpp"
#include "host/system/error.hpp"
#include "host/system/interrupt.hpp"

namespace halocline {
namespace {

using Vector3 = std::array<double, 3>;

/// A primitive ready for use: `normal` maps world offsets from the centre to coordinates in which the body is the unit
/// ball of a norm. Only that norm distinguishes the shapes when voxels are filled.
struct Body {
  Shape shape;
  std::array<double, 9> normal;
  Vector3 centre;
  double value;
  double radius2;  ///< squared radius of a ball about the centre that holds the body

  explicit Body(const Primitive& p) : shape(p.shape), normal{}, centre(p.centre), value(p.value) {
    const auto& a = p.semi_axes;
    const double x = a[0] * a[0], y = a[1] * a[1], z = a[2] * a[2];
    radius2 = shape == Shape::ellipsoid  ? std::max({x, y, z})
              : shape == Shape::cylinder ? y + std::max(x, z)
                                         : x + y + z;
    for (int axis = 0; axis < 3; ++axis)
      for (int n = 0; n < 3; ++n) normal[3 * axis + n] = p.rotation[3 * n + axis] / p.semi_axes[axis];
  }

  Vector3 turn(const Vector3& v) const {
    return {normal[0] * v[0] + normal[1] * v[1] + normal[2] * v[2],
            normal[3] * v[0] + normal[4] * v[1] + normal[5] * v[2],
            normal[6] * v[0] + normal[7] * v[1] + normal[8] * v[2]};
  }
  Vector3 local(const Vector3& p) const { return turn({p[0] - centre[0], p[1] - centre[1], p[2] - centre[2]}); }

  /// 1 on the surface, less inside.
  double norm(const Vector3& q) const {
    switch (shape) {
      case Shape::ellipsoid:
        return std::sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2]);
      case Shape::cylinder:
        return std::max(std::abs(q[1]), std::sqrt(q[0] * q[0] + q[2] * q[2]));
      default:
        return std::max({std::abs(q[0]), std::abs(q[1]), std::abs(q[2])});
    }
  }

  /// Half open at flat faces, so that bodies that touch do not both hold the points of the face between them.
  bool inside(const Vector3& q) const {
    const auto between = [](double c) { return c >= -1 && c < 1; };
    switch (shape) {
      case Shape::ellipsoid:
        return q[0] * q[0] + q[1] * q[1] + q[2] * q[2] <= 1;
      case Shape::cylinder:
        return between(q[1]) && q[0] * q[0] + q[2] * q[2] <= 1;
      default:
        return between(q[0]) && between(q[1]) && between(q[2]);
    }
  }

  /// True if a line may meet the body: cheap, and never wrongly false. The slack covers the rounding for a far origin.
  bool may_meet(const Ray& ray) const {
    double dot = 0, square = 0;
    for (int n = 0; n < 3; ++n) {
      const double w = centre[n] - ray.origin[n];
      dot += w * ray.direction[n];
      square += w * w;
    }
    return square - dot * dot <= radius2 + 1e-12 * square;
  }

  /// Length of the line q + t e inside the body in units of t; t is mm if e belongs to a unit vector of the world.
  double chord(const Vector3& q, const Vector3& e) const {
    if (shape == Shape::ellipsoid)
      return 2 *
             half_disc(q[0] * e[0] + q[1] * e[1] + q[2] * e[2], e[0] * e[0] + e[1] * e[1] + e[2] * e[2], [&](double t) {
               const double x = q[0] + t * e[0], y = q[1] + t * e[1], z = q[2] + t * e[2];
               return x * x + y * y + z * z;
             });
    Span span = slab(q[1], e[1]);
    if (shape == Shape::cylinder) {
      span = common(span, disc(q[0] * e[0] + q[2] * e[2], e[0] * e[0] + e[2] * e[2], [&](double t) {
                      const double x = q[0] + t * e[0], z = q[2] + t * e[2];
                      return x * x + z * z;
                    }));
    } else {
      span = common(common(span, slab(q[0], e[0])), slab(q[2], e[2]));
    }
    return std::max(0.0, span.to - span.from);
  }

 private:
  struct Span {
    double from, to;
  };
  static constexpr Span all{-std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity()};
  static constexpr Span none{0, 0};

  static Span common(const Span& a, const Span& b) { return {std::max(a.from, b.from), std::min(a.to, b.to)}; }

  /// |q + t e| <= 1 for one coordinate.
  static Span slab(double q, double e) {
    if (e == 0) return q >= -1 && q < 1 ? all : none;
    const double a = (-1 - q) / e, b = (1 - q) / e;
    return {std::min(a, b), std::max(a, b)};
  }

  /// Half the span of t with |q + t e|^2 <= 1, from dot = q.e, square = e.e > 0 and the squared length as a function of
  /// t. It is measured from the point closest to the centre: b^2 - a c would cancel for a far source.
  template <class Length2>
  static double half_disc(double dot, double square, Length2 length2) {
    return std::sqrt(std::max(0.0, 1 - length2(-dot / square)) / square);
  }

  template <class Length2>
  static Span disc(double dot, double square, Length2 length2) {
    if (square == 0) return length2(0) <= 1 ? all : none;
    const double closest = -dot / square, half = half_disc(dot, square, length2);
    return {closest - half, closest + half};
  }
};

/// Calls work(n) for n = 0 ... count - 1, on all cores; stops early after Ctrl-C or an exception and then throws it.
void for_each_in_parallel(std::size_t count, const std::function<void(std::size_t)>& work) {
  std::atomic<std::size_t> next{0};
  std::exception_ptr failure;
  std::mutex failing;
  const auto run = [&] {
    try {
      for (std::size_t n = next++; n < count && !interrupt_requested(); n = next++) work(n);
    } catch (...) {
      const std::lock_guard lock(failing);
      failure = std::current_exception();
      next = count;
    }
  };
  std::vector<std::jthread> helpers;
  const std::size_t cores = std::max(1u, std::thread::hardware_concurrency());
  const auto help = [&run, cancellation = current_cancellation()] {
    const CancellationScope scope(cancellation);
    run();
  };
  for (std::size_t n = 1; n < std::min(cores, count); ++n) helpers.emplace_back(help);
  run();
  helpers.clear();  // joins
  if (failure) std::rethrow_exception(failure);
  check_interrupt();
}

std::array<double, 9> about_y(double degrees) {  // from +x towards +z
  const double c = std::cos(degrees * std::numbers::pi / 180), s = std::sin(degrees * std::numbers::pi / 180);
  return {c, 0, -s, 0, 1, 0, s, 0, c};
}

/// Turns the local y axis, a cylinder's, into z.
constexpr std::array<double, 9> y_to_z{1, 0, 0, 0, 0, -1, 0, 1, 0};

void check_size(double width_mm, double mu) {
  if (!(width_mm > 0) || !std::isfinite(width_mm))
    throw InputError(fmt::format("the width of the phantom is {} mm; it must be positive and finite", width_mm));
  if (!std::isfinite(mu))
    throw InputError(fmt::format("the attenuation of the phantom is {} per mm; it must be finite", mu));
  constexpr double most = 1e9;
  if (width_mm > most || std::abs(mu) > most)
    throw InputError(fmt::format("the phantom is {:g} mm wide and attenuates by {:g} per mm; at most {:g} are expected",
                                 width_mm, mu, most));
}

/// Lengths in units of the width and values in units of mu to mm and 1/mm.
std::vector<Primitive> scaled(std::vector<Primitive> primitives, double length, double mu) {
  for (Primitive& p : primitives) {
    for (int axis = 0; axis < 3; ++axis) {
      p.semi_axes[axis] *= length;
      p.centre[axis] *= length;
    }
    p.value *= mu;
  }
  return primitives;
}

}  // namespace

const std::vector<std::string>& phantom_names() {
  static const std::vector<std::string> names{"shepp-logan", "shepp-logan-hc", "blade", "two-balls", "gravel"};
  return names;
}

PhantomType phantom_type(const std::string& name) {
  const auto& names = phantom_names();
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) {
    std::string list;
    for (const auto& known : names) list += (list.empty() ? "" : ", ") + known;
    throw InputError(fmt::format("there is no phantom \"{}\"; there are {}", name, list));
  }
  return static_cast<PhantomType>(found - names.begin());
}

std::vector<Primitive> phantom_primitives(PhantomType type, double width_mm, double mu,
                                          std::optional<std::uint64_t> seed) {
  if (seed && type != PhantomType::gravel)
    throw InputError(fmt::format("`seed` is {}, but the phantom {} has nothing random; leave it out, or take gravel",
                                 *seed, phantom_names()[static_cast<std::size_t>(type)]));
  switch (type) {
    case PhantomType::shepp_logan:
      return shepp_logan(width_mm, mu, false);
    case PhantomType::shepp_logan_hc:
      return shepp_logan(width_mm, mu, true);
    case PhantomType::blade:
      return blade(width_mm, mu);
    case PhantomType::gravel:
      return gravel(width_mm, mu, seed.value_or(1));
    default:
      return two_balls(width_mm, mu);
  }
}

std::vector<Primitive> gravel(double width_mm, double mu, std::uint64_t seed) {
  check_size(width_mm, mu);
  return scaled(unit_gravel(seed), width_mm, mu);
}

std::vector<Primitive> shepp_logan(double width_mm, double mu, bool high_contrast) {
  check_size(width_mm, mu);
  struct Row {
    Vector3 semi_axes, centre;
    double degrees, density, high_contrast_density;
  };
  static constexpr Row table[] = {
      {{.69, .90, .92}, {0, 0, 0}, 0, 2, 1},
      {{.6624, .880, .874}, {0, 0, 0}, 0, -.98, -.8},
      {{.41, .21, .16}, {-.22, -.25, 0}, 108, -.02, -.2},
      {{.31, .22, .11}, {.22, -.25, 0}, 72, -.02, -.2},
      {{.21, .50, .25}, {0, -.25, .35}, 0, .02, .2},
      {{.046, .046, .046}, {0, -.25, .10}, 0, .02, .2},
      {{.046, .02, .023}, {-.08, -.25, -.65}, 0, .01, .1},
      {{.046, .02, .023}, {.06, -.25, -.65}, 90, .01, .1},
      {{.056, .1, .04}, {.06, .625, -.105}, 90, .02, .2},
      {{.056, .1, .056}, {0, .625, .1}, 0, -.02, -.2},
  };
  std::vector<Primitive> out;
  for (const Row& row : table)
    out.push_back({Shape::ellipsoid, row.semi_axes, row.centre, about_y(row.degrees),
                   high_contrast ? row.high_contrast_density : row.density});
  return scaled(out, 0.5 * width_mm, mu);
}

std::vector<Primitive> two_balls(double width_mm, double mu) {
  check_size(width_mm, mu);
  Primitive large, small;
  large.semi_axes = {.45, .45, .45};
  large.value = 1;
  small.semi_axes = {.2, .2, .2};
  small.centre = {-.15, 0, 0};
  small.value = .5;  // it is entirely inside the large one
  return scaled({large, small}, width_mm, mu);
}

namespace {

// The blade, in units of its width; `blade_voxel` is one of a 128^3 grid. Fine structures are centred on voxel centres
// of that grid.
constexpr double blade_voxel = 1.0 / 128;

struct Bore {
  double x, diameter;
};
constexpr Bore bores[] = {{10.5 * blade_voxel, 4 * blade_voxel},
                          {16.5 * blade_voxel, 3 * blade_voxel},
                          {20.5 * blade_voxel, 2 * blade_voxel},
                          {23.5 * blade_voxel, 1.5 * blade_voxel}};
constexpr double bore_z = 0.5 * blade_voxel, bore_bottom = -32 * blade_voxel, bore_top = 3 * blade_voxel;

struct Slot {
  double y, width;
};
constexpr Slot slots[] = {{-37.5 * blade_voxel, 4 * blade_voxel},
                          {-42.5 * blade_voxel, 3 * blade_voxel},
                          {-46.5 * blade_voxel, 2 * blade_voxel},
                          {-50.5 * blade_voxel, 1.5 * blade_voxel}};
constexpr double slot_x = 15 * blade_voxel, slot_half_x = 6.5 * blade_voxel, slot_half_z = 2.5 * blade_voxel;

}  // namespace

std::vector<Primitive> blade(double width_mm, double mu) {
  check_size(width_mm, mu);
  std::vector<Primitive> out;
  const auto add = [&](Shape shape, const Vector3& centre, const Vector3& semi_axes, double value) -> Primitive& {
    out.push_back({shape, semi_axes, centre, Primitive{}.rotation, value});
    return out.back();
  };
  // Root: three tiers on a platform, with two cooling bores and a casting pore. The faces between two bodies touch, and
  // contain no sample point of a sensible grid: rounding could count such a point in both or in neither.
  constexpr double blade_top = .0601, platform_top = .1003, neck = .2003, shoulder = .3003, top = .42;
  const auto layer = [&](Shape shape, double from, double to, double half_x, double half_z) {
    add(shape, {0, 0.5 * (from + to), 0}, {half_x, 0.5 * (to - from), half_z}, 1);
  };
  layer(Shape::box, blade_top, platform_top, .36, .32);
  layer(Shape::box, platform_top, neck, .34, .30);
  layer(Shape::box, neck, shoulder, .28, .30);
  layer(Shape::box, shoulder, top, .34, .30);
  add(Shape::cylinder, {-.2, .26, 0}, {.045, .14, .045}, -1);
  add(Shape::cylinder, {.2, .26, 0}, {.045, .14, .045}, -1);
  add(Shape::ellipsoid, {.02, .36, .2}, {.03, .02, .04}, -1).rotation = about_y(30);
  // Aerofoil: leading edge at -x, a cooling channel with thin walls, and a film-cooling duct along z below it.
  layer(Shape::cylinder, -.44, blade_top, .24, .065);
  add(Shape::cylinder, {-.1, -.16, 0}, {.05, .2, .032}, -1);
  add(Shape::cylinder, {-.1, -.4, 0}, {.016, .03, .012}, -1).rotation = y_to_z;
  for (const Bore& bore : bores)
    add(Shape::cylinder, {bore.x, 0.5 * (bore_bottom + bore_top), bore_z},
        {0.5 * bore.diameter, 0.5 * (bore_top - bore_bottom), 0.5 * bore.diameter}, -1);
  for (const Slot& slot : slots) add(Shape::box, {slot_x, slot.y, 0}, {slot_half_x, 0.5 * slot.width, slot_half_z}, -1);
  for (int n = 0; n < 6; ++n)
    add(Shape::ellipsoid, {-.195, -.38 + .06 * n, 0}, {1.5 * blade_voxel, 1.5 * blade_voxel, 1.5 * blade_voxel}, -1);
  return scaled(out, width_mm, mu);
}

BladeRegions blade_regions(double width_mm) {
  check_size(width_mm, 1);
  const auto region = [&](const Vector3& centre, const Vector3& half) {
    Region out{centre, half};
    for (int axis = 0; axis < 3; ++axis) {
      out.centre[axis] *= width_mm;
      out.half_size[axis] *= width_mm;
    }
    return out;
  };
  BladeRegions out;
  out.noisy = region({0, .26, 0}, {.12, .12, .12});
  out.quiet = region({.005, -.19, 0}, {.035, .22, .03});
  for (std::size_t n = 0; n < std::size(bores); ++n) {
    const Bore& bore = bores[n];
    const double half = bore.diameter / (2 * std::numbers::sqrt2);  // the square inscribed in the bore
    const double middle = 0.5 * (bore_bottom + bore_top), half_y = 0.4 * (bore_top - bore_bottom);
    // the wall on the side of +z: every bore has several voxels of solid there
    const double wall_z = bore_z + 0.5 * bore.diameter + 1.25 * blade_voxel;
    out.bores.push_back({bore.diameter * width_mm, region({bore.x, middle, bore_z}, {half, half_y, half}),
                         region({bore.x, middle, wall_z}, {half, half_y, blade_voxel})});
  }
  for (std::size_t n = 0; n < std::size(slots); ++n) {
    const Slot& slot = slots[n];
    // the solid between this slot and the one above it (above the first: up to the bores)
    const double bottom = slot.y + 0.5 * slot.width;
    const double top = n == 0 ? bore_bottom : slots[n - 1].y - 0.5 * slots[n - 1].width;
    out.slots.push_back(
        {slot.width * width_mm, region({slot_x, slot.y, 0}, {0.9 * slot_half_x, 0.5 * slot.width, 0.9 * slot_half_z}),
         region({slot_x, 0.5 * (bottom + top), 0}, {0.9 * slot_half_x, 0.5 * (top - bottom), 0.9 * slot_half_z})});
  }
  return out;
}

double attenuation(const std::vector<Primitive>& primitives, const std::array<double, 3>& point) {
  double sum = 0;
  for (const Primitive& p : primitives) {
    const Body body(p);
    if (body.inside(body.local(point))) sum += p.value;
  }
  return sum;
}

double line_integral(const std::vector<Primitive>& primitives, const std::array<double, 3>& point,
                     const std::array<double, 3>& direction) {
  double sum = 0;
  for (const Primitive& p : primitives) {
    const Body body(p);
    sum += body.value * body.chord(body.local(point), body.turn(direction));
  }
  return sum;
}

namespace {

/// A body on a grid: its local coordinates as an affine function of the index, and the box of voxels that it can touch.
struct BodyOnGrid {
  Body body;
  Vector3 at_zero;              ///< local coordinates of voxel (0,0,0)
  std::array<Vector3, 3> step;  ///< their change for one voxel along each index axis
  std::array<std::size_t, 3> begin{}, end{};
  std::vector<Vector3> samples;  ///< offsets of the sample points of a voxel, in local coordinates
  double reach = 0;              ///< the largest norm of such an offset

  BodyOnGrid(const Primitive& p, const Grid& grid, int supersampling)
      : body(p), at_zero(body.local(grid.world(0, 0, 0))), step{} {
    for (int axis = 0; axis < 3; ++axis) {
      Vector3 along;
      for (int n = 0; n < 3; ++n) along[n] = grid.direction[3 * n + axis] * grid.spacing[axis];
      step[axis] = body.turn(along);
      // half the extent of the body's circumscribed local box along this index axis, and a voxel more for the samples
      double half = 1;
      for (int local = 0; local < 3; ++local) {
        double cosine = 0;
        for (int n = 0; n < 3; ++n) cosine += p.rotation[3 * n + local] * grid.direction[3 * n + axis];
        half += std::abs(cosine) * p.semi_axes[local] / grid.spacing[axis];
      }
      const double centre = grid.index(p.centre[0], p.centre[1], p.centre[2])[axis];
      const double size = static_cast<double>(grid.size[axis]);
      begin[axis] = static_cast<std::size_t>(std::clamp(std::floor(centre - half), 0.0, size));
      end[axis] = static_cast<std::size_t>(std::clamp(std::ceil(centre + half) + 1, 0.0, size));
    }
    const auto shift = [&](int n) { return (n + 0.5) / supersampling - 0.5; };
    for (int c = 0; c < supersampling; ++c)
      for (int b = 0; b < supersampling; ++b)
        for (int a = 0; a < supersampling; ++a) {
          samples.push_back(combine(shift(a), shift(b), shift(c), {0, 0, 0}));
          reach = std::max(reach, body.norm(samples.back()));
        }
    reach += 1e-9;
  }

  Vector3 combine(double i, double j, double k, const Vector3& from) const {
    Vector3 out;
    for (int n = 0; n < 3; ++n) out[n] = from[n] + i * step[0][n] + j * step[1][n] + k * step[2][n];
    return out;
  }

  /// The part of the voxel's samples inside the body: all or none, unless the surface is within their reach.
  double fraction(std::size_t i, std::size_t j, std::size_t k) const {
    const Vector3 q = combine(static_cast<double>(i), static_cast<double>(j), static_cast<double>(k), at_zero);
    const double norm = body.norm(q);
    if (norm > 1 + reach) return 0;
    if (norm < 1 - reach) return 1;
    std::size_t inside = 0;
    for (const Vector3& sample : samples)
      inside += body.inside({q[0] + sample[0], q[1] + sample[1], q[2] + sample[2]}) ? 1 : 0;
    return static_cast<double>(inside) / static_cast<double>(samples.size());
  }
};

}  // namespace

Volume voxelise(const std::vector<Primitive>& primitives, const Grid& grid, int supersampling) {
  check_grid(grid, "the grid of the phantom");
  if (supersampling < 1 || supersampling > 16)
    throw InputError(
        fmt::format("supersampling {}; 1 to 16 points along each edge of a voxel are possible", supersampling));
  std::vector<BodyOnGrid> bodies;
  for (const Primitive& p : primitives) bodies.emplace_back(p, grid, supersampling);
  Volume out(grid);
  for_each_in_parallel(grid.size[2], [&](std::size_t k) {
    std::vector<double> slice(grid.slice(), 0.0);
    for (const BodyOnGrid& b : bodies) {
      if (k < b.begin[2] || k >= b.end[2]) continue;
      for (std::size_t j = b.begin[1]; j < b.end[1]; ++j)
        for (std::size_t i = b.begin[0]; i < b.end[0]; ++i)
          slice[i + grid.size[0] * j] += b.body.value * b.fraction(i, j, k);
    }
    std::copy(slice.begin(), slice.end(), out.voxels.begin() + static_cast<std::ptrdiff_t>(k * grid.slice()));
  });
  return out;
}

Volume voxelise(PhantomType type, const Grid& grid, double width_mm, double mu, int supersampling) {
  return voxelise(phantom_primitives(type, width_mm, mu), grid, supersampling);
}

Volume project_analytic(const std::vector<Primitive>& primitives, const Geometry& geometry, const Grid& projections) {
  check_projections(projections, "the projection stack", geometry, "the geometry", DetectorShape::flat_or_cylinder);
  const std::vector<Body> bodies(primitives.begin(), primitives.end());
  Volume out(projections);
  const std::size_t columns = projections.size[0], rows = projections.size[1];
  for_each_in_parallel(rows * projections.size[2], [&](std::size_t line) {
    const std::size_t row = line % rows, index = line / rows;
    const ViewRays rays(geometry.views[index], geometry.radius_cylindrical_detector);
    for (std::size_t column = 0; column < columns; ++column) {
      const auto pixel = projections.world(static_cast<double>(column), static_cast<double>(row), 0);
      const Ray ray = rays.to(pixel[0], pixel[1]);
      double sum = 0;
      for (const Body& body : bodies)
        if (body.may_meet(ray)) sum += body.value * body.chord(body.local(ray.origin), body.turn(ray.direction));
      out.at(column, row, index) = static_cast<float>(sum);
    }
  });
  return out;
}

}  // namespace halocline
