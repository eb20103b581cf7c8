// Default projector, by how far rays are apart in the volume.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "algorithms/projectors/projector.hpp"

namespace halocline {

/// Distances between neighbouring rays along the index axes i, j, k in the middle of the volume, in voxels: across the
/// rays, the largest of all views. 0 along an axis where the detector, or the volume, has one row only.
std::array<double, 3> ray_distances(const Geometry& geometry, const Grid& volume, const Grid& projections);

/// joseph; distance_driven where rays are so far apart that joseph and siddon leave voxels between them out: more than
/// widest_gap voxels.
Projector default_projector(const Geometry& geometry, const Grid& volume, const Grid& projections);
inline constexpr double widest_gap = 1.25;

/// `chosen`, or if it has no value joseph for hardware interpolation, which only it has, and else default_projector().
Projector projector_of(std::optional<Projector> chosen, bool hardware_interpolation, const Geometry& geometry,
                       const Grid& volume, const Grid& projections);

/// The name of a projector, or "automatic", which is no value.
std::optional<Projector> projector_choice(const std::string& name);
/// "automatic", and the names of projectors.
std::vector<std::string> projector_choices();

/// A line for the log where voxels are finer than the rays, with the spacing that would do: that distance-driven is
/// taken (`chosen` has no value), or that the chosen projector leaves gaps. Else empty.
std::string note_on_fine_voxels(std::optional<Projector> chosen, const Geometry& geometry, const Grid& volume,
                                const Grid& projections);

}  // namespace halocline
