// Gradient descent on the smoothed total variation (the inner steps of ASD-POCS, Sidky & Pan 2008), with
//   TV(u) = sum_i sqrt(|(B u)_i|^2 + eps^2),  B backward differences divided by the spacing, 0 on the near faces
//   p_i = (B u)_i / N_i with N the root above,  g_i = dTV / du_i = sum over the axes a of (p_a at i - p_a at i + e_a) / h_a
//   tvgd_step  v = u - factor g, factor = control[0]
//   tvgd_sums  per slice the sums of g^2; with FIDELITY also of (u - f)^2, (u - f) g, N
//   tvgd_steer what the host does with those sums, for a volume that lies on one device: the next factor (see tvgd.cpp)
//
// Arrays: volumes u, v, f, x fastest, first slice in the buffers is `offset`; control: floats (factor, 1 when the descent
// has ended). Halo: g_i needs i's neighbours along the axes and the diagonal ones like (x + 1, y - 1, z): one slice low and
// one high. g is computed in both kernels: that is less traffic than to store it. 12 bytes a voxel and iteration, 16 with
// FIDELITY.
// Tunables: group shape (host); COLUMNS and SLICES of a work-item (GPUs); sums.clh's.
#pragma OPENCL FP_CONTRACT OFF
#include "sums.clh"
#include "tv.clh"

#if LANES_PER_ITEM == 1
// On GPUs a work-item marches along the rows of a segment with COLUMNS voxels of SLICES slices and keeps what the next row
// needs again. It starts at the same rows for every slab.
#ifndef SLICES
#define SLICES 2
#endif
#include "columns.clh"

#define EACH_SLICE _Pragma("unroll") for (int k = 0; k < SLICES; ++k)

typedef struct {
  float x, y, z, root;
} Direction;  // p and N

INLINE Direction direction(float here, float left, float below, float under, float rx, float ry, float rz, float eps2) {
  const float dx = rx * (here - left), dy = ry * (here - below), dz = rz * (here - under);
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
  __global const float* slice[SLICES + 2];  // z - 1 ... z + SLICES; one outside of the volume stands for its neighbour
  uint i;                                   // of the first voxel, in its slice
  uint to_left, to_right;
  bool more_x;
  Columns here[SLICES], px[SLICES], pz[SLICES], own[SLICES], root[SLICES];  // own: p_y / h_y + p_z / h_z
  Columns top;                                                              // u at z + SLICES, one row back
  float right[SLICES], px_right[SLICES];                                    // u and p_x of the voxel after the last
} March;

INLINE void march_from(March* m, __global const float* u, int x, int y, int z, int nx, int ny, int nz, int offset, int end,
                       float rx, float ry, float rz, float eps2) {
  const size_t plane = (size_t)nx * (size_t)ny;
  const int lowest = max(0, z - 1), highest = min(nz - 1, min(end, z + SLICES));
#pragma unroll
  for (int k = 0; k < SLICES + 2; ++k) m->slice[k] = u + plane * (size_t)(clamp(z - 1 + k, lowest, highest) - offset);
  m->i = (uint)x + (uint)nx * (uint)y;
  m->more_x = x + COLUMNS < nx;
  m->to_left = x > 0 ? 1 : 0;
  m->to_right = m->more_x ? COLUMNS : COLUMNS - 1;
  const uint back = y > 0 ? m->i - (uint)nx : m->i;
  m->top.all = LOAD(floats, m->slice[SLICES + 1], back);
  EACH_SLICE {
    Columns under, below;
    m->here[k].all = LOAD(floats, m->slice[k + 1], m->i);
    under.all = LOAD(floats, m->slice[k], m->i);
    below.all = LOAD(floats, m->slice[k + 1], back);
    const float left = m->slice[k + 1][m->i - m->to_left];
    EACH_COLUMN {
      const Direction p = direction(m->here[k].at[c], c > 0 ? m->here[k].at[c > 0 ? c - 1 : 0] : left, below.at[c],
                                    under.at[c], rx, ry, rz, eps2);
      m->px[k].at[c] = p.x;
      m->pz[k].at[c] = p.z;
      m->own[k].at[c] = fma(rz, p.z, ry * p.y);
      m->root[k].at[c] = p.root;
    }
    m->right[k] = m->slice[k + 1][m->i + m->to_right];
    const Direction p = direction(m->right[k], m->here[k].at[COLUMNS - 1], m->slice[k + 1][back + m->to_right],
                                  m->slice[k][m->i + m->to_right], rx, ry, rz, eps2);
    m->px_right[k] = m->more_x ? p.x : 0.0f;
  }
}

// g of row y; *m goes on to row y + 1.
INLINE void march_on(March* m, Columns* g, int y, int nx, int ny, float rx, float ry, float rz, float eps2) {
  const uint up = y + 1 < ny ? m->i + (uint)nx : m->i;
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
    pz_top.at[c] = direction(top.at[c], c > 0 ? top.at[c > 0 ? c - 1 : 0] : top_left, below, m->here[SLICES - 1].at[c], rx,
                             ry, rz, eps2)
                       .z;
  }
  EACH_SLICE {
    const float left = m->slice[k + 1][up - m->to_left];
    Columns px, pz;
    EACH_COLUMN {
      const Direction p = direction(row[k + 1].at[c], c > 0 ? row[k + 1].at[c > 0 ? c - 1 : 0] : left, m->here[k].at[c],
                                    row[k].at[c], rx, ry, rz, eps2);
      const float px_next = c + 1 < COLUMNS ? m->px[k].at[c + 1 < COLUMNS ? c + 1 : 0] : m->px_right[k];
      const float pz_next = k + 1 < SLICES ? m->pz[k + 1 < SLICES ? k + 1 : 0].at[c] : pz_top.at[c];
      g[k].at[c] = fma(rx, m->px[k].at[c] - px_next, m->own[k].at[c]) - fma(ry, p.y, rz * pz_next);
      m->own[k].at[c] = fma(rz, p.z, ry * p.y);
      m->root[k].at[c] = p.root;
      px.at[c] = p.x;
      pz.at[c] = p.z;
    }
    const Direction p = direction(right[k + 1], row[k + 1].at[COLUMNS - 1], m->right[k], right[k], rx, ry, rz, eps2);
    m->px_right[k] = m->more_x ? p.x : 0.0f;
    m->right[k] = right[k + 1];
    m->here[k] = row[k + 1];
    m->px[k] = px;
    m->pz[k] = pz;
  }
  m->top = top;
  m->i += (uint)nx;
}

// Work-items: (columns / COLUMNS, segments of SEGMENT_ROWS rows, slices / SLICES).
__kernel __attribute__((reqd_work_group_size(MARCH_X, 1, MARCH_Z))) void tvgd_step(
    __global const float* restrict u, __global float* restrict v, __global const float* restrict control, int nx, int ny,
    int nz, int offset, int begin, int end, float rx, float ry, float rz, float eps2) {
  const int x = (int)get_global_id(0) * COLUMNS, first = (int)get_global_id(1) * SEGMENT_ROWS;
  const int z = begin + (int)get_global_id(2) * SLICES;
  if (x >= nx || first >= ny || z >= end) return;
  const size_t plane = (size_t)nx * (size_t)ny;
  const int last = min(ny, first + SEGMENT_ROWS);
  const float factor = control[0];
  March m;
  march_from(&m, u, x, first, z, nx, ny, nz, offset, end, rx, ry, rz, eps2);
  for (int y = first; y < last; ++y) {
    Columns here[SLICES], g[SLICES];
    const uint i = m.i;
    EACH_SLICE here[k] = m.here[k];
    march_on(&m, g, y, nx, ny, rx, ry, rz, eps2);
    EACH_SLICE {
      Columns next;
      EACH_COLUMN next.at[c] = fma(-factor, g[k].at[c], here[k].at[c]);
      if (z + k < end) STORE(floats, v + plane * (size_t)(z + k - offset), i, next.all);
    }
  }
}

#ifdef FIDELITY
#define COMPONENTS 4
#else
#define COMPONENTS 1
#endif

// Groups: (MARCH_X, 1, MARCH_Z). The few values of a row are added in float32.
__kernel __attribute__((reqd_work_group_size(MARCH_X, 1, MARCH_Z))) void tvgd_sums(
    __global const float* restrict u, __global const float* restrict f, __global sum_t* restrict partials, int nx, int ny,
    int nz, int offset, int begin, int end, float rx, float ry, float rz, float eps2) {
  __local sum_t room[MARCH_X * MARCH_Z];
  const int x = (int)get_global_id(0) * COLUMNS, first = (int)get_global_id(1) * SEGMENT_ROWS;
  const int z = begin + (int)get_global_id(2) * SLICES;
  const size_t plane = (size_t)nx * (size_t)ny;
  sum_t sums[COMPONENTS][SLICES];
#pragma unroll
  for (int n = 0; n < COMPONENTS; ++n) EACH_SLICE sums[n][k] = NO_SUM;
  if (x < nx && z < end) {
    const int last = min(ny, first + SEGMENT_ROWS);
    March m;
    march_from(&m, u, x, first, z, nx, ny, nz, offset, end, rx, ry, rz, eps2);
    for (int y = first; y < last; ++y) {
      Columns g[SLICES];
#ifdef FIDELITY
      EACH_SLICE {
        Columns data;
        data.all = LOAD(floats, f + plane * (size_t)(min(z + k, end - 1) - offset), m.i);
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
      march_on(&m, g, y, nx, ny, rx, ry, rz, eps2);
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
    EACH_SLICE store_march_sum(partials, room, z + k - offset, z + k < end, 4, n, sums[n][k]);
}

#else
// On CPUs a work-item takes a segment of rows of one slice, LANES columns at a time, in loops that compilers vectorise. Rows
// are copied with their neighbours in x first: without that the loops have conditions.
typedef struct {
  float at[LANES + 2];
} Row;

INLINE Row row_at(__global const float* u, int x, int nx, int count) {
  Row row;
  row.at[0] = u[x > 0 ? x - 1 : 0];
  for (int n = 0; n < count; ++n) row.at[n + 1] = u[x + n];
  row.at[count + 1] = u[x + count < nx ? x + count : nx - 1];
  return row;
}

// Within 1e-7: Newton's iteration from the exponent's half. CPUs have no fast root and no fast division.
INLINE float inverse_root(float x) {
  const float halved = 0.5f * x;
  float y = as_float(0x5f375a86 - (as_int(x) >> 1));
  y = y * fma(-halved * y, y, 1.5f);
  y = y * fma(-halved * y, y, 1.5f);
  return y * fma(-halved * y, y, 1.5f);
}

// p_x of the voxel after the last of a row of `count`.
INLINE float px_after(const Row* row, const Row* below, const Row* under, int count, float rx, float ry, float rz,
                      float eps2) {
  const float v = row->at[count + 1], dx = rx * (v - row->at[count]), dy = ry * (v - below->at[count + 1]);
  const float dz = rz * (v - under->at[count + 1]);
  return dx * inverse_root(fma(dz, dz, fma(dy, dy, fma(dx, dx, eps2))));
}

// BODY sees n, i (of the first voxel in the slab's buffers), here (u at i + n), g and root.
#define DESCENT(BODY)                                                                                                  \
  const int first = (int)get_global_id(1) * SEGMENT_ROWS, z = begin + (int)get_global_id(2);                           \
  const int last = min(ny, first + SEGMENT_ROWS);                                                                      \
  const size_t row = (size_t)nx, plane = row * (size_t)ny;                                                             \
  __global const float* slice = u + plane * (size_t)(z - offset);                                                      \
  __global const float* under = z > 0 ? slice - plane : slice;                                                         \
  __global const float* over = z + 1 < nz ? slice + plane : slice;                                                     \
  for (int start = 0; start < nx; start += LANES) {                                                                    \
    const int count = min(LANES, nx - start);                                                                          \
    const bool more_x = start + count < nx;                                                                            \
    const size_t back = row * (size_t)max(first - 1, 0);                                                               \
    Row low = row_at(slice + back, start, nx, count), low_over = row_at(over + back, start, nx, count);                \
    Row mid = row_at(slice + row * (size_t)first, start, nx, count);                                                   \
    const Row mid_under = row_at(under + row * (size_t)first, start, nx, count);                                       \
    float px[LANES + 1], own[LANES], roots[LANES], next_px[LANES + 1], py[LANES], pz[LANES], gradient[LANES];          \
    float next_root[LANES], pz_over[LANES];                                                                            \
for (int n = 0; n < count; ++n) {                                                                                  \
      const float v = mid.at[n + 1], dx = rx * (v - mid.at[n]), dy = ry * (v - low.at[n + 1]);                         \
      const float dz = rz * (v - mid_under.at[n + 1]), norm2 = fma(dz, dz, fma(dy, dy, fma(dx, dx, eps2)));            \
      const float inverse = inverse_root(norm2);                                                                       \
      px[n] = dx * inverse;                                                                                            \
      own[n] = fma(rz, dz, ry * dy) * inverse;                                                                         \
      roots[n] = norm2 * inverse;                                                                                      \
    }                                                                                                                  \
    px[count] = more_x ? px_after(&mid, &low, &mid_under, count, rx, ry, rz, eps2) : 0.0f;                             \
    for (int y = first; y < last; ++y) {                                                                               \
      const size_t up = row * (size_t)min(y + 1, ny - 1);                                                              \
      const Row next = row_at(slice + up, start, nx, count), next_under = row_at(under + up, start, nx, count);        \
      const Row mid_over = row_at(over + row * (size_t)y, start, nx, count);                                           \
      for (int n = 0; n < count; ++n) {                                                                                \
        const float v = mid_over.at[n + 1], dx = rx * (v - mid_over.at[n]);                                            \
        const float dy = ry * (v - (y > 0 ? low_over.at[n + 1] : v)), dz = rz * (v - mid.at[n + 1]);                   \
        pz_over[n] = dz * inverse_root(fma(dz, dz, fma(dy, dy, fma(dx, dx, eps2))));                                   \
      }                                                                                                                \
      for (int n = 0; n < count; ++n) {                                                                                \
        const float v = next.at[n + 1], dx = rx * (v - next.at[n]), dy = ry * (v - mid.at[n + 1]);                     \
        const float dz = rz * (v - next_under.at[n + 1]), norm2 = fma(dz, dz, fma(dy, dy, fma(dx, dx, eps2)));         \
        const float inverse = inverse_root(norm2);                                                                     \
        next_px[n] = dx * inverse;                                                                                     \
        py[n] = dy * inverse;                                                                                          \
        pz[n] = dz * inverse;                                                                                          \
        next_root[n] = norm2 * inverse;                                                                                \
        gradient[n] = fma(rx, px[n] - px[n + 1], own[n]) - fma(ry, py[n], rz * pz_over[n]);                            \
      }                                                                                                                \
      next_px[count] = more_x ? px_after(&next, &mid, &next_under, count, rx, ry, rz, eps2) : 0.0f;                    \
      const size_t i = plane * (size_t)(z - offset) + row * (size_t)y + (size_t)start;                                 \
      for (int n = 0; n < count; ++n) {                                                                                \
        const float g = gradient[n], here = mid.at[n + 1], root = roots[n];                                            \
        BODY                                                                                                           \
      }                                                                                                                \
      for (int n = 0; n < count; ++n) {                                                                                \
        own[n] = fma(rz, pz[n], ry * py[n]);                                                                           \
        roots[n] = next_root[n];                                                                                       \
        px[n] = next_px[n];                                                                                            \
      }                                                                                                                \
      px[count] = next_px[count];                                                                                      \
      mid = next;                                                                                                      \
      low_over = mid_over;                                                                                             \
    }                                                                                                                  \
  }

// Work-items: (1, segments of SEGMENT_ROWS rows, slices).
__kernel void tvgd_step(__global const float* restrict u, __global float* restrict v, __global const float* restrict control,
                        int nx, int ny, int nz, int offset, int begin, int end, float rx, float ry, float rz, float eps2) {
  const float factor = control[0];
  DESCENT(v[i + n] = fma(-factor, g, here);)
}

__kernel void tvgd_sums(__global const float* restrict u, __global const float* restrict f, __global sum_t* restrict partials,
                        int nx, int ny, int nz, int offset, int begin, int end, float rx, float ry, float rz, float eps2) {
  sum_t norm[LANES], fidelity[LANES], product[LANES], variation[LANES];
  for (int n = 0; n < LANES; ++n) norm[n] = fidelity[n] = product[n] = variation[n] = NO_SUM;
#ifdef FIDELITY
  DESCENT(const float change = here - f[i + n]; norm[n] = add_value(norm[n], g * g);
          fidelity[n] = add_value(fidelity[n], change * change); product[n] = add_value(product[n], change * g);
          variation[n] = add_value(variation[n], root);)
#else
  DESCENT(norm[n] = add_value(norm[n], g * g);)
#endif
  const size_t sets = get_global_size(1) * LANES, set = LANES * get_global_id(1);
  __global sum_t* to = partials + (size_t)(z - offset) * 4 * sets + set;
  for (int n = 0; n < LANES; ++n) {
    to[n] = norm[n];
#ifdef FIDELITY
    to[sets + n] = fidelity[n];
    to[2 * sets + n] = product[n];
    to[3 * sets + n] = variation[n];
#endif
  }
}
#endif

#ifdef USE_FP64
// sums: the 4 components of every slice as reduce.cl leaves them. The totals, in the order in which the host would add
// them, are kept as number `slot` of `records` (8 doubles each). One work-group of STEER_ITEMS.
#define STEER_ITEMS 64
__kernel __attribute__((reqd_work_group_size(STEER_ITEMS, 1, 1))) void tvgd_steer(
    __global const double* restrict sums, __global float* restrict control, __global double* restrict records, int slices,
    int components, int slot, int first, double voxels, double step, double target, int aims) {
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
  const double gradient2 = part[0][0] + part[0][1], fidelity2 = part[0][2] + part[0][3], product = part[0][4] + part[0][5];
  const bool reached = aims && sqrt(fidelity2 / voxels) >= (1 - 1e-5) * target;
  const bool ended = (first == 0 && control[1] != 0.0f) || reached || !(gradient2 > 0);
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
