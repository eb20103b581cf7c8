// The family around total-variation denoising, one kernel text, the members chosen by macros; the iteration is that of
// pdu.cl and spdu.cl:
//   min_u  sum_i (u_i - f_i)^2 / (2 w_i) + lambda sum_i phi((P D u)_i)   over  minimum <= u_i <= maximum
//   phi        |d|.  ANISOTROPIC: |d_x| + |d_y| + |d_z|.  HUBER: |d|^2 / (2 delta) up to |d| = delta, |d| - delta / 2
//              beyond
//   P          1.  REFERENCE: 1 - gamma xi xi^T,  xi = D v / sqrt(|D v|^2 + eta^2)  (Ehrhardt & Betcke 2016). P is
//              symmetric, couples no two voxels, and shortens: ||P D|| <= ||D||, steps that are stable without it are
//              stable with it
//   w          1.  WEIGHT_BITS: weights.clh; where it is 0, u is f cut to the box
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
//   pdu_variant_certificate
//                       for solvers whose data term has the gradient z in u: with r = z - div P q per slice
//                       the sums of  lambda phi(P D u) + [delta |q|^2 / (2 lambda)] - q . P D u + max(r, 0) (u - minimum),
//                       max(-r, 0),  max(-r, 0) u,  phi. The first plus maximum times the second less the third is the
//                       part of the duality gap over minimum <= u <= maximum that lies in the volume
//   pdu_variant_gap_map that part voxel by voxel
//   pdu_variant_descend u <- cut( u + tau (div P q - z) ),  ubar = 2 u_new - u_old: the primal step for
//                       min <z, u> + lambda sum phi over the bounds. STEP_VOLUME: tau is that times the voxel's
//
// Arrays: as in pdu.cl, w (weights.clh), and the volume `reference` (v). Halo: one slice low and one high an iteration,
// of those too.
// Tunables: group shape (host); WEIGHT_BITS; sums.clh's.
#pragma OPENCL FP_CONTRACT OFF
#include "sums.clh"
#include "tv.clh"
#include "weights.clh"

// Arguments that a member has and others have not.
#ifdef REFERENCE
// clang-format off
#define REFERENCE_DECLARED __global const float* restrict reference, float inverse_eta, float gamma,
// clang-format on
#define REFERENCE_PASSED reference, inverse_eta, gamma,
#else
#define REFERENCE_DECLARED
#define REFERENCE_PASSED
#endif
#ifdef BOX
#define BOX_DECLARED float minimum, float maximum,
#define BOX_PASSED minimum, maximum,
#define CUT(value) fmin(fmax((real)(value), (real)minimum), (real)maximum)
#else
#define BOX_DECLARED
#define BOX_PASSED
#define CUT(value) (value)
#endif
#ifdef HUBER
#define HUBER_DECLARED float delta,
#define HUBER_PASSED delta,
#else
#define HUBER_DECLARED
#define HUBER_PASSED
#endif

// `real` is float, but where the gap is compiled with USE_FP64: the functions serve both.
INLINE real4 gradient(__global const float* u, size_t i, size_t row, size_t plane, int x, int y, int z, Extent extent,
                      real rx, real ry, real rz) {
  const real here = u[i];
  const real dx = x + 1 < extent.nx ? rx * ((real)u[i + 1] - here) : 0;
  const real dy = y + 1 < extent.ny ? ry * ((real)u[i + row] - here) : 0;
  const real dz = z + 1 < extent.nz ? rz * ((real)u[i + plane] - here) : 0;
  return (real4)(dx, dy, dz, 0);
}

INLINE real product(real4 a, real4 b) {
  return fma(a.z, b.z, fma(a.y, b.y, a.x * b.x));
}

// P d at voxel i. On a far face D v has no component across it, so that d keeps its 0 there.
INLINE real4 off_edges(real4 d, REFERENCE_DECLARED size_t i, size_t row, size_t plane, int x, int y, int z,
                       Extent extent, real rx, real ry, real rz) {
#ifdef REFERENCE
  const real4 edge =
      gradient(reference, i, row, plane, x, y, z, extent, rx * inverse_eta, ry * inverse_eta, rz * inverse_eta);
  const real along = gamma * product(edge, d) / (product(edge, edge) + 1);
  // component by component: CPU compilers do not vectorise loops over work-items that hold vectors
  return (real4)(fma(-along, edge.x, d.x), fma(-along, edge.y, d.y), fma(-along, edge.z, d.z), 0);
#else
  return d;
#endif
}

// div P q.
INLINE real divergence_off_edges(__global const float* qx, __global const float* qy, __global const float* qz,
                                 REFERENCE_DECLARED size_t i, size_t row, size_t plane, int x, int y, int z,
                                 Extent extent, real rx, real ry, real rz) {
#define P_Q(i, x, y, z) \
  off_edges((real4)(qx[i], qy[i], qz[i], 0), REFERENCE_PASSED i, row, plane, x, y, z, extent, rx, ry, rz)
  const real4 here = P_Q(i, x, y, z);
  const real dx = here.x - (x > 0 ? P_Q(i - 1, x - 1, y, z).x : 0);
  const real dy = here.y - (y > 0 ? P_Q(i - row, x, y - 1, z).y : 0);
  const real dz = here.z - (z > 0 ? P_Q(i - plane, x, y, z - 1).z : 0);
  return fma(rz, dz, fma(ry, dy, rx * dx));
#undef P_Q
}

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

INLINE real phi(HUBER_DECLARED real4 d) {
#ifdef ANISOTROPIC
  return fabs(d.x) + fabs(d.y) + fabs(d.z);
#elif defined(HUBER)
  const real length = sqrt(product(d, d));
  return length <= delta ? length * length / (2 * delta) : length - delta / 2;
#else
  return sqrt(product(d, d));
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
#ifdef WEIGHT_BITS
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
                              HUBER_DECLARED BOX_DECLARED float lambda){
    STORE_SUMS(4, gap_terms(u, f, WEIGHTS_PASSED REFERENCE_PASSED qx, qy, qz, x, y, z, extent, r.x, r.y, r.z,
                            HUBER_PASSED BOX_PASSED lambda))}

INLINE real4 certificate_terms(__global const float* restrict u, __global const float* restrict data,
                               REFERENCE_DECLARED __global const float* restrict qx, __global const float* restrict qy,
                               __global const float* restrict qz, int x, int y, int z, Extent extent, real rx, real ry,
                               real rz, HUBER_DECLARED real lowest, real lambda) {
  const size_t row = (size_t)extent.nx, plane = row * (size_t)extent.ny, i = VOXEL(x, y, z);
  const real4 q = (real4)(qx[i], qy[i], qz[i], 0);
  const real4 d = off_edges(gradient(u, i, row, plane, x, y, z, extent, rx, ry, rz), REFERENCE_PASSED i, row, plane, x,
                            y, z, extent, rx, ry, rz);
  const real div = divergence_off_edges(qx, qy, qz, REFERENCE_PASSED i, row, plane, x, y, z, extent, rx, ry, rz);
  const real rest = data[i] - div, variation = phi(HUBER_PASSED d), up = fmax(rest, 0), down = fmax(-rest, 0);
  real bound = lambda * variation - product(q, d);
#ifdef HUBER
  bound += delta * product(q, q) / (2 * lambda);
#endif
  return (real4)(bound + up * (u[i] - lowest), down, down * u[i], variation);
}

__kernel void pdu_variant_certificate(__global const float* restrict u, __global const float* restrict data,
                                      REFERENCE_DECLARED __global const float* restrict qx,
                                      __global const float* restrict qy, __global const float* restrict qz,
                                      __global sum_t* restrict partials, Extent extent, PerAxis r,
                                      HUBER_DECLARED float lowest, float lambda){
    STORE_SUMS(4, certificate_terms(u, data, REFERENCE_PASSED qx, qy, qz, x, y, z, extent, r.x, r.y, r.z,
                                    HUBER_PASSED lowest, lambda))}

__kernel
    void pdu_variant_gap_map(__global const float* restrict u, __global const float* restrict data,
                             REFERENCE_DECLARED __global const float* restrict qx, __global const float* restrict qy,
                             __global const float* restrict qz, __global float* restrict map, Extent extent, PerAxis r,
                             HUBER_DECLARED float lowest, float lambda, float highest) {
  const int x = (int)get_global_id(0), y = (int)get_global_id(1), z = extent.begin + (int)get_global_id(2);
  if (x >= extent.nx || y >= extent.ny || z >= extent.end) return;
  const real4 terms = certificate_terms(u, data, REFERENCE_PASSED qx, qy, qz, x, y, z, extent, r.x, r.y, r.z,
                                        HUBER_PASSED lowest, lambda);
  map[VOXEL(x, y, z)] = (float)(terms.x + terms.y * highest - terms.z);
}

__kernel void pdu_variant_descend(__global const float* restrict data,
                                  REFERENCE_DECLARED __global const float* restrict qx,
                                  __global const float* restrict qy, __global const float* restrict qz,
                                  __global float* restrict u, __global float* restrict ubar,
#ifdef STEP_VOLUME
                                  __global const float* restrict steps,
#endif
                                  Extent extent, PerAxis r, float tau, float lowest, float highest) {
  const int x = (int)get_global_id(0), y = (int)get_global_id(1), z = extent.begin + (int)get_global_id(2);
  if (x >= extent.nx || y >= extent.ny || z >= extent.end) return;
  const size_t row = (size_t)extent.nx, plane = row * (size_t)extent.ny, i = VOXEL(x, y, z);
  const float div = divergence_off_edges(qx, qy, qz, REFERENCE_PASSED i, row, plane, x, y, z, extent, r.x, r.y, r.z);
#ifdef STEP_VOLUME
  const float step = tau * steps[i];
#else
  const float step = tau;
#endif
  const float before = u[i], after = fmin(fmax(fma(step, div - data[i], before), lowest), highest);
  u[i] = after;
  ubar[i] = 2.0f * after - before;
}
