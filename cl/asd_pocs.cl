// The gradient of the smoothed total variation for ASD-POCS (Sidky & Pan 2008; algorithms/solvers/asd_pocs.hpp):
//   TV(u) = sum_i sqrt(|(B u)_i|^2 + eps^2),  B backward differences divided by the spacing, 0 on the near faces
//   asd_pocs_gradient  g_i = dTV / du_i = sum over the axes a of (p_a at i - p_a at i + e_a) / h_a, p = B u / the root
//
// Arrays: volumes u and g, x fastest; the first slice in the buffers has the global number `offset`. Halo: one slice low
// and one high. r: 1 / h along the axes. Work-items: one a voxel. Tunables: group shape (host).
#pragma OPENCL FP_CONTRACT OFF
#include "tv.clh"

// p of voxel (x, y, z), which is inside the volume.
INLINE float4 direction(__global const float* u, int x, int y, int z, Extent extent, PerAxis r, float eps2) {
  const size_t row = (size_t)extent.nx, plane = row * (size_t)extent.ny, i = VOXEL(x, y, z);
  const float here = u[i];
  const float dx = x > 0 ? r.x * (here - u[i - 1]) : 0.0f;
  const float dy = y > 0 ? r.y * (here - u[i - row]) : 0.0f;
  const float dz = z > 0 ? r.z * (here - u[i - plane]) : 0.0f;
  const float root = sqrt(fma(dz, dz, fma(dy, dy, fma(dx, dx, eps2))));
  return (float4)(dx / root, dy / root, dz / root, 0.0f);
}

__kernel void asd_pocs_gradient(__global const float* restrict u, __global float* restrict g, Extent extent, PerAxis r,
                                float eps2) {
  const int x = (int)get_global_id(0), y = (int)get_global_id(1), z = extent.begin + (int)get_global_id(2);
  if (x >= extent.nx || y >= extent.ny || z >= extent.end) return;
  const float4 p = direction(u, x, y, z, extent, r, eps2);
  const float px = x + 1 < extent.nx ? direction(u, x + 1, y, z, extent, r, eps2).x : 0.0f;
  const float py = y + 1 < extent.ny ? direction(u, x, y + 1, z, extent, r, eps2).y : 0.0f;
  const float pz = z + 1 < extent.nz ? direction(u, x, y, z + 1, extent, r, eps2).z : 0.0f;
  g[VOXEL(x, y, z)] = fma(r.z, p.z - pz, fma(r.y, p.y - py, r.x * (p.x - px)));
}
