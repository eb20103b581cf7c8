// backproject_exact through local memory, for GPUs: a work-group takes a block of voxels, GROUP_WIDTH x GROUP_HEIGHT of a slice and K_UNROLL slices
// of each, copies the pixels that the block sees in a view to local memory once, and interpolates from there. The bits of backproject_exact.
// For views of which U and W do not depend on k (K_INVARIANT): where they do, quads are faster on an H200.
//
// The pixels: seen from a source in front of it, a box lies within the hull of what its corners cast, so the corners' least and
// greatest u and v bound the patch. Corners are taken for as many views at once as they keep the work-items busy; then as many views a pass
// as have room in TILE_BYTES are copied and added, in their order. No result depends on the bound or its rounding: a work-item
// that sees a pixel beyond the patch reads all its pixels of that view from global memory, and so do all if a patch is too large, or a
// corner is not in front of the source.
//
// filtered: LAYOUT_COLUMNS; both columns of a voxel share one copy. In local memory a patch has one detector column after the
// other, too, of pairs of the pixel and its neighbour in the next column: two 8-byte reads at neighbouring addresses bring all four pixels.
// The columns' stride is odd, so that voxels of a row of the group, which see different columns, meet in no bank.
#pragma OPENCL FP_CONTRACT OFF
#include "extent.clh"
#include "inline.clh"
#include "voxel_driven.clh"

#ifndef K_UNROLL
#define K_UNROLL 32
#endif

#ifndef GROUP_WIDTH
#define GROUP_WIDTH 8
#define GROUP_HEIGHT 16
#endif
#ifndef TILE_BYTES
#define TILE_BYTES 20480
#endif
#define ITEMS (GROUP_WIDTH * GROUP_HEIGHT)
#define AHEAD (ITEMS / 8)  // views of which every work-item casts a corner
#define PAIRS_HELD (TILE_BYTES / 8)
#define MOST_ROWS (65536 / ITEMS)  // so that an item's number is divided by it exactly, see below

// Coordinates of voxels whose four pixels are in a patch: least < (u, v) < most, but u may be least.x.
typedef struct {
  float2 least, most;
} Reach;

// Columns of pairs and rows that are copied; no columns: none are.
typedef struct {
  int first_column, first_row, columns, rows;  // as filtered has them
  int held;                                    // all of them are pixels of filtered
  int share;                                   // 2^16 over `rows`, rounded up
  Reach reach;
} Patch;
#define STRIDE(rows) ((rows) | 1)

INLINE Patch patch_of(__local const float2* corners, Batch batch) {
  float2 low = corners[0], high = corners[0];
  for (int n = 1; n < 8; ++n) {
    low = fmin(low, corners[n]);
    high = fmax(high, corners[n]);
  }
  const float far = 1e6f, margin = 0.0625f;  // for what float32 rounds
  Patch patch = {0, 0, 0, 1, 1, 65536, {(float2)(INFINITY), (float2)(-INFINITY)}};
  if (!(low.x > -far && low.y > -far && high.x < far && high.y < far)) return patch;
  const float2 least = floor(low - margin), most = floor(high + margin) + 1.0f;
  const int columns = (int)(most.x - least.x), rows = (int)(most.y - least.y) + 1;
  if (columns > PAIRS_HELD || rows > MOST_ROWS || columns * STRIDE(rows) > PAIRS_HELD) return patch;
  patch.first_column = (int)least.x + 1, patch.first_row = (int)least.y - batch.row_begin + 1;
  patch.columns = columns, patch.rows = rows;
  patch.held = patch.first_column >= 0 && patch.first_column + columns < batch.columns + 2 && patch.first_row >= 0 &&
               patch.first_row + rows <= batch.held + 2;
  patch.share = 65535 / rows + 1;
  patch.reach.least = least, patch.reach.most = most;
  return patch;
}

// A work-item's part of copying a patch of a view to the tile.
INLINE void copy_pairs(__local float2* tile, __global const float* restrict view, Patch patch, Batch batch, int item) {
  const int stride = STRIDE(patch.rows), of_view = batch.held + 2, end = patch.columns * stride;
  int column = (item * patch.share) >> 16, row = item - column * patch.rows;
  const int columns = (ITEMS * patch.share) >> 16, rows = ITEMS - columns * patch.rows;  // a step
  int to = column * stride + row, from = (patch.first_column + column) * of_view + patch.first_row + row;
  column += patch.first_column;
  while (to < end) {
    if (patch.held) {
      tile[to] = (float2)(view[from], view[from + of_view]);
    } else {
      const bool held = (uint)(patch.first_row + row) < (uint)of_view;
      tile[to] = (float2)(held && (uint)column < (uint)(batch.columns + 2) ? view[from] : 0.0f,
                          held && (uint)(column + 1) < (uint)(batch.columns + 2) ? view[from + of_view] : 0.0f);
    }
    column += columns, row += rows, to += columns * stride + rows, from += columns * of_view + rows;
    if (row >= patch.rows) {
      ++column, row -= patch.rows, to += stride - patch.rows, from += of_view - patch.rows;
    }
  }
}

INLINE float between(float2 low, float2 high, float across, float along) {
  const float below = fma(across, low.y, (1.0f - across) * low.x);
  const float above = fma(across, high.y, (1.0f - across) * high.x);
  return fma(along, above, (1.0f - along) * below);
}

// Interpolated value, read from the view in global memory.
INLINE float looked_up(__global const float* restrict view, int rows, Position across, Position along) {
  if (!(across.inside && along.inside)) return 0.0f;
  __global const float* left = view + across.quad * (rows + 2) + along.quad;
  __global const float* right = left + rows + 2;
  return between((float2)(left[0], right[0]), (float2)(left[1], right[1]), across.fraction, along.fraction);
}

// Contribution of a view to a voxel: backproject.cl.
INLINE float with_kappa(float value, float u, float v, float correlation) {
#ifdef VARIANCE
  value *= kappa(u, correlation) * kappa(v, 0.0f);
#endif
  return value;
}

// v + ROUND_DOWN, for v > 0.5, has the row of v in its low bits, or, for a whole v, perhaps the row before; the fraction is 1 then, and the
// interpolated value the same. Cheaper than floor() and a conversion.
#define ROUND_DOWN 8388607.5f
#define WHOLE 8388608.0f
#define WHOLE_BITS 0x4B000000

// Adds a view to the slices of a work-item from the tile. start: place of row 0 in the column of the voxels.
INLINE void add_pairs(float* sum, __local const float2* tile, int start, bool cheaply, float z, float step_v,
                      float base_v, float inverse_w, float u, float across, float weight, float correlation) {
  if (cheaply) start -= WHOLE_BITS;
#pragma unroll
  for (int s = 0; s < K_UNROLL; ++s) {
    const float v = ROW_AT(fma(z + s, step_v, base_v), inverse_w), rounded = cheaply ? v + ROUND_DOWN : floor(v);
    const int at = start + (cheaply ? as_int(rounded) : (int)rounded);
    const float along = v - (cheaply ? rounded - WHOLE : rounded);
    const float value = between(tile[at], tile[at + 1], across, along);
    sum[s] = fma(with_kappa(value, u, v, correlation), weight, sum[s]);
  }
}

// Work-items: (nx, ny, slices / K_UNROLL), rounded up to groups of (GROUP_WIDTH, GROUP_HEIGHT, 1).
__kernel __attribute__((reqd_work_group_size(GROUP_WIDTH, GROUP_HEIGHT, 1))) void backproject_tile(
    __global const float* restrict filtered, __global const float4* restrict matrices, __global float* restrict volume,
    Extent extent, PerAxis centre, Batch batch, float correlation) {
  __local float2 tile[PAIRS_HELD];
  __local float2 corners[AHEAD][8];
  __local float4 ahead_matrices[AHEAD][3];
  __local Patch patches[AHEAD];
  __local volatile float lowest;  // z of a work-item, read again for every view, or each z + s would take a register
  const int item = GROUP_WIDTH * (int)get_local_id(1) + (int)get_local_id(0);
  const int i = get_global_id(0), j = get_global_id(1), slice = extent.begin + K_UNROLL * (int)get_global_id(2);
  const bool stored = i < extent.nx && j < extent.ny;  // the others help to copy
  const size_t plane = (size_t)extent.nx * extent.ny, pixels = (size_t)(batch.columns + 2) * (batch.held + 2);
  __global float* voxel = volume + plane * (slice - extent.offset) + (size_t)j * extent.nx + i;

  float sum[K_UNROLL];
#pragma unroll
  for (int s = 0; s < K_UNROLL; ++s, voxel += plane) sum[s] = stored && slice + s < extent.end ? *voxel : 0.0f;

  // whole numbers and halves: z + s is what slice + s gives
  const float x = (float)i - centre.x, y = (float)j - centre.y;
  if (item == 0) lowest = (float)slice - centre.z;
  for (int ahead = 0; ahead < batch.views; ahead += AHEAD) {
    const int here = min(AHEAD, batch.views - ahead);
    __global const float4* matrix = matrices + 3 * (size_t)(batch.first_view + ahead);
    if (item < 8 * here) {
      const float corner_x = x - (float)get_local_id(0) + (item & 1 ? GROUP_WIDTH - 1 : 0);
      const float corner_y = y - (float)get_local_id(1) + (item & 2 ? GROUP_HEIGHT - 1 : 0);
      const float corner_z = (float)slice - centre.z + (item & 4 ? K_UNROLL - 1 : 0);
      const float4 mu = matrix[item / 8 * 3], mv = matrix[item / 8 * 3 + 1], mw = matrix[item / 8 * 3 + 2];
      const float w = fma(corner_z, mw.z, fma(corner_x, mw.x, fma(corner_y, mw.y, mw.w)));
      const float u = fma(corner_z, mu.z, fma(corner_x, mu.x, fma(corner_y, mu.y, mu.w))) / w;
      const float v = ROW_OVER(fma(corner_z, mv.z, fma(corner_x, mv.x, fma(corner_y, mv.y, mv.w))), w);
      corners[item / 8][item & 7] = w > 0.0f ? (float2)(u, v) : (float2)(INFINITY, INFINITY);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    // no work-item is at the views before any longer
    if (item < 3 * here) ahead_matrices[item / 3][item % 3] = matrix[item];
    if (item < here) patches[item] = patch_of(corners[item], batch);
    for (int begin = 0, end = 0; begin < here; begin = end) {
      barrier(CLK_LOCAL_MEM_FENCE);  // patches are known, and the tile of the pass before is no longer read
      for (int used = 0; end < here; ++end) {
        const Patch patch = patches[end];
        const int size = patch.columns * STRIDE(patch.rows);
        if (used + size > PAIRS_HELD) break;
        copy_pairs(tile + used, filtered + pixels * (ahead + end), patch, batch, item);
        used += size;
      }
      barrier(CLK_LOCAL_MEM_FENCE);

      for (int n = begin, used = 0; n < end; ++n) {
        const float4 mu = ahead_matrices[n][0], mv = ahead_matrices[n][1], mw = ahead_matrices[n][2];
        const float base_u = fma(x, mu.x, fma(y, mu.y, mu.w));
        const float base_v = fma(x, mv.x, fma(y, mv.y, mv.w));
        const float base_w = fma(x, mw.x, fma(y, mw.y, mw.w));
        const float z = lowest;
        const bool in_front = base_w > 0.0f;
        const float inverse_w = in_front ? 1.0f / base_w : 0.0f;
        const float weight = voxel_weight(inverse_w, in_front);
        const float u = base_u * inverse_w;
        // v goes one way along k: what holds of both ends holds in between
        const float one = ROW_AT(fma(z, mv.z, base_v), inverse_w);
        const float other = ROW_AT(fma(z + (K_UNROLL - 1), mv.z, base_v), inverse_w);
        const Reach reach = patches[n].reach;
        const int rows = patches[n].rows;
        if (u >= reach.least.x && u < reach.most.x && fmin(one, other) > reach.least.y &&
            fmax(one, other) < reach.most.y) {
          const float left = floor(u);
          const int column = (int)left + 1 - patches[n].first_column;
          const int start = used + column * STRIDE(rows) - patches[n].first_row - batch.row_begin + 1;
          if (fmin(one, other) > 0.5f)
            add_pairs(sum, tile, start, true, z, mv.z, base_v, inverse_w, u, u - left, weight, correlation);
          else
            add_pairs(sum, tile, start, false, z, mv.z, base_v, inverse_w, u, u - left, weight, correlation);
        } else {
          // one after the other, in turns through sum[0]: written out they would take registers that the others need
          const Position across = position(u, 0, batch.columns);
#pragma unroll 1
          for (int s = 0; s < K_UNROLL; ++s) {
            const float v = ROW_AT(fma(z + s, mv.z, base_v), inverse_w);
            const float value = looked_up(filtered + pixels * (ahead + n), batch.held, across,
                                          position(v, batch.row_begin, batch.held));
            const float next = fma(with_kappa(value, u, v, correlation), weight, sum[0]);
#pragma unroll
            for (int k = 0; k + 1 < K_UNROLL; ++k) sum[k] = sum[k + 1];
            sum[K_UNROLL - 1] = next;
          }
        }
        used += patches[n].columns * STRIDE(rows);
      }
    }
  }

  // from the last on, by the way that `voxel` came, so that not all the addresses take registers in between
#pragma unroll
  for (int s = K_UNROLL - 1; s >= 0; --s) {
    voxel -= plane;
    if (stored && slice + s < extent.end) *voxel = sum[s];
  }
}
