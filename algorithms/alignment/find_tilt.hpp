// Angle by which the detector is turned about the beam, from the projections themselves.
#pragma once

#include <string>

#include "algorithms/geometry/geometry.hpp"
#include "host/volume/volume.hpp"

namespace halocline {

struct TiltEstimate {
  double change = 0;         ///< degrees to add to the in-plane angle of every view
  double uncertainty = 0;    ///< of it, one standard deviation, degrees
  double shift = 0;          ///< of the isocentre's image along u, mm, as AxisEstimate's; found together with the tilt
  double lever = 0;          ///< shift by the tilt from where the axis crosses the rows that were used, mm
  std::string unknown;       ///< why it is not known; empty if it is
  bool significant() const;  ///< known, and more than three times its uncertainty
};

/// The in-plane angle with which opposite rays agree best. `shift` is that of the axis (mm), as it was found without
/// the tilt.
///
/// A detector that is turned by r sees the axis along u = c + v tan r, and the view from the other side is the mirror
/// image about that line. Shift and turn of the line are fitted together, by Gauss and Newton, to the differences of
/// opposite views along BOTH image axes: (p - q) = 2 du/d(line) . grad p, with turns of up to 5 degrees tried first.
/// Views are binned to 256 columns. The image is cut into bands of rows, the views into sectors; blocks that disagree
/// count less (Huber 1964), and their scatter is the uncertainty (the sandwich estimator of White 1982).
///
/// Divergent beams: opposite rays meet only where they are nearest to the axis. Off the source's plane they pass matter
/// at a distance r from there at heights that differ by 2 r y / SID, with y the height on the axis. Row by row, this
/// looks like a tilt if the matter winds about the axis like a screw, however small the cone: both grow with y. In the
/// fit it does not where |y| << |x|: rows farther from the source's plane than 0.1 of the way from the axis to the
/// detector's nearer side are left out. The odd part cancels between rows mirrored about that plane; the bound of the
/// even part, with matter as deep as it is wide, goes into the uncertainty, as do 0.05 binned pixels at the detector's
/// sides for interpolation. Where few faces along the rows show the turn, interpolation may cost twice that; sampled at
/// points, as in exact projections of phantoms, such faces move in steps of a pixel and may draw the turn towards 0 by
/// several times that.
///
/// The method is not a published one; it fits this model. Out-of-plane angles are taken as 0 and views as standing
/// alike. Throws InputError as check_projections does.
TiltEstimate detector_tilt(const Volume& projections, const Geometry& geometry, double shift);

/// Host memory that this takes beside the projections at the most, bytes.
double tilt_bytes(const Grid& projections, const Geometry& geometry);

/// The geometry with `degrees` added to every in-plane angle.
Geometry with_detector_turned(const Geometry& geometry, double degrees);

}  // namespace halocline
