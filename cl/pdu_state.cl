// Kernels of runs of pdu.cl, spdu.cl and pdu_fused.cl besides their iterations:
//   pdu_state_start  u = f, q = 0 (pdu_fused.cl)
//   pdu_state_gap    the duality gap, with WEIGHTED that of spdu.cl: per slice the sums of
//                    1/2 (u - f - [w] div q)^2 [/ w] + lambda |D u| - q . D u  (term by term not negative: no
//                    cancellation),  |D u|,  (u - f)^2,  and with WEIGHTED  (u - f)^2 / w
// Rounding may leave a stored dual a little outside of the ball of radius lambda; here it is put back, so that the
// bound is one for certain.
//
// Arrays: u, f volumes; w a volume of weights (weights.clh); qx, qy, qz volumes of dual_t; partials (sums.clh). Halo:
// one slice low and one high.
// Tunables: DUAL_BITS; WEIGHTED; sums.clh's.
#pragma OPENCL FP_CONTRACT OFF
#include "duals.clh"
#include "sums.clh"
#include "tv.clh"
#include "weights.clh"

__kernel void pdu_state_start(__global const float* restrict f, __global float* restrict u,
                              __global dual_t* restrict qx, __global dual_t* restrict qy, __global dual_t* restrict qz,
                              Extent extent) {
  const int x = (int)get_global_id(0), y = (int)get_global_id(1), z = extent.begin + (int)get_global_id(2);
  if (x >= extent.nx || y >= extent.ny || z >= extent.end) return;
  const size_t i = VOXEL(x, y, z);
  u[i] = f[i];
  qx[i] = qy[i] = qz[i] = DUAL_ZERO;
}

#if LANES_PER_ITEM == 1
// A work-item on GPUs marches along the rows of a segment with COLUMNS voxels of one slice. The terms are float32, none
// of them negative but for its rounding, which the sum evens out.
#include "columns.clh"

typedef struct {
  Columns x, y, z;
} Dual;

INLINE Dual load_dual(__global const dual_t* qx, __global const dual_t* qy, __global const dual_t* qz, size_t i,
                      float lambda) {
  Dual q;
  q.x.all = UNPACKED(LOAD(duals, qx, i), lambda);
  q.y.all = UNPACKED(LOAD(duals, qy, i), lambda);
  q.z.all = UNPACKED(LOAD(duals, qz, i), lambda);
#if DUAL_BITS != 32
  EACH_COLUMN {
    const float scale = ball_scale(q.x.at[c], q.y.at[c], q.z.at[c], lambda);
    q.x.at[c] *= scale;
    q.y.at[c] *= scale;
    q.z.at[c] *= scale;
  }
#endif
  return q;
}

INLINE float dual_x_at(__global const dual_t* qx, __global const dual_t* qy, __global const dual_t* qz, size_t i,
                       float lambda) {
#if DUAL_BITS == 32
  return qx[i];
#else
  const float unit = lambda / DUAL_LARGEST;
  const float x = READ_DUAL(qx, i, unit), y = READ_DUAL(qy, i, unit), z = READ_DUAL(qz, i, unit);
  return x * ball_scale(x, y, z, lambda);
#endif
}

#ifdef WEIGHTED
#define COMPONENTS 4
#else
#define COMPONENTS 3
#endif

__kernel __attribute__((reqd_work_group_size(MARCH_X, 1, MARCH_Z))) void pdu_state_gap(
    __global const float* restrict u, __global const float* restrict f,
    WEIGHTS_DECLARED __global const dual_t* restrict qx, __global const dual_t* restrict qy,
    __global const dual_t* restrict qz, __global sum_t* restrict partials, Extent extent, PerAxis r, float lambda) {
  __local sum_t room[MARCH_X * MARCH_Z];
  const int x = (int)get_global_id(0) * COLUMNS, first = (int)get_global_id(1) * SEGMENT_ROWS;
  const int z = extent.begin + (int)get_global_id(2);
  const size_t row = (size_t)extent.nx, plane = row * (size_t)extent.ny;
  sum_t sums[COMPONENTS];
  for (int n = 0; n < COMPONENTS; ++n) sums[n] = NO_SUM;
  if (x < extent.nx && z < extent.end) {
    const int last = min(extent.ny, first + SEGMENT_ROWS);
    const bool more_x = x + COLUMNS < extent.nx, more_z = z + 1 < extent.nz;
    size_t i = VOXEL(x, first, z);
    Columns here, qy_below;
    here.all = LOAD(floats, u, i);
    qy_below.all = (floats)(0.0f);
    if (first > 0) qy_below = load_dual(qx, qy, qz, i - row, lambda).y;
    for (int y = first; y < last; ++y, i += row) {
      const bool more_y = y + 1 < extent.ny;
      Columns up, over, data, under;
      up.all = more_y ? LOAD(floats, u, i + row) : here.all;
      over.all = more_z ? LOAD(floats, u, i + plane) : here.all;
      data.all = LOAD(floats, f, i);
      const float right = more_x ? u[i + COLUMNS] : here.at[COLUMNS - 1];
      const Dual q = load_dual(qx, qy, qz, i, lambda);
      under.all = (floats)(0.0f);
      if (z > 0) under = load_dual(qx, qy, qz, i - plane, lambda).z;
      const float left = x > 0 ? dual_x_at(qx, qy, qz, i - 1, lambda) : 0.0f;
#ifdef WEIGHTED
      Columns weight, weight_y, weight_z;
      weight.all = LOAD(floats, w, i);
      weight_y.all = more_y ? LOAD(floats, w, i + row) : weight.all;
      weight_z.all = more_z ? LOAD(floats, w, i + plane) : weight.all;
      const float weight_x = more_x ? WEIGHT(i + COLUMNS) : weight.at[COLUMNS - 1];
#endif
      float excess = 0.0f, variation = 0.0f, fidelity = 0.0f, weighted = 0.0f;
      EACH_COLUMN {
        const float value = here.at[c];
        const float dx = r.x * ((c + 1 < COLUMNS ? here.at[c + 1 < COLUMNS ? c + 1 : 0] : right) - value);
        const float dy = r.y * (up.at[c] - value), dz = r.z * (over.at[c] - value);
        const float length = sqrt(fma(dz, dz, fma(dy, dy, dx * dx)));
        const float div =
            fma(r.z, q.z.at[c] - under.at[c],
                fma(r.y, q.y.at[c] - qy_below.at[c], r.x * (q.x.at[c] - (c > 0 ? q.x.at[c > 0 ? c - 1 : 0] : left))));
        const float bound = fma(lambda, length, -fma(q.z.at[c], dz, fma(q.y.at[c], dy, q.x.at[c] * dx)));
        const float change = value - data.at[c];
        fidelity = fma(change, change, fidelity);
#ifdef WEIGHTED
        const float mine = weight.at[c], inverse = mine > 0.0f ? 1.0f / mine : 0.0f, rest = fma(-mine, div, change);
        const float ahead = c + 1 < COLUMNS ? weight.at[c + 1 < COLUMNS ? c + 1 : 0] : weight_x;
        const bool counts = fmax(fmax(mine, ahead), fmax(weight_y.at[c], weight_z.at[c])) > 0.0f;
        excess += (counts ? bound : 0.0f) + 0.5f * rest * rest * inverse;
        variation += counts ? length : 0.0f;
        weighted = fma(change * inverse, change, weighted);
#else
        const float rest = change - div;
        excess += fma(0.5f * rest, rest, bound);
        variation += length;
#endif
      }
      sums[0] = add_value(sums[0], excess);
      sums[1] = add_value(sums[1], variation);
      sums[2] = add_value(sums[2], fidelity);
#ifdef WEIGHTED
      sums[3] = add_value(sums[3], weighted);
#endif
      here = up;
      qy_below = q.y;
    }
  }
#pragma unroll
  for (int n = 0; n < COMPONENTS; ++n)
    store_march_sum(partials, room, z - extent.offset, z < extent.end, COMPONENTS, n, sums[n]);
}

#else
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
                       WEIGHTS_DECLARED __global const dual_t* restrict qx, __global const dual_t* restrict qy,
                       __global const dual_t* restrict qz, int x, int y, int z, Extent extent, real rx, real ry,
                       real rz, real lambda) {
  const size_t row = (size_t)extent.nx, plane = row * (size_t)extent.ny, i = VOXEL(x, y, z);
  const bool more_x = x + 1 < extent.nx, more_y = y + 1 < extent.ny, more_z = z + 1 < extent.nz;
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
#ifdef WEIGHTED
  const real weight = WEIGHT(i), inverse = weight > 0 ? 1 / weight : 0, rest = change - weight * div;
  const bool counts = fmax(WEIGHT(i), largest_ahead(WEIGHTS_PASSED i, row, plane, x, y, z, extent)) > 0;
  return (real4)((counts ? bound : 0) + rest * rest * inverse / 2, counts ? length : 0, change * change,
                 change * change * inverse);
#else
  const real rest = change - div;
  return (real4)(bound + rest * rest / 2, length, change * change, 0);
#endif
}

__kernel void pdu_state_gap(__global const float* restrict u, __global const float* restrict f,
                            WEIGHTS_DECLARED __global const dual_t* restrict qx, __global const dual_t* restrict qy,
                            __global const dual_t* restrict qz, __global sum_t* restrict partials, Extent extent,
                            PerAxis r, float lambda) {
#ifdef WEIGHTED
  STORE_SUMS(4, gap_terms(u, f, WEIGHTS_PASSED qx, qy, qz, x, y, z, extent, r.x, r.y, r.z, lambda))
#else
  STORE_SUMS(3, gap_terms(u, f, qx, qy, qz, x, y, z, extent, r.x, r.y, r.z, lambda))
#endif
}
#endif
