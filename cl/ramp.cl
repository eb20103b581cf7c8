// The ramp filter of slices (algorithms/solvers/ramp_filter.hpp): y = (R_i x) / h_i + (R_j x) / h_j, along i and j the
// convolution with the kernel h of the band-limited ramp, 0 outside. As the kernel's sum is small beside its values,
//
//   (R x)_n = x_n sum_m h_{m - n} + sum_m h_{m - n} (x_m - x_n),
//
// m over the axis, which leaves no rounding of a large mean.
//
// Arrays: from, to: volumes; kernel[middle + n] = h_n; sums[nx + ny]: the first sum of each place along i, then along j.
// No halo. Work-items: one a voxel.
#pragma OPENCL FP_CONTRACT OFF
#include "extent.clh"

#define AT(x, y, z) ((size_t)(x) + (size_t)extent.nx * ((size_t)(y) + (size_t)extent.ny * (size_t)((z)-extent.offset)))

__kernel void ramp_filter(__global const float* restrict from, __global float* restrict to,
                          __global const float* restrict h, __global const float* restrict sums, Extent extent,
                          int middle, float2 scale) {
  const int x = (int)get_global_id(0), y = (int)get_global_id(1), z = extent.begin + (int)get_global_id(2);
  if (x >= extent.nx || y >= extent.ny || z >= extent.end) return;
  const float here = from[AT(x, y, z)];
  float along_i = sums[x] * here, along_j = sums[extent.nx + y] * here;
  const __global float* restrict row = from + AT(0, y, z);
  const __global float* restrict taps = h + middle - x;
  for (int n = 0; n < extent.nx; ++n) along_i = fma(taps[n], row[n] - here, along_i);
  const __global float* restrict column = from + AT(x, 0, z);
  for (int n = (y + 1) % 2; n < extent.ny; n += 2)  // h is 0 at even distances
    along_j = fma(h[middle + n - y], column[(size_t)n * (size_t)extent.nx] - here, along_j);
  to[AT(x, y, z)] = fma(scale.x, along_i, scale.y * along_j);
}
