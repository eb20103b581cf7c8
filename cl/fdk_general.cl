// Weights of filtered back-projection for scans that are not a full circle with a flat, upright, centred detector; fdk_general_weight
// replaces fdk_weight (fdk.cl).
//
//   spectrum = raw * scale_n * K * w(beta, gamma) / |r|,      r = (a, b, -1) the ray in the view's coordinates,
//
// a = u/SDD and b = v/SDD from the foot of the perpendicular from the source. A parallel beam comes from so far away that a^2 and b^2 are
// nothing beside 1, and its fan angles are distances from the axis.
//
// K = |V x r|^2 / |(r x (V x r))_x|, V the way that the source moves per radian over SID: 1 for V = (1, 0, 0), and 1 - a sx/SID for a
//   source offset sx, the tilted fan of Gullberg et al. (1986). It follows from their change of variables taken in the plane of the
//   filtered row and the source, where the source moves by V.e, e across the ray; a row that stands at an angle to that way sees the
//   object's frequencies lower by its cosine, hence |V|^2/|V.e| in place of V.e. Rows may run either way.
// w: the fan angle gamma is that of the ray to N, the direction from the source to the axis: tan gamma = V.r / N.r.
//   PARKER (1982; eq. 12, times 2), limit = delta, beta from the arc's start:
//     2 sin^2(pi/2 x),  x = min(1, beta/(2 (delta + gamma)), (pi + 2 delta - beta)/(2 (delta - gamma))), at least 0;
//   WANG (2002; eq. 5), limit = the fan angle up to which the detector reaches on both sides, with the sign of its long side:
//     1 + sin(pi/2 x),  x = gamma/limit held to [-1, 1]; of a detector that is displaced by little, with flat > 0,
//     1 +- sin^2(pi/2 max(0, |x| - flat)/(1 - flat)), the sign that of x: only rays near its edge are weighed;
//   GAPS, beta from the arc's start: 2 s/(s + s'), s = s(beta), s' that of the opposite ray, s(beta + pi - 2 gamma),
//     s the least over all gaps of sin^2(pi/2 x), x = (distance of beta from the gap)/FDK_GAP_RISE held to [0, 1].
// Truncated rows are continued beyond the detector by low_extent and high_extent columns, as line integrals before they are weighed:
//   sqrt(L + m x + min(n, 0) x^2) cos(pi/2 max(0, 2 d/(extent + 1) - 1)),      d columns out,
// the radicand held to [0, 2 L]. L is the square of the mean of the last three pixels, at x = 0; m and n are fitted to the squares of
// FDK_FITTED pixels of the outer half of the row. The square of the line integrals of an ellipse is a parabola. Data that are no less than 0
// count, and a row that is not truncated gets nothing.
// UPRIGHT: rows that are not across the rotation axis are interpolated from those that are measured by cubic convolution (Keys 1981): a, b and all above belong to
//   an upright detector (algorithms/fdk/upright_rows.hpp), whose pixel (column, row), column 0 the first of `columns`, meets the measured one
//   at (X/Z, Y/Z), (X, Y, Z) = map (column, row, 1). A row is measured where X/Z lies between the ends; above and below the measured rows
//   the outermost one is repeated.
// CYLINDER: raw is a cylinder's, and is interpolated bilinearly onto the plane that touches it. In units of SDD its radius is rho, its
//   centre at (c, 1 - rho) across and away from the source: the ray meets it at the depth tau, the larger root of
//   (a tau - c)^2 + (tau - 1 + rho)^2 = rho^2, on the arc at atan2(a tau - c, tau - 1 + rho), and on the row where v/SDD = b tau.
// FAN_STACK: each row has a source of its own; b is 0 in r, rows of a CYLINDER are those of the plane, and Y is a row, not Y/Z.
// COUNTS: as in fdk.clh.
// VARIANCE: as in fdk.clh. Interpolating between pixels lowers the variance that the filter leaves by 1 - 2 f (1 - f)(1 - r), f the
//   fraction (Borsdorf et al. 2008); UPRIGHT by sum_ij s_i s_j r_|i-j|, s the shares. correlation_u and _v are those r = r_1, r_2, r_3 for noise that the filter and back-projection's own interpolation
//   have passed, so that the two factors multiply to the right mean.
//
// Arrays: raw[view][row][raw_columns]; spectrum as in fdk.cl: the `columns` that are measured (those of raw; of the plane if CYLINDER, of the upright detector if UPRIGHT)
// stand from `before` on, high_extent columns follow them, and low_extent end the circle. raw holds raw_held of raw_rows rows from raw_begin
// on. weights[view][16] = scale; a of column 0, which lies `before` columns left of the measured ones, its step; b of row 0, its step; V; N;
// beta; rho, c, raw column of arc angle 0, raw columns per radian; UPRIGHT 13 more: map, row-major, in pixels or for a CYLINDER in slopes of
// the measured detector; X/Z of its first and last column; b of its row 0, its step. No halo.
#pragma OPENCL FP_CONTRACT OFF
#include "fdk_general.clh"

// One work-item an element of spectrum: (length, pairs, views). first_pair: of the rows that are held.
__kernel void fdk_general_weight(__global float2* restrict spectrum, int length, int first_pair, int pairs, int views,
                                 FDK_WEIGHT_ARGUMENTS) {
  const int n = get_global_id(0), pair = get_global_id(1), view = get_global_id(2);
  if (n >= length || pair >= pairs || view >= views) return;
  FDK_WEIGHTED_PAIR(value, n, first_pair + pair, view);
  spectrum[((size_t)view * pairs + pair) * length + n] = value;
}
