// Products with a stored system matrix of scans whose rays run within slices, and its transpose, for many slices at
// once (Nourazar & Goossens 2021): A of a slice is the same for all. It is stored as tiles of 8 rays x 16 pixels that
// are not all 0 (matrix_fill.cl), and both directions read the same tiles.
//
// Slices are in blocks of SLICES. Vectors are in the order in which matrix units take them: x[pixel tile][block]: 16
// pixels x SLICES; y[ray tile][block]: 8 rays x SLICES; `blocks` of them. UNITS: halves (tile_nvidia.clh), each slice
// times a power of two by its largest magnitude, largest[slice][parts], so that a slice's bits do not depend on others.
// Without: float32.
//
// Lists (algorithms/matrix/tile_structure.hpp): super_places[super_begin[s]] ...: 16 x pixel tile + mask of those of
// the ray tiles 4 s to 4 s + 3 that meet it, whose tiles are stored in this order; pixel_begin, tiles_of_pixels,
// ray_tiles: the tiles of each pixel tile in a chunk, from the chunk's first one. Sums are in the order of the lists:
// the same bits always.
// SECTORS: eight copies of a slice take the places of slices (matrix_sectors.clh), and
// matrix_backproject writes the sums of copies, which matrix_fold adds. UNITS: tile_nvidia.clh; without:
// tile_plain.clh. BLOCKS: blocks of slices of a work-group. SPLIT: the WARPS of a work-group share the list of a
// super-tile, for scans of few. Tunables: WARPS, DEPTH, UNROLL.
#pragma OPENCL FP_CONTRACT OFF
#include "extent.clh"
#include "inline.clh"
#include "matrix.clh"
#include "matrix_sectors.clh"
#ifdef UNITS
#include "tile_nvidia.clh"
#else
#include "tile_plain.clh"
#endif

#define RAYS 8
#define PIXELS 16
#ifndef WARPS
#define WARPS 4
#endif

INLINE int row_of(Tiling tiling, int k) {
  return tiling.row_of_0 + tiling.row_step * k;
}

// The power of 2 by which a slice's numbers become halves, or back.
INLINE int exponent_of(uint largest) {
  const float magnitude = as_float(largest);
  return magnitude > 0.0f && magnitude <= FLT_MAX ? clamp(14 - ilogb(magnitude), -126, 126) : 0;
}
#ifdef SCALED
#define UP(value, largest) ldexp(value, exponent_of(largest))
#define DOWN(value, largest) ldexp(value, -exponent_of(largest))
#else
#define UP(value, largest) (value)
#define DOWN(value, largest) (value)
#endif

// Column, and view of the batch, of a ray of the tile that begins at `place`; column -1: there is none.
INLINE int2 ray_at(int2 place, int ray, int copied, Batch batch, Tiling tiling) {
  int2 at = (int2)(place.x + ray % tiling.ray_width, place.y + ray / tiling.ray_width);
#ifdef SECTORS
  at = ray_of_copy(at.x, at.y, copied % COPIES, batch.columns, tiling);
#endif
  at.y -= batch.first_view;
  if (at.x >= batch.columns || at.y < 0 || at.y >= batch.views) at.x = -1;
  return at;
}

INLINE void keep_largest(float value, __local uint* most, volatile __global uint* to) {
  if (get_local_id(0) == 0) *most = 0u;
  barrier(CLK_LOCAL_MEM_FENCE);
  atomic_max(most, as_uint(fabs(value)));
  barrier(CLK_LOCAL_MEM_FENCE);
  if (get_local_id(0) == 0) atomic_max(to, *most);
}

// Largest magnitudes of slices held. Work-items: (nx ny, held) in groups of (n, 1).
__kernel void matrix_largest_voxels(__global const float* restrict volume, volatile __global uint* restrict largest,
                                    Extent extent) {
  __local uint most;
  const size_t plane = (size_t)extent.nx * extent.ny, at = get_global_id(0);
  const int slice = get_global_id(1);
  keep_largest(at < plane ? volume[plane * slice + at] : 0.0f, &most, largest + slice);
}

// Those of views first to end - 1 of the batch, which are a part's, in the rows of slices begin to end - 1. Work-items:
// (columns views, slices) in groups of (n, 1).
__kernel void matrix_largest_pixels(__global const float* restrict raw, volatile __global uint* restrict largest,
                                    Extent extent, Batch batch, Tiling tiling) {
  __local uint most;
  const int at = get_global_id(0), k = extent.begin + (int)get_global_id(1), row = row_of(tiling, k) - batch.row_begin;
  const int view = (int)tiling.first + at / batch.columns, column = at % batch.columns;
  const bool there = k < extent.end && row >= 0 && row < batch.held && view < (int)tiling.end;
  keep_largest(there ? raw[((size_t)view * batch.held + row) * batch.columns + column] : 0.0f, &most,
               largest + (size_t)(min(k, extent.end - 1) - extent.offset) * tiling.parts + tiling.part);
}

// end: pixel tiles; the slices held are offset to end - 1 of the extent. Work-items: (LANES, pixel tiles, blocks).
__kernel void matrix_voxels(__global const float* restrict volume, __global const uint* restrict largest,
                            __global void* restrict x, __global const int2* restrict pixel_places, Extent extent,
                            Tiling tiling) {
  const int lane = get_global_id(0), block = get_global_id(2);
  const uint tile = get_global_id(1);
  if (lane >= LANES || tile >= tiling.end || block >= tiling.blocks) return;
  const int2 place = pixel_places[tile];
  float numbers[VOXELS_OF_LANE];
#pragma unroll
  for (int e = 0; e < VOXELS_OF_LANE; ++e) {
    const int copied = block * SLICES + slice_of_number(lane, e), slice = copied / COPIES,
              pixel = place_of_number(lane, e);
    int2 at = (int2)(place.x + pixel % 4, place.y + pixel / 4);
    numbers[e] = 0.0f;
    if (extent.offset + slice < extent.end && at.x < extent.nx && at.y < extent.ny) {
#ifdef SECTORS
      at = voxel_of_copy(at, copied % COPIES, extent, tiling);
#endif
      numbers[e] = UP(volume[((size_t)slice * extent.ny + at.y) * extent.nx + at.x], largest[slice]);
    }
  }
  store_voxels(numbers, (size_t)tile * tiling.blocks + block, lane, x);
}

// Values of a part, whose `end` ray tiles begin at first_tile of y. Rays of views that the batch does not hold are 0.
// Work-items: (LANES, ray tiles, blocks).
__kernel void matrix_values(__global const float* restrict raw, __global const uint* restrict largest,
                            __global void* restrict y, __global const int2* restrict ray_places, Extent extent,
                            Batch batch, Tiling tiling) {
  const int lane = get_global_id(0), block = get_global_id(2);
  const uint tile = get_global_id(1);
  if (lane >= LANES || tile >= tiling.end || block >= tiling.blocks) return;
  const int2 place = ray_places[tile];
  float numbers[VALUES_OF_LANE];
#pragma unroll
  for (int e = 0; e < VALUES_OF_LANE; ++e) {
    const int copied = block * SLICES + slice_of_number(lane, e), slice = copied / COPIES,
              ray = place_of_number(lane, e), k = extent.offset + slice, row = row_of(tiling, k) - batch.row_begin;
    const int2 at = ray_at(place, ray, copied, batch, tiling);
    numbers[e] = 0.0f;
    if (k >= extent.begin && k < extent.end && row >= 0 && row < batch.held && at.x >= 0)
      numbers[e] = UP(raw[((size_t)at.y * batch.held + row) * batch.columns + at.x],
                      largest[(size_t)slice * tiling.parts + tiling.part]);
  }
  store_values(numbers, (size_t)(tiling.first_tile + tile) * tiling.blocks + block, lane, y);
}

// Adds the sums of a ray tile's rays, in units of Tiling::unit.
INLINE void add_to_rays(Sums sums, __global float* restrict projections, __global const uint* restrict largest,
                        int2 place, int lane, int block, Extent extent, Batch batch, Tiling tiling) {
  for (int e = 0; e < ELEMENTS; ++e) {
    const int copied = block * SLICES + slice_of_element(lane, e), slice = copied / COPIES,
              ray = column_of_element(lane, e), k = extent.offset + slice, row = row_of(tiling, k);
    const int2 at = ray_at(place, ray, copied, batch, tiling);
    if (k >= extent.begin && k < extent.end && row >= 0 && row < batch.rows && at.x >= 0)
      projections[((size_t)at.y * batch.rows + row) * batch.columns + at.x] +=
          tiling.unit * DOWN(element_of(sums, e), largest[slice]);
  }
}

#ifdef SPLIT
// Places of a super-tile's list that a warp takes, and the number of tiles before them, of which counts[w] are warp
// w's.
INLINE uint2 part_of_list(uint2 list, __global const uint* restrict super_places, __local uint* counts, uint* before) {
  const int warp = get_local_id(1);
  const uint length = list.y - list.x;
  const uint2 part = (uint2)(list.x + length * warp / WARPS, list.x + length * (warp + 1) / WARPS);
  if (get_local_id(0) == 0) counts[warp] = 0u;
  barrier(CLK_LOCAL_MEM_FENCE);
  uint tiles = 0u;
  for (uint n = part.x + (uint)get_local_id(0); n < part.y; n += LANES) tiles += popcount(super_places[n] & 15u);
  atomic_add(counts + warp, tiles);
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int w = 0; w < warp; ++w) *before += counts[w];
  return part;
}
#endif

// Super-tiles first to end - 1, whose tiles begin at first_tile. Work-items: (LANES, super-tiles, blocks / BLOCKS);
// SPLIT: WARPS times as many along y.
__kernel __attribute__((reqd_work_group_size(LANES, WARPS, 1))) void matrix_project(
    __global const void* restrict tiles, __global const uint* restrict ray_begin,
    __global const uint* restrict super_begin, __global const uint* restrict super_places,
    __global const void* restrict x, __global const uint* restrict largest, __global const int2* restrict ray_places,
    __global float* restrict projections, Extent extent, Batch batch, Tiling tiling) {
  const int lane = get_local_id(0), block = tiling.first_block + BLOCKS * (int)get_global_id(2);
#ifdef SPLIT
  const uint super = tiling.first + (uint)get_group_id(1);
  __local Sums shared[WARPS][4][BLOCKS][LANES];
  __local uint counts[WARPS];
#else
  const uint super = tiling.first + (uint)get_global_id(1);
#endif
  if (super >= tiling.end) return;
  Sums sums[4][BLOCKS];
  bool any = false;  // ray with a view of the batch
  for (int t = 0; t < 4; ++t) {
#ifdef SECTORS
    any = true;
#else
    const int view = ray_places[4 * super + t].y - batch.first_view;
    any = any || (view < batch.views && view + RAYS / tiling.ray_width > 0);
#endif
    for (int b = 0; b < BLOCKS; ++b) {
      const Sums none = NO_SUMS;
      sums[t][b] = none;
    }
  }
  if (!any) return;
  uint next = ray_begin[4 * super] - tiling.first_tile;
  uint2 list = (uint2)(super_begin[super], super_begin[super + 1]);
#ifdef SPLIT
  list = part_of_list(list, super_places, counts, &next);
#endif
  uint ahead[DEPTH];
  for (int d = 0; d < DEPTH; ++d) ahead[d] = list.x + d < list.y ? super_places[list.x + d] : 0u;
  for (uint n = list.x; n < list.y; n += DEPTH) {
    uint place[DEPTH];
    Voxels voxels[DEPTH][BLOCKS];
    Tile tile[DEPTH][4];
#pragma unroll
    for (int d = 0; d < DEPTH; ++d) {
      place[d] = ahead[d];
      for (int b = 0; b < BLOCKS; ++b)
        voxels[d][b] =
            load_voxels(x, (size_t)(place[d] >> 4) * tiling.blocks + min(block + b, tiling.blocks - 1), lane);
#pragma unroll
      for (int t = 0; t < 4; ++t)
        if (place[d] & (1u << t)) tile[d][t] = load_tile(tiles, next++, lane);
    }
#pragma unroll
    for (int d = 0; d < DEPTH; ++d) ahead[d] = n + DEPTH + d < list.y ? super_places[n + DEPTH + d] : 0u;
#pragma unroll
    for (int d = 0; d < DEPTH; ++d)
#pragma unroll
      for (int t = 0; t < 4; ++t)
        if (place[d] & (1u << t))
          for (int b = 0; b < BLOCKS; ++b) {
            Sums part = part_of_sums(sums[t][b]);
            add_rays(&part, voxels[d][b], tile[d][t]);
            sums[t][b] = with_part(sums[t][b], part);
          }
  }
#ifdef SPLIT
  const int warp = get_local_id(1);
  for (int t = 0; t < 4; ++t)
    for (int b = 0; b < BLOCKS; ++b) shared[warp][t][b][lane] = sums[t][b];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int t = warp; t < 4; t += WARPS)
    for (int b = 0; b < BLOCKS; ++b) {
      Sums sum = shared[0][t][b][lane];
      for (int w = 1; w < WARPS; ++w) sum += shared[w][t][b][lane];
      add_to_rays(sum, projections, largest, ray_places[4 * super + t], lane, block + b, extent, batch, tiling);
    }
#else
  for (int t = 0; t < 4; ++t)
    for (int b = 0; b < BLOCKS; ++b)
      add_to_rays(sums[t][b], projections, largest, ray_places[4 * super + t], lane, block + b, extent, batch, tiling);
#endif
}

// Work-items: (LANES, pixel tiles, blocks / BLOCKS). first: the chunk's place in pixel_begin; end: pixel tiles;
// first_tile: the part's in y.
__kernel __attribute__((reqd_work_group_size(LANES, WARPS, 1))) void matrix_backproject(
    __global const void* restrict tiles, __global const uint* restrict pixel_begin,
    __global const uint* restrict tiles_of_pixels, __global const uint* restrict ray_tiles,
    __global const void* restrict y, __global const uint* restrict largest, __global const int2* restrict pixel_places,
    __global float* restrict volume, Extent extent, Tiling tiling) {
  const int lane = get_local_id(0), block = tiling.first_block + BLOCKS * (int)get_global_id(2);
  const uint pixel_tile = get_global_id(1);
  if (pixel_tile >= tiling.end) return;
  Sums sums[2][BLOCKS];
  for (int h = 0; h < 2; ++h)
    for (int b = 0; b < BLOCKS; ++b) {
      const Sums none = NO_SUMS;
      sums[h][b] = none;
    }
  Sums low[BLOCKS], high[BLOCKS];
  for (int b = 0; b < BLOCKS; ++b) low[b] = part_of_sums(sums[0][b]), high[b] = part_of_sums(sums[1][b]);
  const uint begin = pixel_begin[tiling.first + pixel_tile], end = pixel_begin[tiling.first + pixel_tile + 1];
  for (uint n = begin; n < end; n += UNROLL) {
    uint number[UNROLL], ray_tile[UNROLL];
    Tile tile[UNROLL];
    Values values[UNROLL][BLOCKS];
#pragma unroll
    for (int d = 0; d < UNROLL; ++d) {
      const uint at = min(n + d, end - 1);
      number[d] = tiles_of_pixels[at], ray_tile[d] = ray_tiles[at];
    }
#pragma unroll
    for (int d = 0; d < UNROLL; ++d) {
      tile[d] = load_tile(tiles, number[d], lane);
      for (int b = 0; b < BLOCKS; ++b)
        values[d][b] = load_values(
            y, (size_t)(tiling.first_tile + ray_tile[d]) * tiling.blocks + min(block + b, tiling.blocks - 1), lane);
    }
#pragma unroll
    for (int d = 0; d < UNROLL; ++d) tile[d] = turned(tile[d]);
#pragma unroll
    for (int b = 0; b < BLOCKS; ++b) {
#pragma unroll
      for (int d = 0; d < UNROLL; ++d)
        if (n + d < end) add_pixels(&low[b], &high[b], values[d][b], tile[d]);
      if (UNROLL >= TILES_OF_PART || (n - begin) % TILES_OF_PART + UNROLL >= TILES_OF_PART || n + UNROLL >= end) {
        sums[0][b] = with_part(sums[0][b], low[b]), sums[1][b] = with_part(sums[1][b], high[b]);
        low[b] = part_of_sums(sums[0][b]), high[b] = part_of_sums(sums[1][b]);
      }
    }
  }
  const int2 place = pixel_places[pixel_tile];
  for (int h = 0; h < 2; ++h)
    for (int b = 0; b < BLOCKS; ++b)
      for (int e = 0; e < ELEMENTS; ++e) {
        const int copied = (block + b) * SLICES + slice_of_element(lane, e), slice = copied / COPIES,
                  pixel = 8 * h + column_of_element(lane, e), i = place.x + pixel % 4, j = place.y + pixel / 4,
                  k = extent.offset + slice;
        if (k < extent.begin || k >= extent.end || i >= extent.nx || j >= extent.ny) continue;
        const float sum =
            tiling.unit * DOWN(element_of(sums[h][b], e), largest[(size_t)slice * tiling.parts + tiling.part]);
        const size_t at = ((size_t)copied * extent.ny + j) * extent.nx + i;
#ifdef SECTORS
        volume[at] = sum;
#else
        volume[at] += sum;
#endif
      }
}

#ifdef SECTORS
// Adds the copies' sums of the slices begin to end - 1 to the volume. Work-items: (nx, ny, slices).
__kernel void matrix_fold(__global const float* restrict sums, __global float* restrict volume, Extent extent,
                          Tiling tiling) {
  const int i = get_global_id(0), j = get_global_id(1), k = extent.begin + (int)get_global_id(2),
            slice = k - extent.offset;
  if (i >= extent.nx || j >= extent.ny || k >= extent.end) return;
  float sum = 0.0f;
  for (int copy = 0; copy < COPIES; ++copy) {
    const int2 at = voxel_in_copy((int2)(i, j), copy, extent, tiling);
    sum += sums[(((size_t)slice * COPIES + copy) * extent.ny + at.y) * extent.nx + at.x];
  }
  volume[((size_t)slice * extent.ny + j) * extent.nx + i] += sum;
}
#endif
