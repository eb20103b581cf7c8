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
                       __global float* restrict qz, Extent extent, PerAxis step, float lambda) {
  const int x = (int)get_global_id(0), y = (int)get_global_id(1), z = extent.begin + (int)get_global_id(2);
  if (x >= extent.nx || y >= extent.ny || z >= extent.end) return;
  const size_t row = (size_t)extent.nx, plane = row * (size_t)extent.ny, i = VOXEL(x, y, z);
  const float here = u[i];
  float px = qx[i], py = qy[i], pz = qz[i];
  if (x + 1 < extent.nx) px = fma(step.x, u[i + 1] - here, px);
  if (y + 1 < extent.ny) py = fma(step.y, u[i + row] - here, py);
  if (z + 1 < extent.nz) pz = fma(step.z, u[i + plane] - here, pz);
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
                         Extent extent, PerAxis r, float theta) {
  const int x = (int)get_global_id(0), y = (int)get_global_id(1), z = extent.begin + (int)get_global_id(2);
  if (x >= extent.nx || y >= extent.ny || z >= extent.end) return;
  const size_t row = (size_t)extent.nx, plane = row * (size_t)extent.ny, i = VOXEL(x, y, z);
  const float before = u[i];
  const float after =
      fma(theta, (f[i] - before) + divergence(qx, qy, qz, i, row, plane, x, y, z, r.x, r.y, r.z), before);
  u[i] = after;
#ifdef EXTRAPOLATE
  ubar[i] = fma(factor, after - before, after);
#endif
}

#else
// A work-item takes a row on CPUs. Work-items: (1, rows, slices).
#include "rows.clh"

__kernel void pdu_dual(__global const float* restrict u, __global float* restrict qx, __global float* restrict qy,
                       __global float* restrict qz, Extent extent, PerAxis step, float lambda) {
  const int y = (int)get_global_id(1), z = extent.begin + (int)get_global_id(2);
  const size_t row = (size_t)extent.nx, plane = row * (size_t)extent.ny, i = VOXEL(0, y, z);
  __global const float *here = u + i, *up = y + 1 < extent.ny ? here + row : here,
                       *over = z + 1 < extent.nz ? here + plane : here;
  qx += i, qy += i, qz += i;
  for (int x = 0; x < extent.nx; x += WIDTH) {
    const vector value = load_columns(here, x, extent.nx);
    const vector px = fma((vector)(step.x), load_right(here, x, extent.nx) - value, load_columns(qx, x, extent.nx));
    const vector py = fma((vector)(step.y), load_columns(up, x, extent.nx) - value, load_columns(qy, x, extent.nx));
    const vector pz = fma((vector)(step.z), load_columns(over, x, extent.nx) - value, load_columns(qz, x, extent.nx));
    const vector scale = ball_scales(px, py, pz, lambda);
    store_columns(px * scale, qx, x, extent.nx);
    store_columns(py * scale, qy, x, extent.nx);
    store_columns(pz * scale, qz, x, extent.nx);
  }
}

__kernel void pdu_primal(__global const float* restrict f, __global const float* restrict qx,
                         __global const float* restrict qy, __global const float* restrict qz,
                         __global float* restrict u,
#ifdef EXTRAPOLATE
                         __global float* restrict ubar, float factor,
#endif
                         Extent extent, PerAxis r, float theta) {
  const int y = (int)get_global_id(1), z = extent.begin + (int)get_global_id(2);
  const size_t row = (size_t)extent.nx, plane = row * (size_t)extent.ny, i = VOXEL(0, y, z);
  f += i, qx += i, qy += i, qz += i, u += i;
  for (int x = 0; x < extent.nx; x += WIDTH) {
    const vector before = load_columns(u, x, extent.nx);
    const vector divergence = divergences(qx, qy, qz, row, plane, x, y, z, extent.nx, r.x, r.y, r.z);
    const vector after = fma((vector)(theta), (load_columns(f, x, extent.nx) - before) + divergence, before);
    store_columns(after, u, x, extent.nx);
#ifdef EXTRAPOLATE
    store_columns(fma((vector)(factor), after - before, after), ubar + i, x, extent.nx);
#endif
  }
}
#endif
