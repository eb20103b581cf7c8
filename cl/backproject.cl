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
// Arrays: matrices[view][12]; volume[slice][y][x], slices `offset` to `offset + slices`; filtered, rows `row_begin` to `row_begin + rows` of
// the detector, in one of two forms:
//   exact: quads[view][rows + 1][columns + 1] of the 2 x 2 pixels (column, row), (column + 1, row), (column, row + 1), (column + 1,
//     row + 1) from column -1 and row row_begin - 1 on, zero where there is no pixel: one aligned load a voxel and view instead of four
//     (1.7 times as fast on an H200), and no border to guard;
//   USE_IMAGE: one image layer a view, interpolated by the sampler (the fractions then have 8 bits on most GPUs).
// No halo. U, V and W always come from the global slice number, and the sum starts from the stored voxel, so neither slabs nor batches
// change a bit of the result.
//
// Tunables: K_UNROLL slices a work-item. K_INVARIANT: U and W do not depend on k in any view (k along the rotation axis, no tilt), which
// saves most of the arithmetic and gives the same bits. SINGLE_ROW: a detector of one row (fan beam) is taken as constant over its
// height of one pixel.
#pragma OPENCL FP_CONTRACT OFF

#ifndef K_UNROLL
#define K_UNROLL 4
#endif
#ifndef DISTANCE_WEIGHT
#define DISTANCE_WEIGHT 1
#endif
#ifdef USE_IMAGE
#define KERNEL backproject_image
__constant sampler_t bilinear = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP | CLK_FILTER_LINEAR;
#else
#define KERNEL backproject_exact
#endif

// Where a coordinate lies on one axis of the quads, and how far from the lower pixel to the upper.
typedef struct {
  int quad;
  float fraction;
  bool inside;
} Position;

inline Position position(float at, int begin, int count) {
  const float whole = floor(at);
  Position result;
  result.quad = (int)whole - begin + 1;
  result.fraction = at - whole;
  result.inside = (uint)result.quad <= (uint)count;
  return result;
}

inline float kappa(float at, float correlation) {
  const float a = at - floor(at);
  return fma(-2.0f * a * (1.0f - a), 1.0f - correlation, 1.0f);
}

inline float voxel_weight(float inverse_w, bool in_front) {
#if DISTANCE_WEIGHT
  float weight = inverse_w * inverse_w;
#else
  float weight = in_front ? 1.0f : 0.0f;
#endif
#ifdef VARIANCE
  weight *= weight;
#endif
  return weight;
}

__kernel void KERNEL(
#ifdef USE_IMAGE
    __read_only image2d_array_t filtered,
#else
    __global const float4* restrict filtered,
#endif
    __global const float4* restrict matrices, __global float* restrict volume, int nx, int ny, int slices, int offset, float cx,
    float cy, float cz, int columns, int row_begin, int rows, int first_view, int views, float correlation) {
  const int i = get_global_id(0), j = get_global_id(1), slice = K_UNROLL * (int)get_global_id(2);
  if (i >= nx || j >= ny || slice >= slices) return;
  const size_t plane = (size_t)nx * ny;
  __global float* voxel = volume + plane * slice + (size_t)j * nx + i;

  float sum[K_UNROLL];
#pragma unroll
  for (int s = 0; s < K_UNROLL; ++s) sum[s] = slice + s < slices ? voxel[plane * s] : 0.0f;

  const float x = (float)i - cx, y = (float)j - cy;
  for (int view = 0; view < views; ++view) {
    const size_t row = 3 * (size_t)(first_view + view);
    const float4 mu = matrices[row], mv = matrices[row + 1], mw = matrices[row + 2];
    const float base_u = fma(x, mu.x, fma(y, mu.y, mu.w));
    const float base_v = fma(x, mv.x, fma(y, mv.y, mv.w));
    const float base_w = fma(x, mw.x, fma(y, mw.y, mw.w));
#ifndef USE_IMAGE
    __global const float4* restrict quads = filtered + (size_t)(columns + 1) * (rows + 1) * view;
#endif
#ifdef K_INVARIANT
    const bool in_front = base_w > 0.0f;
    const float inverse_w = in_front ? 1.0f / base_w : 0.0f;
    const float weight = voxel_weight(inverse_w, in_front);
    const float u = base_u * inverse_w;
#ifndef USE_IMAGE
    const Position across = position(u, 0, columns);
#endif
#endif
#pragma unroll
    for (int s = 0; s < K_UNROLL; ++s) {
      const float z = (float)(offset + slice + s) - cz;
#ifndef K_INVARIANT
      const float w = fma(z, mw.z, base_w);
      const bool in_front = w > 0.0f;
      const float inverse_w = in_front ? 1.0f / w : 0.0f;
      const float weight = voxel_weight(inverse_w, in_front);
      const float u = fma(z, mu.z, base_u) * inverse_w;
#ifndef USE_IMAGE
      const Position across = position(u, 0, columns);
#endif
#endif
      float v = fma(z, mv.z, base_v) * inverse_w;
#ifdef SINGLE_ROW
      v = fabs(v) <= 0.5f ? 0.0f : -2.0f;
#endif
#ifdef USE_IMAGE
      // subtracting the whole number after adding the half is exact, so the fraction does not depend on the rows held
      float value = read_imagef(filtered, bilinear, (float4)(u + 0.5f, (v + 0.5f) - (float)row_begin, (float)view, 0.0f)).x;
#else
      const Position along = position(v, row_begin, rows);
      const bool inside = across.inside && along.inside;
      const float4 quad = quads[inside ? along.quad * (columns + 1) + across.quad : 0];
      const float low = fma(across.fraction, quad.y, (1.0f - across.fraction) * quad.x);
      const float high = fma(across.fraction, quad.w, (1.0f - across.fraction) * quad.z);
      float value = inside ? fma(along.fraction, high, (1.0f - along.fraction) * low) : 0.0f;
#endif
#ifdef VARIANCE
      value *= kappa(u, correlation) * kappa(v, 0.0f);
#endif
      sum[s] = fma(value, weight, sum[s]);
    }
  }

#pragma unroll
  for (int s = 0; s < K_UNROLL; ++s)
    if (slice + s < slices) voxel[plane * s] = sum[s];
}

// filtered = raw, for back-projection without a filter: one work-item a pixel.
__kernel void backproject_copy(__global const float* restrict raw, __global float* restrict filtered, int columns, int rows, int views) {
  const int column = get_global_id(0), row = get_global_id(1), view = get_global_id(2);
  if (column >= columns || row >= rows || view >= views) return;
  const size_t at = ((size_t)view * rows + row) * columns + column;
  filtered[at] = raw[at];
}

// The same as quads: one work-item a quad, (columns + 1, rows + 1, views).
__kernel void backproject_copy_quads(__global const float* restrict raw, __global float4* restrict filtered, int columns, int rows,
                                     int views) {
  const int column = (int)get_global_id(0) - 1, row = (int)get_global_id(1) - 1, view = get_global_id(2);
  if (column >= columns || row >= rows || view >= views) return;
  __global const float* restrict low = raw + (size_t)columns * ((size_t)view * rows + max(row, 0));
  __global const float* restrict high = raw + (size_t)columns * ((size_t)view * rows + min(row + 1, rows - 1));
  const bool left = column >= 0, right = column + 1 < columns, has_low = row >= 0, has_high = row + 1 < rows;
  filtered[((size_t)view * (rows + 1) + row + 1) * (columns + 1) + column + 1] =
      (float4)(left && has_low ? low[column] : 0.0f, right && has_low ? low[column + 1] : 0.0f, left && has_high ? high[column] : 0.0f,
               right && has_high ? high[column + 1] : 0.0f);
}
