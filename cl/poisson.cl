// Pixel by pixel and voxel by voxel, for solvers that maximise the likelihood of counts (algorithms/solvers/osem.hpp,
// ml_tr.hpp):
//
//   poisson_ratio       r = max(b, 0) / r, 0 where r <= 0
//   poisson_transmit    y = exp(-x)
//   poisson_scale       x = x u w where w > 0
//   poisson_support     x = 1 where x > 0, else 0
//   poisson_divergence  per view: the sum of b log(b / y) - b + y over y > 0, with max(b, 0) for b (Kullback & Leibler)
//
// Arrays: volumes or projections; elements first to end - 1 of them, no halo. Work-items: one an element; of the sum,
// see sums.clh.
// Tunables: group shape (host); sums.clh's.
#pragma OPENCL FP_CONTRACT OFF
#include "sums.clh"

__kernel void poisson_ratio(__global const float* restrict b, __global float* restrict r, ulong first, ulong end) {
  const size_t i = first + get_global_id(0);
  if (i < end) r[i] = r[i] > 0.0f ? fmax(b[i], 0.0f) / r[i] : 0.0f;
}

__kernel void poisson_transmit(__global const float* restrict x, __global float* restrict y, ulong first, ulong end) {
  const size_t i = first + get_global_id(0);
  if (i < end) y[i] = exp(-x[i]);
}

__kernel void poisson_scale(__global const float* restrict u, __global const float* restrict w,
                            __global float* restrict x, ulong first, ulong end) {
  const size_t i = first + get_global_id(0);
  if (i < end && w[i] > 0.0f) x[i] = x[i] * (u[i] * w[i]);
}

__kernel void poisson_support(__global float* restrict x, ulong first, ulong end) {
  const size_t i = first + get_global_id(0);
  if (i < end) x[i] = x[i] > 0.0f ? 1.0f : 0.0f;
}

INLINE real divergence(float measured, float expected) {
  if (!(expected > 0.0f)) return 0;
  const real b = fmax(measured, 0.0f), y = expected;
  return b > 0 ? b * log(b / y) - b + y : y;
}

#define AT(x, y, z) ((size_t)(x) + (size_t)extent.nx * ((size_t)(y) + (size_t)extent.ny * (size_t)((z)-extent.offset)))

__kernel void poisson_divergence(__global const float* restrict b, __global const float* restrict expected,
                                 __global sum_t* restrict partials, Extent extent) {
  STORE_SUMS(1, (real4)(divergence(b[AT(x, y, z)], expected[AT(x, y, z)]), 0, 0, 0))
}
