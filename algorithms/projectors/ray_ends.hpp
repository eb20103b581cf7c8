// Ends of rays: at the detector or beyond. A real detector has no object behind it, a virtual one may stand anywhere
// (ASTRA's users put it through the axis, SDD = SID).
#pragma once

#include <string>
#include <vector>

#include "algorithms/geometry/geometry.hpp"

namespace halocline {

/// True if the detector of some view cuts what its rays cross of the field of view: the elliptic cylinder inscribed in
/// the volume along the index axis nearest to the rotation axis, within the sources' orbit. The corners of the volume
/// outside it are taken for empty.
bool detector_is_virtual(const Geometry& geometry, const Grid& volume, const Grid& projections);

/// geometry.ray_ends, or the choice of `automatic`: `through` for a virtual detector, else `end`.
RayEnds ray_ends(const Geometry& geometry, const Grid& volume, const Grid& projections);

/// The geometry with `automatic` replaced, so that parts of the scan have the same rays as all of it.
Geometry with_ray_ends(Geometry geometry, const Grid& volume, const Grid& projections);

/// Lines for the log about the ends of rays within the volume, which `name` calls: that `automatic` lets rays run
/// through a virtual detector, or that voxels are behind the source or beyond the detector. Empty where all rays pass
/// the whole volume.
std::vector<std::string> notes_on_ray_ends(const Geometry& geometry, const Grid& volume, const std::string& name,
                                           const Grid& projections);

/// Logs these notes if `ray_ends` is automatic.
void log_automatic_ray_ends(const Geometry& geometry, const Grid& volume, const Grid& projections);

/// "end", "through" or "automatic". Throws InputError that names `rays` and lists them.
RayEnds ray_ends_from_name(const std::string& name);
const std::vector<std::string>& ray_ends_names();

}  // namespace halocline
