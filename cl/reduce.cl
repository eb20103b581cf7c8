// Per-slice sums of what the stems' kernels left in "partials" (layout: sums.clh), in two steps and a fixed order.
//
//   reduce_partials  lane_sums[slice][c][lane] = sum over segments of partials[slice][c][segment][lane]
//   reduce_lanes     sums[slice][2c], [2c + 1] = sum over lanes, as the bits of two doubles whose sum is the value
//
// Work-items: (lane, c, slice) and (c, slice). Arrays of kind slice; no halo. No barriers: CPUs run those slowly, and both
// steps are short. Without float64 on the device the pair is (sum, rounding error) of floats, widened with integers.
#pragma OPENCL FP_CONTRACT OFF
#include "sums.clh"

__kernel void reduce_partials(__global const sum_t* restrict partials, __global sum_t* restrict lane_sums, int lanes,
                              int segments, int components, int offset, int begin, int end) {
  const int lane = (int)get_global_id(0), c = (int)get_global_id(1), slice = begin + (int)get_global_id(2) - offset;
  if (lane >= lanes || c >= components || slice >= end - offset) return;
  const size_t at = (size_t)slice * components + c;
  sum_t sum = NO_SUM;
  for (int segment = 0; segment < segments; ++segment)
    sum = add_sums(sum, partials[at * ((size_t)lanes * segments) + lane + (size_t)lanes * segment]);
  lane_sums[at * lanes + lane] = sum;
}

#ifndef USE_FP64
// The bits of the double with this value; numbers too small for a normal float become 0.
ulong double_bits(float value) {
  const uint bits = as_uint(value);
  const uint exponent = (bits >> 23) & 0xffu, mantissa = bits & 0x7fffffu;
  const ulong sign = (ulong)(bits >> 31) << 63;
  if (exponent == 0) return sign;
  const ulong wide = exponent == 255 ? 2047 : exponent + 896;
  return sign | (wide << 52) | ((ulong)mantissa << 29);
}
#endif

__kernel void reduce_lanes(__global const sum_t* restrict lane_sums, __global ulong* restrict sums, int lanes,
                           int components, int offset, int begin, int end) {
  const int c = (int)get_global_id(0), slice = begin + (int)get_global_id(1) - offset;
  if (c >= components || slice >= end - offset) return;
  const size_t at = (size_t)slice * components + c;
  sum_t sum = NO_SUM;
  for (int lane = 0; lane < lanes; ++lane) sum = add_sums(sum, lane_sums[at * lanes + lane]);
#ifdef USE_FP64
  sums[2 * at] = as_ulong(sum);
  sums[2 * at + 1] = 0;
#else
  sums[2 * at] = double_bits(sum.x);
  sums[2 * at + 1] = double_bits(sum.y);
#endif
}
