// Does the detector see the volume at all?
#pragma once

#include <string>

#include "algorithms/geometry/geometry.hpp"
#include "host/volume/volume.hpp"

namespace halocline {

/// Throws InputError that names both and says where the volume's shadow falls and where the detector is, if in no view
/// a part of the volume is cast on it: a wrong origin or unit, and hours of work would give zeros. The shadow's
/// bounding box is taken, so a volume that only just misses a corner of the detector may pass.
void require_seen(const Grid& volume, const std::string& volume_name, const Grid& projections,
                  const std::string& projections_name, const Geometry& geometry);

/// Warns if some views see nothing of the volume, which tell a reconstruction nothing; by the same bounding box.
void warn_of_unseen(const Grid& volume, const std::string& volume_name, const Grid& projections,
                    const Geometry& geometry);

}  // namespace halocline
