// Checks that the detector sees the volume at all.
#pragma once

#include <string>

#include "algorithms/geometry/geometry.hpp"
#include "host/volume/volume.hpp"

namespace halocline {

/// Throws InputError that names both, the volume's shadow and the detector (mm) if no part of the volume is cast on the
/// detector in any view: with a wrong origin or unit hours of work would give zeros. The shadow's bounding box decides,
/// so a volume that only just misses a corner of the detector may pass.
void require_seen(const Grid& volume, const std::string& volume_name, const Grid& projections,
                  const std::string& projections_name, const Geometry& geometry);

/// Warns if some views see nothing of the volume and so add nothing to a reconstruction; by the same bounding box.
void warn_of_unseen(const Grid& volume, const std::string& volume_name, const Grid& projections,
                    const Geometry& geometry);

}  // namespace halocline
