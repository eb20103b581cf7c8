// Common kernels of the filters (gaussian, median, nlm):
//   filter_pad       padded = f on the slices begin <= z < end, with the values of the faces along x and y repeated
//                    beyond them
//   filter_fidelity  per slice: the sum of (u - f)^2
//
// Arrays: volumes u and f, x fastest, first slice in the buffers is `offset`; padded: filter.clh. No halo.
// Tunables: group shape (host); sums.clh's.
#pragma OPENCL FP_CONTRACT OFF
#include "sums.clh"
#include "tv.clh"

// Work-items (pitch, rows, slices).
__kernel void filter_pad(__global const float* restrict f, __global float* restrict padded, Extent extent, int pitch,
                         int rows, int pad_x, int pad_y) {
  const int column = (int)get_global_id(0), line = (int)get_global_id(1), z = extent.begin + (int)get_global_id(2);
  if (column >= pitch || line >= rows || z >= extent.end) return;
  const int x = clamp(column - pad_x, 0, extent.nx - 1), y = clamp(line - pad_y, 0, extent.ny - 1);
  padded[(size_t)column + (size_t)pitch * ((size_t)line + (size_t)rows * (size_t)(z - extent.offset))] =
      f[VOXEL(x, y, z)];
}

__kernel void filter_fidelity(__global const float* restrict u, __global const float* restrict f,
                              __global sum_t* restrict partials, Extent extent) {
#define SQUARE(i) ((real)u[i] - f[i]) * ((real)u[i] - f[i])
  STORE_SUMS(1, (real4)(SQUARE(VOXEL(x, y, z)), 0, 0, 0))
}
