// Voxel-driven back-projection (Feldkamp, Davis & Kress 1984): for every voxel x and the views n of a batch, in their order,
//
//   volume(x) += weight * p_n(u, v),   (U, V, W) = M_n (i - cx, j - cy, k - cz, 1),   u = U/W, v = V/W,
//   weight = 1/W^2 (DISTANCE_WEIGHT) or 1,
//
// with p_n interpolated bilinearly between detector pixels and zero outside the detector. M_n maps volume indices about the volume's
// centre to detector pixel indices and is prepared in double; W is 1 at the isocentre's depth and everywhere in a parallel beam. Points
// behind the source (W <= 0) add nothing.
//
// VARIANCE: p_n holds variances of pixels that are independent but for the correlation r of neighbours in a row (the ramp filter's).
// The weight is squared, and the variance of an interpolated value is the interpolated variance times
//   kappa = (1-a)^2 + a^2 + 2 a (1-a) r    for each axis, a the fraction (r = 0 along v): Borsdorf et al. 2008.
//
// Arrays: matrices[view][12]; volume[slice][y][x], of whose slices those of `extent` are wanted; filtered, the rows of the detector that are
// held (`batch`), as filtered.clh lays them out for one of these kernels:
//   backproject_exact    quads of 2 x 2 pixels: one aligned load a voxel and view instead of four (1.7 times as fast on an H200), and no
//     border to guard;
//   backproject_columns  detector columns one after the other, for CPUs: two columns are blended into one, which then serves all voxels
//     of a line along the index axis AXIAL (1 or 2: j or k), along which U and W change in no view. The bits are those of backproject_exact;
//   backproject_lanes    quads, for CPUs where U and W change along every axis: backproject_lanes.clh, the bits of backproject_exact;
//   backproject_tile     detector columns, for GPUs, through local memory: backproject_tile.clh, the bits of backproject_exact;
//   backproject_image    one image layer a view, interpolated by the sampler (the fractions then have 8 bits on most GPUs). With PACK 2
//     or 4 a texel holds the pixels of that many views, each a half or a quarter of a turn on: a voxel sees the first one where the voxel
//     turned with it sees the next, so a fetch serves PACK voxels. nx and ny are even, PACK 4: and the same, the first two columns of the
//     matrices follow the turn (host), and `views` and `first_view` are multiples of PACK;
//   with EXACT_TEXELS the four pixels are fetched as they are and blended in float32: the bits of backproject_exact, from a layout that
//     takes a quarter of the memory.
// No halo. U, V and W always come from the global slice number, and the sum starts from the stored voxel, so neither slabs nor batches
// change a bit of the result.
//
// Tunables: K_UNROLL slices a work-item. K_INVARIANT: U and W do not depend on k in any view (k along the rotation axis, no tilt), which
// saves most of the arithmetic and gives the same bits. SINGLE_ROW: a detector of one row (fan beam) is taken as constant over its
// height of one pixel.
#pragma OPENCL FP_CONTRACT OFF
#ifdef EXACT_TEXELS
#undef RECIPROCAL
#endif
#include "extent.clh"
#include "filtered.clh"
#include "lanes.clh"
#include "voxel_driven.clh"

#ifndef K_UNROLL
#define K_UNROLL 4
#endif

#if defined(EXACT_TEXELS)
__constant sampler_t nearest = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP | CLK_FILTER_NEAREST;

// Coordinates beyond the border are brought to it, where all four pixels are zero: integers and fractions stay finite.
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
#elif defined(USE_IMAGE)
__constant sampler_t bilinear = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP | CLK_FILTER_LINEAR;

// Layers and rows of the whole detector are numbered as they are held.
inline float4 texel_at(__read_only image2d_array_t filtered, float u, float v, int layer, int columns, int rows) {
  return read_imagef(filtered, bilinear, (float4)(u + 0.5f, v + 0.5f, (float)layer, 0.0f));
}
#endif

#if defined(USE_IMAGE)
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
      const float weight = voxel_weight(inverse_w, in_front);
      const float u = base_u * inverse_w;
#endif
#pragma unroll
      for (int s = 0; s < K_UNROLL; ++s) {
        const float z = (float)(offset + slice + s) - cz;
#ifndef K_INVARIANT
        const float w = fma(z, mw.z, base_w);
        const bool in_front = w > 0.0f;
        const float inverse_w = in_front ? RECIPROCAL(w) : 0.0f;
        const float weight = voxel_weight(inverse_w, in_front);
        const float u = fma(z, mu.z, base_u) * inverse_w;
#endif
        const float v = row_of(fma(z, mv.z, base_v) * inverse_w);
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

#elif defined(LOCAL_TILE)
#include "backproject_tile.clh"

#elif defined(LAYOUT_COLUMNS)

#ifndef AXIAL
#define AXIAL 2
#endif
// Voxels along x and along the axis of a work-item, and detector rows that it can blend.
#define STRIP 16
#define DEPTH 64
#define BLENDED 256

// Work-items: (nx / STRIP, ny, slices / DEPTH), or if AXIAL is 1 (nx / STRIP, slices, ny / DEPTH), not rounded up further.
__kernel void backproject_columns(__global const float* restrict filtered, __global const float4* restrict matrices,
                                  __global float* restrict volume, Extent extent, PerAxis centre, Batch batch,
                                  float correlation) {
  const int i = STRIP * (int)get_global_id(0);
  const int j = AXIAL == 2 ? (int)get_global_id(1) : DEPTH * (int)get_global_id(2);
  const int slice = extent.begin + (AXIAL == 2 ? DEPTH * (int)get_global_id(2) : (int)get_global_id(1));
  const size_t plane = (size_t)extent.nx * extent.ny, next = AXIAL == 2 ? plane : (size_t)extent.nx;
  const int width = min(STRIP, extent.nx - i), depth = min(DEPTH, AXIAL == 2 ? extent.end - slice : extent.ny - j);
  volume += plane * (slice - extent.offset) + (size_t)j * extent.nx + i;

  float sum[STRIP][DEPTH];
  for (int s = 0; s < DEPTH; ++s)
    for (int n = 0; n < width; ++n) sum[n][s] = s < depth ? volume[next * s + n] : 0.0f;

  float blended[BLENDED + 1];  // rows from `lowest` on
  const float y = (float)j - centre.y, z = (float)slice - centre.z;
  const float last_y = AXIAL == 2 ? y : y + (float)(depth - 1), last_z = AXIAL == 2 ? z + (float)(depth - 1) : z;
  for (int view = 0; view < batch.views; ++view) {
    const size_t row = 3 * (size_t)(batch.first_view + view);
    const float4 mu = matrices[row], mv = matrices[row + 1], mw = matrices[row + 2];
    for (int n = 0; n < width; ++n) {
      const float x = (float)(i + n) - centre.x;
      const float w = fma(z, mw.z, fma(x, mw.x, fma(y, mw.y, mw.w)));
      const bool in_front = w > 0.0f;
      const float inverse_w = in_front ? 1.0f / w : 0.0f;
      const float weight = voxel_weight(inverse_w, in_front);
      const float u = fma(z, mu.z, fma(x, mu.x, fma(y, mu.y, mu.w))) * inverse_w;
      const Position across = position(u, 0, batch.columns);
      if (!across.inside) continue;
      __global const float* left = filtered + ((size_t)(batch.columns + 2) * view + across.quad) * (batch.held + 2);
      __global const float* right = left + batch.held + 2;
      const float high = across.fraction, low = 1.0f - high;
#ifdef VARIANCE
      const float across_kappa = kappa(u, correlation);
#endif
      // v goes one way along the axis; rows are numbered as in `left`, whose border holds zeros
      const float first_v = fma(z, mv.z, fma(x, mv.x, fma(y, mv.y, mv.w)));
      const float last_v = fma(last_z, mv.z, fma(x, mv.x, fma(last_y, mv.y, mv.w)));
      const int top = position(first_v * inverse_w, batch.row_begin, batch.held).quad;
      const int bottom = position(last_v * inverse_w, batch.row_begin, batch.held).quad;
      const int lowest = clamp(min(top, bottom), 0, batch.held), highest = clamp(max(top, bottom), 0, batch.held);
      for (int part = lowest; part <= highest; part += BLENDED) {
        const int count = min(BLENDED, highest - part + 1);
        for (int r = 0; r <= count; ++r) blended[r] = fma(high, right[part + r], low * left[part + r]);
        for (int s = 0; s < depth; s += 8) {
          const lanes along = (float)s + (lanes)(0, 1, 2, 3, 4, 5, 6, 7);
          const lanes ys = AXIAL == 2 ? (lanes)(y) : y + along, zs = AXIAL == 2 ? z + along : (lanes)(z);
          const lanes v =
              fma(zs, (lanes)(mv.z), fma((lanes)(x), (lanes)(mv.x), fma(ys, (lanes)(mv.y), (lanes)(mv.w)))) * inverse_w;
          lanes fraction;
          const int8 quad = split(v, &fraction) - (batch.row_begin - 1) - part,
                     at = clamp(quad, (int8)(0), (int8)(count - 1));
          const float16 pairs = PAIRS(blended, at);
          lanes value = fma(fraction, pairs.odd, (1.0f - fraction) * pairs.even);
#ifdef VARIANCE
          value *= across_kappa * fma(-2.0f * fraction * (1.0f - fraction), (lanes)(1.0f), (lanes)(1.0f));
#endif
          const lanes old = vload8(0, &sum[n][s]);
          vstore8(select(old, fma(value, (lanes)(weight), old), quad == at), 0, &sum[n][s]);
        }
      }
    }
  }

  for (int s = 0; s < depth; ++s)
    for (int n = 0; n < width; ++n) volume[next * s + n] = sum[n][s];
}

#elif defined(LANES)
#include "backproject_lanes.clh"

#else
__kernel void backproject_exact(__global const float4* restrict filtered, __global const float4* restrict matrices,
                                __global float* restrict volume, Extent extent, PerAxis centre, Batch batch,
                                float correlation) {
  const int i = get_global_id(0), j = get_global_id(1), slice = extent.begin + K_UNROLL * (int)get_global_id(2);
  if (i >= extent.nx || j >= extent.ny || slice >= extent.end) return;
  const size_t plane = (size_t)extent.nx * extent.ny;
  __global float* voxel = volume + plane * (slice - extent.offset) + (size_t)j * extent.nx + i;

  float sum[K_UNROLL];
#pragma unroll
  for (int s = 0; s < K_UNROLL; ++s) sum[s] = slice + s < extent.end ? voxel[plane * s] : 0.0f;

  const float x = (float)i - centre.x, y = (float)j - centre.y;
  for (int view = 0; view < batch.views; ++view) {
    const size_t row = 3 * (size_t)(batch.first_view + view);
    const float4 mu = matrices[row], mv = matrices[row + 1], mw = matrices[row + 2];
    const float base_u = fma(x, mu.x, fma(y, mu.y, mu.w));
    const float base_v = fma(x, mv.x, fma(y, mv.y, mv.w));
    const float base_w = fma(x, mw.x, fma(y, mw.y, mw.w));
    __global const float4* restrict quads = filtered + (size_t)(batch.columns + 1) * (batch.held + 1) * view;
#ifdef K_INVARIANT
    const bool in_front = base_w > 0.0f;
    const float inverse_w = in_front ? 1.0f / base_w : 0.0f;
    const float weight = voxel_weight(inverse_w, in_front);
    const float u = base_u * inverse_w;
    const Position across = position(u, 0, batch.columns);
#endif
#pragma unroll
    for (int s = 0; s < K_UNROLL; ++s) {
      const float z = (float)(slice + s) - centre.z;
#ifndef K_INVARIANT
      const float w = fma(z, mw.z, base_w);
      const bool in_front = w > 0.0f;
      const float inverse_w = in_front ? 1.0f / w : 0.0f;
      const float weight = voxel_weight(inverse_w, in_front);
      const float u = fma(z, mu.z, base_u) * inverse_w;
      const Position across = position(u, 0, batch.columns);
#endif
      const float v = row_of(fma(z, mv.z, base_v) * inverse_w);
      const Position along = position(v, batch.row_begin, batch.held);
      const bool inside = across.inside && along.inside;
      const float4 quad = quads[inside ? along.quad * (batch.columns + 1) + across.quad : 0];
      const float low = fma(across.fraction, quad.y, (1.0f - across.fraction) * quad.x);
      const float high = fma(across.fraction, quad.w, (1.0f - across.fraction) * quad.z);
      float value = inside ? fma(along.fraction, high, (1.0f - along.fraction) * low) : 0.0f;
#ifdef VARIANCE
      value *= kappa(u, correlation) * kappa(v, 0.0f);
#endif
      sum[s] = fma(value, weight, sum[s]);
    }
  }

#pragma unroll
  for (int s = 0; s < K_UNROLL; ++s)
    if (slice + s < extent.end) voxel[plane * s] = sum[s];
}
#endif

// filtered = raw, for back-projection without a filter.
__kernel void backproject_copy(__global const float* restrict raw, __global filtered_t* restrict filtered, int columns,
                               int rows, int views) {
#define RAW_AT(column, row) raw[((size_t)view * rows + (row)) * columns + (column)]
  STORE_FILTERED(RAW_AT)
}
