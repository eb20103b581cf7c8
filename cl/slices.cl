// Slices through the object from filtered projections that reside on the device: quasi-3D reconstruction (Buurlage, Kohr, Palenstijn &
// Batenburg 2018). The projections are in a ring of `capacity` slots, of which `first` holds the oldest view; a new one takes its place.
//
// A pixel (i, j) of a slice is the point
//   (x, y, z) = centre + (i - (nx - 1)/2) across + (j - (ny - 1)/2) along
// in voxels from the centre of the volume that the matrices are made for, and has the value that backproject.cl gives a voxel there:
//   slice(i, j) = sum over the views, from the oldest on, of factor_n * weight * p_n(u, v).
// VARIANCE: as in backproject.cl; factors are then squares.
// Where slices are on planes of that volume all these coordinates are exact, and with factors of 1 the bits are those of backproject_exact.
//
// Arrays: matrices[slot][12]; factors[slot]; planes[slice][3] = centre, across, along; extents[slice] = nx, ny, first pixel in `slices`,
// 1 if U and W are the same all along j (K_INVARIANT of backproject.cl, and `along` is along k); slices, one after the other; resident:
//   LAYOUT_QUADS  quads as in filtered.clh, for slices_exact; columns and rows are those of the detector
//   USE_IMAGE     an image layer a slot, for slices_image: interpolated by the sampler
// No halo.
//
// Tunables: J_UNROLL pixels along j a work-item. DISTANCE_WEIGHT, SINGLE_ROW: as in backproject.cl.
#pragma OPENCL FP_CONTRACT OFF
#include "fdk.clh"
#include "filtered.clh"
#include "inline.clh"
#include "voxel_driven.clh"

#ifndef J_UNROLL
#define J_UNROLL 4
#endif

#define FILTERED_AT(column, row) filtered_at(spectrum + 2 * (size_t)view * pairs * length, column, row, length)

// The first `views` of spectrum (fdk.cl) into the slots from `slot` on. Work-items as STORE_FILTERED has them.
#ifdef USE_IMAGE
__kernel void slices_keep(__global const float* restrict spectrum, __write_only image2d_array_t resident, int columns,
                          int rows, int length, int pairs, int slot, int views) {
  const int column = get_global_id(0), row = get_global_id(1), view = get_global_id(2);
  if (column >= columns || row >= rows || view >= views) return;
  write_imagef(resident, (int4)(column, row, slot + view, 0), (float4)(FILTERED_AT(column, row), 0.0f, 0.0f, 0.0f));
}
#else
__kernel void slices_keep(__global const float* restrict spectrum, __global filtered_t* restrict resident, int columns,
                          int rows, int length, int pairs, int slot, int views) {
  __global filtered_t* restrict filtered = resident + (size_t)(columns + 1) * (rows + 1) * slot;
  STORE_FILTERED(FILTERED_AT)
}
#endif

// The pixel (a, b) from the middle of a slice.
INLINE float3 point_of(__global const float4* restrict plane, float a, float b) {
  const float4 centre = plane[0], across = plane[1], along = plane[2];
  return (float3)(fma(a, across.x, fma(b, along.x, centre.x)), fma(a, across.y, fma(b, along.y, centre.y)),
                  fma(a, across.z, fma(b, along.z, centre.z)));
}

// Result of row a of a matrix for a point.
INLINE float of_point(float4 a, float3 point) {
  return fma(point.z, a.z, fma(point.x, a.x, fma(point.y, a.y, a.w)));
}

INLINE float from_middle(int pixel, int pixels) {
  return (float)pixel - 0.5f * (float)(pixels - 1);
}

// Sums of the pixels from (i, j) on along j, as far as there are any.
INLINE void store(const float* sum, __global float* restrict slices, int4 extent, int i, int j) {
  slices += extent.z + (size_t)extent.x * j + i;
#pragma unroll
  for (int s = 0; s < J_UNROLL; ++s)
    if (j + s < extent.y) slices[(size_t)extent.x * s] = sum[s];
}

#ifndef USE_IMAGE
// Work-items: (largest nx, largest ny / J_UNROLL, slices).
__kernel void slices_exact(__global const float4* restrict resident, __global const float4* restrict matrices,
                           __global const float* restrict factors, __global const float4* restrict planes,
                           __global const int4* restrict extents, __global float* restrict slices, int columns,
                           int rows, int first, int capacity, float correlation) {
  const int i = get_global_id(0), j = J_UNROLL * (int)get_global_id(1), n = get_global_id(2);
  const int4 extent = extents[n];
  if (i >= extent.x || j >= extent.y) return;
  float3 point[J_UNROLL];
  float sum[J_UNROLL];
#pragma unroll
  for (int s = 0; s < J_UNROLL; ++s) {
    point[s] = point_of(planes + 3 * n, from_middle(i, extent.x), from_middle(j + s, extent.y));
    sum[s] = 0.0f;
  }

  for (int view = 0, slot = first; view < capacity; ++view) {
    const float4 mu = matrices[3 * slot], mv = matrices[3 * slot + 1], mw = matrices[3 * slot + 2];
    const float factor = factors[slot];
    float inverse_w = 0.0f, weight = 0.0f, u = 0.0f;
#pragma unroll
    for (int s = 0; s < J_UNROLL; ++s) {
      if (s == 0 || extent.w == 0) {
        const float w = of_point(mw, point[s]);
        const bool in_front = w > 0.0f;
        inverse_w = in_front ? 1.0f / w : 0.0f;
        weight = voxel_weight(inverse_w, in_front) * factor;
        u = of_point(mu, point[s]) * inverse_w;
      }
      const float v = row_of(ROW_AT(of_point(mv, point[s]), inverse_w));
      const Position column = position(u, 0, columns), row = position(v, 0, rows);
      const bool inside = column.inside && row.inside;
      const float4 quad =
          resident[(size_t)(columns + 1) * (rows + 1) * slot + (inside ? row.quad * (columns + 1) + column.quad : 0)];
      const float low = fma(column.fraction, quad.y, (1.0f - column.fraction) * quad.x);
      const float high = fma(column.fraction, quad.w, (1.0f - column.fraction) * quad.z);
      float value = inside ? fma(row.fraction, high, (1.0f - row.fraction) * low) : 0.0f;
#ifdef VARIANCE
      value *= kappa(u, correlation) * kappa(v, 0.0f);
#endif
      sum[s] = fma(value, weight, sum[s]);
    }
    slot = slot + 1 == capacity ? 0 : slot + 1;
  }

  store(sum, slices, extent, i, j);
}

#else
__constant sampler_t bilinear = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP | CLK_FILTER_LINEAR;

// Result of row a of a matrix for a step.
INLINE float of_step(float4 a, float4 step) {
  return fma(step.z, a.z, fma(step.x, a.x, step.y * a.y));
}

// u from the detector's edge, v from the centre of its first row
#ifdef VARIANCE
#define SAMPLE(u, v)                                                                                        \
  (read_imagef(resident, bilinear, (float4)(u, (v) + 0.5f, layer, 0.0f)).x * kappa((u)-0.5f, correlation) * \
   kappa(v, 0.0f))
#else
#define SAMPLE(u, v) read_imagef(resident, bilinear, (float4)(u, (v) + 0.5f, layer, 0.0f)).x
#endif

// Along j, U, V and W of a view grow by the same step from pixel to pixel of a work-item: fewer operations than to work each out, and for
// fractions of 8 bits exact enough. Work-items: (largest nx, largest ny / J_UNROLL, slices).
__kernel void slices_image(__read_only image2d_array_t resident, __global const float4* restrict matrices,
                           __global const float* restrict factors, __global const float4* restrict planes,
                           __global const int4* restrict extents, __global float* restrict slices, int columns,
                           int rows, int first, int capacity, float correlation) {
  const int i = get_global_id(0), j = J_UNROLL * (int)get_global_id(1), n = get_global_id(2);
  const int4 extent = extents[n];
  if (i >= extent.x || j >= extent.y) return;
  const float3 point = point_of(planes + 3 * n, from_middle(i, extent.x), from_middle(j, extent.y));
  const float4 along = planes[3 * n + 2];
  float sum[J_UNROLL];
#pragma unroll
  for (int s = 0; s < J_UNROLL; ++s) sum[s] = 0.0f;

  for (int view = 0, slot = first; view < capacity; ++view) {
    const float4 mu = matrices[3 * slot], mv = matrices[3 * slot + 1], mw = matrices[3 * slot + 2];
    const float factor = factors[slot], layer = (float)slot;
    const float u0 = of_point(mu, point), v0 = of_point(mv, point), w0 = of_point(mw, point);
    const float step_v = of_step(mv, along);
    if (extent.w) {  // v alone changes
      const bool in_front = w0 > 0.0f;
      const float inverse_w = in_front ? RECIPROCAL(w0) : 0.0f, weight = voxel_weight(inverse_w, in_front) * factor;
      const float u = fma(u0, inverse_w, 0.5f);
#pragma unroll
      for (int s = 0; s < J_UNROLL; ++s) {
        const float v = row_of(ROW_AT(fma((float)s, step_v, v0), inverse_w));
        sum[s] = fma(SAMPLE(u, v), weight, sum[s]);
      }
    } else {
      const float step_u = of_step(mu, along), step_w = of_step(mw, along);
#pragma unroll
      for (int s = 0; s < J_UNROLL; ++s) {
        const float w = fma((float)s, step_w, w0);
        const bool in_front = w > 0.0f;
        const float inverse_w = in_front ? RECIPROCAL(w) : 0.0f, weight = voxel_weight(inverse_w, in_front) * factor;
        const float u = fma(fma((float)s, step_u, u0), inverse_w, 0.5f);
        const float v = row_of(ROW_AT(fma((float)s, step_v, v0), inverse_w));
        sum[s] = fma(SAMPLE(u, v), weight, sum[s]);
      }
    }
    slot = slot + 1 == capacity ? 0 : slot + 1;
  }

  store(sum, slices, extent, i, j);
}
#endif
