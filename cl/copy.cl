#include "extent.clh"

// to = from on slices begin <= z < end.
//
// Arrays: two volumes, x fastest, the first slice in the buffers is `offset` (extent.clh). No halo.
__kernel void copy_slices(__global const float* restrict from, __global float* restrict to, Extent extent) {
  const int x = (int)get_global_id(0), y = (int)get_global_id(1), z = extent.begin + (int)get_global_id(2);
  if (x >= extent.nx || y >= extent.ny || z >= extent.end) return;
  const size_t i = x + (size_t)extent.nx * (y + (size_t)extent.ny * (z - extent.offset));
  to[i] = from[i];
}

// to = from, 16 bytes a work-item: the fastest copy, which benchmarks measure others against.
__kernel void copy_vector(__global const float4* restrict from, __global float4* restrict to, ulong count) {
  const size_t i = get_global_id(0);
  if (i < count) to[i] = from[i];
}

// Four copies in one command: to[to_at + i] = from[from_at + i] for i < count, 16 bytes a word. Row y of work-items makes
// copy y; none for a count of 0.
__kernel void copy_several(__global const uint4* from0, __global uint4* to0, ulong from0_at, ulong to0_at, ulong count0,
                           __global const uint4* from1, __global uint4* to1, ulong from1_at, ulong to1_at, ulong count1,
                           __global const uint4* from2, __global uint4* to2, ulong from2_at, ulong to2_at, ulong count2,
                           __global const uint4* from3, __global uint4* to3, ulong from3_at, ulong to3_at,
                           ulong count3) {
  const size_t i = get_global_id(0);
#define COPY(n)                                                          \
  case n:                                                                \
    if (i < count##n) to##n[to##n##_at + i] = from##n[from##n##_at + i]; \
    break;
  switch (get_global_id(1)) { COPY(0) COPY(1) COPY(2) COPY(3) }
}
