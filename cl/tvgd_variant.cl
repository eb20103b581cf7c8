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
// descent has ended). Halo: one slice low and one high, as for tvgd.cl; w needs none. GPUs compute v in both kernels, voxel by
// voxel: 16 bytes a voxel and iteration, WEIGHTED 8 more. CPUs go along rows (tvgd_rows.clh) and keep v for tvgd_add: 24 and
// 4 more. ADAPTIVE is bound by its exponentials, not by memory: 12 a voxel and kernel on GPUs, 6 on CPUs.
// Tunables: group shape (host); sums.clh's.
#pragma OPENCL FP_CONTRACT OFF
#include "sums.clh"
#include "tv.clh"
#include "weights.clh"

// Arguments that a member has and others have not.
#ifdef ADAPTIVE
#define SMOOTHING_DECLARED float eps2, float inverse_delta
#define SMOOTHING eps2, inverse_delta
#define WEIGHED(d) (adaptive_weight(inverse_delta * (d)) * (d))
#else
#define SMOOTHING_DECLARED float eps2
#define SMOOTHING eps2
#define WEIGHED(d) (d)
#endif
#ifdef KEEP
#define KEPT_DECLARED __global float* restrict kept,
#define KEPT_PASSED kept,
#else
#define KEPT_DECLARED
#define KEPT_PASSED
#endif

#if LANES_PER_ITEM == 1
// A voxel each.
#ifdef ADAPTIVE
// The weight of a difference of t deltas. Below 1e-14 it is 0: no square of it may underflow.
INLINE float adaptive_weight(float t) {
  return t * t < 32.0f ? exp(-(t * t)) : 0.0f;
}
#endif

typedef struct {
  float x, y, z, root;
} Direction;  // p and N

INLINE Direction direction(__global const float* u, size_t i, size_t row, size_t plane, int x, int y, int z, float rx,
                           float ry, float rz, SMOOTHING_DECLARED) {
  const float here = u[i];
  const float dx = x > 0 ? rx * (here - u[i - 1]) : 0.0f;
  const float dy = y > 0 ? ry * (here - u[i - row]) : 0.0f;
  const float dz = z > 0 ? rz * (here - u[i - plane]) : 0.0f;
  Direction p;
  p.x = WEIGHED(dx);
  p.y = WEIGHED(dy);
  p.z = WEIGHED(dz);
  const float norm2 = fma(p.z, dz, fma(p.y, dy, fma(p.x, dx, eps2)));
  const float inverse = INVERSE_ROOT(norm2);
  p.x *= inverse;
  p.y *= inverse;
  p.z *= inverse;
  p.root = norm2 * inverse;
  return p;
}

// v at voxel i; *root is N there.
INLINE float descent(__global const float* u, WEIGHTS_DECLARED int x, int y, int z, int nx, int ny, int nz, int offset,
                     float rx, float ry, float rz, SMOOTHING_DECLARED, float* root) {
  const size_t row = (size_t)nx, plane = row * (size_t)ny,
               i = (size_t)x + (size_t)nx * ((size_t)y + (size_t)ny * (size_t)(z - offset));
#define DIRECTION(i, x, y, z) direction(u, i, row, plane, x, y, z, rx, ry, rz, SMOOTHING)
  const Direction p = DIRECTION(i, x, y, z);
  const float after_x = x + 1 < nx ? DIRECTION(i + 1, x + 1, y, z).x : 0.0f;
  const float after_y = y + 1 < ny ? DIRECTION(i + row, x, y + 1, z).y : 0.0f;
  const float after_z = z + 1 < nz ? DIRECTION(i + plane, x, y, z + 1).z : 0.0f;
#undef DIRECTION
  *root = p.root;
  const float g = fma(rz, p.z - after_z, fma(ry, p.y - after_y, rx * (p.x - after_x)));
#ifdef WEIGHTED
  return sqrt(w[i]) * g;
#else
  return g;
#endif
}

__kernel void tvgd_variant_step(__global const float* restrict u, WEIGHTS_DECLARED __global float* restrict u_new,
                                __global const float* restrict control, int steered, float given, Extent extent,
                                PerAxis r, SMOOTHING_DECLARED) {
  const int nx = extent.nx, ny = extent.ny, nz = extent.nz, offset = extent.offset, begin = extent.begin,
            end = extent.end;
  const float rx = r.x, ry = r.y, rz = r.z;
  const int x = (int)get_global_id(0), y = (int)get_global_id(1), z = begin + (int)get_global_id(2);
  if (x >= nx || y >= ny || z >= end) return;
  float root;
  const float v = descent(u, WEIGHTS_PASSED x, y, z, nx, ny, nz, offset, rx, ry, rz, SMOOTHING, &root);
  const size_t i = (size_t)x + (size_t)nx * ((size_t)y + (size_t)ny * (size_t)(z - offset));
  u_new[i] = fma(-(steered ? control[0] : given), v, u[i]);
}

INLINE real4 descent_terms(__global const float* u, __global const float* f, WEIGHTS_DECLARED KEPT_DECLARED int x,
                           int y, int z, int nx, int ny, int nz, int offset, float rx, float ry, float rz,
                           SMOOTHING_DECLARED) {
  float root;
  const float v = descent(u, WEIGHTS_PASSED x, y, z, nx, ny, nz, offset, rx, ry, rz, SMOOTHING, &root);
  const size_t i = (size_t)x + (size_t)nx * ((size_t)y + (size_t)ny * (size_t)(z - offset));
#ifdef KEEP
  kept[i] = v;
#endif
  const float change = u[i] - f[i];
  return (real4)(v * v, change * change, change * v, root);
}

__kernel void tvgd_variant_sums(__global const float* restrict u, __global const float* restrict f,
                                WEIGHTS_DECLARED __global sum_t* restrict partials, KEPT_DECLARED Extent extent,
                                PerAxis r, SMOOTHING_DECLARED) {
  STORE_SUMS(4, descent_terms(u, f, WEIGHTS_PASSED KEPT_PASSED x, y, z, extent.nx, extent.ny, extent.nz, extent.offset,
                              r.x, r.y, r.z, SMOOTHING));
}

#else
#ifdef ADAPTIVE
INLINE float16 adaptive_weight(float16 t) {
  return select(exp(-(t * t)), (float16)(0.0f), t * t >= 32.0f);
}
#endif
#include "tvgd_rows.clh"

#ifdef WEIGHTED
#define TIMES_DEVIATION(g) (sqrt(load_columns(w + i, x, extent.nx)) * g)
#else
#define TIMES_DEVIATION(g) g
#endif
#ifdef KEEP
#define KEEP_IT store_columns(v, kept + i, x, extent.nx)
#else
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
