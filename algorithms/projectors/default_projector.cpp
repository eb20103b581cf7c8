#include "algorithms/projectors/default_projector.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "algorithms/support/vector3.hpp"

namespace halocline {
namespace {

bool too_far(const std::array<double, 3>& distances) {
  return *std::max_element(distances.begin(), distances.end()) > widest_gap;
}

}  // namespace

std::array<double, 3> ray_distances(const Geometry& geometry, const Grid& volume, const Grid& projections) {
  const auto& d = projections.direction;
  std::array<double, 3> middle, distances{};
  for (int axis = 0; axis < 3; ++axis) middle[axis] = 0.5 * (static_cast<double>(volume.size[axis]) - 1);
  const Vector3 centre = volume.world(middle[0], middle[1], middle[2]);
  for (const View& view : geometry.views) {
    const Vector3 along = ray_direction(view), origin = detector_point(view, 0, 0);
    const double depth = dot(add_scaled(centre, -1, source_position(view)), along);
    const double share = view.parallel() ? 1 : std::max(0.0, depth / view.sdd);
    // a step of a column and of a row, in mm on the plane across the view through the volume's middle
    std::array<Vector3, 2> steps;
    for (int axis = 0; axis < 2; ++axis) {
      const double part = axis == 1 && view.fan_stack ? 1 : share;
      const double step = projections.size[axis] > 1 ? part * projections.spacing[axis] : 0;
      steps[axis] = add_scaled(detector_point(view, step * d[axis], step * d[3 + axis]), -1, origin);
    }
    for (int axis = 0; axis < 3; ++axis) {
      if (volume.size[axis] == 1) continue;
      const Vector3 side{volume.direction[axis], volume.direction[3 + axis], volume.direction[6 + axis]};
      distances[axis] =
          std::max(distances[axis], std::hypot(dot(steps[0], side), dot(steps[1], side)) / volume.spacing[axis]);
    }
  }
  return distances;
}

Projector default_projector(const Geometry& geometry, const Grid& volume, const Grid& projections) {
  return too_far(ray_distances(geometry, volume, projections)) ? Projector::distance_driven : Projector::joseph;
}

Projector projector_of(std::optional<Projector> chosen, bool hardware_interpolation, const Geometry& geometry,
                       const Grid& volume, const Grid& projections) {
  if (chosen) return *chosen;
  return hardware_interpolation ? Projector::joseph : default_projector(geometry, volume, projections);
}

std::optional<Projector> projector_choice(const std::string& name) {
  if (name == projector_choices().front()) return std::nullopt;
  return projector_from_name(name);
}

std::vector<std::string> projector_choices() {
  std::vector<std::string> names = projector_names();
  names.insert(names.begin(), "automatic");
  return names;
}

std::string note_on_fine_voxels(std::optional<Projector> chosen, const Geometry& geometry, const Grid& volume,
                                const Grid& projections) {
  const auto distances = ray_distances(geometry, volume, projections);
  if (!too_far(distances) || chosen == Projector::distance_driven || (chosen && chosen->users())) return {};
  std::array<double, 3> spacing = volume.spacing;
  for (int axis = 0; axis < 3; ++axis)
    if (distances[axis] > widest_gap) spacing[axis] *= distances[axis];
  const std::string finer = fmt::format(
      "voxels of {:.4g} x {:.4g} x {:.4g} mm are finer than the rays, which would fit {:.4g} x {:.4g} x {:.4g} mm",
      volume.spacing[0], volume.spacing[1], volume.spacing[2], spacing[0], spacing[1], spacing[2]);
  if (!chosen) return finer + ": `projector = distance-driven` is taken, whose rays are as wide as pixels";
  return fmt::format("{}: {} leaves voxels between its rays out; take `projector = distance-driven`, or such voxels",
                     finer, projector_name(*chosen));
}

}  // namespace halocline
