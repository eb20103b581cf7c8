// Gradient descent on the smoothed total variation (the inner steps of ASD-POCS, Sidky & Pan 2008), with
//   TV(u) = sum_i sqrt(|(B u)_i|^2 + eps^2),  B backward differences divided by the spacing, 0 on the near faces
//   p_i = (B u)_i / N_i with N the root above,  g_i = dTV / du_i = sum over the axes a of (p_a at i - p_a at i + e_a) / h_a
//   tvgd_step  v = u - factor g, factor = control[0] if `steered`, else `given`
//   tvgd_sums  per slice the sums of g^2; with FIDELITY also of (u - f)^2, (u - f) g, N
//   tvgd_add   u = u - factor g, with the gradient that tvgd_sums kept (CPUs)
//   tvgd_steer what the host does with those sums, for a volume on one device: the next factor (see tvgd.cpp)
//
// Arrays: volumes u, v, f, x fastest, first slice in the buffers is `offset`; control: floats (factor, 1 when the descent
// has ended). Halo: g_i needs i's neighbours along the axes and the diagonal ones like (x + 1, y - 1, z): one slice low and
// one high. g is computed in both kernels: that is less traffic than to store it, 12 bytes a voxel and iteration, 16 with
// FIDELITY. CPUs keep it: 20 and 24 bytes.
// Tunables: group shape (host); COLUMNS and SLICES of a work-item (GPUs); sums.clh's.
#pragma OPENCL FP_CONTRACT OFF
#include "sums.clh"
#include "tv.clh"

#if LANES_PER_ITEM == 1
// A work-item on GPUs marches along the rows of a segment with COLUMNS voxels of SLICES slices and keeps what the next row needs again. It
// starts at the same rows for every slab.
#ifndef SLICES
#define SLICES 2
#endif
#include "columns.clh"

#define EACH_SLICE _Pragma("unroll") for (int k = 0; k < SLICES; ++k)

typedef struct {
  float x, y, z, root;
} Direction;  // p and N

INLINE Direction direction(float here, float left, float below, float under, PerAxis r, float eps2) {
  const float dx = r.x * (here - left), dy = r.y * (here - below), dz = r.z * (here - under);
  const float norm2 = fma(dz, dz, fma(dy, dy, fma(dx, dx, eps2)));
  const float inverse = INVERSE_ROOT(norm2);
  Direction p;
  p.x = dx * inverse;
  p.y = dy * inverse;
  p.z = dz * inverse;
  p.root = norm2 * inverse;
  return p;
}

// The voxels of a work-item in row y, and what is known there.
typedef struct {
  __global const float* slice[SLICES + 2];  // z - 1 ... z + SLICES; its neighbour for one outside
  uint i;                                   // of the first voxel, in its slice
  uint to_left, to_right;
  bool more_x;
  Columns here[SLICES], px[SLICES], pz[SLICES], own[SLICES], root[SLICES];  // own: p_y / h_y + p_z / h_z
  Columns top;                                                              // u at z + SLICES, one row back
  float right[SLICES], px_right[SLICES];                                    // u and p_x of the voxel after the last
} March;

INLINE void march_from(March* m, __global const float* u, int x, int y, int z, Extent extent, PerAxis r, float eps2) {
  const size_t plane = (size_t)extent.nx * (size_t)extent.ny;
  const int lowest = max(0, z - 1), highest = min(extent.nz - 1, min(extent.end, z + SLICES));
#pragma unroll
  for (int k = 0; k < SLICES + 2; ++k)
    m->slice[k] = u + plane * (size_t)(clamp(z - 1 + k, lowest, highest) - extent.offset);
  m->i = (uint)x + (uint)extent.nx * (uint)y;
  m->more_x = x + COLUMNS < extent.nx;
  m->to_left = x > 0 ? 1 : 0;
  m->to_right = m->more_x ? COLUMNS : COLUMNS - 1;
  const uint back = y > 0 ? m->i - (uint)extent.nx : m->i;
  m->top.all = LOAD(floats, m->slice[SLICES + 1], back);
  EACH_SLICE {
    Columns under, below;
    m->here[k].all = LOAD(floats, m->slice[k + 1], m->i);
    under.all = LOAD(floats, m->slice[k], m->i);
    below.all = LOAD(floats, m->slice[k + 1], back);
    const float left = m->slice[k + 1][m->i - m->to_left];
    EACH_COLUMN {
      const Direction p = direction(m->here[k].at[c], c > 0 ? m->here[k].at[c > 0 ? c - 1 : 0] : left, below.at[c],
                                    under.at[c], r, eps2);
      m->px[k].at[c] = p.x;
      m->pz[k].at[c] = p.z;
      m->own[k].at[c] = fma(r.z, p.z, r.y * p.y);
      m->root[k].at[c] = p.root;
    }
    m->right[k] = m->slice[k + 1][m->i + m->to_right];
    const Direction p = direction(m->right[k], m->here[k].at[COLUMNS - 1], m->slice[k + 1][back + m->to_right],
                                  m->slice[k][m->i + m->to_right], r, eps2);
    m->px_right[k] = m->more_x ? p.x : 0.0f;
  }
}

// g of row y; advances *m to row y + 1.
INLINE void march_on(March* m, Columns* g, int y, Extent extent, PerAxis r, float eps2) {
  const uint up = y + 1 < extent.ny ? m->i + (uint)extent.nx : m->i;
  Columns row[SLICES + 1], top, pz_top;
  float right[SLICES + 1];
#pragma unroll
  for (int k = 0; k <= SLICES; ++k) {
    row[k].all = LOAD(floats, m->slice[k], up);
    right[k] = m->slice[k][up + m->to_right];
  }
  top.all = LOAD(floats, m->slice[SLICES + 1], m->i);
  const float top_left = m->slice[SLICES + 1][m->i - m->to_left];
  EACH_COLUMN {
    const float below = y > 0 ? m->top.at[c] : top.at[c];
    pz_top.at[c] =
        direction(top.at[c], c > 0 ? top.at[c > 0 ? c - 1 : 0] : top_left, below, m->here[SLICES - 1].at[c], r, eps2).z;
  }
  EACH_SLICE {
    const float left = m->slice[k + 1][up - m->to_left];
    Columns px, pz;
    EACH_COLUMN {
      const Direction p = direction(row[k + 1].at[c], c > 0 ? row[k + 1].at[c > 0 ? c - 1 : 0] : left, m->here[k].at[c],
                                    row[k].at[c], r, eps2);
      const float px_next = c + 1 < COLUMNS ? m->px[k].at[c + 1 < COLUMNS ? c + 1 : 0] : m->px_right[k];
      const float pz_next = k + 1 < SLICES ? m->pz[k + 1 < SLICES ? k + 1 : 0].at[c] : pz_top.at[c];
      g[k].at[c] = fma(r.x, m->px[k].at[c] - px_next, m->own[k].at[c]) - fma(r.y, p.y, r.z * pz_next);
      m->own[k].at[c] = fma(r.z, p.z, r.y * p.y);
      m->root[k].at[c] = p.root;
      px.at[c] = p.x;
      pz.at[c] = p.z;
    }
    const Direction p = direction(right[k + 1], row[k + 1].at[COLUMNS - 1], m->right[k], right[k], r, eps2);
    m->px_right[k] = m->more_x ? p.x : 0.0f;
    m->right[k] = right[k + 1];
    m->here[k] = row[k + 1];
    m->px[k] = px;
    m->pz[k] = pz;
  }
  m->top = top;
  m->i += (uint)extent.nx;
}

// Work-items: (columns / COLUMNS, segments of SEGMENT_ROWS rows, slices / SLICES).
__kernel __attribute__((reqd_work_group_size(MARCH_X, 1, MARCH_Z))) void tvgd_step(
    __global const float* restrict u, __global float* restrict v, __global const float* restrict control, int steered,
    float given, Extent extent, PerAxis r, float eps2) {
  const int x = (int)get_global_id(0) * COLUMNS, first = (int)get_global_id(1) * SEGMENT_ROWS;
  const int z = extent.begin + (int)get_global_id(2) * SLICES;
  if (x >= extent.nx || first >= extent.ny || z >= extent.end) return;
  const size_t plane = (size_t)extent.nx * (size_t)extent.ny;
  const int last = min(extent.ny, first + SEGMENT_ROWS);
  const float factor = steered ? control[0] : given;
  March m;
  march_from(&m, u, x, first, z, extent, r, eps2);
  for (int y = first; y < last; ++y) {
    Columns here[SLICES], g[SLICES];
    const uint i = m.i;
    EACH_SLICE here[k] = m.here[k];
    march_on(&m, g, y, extent, r, eps2);
    EACH_SLICE {
      Columns next;
      EACH_COLUMN next.at[c] = fma(-factor, g[k].at[c], here[k].at[c]);
      if (z + k < extent.end) STORE(floats, v + plane * (size_t)(z + k - extent.offset), i, next.all);
    }
  }
}

#ifdef FIDELITY
#define COMPONENTS 4
#else
#define COMPONENTS 1
#endif

// Groups: (MARCH_X, 1, MARCH_Z). The few values of a row are added in float32.
__kernel __attribute__((reqd_work_group_size(MARCH_X, 1, MARCH_Z))) void tvgd_sums(__global const float* restrict u,
                                                                                   __global const float* restrict f,
                                                                                   __global sum_t* restrict partials,
                                                                                   Extent extent, PerAxis r,
                                                                                   float eps2) {
  __local sum_t room[MARCH_X * MARCH_Z];
  const int x = (int)get_global_id(0) * COLUMNS, first = (int)get_global_id(1) * SEGMENT_ROWS;
  const int z = extent.begin + (int)get_global_id(2) * SLICES;
  const size_t plane = (size_t)extent.nx * (size_t)extent.ny;
  sum_t sums[COMPONENTS][SLICES];
#pragma unroll
  for (int n = 0; n < COMPONENTS; ++n) EACH_SLICE sums[n][k] = NO_SUM;
  if (x < extent.nx && z < extent.end) {
    const int last = min(extent.ny, first + SEGMENT_ROWS);
    March m;
    march_from(&m, u, x, first, z, extent, r, eps2);
    for (int y = first; y < last; ++y) {
      Columns g[SLICES];
#ifdef FIDELITY
      EACH_SLICE {
        Columns data;
        data.all = LOAD(floats, f + plane * (size_t)(min(z + k, extent.end - 1) - extent.offset), m.i);
        float variation = 0.0f, fidelity = 0.0f;
        EACH_COLUMN {
          const float change = m.here[k].at[c] - data.at[c];
          fidelity = fma(change, change, fidelity);
          variation += m.root[k].at[c];
          m.root[k].at[c] = change;  // for the product below; the march does not read it
        }
        sums[1][k] = add_value(sums[1][k], fidelity);
        sums[3][k] = add_value(sums[3][k], variation);
      }
      Columns change[SLICES];
      EACH_SLICE change[k] = m.root[k];
#endif
      march_on(&m, g, y, extent, r, eps2);
      EACH_SLICE {
        float norm = 0.0f;
        EACH_COLUMN norm = fma(g[k].at[c], g[k].at[c], norm);
        sums[0][k] = add_value(sums[0][k], norm);
#ifdef FIDELITY
        float product = 0.0f;
        EACH_COLUMN product = fma(change[k].at[c], g[k].at[c], product);
        sums[2][k] = add_value(sums[2][k], product);
#endif
      }
    }
  }
#pragma unroll
  for (int n = 0; n < COMPONENTS; ++n)
    EACH_SLICE store_march_sum(partials, room, z + k - extent.offset, z + k < extent.end, 4, n, sums[n][k]);
}

#else
#include "tvgd_rows.clh"

// Work-items: (1, segments of SEGMENT_ROWS rows, slices / SLICES_AT_ONCE).
__kernel void tvgd_step(__global const float* restrict u, __global float* restrict v,
                        __global const float* restrict control, int steered, float given, Extent extent, PerAxis r,
                        float eps2) {
  const float factor = steered ? control[0] : given;
  DESCENT(NOTHING, store_columns(fma((vector)(-factor), g, here), v + i, x, extent.nx);, NOTHING)
}

// Step with the gradient that tvgd_sums left in `g`. Work-items: a row each.
__kernel void tvgd_add(__global const float* restrict g, __global float* restrict u,
                       __global const float* restrict control, int steered, float given, Extent extent) {
  const float factor = steered ? control[0] : given;
  const size_t i = VOXEL(0, (int)get_global_id(1), extent.begin + (int)get_global_id(2));
  for (int n = 0; n < extent.nx; ++n) u[i + n] = fma(-factor, g[i + n], u[i + n]);
}

// KEEP: the gradient is kept in `kept`, which pays where arithmetic is slow.
__kernel void tvgd_sums(__global const float* restrict u, __global const float* restrict f,
                        __global sum_t* restrict partials,
#ifdef KEEP
                        __global float* restrict kept,
#endif
                        Extent extent, PerAxis r, float eps2) {
#ifdef KEEP
#define KEEP_IT store_columns(g, kept + i, x, extent.nx);
#else
#define KEEP_IT
#endif
#ifdef FIDELITY
  Lanes sums[4][SLICES_AT_ONCE];
  CLEAR_SUMS(4)
  DESCENT(ADD_ROOT, KEEP_IT const vector change = here - load_columns(f + i, x, extent.nx);
          total[0] = fma(g, g, total[0]); total[1] = fma(change, change, total[1]); total[2] = fma(change, g, total[2]);
          , ADD_TOTAL(0) ADD_TOTAL(1) ADD_TOTAL(2) ADD_TOTAL_ROOT)
  STORE_LANES(4)
#else
  Lanes sums[1][SLICES_AT_ONCE];
  CLEAR_SUMS(1)
  DESCENT(NOTHING, KEEP_IT total[0] = fma(g, g, total[0]);, ADD_TOTAL(0))
  STORE_LANES(1)
#endif
}
#endif

#ifdef USE_FP64
// sums: the 4 components of every slice as reduce.cl leaves them. The totals, in the order in which the host would add
// them, are kept as number `slot` of `records` (8 doubles each). One work-group of STEER_ITEMS.
#define STEER_ITEMS 64
__kernel __attribute__((reqd_work_group_size(STEER_ITEMS, 1, 1))) void tvgd_steer(
    __global const double* restrict sums, __global float* restrict control, __global double* restrict records,
    int slices, int components, int slot, double voxels, double step, double target, int aims) {
  __local double part[STEER_ITEMS][8];
  const int item = (int)get_local_id(0);
  double total = 0;
  for (int from = 0; from < slices; from += STEER_ITEMS) {
    const int count = min(STEER_ITEMS, slices - from);
    if (item < count)
      for (int c = 0; c < 2 * components; ++c) part[item][c] = sums[8 * (size_t)(from + item) + c];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item < 2 * components)
      for (int n = 0; n < count; ++n) total += part[n][item];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (item < 8) part[0][item] = item < 2 * components ? total : 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  if (item < 8) records[8 * slot + item] = part[0][item];
  if (item > 0) return;
  const double gradient2 = part[0][0] + part[0][1], fidelity2 = part[0][2] + part[0][3],
               product = part[0][4] + part[0][5];
  const bool reached = aims && sqrt(fidelity2 / voxels) >= (1 - 1e-5) * target;
  const bool ended = control[1] != 0.0f || reached || !(gradient2 > 0);
  double factor = 0;
  if (!ended) {
    const double left = target - sqrt(fidelity2 / voxels);
    const double length = aims ? fmin(step, fmax(0.3 * left, step / 20)) : step;
    factor = length * sqrt(voxels / gradient2);
    const double missing = target * target * voxels - fidelity2;
    if (aims && missing < factor * factor * gradient2 - 2 * factor * product) {
      const double root = sqrt(product * product + gradient2 * missing);
      factor = product > 0 ? (product + root) / gradient2 : missing / (root - product);
    }
  }
  control[0] = (float)factor;
  control[1] = ended ? 1.0f : 0.0f;
}
#endif
