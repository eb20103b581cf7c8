// Rays that a circular scan measures twice, from opposite sides, and how the two share their weight: Parker (1982) in a
// short scan, Wang (2002) with a detector that stands to one side.
#pragma once

#include <array>
#include <numbers>
#include <optional>
#include <string>
#include <vector>

#include "algorithms/geometry/geometry.hpp"

namespace halocline {

/// mm: a fan from so far away is parallel to float32 (its cosines are 1), and its angles are distances over this.
constexpr double parallel_source = 0x1p30;

/// Views farther apart are no scan; radians.
constexpr double largest_view_gap = std::numbers::pi / 3;
/// Nor from rows that stand steeper to the way of the source (row_slant()), degrees.
constexpr double largest_row_slant = 30;
/// "turn the images ..., or " where that helps; empty otherwise.
const char* turn_or(double row_slant);

/// Angle, radians, over which weights rise beside a gap; FDK_GAP_RISE of cl/fdk_general.clh.
constexpr double gap_rise = 0.35;

/// Note that neighbours stand for missing views, if a gap within the scan is far wider than most.
std::optional<std::string> uneven_gap(const AngularCoverage& coverage);

struct RedundancyOptions {
  bool displaced = true;              ///< weigh a displaced detector
  bool force_displaced = false;       ///< however little it is displaced, and to whichever side
  bool allow_incomplete_arc = false;  ///< continue, with a warning, where views are missing
};

/// The two weights of a ray add up to 2 (Parker 1982, eq. 12, times 2; Wang 2002, eq. 5; cl/fdk_general.cl evaluates
/// them). A ray is known by the angle beta of its view and by its fan angle gamma to the line from source to axis,
/// positive towards the way of the source. A parallel beam knows a displaced detector only (opposite views share their
/// angle otherwise): it is taken for a fan from parallel_source away.
struct Redundancy {
  enum class Kind { none, parker, wang, gaps } kind = Kind::none;
  /// parker: delta, half of what the arc has beyond pi. wang: the fan angle up to which rays are measured twice, with
  /// the sign of the detector's long side. Radians.
  double limit = 0;
  /// Factor of all weights: more than 1 where the arc is too short and allowed. Then a uniform disc about the axis
  /// keeps its mean: its filtered projections are constant within it, and the angle under which its points see an arc
  /// of the source's circle is in the mean that of the centre (less pi/2 at most, a harmonic function).
  double factor = 1;
  std::vector<double> betas;  ///< parker, gaps: a view, from the arc's start; radians
  /// wang, of a detector displaced by little: the share of `limit` up to which weights are 1, else 0. Rays near the
  /// edge of the short side then give way to those from opposite, and noise grows by little.
  double flat = 0;
  bool slight = false;  ///< wang: displaced by little
  /// gaps: centres, counted as betas, and half widths of gaps whose rays are taken from the opposite side.
  std::vector<std::array<double, 2>> gaps;
  /// wang: columns that the detector lacks to reach as far on its short side as on its long one, and on which side.
  std::size_t columns_before = 0, columns_after = 0;
  std::vector<std::string> notes;  ///< notes about the choice

  /// True if the detector is displaced by so much that the volume is that of its long side.
  bool displaced() const { return kind == Kind::wang && !slight; }
};

/// The arc that a short scan needs, radians: pi and the fan from the rotation axis to the farther end of the detector,
/// on both sides (parallel beam: pi).
double short_scan_arc(const Geometry& geometry, const Grid& projections);

/// True if the views cover less than `needed`, but for rounding.
bool arc_is_short(const AngularCoverage& coverage, double needed);

/// Slopes of a detector's point (u, v) in mm as ray_slopes(), for a parallel beam from parallel_source.
std::array<double, 2> fan_slopes(const View& view, double radius, double u, double v);

/// The angles that views represent: angular_coverage(), over a whole turn for Wang's weights.
AngularCoverage coverage_for(const Redundancy& redundancy, const Geometry& geometry);

/// Parker's weights if an arc is missing, Wang's if the part of the detector that all views share is displaced by more
/// than a twentieth of its width: at the isocentre, |low + high| > (high - low)/10; a parallel beam's only if
/// its views go all round. By less, but a pixel or more in all views and to the same side, it is displaced by little:
/// on a whole turn weights then differ from 1 near its edges. A divergent beam's gap of more than three usual steps
/// within a whole turn is filled from the opposite side (gaps) unless that has a gap, too, or the detector is
/// displaced. Throws InputError that names `name` for an arc shorter than pi + the detector's fan angle or with further
/// views missing inside (unless allowed: then it is weighted as the middle of the shortest arc that would do, times
/// `factor`), for both at once, for a detector that misses the axis in some view, and for views displaced to different
/// sides.
Redundancy redundancy_of(const Geometry& geometry, const Grid& projections, const RedundancyOptions& options = {},
                         const std::string& name = "the geometry");

}  // namespace halocline
