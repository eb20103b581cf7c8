// The penalty of pdu_variant.cl in solvers whose data term has the gradient z in u, with bounds lowest <= u <= highest:
//   tv_term_descend      u <- cut( u + tau (div P q - z) ),  ubar = 2 u_new - u_old: a primal step for
//                        min <z, u> + lambda sum phi
//   tv_term_prox         z <- z + carry pending,  u <- cut( u + tau (div P q - z - more pending) ),
//                        ubar = 2 u_new - u_old: the same with z + more pending in the place of z, tau times that of
//                        the voxel in `steps`
//   tv_term_certificate  with r = z - div P q per slice the sums of  lambda phi(P D u) + [delta |q|^2 / (2 lambda)]
//                        - q . P D u + max(r, 0) (u - lowest),  max(-r, 0),  max(-r, 0) u,  phi. The first plus highest
//                        times the second less the third is the part of the duality gap inside the volume
//   tv_term_gap_map      that part voxel by voxel
//
// Arrays: as in pdu_variant.cl; u, ubar, data (z), pending, steps volumes. Halo: one slice low and one high of q, u and
// the reference.
// Tunables: group shape (host); sums.clh's.
#pragma OPENCL FP_CONTRACT OFF
#include "descent.clh"
#include "regulariser.clh"

__kernel void tv_term_descend(__global const float* restrict data, REFERENCE_DECLARED __global const float* restrict qx,
                              __global const float* restrict qy, __global const float* restrict qz,
                              __global float* restrict u, __global float* restrict ubar, Extent extent, PerAxis r,
                              Descent descent) {
  const int x = (int)get_global_id(0), y = (int)get_global_id(1), z = extent.begin + (int)get_global_id(2);
  if (x >= extent.nx || y >= extent.ny || z >= extent.end) return;
  const size_t row = (size_t)extent.nx, plane = row * (size_t)extent.ny, i = VOXEL(x, y, z);
  const float div = divergence_off_edges(qx, qy, qz, REFERENCE_PASSED i, row, plane, x, y, z, extent, r.x, r.y, r.z);
  const float before = u[i],
              after = fmin(fmax(fma(descent.tau, div - data[i], before), descent.lowest), descent.highest);
  u[i] = after;
  ubar[i] = 2.0f * after - before;
}

__kernel void tv_term_prox(__global float* restrict data, __global const float* restrict pending,
                           REFERENCE_DECLARED __global const float* restrict qx, __global const float* restrict qy,
                           __global const float* restrict qz, __global float* restrict u, __global float* restrict ubar,
                           __global const float* restrict steps, Extent extent, PerAxis r, Descent descent) {
  const int x = (int)get_global_id(0), y = (int)get_global_id(1), z = extent.begin + (int)get_global_id(2);
  if (x >= extent.nx || y >= extent.ny || z >= extent.end) return;
  const size_t row = (size_t)extent.nx, plane = row * (size_t)extent.ny, i = VOXEL(x, y, z);
  const float div = divergence_off_edges(qx, qy, qz, REFERENCE_PASSED i, row, plane, x, y, z, extent, r.x, r.y, r.z);
  const float change = pending[i], now = fma(descent.carry, change, data[i]);
  data[i] = now;
  const float before = u[i], slope = div - fma(descent.more, change, now),
              after = fmin(fmax(fma(descent.tau * steps[i], slope, before), descent.lowest), descent.highest);
  u[i] = after;
  ubar[i] = 2.0f * after - before;
}

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

__kernel void tv_term_certificate(__global const float* restrict u, __global const float* restrict data,
                                  REFERENCE_DECLARED __global const float* restrict qx,
                                  __global const float* restrict qy, __global const float* restrict qz,
                                  __global sum_t* restrict partials, Extent extent, PerAxis r,
                                  HUBER_DECLARED float lowest, float lambda){
    STORE_SUMS(4, certificate_terms(u, data, REFERENCE_PASSED qx, qy, qz, x, y, z, extent, r.x, r.y, r.z,
                                    HUBER_PASSED lowest, lambda))}

__kernel void tv_term_gap_map(__global const float* restrict u, __global const float* restrict data,
                              REFERENCE_DECLARED __global const float* restrict qx, __global const float* restrict qy,
                              __global const float* restrict qz, __global float* restrict map, Extent extent, PerAxis r,
                              HUBER_DECLARED float lowest, float lambda, float highest) {
  const int x = (int)get_global_id(0), y = (int)get_global_id(1), z = extent.begin + (int)get_global_id(2);
  if (x >= extent.nx || y >= extent.ny || z >= extent.end) return;
  const real4 terms = certificate_terms(u, data, REFERENCE_PASSED qx, qy, qz, x, y, z, extent, r.x, r.y, r.z,
                                        HUBER_PASSED lowest, lambda);
  map[VOXEL(x, y, z)] = (float)(terms.x + terms.y * highest - terms.z);
}
