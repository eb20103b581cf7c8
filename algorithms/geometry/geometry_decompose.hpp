// The nine parameters of a view (Rit et al. 2014) from where source and detector stand, or from a projection matrix.
//
// With the rows of the rotation M_R = Rz(-in plane) Rx(-out of plane) Ry(-gantry) called r1 (along u), r2 (along v) and
// r3 (from the detector's plane to the source), a source at S and the detector's point (0, 0) at D:
//   SID = r3.S, SDD = r3.(S - D), source offset = (r1.S, r2.S), projection offset = (r1.D, r2.D),
// and the angles follow from r3 = (sin gantry cos out, -sin out, cos gantry cos out) and the y column of M_R,
// (sin in cos out, cos in cos out, -sin out).
#pragma once

#include <string>

#include "algorithms/geometry/geometry.hpp"
#include "algorithms/support/vector3.hpp"

namespace halocline {

/// Positions of source and detector of a view in the world, mm.
struct Placement {
  bool parallel = false;
  Vector3 source{};    ///< the source; of a parallel beam the direction of its rays, of any length
  Vector3 detector{};  ///< the detector's point (u, v) = (0, 0) mm
  Vector3 u{}, v{};    ///< the detector's axes, of any length
};

/// The view of a placement. Throws InputError that starts with `name` for what the nine parameters cannot express: u
/// and v that are not perpendicular, the rays of a parallel beam that do not meet the detector at right angles, a
/// mirrored detector (u x v must point from the detector to the source's side), or an isocentre that is not between
/// source and detector (to 1e-6).
View view_from_placement(const Placement& placement, const std::string& name);

/// Inverse of view_from_placement, with u and v of length 1.
Placement placement_of(const View& view);

/// The view whose projection_matrix is a multiple of `matrix`, which maps world mm to detector mm. A parallel beam has
/// a third row (0, 0, 0, w); its SID, which changes nothing, becomes 1000. Throws InputError that starts with `name` if
/// no such view exists (to 1e-6): skewed axes, different scales along u and v, a mirrored detector, a singular matrix.
View view_from_matrix(const Matrix34& matrix, const std::string& name);

}  // namespace halocline
