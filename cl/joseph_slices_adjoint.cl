// joseph_backproject where every ray runs within a slice (joseph_slices.cl): slices and rows are innermost, and neighbouring work-items, at
// the same place of neighbouring slices, read neighbouring pixels. Which columns of a view pass a voxel, and with what weights, is worked out
// by one work-item for all slices of a group. Weights are those of the portable form and added in its order, so the bits are the same.
//
// Each row is on a slice (ALIGNED).
//
// columns[view][column] = slope_b, shift_b, path and the axis that the rays follow. values[view]: path * raw, in blocks of BLOCK places
// along k, of which each is [column][place]. Places are the slices from first_slice on, of which each has a row. Their number is rounded up to
// a multiple of 4.
//
// Tunables: GROUP, work-items of a group (a power of two); TOGETHER, views whose pixels are on their way at a time.
#pragma OPENCL FP_CONTRACT OFF
#include "gather.clh"
#include "joseph.clh"
#include "joseph_slices.clh"

#define EACH 4  // slices of a work-item
#define SAMPLES float4
#ifndef GROUP
#define GROUP 256
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
#define ENTRIES \
  (2 * GROUP)  // pairs of a view and a voxel, worked out at a time: room for TOGETHER views of LANES slices
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

// Columns of a voxel and a view: two beside each other and their weights, 0 where there is none. All others weigh 0, or column is ~the
// first.
typedef struct {
  float2 weights;
  int column;
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

// columns: of the view. axes: the sum of 1 << axis over those that its rays may follow.
INLINE Columns columns_of(Box box, int axes, __global const float4* matrix, __global const float4* columns,
                          Batch batch) {
  const Columns all = {(float2)(0.0f, 0.0f), ~0};
  if (axes == 3) return all;
  const int axis = axes == 1 ? 0 : 1;
  const Pixels pixels = shadow_of(box, axis, matrix, batch);
  Columns found = {(float2)(0.0f, 0.0f), 0};
  int column = pixels.first_column;
  float weight = 0.0f;
  while (column <= pixels.last_column && !((weight = weight_of(columns[column], box, axis)) > 0.0f)) ++column;
  if (column > pixels.last_column) return found;
  found.column = column, found.weights.x = weight;
  if (column < pixels.last_column) found.weights.y = weight_of(columns[column + 1], box, axis);
  for (int more = column + 2; more <= pixels.last_column; ++more)
    if (weight_of(columns[more], box, axis) > 0.0f) return all;
  return found;
}

// Pixels of a view that a work-item reads: those of column 0 and of the work-item's slices, and the distance from column to column.
typedef struct {
  __global const SAMPLES* values;
  int step;
} View;

// The view's columns as the portable form takes them, whatever they weigh.
INLINE SAMPLES add_all(SAMPLES sum, const View view, Box box, int axes, __global const float4* matrix,
                       __global const float4* columns, Batch batch) {
  for (int axis = 0; axis < 2; ++axis) {
    if ((axes >> axis & 1) == 0) continue;
    const Pixels pixels = shadow_of(box, axis, matrix, batch);
    for (int column = pixels.first_column; column <= pixels.last_column; ++column) {
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
    __global const float4* restrict matrices, __global const int* restrict axes, __global float* restrict volume,
    Extent extent, Batch batch, int first_slice, int places) {
  __local float2 weights[ENTRIES];
  __local int firsts[ENTRIES];
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
  const size_t view_values = (size_t)batch.columns * padded / EACH;
  values += block.start + LANES * part + lane;
  for (int first = 0; first < batch.views; first += chunk) {
    const int count = min(chunk, (batch.views - first + TOGETHER - 1) / TOGETHER * TOGETHER);
    barrier(CLK_LOCAL_MEM_FENCE);  // the last chunk has been read
    for (int n = item; n < voxels * count; n += GROUP) {
      const int view = first + n / voxels, at = n % voxels, i = i0 + at % TILE_I, j = j0 + at / TILE_I;
      Columns found = {(float2)(0.0f, 0.0f), 0};
      if (view < batch.views && i < extent.nx && j < extent.ny) {
        const Box box = {i, j, from_centre(i, extent.nx), from_centre(j, extent.ny), z, reach_z};
        found = columns_of(box, axes[batch.first_view + view], matrices + 3 * (size_t)(batch.first_view + view),
                           columns + (size_t)view * batch.columns, batch);
      }
      weights[n] = found.weights, firsts[n] = found.column;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (!works) continue;

    for (int n = 0; n < count; n += TOGETHER) {
      float2 weight[TOGETHER];
      int column[TOGETHER], least = 0;
#pragma unroll
      for (int t = 0; t < TOGETHER; ++t) {
        const int at = (n + t) * voxels + voxel;
        weight[t] = weights[at], column[t] = firsts[at], least = min(least, column[t]);
      }
      if (least < 0) {
        const int i = i0 + voxel % TILE_I, j = j0 + voxel / TILE_I;
        if (i >= extent.nx || j >= extent.ny) continue;
        const Box box = {i, j, from_centre(i, extent.nx), from_centre(j, extent.ny), z, reach_z};
        for (int view = first + n; view < min(first + n + TOGETHER, batch.views); ++view) {
          const View all = {values + view_values * view, block.depth};
          sum = add_all(sum, all, box, axes[batch.first_view + view], matrices + 3 * (size_t)(batch.first_view + view),
                        columns + (size_t)view * batch.columns, batch);
        }
        continue;
      }
      __global const SAMPLES* pixel = values + view_values * (first + n);
      SAMPLES one[TOGETHER], other[TOGETHER];
#pragma unroll
      for (int t = 0; t < TOGETHER; ++t, pixel += view_values) {  // on their way together
        __global const SAMPLES* at = pixel + column[t] * block.depth;
        one[t] = 0.0f, other[t] = 0.0f;
        if (weight[t].x > 0.0f) one[t] = at[0];
        if (weight[t].y > 0.0f) other[t] = at[block.depth];
      }
#pragma unroll
      for (int t = 0; t < TOGETHER; ++t) {
        sum += weight[t].x * one[t];
        sum += weight[t].y * other[t];
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
