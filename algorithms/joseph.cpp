#include "algorithms/joseph.hpp"

#include <array>

namespace halocline {
namespace {

using Vector3 = std::array<double, 3>;

Vector3 minus(const Vector3& a, const Vector3& b) {
  return {a[0] - b[0], a[1] - b[1], a[2] - b[2]};
}
Vector3 cross(const Vector3& a, const Vector3& b) {
  return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
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

/// Direction and moment at the detector's centre and their steps a column and a row: what joseph.cl's header says.
void append_rays(std::vector<float>& rays, const View& view, const Grid& volume, const Grid& projections) {
  const double column = 0.5 * (static_cast<double>(projections.size[0]) - 1),
               row = 0.5 * (static_cast<double>(projections.size[1]) - 1);
  const Vector3 centre = pixel(view, volume, projections, column, row);
  const Vector3 step_u = minus(pixel(view, volume, projections, column + 1, row), centre);
  const Vector3 step_v = minus(pixel(view, volume, projections, column, row + 1), centre);
  std::array<Vector3, 6> out{};
  if (view.parallel()) {
    const Vector3 origin = volume.world(0, 0, 0), along = ray_direction(view);
    const Vector3 direction =
        minus(centred_index(volume, {origin[0] + along[0], origin[1] + along[1], origin[2] + along[2]}),
              centred_index(volume, origin));
    out = {direction, cross(centre, direction), Vector3{}, cross(step_u, direction),
           Vector3{}, cross(step_v, direction)};
  } else {
    const Vector3 source = centred_index(volume, source_position(view));
    out = {minus(centre, source), cross(source, centre), step_u, cross(source, step_u), step_v, cross(source, step_v)};
  }
  for (const Vector3& vector : out)
    for (const double value : vector) rays.push_back(static_cast<float>(value));
}

}  // namespace

Joseph::Joseph(const Geometry& geometry, const Grid& volume, const Grid& projections)
    : volume_(volume), projections_(projections) {
  for (const View& view : geometry.views) append_rays(rays_, view, volume, projections);
}

Requirements Joseph::requirements() const {
  Requirements requirements;
  requirements.algorithm = "project";
  requirements.size = volume_.size;
  requirements.stack = projections_.size;
  requirements.arrays = {{.name = "volume", .kind = ArrayKind::volume, .lifetime = Lifetime::input},
                         {.name = "projections", .kind = ArrayKind::projections, .lifetime = Lifetime::output},
                         {.name = "rays", .kind = ArrayKind::fixed, .elements = rays_.size()}};
  requirements.halo_high = 1;
  requirements.kernels = {"joseph_project"};
  return requirements;
}

void Joseph::start(Slab& slab) const {
  slab.set("rays", rays_.data(), rays_.size() * sizeof(float));
}

void Joseph::project(Slab& slab, Range views) const {
  const auto held = volume_.slice() * static_cast<std::size_t>(slab.extended().count());
  const bool narrow = held < std::size_t{1} << 30;  // a ray may look a slice beyond before it is told to stop
  const auto number = [](auto value) { return static_cast<std::int32_t>(value); };
  slab.launch({"joseph.cl", "joseph_project", narrow ? "-D INDEX=int" : "-D INDEX=long"},
              {projections_.size[0], projections_.size[1], static_cast<std::size_t>(views.count())},
              {in("volume"), in("rays"), inout("projections"), slab.nx(), slab.ny(), slab.nz(), slab.offset(),
               number(slab.interior().begin), number(slab.interior().end), static_cast<float>(volume_.spacing[0]),
               static_cast<float>(volume_.spacing[1]), static_cast<float>(volume_.spacing[2]),
               number(projections_.size[0]), number(projections_.size[1]), number(views.begin), number(views.count())});
}

RunResult project(const Volume& volume, const Geometry& geometry, const Grid& projections,
                  const std::vector<Device>& devices, const RunOptions& options) {
  check_grid(volume.grid, "the volume");
  check_projections(projections, "the projections", geometry, "the geometry");
  return run_projection(Joseph(geometry, volume.grid, projections), volume, projections, devices, options);
}

Plan plan_project(const Geometry& geometry, const Grid& volume, const Grid& projections,
                  const std::vector<DeviceBudget>& budgets, const PlanOptions& options) {
  check_grid(volume, "the volume");
  check_projections(projections, "the projections", geometry, "the geometry");
  return make_plan(Joseph(geometry, volume, projections).requirements(), budgets, options);
}

}  // namespace halocline
