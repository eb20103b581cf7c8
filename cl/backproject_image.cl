// backproject_exact from images: one layer a view, interpolated by the sampler (the fractions then have 8 bits on most GPUs). With PACK 2
// or 4 a texel holds the pixels of that many views, each a half or a quarter of a turn on: a voxel sees the first one where the voxel
// turned with it sees the next, so PACK voxels share a fetch. nx and ny are even, PACK 4: and the same, the first two columns of the
// matrices follow the turn (host), and `views` and `first_view` are multiples of PACK.
//
// TEXEL_SCALE: texels hold values times this power of two, so that half precision has room for them (filtered.clh).
//
// EXACT_TEXELS, with PACK 1: the four pixels are fetched without interpolation and blended in float32: the bits of backproject_exact, from
// a layout that takes a quarter of the memory.
#pragma OPENCL FP_CONTRACT OFF
#ifdef EXACT_TEXELS
#undef RECIPROCAL
#endif
#include "extent.clh"
#include "voxel_driven.clh"

#ifndef K_UNROLL
#define K_UNROLL 4
#endif
#ifndef PACK
#define PACK 1
#endif
#ifndef TEXEL_SCALE
#define TEXEL_SCALE 1.0f
#endif

#if defined(EXACT_TEXELS)
__constant sampler_t nearest = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP | CLK_FILTER_NEAREST;

// Coordinates beyond the border are moved to it, where all four pixels are zero: integers and fractions are finite.
inline float4 texel_at(__read_only image2d_array_t filtered, float u, float v, int layer, int columns, int rows) {
  u = clamp(u, -2.0f, (float)columns), v = clamp(v, -2.0f, (float)rows);
  const float whole_u = floor(u), whole_v = floor(v), across = u - whole_u, along = v - whole_v;
  const int4 at = (int4)((int)whole_u, (int)whole_v, layer, 0);
  const float low0 = read_imagef(filtered, nearest, at).x,
              low1 = read_imagef(filtered, nearest, at + (int4)(1, 0, 0, 0)).x,
              high0 = read_imagef(filtered, nearest, at + (int4)(0, 1, 0, 0)).x,
              high1 = read_imagef(filtered, nearest, at + (int4)(1, 1, 0, 0)).x;
  const float low = fma(across, low1, (1.0f - across) * low0), high = fma(across, high1, (1.0f - across) * high0);
  return (float4)(fma(along, high, (1.0f - along) * low));
}
#else
__constant sampler_t bilinear = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP | CLK_FILTER_LINEAR;

// Layers and rows of the whole detector are numbered as those held.
inline float4 texel_at(__read_only image2d_array_t filtered, float u, float v, int layer, int columns, int rows) {
  return read_imagef(filtered, bilinear, (float4)(u + 0.5f, v + 0.5f, (float)layer, 0.0f));
}
#endif

// Work-items: (nx, ny, slices / K_UNROLL), with PACK 2 half of ny, with PACK 4 half of nx too.
__kernel void backproject_image(__read_only image2d_array_t filtered, __global const float4* restrict matrices,
                                __global float* restrict volume, Extent extent, PerAxis centre, Batch batch,
                                float correlation) {
  const int nx = extent.nx, ny = extent.ny, offset = extent.offset, first = extent.begin - offset;
  const int slices = extent.end - offset, columns = batch.columns, rows = batch.held;
  const int first_view = batch.first_view, views = batch.views;
  const float cx = centre.x, cy = centre.y, cz = centre.z;
  const int i = get_global_id(0), j = get_global_id(1), slice = first + K_UNROLL * (int)get_global_id(2);
  if (i >= (PACK == 4 ? nx / 2 : nx) || j >= (PACK > 1 ? ny / 2 : ny) || slice >= slices) return;
  const size_t plane = (size_t)nx * ny;
  const float x = (float)i - cx, y = (float)j - cy;
  // a voxel and those that it turns into
#if PACK == 1
  const float xs[1] = {x}, ys[1] = {y};
  const size_t voxels[1] = {(size_t)j * nx + i};
#elif PACK == 2
  const float xs[2] = {x, -x}, ys[2] = {y, -y};
  const size_t voxels[2] = {(size_t)j * nx + i, (size_t)(ny - 1 - j) * nx + (nx - 1 - i)};
#else
  const float xs[4] = {x, y, -x, -y}, ys[4] = {y, -x, -y, x};
  const size_t voxels[4] = {(size_t)j * nx + i, (size_t)(ny - 1 - i) * nx + j, (size_t)(ny - 1 - j) * nx + (nx - 1 - i),
                            (size_t)i * nx + (nx - 1 - j)};
#endif
  volume += plane * slice;

  float sum[K_UNROLL][PACK];
#pragma unroll
  for (int s = 0; s < K_UNROLL; ++s)
#pragma unroll
    for (int q = 0; q < PACK; ++q) sum[s][q] = slice + s < slices ? volume[plane * s + voxels[q]] : 0.0f;

  for (int pack = 0; pack < views / PACK; ++pack) {
    const size_t row = 3 * (size_t)(first_view + PACK * pack);
    const float4 mu = matrices[row], mv = matrices[row + 1], mw = matrices[row + 2];
#pragma unroll
    for (int q = 0; q < PACK; ++q) {
      const float base_u = fma(xs[q], mu.x, fma(ys[q], mu.y, mu.w));
      const float base_v = fma(xs[q], mv.x, fma(ys[q], mv.y, mv.w));
      const float base_w = fma(xs[q], mw.x, fma(ys[q], mw.y, mw.w));
#ifdef K_INVARIANT
      const bool in_front = base_w > 0.0f;
      const float inverse_w = in_front ? RECIPROCAL(base_w) : 0.0f;
      const float weight = voxel_weight(inverse_w, in_front) * (1.0f / TEXEL_SCALE);
      const float u = base_u * inverse_w;
#endif
#pragma unroll
      for (int s = 0; s < K_UNROLL; ++s) {
        const float z = (float)(offset + slice + s) - cz;
#ifndef K_INVARIANT
        const float w = fma(z, mw.z, base_w);
        const bool in_front = w > 0.0f;
        const float inverse_w = in_front ? RECIPROCAL(w) : 0.0f;
        const float weight = voxel_weight(inverse_w, in_front) * (1.0f / TEXEL_SCALE);
        const float u = fma(z, mu.z, base_u) * inverse_w;
#endif
        const float v = row_of(ROW_AT(fma(z, mv.z, base_v), inverse_w));
        const float4 texel = texel_at(filtered, u, v, pack, columns, rows);
        const float values[4] = {texel.x, texel.y, texel.z, texel.w};
#ifdef VARIANCE
        const float factor = kappa(u, correlation) * kappa(v, 0.0f);
#endif
#pragma unroll
        for (int k = 0; k < PACK; ++k) {
#ifdef VARIANCE
          const float value = values[k] * factor;
#else
          const float value = values[k];
#endif
          sum[s][(q + k) % PACK] = fma(value, weight, sum[s][(q + k) % PACK]);
        }
      }
    }
  }

#pragma unroll
  for (int s = 0; s < K_UNROLL; ++s)
#pragma unroll
    for (int q = 0; q < PACK; ++q)
      if (slice + s < slices) volume[plane * s + voxels[q]] = sum[s][q];
}
