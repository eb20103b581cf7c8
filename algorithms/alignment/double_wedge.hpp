// Rotation axis of half a turn of a parallel beam, from the continuity of its two ends.
#pragma once

#include "algorithms/alignment/find_axis.hpp"

namespace halocline {

/// The axis with which the last views, mirrored about it, continue most smoothly into the first. Mirrored, half a turn
/// of a parallel beam becomes a whole one, whose Fourier transform over angle and column is confined to a double wedge:
/// matter within a radius R of the axis moves by R columns a radian at the most, so that a spatial frequency w has
/// angular frequencies up to w R only (Rattey & Lindgren 1981; Vo et al., Opt. Express 22, 19078, 2014, find the axis
/// by the energy outside). Here the wedge is the covariance of the views beside the seam, 2 J1(x) / x with x = 2 pi w R
/// (difference of angles), for matter that fills the disc; white noise is added. The axis has the greatest likelihood:
/// a sum over frequencies, each with the weight that signal and noise give it. The object may reach over the edges of
/// the detector: R is one and a half times its width, and rows are tapered about the axis. Columns of constant offset
/// (still_details) are taken off before.
///
/// Uses up to 16 rows, and the 12 views nearest to the seam on both sides. Finds `uncertainty`: the larger of the
/// likelihood's own and that from the scatter of its terms (the sandwich estimator of White 1982). `contrast` is not
/// used. Throws InputError as check_projections does, for a divergent beam, if no view has one opposite to it, and if
/// both ends see too little about all axes within the range.
AxisEstimate axis_by_double_wedge(const Volume& projections, const Geometry& geometry, const AxisSearch& search);

/// Host memory that this takes beside the projections, bytes.
double double_wedge_bytes(const Grid& projections);

/// True for a parallel beam of which few views have one opposite to them, as in half a turn.
bool is_half_turn(const Geometry& geometry);

}  // namespace halocline
