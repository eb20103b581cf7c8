// Total-variation denoising with a noise variance for each voxel, the statistical form of pdu.cl (weights as in Sawatzky
// 2014; w = variance over its mean):
//   min_u 1/2 sum_i (u_i - f_i)^2 / w_i + lambda sum_i |(D u)_i|
//   spdu_dual    q <- Proj_{|q_i| <= lambda}( q + s_i step o D u ),  s_i = 1 / (w_i + max of w over i's forward neighbours):
//                one step a voxel, so that the projection stays radial
//   spdu_primal  u <- u + theta (f - u + w div q);  with EXTRAPOLATE theta is tau / (w_i + tau) and
//                ubar = u_new + factor (u_new - u_old)
//   spdu_gap     per slice: the sums of  1/2 (u - f - w div q)^2 / w + lambda |D u| - q . D u  (the duality gap),  |D u|,
//                (u - f)^2,  (u - f)^2 / w
//
// w = 0: no view saw the voxel. There u = f; where w is 0 at i and at all its forward neighbours q_i is 0 and its term of the
// total variation, a constant, is left out.
// Arrays: as in pdu.cl, and the volume w. Halo: one slice low and one high an iteration (w too).
// Tunables: group shape (host); EXTRAPOLATE; sums.clh's.
#pragma OPENCL FP_CONTRACT OFF
#include "sums.clh"
#include "tv.clh"

INLINE float largest_ahead(__global const float* w, size_t i, size_t row, size_t plane, int x, int y, int z, int nx, int ny,
                    int nz) {
  float most = 0.0f;
  if (x + 1 < nx) most = w[i + 1];
  if (y + 1 < ny) most = fmax(most, w[i + row]);
  if (z + 1 < nz) most = fmax(most, w[i + plane]);
  return most;
}

__kernel void spdu_dual(__global const float* restrict u, __global const float* restrict w, __global float* restrict qx,
                        __global float* restrict qy, __global float* restrict qz, int nx, int ny, int nz, int offset,
                        int begin, int end, float step_x, float step_y, float step_z, float lambda) {
  const int x = (int)get_global_id(0), y = (int)get_global_id(1), z = begin + (int)get_global_id(2);
  if (x >= nx || y >= ny || z >= end) return;
  const size_t row = (size_t)nx, plane = row * (size_t)ny, i = VOXEL(x, y, z);
  const float weight = w[i] + largest_ahead(w, i, row, plane, x, y, z, nx, ny, nz);
  const float s = weight > 0.0f ? 1.0f / weight : 0.0f;
  const float here = u[i];
  float px = qx[i], py = qy[i], pz = qz[i];
  if (x + 1 < nx) px = fma(step_x * s, u[i + 1] - here, px);
  if (y + 1 < ny) py = fma(step_y * s, u[i + row] - here, py);
  if (z + 1 < nz) pz = fma(step_z * s, u[i + plane] - here, pz);
  const float scale = ball_scale(px, py, pz, lambda);
  qx[i] = px * scale;
  qy[i] = py * scale;
  qz[i] = pz * scale;
}

__kernel void spdu_primal(__global const float* restrict f, __global const float* restrict w,
                          __global const float* restrict qx, __global const float* restrict qy,
                          __global const float* restrict qz, __global float* restrict u,
#ifdef EXTRAPOLATE
                          __global float* restrict ubar, float factor,
#endif
                          int nx, int ny, int offset, int begin, int end, float rx, float ry, float rz, float theta) {
  const int x = (int)get_global_id(0), y = (int)get_global_id(1), z = begin + (int)get_global_id(2);
  if (x >= nx || y >= ny || z >= end) return;
  const size_t row = (size_t)nx, plane = row * (size_t)ny, i = VOXEL(x, y, z);
  const float before = u[i], weight = w[i];
  const float div = divergence(qx, qy, qz, i, row, plane, x, y, z, rx, ry, rz);
#ifdef EXTRAPOLATE
  const float step = theta / (weight + theta);
#else
  const float step = theta;
#endif
  const float after = fma(step, fma(weight, div, f[i] - before), before);
  u[i] = after;
#ifdef EXTRAPOLATE
  ubar[i] = fma(factor, after - before, after);
#endif
}

INLINE real4 gap_terms(__global const float* restrict u, __global const float* restrict f, __global const float* restrict w,
                       __global const float* restrict qx, __global const float* restrict qy,
                       __global const float* restrict qz, int x, int y, int z, int nx, int ny, int nz, int offset, real rx,
                       real ry, real rz, real lambda) {
  const size_t row = (size_t)nx, plane = row * (size_t)ny, i = VOXEL(x, y, z);
  const real here = u[i], weight = w[i], px = qx[i], py = qy[i], pz = qz[i];
  const bool seen = weight > 0;
  const bool counts = fmax(w[i], largest_ahead(w, i, row, plane, x, y, z, nx, ny, nz)) > 0;
  const real dx = x + 1 < nx ? rx * ((real)u[i + 1] - here) : 0;
  const real dy = y + 1 < ny ? ry * ((real)u[i + row] - here) : 0;
  const real dz = z + 1 < nz ? rz * ((real)u[i + plane] - here) : 0;
  const real length = sqrt(dx * dx + dy * dy + dz * dz);
  const real div = rx * (px - (x > 0 ? qx[i - 1] : 0)) + ry * (py - (y > 0 ? qy[i - row] : 0)) +
                   rz * (pz - (z > 0 ? qz[i - plane] : 0));
  const real change = here - f[i], rest = change - weight * div, inverse = seen ? 1 / weight : 0;
  const real bound = counts ? lambda * length - (px * dx + py * dy + pz * dz) : 0;
  return (real4)(bound + rest * rest * inverse / 2, counts ? length : 0, change * change, change * change * inverse);
}

__kernel void spdu_gap(__global const float* restrict u, __global const float* restrict f,
                       __global const float* restrict w, __global const float* restrict qx,
                       __global const float* restrict qy, __global const float* restrict qz,
                       __global sum_t* restrict partials, int nx, int ny, int nz, int offset, int begin, int end,
                       float rx, float ry, float rz, float lambda) {
  STORE_SUMS(4, gap_terms(u, f, w, qx, qy, qz, x, y, z, nx, ny, nz, offset, rx, ry, rz, lambda))
}
