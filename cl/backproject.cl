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
// Arrays: filtered[view][row][column] (or one image layer a view), rows `row_begin` to `row_begin + rows` of the detector; matrices
// [view][12]; volume[slice][y][x], slices `offset` to `offset + slices`. No halo. U, V and W always come from the global slice number, and
// the sum starts from the stored voxel, so neither slabs nor batches change a bit of the result.
//
// Tunables: K_UNROLL slices a work-item. USE_IMAGE: filtered in an image array, interpolated by the sampler (the fractions then have 8
// bits on most GPUs). K_INVARIANT: U and W do not depend on k in any view (k along the rotation axis, no tilt), which saves most of the
// arithmetic and gives the same bits. SINGLE_ROW: a detector of one row (fan beam) is taken as constant over its height of one pixel.
#pragma OPENCL FP_CONTRACT OFF

#ifndef K_UNROLL
#define K_UNROLL 8
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

// The two pixels next to a coordinate on one axis, and their weights: 0 for a pixel that is not there.
typedef struct {
  int low, high;
  float low_weight, high_weight;
} Taps;

inline Taps taps_at(float at, int begin, int count) {
  const float whole = floor(at);
  const float fraction = at - whole;
  const int low = (int)whole - begin;
  const int high = low + 1;
  Taps taps;
  taps.low = clamp(low, 0, count - 1);
  taps.high = clamp(high, 0, count - 1);
  taps.low_weight = (uint)low < (uint)count ? 1.0f - fraction : 0.0f;
  taps.high_weight = (uint)high < (uint)count ? fraction : 0.0f;
  return taps;
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
    __global const float* restrict filtered,
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
    __global const float* restrict pixels = filtered + (size_t)columns * rows * view;
#endif
#ifdef K_INVARIANT
    const bool in_front = base_w > 0.0f;
    const float inverse_w = in_front ? 1.0f / base_w : 0.0f;
    const float weight = voxel_weight(inverse_w, in_front);
    const float u = base_u * inverse_w;
#ifndef USE_IMAGE
    const Taps across = taps_at(u, 0, columns);
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
      const Taps across = taps_at(u, 0, columns);
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
      const Taps along = taps_at(v, row_begin, rows);
      __global const float* restrict low = pixels + along.low * columns;
      __global const float* restrict high = pixels + along.high * columns;
      const float low_value = fma(across.high_weight, low[across.high], across.low_weight * low[across.low]);
      const float high_value = fma(across.high_weight, high[across.high], across.low_weight * high[across.low]);
      float value = fma(along.high_weight, high_value, along.low_weight * low_value);
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

// filtered = raw, for back-projection without a filter.
__kernel void backproject_copy(__global const float* restrict raw, __global float* restrict filtered, ulong count) {
  const ulong at = get_global_id(0);
  if (at < count) filtered[at] = raw[at];
}
