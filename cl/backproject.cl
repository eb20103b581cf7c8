// Voxel-driven back-projection (Feldkamp, Davis & Kress 1984): for every voxel x and the views n of a batch, in their order,
//
//   volume(x) += weight * p_n(u, v),   (U, V, W) = M_n (i - cx, j - cy, k - cz, 1),   u = U/W, v = V/W,
//   weight = 1/W^2 (DISTANCE_WEIGHT) or 1,
//
// with p_n interpolated bilinearly between detector pixels and zero outside the detector. M_n maps volume indices about the volume's
// centre to detector pixel indices and is prepared in double; W is 1 at the isocentre's depth and everywhere in a parallel beam. Points
// behind the source (W <= 0) add nothing.
//
// VARIANCE: p_n holds variances of pixels that are independent but for the correlation r of neighbours in a row (the ramp filter's).
// The weight is squared, and the variance of an interpolated value is the interpolated variance times
//   kappa = (1-a)^2 + a^2 + 2 a (1-a) r    for each axis, a the fraction (r = 0 along v): Borsdorf et al. 2008.
//
// Arrays: matrices[view][12]; volume[slice][y][x], of which the slices of `extent` are computed; filtered, the rows of the detector that are
// held (`batch`), as filtered.clh lays them out for the form. This file is the reference: quads of 2 x 2 pixels, one aligned load a voxel and view
// instead of four (1.7 times as fast on an H200), and no border to guard. Forms that are faster somewhere, with the same bits but where noted:
//
//   file                    layout    for                                     defines beside those of all
//   backproject.cl          quads     all                                     K_INVARIANT, SINGLE_ROW
//   backproject_tile.cl     columns   GPUs, local memory; k along the axis    GROUP_WIDTH, GROUP_HEIGHT, TILE_BYTES
//   backproject_image.cl    textures  GPUs; these bits with EXACT_TEXELS      PACK or EXACT_TEXELS, K_INVARIANT, SINGLE_ROW
//   backproject_columns.cl  columns   CPUs, U and W constant along j or k     AXIAL
//   backproject_lanes.cl    quads     CPUs                                    SINGLE_ROW
//   backproject_copy.cl               stores projections that are unfiltered  the layout's
//
// Of all: DISTANCE_WEIGHT (0, 1), VARIANCE, FAN_STACK (v = V: each row is seen by a fan of its own).
// K_INVARIANT: U and W do not depend on k in any view (k along the rotation axis, no tilt), which saves
// most of the arithmetic and gives the same bits. SINGLE_ROW: a detector of one row (fan beam) is taken as constant over its height of one
// pixel. K_UNROLL: slices a work-item.
// No halo. U, V and W always come from the global slice number, and the sum starts from the stored voxel, so neither slabs nor batches
// change a bit of the result.
#pragma OPENCL FP_CONTRACT OFF
#include "extent.clh"
#include "voxel_driven.clh"

#ifndef K_UNROLL
#define K_UNROLL 4
#endif

__kernel void backproject_exact(__global const float4* restrict filtered, __global const float4* restrict matrices,
                                __global float* restrict volume, Extent extent, PerAxis centre, Batch batch,
                                float correlation) {
  const int i = get_global_id(0), j = get_global_id(1), slice = extent.begin + K_UNROLL * (int)get_global_id(2);
  if (i >= extent.nx || j >= extent.ny || slice >= extent.end) return;
  const size_t plane = (size_t)extent.nx * extent.ny;
  __global float* voxel = volume + plane * (slice - extent.offset) + (size_t)j * extent.nx + i;

  float sum[K_UNROLL];
#pragma unroll
  for (int s = 0; s < K_UNROLL; ++s) sum[s] = slice + s < extent.end ? voxel[plane * s] : 0.0f;

  const float x = (float)i - centre.x, y = (float)j - centre.y;
  for (int view = 0; view < batch.views; ++view) {
    const size_t row = 3 * (size_t)(batch.first_view + view);
    const float4 mu = matrices[row], mv = matrices[row + 1], mw = matrices[row + 2];
    const float base_u = fma(x, mu.x, fma(y, mu.y, mu.w));
    const float base_v = fma(x, mv.x, fma(y, mv.y, mv.w));
    const float base_w = fma(x, mw.x, fma(y, mw.y, mw.w));
    __global const float4* restrict quads = filtered + (size_t)(batch.columns + 1) * (batch.held + 1) * view;
#ifdef K_INVARIANT
    const bool in_front = base_w > 0.0f;
    const float inverse_w = in_front ? 1.0f / base_w : 0.0f;
    const float weight = voxel_weight(inverse_w, in_front);
    const float u = base_u * inverse_w;
    const Position across = position(u, 0, batch.columns);
#endif
#pragma unroll
    for (int s = 0; s < K_UNROLL; ++s) {
      const float z = (float)(slice + s) - centre.z;
#ifndef K_INVARIANT
      const float w = fma(z, mw.z, base_w);
      const bool in_front = w > 0.0f;
      const float inverse_w = in_front ? 1.0f / w : 0.0f;
      const float weight = voxel_weight(inverse_w, in_front);
      const float u = fma(z, mu.z, base_u) * inverse_w;
      const Position across = position(u, 0, batch.columns);
#endif
      const float v = row_of(ROW_AT(fma(z, mv.z, base_v), inverse_w));
      const Position along = position(v, batch.row_begin, batch.held);
      const bool inside = across.inside && along.inside;
      const float4 quad = quads[inside ? along.quad * (batch.columns + 1) + across.quad : 0];
      const float low = fma(across.fraction, quad.y, (1.0f - across.fraction) * quad.x);
      const float high = fma(across.fraction, quad.w, (1.0f - across.fraction) * quad.z);
      float value = inside ? fma(along.fraction, high, (1.0f - along.fraction) * low) : 0.0f;
#ifdef VARIANCE
      value *= kappa(u, correlation) * kappa(v, 0.0f);
#endif
      sum[s] = fma(value, weight, sum[s]);
    }
  }

#pragma unroll
  for (int s = 0; s < K_UNROLL; ++s)
    if (slice + s < extent.end) voxel[plane * s] = sum[s];
}
