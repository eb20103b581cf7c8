// Forward projection (Joseph 1982): along the ray of each detector pixel, the volume is sampled on the planes of the index axis that the
// ray follows most, by bilinear interpolation on the other two axes, zero outside the volume:
//
//   projections(ray) += sum over planes m of path * volume(m, b(m), c(m)),      path = mm of ray between two planes,
//
// and its exact adjoint, joseph_backproject: for each voxel, the sum over the pixels whose rays pass within a voxel of it on its plane,
//
//   volume(a, b', c') += (1 - |b(a) - b'|) * path * raw(ray) * (1 - |c(a) - c'|),      with the b, c, path that the projector computes.
//
// Arrays: volume[slice][y][x] with slices from `offset`; rays[view][18] as in rays.clh; projections and raw[view][row][column].
// Projecting, halo: one slice above. Back-projecting, no halo; rows `row_begin` to `row_begin + held` of the detector are held;
// lines[view][row][column] = slope_b, shift_b, slope_c, shift_c and values[view][row][column] = path * raw and the axis that the ray
// follows (both from joseph_table); matrices[view][12] as in backproject.cl; axes[view] = the sum of 1 << axis over the axes that its rays
// may follow.
//
// A slab [begin, end) of the projector takes the samples whose lower slice floor(k) (or whose plane k, if the ray follows k) lies in it,
// the first slab also those below slice 0. The march goes towards larger k, coordinates come from the plane's number in the whole volume,
// and the sum starts from the stored value: slabs in increasing order add the same numbers in the same order as one slab does. The adjoint
// adds, voxel by voxel, in the order of views, rows and columns: the same bits whatever is held.
//
// TURNED: turned[slice][x][y] too, the slices transposed by joseph_turn, which rays that follow i read, so that neighbouring rays read
// neighbouring voxels. The same numbers, so the same bits.
//
// ARC, ENDS: see rays.clh; a plane that the ray ends in counts for the part of it that the ray passes. Then values has ray_values.clh's form.
//
// COLUMNS, LANES, TILES: the forms for CPUs, joseph_columns.clh and joseph_lanes.clh, and of the adjoint joseph_tiles.clh. STACKS: of the
// adjoint for GPUs, joseph_stacks.clh. SLICES: both for GPUs where rays lie within slices, joseph_slices.clh and joseph_slices_adjoint.clh. The
// same bits again.
//
// IMAGE: one launch for each AXIS that rays follow, from planes, an image array with a layer for each plane across AXIS (joseph_planes;
// width and height are j and k, i and k, or i and j), zero beyond the slices held. The same bits again; with HARDWARE interpolation the
// fractions have 8 bits on most GPUs. With PACK 2 the views come in pairs half a turn apart, and a texel holds a voxel and the one that half
// a turn takes to its place: a fetch serves the rays of both views.
//
// Tunables: INDEX, the type of an index into the slab (int while it has fewer than 2^31 voxels); FETCHES, samples of an image on their way
// at a time.
#pragma OPENCL FP_CONTRACT OFF

#ifndef INDEX
#define INDEX long
#endif
#include "gather.clh"
#include "lanes.clh"
#include "rays.clh"

#ifndef IMAGE
// The samples of a slab of the rays that follow one axis: planes `lowest` to `highest`, numbered `a`, of `na`; those between `from` and `to` of
// the nc along c, and of the nb along b. Index of a voxel: base + a stride_a + b stride_b + (c - move_c) stride_c.
typedef struct {
  float ca;
  int na, nb, nc, from, to, lowest, highest, move_c;
  INDEX stride_a, stride_b, stride_c, base;
} Planes;

INLINE Planes planes_of(int axis, Extent extent) {
  // planes along a; interpolation along b and c, c being k unless the ray follows k
  const INDEX plane = (INDEX)extent.nx * extent.ny;
  const bool follows_k = axis == 2, follows_i = axis == 0;
  Planes p;
  p.na = follows_k   ? extent.nz
         : follows_i ? extent.nx
                     : extent.ny,
  p.nb = follows_i ? extent.ny : extent.nx, p.nc = follows_k ? extent.ny : extent.nz;
  p.ca = 0.5f * (float)(p.na - 1);
  p.stride_c = follows_k ? extent.nx : plane;
#ifdef TURNED
  p.stride_a = follows_k ? plane : follows_i ? extent.ny : extent.nx, p.stride_b = 1;
#else
  p.stride_a = follows_k ? plane : follows_i ? 1 : extent.nx, p.stride_b = follows_i ? extent.nx : 1;
#endif
  // lowest and highest c that this slab interpolates from (floor)
  p.from = follows_k || extent.begin == 0 ? -1 : extent.begin, p.to = follows_k ? extent.ny : extent.end;
  p.lowest = follows_k ? extent.begin : 0, p.highest = follows_k ? extent.end - 1 : p.na - 1;
  // slices held: `offset` on; numbers along c are moved so that they index the buffer
  p.move_c = follows_k ? 0 : extent.offset;
  p.base = follows_k ? -(INDEX)extent.offset * plane : 0;
  return p;
}

// The planes where a ray may have samples.
INLINE int2 range_of(const Line line, const Planes planes) {
  float low = (float)planes.lowest - planes.ca, high = (float)planes.highest - planes.ca;
  narrow(line.slope_b, line.shift_b, -1.0f, (float)planes.nb, (float)planes.na, &low, &high);
  narrow(line.slope_c, line.shift_c, (float)planes.from, (float)planes.to, (float)planes.na, &low, &high);
  return (int2)(max(planes.lowest, (int)floor(fmin(low + planes.ca, (float)planes.na + 4.0f)) - 1),
                min(planes.highest, (int)ceil(fmax(high + planes.ca, -4.0f)) + 1));
}

// Whether the march towards larger k goes from the last plane to the first.
INLINE bool descends(const Line line, int axis) {
  return axis != 2 && line.slope_c < 0.0f;
}

#ifdef TURNED
#define VOXELS_OF(axis) (axis == 0 ? turned : volume)
#else
#define VOXELS_OF(axis) volume
#endif

#if defined(COLUMNS)
#include "joseph_columns.clh"
#elif defined(LANES)
#include "joseph_lanes.clh"
#elif !defined(SLICES)
__kernel void joseph_project(__global const float* restrict volume,
#ifdef TURNED
                             __global const float* restrict turned,
#endif
                             __global const float* restrict rays,
                             ARC_PARAMETERS ENDS_PARAMETERS __global float* restrict projections, Extent extent,
                             PerAxis voxel, Batch batch) {
  const int column = get_global_id(0), row = get_global_id(1), view = get_global_id(2);
  if (column >= batch.columns || row >= batch.rows || view >= batch.views) return;

  const Ray ray = RAY_AT(batch.first_view + view, 2 * column, from_centre(row, batch.rows));
  const int axis = main_axis(ray);
  const Line line =
      line_of(ray, axis, 0.5f * (float)(extent.nx - 1), 0.5f * (float)(extent.ny - 1), 0.5f * (float)(extent.nz - 1));
  const float path = path_mm(ray, axis, voxel);
  const Planes planes = planes_of(axis, extent);
  const int2 range = range_of(line, planes);
  const bool descending = descends(line, axis);
  __global const float* restrict voxels = VOXELS_OF(axis);
  ENDS_OF(ray, axis, batch.first_view + view, column);

  const size_t pixel = ((size_t)view * batch.rows + row) * batch.columns + column;
  float sum = projections[pixel];
  for (int step = range.x; step <= range.y; ++step) {
    const int m = descending ? range.y - (step - range.x) : step;
    const float p = (float)m - planes.ca;
    const float b = fma(p, line.slope_b, line.shift_b), c = fma(p, line.slope_c, line.shift_c);
    const float whole_b = floor(b), whole_c = floor(c);
    const int b0 = (int)whole_b, c0 = (int)whole_c;
    const float fb = b - whole_b, fc = c - whole_c;
    float low_b = 1.0f - fb, high_b = fb, low_c = 1.0f - fc, high_c = fc;
    if (c0 < planes.from || c0 >= planes.to || b0 < -1 || b0 >= planes.nb) continue;
    INDEX step_b = planes.stride_b, step_c = planes.stride_c;
    INDEX at = planes.base + m * planes.stride_a + b0 * step_b + (c0 - planes.move_c) * step_c;
    // a neighbour that is not there weighs nothing and is not read
    if (b0 < 0) low_b = 0.0f, at += step_b, step_b = 0;
    if (b0 + 1 >= planes.nb) high_b = 0.0f, step_b = 0;
    if (c0 < 0) low_c = 0.0f, at += step_c, step_c = 0;
    if (c0 + 1 >= planes.nc) high_c = 0.0f, step_c = 0;
    const float value0 = fma(high_b, voxels[at + step_b], low_b * voxels[at]);
    const float value1 = fma(high_b, voxels[at + step_b + step_c], low_b * voxels[at + step_c]);
    sum = fma(LENGTH_AT(path, p), fma(high_c, value1, low_c * value0), sum);
  }
  projections[pixel] = sum;
}
#endif

// turned[slice][x][y] = volume[slice][y][x], through a tile so that both are read and written along lines.
// Work-items: (nx, ny, slices) in groups of TILE x TILE, which the host sets lower where groups are small.
#ifndef TILE
#define TILE 16
#endif
__kernel __attribute__((reqd_work_group_size(TILE, TILE, 1))) void joseph_turn(__global const float* restrict volume,
                                                                               __global float* restrict turned, int nx,
                                                                               int ny) {
  __local float tile[TILE][TILE + 1];
  const int x0 = TILE * (int)get_group_id(0), y0 = TILE * (int)get_group_id(1), slice = get_global_id(2);
  const int a = get_local_id(0), b = get_local_id(1);
  const size_t base = (size_t)nx * ny * slice;
  if (x0 + a < nx && y0 + b < ny) tile[b][a] = volume[base + (size_t)(y0 + b) * nx + x0 + a];
  barrier(CLK_LOCAL_MEM_FENCE);
  if (x0 + b < nx && y0 + a < ny) turned[base + (size_t)(x0 + b) * ny + y0 + a] = tile[a][b];
}

// lines[y][x][slice] = volume[slice][y][x], in the same way. Work-items: (nx, slices, ny) in groups of TILE x TILE.
__kernel __attribute__((reqd_work_group_size(TILE, TILE, 1))) void joseph_stand(__global const float* restrict volume,
                                                                                __global float* restrict lines, int nx,
                                                                                int ny, int slices) {
  __local float tile[TILE][TILE + 1];
  const int x0 = TILE * (int)get_group_id(0), k0 = TILE * (int)get_group_id(1), y = get_global_id(2);
  const int a = get_local_id(0), b = get_local_id(1);
  if (x0 + a < nx && k0 + b < slices) tile[b][a] = volume[((size_t)(k0 + b) * ny + y) * nx + x0 + a];
  barrier(CLK_LOCAL_MEM_FENCE);
  if (x0 + b < nx && k0 + a < slices) lines[((size_t)y * nx + x0 + b) * slices + k0 + a] = tile[a][b];
}

#ifdef SLICES
#include "joseph_slices.clh"
#endif

#include "ray_values.clh"

// One work-item a pixel of the rows held: what the back-projection needs of its ray.
__kernel void joseph_table(__global const float* restrict raw, __global const float* restrict rays,
                           ARC_PARAMETERS ENDS_PARAMETERS __global float4* restrict lines,
                           __global VALUE* restrict values, Extent extent, PerAxis voxel, Batch batch) {
  const int column = get_global_id(0), row = get_global_id(1), view = get_global_id(2);
  if (column >= batch.columns || row >= batch.held || view >= batch.views) return;
  const size_t at = ((size_t)view * batch.held + row) * batch.columns + column;
  const Ray ray = RAY_AT(batch.first_view + view, 2 * column, from_centre(batch.row_begin + row, batch.rows));
  const int axis = main_axis(ray);
  const Line line =
      line_of(ray, axis, 0.5f * (float)(extent.nx - 1), 0.5f * (float)(extent.ny - 1), 0.5f * (float)(extent.nz - 1));
  const float value = path_mm(ray, axis, voxel) * raw[at];
#ifdef STACKS
  lines[at] = (float4)(line.slope_c, line.shift_c, value, (float)axis);
  values[at] = (float2)(line.slope_b, line.shift_b);
#else
  lines[at] = (float4)(line.slope_b, line.shift_b, line.slope_c, line.shift_c);
  ENDS_OF(ray, axis, batch.first_view + view, column);
  values[at] = VALUE_OF(value, axis);
#endif
}

// Weight of a sample at `at` for the voxel at `voxel`.
INLINE float hat(float at, float voxel) {
  return fmax(0.0f, 1.0f - fabs(at - voxel));
}

#if defined(TILES)
#include "joseph_tiles.clh"
#elif defined(STACKS)
#include "joseph_stacks.clh"
#elif defined(BRICKS)
#include "joseph_bricks.clh"
#elif defined(SLICES)
#ifdef ALIGNED
#include "joseph_slices_adjoint.clh"
#endif
#else
// Work-items: (nx, ny, slices / K_UNROLL), for the slices of `extent`.
__kernel void joseph_backproject(__global const float4* restrict lines, __global const VALUE* restrict values,
                                 __global const float4* restrict matrices, __global const int* restrict axes,
                                 ARC_PARAMETERS __global float* restrict volume, Extent extent, Batch batch) {
  const int i = get_global_id(0), j = get_global_id(1), k = extent.begin + K_UNROLL * (int)get_global_id(2);
  if (i >= extent.nx || j >= extent.ny || k >= extent.end) return;
  const float x = from_centre(i, extent.nx), y = from_centre(j, extent.ny), z = from_centre(k, extent.nz),
              half_k = 0.5f * (K_UNROLL - 1);
  const size_t plane = (size_t)extent.nx * extent.ny;
  __global float* voxel = volume + plane * (k - extent.offset) + (size_t)j * extent.nx + i;
  float sum[K_UNROLL];
#pragma unroll
  for (int s = 0; s < K_UNROLL; ++s) sum[s] = k + s < extent.end ? voxel[plane * s] : 0.0f;

  for (int view = 0; view < batch.views; ++view)
    for (int axis = 0; axis < 3; ++axis) {
      if ((axes[batch.first_view + view] >> axis & 1) == 0) continue;
      const Pixels pixels = shadow(matrices + 3 * (size_t)(batch.first_view + view), x, y, z + half_k,
                                   axis == 0 ? 0.0f : 1.0f, axis == 1 ? 0.0f : 1.0f, half_k + (axis == 2 ? 0.0f : 1.0f),
                                   batch.columns, batch.row_begin, batch.held SHADOW_ARC(batch.first_view + view));
      const float p = axis == 0 ? x : y, whole_b = (float)(axis == 0 ? j : i);
      const size_t begin = (size_t)view * batch.held * batch.columns;
      for (int row = pixels.first_row; row <= pixels.last_row; ++row) {
        const size_t start = begin + (size_t)(row - batch.row_begin) * batch.columns;
        for (int column = pixels.first_column; column <= pixels.last_column; ++column) {
          const float4 line = lines[start + column];
          const VALUE value = values[start + column];
          if (value.y != (float)axis) continue;
          UNPACK_ENDS(value);
          if (axis == 2) {
#pragma unroll
            for (int s = 0; s < K_UNROLL; ++s) {
              const float at = z + (float)s;
              const float weight_b = hat(fma(at, line.x, line.y), (float)i),
                          weight_c = hat(fma(at, line.z, line.w), (float)j);
              sum[s] = fma(weight_b * LENGTH_AT(value.x, at), weight_c, sum[s]);
            }
          } else {
            const float weight_b = hat(fma(p, line.x, line.y), whole_b), c = fma(p, line.z, line.w);
            if (weight_b <= 0.0f) continue;
#pragma unroll
            for (int s = 0; s < K_UNROLL; ++s)
              sum[s] = fma(weight_b * LENGTH_AT(value.x, p), hat(c, (float)(k + s)), sum[s]);
          }
        }
      }
    }

#pragma unroll
  for (int s = 0; s < K_UNROLL; ++s)
    if (k + s < extent.end) voxel[plane * s] = sum[s];
}
#endif
#endif

#ifdef IMAGE
#ifndef AXIS
#define AXIS 0
#endif
#ifndef FETCHES
#define FETCHES 8
#endif
#ifndef PACK
#define PACK 1
#endif

// One work-item a texel: (width, height, layers).
__kernel void joseph_planes(__global const float* restrict volume, __write_only image2d_array_t planes, int nx, int ny,
                            int slices, int width, int height, int layers) {
  const int b = get_global_id(0), c = get_global_id(1), layer = get_global_id(2);
  if (b >= width || c >= height || layer >= layers) return;
  const int i = AXIS == 0 ? layer : b, j = AXIS == 0 ? b : AXIS == 1 ? layer : c, slice = AXIS == 2 ? layer : c;
  const float value = slice < slices ? volume[((size_t)slice * ny + j) * nx + i] : 0.0f;
#if PACK == 2
  const float turned = slice < slices ? volume[((size_t)slice * ny + (ny - 1 - j)) * nx + (nx - 1 - i)] : 0.0f;
#else
  const float turned = 0.0f;
#endif
  write_imagef(planes, (int4)(b, c, layer, 0), (float4)(value, turned, 0.0f, 0.0f));
}

#ifdef HARDWARE
#define TEXEL_CENTRE 0.5f
__constant sampler_t sampler = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP | CLK_FILTER_LINEAR;
#else
#define TEXEL_CENTRE 0.0f
__constant sampler_t sampler = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP | CLK_FILTER_NEAREST;
#endif

// Where plane p is met along height, as the image counts it if slice 0 is its first; to subtract the whole slices before the first held is
// exact afterwards, so that the fraction does not depend on them.
INLINE float height_at(float p, Line line) {
  return fma(p, line.slope_c, line.shift_c + TEXEL_CENTRE);
}

// Whether the slab takes the sample of plane p.
INLINE bool taken(float p, Line line, float from, float to) {
  const float c = height_at(p, line);
  return c >= from + TEXEL_CENTRE && c < to + TEXEL_CENTRE;
}

// The sample of plane p, which is layer `layer`; slices are held from move_c.
INLINE float2 sample(__read_only image2d_array_t planes, float p, Line line, float move_c, float layer) {
  const float b = fma(p, line.slope_b, line.shift_b + TEXEL_CENTRE), c = height_at(p, line);
#ifdef HARDWARE
  return read_imagef(planes, sampler, (float4)(b, c - move_c, layer, 0.0f)).xy;
#else
  const float whole_b = floor(b), whole_c = floor(c), high_b = b - whole_b, high_c = c - whole_c;
  const int4 at = (int4)((int)whole_b, (int)(whole_c - move_c), (int)layer, 0);
  const float value00 = read_imagef(planes, sampler, at).x,
              value10 = read_imagef(planes, sampler, at + (int4)(1, 0, 0, 0)).x;
  const float value01 = read_imagef(planes, sampler, at + (int4)(0, 1, 0, 0)).x,
              value11 = read_imagef(planes, sampler, at + (int4)(1, 1, 0, 0)).x;
  const float value0 = fma(high_b, value10, (1.0f - high_b) * value00),
              value1 = fma(high_b, value11, (1.0f - high_b) * value01);
  return (float2)(fma(high_c, value1, (1.0f - high_c) * value0), 0.0f);
#endif
}

// Groups of (width, height, turns) over (tiles along u * groups of turns, tiles along v, 1), a turn being PACK views: the rays of a group's
// turns meet much the same voxels while these are in its cache, and those of the groups that follow it while they are in the device's.
__kernel void joseph_project_image(__read_only image2d_array_t planes, __global const int* restrict axes,
                                   __global const float* restrict rays, __global float* restrict projections,
                                   Extent extent, PerAxis voxel, Batch batch) {
  const int together = get_local_size(2), groups = (batch.views / PACK + together - 1) / together,
            group = get_group_id(0);
  const int view = (group % groups * together + (int)get_local_id(2)) * PACK;
  const int column = group / groups * (int)get_local_size(0) + (int)get_local_id(0), row = get_global_id(1);
  if (column >= batch.columns || row >= batch.rows || view >= batch.views) return;
  if ((axes[batch.first_view + view] >> AXIS & 1) == 0) return;
  const Ray ray = ray_of(rays + RAY_FLOATS * (size_t)(batch.first_view + view), from_centre(column, batch.columns),
                         from_centre(row, batch.rows));
  if (main_axis(ray) != AXIS) return;
  const Line line =
      line_of(ray, AXIS, 0.5f * (float)(extent.nx - 1), 0.5f * (float)(extent.ny - 1), 0.5f * (float)(extent.nz - 1));
  const float path = path_mm(ray, AXIS, voxel);

  const int na = AXIS == 2 ? extent.nz : AXIS == 0 ? extent.nx : extent.ny, nb = AXIS == 0 ? extent.ny : extent.nx;
  const float ca = 0.5f * (float)(na - 1);
  const float from = AXIS == 2 || extent.begin == 0 ? -1.0f : (float)extent.begin,
              to = AXIS == 2 ? (float)extent.ny : (float)extent.end;
  const int lowest = AXIS == 2 ? extent.begin : 0, highest = AXIS == 2 ? extent.end - 1 : na - 1;
  float low = (float)lowest - ca, high = (float)highest - ca;
  narrow(line.slope_b, line.shift_b, -1.0f, (float)nb, (float)na, &low, &high);
  narrow(line.slope_c, line.shift_c, from, to, (float)na, &low, &high);
  int first = max(lowest, (int)floor(fmin(low + ca, (float)na + 4.0f)) - 1);
  int last = min(highest, (int)ceil(fmax(high + ca, -4.0f)) + 1);
  // c grows or falls from plane to plane, so only the ends of the range need to be looked at
  while (first <= last && !taken((float)first - ca, line, from, to)) ++first;
  while (first <= last && !taken((float)last - ca, line, from, to)) --last;
  if (first > last) return;

  const bool descending = AXIS != 2 && line.slope_c < 0.0f;
  const float step = descending ? -1.0f : 1.0f;
  float p = (float)(descending ? last : first) - ca;
  float layer = (float)((descending ? last : first) - (AXIS == 2 ? extent.offset : 0));
  const float move_c = AXIS == 2 ? 0.0f : (float)extent.offset;
  const size_t pixel = ((size_t)view * batch.rows + row) * batch.columns + column,
               next = pixel + (size_t)batch.rows * batch.columns;
  float2 sum = (float2)(projections[pixel], PACK == 2 ? projections[next] : 0.0f);
  int left = last - first + 1;
  for (; left >= FETCHES; left -= FETCHES) {
    float2 value[FETCHES];  // on their way together
#pragma unroll
    for (int n = 0; n < FETCHES; ++n, p += step, layer += step) value[n] = sample(planes, p, line, move_c, layer);
#pragma unroll
    for (int n = 0; n < FETCHES; ++n) sum = fma((float2)(path), value[n], sum);
  }
  for (; left > 0; --left, p += step, layer += step)
    sum = fma((float2)(path), sample(planes, p, line, move_c, layer), sum);
  projections[pixel] = sum.x;
#if PACK == 2
  projections[next] = sum.y;
#endif
}
#endif
