// Non-local means (Buades, Coll & Morel 2005; the subtraction of the noise from the distance as in their 2011 form):
//   nlm_filter  u_i = sum_j w_ij f_j / sum_j w_ij  over the voxels j of the volume in the window |j - i| <= (SX, SY,
//               SZ), w_ij = exp( -max(d2 - 2 sigma^2, 0) / h^2 ),  d2 = the mean of (f_(i+k) - f_(j+k))^2 over |k| <=
//               (TX, TY, TZ)
// with the faces' values repeated beyond the volume in d2.
//
// Arrays: padded (filter.clh), volume u. Halo: SZ + TZ slices low and high. Tunables: S*, T* and the padding, set by
// the host; LANES_PER_ITEM.
#pragma OPENCL FP_CONTRACT OFF
#include "filter.clh"
#include "tv.clh"

// scale: 1 / (voxels of the patch h^2); bias: 2 sigma^2 / h^2.
__kernel void nlm_filter(__global const float* restrict padded, __global float* restrict u, Extent extent, int pitch,
                         int rows, float scale, float bias) {
  const int start = (int)get_global_id(0) * LANES_PER_ITEM, y = (int)get_global_id(1),
            z = extent.begin + (int)get_global_id(2);
  if (start >= extent.nx || y >= extent.ny || z >= extent.end) return;
  float sum[LANES_PER_ITEM], total[LANES_PER_ITEM], d2[LANES_PER_ITEM];
  FOR_LANES sum[n] = total[n] = 0.0f;
  for (int dz = max(-SZ, -z); dz <= min(SZ, extent.nz - 1 - z); ++dz)
    for (int dy = max(-SY, -y); dy <= min(SY, extent.ny - 1 - y); ++dy)
      for (int dx = -SX; dx <= SX; ++dx) {
        FOR_LANES d2[n] = 0.0f;
        for (int kz = -TZ; kz <= TZ; ++kz)
          for (int ky = -TY; ky <= TY; ++ky) {
            __global const float* here = padded + PADDED(start, y + ky, z + kz);
            __global const float* there = padded + PADDED(start + dx, y + dy + ky, z + dz + kz);
            for (int kx = -TX; kx <= TX; ++kx) FOR_LANES {
                const float difference = here[n + kx] - there[n + kx];
                d2[n] = fma(difference, difference, d2[n]);
              }
          }
        __global const float* there = padded + PADDED(start + dx, y + dy, z + dz);
        FOR_LANES {
          const int x = start + n + dx;
          const float weight = x >= 0 && x < extent.nx ? exp(-fmax(fma(d2[n], scale, -bias), 0.0f)) : 0.0f;
          sum[n] = fma(weight, there[n], sum[n]);
          total[n] += weight;
        }
      }
  const int count = min(LANES_PER_ITEM, extent.nx - start);
  for (int n = 0; n < count; ++n) u[VOXEL(start + n, y, z)] = sum[n] / total[n];
}
