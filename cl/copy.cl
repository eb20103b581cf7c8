// to = from on slices begin <= z < end.
//
// Arrays: two volumes, x fastest, the first slice in the buffers is `offset`. No halo.
__kernel void copy_slices(__global const float* restrict from, __global float* restrict to, int nx, int ny, int offset,
                          int begin, int end) {
  const int x = (int)get_global_id(0), y = (int)get_global_id(1), z = begin + (int)get_global_id(2);
  if (x >= nx || y >= ny || z >= end) return;
  const size_t i = x + (size_t)nx * (y + (size_t)ny * (z - offset));
  to[i] = from[i];
}

// to = from, 16 bytes a work-item: the fastest copy, which benchmarks measure others against.
__kernel void copy_vector(__global const float4* restrict from, __global float4* restrict to, ulong count) {
  const size_t i = get_global_id(0);
  if (i < count) to[i] = from[i];
}
