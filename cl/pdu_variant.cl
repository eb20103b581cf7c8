// The family around total-variation denoising, one kernel text, the members chosen by macros; the iteration is that of
// pdu.cl and spdu.cl:
//   min_u  sum_i (u_i - f_i)^2 / (2 w_i) + lambda sum_i phi((P D u)_i)   over  minimum <= u_i <= maximum
//   phi        |d|.  ANISOTROPIC: |d_x| + |d_y| + |d_z|.  HUBER: |d|^2 / (2 delta) up to |d| = delta, |d| - delta / 2
//              beyond
//   P          1.  REFERENCE: 1 - gamma xi xi^T,  xi = D v / sqrt(|D v|^2 + eta^2)  (Ehrhardt & Betcke 2016). P is
//              symmetric, couples no two voxels, and shortens: ||P D|| <= ||D||, steps that are stable without it are
//              stable with it
//   w          1.  WEIGHTED: weights.clh; where it is 0, u is f cut to the box
//   the box    none.  BOX: minimum, maximum (either may be infinite)
//
//   pdu_variant_dual    q <- Proj( (q + s_i P D u) / (1 + s_i delta / lambda) ),  Proj to |q| <= lambda, ANISOTROPIC to
//                       |q_x|, |q_y|, |q_z| <= lambda; the divisor for HUBER alone. s_i = step; VOXEL_STEPS:
//                       step / (w_i + max of w over i's forward neighbours)
//   pdu_variant_primal  u <- cut( u + theta (f - u + w div P q) );  with EXTRAPOLATE theta is tau / (w_i + tau) and
//                       ubar = u_new + factor (u_new - u_old)
//   pdu_variant_gap     per slice: the sums of the duality gap, phi, (u - f)^2 and (u - f)^2 / w. With c = f + w div P
//                       q and o = cut(c), which takes the minimum over the box of (u - f)^2 / (2 w) - u div P q, it is
//                         [ (u - o)^2 / 2 + (u - o) (o - c) ] / w
//                           + lambda phi(P D u) + delta |q|^2 / (2 lambda) - q . P D u
//                       (delta: HUBER alone): both parts, and (u - o) (o - c), are not negative. No large terms cancel.
//
// Arrays: as in pdu.cl, w (weights.clh), and the volume `reference` (v). Halo: one slice low and one high an iteration,
// of those too.
// Tunables: group shape (host); WEIGHTED; sums.clh's.
#pragma OPENCL FP_CONTRACT OFF
#include "regulariser.clh"
#include "sums.clh"

// damping: step * delta / lambda.
__kernel void pdu_variant_dual(__global const float* restrict u,
                               WEIGHTS_DECLARED REFERENCE_DECLARED __global float* restrict qx,
                               __global float* restrict qy, __global float* restrict qz, Extent extent, PerAxis r,
#ifdef HUBER
                               float damping,
#endif
                               float step, float lambda) {
  const int x = (int)get_global_id(0), y = (int)get_global_id(1), z = extent.begin + (int)get_global_id(2);
  if (x >= extent.nx || y >= extent.ny || z >= extent.end) return;
  const size_t row = (size_t)extent.nx, plane = row * (size_t)extent.ny, i = VOXEL(x, y, z);
#ifdef VOXEL_STEPS
  const float weight = WEIGHT(i) + largest_ahead(WEIGHTS_PASSED i, row, plane, x, y, z, extent);
  const float s = weight > 0.0f ? 1.0f / weight : 0.0f;
#else
  const float s = 1.0f;
#endif
  const real4 d = off_edges(gradient(u, i, row, plane, x, y, z, extent, r.x, r.y, r.z), REFERENCE_PASSED i, row, plane,
                            x, y, z, extent, r.x, r.y, r.z);
  const float scaled = step * s;
  float px = fma(scaled, (float)d.x, qx[i]), py = fma(scaled, (float)d.y, qy[i]), pz = fma(scaled, (float)d.z, qz[i]);
#ifdef ANISOTROPIC
  qx[i] = clamp(px, -lambda, lambda);
  qy[i] = clamp(py, -lambda, lambda);
  qz[i] = clamp(pz, -lambda, lambda);
#else
#ifdef HUBER
  const float shrink = 1.0f / fma(damping, s, 1.0f);
  px *= shrink;
  py *= shrink;
  pz *= shrink;
#endif
  const float scale = ball_scale(px, py, pz, lambda);
  qx[i] = px * scale;
  qy[i] = py * scale;
  qz[i] = pz * scale;
#endif
}

__kernel void pdu_variant_primal(__global const float* restrict f,
                                 WEIGHTS_DECLARED REFERENCE_DECLARED __global const float* restrict qx,
                                 __global const float* restrict qy, __global const float* restrict qz,
                                 __global float* restrict u,
#ifdef EXTRAPOLATE
                                 __global float* restrict ubar, float factor,
#endif
                                 Extent extent, PerAxis r, BOX_DECLARED float theta) {
  const int x = (int)get_global_id(0), y = (int)get_global_id(1), z = extent.begin + (int)get_global_id(2);
  if (x >= extent.nx || y >= extent.ny || z >= extent.end) return;
  const size_t row = (size_t)extent.nx, plane = row * (size_t)extent.ny, i = VOXEL(x, y, z);
  const float before = u[i], weight = WEIGHT(i);
  const float div = divergence_off_edges(qx, qy, qz, REFERENCE_PASSED i, row, plane, x, y, z, extent, r.x, r.y, r.z);
#ifdef EXTRAPOLATE
  const float step = theta / (weight + theta);
#else
  const float step = theta;
#endif
  const float after = CUT(weight > 0.0f ? fma(step, fma(weight, div, f[i] - before), before) : f[i]);
  u[i] = after;
#ifdef EXTRAPOLATE
  ubar[i] = fma(factor, after - before, after);
#endif
}

INLINE real4 gap_terms(__global const float* restrict u, __global const float* restrict f,
                       WEIGHTS_DECLARED REFERENCE_DECLARED __global const float* restrict qx,
                       __global const float* restrict qy, __global const float* restrict qz, int x, int y, int z,
                       Extent extent, real rx, real ry, real rz, HUBER_DECLARED BOX_DECLARED real lambda) {
  const size_t row = (size_t)extent.nx, plane = row * (size_t)extent.ny, i = VOXEL(x, y, z);
  const real here = u[i], weight = WEIGHT(i), inverse = weight > 0 ? 1 / weight : 0;
  const real4 q = (real4)(qx[i], qy[i], qz[i], 0);
  const real4 d = off_edges(gradient(u, i, row, plane, x, y, z, extent, rx, ry, rz), REFERENCE_PASSED i, row, plane, x,
                            y, z, extent, rx, ry, rz);
  const real div = divergence_off_edges(qx, qy, qz, REFERENCE_PASSED i, row, plane, x, y, z, extent, rx, ry, rz);
  const real change = here - f[i], outside = change - weight * div;  // u - c
#ifdef BOX
  const real best = here - outside, rest = here - CUT(best), beyond = CUT(best) - best;
#else
  const real rest = outside, beyond = 0;
#endif
#ifdef WEIGHTED
  const bool counts = fmax(WEIGHT(i), largest_ahead(WEIGHTS_PASSED i, row, plane, x, y, z, extent)) > 0;
#else
  const bool counts = true;
#endif
  const real variation = counts ? phi(HUBER_PASSED d) : 0;
  real bound = counts ? lambda * variation - product(q, d) : 0;
#ifdef HUBER
  if (counts) bound += delta * product(q, q) / (2 * lambda);
#endif
  return (real4)(bound + (rest * rest / 2 + rest * beyond) * inverse, variation, change * change,
                 change * change * inverse);
}

__kernel void pdu_variant_gap(__global const float* restrict u, __global const float* restrict f,
                              WEIGHTS_DECLARED REFERENCE_DECLARED __global const float* restrict qx,
                              __global const float* restrict qy, __global const float* restrict qz,
                              __global sum_t* restrict partials, Extent extent, PerAxis r,
                              HUBER_DECLARED BOX_DECLARED float lambda) {
  STORE_SUMS(4, gap_terms(u, f, WEIGHTS_PASSED REFERENCE_PASSED qx, qy, qz, x, y, z, extent, r.x, r.y, r.z,
                          HUBER_PASSED BOX_PASSED lambda))
}
