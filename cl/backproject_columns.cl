// backproject_exact for CPUs, from detector columns one after the other (LAYOUT_COLUMNS): two columns are blended into one, which is then
// used for all voxels of a line along the index axis AXIAL (1 or 2: j or k), along which U and W change in no view. The bits of
// backproject_exact.
#pragma OPENCL FP_CONTRACT OFF
#include "extent.clh"
#include "lanes.clh"
#include "voxel_driven.clh"

#ifndef AXIAL
#define AXIAL 2
#endif
// Voxels along x and along the axis of a work-item, and detector rows that it can blend.
#define STRIP 16
#define DEPTH 64
#define BLENDED 256

// Work-items: (nx / STRIP, ny, slices / DEPTH), or if AXIAL is 1 (nx / STRIP, slices, ny / DEPTH), not rounded up further.
__kernel void backproject_columns(__global const float* restrict filtered, __global const float4* restrict matrices,
                                  __global float* restrict volume, Extent extent, PerAxis centre, Batch batch,
                                  float correlation) {
  const int i = STRIP * (int)get_global_id(0);
  const int j = AXIAL == 2 ? (int)get_global_id(1) : DEPTH * (int)get_global_id(2);
  const int slice = extent.begin + (AXIAL == 2 ? DEPTH * (int)get_global_id(2) : (int)get_global_id(1));
  const size_t plane = (size_t)extent.nx * extent.ny, next = AXIAL == 2 ? plane : (size_t)extent.nx;
  const int width = min(STRIP, extent.nx - i), depth = min(DEPTH, AXIAL == 2 ? extent.end - slice : extent.ny - j);
  volume += plane * (slice - extent.offset) + (size_t)j * extent.nx + i;

  float sum[STRIP][DEPTH];
  for (int s = 0; s < DEPTH; ++s)
    for (int n = 0; n < width; ++n) sum[n][s] = s < depth ? volume[next * s + n] : 0.0f;

  float blended[BLENDED + 1];  // rows from `lowest` on
  const float y = (float)j - centre.y, z = (float)slice - centre.z;
  const float last_y = AXIAL == 2 ? y : y + (float)(depth - 1), last_z = AXIAL == 2 ? z + (float)(depth - 1) : z;
  for (int view = 0; view < batch.views; ++view) {
    const size_t row = 3 * (size_t)(batch.first_view + view);
    const float4 mu = matrices[row], mv = matrices[row + 1], mw = matrices[row + 2];
    for (int n = 0; n < width; ++n) {
      const float x = (float)(i + n) - centre.x;
      const float w = fma(z, mw.z, fma(x, mw.x, fma(y, mw.y, mw.w)));
      const bool in_front = w > 0.0f;
      const float inverse_w = in_front ? 1.0f / w : 0.0f;
      const float weight = voxel_weight(inverse_w, in_front);
      const float u = fma(z, mu.z, fma(x, mu.x, fma(y, mu.y, mu.w))) * inverse_w;
      const Position across = position(u, 0, batch.columns);
      if (!across.inside) continue;
      __global const float* left = filtered + ((size_t)(batch.columns + 2) * view + across.quad) * (batch.held + 2);
      __global const float* right = left + batch.held + 2;
      const float high = across.fraction, low = 1.0f - high;
#ifdef VARIANCE
      const float across_kappa = kappa(u, correlation);
#endif
      // v goes one way along the axis; rows are numbered as in `left`, whose border holds zeros
      const float first_v = fma(z, mv.z, fma(x, mv.x, fma(y, mv.y, mv.w)));
      const float last_v = fma(last_z, mv.z, fma(x, mv.x, fma(last_y, mv.y, mv.w)));
      const int top = position(ROW_AT(first_v, inverse_w), batch.row_begin, batch.held).quad;
      const int bottom = position(ROW_AT(last_v, inverse_w), batch.row_begin, batch.held).quad;
      const int lowest = clamp(min(top, bottom), 0, batch.held), highest = clamp(max(top, bottom), 0, batch.held);
      for (int part = lowest; part <= highest; part += BLENDED) {
        const int count = min(BLENDED, highest - part + 1);
        for (int r = 0; r <= count; ++r) blended[r] = fma(high, right[part + r], low * left[part + r]);
        for (int s = 0; s < depth; s += 8) {
          const lanes along = (float)s + (lanes)(0, 1, 2, 3, 4, 5, 6, 7);
          const lanes ys = AXIAL == 2 ? (lanes)(y) : y + along, zs = AXIAL == 2 ? z + along : (lanes)(z);
          const lanes v = ROW_AT(
              fma(zs, (lanes)(mv.z), fma((lanes)(x), (lanes)(mv.x), fma(ys, (lanes)(mv.y), (lanes)(mv.w)))), inverse_w);
          lanes fraction;
          const int8 quad = split(v, &fraction) - (batch.row_begin - 1) - part,
                     at = clamp(quad, (int8)(0), (int8)(count - 1));
          const float16 pairs = PAIRS(blended, at);
          lanes value = fma(fraction, pairs.odd, (1.0f - fraction) * pairs.even);
#ifdef VARIANCE
          value *= across_kappa * fma(-2.0f * fraction * (1.0f - fraction), (lanes)(1.0f), (lanes)(1.0f));
#endif
          const lanes old = vload8(0, &sum[n][s]);
          vstore8(select(old, fma(value, (lanes)(weight), old), quad == at), 0, &sum[n][s]);
        }
      }
    }
  }

  for (int s = 0; s < depth; ++s)
    for (int n = 0; n < width; ++n) volume[next * s + n] = sum[n][s];
}
