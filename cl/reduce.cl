// Per-slice sums of the values that the stems' kernels left in "partials" (layout: sums.clh), in a fixed order:
//
//   reduce_slices  sums[slice][part][2d], [2d + 1], d = before + c, of `values` a part = sum over sets of
//                  partials[slice][c][part][set], as the bits of two doubles whose sum is the value; volumes: one part
//                  a slice; views: a part for each segment of rows
//
//   reduce_parts  sums[slice][0] = the sum of the parts of each of `count` slices, value by value: both doubles by
//                 themselves; with LARGEST the largest
//
//   reduce_columns  largest[slice][x] = the largest of the column's y, of a volume
//   reduce_largest  sums[slice][0] = the largest of `count` of them, sums[slice][1] = 0, as the bits of doubles
//
// reduce_parts: work-items (values, slices). The last two: (x, slices); slices.
//
// Groups of the first: (up to REDUCE_ITEMS, 1, 1), one along the items, over (items, c, slices x parts): REDUCE_ITEMS
// sums whatever the group. Arrays of kind slice; no halo; no tunables. Without float64 on the device the pair is (sum,
// rounding error) of floats, widened with integers.
#pragma OPENCL FP_CONTRACT OFF
#include "numbers.clh"

#define REDUCE_ITEMS 64

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

__kernel void reduce_slices(__global const sum_t* restrict partials, __global ulong* restrict sums, int sets,
                            int components, int before, int values, int parts_of_slice, int offset, int begin) {
  __local sum_t parts[REDUCE_ITEMS];
  const int item = (int)get_local_id(0), c = (int)get_global_id(1), n_of_all = (int)get_global_id(2),
            slice = begin + n_of_all / parts_of_slice - offset, part = n_of_all % parts_of_slice;
  const size_t at = ((size_t)slice * components + c) * parts_of_slice + part,
               to = ((size_t)slice * parts_of_slice + part) * values + before + c;
  sum_t sum;
  for (int n = item; n < REDUCE_ITEMS; n += (int)get_local_size(0)) {
    sum = NO_SUM;
    for (int set = n; set < sets; set += REDUCE_ITEMS) sum = add_sums(sum, partials[at * sets + set]);
    parts[n] = sum;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  if (item > 0) return;
  sum = parts[0];
  for (int n = 1; n < REDUCE_ITEMS; ++n) sum = add_sums(sum, parts[n]);
#ifdef USE_FP64
  sums[2 * to] = as_ulong(sum);
  sums[2 * to + 1] = 0;
#else
  sums[2 * to] = double_bits(sum.x);
  sums[2 * to + 1] = double_bits(sum.y);
#endif
}

__kernel void reduce_parts(__global ulong* restrict sums, int parts, int values, int count) {
  const int value = (int)get_global_id(0), slice = (int)get_global_id(1);
  if (value >= values || slice >= count) return;
  __global ulong* own = sums + 2 * ((size_t)slice * parts * values + value);
#if defined(LARGEST) && defined(USE_FP64)
  own[0] = as_ulong(largest_of(own, parts, values, 0));
#elif defined(LARGEST)
  own[0] = double_bits(largest_of(own, parts, values, 0));
#elif defined(USE_FP64)
  double high = 0, low = 0;
  for (int n = 0; n < parts; ++n) {
    high += as_double(own[2 * (size_t)n * values]);
    low += as_double(own[2 * (size_t)n * values + 1]);
  }
  own[0] = as_ulong(high);
  own[1] = as_ulong(low);
#else
  sum_t sum = NO_SUM;
  for (int n = 0; n < parts; ++n) {
    const size_t at = 2 * (size_t)n * values;
    sum = add_sums(sum, (sum_t)(float_of_bits(own[at]), float_of_bits(own[at + 1])));
  }
  own[0] = double_bits(sum.x);
  own[1] = double_bits(sum.y);
#endif
}

__kernel void reduce_columns(__global const float* restrict volume, __global float* restrict largest, Extent extent) {
  const int x = (int)get_global_id(0), slice = extent.begin + (int)get_global_id(1) - extent.offset;
  if (x >= extent.nx || slice + extent.offset >= extent.end) return;
  __global const float* column = volume + (size_t)slice * extent.nx * (size_t)extent.ny + x;
  float most = column[0];
  for (int y = 1; y < extent.ny; ++y) most = fmax(most, column[(size_t)y * extent.nx]);
  largest[(size_t)slice * extent.nx + x] = most;
}

__kernel void reduce_largest(__global const float* restrict largest, __global ulong* restrict sums, int count,
                             Extent extent) {
  const int slice = extent.begin + (int)get_global_id(0) - extent.offset;
  if (slice + extent.offset >= extent.end) return;
  float most = largest[(size_t)slice * count];
  for (int n = 1; n < count; ++n) most = fmax(most, largest[(size_t)slice * count + n]);
#ifdef USE_FP64
  sums[2 * slice] = as_ulong((double)most);
#else
  sums[2 * slice] = double_bits(most);
#endif
  sums[2 * slice + 1] = 0;
}
