// backproject_exact for CPUs, where U and W change along every axis: 8 neighbours of a row at a time, in vectors whose arithmetic has the bits
// of the same in single floats. The compiler leaves the portable form scalar. A work-item takes a block of voxels, which see the same few
// pixels of a view.
#pragma OPENCL FP_CONTRACT OFF
#include "extent.clh"
#include "lanes.clh"
#include "voxel_driven.clh"

#define VECTORS 2
#define DEPTH 8
#define HEIGHT 8

// Work-items: (nx / (8 VECTORS), ny / DEPTH, slices / HEIGHT), not rounded up further.
__kernel void backproject_lanes(__global const float4* restrict filtered, __global const float4* restrict matrices,
                                __global float* restrict volume, Extent extent, PerAxis centre, Batch batch,
                                float correlation) {
  const int i = 8 * VECTORS * (int)get_global_id(0), j = DEPTH * (int)get_global_id(1),
            slice = extent.begin + HEIGHT * (int)get_global_id(2);
  const int width = min(8 * VECTORS, extent.nx - i), depth = min(DEPTH, extent.ny - j),
            height = min(HEIGHT, extent.end - slice);
  const size_t plane = (size_t)extent.nx * extent.ny;
  volume += plane * (slice - extent.offset) + (size_t)j * extent.nx + i;

  float sum[HEIGHT][DEPTH][8 * VECTORS];
  for (int s = 0; s < height; ++s)
    for (int l = 0; l < depth; ++l)
      for (int n = 0; n < 8 * VECTORS; ++n)
        sum[s][l][n] = n < width ? volume[plane * s + (size_t)l * extent.nx + n] : 0.0f;

  for (int view = 0; view < batch.views; ++view) {
    const size_t row = 3 * (size_t)(batch.first_view + view);
    const float4 mu = matrices[row], mv = matrices[row + 1], mw = matrices[row + 2];
    __global const float4* restrict quads = filtered + (size_t)(batch.columns + 1) * (batch.held + 1) * view;
    for (int l = 0; l < depth; ++l) {
      const float y = (float)(j + l) - centre.y;
      for (int n = 0; n < width; n += 8) {
        const lanes x = ((float)(i + n) + (lanes)(0, 1, 2, 3, 4, 5, 6, 7)) - centre.x;
        const lanes base_u = fma(x, (lanes)(mu.x), (lanes)(fma(y, mu.y, mu.w)));
        const lanes base_v = fma(x, (lanes)(mv.x), (lanes)(fma(y, mv.y, mv.w)));
        const lanes base_w = fma(x, (lanes)(mw.x), (lanes)(fma(y, mw.y, mw.w)));
        for (int s = 0; s < height; ++s) {
          const lanes z = (float)(slice + s) - centre.z;
          const lanes w = fma(z, (lanes)(mw.z), base_w);
          const int8 in_front = w > 0.0f;
          const lanes inverse_w = select((lanes)(0.0f), 1.0f / w, in_front);
#if DISTANCE_WEIGHT
          lanes weight = inverse_w * inverse_w;
#else
          lanes weight = select((lanes)(0.0f), (lanes)(1.0f), in_front);
#endif
          const lanes u = fma(z, (lanes)(mu.z), base_u) * inverse_w;
          lanes v = ROW_AT(fma(z, (lanes)(mv.z), base_v), inverse_w);
#ifdef SINGLE_ROW
          v = select((lanes)(-2.0f), (lanes)(0.0f), fabs(v) <= 0.5f);
#endif
          lanes across, along;  // fractions
          const int8 column = split(u, &across) + 1, line = split(v, &along) - batch.row_begin + 1;
          const int8 inside = (column >= 0) & (column <= batch.columns) & (line >= 0) & (line <= batch.held);
          const int8 at = (line * (batch.columns + 1) + column) & inside;
          const float4 a = quads[at.s0], b = quads[at.s1], c = quads[at.s2], d = quads[at.s3];
          const float4 e = quads[at.s4], f = quads[at.s5], g = quads[at.s6], h = quads[at.s7];
#define OF_ALL(which) (lanes)(a.which, b.which, c.which, d.which, e.which, f.which, g.which, h.which)
          const lanes low = fma(across, OF_ALL(y), (1.0f - across) * OF_ALL(x));
          const lanes high = fma(across, OF_ALL(w), (1.0f - across) * OF_ALL(z));
#undef OF_ALL
          lanes value = select((lanes)(0.0f), fma(along, high, (1.0f - along) * low), inside);
#ifdef VARIANCE
          weight *= weight;
          value *= fma(-2.0f * across * (1.0f - across), (lanes)(1.0f - correlation), (lanes)(1.0f)) *
                   fma(-2.0f * along * (1.0f - along), (lanes)(1.0f), (lanes)(1.0f));
#endif
          vstore8(fma(value, weight, vload8(0, &sum[s][l][n])), 0, &sum[s][l][n]);
        }
      }
    }
  }

  for (int s = 0; s < height; ++s)
    for (int l = 0; l < depth; ++l)
      for (int n = 0; n < width; ++n) volume[plane * s + (size_t)l * extent.nx + n] = sum[s][l][n];
}
