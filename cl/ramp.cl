// The ramp filter of slices (algorithms/solvers/ramp_filter.hpp): y = (R_i x) / h_i + (R_j x) / h_j, along i and j the
// convolution with the kernel h of the band-limited ramp, 0 outside. The kernel's sum is small beside its values, so
//
//   (R x)_n = x_n sum_m h_{m - n} + sum_m h_{m - n} (x_m - x_n),
//
// (m over the axis) leaves no rounding of a large mean.
//
// Arrays: from, to: volumes; kernel[middle + n] = h_n = h_-n; sums[nx + ny]: the first sum of each place along i, then
// along j. No halo. Work-items: one a voxel, or on CPUs (LANES) one for so many of a row, for their compilers vectorise
// the innermost loop. The bits are the same.
// Tunables: LANES (host).
#pragma OPENCL FP_CONTRACT OFF
#include "extent.clh"
#include "inline.clh"

#define AT(x, y, z) ((size_t)(x) + (size_t)extent.nx * ((size_t)(y) + (size_t)extent.ny * (size_t)((z)-extent.offset)))

// Filtered value of one voxel.
INLINE float filtered(__global const float* restrict from, __global const float* restrict h,
                      __global const float* restrict sums, int x, int y, int z, Extent extent, int middle,
                      float2 scale) {
  const float here = from[AT(x, y, z)];
  float along_i = sums[x] * here, along_j = sums[extent.nx + y] * here;
  for (int n = 0; n < extent.nx; ++n) along_i = fma(h[middle + x - n], from[AT(n, y, z)] - here, along_i);
  for (int n = (y + 1) % 2; n < extent.ny; n += 2)  // h is 0 at even distances
    along_j = fma(h[middle + y - n], from[AT(x, n, z)] - here, along_j);
  return fma(scale.x, along_i, scale.y * along_j);
}

__kernel void ramp_filter(__global const float* restrict from, __global float* restrict to,
                          __global const float* restrict h, __global const float* restrict sums, Extent extent,
                          int middle, float2 scale) {
  const int y = (int)get_global_id(1), z = extent.begin + (int)get_global_id(2);
#ifndef LANES
  const int x = (int)get_global_id(0);
  if (x >= extent.nx || y >= extent.ny || z >= extent.end) return;
  to[AT(x, y, z)] = filtered(from, h, sums, x, y, z, extent, middle, scale);
#else
  const int first = LANES * (int)get_global_id(0), end = min(extent.nx, first + LANES);
  if (y >= extent.ny || z >= extent.end) return;
  if (end - first < LANES) {
    for (int x = first; x < end; ++x) to[AT(x, y, z)] = filtered(from, h, sums, x, y, z, extent, middle, scale);
    return;
  }
  float here[LANES], along_i[LANES], along_j[LANES];
  for (int k = 0; k < LANES; ++k) {
    here[k] = from[AT(first + k, y, z)];
    along_i[k] = sums[first + k] * here[k];
    along_j[k] = sums[extent.nx + y] * here[k];
  }
  for (int n = 0; n < extent.nx; ++n) {
    const float value = from[AT(n, y, z)];
    const __global float* restrict taps = h + middle + first - n;
    for (int k = 0; k < LANES; ++k) along_i[k] = fma(taps[k], value - here[k], along_i[k]);
  }
  for (int n = (y + 1) % 2; n < extent.ny; n += 2) {
    const float tap = h[middle + y - n];
    const __global float* restrict values = from + AT(first, n, z);
    for (int k = 0; k < LANES; ++k) along_j[k] = fma(tap, values[k] - here[k], along_j[k]);
  }
  for (int k = 0; k < LANES; ++k) to[AT(first + k, y, z)] = fma(scale.x, along_i[k], scale.y * along_j[k]);
#endif
}
