// Scan geometry: where source and detector stand in each view, in RTK's convention (Rit et al. 2014), and how the
// gantry angles cover the circle.
//
// World: millimetres, the isocentre is the origin, y is the rotation axis, and at gantry angle 0 the source stands on
// +z (IEC 61217). A view has nine degrees of freedom. With
//   M_R = Rz(-in plane) Rx(-out of plane) Ry(-gantry)      (right-handed rotations)
// a world point x becomes x' = M_R x; the source is at x' = (sx, sy, SID), the detector is the plane z' = SID - SDD,
// and its point (u, v) is at x' = (px + u, py + v, SID - SDD). (u, v) are physical millimetres in the frame of the
// projection image (its origin and spacing), never pixel indices.
//
// Stack of fans: as many fan beams, one above the other, as the detector has rows. The ray to (u, v) then starts at
// x' = (sx, py + v, SID), in the plane of its row across the rotation axis, whose height on the object is that on the
// detector. Nothing is tilted, and the source has no offset along v.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "host/volume/volume.hpp"

namespace halocline {

/// One view (projection). Lengths in mm, angles in degrees.
struct View {
  double sid = 0;  ///< source to isocentre distance
  double sdd = 0;  ///< source to detector distance; 0 means a parallel beam
  double gantry_angle = 0, out_of_plane_angle = 0, in_plane_angle = 0;
  double source_offset_x = 0, source_offset_y = 0;
  double projection_offset_x = 0, projection_offset_y = 0;
  /// Jaw positions, carried from file to file; nothing is cut by them. The largest double means open.
  double collimation_u_inf = std::numeric_limits<double>::max(), collimation_u_sup = std::numeric_limits<double>::max();
  double collimation_v_inf = std::numeric_limits<double>::max(), collimation_v_sup = std::numeric_limits<double>::max();

  /// Place in the scan that it was taken from (select_views()); -1: its place in its Geometry.
  int number = -1;

  /// Each detector row is seen by a source of its own, at its height. The same in all views of a scan.
  bool fan_stack = false;

  bool parallel() const { return sdd == 0; }
};

/// End of the rays that reach the detector: at the detector (end), or none, for the detector is virtual (through), as
/// in simulations that put it on the axis. automatic: through where the detector is in the way of the object (see
/// algorithms/projectors/ray_ends.hpp). Rays of a parallel beam are whole lines.
enum class RayEnds { automatic, end, through };

/// A scan: its views in the order of acquisition.
struct Geometry {
  std::vector<View> views;
  double radius_cylindrical_detector = 0;  ///< mm; 0 means a flat detector
  RayEnds ray_ends = RayEnds::automatic;   ///< read by projectors that follow rays

  bool parallel() const { return !views.empty() && views.front().parallel(); }
  bool fan_stack() const { return !views.empty() && views.front().fan_stack; }
};

/// The geometry of these of its views, each of which keeps its number.
Geometry select_views(const Geometry& geometry, const std::vector<std::size_t>& views);
/// View::number of all views.
std::vector<std::int32_t> view_numbers(const Geometry& geometry);

/// A projective map, 3 x 4, row-major.
using Matrix34 = std::array<double, 12>;

/// Maps (x, y, z, 1) in world mm to homogeneous (u w, v w, w) in physical detector mm. w = z' - SID, negative in front
/// of the source; 1 for a parallel beam. The same numbers as in RTK's geometry files. A stack of fans is no projective
/// map: there the second row gives v itself, not v w.
Matrix34 projection_matrix(const View& view);
/// Projection of the isocentre on the detector, (u, v) in mm.
std::array<double, 2> isocentre_on_detector(const View& view);

/// World position of the source in mm. For a parallel beam a point in the plane that the rays come from; of a stack of
/// fans the source at the height of the isocentre.
std::array<double, 3> source_position(const View& view);

/// World position in mm of the detector's physical point (u, v) in mm. A parallel beam has no detector distance: there
/// the plane through the mirror image of the source plane, z' = -SID, is used instead.
std::array<double, 3> detector_point(const View& view, double u, double v);

/// Unit vector from the source plane to the detector, perpendicular to both: the direction of every ray of a parallel
/// beam, and of the perpendicular from the source for a divergent one.
std::array<double, 3> ray_direction(const View& view);

/// The source on its way round the axis y. The two vectors lie across the axis, are as long as the source is far from
/// it (mm), and are given in the view's rotated coordinates: (SID, 0, 0) and (0, 0, -SID) in a view without tilt and
/// source offset x. Parallel beam: they are made from the unit vector towards the source plane.
struct SourceOrbit {
  double angle = 0;                 ///< about y, radians: the gantry angle, but for tilts and source offset x
  std::array<double, 3> tangent{};  ///< the way that the source moves per radian
  std::array<double, 3> inward{};   ///< from the source to the axis
};
SourceOrbit source_orbit(const View& view);

/// The angle in the detector's plane between its rows and the way that the source moves, degrees in [0, 90]: that of
/// the in-plane angle from the nearer of 0 and 180 where nothing else is tilted.
double row_slant(const View& view);

/// Slopes of the ray to the detector's physical point (u, v) in mm: x'/depth and y'/depth, where it meets the plane at
/// the distance 1 from the source, from the foot of the perpendicular. A cylindrical detector of that radius (0: flat)
/// touches the flat one's plane along x' = 0 and bends towards the source; u is the length of the arc (RTK's
/// convention).
std::array<double, 2> ray_slopes(const View& view, double radius, double u, double v);

/// A straight line in the world: a point in mm and a unit direction away from the source.
struct Ray {
  std::array<double, 3> origin, direction;
};

/// The rays of one view, with what they share computed once. `radius` of a cylindrical detector, 0 for a flat one.
class ViewRays {
 public:
  explicit ViewRays(const View& view, double radius = 0);
  /// The ray that meets the detector at (u, v) mm; it starts at the source, that of its row in a stack of fans, or in
  /// the source plane of a parallel beam.
  Ray to(double u, double v) const;

 private:
  View view_;
  double radius_;
  std::array<double, 9> to_world_;
  std::array<double, 3> source_;
};

/// Maps volume indices to detector PIXEL indices in homogeneous coordinates: (i - ci, j - cj, k - ck, 1) -> (column w,
/// row w, w), with c = (size - 1)/2 the volume's centre index on each axis, so that the matrix elements stay small
/// enough for float32. w = (SID - s)/SID, where s is the coordinate towards the source: 1 at the isocentre's depth,
/// positive in front of the source, 1 everywhere for a parallel beam. 1/w^2 is then the distance weight of Feldkamp,
/// Davis & Kress (1984). Stack of fans: the second row gives the detector's row itself, not row w, and is rounded to
/// half rows, and to a row a slice, where it is so to a millionth, so that rows on slices are so to the last bit.
Matrix34 index_to_detector(const View& view, const Grid& volume, const Grid& projections);

/// Input of circular_geometry. Lengths in mm, angles in degrees.
struct CircularOptions {
  double sid = 1000;
  double sdd = 1536;              ///< 0 for a parallel beam
  std::size_t projections = 360;  ///< ignored if angles are given
  double arc = 360;               ///< negative: a gantry that turns backwards
  double first_angle = 0;
  std::vector<double> angles;  ///< explicit gantry angles; empty: first_angle + i * arc / projections
  double projection_offset_x = 0, projection_offset_y = 0;
  double source_offset_x = 0, source_offset_y = 0;
  double out_of_plane_angle = 0, in_plane_angle = 0;
  bool fan_stack = false;  ///< each detector row has a source of its own
};

/// Makes a circular scan. The end of the arc is not a separate view (0 to 359 for 360 views of a full turn). Throws
/// InputError as check_geometry does, and for no projections or an arc that is zero with more than one view.
Geometry circular_geometry(const CircularOptions& options);

/// Throws InputError that names `name` and the view if there are no views, a number is not finite, SID is not positive,
/// SDD is negative or smaller than SID but not 0, or parallel and divergent views, or stacks of fans and others, are
/// mixed; of a stack of fans, if the beam is parallel, something is tilted, or the source has an offset along v.
void check_geometry(const Geometry& geometry, const std::string& name);

enum class DetectorShape { flat, flat_or_cylinder };

/// Throws InputError unless `projections` is a stack (u, v, view) that fits the geometry: as many views, no axis of the
/// detector mixed with the view axis, and a shape that the caller can handle. A cylinder needs a divergent beam and may
/// not bend round the source. Rows of a stack of fans run along u.
void check_projections(const Grid& projections, const std::string& projections_name, const Geometry& geometry,
                       const std::string& geometry_name, DetectorShape shape = DetectorShape::flat);

/// Throws InputError unless the slices of the volume, its index axis k, lie across the rotation axis where the scan is
/// a stack of fans: only then a row stays in one.
void check_fan_stack(const Geometry& geometry, const Grid& volume, const std::string& volume_name);
/// Throws InputError with the text "{what} does not take a stack of fans; {remedy}" if the scan is one.
void refuse_fan_stack(const Geometry& geometry, const std::string& what, const std::string& remedy);

/// Distribution of the gantry angles on the circle. Angles in radians, vectors in the order of the views.
struct AngularCoverage {
  std::vector<double> gaps;   ///< the angle that each view represents: the d beta of filtered back-projection
  std::vector<double> betas;  ///< the angle from first_angle to the view, in increasing gantry angle, in [0, range]
  bool full_circle = false;   ///< no arc is missing
  double range = 0;           ///< sum of the gaps: 2 pi, or last - first of a short scan; pi for a parallel beam
  double largest_gap = 0;     ///< between neighbours on the circle; the missing arc of a short scan
  double inner_gap = 0;       ///< the largest but for the missing arc
  int missing_arcs = 0;       ///< gaps so wide that views are missing there
  int missing_inside = 0;     ///< those inside the arc: all but the one that makes the scan of a divergent beam short
  int repeated_views = 0;     ///< views at an angle that an earlier one already had
  bool disordered = false;    ///< the views neither increase nor decrease round the circle
  double first_angle =
      0;  ///< gantry angle of the view after the missing arc (of the smallest angle, if none is missing)
};

/// The gaps between the angles at which the source stands (source_orbit). On a full circle a view gets half of the gap
/// to each neighbour. Views at the same angle (to 1e-6 rad) share that angle's gap equally. A gap over 20 degrees that
/// is also over 3 times the median gap is a missing arc: the scan is short, and its first and last view get their one
/// inner half gap. For a parallel beam, opposite views see the same rays: angles count modulo pi, and a gap over 20
/// degrees throws InputError unless `allow_incomplete_arc`, which makes it a missing arc. With `whole_turn` its angles
/// count modulo 2 pi, as those of a divergent beam do: a displaced detector sees other rays from the opposite side.
AngularCoverage angular_coverage(const Geometry& geometry, bool allow_incomplete_arc = false, bool whole_turn = false);

}  // namespace halocline
