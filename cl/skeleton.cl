// The smallest stencil method, to copy when you add one: explicit heat diffusion,
//   skeleton_step  v_i = u_i + sum over the axes a of  c_a (u_{i + e_a} - 2 u_i + u_{i - e_a}),  c_a = tau / h_a^2,
//                  neighbours outside of the volume taken as u_i (Neumann)
//   skeleton_sums  per slice: the sum of u
//
// Arrays: volumes u and v, x fastest; the first slice in the buffers has the global number `offset`. Halo: one slice
// low and one high. Tunables: group shape (host); sums.clh's.
//
// What every kernel here keeps to, so that one slab and many give the same bits:
// - x, y, z are global: a face of the volume is z == 0 or z == nz - 1, never the end of a buffer;
// - fma() where it is meant, contraction off, no relaxed math;
// - the range is guarded, as the global size is rounded up to the group; a guard must not skip a barrier.
#pragma OPENCL FP_CONTRACT OFF
#include "sums.clh"
#include "tv.clh"

__kernel void skeleton_step(__global const float* restrict u, __global float* restrict v, Extent extent, PerAxis c) {
  const int x = (int)get_global_id(0), y = (int)get_global_id(1), z = extent.begin + (int)get_global_id(2);
  if (x >= extent.nx || y >= extent.ny || z >= extent.end) return;
  const size_t row = (size_t)extent.nx, plane = row * (size_t)extent.ny, i = VOXEL(x, y, z);
  const float here = u[i];
  const float ddx = (x + 1 < extent.nx ? u[i + 1] - here : 0.0f) - (x > 0 ? here - u[i - 1] : 0.0f);
  const float ddy = (y + 1 < extent.ny ? u[i + row] - here : 0.0f) - (y > 0 ? here - u[i - row] : 0.0f);
  const float ddz = (z + 1 < extent.nz ? u[i + plane] - here : 0.0f) - (z > 0 ? here - u[i - plane] : 0.0f);
  v[i] = fma(c.z, ddz, fma(c.y, ddy, fma(c.x, ddx, here)));
}

__kernel void skeleton_sums(__global const float* restrict u, __global sum_t* restrict partials, Extent extent) {
  STORE_SUMS(1, (real4)(u[VOXEL(x, y, z)], 0, 0, 0))
}
