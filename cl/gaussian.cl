// Gaussian smoothing, an axis at a time:
//   gaussian_blur  to_i = sum_k w_|k| from_(i + k e) / sum_k w_|k|,  over the k from -radius to radius for which i + k
//                  e is inside the volume (e: the axis)
//
// Arrays: volumes `from` and `to`, x fastest, first slice in the buffers is `offset`; weights of all axes one after the
// other, this axis's from `first` on. Halo: `radius` slices low and high where the axis is z. Tunables: LANES_PER_ITEM,
// voxels of a row a work-item (1 on GPUs, LANES on CPUs, whose compilers vectorise the loop over them), set by the
// host.
#pragma OPENCL FP_CONTRACT OFF
#include "sums.clh"
#include "tv.clh"

__kernel void gaussian_blur(__global const float* restrict from, __global float* restrict to,
                            __global const float* restrict weights, Extent extent, int axis, int first, int radius) {
  const int start = (int)get_global_id(0) * LANES_PER_ITEM, y = (int)get_global_id(1),
            z = extent.begin + (int)get_global_id(2);
  if (start >= extent.nx || y >= extent.ny || z >= extent.end) return;
  const int count = min(LANES_PER_ITEM, extent.nx - start);
  const size_t base = VOXEL(start, y, z);
  const long stride = axis == 0 ? 1 : axis == 1 ? (long)extent.nx : (long)extent.nx * (long)extent.ny;
  // along x every lane has its own place in its row; along the others all have the same
  const int position = axis == 1 ? y : z, size = axis == 1 ? extent.ny : extent.nz;
  const int low = axis == 0 ? -radius : -min(radius, position),
            high = axis == 0 ? radius : min(radius, size - 1 - position);
  float sum[LANES_PER_ITEM], total[LANES_PER_ITEM];
  for (int n = 0; n < LANES_PER_ITEM; ++n) sum[n] = total[n] = 0.0f;
  for (int k = low; k <= high; ++k) {
    const float weight = weights[first + abs(k)];
    __global const float* there = from + base + k * stride;
    const int begin_lane = axis == 0 ? max(0, -k - start) : 0,
              end_lane = axis == 0 ? min(count, extent.nx - start - k) : count;
    for (int n = begin_lane; n < end_lane; ++n) {
      sum[n] = fma(weight, there[n], sum[n]);
      total[n] += weight;
    }
  }
  for (int n = 0; n < count; ++n) to[base + n] = sum[n] / total[n];
}
