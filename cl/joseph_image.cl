// joseph_project for GPUs with images: one launch for each AXIS that rays follow, from planes, an image array with a layer for each plane
// across AXIS (joseph_image_planes; width and height are j and k, i and k, or i and j), zero beyond the slices held. The bits of joseph_project;
// with HARDWARE interpolation the fractions have 8 bits on most GPUs. With PACK 2 or 4 the views are in packs, each a half or a quarter of a
// turn on (turned_views()), and a texel holds a voxel and those that these turns take to its place: the rays of all views of a pack share a
// fetch. PACK 4: nx = ny.
//
// TEXEL_SCALE: texels hold voxels times this power of two, so that half precision has room for them.
//
// Tunables: AXIS (0, 1, 2), PACK (1; with HARDWARE 2, 4), HARDWARE; FETCHES, samples on their way at a time.
#pragma OPENCL FP_CONTRACT OFF
#include "rays.clh"

#ifndef AXIS
#define AXIS 0
#endif
#ifndef FETCHES
#define FETCHES 8
#endif
#ifndef PACK
#define PACK 1
#endif
#ifndef TEXEL_SCALE
#define TEXEL_SCALE 1.0f
#endif

// One work-item a texel: (width, height, layers).
__kernel void joseph_image_planes(__global const float* restrict volume, __write_only image2d_array_t planes, int nx,
                                  int ny, int slices, int width, int height, int layers) {
  const int b = get_global_id(0), c = get_global_id(1), layer = get_global_id(2);
  if (b >= width || c >= height || layer >= layers) return;
  const int i = AXIS == 0 ? layer : b, j = AXIS == 0 ? b : AXIS == 1 ? layer : c, slice = AXIS == 2 ? layer : c;
  const float value = slice < slices ? volume[((size_t)slice * ny + j) * nx + i] : 0.0f;
  float4 texel = (float4)(value, 0.0f, 0.0f, 0.0f);
  if (PACK > 1 && slice < slices) {
    const float half_turn = volume[((size_t)slice * ny + (ny - 1 - j)) * nx + (nx - 1 - i)];
    if (PACK == 2)
      texel.y = half_turn;
    else
      texel.yzw = (float3)(volume[((size_t)slice * ny + (ny - 1 - i)) * nx + j], half_turn,
                           volume[((size_t)slice * ny + i) * nx + (nx - 1 - j)]);
  }
  write_imagef(planes, (int4)(b, c, layer, 0), TEXEL_SCALE * texel);
}

// One value for each view of a pack.
#if PACK == 4
typedef float4 Values;
#define VALUES(texel) (texel)
#else
typedef float2 Values;
#define VALUES(texel) (texel).xy
#endif

#ifdef HARDWARE
#define TEXEL_CENTRE 0.5f
__constant sampler_t sampler = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP | CLK_FILTER_LINEAR;
#else
#define TEXEL_CENTRE 0.0f
__constant sampler_t sampler = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP | CLK_FILTER_NEAREST;
#endif

// Height at which plane p is met, in the image's rows if slice 0 is its first; to subtract the whole slices before the first held is exact
// afterwards, so that the fraction does not depend on them.
INLINE float height_at(float p, Line line) {
  return fma(p, line.slope_c, line.shift_c + TEXEL_CENTRE);
}

// True if the slab takes the sample of plane p.
INLINE bool taken(float p, Line line, float from, float to) {
  const float c = height_at(p, line);
  return c >= from + TEXEL_CENTRE && c < to + TEXEL_CENTRE;
}

// The sample of plane p, which is layer `layer`; slices are held from move_c.
INLINE Values sample(__read_only image2d_array_t planes, float p, Line line, float move_c, float layer) {
  const float b = fma(p, line.slope_b, line.shift_b + TEXEL_CENTRE), c = height_at(p, line);
#ifdef HARDWARE
  return VALUES(read_imagef(planes, sampler, (float4)(b, c - move_c, layer, 0.0f)));
#else
  const float whole_b = floor(b), whole_c = floor(c), high_b = b - whole_b, high_c = c - whole_c;
  const int4 at = (int4)((int)whole_b, (int)(whole_c - move_c), (int)layer, 0);
  const float value00 = read_imagef(planes, sampler, at).x,
              value10 = read_imagef(planes, sampler, at + (int4)(1, 0, 0, 0)).x;
  const float value01 = read_imagef(planes, sampler, at + (int4)(0, 1, 0, 0)).x,
              value11 = read_imagef(planes, sampler, at + (int4)(1, 1, 0, 0)).x;
  const float value0 = fma(high_b, value10, (1.0f - high_b) * value00),
              value1 = fma(high_b, value11, (1.0f - high_b) * value01);
  return (Values)(fma(high_c, value1, (1.0f - high_c) * value0));
#endif
}

// Groups of (width, height, turns) over (tiles along u * groups of turns, tiles along v, 1), a turn being PACK views: the rays of a group's
// turns meet much the same voxels while these are in its cache, and those of the groups that follow it while they are in the device's.
__kernel void joseph_image_project(__read_only image2d_array_t planes, __global const int* restrict axes,
                                   __global const float* restrict rays, __global float* restrict projections,
                                   Extent extent, PerAxis voxel, Batch batch) {
  const int together = get_local_size(2), groups = (batch.views / PACK + together - 1) / together,
            group = get_group_id(0);
  const int view = (group % groups * together + (int)get_local_id(2)) * PACK;
  const int column = group / groups * (int)get_local_size(0) + (int)get_local_id(0), row = get_global_id(1);
  if (column >= batch.columns || row >= batch.held || view >= batch.views) return;
  if ((axes[batch.first_view + view] >> AXIS & 1) == 0) return;
  const Ray ray = ray_of(rays + RAY_FLOATS * (size_t)(batch.first_view + view), from_centre(column, batch.columns),
                         from_centre(batch.row_begin + row, batch.rows));
  if (main_axis(ray) != AXIS) return;
  const Line line =
      line_of(ray, AXIS, 0.5f * (float)(extent.nx - 1), 0.5f * (float)(extent.ny - 1), 0.5f * (float)(extent.nz - 1));
  const float path = path_mm(ray, AXIS, voxel) * (1.0f / TEXEL_SCALE);

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
  // c grows or falls from plane to plane, so only the ends of the range need a test
  while (first <= last && !taken((float)first - ca, line, from, to)) ++first;
  while (first <= last && !taken((float)last - ca, line, from, to)) --last;
  if (first > last) return;

  const bool descending = AXIS != 2 && line.slope_c < 0.0f;
  const float step = descending ? -1.0f : 1.0f;
  float p = (float)(descending ? last : first) - ca;
  float layer = (float)((descending ? last : first) - (AXIS == 2 ? extent.offset : 0));
  const float move_c = AXIS == 2 ? 0.0f : (float)extent.offset;
  const size_t pixel = ((size_t)view * batch.held + row) * batch.columns + column,
               of_view = (size_t)batch.held * batch.columns;
#if PACK == 4
  Values sum = (Values)(projections[pixel], projections[pixel + of_view], projections[pixel + 2 * of_view],
                        projections[pixel + 3 * of_view]);
#else
  Values sum = (Values)(projections[pixel], PACK == 2 ? projections[pixel + of_view] : 0.0f);
#endif
  int left = last - first + 1;
  for (; left >= FETCHES; left -= FETCHES) {
    Values value[FETCHES];  // on their way together
#pragma unroll
    for (int n = 0; n < FETCHES; ++n, p += step, layer += step) value[n] = sample(planes, p, line, move_c, layer);
#pragma unroll
    for (int n = 0; n < FETCHES; ++n) sum = fma((Values)(path), value[n], sum);
  }
  for (; left > 0; --left, p += step, layer += step)
    sum = fma((Values)(path), sample(planes, p, line, move_c, layer), sum);
  projections[pixel] = sum.x;
#if PACK > 1
  projections[pixel + of_view] = sum.y;
#endif
#if PACK == 4
  projections[pixel + 2 * of_view] = sum.z;
  projections[pixel + 3 * of_view] = sum.w;
#endif
}
