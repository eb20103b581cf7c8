// Total-variation denoising of time frames together: pdu.cl in four dimensions,
//   min_u 1/2 ||u - f||^2 + lambda sum_i |(D u)_i|,  (D u)_i = the differences along x, y, z and, divided by the time
//   weight, t
//   pdu4d_dual    q <- Proj_{|q_i| <= lambda}( q + step o D u )
//   pdu4d_primal  u <- u + theta (f - u + div q);  with EXTRAPOLATE also ubar = u_new + factor (u_new - u_old)
//   pdu4d_gap     per frame: the sums of  1/2 (u - f - div q)^2 + lambda |D u| - q . D u  (the duality gap),  |D u|,
//                 (u - f)^2
//
// Arrays: u, f, ubar, and q as qx, qy, qz, qt: volumes of nx times ny by nz voxels. The third axis is time, so that
// slabs are ranges of frames; a frame's slices of `rows` rows follow each other along the second, ny = rows times
// the slices. First frame in the buffers is `offset`. Work-items of dual and primal: (x, rows, slices of all frames),
// as some devices take no more than 65535 groups along the second axis. q is 0 on the far faces, as in tv.clh. Halo:
// one frame low and one high an iteration.
// Tunables: group shape (host); EXTRAPOLATE; sums.clh's.
#pragma OPENCL FP_CONTRACT OFF
#include "pdu4d.clh"
#include "sums.clh"
#include "tv.clh"

__kernel void pdu4d_dual(__global const float* restrict u, __global float* restrict qx, __global float* restrict qy,
                         __global float* restrict qz, __global float* restrict qt, Extent extent, FrameAxes step,
                         float lambda) {
  const int depth = extent.ny / step.rows, slice = (int)get_global_id(2) % depth,
            z = extent.begin + (int)get_global_id(2) / depth;
  const int x = (int)get_global_id(0), line = (int)get_global_id(1), y = line + step.rows * slice;
  if (x >= extent.nx || line >= step.rows || z >= extent.end) return;
  const size_t row = (size_t)extent.nx, plane = row * (size_t)step.rows, frame = row * (size_t)extent.ny,
               i = VOXEL(x, y, z);
  const float here = u[i];
  float px = qx[i], py = qy[i], pz = qz[i], pt = qt[i];
  if (x + 1 < extent.nx) px = fma(step.x, u[i + 1] - here, px);
  if (line + 1 < step.rows) py = fma(step.y, u[i + row] - here, py);
  if (slice + 1 < depth) pz = fma(step.z, u[i + plane] - here, pz);
  if (z + 1 < extent.nz) pt = fma(step.t, u[i + frame] - here, pt);
  const float norm2 = fma(pt, pt, fma(pz, pz, fma(py, py, px * px)));
  const float scale = norm2 > lambda * lambda ? lambda * rsqrt(norm2) : 1.0f;
  qx[i] = px * scale;
  qy[i] = py * scale;
  qz[i] = pz * scale;
  qt[i] = pt * scale;
}

__kernel void pdu4d_primal(__global const float* restrict f, __global const float* restrict qx,
                           __global const float* restrict qy, __global const float* restrict qz,
                           __global const float* restrict qt, __global float* restrict u,
#ifdef EXTRAPOLATE
                           __global float* restrict ubar, float factor,
#endif
                           Extent extent, FrameAxes r, float theta) {
  const int depth = extent.ny / r.rows, slice = (int)get_global_id(2) % depth,
            z = extent.begin + (int)get_global_id(2) / depth;
  const int x = (int)get_global_id(0), line = (int)get_global_id(1), y = line + r.rows * slice;
  if (x >= extent.nx || line >= r.rows || z >= extent.end) return;
  const size_t row = (size_t)extent.nx, plane = row * (size_t)r.rows, frame = row * (size_t)extent.ny,
               i = VOXEL(x, y, z);
  const float dx = qx[i] - (x > 0 ? qx[i - 1] : 0.0f);
  const float dy = qy[i] - (line > 0 ? qy[i - row] : 0.0f);
  const float dz = qz[i] - (slice > 0 ? qz[i - plane] : 0.0f);
  const float dt = qt[i] - (z > 0 ? qt[i - frame] : 0.0f);
  const float before = u[i];
  const float after = fma(theta, (f[i] - before) + fma(r.t, dt, fma(r.z, dz, fma(r.y, dy, r.x * dx))), before);
  u[i] = after;
#ifdef EXTRAPOLATE
  ubar[i] = fma(factor, after - before, after);
#endif
}

INLINE real4 gap_terms(__global const float* restrict u, __global const float* restrict f,
                       __global const float* restrict qx, __global const float* restrict qy,
                       __global const float* restrict qz, __global const float* restrict qt, int x, int y, int z,
                       Extent extent, int rows, real rx, real ry, real rz, real rt, real lambda) {
  const size_t row = (size_t)extent.nx, plane = row * (size_t)rows, frame = row * (size_t)extent.ny, i = VOXEL(x, y, z);
  const real here = u[i], px = qx[i], py = qy[i], pz = qz[i], pt = qt[i];
  const real dx = x + 1 < extent.nx ? rx * ((real)u[i + 1] - here) : 0;
  const real dy = y % rows + 1 < rows ? ry * ((real)u[i + row] - here) : 0;
  const real dz = y + rows < extent.ny ? rz * ((real)u[i + plane] - here) : 0;
  const real dt = z + 1 < extent.nz ? rt * ((real)u[i + frame] - here) : 0;
  const real length = sqrt(dx * dx + dy * dy + dz * dz + dt * dt);
  const real div = rx * (px - (x > 0 ? qx[i - 1] : 0)) + ry * (py - (y % rows > 0 ? qy[i - row] : 0)) +
                   rz * (pz - (y >= rows ? qz[i - plane] : 0)) + rt * (pt - (z > 0 ? qt[i - frame] : 0));
  const real change = here - f[i], rest = change - div;
  const real excess = rest * rest / 2 + (lambda * length - (px * dx + py * dy + pz * dz + pt * dt));
  return (real4)(excess, length, change * change, 0);
}

__kernel void pdu4d_gap(__global const float* restrict u, __global const float* restrict f,
                        __global const float* restrict qx, __global const float* restrict qy,
                        __global const float* restrict qz, __global const float* restrict qt,
                        __global sum_t* restrict partials, Extent extent, FrameAxes r, float lambda) {
  STORE_SUMS(3, gap_terms(u, f, qx, qy, qz, qt, x, y, z, extent, r.rows, r.x, r.y, r.z, r.t, lambda))
}
