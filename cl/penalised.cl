// Ray by ray and voxel by voxel, for solvers of 1/2 sum w (A x - b)^2 + lambda TV(x) (algorithms/solvers/spdhg.hpp,
// fista.hpp). p is A x on some views:
//
//   penalised_residual  p = s w (p - b)
//   penalised_rays      the step of the dual r of the data term: p = factor (w (p - b) - r), r = r + p; with
//                       factor = eta / (1 + eta) that is r = (r + eta w (p - b)) / (1 + eta)
//   penalised_steps     tau = scale / max(tau + more, least)
//   penalised_largest   tau = max(tau, d)
//   penalised_total     per slice: the sum of tau
//   penalised_descent   f = y - tau f
//   penalised_momentum  y = u + beta (u - x), x = u
//   penalised_restart   per slice: the sum of (y - u) (u - x) / tau
//   penalised_data      per view: the sums of (p - b)^2 w / 2 and, with r, of (w (p - b) - r)^2 / (2 w)
//
// Without -D WEIGHTED there is no array w, and w = 1.
// Arrays: volumes or projections; elements first to end - 1 of them, no halo. Work-items: one an element; of the sums,
// see sums.clh.
// Tunables: group shape (host); WEIGHTED; sums.clh's.
#pragma OPENCL FP_CONTRACT OFF
#include "sums.clh"

#ifdef WEIGHTED
// clang-format off
#define RAY_WEIGHTS_DECLARED __global const float* restrict w,
// clang-format on
#define RAY_WEIGHT(i) w[i]
#else
#define RAY_WEIGHTS_DECLARED
#define RAY_WEIGHT(i) 1.0f
#endif

__kernel void penalised_residual(__global const float* restrict b, RAY_WEIGHTS_DECLARED __global float* restrict p,
                                 float s, ulong first, ulong end) {
  const size_t i = first + get_global_id(0);
  if (i < end) p[i] = s * RAY_WEIGHT(i) * (p[i] - b[i]);
}

__kernel void penalised_rays(__global const float* restrict b, RAY_WEIGHTS_DECLARED __global float* restrict r,
                             __global float* restrict p, float factor, ulong first, ulong end) {
  const size_t i = first + get_global_id(0);
  if (i >= end) return;
  const float change = factor * fma(RAY_WEIGHT(i), p[i] - b[i], -r[i]);
  p[i] = change;
  r[i] += change;
}

__kernel void penalised_steps(__global float* restrict tau, float scale, float more, float least, ulong first,
                              ulong end) {
  const size_t i = first + get_global_id(0);
  if (i < end) tau[i] = scale / fmax(tau[i] + more, least);
}

__kernel void penalised_largest(__global const float* restrict d, __global float* restrict tau, ulong first,
                                ulong end) {
  const size_t i = first + get_global_id(0);
  if (i < end) tau[i] = fmax(tau[i], d[i]);
}

__kernel void penalised_descent(__global const float* restrict y, __global const float* restrict tau,
                                __global float* restrict f, ulong first, ulong end) {
  const size_t i = first + get_global_id(0);
  if (i < end) f[i] = fma(-tau[i], f[i], y[i]);
}

__kernel void penalised_momentum(__global const float* restrict u, __global float* restrict x,
                                 __global float* restrict y, float beta, ulong first, ulong end) {
  const size_t i = first + get_global_id(0);
  if (i >= end) return;
  const float now = u[i];
  y[i] = fma(beta, now - x[i], now);
  x[i] = now;
}

#define AT(x, y, z) ((size_t)(x) + (size_t)extent.nx * ((size_t)(y) + (size_t)extent.ny * (size_t)((z)-extent.offset)))

__kernel void penalised_total(__global const float* restrict tau, __global sum_t* restrict partials,
                              Extent extent){STORE_SUMS(1, (real4)((real)tau[AT(x, y, z)], 0, 0, 0))}

INLINE real4 restart_term(float y, float u, float x, float tau) {
  return (real4)(((real)y - u) * ((real)u - x) / tau, 0, 0, 0);
}

__kernel void penalised_restart(__global const float* restrict before, __global const float* restrict u,
                                __global const float* restrict old, __global const float* restrict tau,
                                __global sum_t* restrict partials, Extent extent){
    STORE_SUMS(1, restart_term(before[AT(x, y, z)], u[AT(x, y, z)], old[AT(x, y, z)], tau[AT(x, y, z)]))}

INLINE real4 data_terms(real p, real b, real w, real r) {
  const real residual = p - b, rest = fma(w, residual, -r);
  return (real4)(w * residual * residual / 2, w > 0 ? rest * rest / (2 * w) : 0, 0, 0);
}

__kernel void penalised_data(__global const float* restrict p, __global const float* restrict b,
                             RAY_WEIGHTS_DECLARED __global const float* restrict r, __global sum_t* restrict partials,
                             Extent extent) {
  STORE_SUMS(2, data_terms(p[AT(x, y, z)], b[AT(x, y, z)], RAY_WEIGHT(AT(x, y, z)), r[AT(x, y, z)]))
}
