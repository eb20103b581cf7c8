// Median of the (2 RX + 1)(2 RY + 1)(2 RZ + 1) voxels around each; faces repeated beyond the volume, so that it is
// always the middle one of an odd number.
//   median_filter  u_i = the largest v for which at most half of the window is smaller than v
//
// Found bit by bit from the top: floats in their order are whole numbers in their order (all bits turned for negative
// ones, the sign for others), and whether a bit is 1 follows from a count of the voxels below: 32 counts, no sorting,
// no branches.
//
// Arrays: padded (filter.clh), volume u. Halo: RZ slices low and high. Tunables: RX, RY, RZ and the padding, set by the
// host; LANES_PER_ITEM.
#pragma OPENCL FP_CONTRACT OFF
#include "filter.clh"
#include "tv.clh"

INLINE float value_of(uint key) {
  return as_float(key & 0x80000000u ? key ^ 0x80000000u : ~key);
}

__kernel void median_filter(__global const float* restrict padded, __global float* restrict u, Extent extent, int pitch,
                            int rows) {
  const int start = (int)get_global_id(0) * LANES_PER_ITEM, y = (int)get_global_id(1),
            z = extent.begin + (int)get_global_id(2);
  if (start >= extent.nx || y >= extent.ny || z >= extent.end) return;
  const int half_window = (2 * RX + 1) * (2 * RY + 1) * (2 * RZ + 1) / 2;
  uint key[LANES_PER_ITEM];
  float value[LANES_PER_ITEM];
  int below[LANES_PER_ITEM];
  FOR_LANES key[n] = 0;
  for (uint bit = 0x80000000u; bit != 0; bit >>= 1) {
    FOR_LANES {
      value[n] = value_of(key[n] | bit);
      below[n] = 0;
    }
    for (int dz = -RZ; dz <= RZ; ++dz)
      for (int dy = -RY; dy <= RY; ++dy) {
        __global const float* row = padded + PADDED(start, y + dy, z + dz);
        for (int dx = -RX; dx <= RX; ++dx) FOR_LANES below[n] += row[n + dx] < value[n] ? 1 : 0;
      }
    FOR_LANES key[n] |= below[n] <= half_window ? bit : 0;
  }
  const int count = min(LANES_PER_ITEM, extent.nx - start);
  for (int n = 0; n < count; ++n) u[VOXEL(start + n, y, z)] = value_of(key[n]);
}
