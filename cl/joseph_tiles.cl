// joseph_backproject for CPUs: a work-item holds a tile of voxels and follows the rays that pass it, 8 planes at a time, so that coordinates and
// weights are worked out once a sample, in vectors, and not once for every voxel that a ray may be near. Weights are computed as the
// portable form computes them and added in its order: views, axes, rows, columns. So the bits are those of the portable form.
//
// The tile, [j][i][k], has a border of one voxel, where samples between it and its neighbours leave what belongs to these; they take that from the
// same rays themselves. Tunable: TILE, its edge.
#pragma OPENCL FP_CONTRACT OFF
#include "gather.clh"
#include "joseph.clh"
#include "lanes.clh"

#ifndef TILE
#define TILE 16
#endif
#define EDGE (TILE + 2)

// Adds the contributions of samples beside them to voxel `at` of the tile and its neighbour along k.
#define ADD_PAIR(at, value, weights) vstore2(fma((float2)(value), weights, vload2(0, tile + (at))), 0, tile + (at))
#define ADD(at, value, weight) tile[at] = fma(value, weight, tile[at])

// Work-items: (nx, ny, slices) / TILE.
__kernel void joseph_tiles_backproject(__global const float4* restrict lines, __global const float2* restrict values,
                                       __global const float4* restrict matrices, __global const int* restrict axes,
                                       __global float* restrict volume, Extent extent, Batch batch) {
  const int i = TILE * (int)get_global_id(0), j = TILE * (int)get_global_id(1),
            k = extent.begin + TILE * (int)get_global_id(2);
  const int width = min(TILE, extent.nx - i), depth = min(TILE, extent.ny - j), height = min(TILE, extent.end - k);
  const float x = from_centre(i, extent.nx), y = from_centre(j, extent.ny), z = from_centre(k, extent.nz);
  const float half_x = 0.5f * (float)(width - 1), half_y = 0.5f * (float)(depth - 1),
              half_z = 0.5f * (float)(height - 1);
  const size_t plane = (size_t)extent.nx * extent.ny;
  volume += plane * (k - extent.offset) + (size_t)j * extent.nx + i;

  float tile[EDGE * EDGE * EDGE];
  for (int n = 0; n < EDGE * EDGE * EDGE; ++n) tile[n] = 0.0f;
#define IN_TILE(n, l, s) tile[(((l) + 1) * EDGE + (n) + 1) * EDGE + (s) + 1]
  for (int s = 0; s < height; ++s)
    for (int l = 0; l < depth; ++l)
      for (int n = 0; n < width; ++n) IN_TILE(n, l, s) = volume[plane * s + (size_t)l * extent.nx + n];

  int at[8];
  float near_b[8], far_b[8], near_c[8], far_c[8];
  for (int view = 0; view < batch.views; ++view)
    for (int axis = 0; axis < 3; ++axis) {
      if ((axes[batch.first_view + view] >> axis & 1) == 0) continue;
      const Pixels pixels = shadow(matrices + 3 * (size_t)(batch.first_view + view), x + half_x, y + half_y, z + half_z,
                                   half_x + (axis == 0 ? 0.0f : 1.0f), half_y + (axis == 1 ? 0.0f : 1.0f),
                                   half_z + (axis == 2 ? 0.0f : 1.0f), batch.columns, batch.row_begin, batch.held);
      // planes along the axis, b and c as in rays.clh: extents and first voxels of the tile, and strides in it
      const int extent = axis == 0 ? width : axis == 1 ? depth : height;
      const int extent_b = axis == 0 ? depth : width, extent_c = axis == 2 ? depth : height;
      const int begin_b = axis == 0 ? j : i, begin_c = axis == 2 ? j : k;
      const int stride = axis == 0   ? EDGE
                         : axis == 1 ? EDGE * EDGE
                                     : 1,
                stride_b = axis == 0 ? EDGE * EDGE : EDGE, stride_c = axis == 2 ? EDGE * EDGE : 1;
      const float p0 = axis == 0 ? x : axis == 1 ? y : z;
      for (int row = pixels.first_row; row <= pixels.last_row; ++row) {
        const size_t start = ((size_t)view * batch.held + (row - batch.row_begin)) * batch.columns;
        for (int column = pixels.first_column; column <= pixels.last_column; ++column) {
          const float2 pixel = values[start + column];
          if (pixel.y != (float)axis) continue;
          const float value = pixel.x;
          const float4 line = lines[start + column];
          for (int s = 0; s < extent; s += 8) {
            const int8 planes = s + (int8)(0, 1, 2, 3, 4, 5, 6, 7);
            const lanes p = p0 + convert_float8(planes);
            const lanes b = fma(p, (lanes)(line.x), (lanes)(line.y)), c = fma(p, (lanes)(line.z), (lanes)(line.w));
            lanes fraction_b, fraction_c;
            const int8 b0 = split(b, &fraction_b), c0 = split(c, &fraction_c), at_b = b0 - (begin_b - 1),
                       at_c = c0 - (begin_c - 1);
            const int8 taken = (at_b >= 0) & (at_b <= extent_b) & (at_c >= 0) & (at_c <= extent_c) & (planes < extent);
            if (!any(taken)) continue;
            vstore8(select((int8)(-1), at_b * stride_b + at_c * stride_c + (planes + 1) * stride, taken), 0, at);
            vstore8((1.0f - fraction_b) * value, 0, near_b);
            vstore8((1.0f - fabs(b - convert_float8(b0 + 1))) * value, 0, far_b);
            vstore8(1.0f - fraction_c, 0, near_c);
            vstore8(1.0f - fabs(c - convert_float8(c0 + 1)), 0, far_c);
            if (axis == 2) {
              for (int n = 0; n < 8; ++n)
                if (at[n] >= 0) {
                  ADD(at[n], near_b[n], near_c[n]);
                  ADD(at[n] + EDGE, far_b[n], near_c[n]);
                  ADD(at[n] + EDGE * EDGE, near_b[n], far_c[n]);
                  ADD(at[n] + EDGE * EDGE + EDGE, far_b[n], far_c[n]);
                }
            } else {
              for (int n = 0; n < 8; ++n)
                if (at[n] >= 0) {
                  const float2 weights = (float2)(near_c[n], far_c[n]);
                  ADD_PAIR(at[n], near_b[n], weights);
                  ADD_PAIR(at[n] + stride_b, far_b[n], weights);
                }
            }
          }
        }
      }
    }

  for (int s = 0; s < height; ++s)
    for (int l = 0; l < depth; ++l)
      for (int n = 0; n < width; ++n) volume[plane * s + (size_t)l * extent.nx + n] = IN_TILE(n, l, s);
}
