// The descent of tvgd.cl along other directions v, the members chosen by macros (either, both or none):
//   u <- u - factor v,   v_i = s_i g_i,   g_i = sum over the axes a of (p_a at i - p_a at i + e_a) / h_a
//   p_a = c_a d_a / N,   N = sqrt( sum_a c_a d_a^2 + eps^2 ),   d = B u: backward differences divided by the spacing, 0 on the
//                        near faces
//   c   1.  ADAPTIVE: c_a = exp(-(d_a / delta)^2), so that differences well above delta, edges, are kept (adaptive-weighted total
//       variation; Liu, Ma, Fan & Liang 2012). As there, g is the derivative of sum_i N_i with the weights c held constant at
//       those of the present u, in all of the roots that u_i is part of.
//   s   1.  WEIGHTED: s_i = sqrt(w_i), the noise's standard deviation at voxel i; 0 where w_i is: that voxel is constant
//   tvgd_variant_step  u_new = u - factor v, factor = control[0] if `steered`, else `given`
//   tvgd_variant_sums  per slice the sums of v^2, (u - f)^2, (u - f) v, N; with KEEP v is kept in `kept` (CPUs)
// A step moves u by factor ||v||, and ||u - factor v - f||^2 = ||u - f||^2 - 2 factor <u - f, v> + factor^2 ||v||^2: the sums
// that steer the descent are those with v, where plain descent has g.
//
// Arrays: volumes u, u_new, f, w, x fastest, first slice in the buffers is `offset`; control: floats (factor, 1 when the
// descent has ended). Halo: one slice low and one high, as for tvgd.cl; w needs none. GPUs compute v in both kernels, in
// groups that compute a direction once (tvgd_group.clh): 16 bytes a voxel and iteration, WEIGHTED 8 more. CPUs go along
// rows (tvgd_rows.clh) and keep v for tvgd_add: 24 and 4 more. Both forms are bound by arithmetic: on NVIDIA's GPUs 161
// instructions a voxel and iteration, 136 without ADAPTIVE.
// Tunables: tvgd_group.clh's, tvgd_rows.clh's, sums.clh's.
#pragma OPENCL FP_CONTRACT OFF
#include "sums.clh"
#include "tv.clh"
#include "weights.clh"

// Arguments that a member has and others have not.
#ifdef ADAPTIVE
// c = 2^-(t^2) with t = decay d, decay = sqrt(log2(e)) / delta. Below 1e-14 it is 0: no square of it may underflow.
#define SMOOTHING_DECLARED float eps2, float decay
#define SMOOTHING eps2, decay
#define WEIGHED(d) (adaptive_weight(decay * (d)) * (d))
// The host names another function where that one is as accurate and faster (host/opencl/quirks.cpp).
#ifndef EXP2
#define EXP2 exp2
#endif
#else
#define SMOOTHING_DECLARED float eps2
#define SMOOTHING eps2
#define WEIGHED(d) (d)
#endif

#if LANES_PER_ITEM == 1
#ifdef ADAPTIVE
INLINE float adaptive_weight(float t) {
  const float c = EXP2(-(t * t));
  return t * t < 46.0f ? c : 0.0f;
}
#endif
#include "tvgd_group.clh"

#ifdef WEIGHTED
#define TIMES_DEVIATION(g, i) (sqrt(w[i]) * (g))
#else
#define TIMES_DEVIATION(g, i) (g)
#endif

// Groups of both: (MARCH_X, 1, MARCH_Z), for GROUP_COLUMNS columns, SEGMENT_ROWS rows and GROUP_SLICES slices.
__kernel __attribute__((reqd_work_group_size(MARCH_X, 1, MARCH_Z))) void tvgd_variant_step(
    __global const float* restrict u, WEIGHTS_DECLARED __global float* restrict u_new,
    __global const float* restrict control, int steered, float given, Extent extent, PerAxis r, SMOOTHING_DECLARED) {
  __local float shared[SHARED_FLOATS];
  const int nx = extent.nx, ny = extent.ny, nz = extent.nz, offset = extent.offset, begin = extent.begin,
            end = extent.end;
  const float rx = r.x, ry = r.y, rz = r.z, factor = steered ? control[0] : given;
  March m;
  march_from(&m, u, nx, ny, nz, offset, begin, end, rx, ry, rz, SMOOTHING);
  EACH_ROW {
    const Row row = m.row;
    const uint i = m.i;
    float g[SLICES];
    march_on(&m, g, shared, odd, y, nx, ny, rx, ry, rz, SMOOTHING);
    EACH_SLICE if (y < m.last && k < m.slices) {
      u_new[m.to_slice[k] + i] = fma(-factor, TIMES_DEVIATION(g[k], m.to_slice[k] + i), row.here[k]);
    }
  }
}

__kernel __attribute__((reqd_work_group_size(MARCH_X, 1, MARCH_Z))) void tvgd_variant_sums(
    __global const float* restrict u, __global const float* restrict f,
    WEIGHTS_DECLARED __global sum_t* restrict partials, Extent extent, PerAxis r, SMOOTHING_DECLARED) {
  __local float shared[SHARED_FLOATS];
  __local sum_t room[4 * GROUP_ITEMS];
  const int nx = extent.nx, ny = extent.ny, nz = extent.nz, offset = extent.offset, begin = extent.begin,
            end = extent.end;
  const float rx = r.x, ry = r.y, rz = r.z;
  sum_t sums[4][SLICES];
#pragma unroll
  for (int n = 0; n < 4; ++n) EACH_SLICE sums[n][k] = NO_SUM;
  March m;
  march_from(&m, u, nx, ny, nz, offset, begin, end, rx, ry, rz, SMOOTHING);
  EACH_ROW {
    const bool counts = y < m.last;
    const uint i = counts ? m.i : 0;
    float change[SLICES], root[SLICES], deviation[SLICES], g[SLICES];
    EACH_SLICE {
      change[k] = m.row.here[k] - f[m.to_slice[k] + i];
      deviation[k] = TIMES_DEVIATION(1.0f, m.to_slice[k] + i);
      root[k] = m.p[k].root;
    }
    march_on(&m, g, shared, odd, y, nx, ny, rx, ry, rz, SMOOTHING);
    if (counts) {
      EACH_SLICE {
        const float v = deviation[k] * g[k];
        sums[0][k] = add_value(sums[0][k], v * v);
        sums[1][k] = add_value(sums[1][k], change[k] * change[k]);
        sums[2][k] = add_value(sums[2][k], change[k] * v);
        sums[3][k] = add_value(sums[3][k], root[k]);
      }
    }
  }
#pragma unroll
  for (int n = 0; n < 4; ++n) EACH_SLICE if (k >= m.slices) sums[n][k] = NO_SUM;
  EACH_SLICE store_group_slice(partials, room, m.z + k - offset, k < m.depth, sums[0][k], sums[1][k], sums[2][k],
                               sums[3][k]);
}

#else
#ifdef ADAPTIVE
INLINE float16 adaptive_weight(float16 t) {
  return select(exp2(-(t * t)), (float16)(0.0f), t * t >= 46.0f);
}
#endif
#include "tvgd_rows.clh"

#ifdef WEIGHTED
#define TIMES_DEVIATION(g) (sqrt(load_columns(w + i, x, extent.nx)) * g)
#else
#define TIMES_DEVIATION(g) g
#endif
#ifdef KEEP
#define KEPT_DECLARED __global float* restrict kept,
#define KEEP_IT store_columns(v, kept + i, x, extent.nx)
#else
#define KEPT_DECLARED
#define KEEP_IT
#endif

// Work-items of both: (1, segments of SEGMENT_ROWS rows, slices / SLICES_AT_ONCE).
__kernel void tvgd_variant_step(__global const float* restrict u, WEIGHTS_DECLARED __global float* restrict u_new,
                                __global const float* restrict control, int steered, float given, Extent extent,
                                PerAxis r, SMOOTHING_DECLARED) {
  const float factor = steered ? control[0] : given;
  DESCENT(NOTHING, store_columns(fma((vector)(-factor), TIMES_DEVIATION(g), here), u_new + i, x, extent.nx);, NOTHING)
}

__kernel void tvgd_variant_sums(__global const float* restrict u, __global const float* restrict f,
                                WEIGHTS_DECLARED __global sum_t* restrict partials, KEPT_DECLARED Extent extent,
                                PerAxis r, SMOOTHING_DECLARED) {
  Lanes sums[4][SLICES_AT_ONCE];
  CLEAR_SUMS(4)
  DESCENT(ADD_ROOT, const vector v = TIMES_DEVIATION(g); const vector change = here - load_columns(f + i, x, extent.nx);
          KEEP_IT; total[0] = fma(v, v, total[0]); total[1] = fma(change, change, total[1]);
          total[2] = fma(change, v, total[2]);, ADD_TOTAL(0) ADD_TOTAL(1) ADD_TOTAL(2) ADD_TOTAL_ROOT)
  STORE_LANES(4)
}
#endif
