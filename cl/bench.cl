// Kernels of benches beside those that they measure: the data, and the rate at which a device fetches.
//
// bench_fill: to[layer][row][column] = value number (n * rows + row) * columns + column (bench.clh) of layer n of a stack of `columns` x
// `rows`, rows `row_begin` to `row_begin + held` of it; layer `at` of the array is layer `first` of the stack.
//
// bench_fetch and bench_gather: FETCHES reads a work-item, at places that move as those of neighbouring voxels and views do: half a pixel
// from one work-item to the next, a third from one read to the next. sums[work-item] keeps them from being left out.
//   bench_fetch   of an image array, interpolated by the sampler
//   bench_gather  of a buffer [layer][row][column] of gathered_t: float4 with WIDE, else float
// Each layer is `edge` x `edge` large; `edge` is at least a half of the larger of width and height, a third of FETCHES, and 2. No halo.
//
// bench_fma: CHAINS independent chains of `rounds` fused multiply-adds of LANES numbers each (4 or 16), 2 LANES CHAINS rounds
// operations a work-item: the device's peak in float32. sums[work-item] keeps them from being left out.
//
// NEAREST: the sampler takes the nearest texel.
//
// Tunables: FETCHES; UNROLL of them written out; LANES.
#pragma OPENCL FP_CONTRACT OFF
#include "bench.clh"

#ifndef FETCHES
#define FETCHES 64
#endif
#ifndef UNROLL
#define UNROLL 8
#endif

#define CHAINS 8
#ifndef LANES
#define LANES 4
#endif
#if LANES == 16
typedef float16 lanes_t;
#define FOLDED(lanes) ((lanes).s0123 + (lanes).s4567 + (lanes).s89ab + (lanes).scdef)
#else
typedef float4 lanes_t;
#define FOLDED(lanes) (lanes)
#endif

// Work-items: (items, 1, 1).
__kernel void bench_fma(__global float* restrict sums, int items, int rounds, float factor) {
  const int i = get_global_id(0);
  if (i >= items) return;
  lanes_t chains[CHAINS];
#pragma unroll
  for (int n = 0; n < CHAINS; ++n) chains[n] = (lanes_t)((float)(i + n));
  for (int round = 0; round < rounds; ++round) {
#pragma unroll
    for (int n = 0; n < CHAINS; ++n) chains[n] = fma(chains[n], (lanes_t)(factor), (lanes_t)(1.0f));
  }
  float4 sum = (float4)(0.0f);
#pragma unroll
  for (int n = 0; n < CHAINS; ++n) sum += FOLDED(chains[n]);
  sums[i] = (sum.x + sum.y) + (sum.z + sum.w);
}

// Work-items: (columns, held, layers).
__kernel void bench_fill(__global float* restrict to, int columns, int held, int layers, int row_begin, int rows,
                         int at, int first) {
  const int column = get_global_id(0), row = get_global_id(1), layer = get_global_id(2);
  if (column >= columns || row >= held || layer >= layers) return;
  const ulong n = ((ulong)(first + layer) * rows + row_begin + row) * columns + column;
  to[((size_t)(at + layer) * held + row) * columns + column] = bench_value((uint)n, (uint)(n >> 32));
}

#ifdef USE_IMAGE
#ifdef NEAREST
#define FILTER CLK_FILTER_NEAREST
#else
#define FILTER CLK_FILTER_LINEAR
#endif
__constant sampler_t sampler = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP | FILTER;

// Work-items: (width, height, layers).
__kernel void bench_fetch(__read_only image2d_array_t from, __global float* restrict sums, int width, int height,
                          int layers) {
  const int x = get_global_id(0), y = get_global_id(1), layer = get_global_id(2);
  if (x >= width || y >= height || layer >= layers) return;
  float4 sum = (float4)(0.0f);
#pragma unroll UNROLL
  for (int n = 0; n < FETCHES; ++n) {
    const float step = (float)n * 0.33f + 1.0f;
    sum +=
        read_imagef(from, sampler, (float4)(fma(0.5f, (float)x, step), fma(0.5f, (float)y, step), (float)layer, 0.0f));
  }
  sums[((size_t)layer * height + y) * width + x] = (sum.x + sum.y) + (sum.z + sum.w);
}
#else
#ifdef WIDE
typedef float4 gathered_t;
#define TOTAL(sum) ((sum.x + sum.y) + (sum.z + sum.w))
#else
typedef float gathered_t;
#define TOTAL(sum) (sum)
#endif

// Work-items: (width, height, layers).
__kernel void bench_gather(__global const gathered_t* restrict from, __global float* restrict sums, int width,
                           int height, int layers, int edge) {
  const int x = get_global_id(0), y = get_global_id(1), layer = get_global_id(2);
  if (x >= width || y >= height || layer >= layers) return;
  from += (size_t)edge * edge * layer;
  gathered_t sum = (gathered_t)(0.0f);
#pragma unroll UNROLL
  for (int n = 0; n < FETCHES; ++n) {
    const float step = (float)n * 0.33f + 1.0f;
    sum += from[(int)fma(0.5f, (float)y, step) * edge + (int)fma(0.5f, (float)x, step)];
  }
  sums[((size_t)layer * height + y) * width + x] = TOTAL(sum);
}
#endif
