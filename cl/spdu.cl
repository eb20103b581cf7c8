// Total-variation denoising with a noise variance for each voxel, the statistical form of pdu.cl (weights as in
// Sawatzky 2014; w = variance over its mean):
//   min_u 1/2 sum_i (u_i - f_i)^2 / w_i + lambda sum_i |(D u)_i|
//   spdu_dual    q <- Proj_{|q_i| <= lambda}( q + s_i step o D u ),  s_i = 1 / (w_i + max of w over i's forward
//                neighbours): one step a voxel, so that the projection is radial
//   spdu_primal  u <- u + theta (f - u + w div q);  with EXTRAPOLATE theta is tau / (w_i + tau) and
//                ubar = u_new + factor (u_new - u_old)
// The duality gap: pdu_state.cl.
//
// w = 0: no view saw the voxel. There u = f; where w is 0 at i and at all its forward neighbours q_i is 0 and its term
// of the total variation, a constant, is left out.
// Arrays: as in pdu.cl, and w, a volume of weights. Halo: one slice low and one high an iteration (w
// too).
// Tunables: group shape (host); EXTRAPOLATE; LANES_PER_ITEM as in sums.clh.
#pragma OPENCL FP_CONTRACT OFF
#define WEIGHTED
#include "tv.clh"
#include "weights.clh"

#ifndef LANES_PER_ITEM
#define LANES_PER_ITEM 1
#endif

#if LANES_PER_ITEM == 1

__kernel void spdu_dual(__global const float* restrict u, __global const float* restrict w, __global float* restrict qx,
                        __global float* restrict qy, __global float* restrict qz, Extent extent, PerAxis step,
                        float lambda) {
  const int x = (int)get_global_id(0), y = (int)get_global_id(1), z = extent.begin + (int)get_global_id(2);
  if (x >= extent.nx || y >= extent.ny || z >= extent.end) return;
  const size_t row = (size_t)extent.nx, plane = row * (size_t)extent.ny, i = VOXEL(x, y, z);
  const float weight = w[i] + largest_ahead(w, i, row, plane, x, y, z, extent);
  const float s = weight > 0.0f ? 1.0f / weight : 0.0f;
  const float here = u[i];
  float px = qx[i], py = qy[i], pz = qz[i];
  if (x + 1 < extent.nx) px = fma(step.x * s, u[i + 1] - here, px);
  if (y + 1 < extent.ny) py = fma(step.y * s, u[i + row] - here, py);
  if (z + 1 < extent.nz) pz = fma(step.z * s, u[i + plane] - here, pz);
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
                          Extent extent, PerAxis r, float theta) {
  const int x = (int)get_global_id(0), y = (int)get_global_id(1), z = extent.begin + (int)get_global_id(2);
  if (x >= extent.nx || y >= extent.ny || z >= extent.end) return;
  const size_t row = (size_t)extent.nx, plane = row * (size_t)extent.ny, i = VOXEL(x, y, z);
  const float before = u[i], weight = w[i];
  const float div = divergence(qx, qy, qz, i, row, plane, x, y, z, r.x, r.y, r.z);
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

#else
// A work-item takes a row on CPUs. Work-items: (1, rows, slices).
#include "rows.clh"

__kernel void spdu_dual(__global const float* restrict u, __global const float* restrict w, __global float* restrict qx,
                        __global float* restrict qy, __global float* restrict qz, Extent extent, PerAxis step,
                        float lambda) {
  const int y = (int)get_global_id(1), z = extent.begin + (int)get_global_id(2);
  const size_t row = (size_t)extent.nx, plane = row * (size_t)extent.ny, i = VOXEL(0, y, z);
  const bool more_y = y + 1 < extent.ny, more_z = z + 1 < extent.nz;
  __global const float *here = u + i, *up = more_y ? here + row : here, *over = more_z ? here + plane : here;
  qx += i, qy += i, qz += i;
  for (int x = 0; x < extent.nx; x += WIDTH) {
    vector most = load_columns(w + i, x + 1, extent.nx);
    if (more_y) most = fmax(most, load_columns(w + i + row, x, extent.nx));
    if (more_z) most = fmax(most, load_columns(w + i + plane, x, extent.nx));
    const vector weight = load_columns(w + i, x, extent.nx) + most;
    const vector s = select((vector)(0.0f), 1.0f / weight, weight > 0.0f);
    const vector value = load_columns(here, x, extent.nx);
    const vector px = fma(step.x * s, load_right(here, x, extent.nx) - value, load_columns(qx, x, extent.nx));
    const vector py = fma(step.y * s, load_columns(up, x, extent.nx) - value, load_columns(qy, x, extent.nx));
    const vector pz = fma(step.z * s, load_columns(over, x, extent.nx) - value, load_columns(qz, x, extent.nx));
    const vector scale = ball_scales(px, py, pz, lambda);
    store_columns(px * scale, qx, x, extent.nx);
    store_columns(py * scale, qy, x, extent.nx);
    store_columns(pz * scale, qz, x, extent.nx);
  }
}

__kernel void spdu_primal(__global const float* restrict f, __global const float* restrict w,
                          __global const float* restrict qx, __global const float* restrict qy,
                          __global const float* restrict qz, __global float* restrict u,
#ifdef EXTRAPOLATE
                          __global float* restrict ubar, float factor,
#endif
                          Extent extent, PerAxis r, float theta) {
  const int y = (int)get_global_id(1), z = extent.begin + (int)get_global_id(2);
  const size_t row = (size_t)extent.nx, plane = row * (size_t)extent.ny, i = VOXEL(0, y, z);
  for (int x = 0; x < extent.nx; x += WIDTH) {
    const vector before = load_columns(u + i, x, extent.nx), weight = load_columns(w + i, x, extent.nx);
    const vector div = divergences(qx + i, qy + i, qz + i, row, plane, x, y, z, extent.nx, r.x, r.y, r.z);
#ifdef EXTRAPOLATE
    const vector step = theta / (weight + theta);
#else
    const vector step = (vector)(theta);
#endif
    const vector after = fma(step, fma(weight, div, load_columns(f + i, x, extent.nx) - before), before);
    store_columns(after, u + i, x, extent.nx);
#ifdef EXTRAPOLATE
    store_columns(fma((vector)(factor), after - before, after), ubar + i, x, extent.nx);
#endif
  }
}
#endif
