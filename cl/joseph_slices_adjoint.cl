// joseph_backproject where every ray runs within a slice (joseph_slices.cl): slices and rows are innermost, and neighbouring work-items, at
// the same place of neighbouring slices, read neighbouring pixels. Which columns of a view pass a voxel, and with what weights, is worked out
// by one work-item for all slices of a group. Weights are those of the portable form and added in its order, so the bits are the same.
//
// Each row is on a slice (ALIGNED).
//
// columns[view][column] = slope_b, shift_b, path and the axis that the rays follow. values[view]: path * raw, in blocks of BLOCK places
// along k, of which each is [column][place]. Places are the slices from first_slice on, of which each has a row. Their number is rounded up to
// a multiple of 4. They are finite: pixels beside those that weigh something are read, and weigh 0.
//
// NEAR: of each axis that rays of a view may follow, three columns hold all that weigh something at a voxel (footprints).
// Tunables: GROUP, work-items of a group (a power of two); TOGETHER, views whose pixels are on their way at a time.
#pragma OPENCL FP_CONTRACT OFF
#include "gather.clh"
#include "joseph.clh"
#include "joseph_slices.clh"

#define EACH 4  // slices of a work-item
#define SAMPLES float4
#ifndef GROUP
#define GROUP 128
#endif
#ifndef TOGETHER
#define TOGETHER 4
#endif
#if GROUP < BLOCK / EACH
#define LANES GROUP
#else
#define LANES (BLOCK / EACH)  // work-items along k
#endif
#if GROUP / LANES < 8
#define TILE_I (GROUP / LANES)
#else
#define TILE_I 8  // voxels along i
#endif
#if GROUP <= 64
#define ENTRIES (TOGETHER * GROUP)
#else
#define ENTRIES (TOGETHER * GROUP / 2)  // pairs of a view and a voxel, worked out at a time
#endif

// Work-items: (columns, views).
__kernel void joseph_slices_adjoint_table(__global const float* restrict rays, __global float4* restrict columns,
                                          Extent extent, PerAxis voxel, Batch batch) {
  const int at = get_global_id(0), view = get_global_id(1);
  if (view >= batch.views || at >= batch.columns) return;
  const Ray ray = RAY_AT(batch.first_view + view, 2 * at, from_centre(batch.row_begin, batch.rows));
  const int axis = main_axis(ray);
  const Line line =
      line_of(ray, axis, 0.5f * (float)(extent.nx - 1), 0.5f * (float)(extent.ny - 1), 0.5f * (float)(extent.nz - 1));
  columns[(size_t)view * batch.columns + at] =
      (float4)(line.slope_b, line.shift_b, path_mm(ray, axis, voxel), (float)axis);
}

// Rows of places are row_of_0 + row_step * place, of those held. Work-items: (columns, places rounded up to a multiple of 4, views) in groups
// of TILE x TILE.
__kernel __attribute__((reqd_work_group_size(TILE, TILE, 1))) void joseph_slices_adjoint_stack(
    __global const float* restrict raw, __global const float4* restrict columns, __global float* restrict values,
    Batch batch, int places, int row_of_0, int row_step) {
  __local float tile[TILE][TILE + 1];
  const int column0 = TILE * (int)get_group_id(0), place0 = TILE * (int)get_group_id(1), view = get_global_id(2);
  const int a = get_local_id(0), b = get_local_id(1), padded = (places + 3) & ~3;
  const int from = column0 + a, row = row_of_0 + row_step * (place0 + b);
  if (from < batch.columns)
    tile[b][a] = place0 + b < places ? columns[(size_t)view * batch.columns + from].z *
                                           raw[((size_t)view * batch.held + row) * batch.columns + from]
                                     : 0.0f;
  barrier(CLK_LOCAL_MEM_FENCE);
  const int place = place0 + a, column = column0 + b;
  if (column >= batch.columns || place >= padded) return;
  values += (size_t)view * batch.columns * padded;
  const Block block = block_of(place / BLOCK, places, batch.columns, 1);
  values[block.start + (size_t)column * block.depth + place % BLOCK] = tile[a][b];
}

// Columns of a voxel and a view that weigh something: two beside each other, `first` and the next, or one of them. many: others, which are
// sought again.
typedef struct {
  float2 weights;
  int first;
  bool many;
} Columns;

// The box of a voxel (i, j) and the slices of a group, from the volume's middle.
typedef struct {
  int i, j;
  float x, y, z, reach_z;
} Box;

INLINE Pixels shadow_of(Box box, int axis, __global const float4* matrix, Batch batch) {
  return shadow(matrix, box.x, box.y, box.z, axis == 0 ? 0.0f : 1.0f, axis == 1 ? 0.0f : 1.0f, box.reach_z,
                batch.columns, batch.row_begin, batch.held);
}

INLINE float weight_of(float4 line, Box box, int axis) {
  const float at = fma(axis == 0 ? box.x : box.y, line.x, line.y);
  return line.w == (float)axis ? hat(at, (float)(axis == 0 ? box.j : box.i)) : 0.0f;
}

// columns: of the view, that its shadow of the voxel holds for rays that follow `axis`.
INLINE Columns columns_sought(Columns found, Box box, int axis, __global const float4* matrix,
                              __global const float4* columns, Batch batch) {
  const Pixels pixels = shadow_of(box, axis, matrix, batch);
  for (int column = pixels.first_column; column <= pixels.last_column; ++column) {
    const float weight = weight_of(columns[column], box, axis);
    if (!(weight > 0.0f)) continue;
    found.many = found.many || found.weights.y > 0.0f || (found.weights.x > 0.0f && column != found.first + 1);
    if (found.weights.x > 0.0f)
      found.weights.y = weight;
    else
      found.first = column, found.weights.x = weight;
  }
  return found;
}

// Columns among three from `first` on, which are all that may weigh anything. `first` is never after the last but one.
INLINE Columns columns_near(int first, Box box, int axis, __global const float4* columns, int last) {
  const float a = weight_of(columns[first], box, axis);
  float b = weight_of(columns[min(first + 1, last)], box, axis),
        c = weight_of(columns[min(first + 2, last)], box, axis);
  b = first < last ? b : 0.0f, c = first + 1 < last ? c : 0.0f;
  const bool from_first = a > 0.0f || first + 1 >= last;
  Columns found;
  found.weights.x = from_first ? a : b, found.weights.y = from_first ? b : c;
  found.first = from_first ? first : first + 1, found.many = from_first && c > 0.0f;
  return found;
}

// First column of three within `reach` of U / W, or the last but one.
INLINE int first_near(Box box, float8 footprint, float reach, Batch batch) {
  const float u = fma(box.x, footprint.s0, fma(box.y, footprint.s1, footprint.s2)) /
                  fma(box.x, footprint.s3, fma(box.y, footprint.s4, footprint.s5));
  return (int)clamp(ceil(u - reach), 0.0f, (float)max(batch.columns - 2, 0));
}

// NEAR: footprint has U and W of the view's matrix in the plane (2 x 3), then for rays that follow i and j how far from U / W columns may
// weigh something, 0 where none do. axes: the sum of 1 << axis over those that rays of the view may follow.
INLINE Columns columns_of(Box box, float8 footprint, int axes, __global const float4* matrix,
                          __global const float4* columns, Batch batch) {
  Columns found = {(float2)(0.0f, 0.0f), 0, false};
#ifdef NEAR
  const int axis = footprint.s6 > 0.0f ? 0 : 1, last = batch.columns - 1;
  const float reach = axis == 0 ? footprint.s6 : footprint.s7;
  found = columns_near(first_near(box, footprint, reach, batch), box, axis, columns, last);
  if (axis == 0 && footprint.s7 > 0.0f) {
    const Columns more = columns_near(first_near(box, footprint, footprint.s7, batch), box, 1, columns, last);
    if (more.weights.x > 0.0f || more.weights.y > 0.0f) {
      const bool many = more.many || found.weights.x > 0.0f || found.weights.y > 0.0f;
      found = more, found.many = many;
    }
  }
#else
  for (int axis = 0; axis < 2; ++axis)
    if (axes >> axis & 1) found = columns_sought(found, box, axis, matrix, columns, batch);
  if (found.first == batch.columns - 1 && batch.columns > 1)  // the next is read
    found.first -= 1, found.weights = (float2)(0.0f, found.weights.x);
#endif
  return found;
}

// Pixels of a view that a work-item reads: those of column 0 and of the work-item's slices, and the distance from column to column.
typedef struct {
  __global const SAMPLES* values;
  int step;
} View;

// The view's columns as the portable form takes them, whatever they weigh.
INLINE SAMPLES add_all(SAMPLES sum, const View view, Box box, float8 footprint, int axes, __global const float4* matrix,
                       __global const float4* columns, Batch batch) {
  for (int axis = 0; axis < 2; ++axis) {
#ifdef NEAR
    const float reach = axis == 0 ? footprint.s6 : footprint.s7;
    if (!(reach > 0.0f)) continue;
    const int from = first_near(box, footprint, reach, batch), to = min(from + 2, batch.columns - 1);
#else
    if ((axes >> axis & 1) == 0) continue;
    const Pixels pixels = shadow_of(box, axis, matrix, batch);
    const int from = pixels.first_column, to = pixels.last_column;
#endif
    for (int column = from; column <= to; ++column) {
      const float weight = weight_of(columns[column], box, axis);
      if (weight > 0.0f) sum = fma(weight * view.values[column * view.step], (SAMPLES)(1.0f), sum);
    }
  }
  return sum;
}

// Work-items: groups of GROUP over tiles of TILE_I voxels along i, then tiles along j for the rest of a full group, then LANES * EACH
// slices from first_slice on, of which there are `places`. The number of a group's voxels along j follows from its number of slices.
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void joseph_slices_adjoint_backproject(
    __global const float4* restrict columns, __global const SAMPLES* restrict values,
    __global const float4* restrict matrices, __global const float8* restrict footprints,
    __global const int* restrict axes, __global float* restrict volume, Extent extent, Batch batch, int first_slice,
    int places) {
  __local float4 entries[ENTRIES];  // weights of two columns; place of the first, as an int; 0
  __local int any_many;
  __local float tile[EACH * (GROUP + LANES)];

  const int part = (int)get_global_id(2) % (BLOCK / EACH / LANES),
            number = (int)get_global_id(2) / (BLOCK / EACH / LANES);
  const int padded = (places + 3) & ~3;
  const Block block = block_of(number, places, batch.columns, EACH);
  const int lanes = min(LANES, block.depth - LANES * part), k0 = first_slice + BLOCK * number + EACH * LANES * part;
  if (lanes <= 0 || k0 >= extent.end || k0 + lanes * EACH <= extent.begin) return;
  const int tile_j = min(GROUP / lanes, ENTRIES / TOGETHER) / TILE_I, voxels = TILE_I * tile_j;
  const int i0 = TILE_I * (int)get_group_id(0), j0 = tile_j * (int)get_global_id(1);
  if (j0 >= extent.ny) return;
  const int item = get_local_id(0), voxel = item / lanes, lane = item - voxel * lanes;
  const bool works = voxel < voxels;
  const float z = from_centre(k0, extent.nz) + 0.5f * (float)(lanes * EACH - 1),
              reach_z = 0.5f * (float)(lanes * EACH - 1) + 1.0f;

  const size_t plane = (size_t)extent.nx * extent.ny;
  for (int n = item; n < voxels * lanes * EACH; n += GROUP) {
    const int s = n / voxels, at = n - s * voxels, i = i0 + at % TILE_I, j = j0 + at / TILE_I, k = k0 + s;
    tile[s * (voxels + 1) + at] = i < extent.nx && j < extent.ny && k >= extent.begin && k < extent.end
                                      ? volume[plane * (k - extent.offset) + (size_t)j * extent.nx + i]
                                      : 0.0f;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  __local float* own = tile + EACH * lane * (voxels + 1) + voxel;
  SAMPLES sum = 0.0f;
  if (works) sum = (float4)(own[0], own[voxels + 1], own[2 * (voxels + 1)], own[3 * (voxels + 1)]);

  const int chunk = ENTRIES / max(voxels, lanes) / TOGETHER * TOGETHER;
  const int view_values = batch.columns * (padded / EACH);
  values += block.start + LANES * part + lane;
  const int next = batch.columns > 1 ? block.depth : 0;
  // entries of a voxel are worked out by the same work-items
  const int together = GROUP / voxels, own_view = item / voxels, own_voxel = item - own_view * voxels;
  const int own_i = i0 + own_voxel % TILE_I, own_j = j0 + own_voxel / TILE_I;
  const bool own_inside = own_view < together && own_i < extent.nx && own_j < extent.ny;
  for (int first = 0; first < batch.views; first += chunk, values += (size_t)view_values * chunk) {
    const int count = min(chunk, (batch.views - first + TOGETHER - 1) / TOGETHER * TOGETHER);
    barrier(CLK_LOCAL_MEM_FENCE);  // the last chunk has been read
    if (item == 0) any_many = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int v = own_view; v < count && own_view < together; v += together) {
      const int view = first + v;
      Columns found = {(float2)(0.0f, 0.0f), 0, false};
      if (view < batch.views && own_inside) {
        const Box box = {own_i, own_j, from_centre(own_i, extent.nx), from_centre(own_j, extent.ny), z, reach_z};
        found =
            columns_of(box, footprints[batch.first_view + view], axes[batch.first_view + view],
                       matrices + 3 * (size_t)(batch.first_view + view), columns + (size_t)view * batch.columns, batch);
      }
      if (found.many) any_many = 1;
      const int place = found.many ? -1 : (view < batch.views ? v * view_values : 0) + found.first * block.depth;
      entries[v * voxels + own_voxel] = (float4)(found.weights, as_float(place), 0.0f);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (!works) continue;

    for (int n = 0; n < count; n += TOGETHER) {
      float4 entry[TOGETHER];
#pragma unroll
      for (int t = 0; t < TOGETHER; ++t) entry[t] = entries[(n + t) * voxels + voxel];
      if (any_many) {
        int least = 0;
        for (int t = 0; t < TOGETHER; ++t) least = min(least, as_int(entry[t].z));
        if (least < 0) {
          const int i = i0 + voxel % TILE_I, j = j0 + voxel / TILE_I;
          const Box box = {i, j, from_centre(i, extent.nx), from_centre(j, extent.ny), z, reach_z};
          for (int v = n; v < min(n + TOGETHER, batch.views - first); ++v) {
            const View all = {values + (size_t)view_values * v, block.depth};
            const int view = batch.first_view + first + v;
            sum = add_all(sum, all, box, footprints[view], axes[view], matrices + 3 * (size_t)view,
                          columns + (size_t)(first + v) * batch.columns, batch);
          }
          continue;
        }
      }
      SAMPLES one[TOGETHER], other[TOGETHER];
#pragma unroll
      for (int t = 0; t < TOGETHER; ++t) {  // on their way together
        const int at = as_int(entry[t].z);
        one[t] = values[at], other[t] = values[at + next];
      }
#pragma unroll
      for (int t = 0; t < TOGETHER; ++t) {
        sum += entry[t].x * one[t];
        sum += entry[t].y * other[t];
      }
    }
  }

  if (works) own[0] = sum.x, own[voxels + 1] = sum.y, own[2 * (voxels + 1)] = sum.z, own[3 * (voxels + 1)] = sum.w;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int n = item; n < voxels * lanes * EACH; n += GROUP) {
    const int s = n / voxels, at = n - s * voxels, i = i0 + at % TILE_I, j = j0 + at / TILE_I, k = k0 + s;
    if (i < extent.nx && j < extent.ny && k >= extent.begin && k < extent.end)
      volume[plane * (k - extent.offset) + (size_t)j * extent.nx + i] = tile[s * (voxels + 1) + at];
  }
}
