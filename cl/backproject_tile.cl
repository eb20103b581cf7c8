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
#define K_UNROLL 16
#endif

#ifndef GROUP_WIDTH
#define GROUP_WIDTH 32
#define GROUP_HEIGHT 16
#endif
#ifndef TILE_BYTES
#define TILE_BYTES 40960
#endif
#define ITEMS (GROUP_WIDTH * GROUP_HEIGHT)
#define AHEAD (ITEMS / 8)  // views of which every work-item casts a corner
#define PAIRS_HELD (TILE_BYTES / 8)
#define MOST_ROWS (65536 / ITEMS)  // so that an item's number is divided by it exactly, see below

// First column and row as filtered has them, columns of pairs, rows; no columns: the pixels are not copied.
typedef int4 Patch;
#define STRIDE(patch) ((patch).w | 1)

INLINE Patch patch_of(__local const float2* corners, int row_begin) {
  float2 low = corners[0], high = corners[0];
  for (int n = 1; n < 8; ++n) {
    low = fmin(low, corners[n]);
    high = fmax(high, corners[n]);
  }
  const float far = 1e6f, margin = 0.0625f;  // for what float32 rounds
  if (!(low.x > -far && low.y > -far && high.x < far && high.y < far)) return (Patch)(0, 0, 0, 1);
  const int left = (int)floor(low.x - margin), bottom = (int)floor(low.y - margin);
  const int columns = (int)floor(high.x + margin) - left + 1, rows = (int)floor(high.y + margin) - bottom + 2;
  const Patch patch = (Patch)(left + 1, bottom - row_begin + 1, columns, rows);
  const bool fits = columns <= PAIRS_HELD && rows <= MOST_ROWS && columns * STRIDE(patch) <= PAIRS_HELD;
  return fits ? patch : (Patch)(0, 0, 0, 1);
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

// Work-items: (nx, ny, slices / K_UNROLL), rounded up to groups of (GROUP_WIDTH, GROUP_HEIGHT, 1).
__kernel __attribute__((reqd_work_group_size(GROUP_WIDTH, GROUP_HEIGHT, 1))) void backproject_tile(
    __global const float* restrict filtered, __global const float4* restrict matrices, __global float* restrict volume,
    Extent extent, PerAxis centre, Batch batch, float correlation) {
  __local float2 tile[PAIRS_HELD];
  __local float2 corners[AHEAD][8];
  __local Patch patches[AHEAD];
  __local int shares[AHEAD];      // 2^16 over a patch's rows, rounded up
  __local volatile float lowest;  // z of a work-item, read again for every view, or each z + s would take a register
  const int item = GROUP_WIDTH * (int)get_local_id(1) + (int)get_local_id(0);
  const int i = get_global_id(0), j = get_global_id(1), slice = extent.begin + K_UNROLL * (int)get_global_id(2);
  const bool stored = i < extent.nx && j < extent.ny;  // the others help to copy
  const size_t plane = (size_t)extent.nx * extent.ny;
  __global float* voxel = volume + plane * (slice - extent.offset) + (size_t)j * extent.nx + i;

  float sum[K_UNROLL];
#pragma unroll
  for (int s = 0; s < K_UNROLL; ++s, voxel += plane) sum[s] = stored && slice + s < extent.end ? *voxel : 0.0f;

  // whole numbers and halves: z + s is what slice + s gives
  const float x = (float)i - centre.x, y = (float)j - centre.y;
  if (item == 0) lowest = (float)slice - centre.z;
  for (int ahead = 0; ahead < batch.views; ahead += AHEAD) {
    const int here = min(AHEAD, batch.views - ahead);
    if (item < 8 * here) {
      const int n = item / 8;
      const float corner_x = x - (float)get_local_id(0) + (item & 1 ? GROUP_WIDTH - 1 : 0);
      const float corner_y = y - (float)get_local_id(1) + (item & 2 ? GROUP_HEIGHT - 1 : 0);
      const float corner_z = (float)slice - centre.z + (item & 4 ? K_UNROLL - 1 : 0);
      const size_t row = 3 * (size_t)(batch.first_view + ahead + n);
      const float4 mu = matrices[row], mv = matrices[row + 1], mw = matrices[row + 2];
      const float w = fma(corner_z, mw.z, fma(corner_x, mw.x, fma(corner_y, mw.y, mw.w)));
      const float u = fma(corner_z, mu.z, fma(corner_x, mu.x, fma(corner_y, mu.y, mu.w))) / w;
      const float v = ROW_OVER(fma(corner_z, mv.z, fma(corner_x, mv.x, fma(corner_y, mv.y, mv.w))), w);
      corners[n][item & 7] = w > 0.0f ? (float2)(u, v) : (float2)(INFINITY, INFINITY);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item < here) {
      const Patch patch = patch_of(corners[item], batch.row_begin);
      patches[item] = patch;
      shares[item] = 65535 / patch.w + 1;
    }
    for (int begin = 0, end = 0; begin < here; begin = end) {
      barrier(CLK_LOCAL_MEM_FENCE);  // patches are known, and the tile of the pass before is no longer read
      int used = 0;
      for (; end < here; ++end) {
        const Patch patch = patches[end];
        const int stride = STRIDE(patch), size = patch.z * stride;
        if (used + size > PAIRS_HELD) break;
        __global const float* restrict view = filtered + (size_t)(batch.columns + 2) * (batch.held + 2) * (ahead + end);
        const int share = shares[end], step_columns = (ITEMS * share) >> 16, step_rows = ITEMS - step_columns * patch.w;
        int column = (item * share) >> 16, row = item - column * patch.w;
        while (column < patch.z) {
          const int c = patch.x + column, r = patch.y + row, at = c * (batch.held + 2) + r;
          const bool held = (uint)r < (uint)(batch.held + 2);
          tile[used + column * stride + row] =
              (float2)(held && (uint)c < (uint)(batch.columns + 2) ? view[at] : 0.0f,
                       held && (uint)(c + 1) < (uint)(batch.columns + 2) ? view[at + batch.held + 2] : 0.0f);
          column += step_columns;
          row += step_rows;
          if (row >= patch.w) {
            row -= patch.w;
            ++column;
          }
        }
        used += size;
      }
      barrier(CLK_LOCAL_MEM_FENCE);

      used = 0;
      for (int n = begin; n < end; ++n) {
        const Patch patch = patches[n];
        const size_t matrix = 3 * (size_t)(batch.first_view + ahead + n);
        const float4 mu = matrices[matrix], mv = matrices[matrix + 1], mw = matrices[matrix + 2];
        const float base_u = fma(x, mu.x, fma(y, mu.y, mu.w));
        const float base_v = fma(x, mv.x, fma(y, mv.y, mv.w));
        const float base_w = fma(x, mw.x, fma(y, mw.y, mw.w));
        const float z = lowest;
        const bool in_front = base_w > 0.0f;
        const float inverse_w = in_front ? 1.0f / base_w : 0.0f;
        const float weight = voxel_weight(inverse_w, in_front);
        const float u = base_u * inverse_w;
        const Position across = position(u, 0, batch.columns);
        const int column = across.quad - patch.x;
        // v goes one way along k: what holds of both ends holds in between
        const int one = position(ROW_AT(fma(z, mv.z, base_v), inverse_w), batch.row_begin, batch.held).quad - patch.y;
        const int other =
            position(ROW_AT(fma(z + (K_UNROLL - 1), mv.z, base_v), inverse_w), batch.row_begin, batch.held).quad -
            patch.y;
        if ((uint)column < (uint)patch.z && min(one, other) >= 0 && max(one, other) < patch.w - 1) {
          const int start = used + column * STRIDE(patch) - patch.y - batch.row_begin + 1;
#pragma unroll
          for (int s = 0; s < K_UNROLL; ++s) {
            const float v = ROW_AT(fma(z + s, mv.z, base_v), inverse_w), whole = floor(v);
            const int at = start + (int)whole;
            const float value = between(tile[at], tile[at + 1], across.fraction, v - whole);
            sum[s] = fma(with_kappa(value, u, v, correlation), weight, sum[s]);
          }
        } else {
          // one after the other, in turns through sum[0]: written out they would take registers that the others need
          __global const float* restrict view = filtered + (size_t)(batch.columns + 2) * (batch.held + 2) * (ahead + n);
#pragma unroll 1
          for (int s = 0; s < K_UNROLL; ++s) {
            const float v = ROW_AT(fma(z + s, mv.z, base_v), inverse_w);
            const float value = looked_up(view, batch.held, across, position(v, batch.row_begin, batch.held));
            const float next = fma(with_kappa(value, u, v, correlation), weight, sum[0]);
#pragma unroll
            for (int k = 0; k + 1 < K_UNROLL; ++k) sum[k] = sum[k + 1];
            sum[K_UNROLL - 1] = next;
          }
        }
        used += patch.z * STRIDE(patch);
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
