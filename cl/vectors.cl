// Voxel by voxel and pixel by pixel, for solvers (algorithms/solvers/vector_steps.hpp):
//
//   vectors_set         y = a
//   vectors_scale       y = a x
//   vectors_rescale     y = a y
//   vectors_combine     y = a x + b y
//   vectors_reciprocal  y = 1 / y, 0 where y <= 0
//   vectors_residual    r = (b - r) w
//   vectors_multiply    y = x y
//   vectors_choose      y = x where a > 0, else y
//   vectors_clamp       y = min(upper, max(lower, y))
//   vectors_update      x = min(upper, max(lower, x + a u w))
//   vectors_extrapolate u = u + a (u - x), x = u as it was
//   vectors_dot         per slice or view: the sum of x y
//   vectors_weigh       per slice or view: the sum of w x y
//   vectors_distance    per slice or view: the sum of (x - y)^2
//   vectors_turn        per slice or view: the sum of (y - u) (u - x) / w over w > 0
//
// Arrays: volumes or projections; elements first to end - 1 of them, no halo. Work-items: one an element; of the sums,
// see sums.clh.
// Tunables: group shape (host); sums.clh's.
#pragma OPENCL FP_CONTRACT OFF
#include "sums.clh"

__kernel void vectors_set(__global float* restrict y, float a, ulong first, ulong end) {
  const size_t i = first + get_global_id(0);
  if (i < end) y[i] = a;
}

__kernel void vectors_scale(__global const float* restrict x, __global float* restrict y, float a, ulong first,
                            ulong end) {
  const size_t i = first + get_global_id(0);
  if (i < end) y[i] = a * x[i];
}

__kernel void vectors_rescale(__global float* restrict y, float a, ulong first, ulong end) {
  const size_t i = first + get_global_id(0);
  if (i < end) y[i] = a * y[i];
}

__kernel void vectors_combine(__global const float* restrict x, __global float* restrict y, float a, float b,
                              ulong first, ulong end) {
  const size_t i = first + get_global_id(0);
  if (i < end) y[i] = fma(a, x[i], b * y[i]);
}

__kernel void vectors_reciprocal(__global float* restrict y, ulong first, ulong end) {
  const size_t i = first + get_global_id(0);
  if (i < end) y[i] = y[i] > 0.0f ? 1.0f / y[i] : 0.0f;
}

__kernel void vectors_residual(__global const float* restrict b, __global const float* restrict w,
                               __global float* restrict r, ulong first, ulong end) {
  const size_t i = first + get_global_id(0);
  if (i < end) r[i] = (b[i] - r[i]) * w[i];
}

__kernel void vectors_update(__global const float* restrict u, __global const float* restrict w,
                             __global float* restrict x, float a, float lower, float upper, ulong first, ulong end) {
  const size_t i = first + get_global_id(0);
  if (i < end) x[i] = fmin(upper, fmax(lower, fma(a * u[i], w[i], x[i])));
}

__kernel void vectors_multiply(__global const float* restrict x, __global float* restrict y, ulong first, ulong end) {
  const size_t i = first + get_global_id(0);
  if (i < end) y[i] = x[i] * y[i];
}

__kernel void vectors_choose(__global const float* restrict x, __global float* restrict y, float a, ulong first,
                             ulong end) {
  const size_t i = first + get_global_id(0);
  if (i < end && a > 0.0f) y[i] = x[i];
}

__kernel void vectors_clamp(__global float* restrict y, float lower, float upper, ulong first, ulong end) {
  const size_t i = first + get_global_id(0);
  if (i < end) y[i] = fmin(upper, fmax(lower, y[i]));
}

__kernel void vectors_extrapolate(__global float* restrict u, __global float* restrict x, float a, ulong first,
                                  ulong end) {
  const size_t i = first + get_global_id(0);
  if (i >= end) return;
  const float now = u[i];
  u[i] = fma(a, now - x[i], now);
  x[i] = now;
}

#define AT(x, y, z) ((size_t)(x) + (size_t)extent.nx * ((size_t)(y) + (size_t)extent.ny * (size_t)((z)-extent.offset)))

__kernel void vectors_dot(__global const float* restrict a, __global const float* restrict b,
                          __global sum_t* restrict partials,
                          Extent extent){STORE_SUMS(1, (real4)((real)a[AT(x, y, z)] * (real)b[AT(x, y, z)], 0, 0, 0))}

__kernel void vectors_distance(__global const float* restrict a, __global const float* restrict b,
                               __global sum_t* restrict partials, Extent extent){
    STORE_SUMS(1, (real4)(((real)a[AT(x, y, z)] - (real)b[AT(x, y, z)]) * ((real)a[AT(x, y, z)] - (real)b[AT(x, y, z)]),
                          0, 0, 0))}

__kernel void vectors_weigh(__global const float* restrict a, __global const float* restrict b,
                            __global const float* restrict w, __global sum_t* restrict partials, Extent extent){
    STORE_SUMS(1, (real4)((real)w[AT(x, y, z)] * (real)a[AT(x, y, z)] * (real)b[AT(x, y, z)], 0, 0, 0))}

INLINE real turn(float from, float to, float before, float inverse) {
  return inverse > 0.0f ? ((real)from - (real)to) * ((real)to - (real)before) / (real)inverse : 0;
}

__kernel void vectors_turn(__global const float* restrict from, __global const float* restrict to,
                           __global const float* restrict before, __global const float* restrict w,
                           __global sum_t* restrict partials, Extent extent) {
  STORE_SUMS(1, (real4)(turn(from[AT(x, y, z)], to[AT(x, y, z)], before[AT(x, y, z)], w[AT(x, y, z)]), 0, 0, 0))
}
