// Products with a stored system matrix of scans whose rays run within slices, and its transpose, for many slices at
// once (Nourazar & Goossens 2021): A of a slice is the same for all. It is stored as tiles of 8 rays x 16 pixels that
// are not all 0 (matrix_fill.cl), and both directions read the same tiles.
//
// Slices are in blocks of SLICES. Vectors are in the order in which matrix units take them: x[pixel tile][block]: 16
// pixels x SLICES; y[ray tile][block]: 8 rays x SLICES; `blocks` of them. UNITS_NVIDIA, UNITS_AMD, UNITS_INTEL: halves
// (tile_halves.clh), each slice times a power of two by its largest magnitude, largest[slice][parts], so that a slice's
// bits do not depend on others. Without: float32.
//
// Products are those of super-tiles (algorithms/matrix/tile_structure.hpp), of RAY_TILES ray tiles or PIXEL_TILES pixel
// tiles. super_begins: where the list of a super-tile begins in super_places and, of those of rays, the number of its
// first tile. A place: the number of a tile of x or y << bits of the mask | mask of the super-tile's tiles that meet it.
// Tiles are stored in the order of the places of rays; super_tiles: their numbers at places of pixels, from the chunk's
// first one. Sums are in the order of the lists: the same bits always.
//
// SECTORS: eight copies of a slice take the places of slices (matrix_sectors.clh), and matrix_backproject writes the
// sums of copies, which matrix_fold adds. With matrix units, the WARPS of a work-group share a super-tile's list, LANES
// each: 32 of NVIDIA, else given. BLOCKS: blocks of slices of a work-group. Tunable: WARPS.
#pragma OPENCL FP_CONTRACT OFF
#include "extent.clh"
#include "inline.clh"
#include "matrix.clh"
#include "matrix_sectors.clh"
#include "tile_halves.clh"
#ifndef WARPS
#define WARPS 4
#endif
#define MASK(tiles) ((1u << (tiles)) - 1u)  // of a place
#if defined(UNITS_NVIDIA) || defined(UNITS_AMD) || defined(UNITS_INTEL)
#define UNITS
#endif
#if defined(UNITS_NVIDIA)
#include "tile_nvidia.clh"
#elif defined(UNITS_AMD)
#include "tile_amd.clh"
#elif defined(UNITS_INTEL)
#include "tile_intel.clh"
#else
#include "tile_plain.clh"
#endif
#ifndef OF_SUB_GROUP
#define OF_SUB_GROUP
#endif

#define RAYS 8

INLINE int row_of(Tiling tiling, int k) {
  return tiling.row_of_0 + tiling.row_step * k;
}

// The power of 2 by which a slice's numbers become halves, or back.
INLINE int exponent_of(uint largest) {
  const float magnitude = as_float(largest);
  return magnitude > 0.0f && magnitude <= FLT_MAX ? clamp(14 - ilogb(magnitude), -126, 126) : 0;
}
#ifdef UNITS
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
              pixel = pixel_of_number(lane, e);
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
    const int copied = block * SLICES + slice_of_number(lane, e), slice = copied / COPIES, ray = ray_of_number(lane, e),
              k = extent.offset + slice, row = row_of(tiling, k) - batch.row_begin;
    const int2 at = ray_at(place, ray, copied, batch, tiling);
    numbers[e] = 0.0f;
    if (k >= extent.begin && k < extent.end && row >= 0 && row < batch.held && at.x >= 0)
      numbers[e] = UP(raw[((size_t)at.y * batch.held + row) * batch.columns + at.x],
                      largest[(size_t)slice * tiling.parts + tiling.part]);
  }
  store_values(numbers, (size_t)(tiling.first_tile + tile) * tiling.blocks + block, lane, y);
}

#define RAY_SUMS (RAY_TILES * RAYS / COLUMNS)  // of a super-tile
#define PIXEL_SUMS (16 / COLUMNS)              // of a tile

// Adds the sums of COLUMNS rays of the ray tiles from the first of `places` on, in units of Tiling::unit.
INLINE void add_to_rays(Sums sums, __global float* restrict projections, __global const uint* restrict largest,
                        __global const int2* restrict places, int lane, int block, Extent extent, Batch batch,
                        Tiling tiling) {
  for (int e = 0; e < ELEMENTS; ++e) {
    const int copied = block * SLICES + slice_of_element(lane, e), slice = copied / COPIES,
              column = column_of_element(lane, e), k = extent.offset + slice, row = row_of(tiling, k);
    const int2 at = ray_at(places[column / RAYS], column % RAYS, copied, batch, tiling);
    if (k >= extent.begin && k < extent.end && row >= 0 && row < batch.rows && at.x >= 0)
      projections[((size_t)at.y * batch.rows + row) * batch.columns + at.x] +=
          tiling.unit * DOWN(element_of(sums, e), largest[slice]);
  }
}

// Places of a super-tile's list that a warp takes.
INLINE uint2 part_of_list(uint2 list) {
#ifdef UNITS
  const uint warp = get_local_id(1), length = list.y - list.x;
  return (uint2)(list.x + length * warp / WARPS, list.x + length * (warp + 1u) / WARPS);
#else
  return list;
#endif
}

#ifdef UNITS
// Sums n of warp w, which has so many.
#define SHARED(w, so_many, n, b) shared[(((w) * (so_many) + (n)) * BLOCKS + (b)) * LANES + lane]

// Tiles of the warps before, of which each has `mine` in its lanes.
INLINE uint tiles_before(uint mine, __local uint* counts) {
  const uint warp = get_local_id(1);
  uint before = 0u;
  if (get_local_id(0) == 0) counts[warp] = 0u;
  barrier(CLK_LOCAL_MEM_FENCE);
  atomic_add(counts + warp, mine);
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint w = 0; w < warp; ++w) before += counts[w];
  barrier(CLK_LOCAL_MEM_FENCE);
  return before;
}
#endif

// Super-tiles of rays, first to end - 1, whose tiles begin at first_tile. Work-items: (LANES, super-tiles, blocks /
// BLOCKS); UNITS: WARPS times as many along y.
__kernel __attribute__((OF_SUB_GROUP reqd_work_group_size(LANES, WARPS, 1))) void matrix_project(
    __global const void* restrict tiles, __global const uint2* restrict super_begins,
    __global const uint* restrict super_places, __global const void* restrict x, __global const uint* restrict largest,
    __global const int2* restrict ray_places, __global float* restrict projections, Extent extent, Batch batch,
    Tiling tiling) {
  const int lane = get_local_id(0), block = tiling.first_block + BLOCKS * (int)get_global_id(2);
#ifdef UNITS
  __local Sums shared[WARPS * RAY_SUMS * BLOCKS * LANES];
  const uint super = tiling.first + (uint)get_group_id(1);
#else
  const uint super = tiling.first + (uint)get_global_id(1);
#endif
  if (super >= tiling.end) return;
  ray_places += RAY_TILES * super;
  bool any = false;  // ray with a view of the batch
#pragma unroll
  for (int t = 0; t < RAY_TILES; ++t) {
#ifdef SECTORS
    any = true;
#else
    const int view = ray_places[t].y - batch.first_view;
    any = any || (view < batch.views && view + RAYS / tiling.ray_width > 0);
#endif
  }
  if (!any) return;
  Sums sums[RAY_SUMS][BLOCKS];
#pragma unroll
  for (int s = 0; s < RAY_SUMS; ++s)
#pragma unroll
    for (int b = 0; b < BLOCKS; ++b) {
      const Sums none = NO_SUMS;
      sums[s][b] = none;
    }
  const uint2 list = part_of_list((uint2)(super_begins[super].x, super_begins[super + 1].x));
  uint tile_number = super_begins[super].y - tiling.first_tile;
#ifdef UNITS
  uint mine = 0u;
  for (uint n = list.x + (uint)lane; n < list.y; n += LANES) mine += popcount(super_places[n] & MASK(RAY_MASK_BITS));
  tile_number += tiles_before(mine, (__local uint*)shared);
#endif
  add_rays(sums, list, super_places, (__global const char*)tiles + (size_t)tile_number * BYTES_OF_TILE,
           (__global const char*)x + (size_t)(block / BLOCKS) * BYTES_OF_VOXELS,
           (uint)(tiling.blocks / BLOCKS) * BYTES_OF_VOXELS, lane);
#ifdef UNITS
  const int warp = get_local_id(1);
  barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
  for (int s = 0; s < RAY_SUMS; ++s)
#pragma unroll
    for (int b = 0; b < BLOCKS; ++b) SHARED(warp, RAY_SUMS, s, b) = sums[s][b];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int s = warp; s < RAY_SUMS; s += WARPS)
#pragma unroll
    for (int b = 0; b < BLOCKS; ++b) {
      Sums sum = SHARED(0, RAY_SUMS, s, b);
      for (int w = 1; w < WARPS; ++w) sum += SHARED(w, RAY_SUMS, s, b);
      add_to_rays(sum, projections, largest, ray_places + COLUMNS / RAYS * s, lane, block + b, extent, batch, tiling);
    }
#else
#pragma unroll
  for (int s = 0; s < RAY_SUMS; ++s)
#pragma unroll
    for (int b = 0; b < BLOCKS; ++b)
      add_to_rays(sums[s][b], projections, largest, ray_places + COLUMNS / RAYS * s, lane, block + b, extent, batch,
                  tiling);
#endif
}

// Adds the sums of COLUMNS pixels of a pixel tile, from `first` on; SECTORS: writes them.
INLINE void add_to_pixels(Sums sums, __global float* restrict volume, __global const uint* restrict largest, int2 place,
                          int first, int lane, int block, Extent extent, Tiling tiling) {
  for (int e = 0; e < ELEMENTS; ++e) {
    const int copied = block * SLICES + slice_of_element(lane, e), slice = copied / COPIES,
              pixel = first + column_of_element(lane, e), i = place.x + pixel % 4, j = place.y + pixel / 4,
              k = extent.offset + slice;
    if (k < extent.begin || k >= extent.end || i >= extent.nx || j >= extent.ny) continue;
    const float sum = tiling.unit * DOWN(element_of(sums, e), largest[(size_t)slice * tiling.parts + tiling.part]);
    const size_t at = ((size_t)copied * extent.ny + j) * extent.nx + i;
#ifdef SECTORS
    volume[at] = sum;
#else
    volume[at] += sum;
#endif
  }
}

// Super-tiles of pixels. Work-items as above. first: the chunk's place in super_begins;
// end: super-tiles; first_tile: the part's in y.
__kernel __attribute__((OF_SUB_GROUP reqd_work_group_size(LANES, WARPS, 1))) void matrix_backproject(
    __global const void* restrict tiles, __global const uint* restrict super_begins,
    __global const uint* restrict super_places, __global const uint4* restrict super_tiles,
    __global const void* restrict y, __global const uint* restrict largest, __global const int2* restrict pixel_places,
    __global float* restrict volume, Extent extent, Tiling tiling) {
  const int lane = get_local_id(0), block = tiling.first_block + BLOCKS * (int)get_global_id(2);
#ifdef UNITS
  __local Sums shared[WARPS * PIXEL_TILES * PIXEL_SUMS * BLOCKS * LANES];
  const uint super = get_group_id(1);
#else
  const uint super = get_global_id(1);
#endif
  if (super >= tiling.end) return;
  Sums sums[PIXEL_TILES][PIXEL_SUMS][BLOCKS];
#pragma unroll
  for (int t = 0; t < PIXEL_TILES; ++t)
#pragma unroll
    for (int s = 0; s < PIXEL_SUMS; ++s)
#pragma unroll
      for (int b = 0; b < BLOCKS; ++b) {
        const Sums none = NO_SUMS;
        sums[t][s][b] = none;
      }
  const uint2 list = part_of_list((uint2)(super_begins[tiling.first + super], super_begins[tiling.first + super + 1]));
  const size_t groups = tiling.blocks / BLOCKS;
  add_pixels(sums, list, super_places, super_tiles, (__global const char*)tiles,
             (__global const char*)y + (groups * tiling.first_tile + (uint)(block / BLOCKS)) * BYTES_OF_VALUES,
             (uint)groups * BYTES_OF_VALUES, lane);
#ifdef UNITS
  const int warp = get_local_id(1);
  barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
  for (int t = 0; t < PIXEL_TILES; ++t)
#pragma unroll
    for (int s = 0; s < PIXEL_SUMS; ++s)
#pragma unroll
      for (int b = 0; b < BLOCKS; ++b) SHARED(warp, PIXEL_SUMS * PIXEL_TILES, PIXEL_SUMS * t + s, b) = sums[t][s][b];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int n = warp; n < PIXEL_SUMS * PIXEL_TILES; n += WARPS)
    for (int b = 0; b < BLOCKS; ++b) {
      Sums sum = SHARED(0, PIXEL_SUMS * PIXEL_TILES, n, b);
      for (int w = 1; w < WARPS; ++w) sum += SHARED(w, PIXEL_SUMS * PIXEL_TILES, n, b);
      add_to_pixels(sum, volume, largest, pixel_places[PIXEL_TILES * super + n / PIXEL_SUMS],
                    COLUMNS * (n % PIXEL_SUMS), lane, block + b, extent, tiling);
    }
#else
#pragma unroll
  for (int t = 0; t < PIXEL_TILES; ++t)
#pragma unroll
    for (int s = 0; s < PIXEL_SUMS; ++s)
#pragma unroll
      for (int b = 0; b < BLOCKS; ++b)
        add_to_pixels(sums[t][s][b], volume, largest, pixel_places[PIXEL_TILES * super + t], COLUMNS * s, lane,
                      block + b, extent, tiling);
#endif
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
