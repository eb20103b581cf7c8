// Total-variation denoising (Rudin, Osher & Fatemi 1992) by the primal-dual hybrid gradient of Zhu & Chan 2008:
//   min_u 1/2 ||u - f||^2 + lambda sum_i |(D u)_i|
//   pdu_dual    q <- Proj_{|q_i| <= lambda}( q + step o D u )
//   pdu_primal  u <- u + theta (f - u + div q);  with EXTRAPOLATE also ubar = u_new + factor (u_new - u_old)
// The duality gap: pdu_state.cl.
//
// Arrays: u, f, ubar volumes; q three volumes qx, qy, qz; x fastest, first slice in the buffers is `offset`. In place.
// Halo: q_i needs u_i and its forward neighbours, u_i needs q_i and its backward neighbours: one slice low and one high
// an iteration. Traffic 28 + 24 bytes a voxel: the two kernels run at the speed of the memory.
// Tunables: group shape (host); EXTRAPOLATE; LANES_PER_ITEM as in sums.clh.
#pragma OPENCL FP_CONTRACT OFF
#include "tv.clh"

#ifndef LANES_PER_ITEM
#define LANES_PER_ITEM 1
#endif

#if LANES_PER_ITEM == 1

__kernel void pdu_dual(__global const float* restrict u, __global float* restrict qx, __global float* restrict qy,
                       __global float* restrict qz, int nx, int ny, int nz, int offset, int begin, int end,
                       float step_x, float step_y, float step_z, float lambda) {
  const int x = (int)get_global_id(0), y = (int)get_global_id(1), z = begin + (int)get_global_id(2);
  if (x >= nx || y >= ny || z >= end) return;
  const size_t row = (size_t)nx, plane = row * (size_t)ny, i = VOXEL(x, y, z);
  const float here = u[i];
  float px = qx[i], py = qy[i], pz = qz[i];
  if (x + 1 < nx) px = fma(step_x, u[i + 1] - here, px);
  if (y + 1 < ny) py = fma(step_y, u[i + row] - here, py);
  if (z + 1 < nz) pz = fma(step_z, u[i + plane] - here, pz);
  const float scale = ball_scale(px, py, pz, lambda);
  qx[i] = px * scale;
  qy[i] = py * scale;
  qz[i] = pz * scale;
}

__kernel void pdu_primal(__global const float* restrict f, __global const float* restrict qx,
                         __global const float* restrict qy, __global const float* restrict qz,
                         __global float* restrict u,
#ifdef EXTRAPOLATE
                         __global float* restrict ubar, float factor,
#endif
                         int nx, int ny, int offset, int begin, int end, float rx, float ry, float rz, float theta) {
  const int x = (int)get_global_id(0), y = (int)get_global_id(1), z = begin + (int)get_global_id(2);
  if (x >= nx || y >= ny || z >= end) return;
  const size_t row = (size_t)nx, plane = row * (size_t)ny, i = VOXEL(x, y, z);
  const float before = u[i];
  const float after = fma(theta, (f[i] - before) + divergence(qx, qy, qz, i, row, plane, x, y, z, rx, ry, rz), before);
  u[i] = after;
#ifdef EXTRAPOLATE
  ubar[i] = fma(factor, after - before, after);
#endif
}

#else
// On CPUs a work-item has a row. Work-items: (1, rows, slices).
#include "rows.clh"

__kernel void pdu_dual(__global const float* restrict u, __global float* restrict qx, __global float* restrict qy,
                       __global float* restrict qz, int nx, int ny, int nz, int offset, int begin, int end,
                       float step_x, float step_y, float step_z, float lambda) {
  const int y = (int)get_global_id(1), z = begin + (int)get_global_id(2);
  const size_t row = (size_t)nx, plane = row * (size_t)ny, i = VOXEL(0, y, z);
  __global const float *here = u + i, *up = y + 1 < ny ? here + row : here, *over = z + 1 < nz ? here + plane : here;
  qx += i, qy += i, qz += i;
  for (int x = 0; x < nx; x += WIDTH) {
    const vector value = load_columns(here, x, nx);
    const vector px = fma((vector)(step_x), load_right(here, x, nx) - value, load_columns(qx, x, nx));
    const vector py = fma((vector)(step_y), load_columns(up, x, nx) - value, load_columns(qy, x, nx));
    const vector pz = fma((vector)(step_z), load_columns(over, x, nx) - value, load_columns(qz, x, nx));
    const vector scale = ball_scales(px, py, pz, lambda);
    store_columns(px * scale, qx, x, nx);
    store_columns(py * scale, qy, x, nx);
    store_columns(pz * scale, qz, x, nx);
  }
}

__kernel void pdu_primal(__global const float* restrict f, __global const float* restrict qx,
                         __global const float* restrict qy, __global const float* restrict qz,
                         __global float* restrict u,
#ifdef EXTRAPOLATE
                         __global float* restrict ubar, float factor,
#endif
                         int nx, int ny, int offset, int begin, int end, float rx, float ry, float rz, float theta) {
  const int y = (int)get_global_id(1), z = begin + (int)get_global_id(2);
  const size_t row = (size_t)nx, plane = row * (size_t)ny, i = VOXEL(0, y, z);
  f += i, qx += i, qy += i, qz += i, u += i;
  for (int x = 0; x < nx; x += WIDTH) {
    const vector before = load_columns(u, x, nx);
    const vector divergence = divergences(qx, qy, qz, row, plane, x, y, z, nx, rx, ry, rz);
    const vector after = fma((vector)(theta), (load_columns(f, x, nx) - before) + divergence, before);
    store_columns(after, u, x, nx);
#ifdef EXTRAPOLATE
    store_columns(fma((vector)(factor), after - before, after), ubar + i, x, nx);
#endif
  }
}
#endif
