// Values and lines of detector columns for adjoints in bricks: see bricks.clh.
#pragma OPENCL FP_CONTRACT OFF
#include "rays.clh"

#ifndef TILE
#define TILE 16
#endif
#define TAIL 3

// Work-items: (columns, rows held + TAIL, views) in groups of TILE x TILE, which the host sets lower where groups are
// small.
__kernel __attribute__((reqd_work_group_size(TILE, TILE, 1))) void bricks_table(
    __global const float* restrict raw, __global const float* restrict rays, __global float* restrict pixels,
    __global float4* restrict columns, Extent extent, PerAxis voxel, Batch batch) {
  __local float tile[TILE][TILE + 1];
  const int first_column = TILE * (int)get_group_id(0), first_row = TILE * (int)get_group_id(1),
            view = get_global_id(2), a = get_local_id(0), b = get_local_id(1);
  __global const float* vectors = rays + RAY_FLOATS * (size_t)(batch.first_view + view);
  const int column = first_column + a, row = first_row + b;
  float value = 0.0f;
  if (column < batch.columns && row < batch.held) {
    const Ray ray = ray_of(vectors, from_centre(column, batch.columns), from_centre(batch.row_begin + row, batch.rows));
    value = path_mm(ray, main_axis(ray), voxel) * raw[((size_t)view * batch.held + row) * batch.columns + column];
  }
  tile[b][a] = value;
  if (column < batch.columns && row == 0) {
    const Ray ray = ray_of(vectors, from_centre(column, batch.columns), from_centre(0, batch.rows));
    const int follows = main_axis(ray);
    const Line line = line_of(ray, follows, 0.5f * (float)(extent.nx - 1), 0.5f * (float)(extent.ny - 1),
                              0.5f * (float)(extent.nz - 1));
    const float along = follows == 0 ? ray.dx : ray.dy;
    for (int axis = 0; axis < 2; ++axis)
      columns[(2 * (size_t)view + axis) * batch.columns + column] =
          axis == follows ? (float4)(line.slope_b, line.shift_b, along, 1.0f / along)
                          : (float4)(0.0f, -INFINITY, 1.0f, 1.0f);
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  const int stride = batch.held + TAIL;
  if (first_column + b < batch.columns && first_row + a < stride)
    pixels[((size_t)view * batch.columns + first_column + b) * stride + first_row + a] = tile[a][b];
}
