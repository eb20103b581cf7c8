// Gaussian smoothing, an axis at a time:
//   gaussian_blur  to_i = sum_k w_|k| from_(i + k e) / sum_k w_|k|,  over the k from -radius to radius for which i + k e lies in
//                  the volume (e: the axis)
//
// Arrays: volumes `from` and `to`, x fastest, first slice in the buffers is `offset`; weights of all axes one after the other,
// this axis's from `first` on. Halo: `radius` slices low and high where the axis is z. Tunables: group shape (host).
#pragma OPENCL FP_CONTRACT OFF
#include "tv.clh"

__kernel void gaussian_blur(__global const float* restrict from, __global float* restrict to,
                            __global const float* restrict weights, int nx, int ny, int nz, int offset, int begin, int end,
                            int axis, int first, int radius) {
  const int x = (int)get_global_id(0), y = (int)get_global_id(1), z = begin + (int)get_global_id(2);
  if (x >= nx || y >= ny || z >= end) return;
  const size_t i = VOXEL(x, y, z);
  const long stride = axis == 0 ? 1 : axis == 1 ? (long)nx : (long)nx * (long)ny;
  const int position = axis == 0 ? x : axis == 1 ? y : z, size = axis == 0 ? nx : axis == 1 ? ny : nz;
  float sum = 0.0f, total = 0.0f;
  for (int k = -min(radius, position); k <= min(radius, size - 1 - position); ++k) {
    const float weight = weights[first + abs(k)];
    sum = fma(weight, from[i + k * stride], sum);
    total += weight;
  }
  to[i] = sum / total;
}
