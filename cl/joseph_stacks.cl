// joseph_backproject for GPUs where no ray follows k: a work-item keeps K_UNROLL voxels above each other, its stack, in local memory, where each
// pixel adds to the two that its ray passes between, found by number; in registers it would have to test all of them. Weights are those of the
// portable form and added in its order, so the bits are the same. joseph_stacks_table has, of a pixel, lines = slope_c, shift_c,
// path * raw and the axis that the ray follows, values = slope_b, shift_b.
//
// UPRIGHT: the rays of each detector column differ along k alone, a circular scan about k without tilt: their weight along b is that of their
// column, worked out once a view instead of once a pixel.
#pragma OPENCL FP_CONTRACT OFF
#include "gather.clh"
#include "joseph.clh"

#ifndef GROUP_WIDTH
#define GROUP_WIDTH 8
#define GROUP_HEIGHT 16
#endif
#define GROUP (GROUP_WIDTH * GROUP_HEIGHT)
#define TOGETHER 4  // columns: nearly always all that a stack meets

// One work-item a pixel of the rows held: what the back-projection needs of its ray.
__kernel void joseph_stacks_table(__global const float* restrict raw, __global const float* restrict rays,
                                  __global float4* restrict lines, __global float2* restrict values, Extent extent,
                                  PerAxis voxel, Batch batch) {
  const int column = get_global_id(0), row = get_global_id(1), view = get_global_id(2);
  if (column >= batch.columns || row >= batch.held || view >= batch.views) return;
  const size_t at = ((size_t)view * batch.held + row) * batch.columns + column;
  const Ray ray = RAY_AT(batch.first_view + view, 2 * column, from_centre(batch.row_begin + row, batch.rows));
  const int axis = main_axis(ray);
  const Line line =
      line_of(ray, axis, 0.5f * (float)(extent.nx - 1), 0.5f * (float)(extent.ny - 1), 0.5f * (float)(extent.nz - 1));
  lines[at] = (float4)(line.slope_c, line.shift_c, path_mm(ray, axis, voxel) * raw[at], (float)axis);
  values[at] = (float2)(line.slope_b, line.shift_b);
}

typedef struct {
  float p, whole_b, axis;
} Place;

// Weight of a pixel along b, if its ray follows the axis: if not, it is not added.
INLINE float weight_b_of(float2 values, Place at) {
  return hat(fma(at.p, values.x, values.y), at.whole_b);
}

// stack: the work-item's voxel k, those above it follow GROUP later each; one below it and one beyond the last are allocated, too, and hold
// nothing.
INLINE void add_pixel(__local float* stack, int k, float4 line, float weight_b, Place at) {
  if (line.w != at.axis) return;
  const float value = weight_b * line.z, c = fma(at.p, line.x, line.y), whole = floor(c);
  const int slice = (int)whole - k;
  if (slice < -1 || slice >= K_UNROLL) return;
  __local float* voxel = stack + slice * GROUP;
  voxel[0] = fma(value, 1.0f - fabs(c - whole), voxel[0]);
  voxel[GROUP] = fma(value, 1.0f - fabs(c - (whole + 1.0f)), voxel[GROUP]);
}

// Work-items: (nx, ny, slices / K_UNROLL), for the slices of `extent`.
__kernel __attribute__((reqd_work_group_size(GROUP_WIDTH, GROUP_HEIGHT, 1))) void joseph_stacks_backproject(
    __global const float4* restrict lines, __global const float2* restrict values,
    __global const float4* restrict matrices, __global const int* restrict axes, __global float* restrict volume,
    Extent extent, Batch batch) {
  __local float stacks[(K_UNROLL + 2) * GROUP];
  const int i = get_global_id(0), j = get_global_id(1), k = extent.begin + K_UNROLL * (int)get_global_id(2);
  if (i >= extent.nx || j >= extent.ny || k >= extent.end) return;
  const float x = from_centre(i, extent.nx), y = from_centre(j, extent.ny), z = from_centre(k, extent.nz),
              half_k = 0.5f * (K_UNROLL - 1);
  const size_t plane = (size_t)extent.nx * extent.ny;
  volume += plane * (k - extent.offset) + (size_t)j * extent.nx + i;
  __local float* stack = stacks + GROUP + GROUP_WIDTH * (int)get_local_id(1) + (int)get_local_id(0);
  for (int s = 0; s < K_UNROLL; ++s) stack[s * GROUP] = k + s < extent.end ? volume[plane * s] : 0.0f;

  for (int view = 0; view < batch.views; ++view)
    for (int axis = 0; axis < 2; ++axis) {
      if ((axes[batch.first_view + view] >> axis & 1) == 0) continue;
      __global const float4* matrix = matrices + 3 * (size_t)(batch.first_view + view);
      const float reach_x = axis == 0 ? 0.0f : 1.0f, reach_y = axis == 1 ? 0.0f : 1.0f, reach_z = half_k + 1.0f;
      const Pixels pixels =
          shadow(matrix, x, y, z + half_k, reach_x, reach_y, reach_z, batch.columns, batch.row_begin, batch.held);
      if (pixels.first_column > pixels.last_column) continue;
      const Place at = {axis == 0 ? x : y, (float)(axis == 0 ? j : i), (float)axis};
      const size_t begin = (size_t)view * batch.held * batch.columns;
      size_t start = begin + (size_t)(pixels.first_row - batch.row_begin) * batch.columns;
#ifdef UPRIGHT
      int column = pixels.first_column;
      float weight[TOGETHER];
#pragma unroll
      for (int n = 0; n < TOGETHER; ++n)
        weight[n] = column + n <= pixels.last_column ? weight_b_of(values[begin + column + n], at) : 0.0f;
      if (!(weight[0] > 0.0f)) {
        ++column;
#pragma unroll
        for (int n = 0; n < TOGETHER - 1; ++n) weight[n] = weight[n + 1];
        weight[TOGETHER - 1] = 0.0f;
      }
      for (int row = pixels.first_row; row <= pixels.last_row; ++row, start += batch.columns) {
        __global const float4* line = lines + start + column;
#pragma unroll
        for (int n = 0; n < TOGETHER; ++n)
          if (weight[n] > 0.0f) add_pixel(stack, k, line[n], weight[n], at);
        for (int more = pixels.first_column + TOGETHER; more <= pixels.last_column; ++more) {
          const float weight_b = weight_b_of(values[begin + more], at);
          if (weight_b > 0.0f) add_pixel(stack, k, lines[start + more], weight_b, at);
        }
      }
#else
      for (int row = pixels.first_row; row <= pixels.last_row; ++row, start += batch.columns)
        for (int column = pixels.first_column; column <= pixels.last_column; column += TOGETHER) {
          float weight[TOGETHER];
          float4 line[TOGETHER];
#pragma unroll
          for (int n = 0; n < TOGETHER; ++n)
            weight[n] = column + n <= pixels.last_column ? weight_b_of(values[start + column + n], at) : 0.0f;
#pragma unroll
          for (int n = 0; n < TOGETHER; ++n)  // whatever the weight, so as not to wait for it
            if (column + n <= pixels.last_column) line[n] = lines[start + column + n];
#pragma unroll
          for (int n = 0; n < TOGETHER; ++n)
            if (weight[n] > 0.0f) add_pixel(stack, k, line[n], weight[n], at);
        }
#endif
    }

  for (int s = 0; s < K_UNROLL; ++s)
    if (k + s < extent.end) volume[plane * s] = stack[s * GROUP];
}
