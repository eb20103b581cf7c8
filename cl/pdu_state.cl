// What a run of pdu_fused.cl needs besides its passes:
//   pdu_start  u = f, q = 0
//   pdu_stored_gap    the duality gap of pdu.cl (with WEIGHTS: of spdu.cl), per slice the sums of
//                    1/2 (u - f - [w] div q)^2 [/ w] + lambda |D u| - q . D u,  |D u|,  (u - f)^2
//                    and with WEIGHTS  (u - f)^2 / w
// Rounding may leave a stored dual a little outside of the ball of radius lambda; here it is put back, so that the bound is
// one for certain.
//
// Arrays: u, f, w volumes; qx, qy, qz volumes of dual_t; partials (sums.clh). Halo: one slice low and one high.
// Tunables: DUAL_BITS; sums.clh's.
#pragma OPENCL FP_CONTRACT OFF
#include "duals.clh"
#include "sums.clh"
#include "tv.clh"

__kernel void pdu_start(__global const float* restrict f, __global float* restrict u, __global dual_t* restrict qx,
                              __global dual_t* restrict qy, __global dual_t* restrict qz, int nx, int ny, int offset,
                              int begin, int end) {
  const int x = (int)get_global_id(0), y = (int)get_global_id(1), z = begin + (int)get_global_id(2);
  if (x >= nx || y >= ny || z >= end) return;
  const size_t i = VOXEL(x, y, z);
  u[i] = f[i];
  qx[i] = qy[i] = qz[i] = DUAL_ZERO;
}

INLINE real4 dual_at(__global const dual_t* restrict qx, __global const dual_t* restrict qy,
                     __global const dual_t* restrict qz, size_t i, real lambda) {
#if DUAL_BITS == 32
  return (real4)(qx[i], qy[i], qz[i], 0);
#else
  const float unit = (float)lambda / DUAL_LARGEST;
  const real x = READ_DUAL(qx, i, unit), y = READ_DUAL(qy, i, unit), z = READ_DUAL(qz, i, unit);
  const real norm = sqrt(x * x + y * y + z * z), scale = norm > lambda ? lambda / norm : 1;
  return (real4)(x * scale, y * scale, z * scale, 0);
#endif
}

INLINE real4 gap_terms(__global const float* restrict u, __global const float* restrict f,
#ifdef WEIGHTS
                       __global const float* restrict w,
#endif
                       __global const dual_t* restrict qx, __global const dual_t* restrict qy,
                       __global const dual_t* restrict qz, int x, int y, int z, int nx, int ny, int nz, int offset,
                       real rx, real ry, real rz, real lambda) {
  const size_t row = (size_t)nx, plane = row * (size_t)ny, i = VOXEL(x, y, z);
  const bool more_x = x + 1 < nx, more_y = y + 1 < ny, more_z = z + 1 < nz;
  const real here = u[i];
  const real4 q = dual_at(qx, qy, qz, i, lambda);
  const real dx = more_x ? rx * ((real)u[i + 1] - here) : 0;
  const real dy = more_y ? ry * ((real)u[i + row] - here) : 0;
  const real dz = more_z ? rz * ((real)u[i + plane] - here) : 0;
  const real length = sqrt(dx * dx + dy * dy + dz * dz);
  const real left = x > 0 ? dual_at(qx, qy, qz, i - 1, lambda).x : 0;
  const real below = y > 0 ? dual_at(qx, qy, qz, i - row, lambda).y : 0;
  const real under = z > 0 ? dual_at(qx, qy, qz, i - plane, lambda).z : 0;
  const real div = rx * (q.x - left) + ry * (q.y - below) + rz * (q.z - under);
  const real change = here - f[i], bound = lambda * length - (q.x * dx + q.y * dy + q.z * dz);
#ifdef WEIGHTS
  const real weight = w[i], inverse = weight > 0 ? 1 / weight : 0, rest = change - weight * div;
  const bool counts = w[i] > 0 || (more_x && w[i + 1] > 0) || (more_y && w[i + row] > 0) || (more_z && w[i + plane] > 0);
  return (real4)((counts ? bound : 0) + rest * rest * inverse / 2, counts ? length : 0, change * change,
                 change * change * inverse);
#else
  const real rest = change - div;
  return (real4)(bound + rest * rest / 2, length, change * change, 0);
#endif
}

__kernel void pdu_stored_gap(__global const float* restrict u, __global const float* restrict f,
#ifdef WEIGHTS
                            __global const float* restrict w,
#endif
                            __global const dual_t* restrict qx, __global const dual_t* restrict qy,
                            __global const dual_t* restrict qz, __global sum_t* restrict partials, int nx, int ny, int nz,
                            int offset, int begin, int end, float rx, float ry, float rz, float lambda) {
#ifdef WEIGHTS
  STORE_SUMS(4, gap_terms(u, f, w, qx, qy, qz, x, y, z, nx, ny, nz, offset, rx, ry, rz, lambda))
#else
  STORE_SUMS(3, gap_terms(u, f, qx, qy, qz, x, y, z, nx, ny, nz, offset, rx, ry, rz, lambda))
#endif
}
