// Jaws of RTK's geometry files (CollimationUInf, USup, VInf, VSup).
#pragma once

#include <string>

#include "algorithms/geometry/geometry.hpp"

namespace halocline {

/// Throws InputError that names the entry, the view and what to do, if a jaw hides pixels of `projections`: no
/// reconstruction leaves out what is behind jaws. A jaw stands at a distance in mm from the axis through source and
/// isocentre, in the plane through the isocentre and across the source's direction; u runs as the source's tangent, v
/// along the rotation axis from the height of the source (RTK's rtkmaskcollimation).
void require_open_jaws(const Grid& projections, const Geometry& geometry, const std::string& geometry_name);

}  // namespace halocline
