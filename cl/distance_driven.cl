// Forward projection by the overlap of detector pixels and voxels (distance-driven: De Man & Basu 2004) and its exact adjoint. On each
// plane m of the index axis that the ray of a pixel's centre follows most, the pixel casts a rectangle about the ray's point (b, c), of the
// extents w_b, w_c that the pixel's sides have there:
//
//   projections(ray) += sum over voxels of weight * volume(voxel),   volume(voxel) += sum over rays of weight * raw(ray),
//   weight = path * overlap([b - w_b/2, b + w_b/2], voxel) / w_b * overlap([c - w_c/2, c + w_c/2], voxel) / w_c,
//   w_b = |b(u + 1/2, v) - b(u - 1/2, v)| + |b(u, v + 1/2) - b(u, v - 1/2)| in pixels u, v, and w_c likewise.
//
// Where the detector's rows and columns run along b and c this is the method of De Man & Basu; otherwise the rectangle is the bounding box
// of the pixel's shadow on the plane, which blurs by its excess over the shadow: an approximation, and the same in both directions. The
// weights of a plane that the shadow does not leave add up to path. w is kept between LEAST_WIDTH and the given `widest`.
//
// Arrays: volume[slice][y][x] with slices from `offset`; rays[view][18] as in rays.clh; projections and raw[view][row][column], of which
// rows `row_begin` to `row_begin + held` of the detector are held. No halo: a ray adds slice after slice, and within a slice plane after
// plane, so slabs in increasing order add the same numbers in the same order as one slab does. Back-projecting, lines[view][row][column][3] =
// b and c as lines, and the steps of each a column and a row as lines, values[view][row][column] = path * raw and the axis that the ray follows (both
// from distance_driven_table); matrices[view][12] as in backproject.cl; axes[view] = the sum of 1 << axis over the axes that its rays may
// follow. It adds in the order of views, rows and columns.
//
// WITHIN_SLICE: the volume is one slice, and the detector one row whose rays run within it: the pixel is taken to be as high as the slice
// (w_c = 1), whatever its height. Rows of a parallel beam or of a stack of fans that lie on slices, one row a slice, have w_c = 1 by themselves.
//
// ARC, ENDS: see rays.clh; a pixel of a cylinder reaches from arc to arc. A plane that the ray ends in counts for the part of it that the ray
// passes, and values has ray_values.clh's form.
//
// This file is the reference, for every device and scan:
//
//   file                        kernels                       for                                defines
//   distance_driven.cl          project, table, backproject   all                                ARC, ENDS, WITHIN_SLICE, K_UNROLL
//   distance_driven_lanes.cl    project                       CPUs; the same bits                WITHIN_SLICE, INDEX
//   distance_driven_upright.cl  project                       GPUs, upright; other last bits     LINES, VOXELS, ROWS, ..., INDEX
//   distance_driven_bricks.cl   backproject                   GPUs, upright; other last bits     BRICK_X, ..., LAYERS
#pragma OPENCL FP_CONTRACT OFF
#include "distance_driven.clh"
#include "gather.clh"
#include "ray_values.clh"

__kernel void distance_driven_project(__global const float* restrict volume, __global const float* restrict rays,
                                      ARC_PARAMETERS ENDS_PARAMETERS __global float* restrict projections,
                                      Extent extent, PerAxis voxel, Batch batch, PerAxis widest) {
  const int column = get_global_id(0), row = get_global_id(1), view = get_global_id(2);
  if (column >= batch.columns || row >= batch.held || view >= batch.views) return;
  const float v = from_centre(batch.row_begin + row, batch.rows);
  const Ray ray = RAY_AT(batch.first_view + view, 2 * column, v);
  const int axis = main_axis(ray);
  const Shadow s = PIXEL_SHADOW(ray, batch.first_view + view, column, v, axis, 0.5f * (float)(extent.nx - 1),
                                0.5f * (float)(extent.ny - 1), 0.5f * (float)(extent.nz - 1));
  const float path = path_mm(ray, axis, voxel);
  const Planes planes = planes_of(axis, extent, widest);
  const Reach reach = reach_of(s.centre, planes, extent);
  ENDS_OF(ray, axis, batch.first_view + view, column);
  const size_t plane = (size_t)extent.nx * extent.ny;

  const size_t pixel = ((size_t)view * batch.held + row) * batch.columns + column;
  float sum = projections[pixel];
  for (int k = reach.first; k <= reach.last; ++k) {
    const int2 within = planes_within(s.centre, planes, reach, k);
    for (int m = within.x; m <= within.y; ++m) {
      const float p = (float)m - planes.ca;
      const float c = fma(p, s.centre.z, s.centre.w), width_c = width_at(p, s.steps_c, planes.most_c),
                  half_c = 0.5f * width_c;
      if (axis != 2 && overlap(c, half_c, (float)k) <= 0.0f) continue;
      const float b = fma(p, s.centre.x, s.centre.y), width_b = width_at(p, s.steps_b, planes.most_b),
                  half_b = 0.5f * width_b;
      const float scale = LENGTH_AT(path, p) / (width_b * width_c);
      const int first_b = clamped(floor(b - half_b + 0.5f), 0, planes.nb),
                last_b = clamped(floor(b + half_b + 0.5f), -1, planes.nb - 1);
      const int first_c = axis == 2 ? clamped(floor(c - half_c + 0.5f), 0, planes.nc) : k,
                last_c = axis == 2 ? clamped(floor(c + half_c + 0.5f), -1, planes.nc - 1) : k;
      for (int at_c = first_c; at_c <= last_c; ++at_c) {
        const float scaled_c = scale * overlap(c, half_c, (float)at_c);
        if (scaled_c <= 0.0f) continue;
        __global const float* restrict line =
            volume + plane * (size_t)(k - extent.offset) +
            (axis == 2 ? (size_t)extent.nx * (size_t)at_c : (size_t)planes.stride_a * (size_t)m);
        for (int at_b = first_b; at_b <= last_b; ++at_b) {
          const float overlap_b = overlap(b, half_b, (float)at_b);
          if (overlap_b > 0.0f) sum = fma(overlap_b * scaled_c, line[(size_t)planes.stride_b * (size_t)at_b], sum);
        }
      }
    }
  }
  projections[pixel] = sum;
}

// One work-item a pixel of the rows held: what the back-projection needs of its ray.
__kernel void distance_driven_table(__global const float* restrict raw, __global const float* restrict rays,
                                    ARC_PARAMETERS ENDS_PARAMETERS __global float4* restrict lines,
                                    __global VALUE* restrict values, Extent extent, PerAxis voxel, Batch batch) {
  const int column = get_global_id(0), row = get_global_id(1), view = get_global_id(2);
  if (column >= batch.columns || row >= batch.held || view >= batch.views) return;
  const size_t at = ((size_t)view * batch.held + row) * batch.columns + column;
  const float v = from_centre(batch.row_begin + row, batch.rows);
  const Ray ray = RAY_AT(batch.first_view + view, 2 * column, v);
  const int axis = main_axis(ray);
  const Shadow s = PIXEL_SHADOW(ray, batch.first_view + view, column, v, axis, 0.5f * (float)(extent.nx - 1),
                                0.5f * (float)(extent.ny - 1), 0.5f * (float)(extent.nz - 1));
  lines[3 * at] = s.centre;
  lines[3 * at + 1] = s.steps_b;
  lines[3 * at + 2] = s.steps_c;
  ENDS_OF(ray, axis, batch.first_view + view, column);
  values[at] = VALUE_OF(path_mm(ray, axis, voxel) * raw[at], axis);
}

// Work-items: (nx, ny, slices / K_UNROLL), for the slices of `extent`.
__kernel void distance_driven_backproject(__global const float4* restrict lines, __global const VALUE* restrict values,
                                          __global const float4* restrict matrices, __global const int* restrict axes,
                                          ARC_PARAMETERS __global float* restrict volume, Extent extent, Batch batch,
                                          PerAxis widest) {
  const int i = get_global_id(0), j = get_global_id(1), k = extent.begin + K_UNROLL * (int)get_global_id(2);
  if (i >= extent.nx || j >= extent.ny || k >= extent.end) return;
  const float x = from_centre(i, extent.nx), y = from_centre(j, extent.ny), z = from_centre(k, extent.nz),
              half_k = 0.5f * (K_UNROLL - 1);
  const float reach_x = fma(0.5f, widest.x, 0.5f), reach_y = fma(0.5f, widest.y, 0.5f),
              reach_z = fma(0.5f, widest.z, 0.5f);
  const size_t plane = (size_t)extent.nx * extent.ny;
  __global float* voxel = volume + plane * (k - extent.offset) + (size_t)j * extent.nx + i;
  float sum[K_UNROLL];
#pragma unroll
  for (int s = 0; s < K_UNROLL; ++s) sum[s] = k + s < extent.end ? voxel[plane * s] : 0.0f;

  for (int view = 0; view < batch.views; ++view)
    for (int axis = 0; axis < 3; ++axis) {
      if ((axes[batch.first_view + view] >> axis & 1) == 0) continue;
      const Pixels pixels =
          shadow(matrices + 3 * (size_t)(batch.first_view + view), x, y, z + half_k, axis == 0 ? 0.0f : reach_x,
                 axis == 1 ? 0.0f : reach_y, half_k + (axis == 2 ? 0.0f : reach_z), batch.columns, batch.row_begin,
                 batch.held SHADOW_ARC(batch.first_view + view));
      const float voxel_b = (float)(axis == 0 ? j : i);
      const float most_b = axis == 0 ? widest.y : widest.x, most_c = axis == 2 ? widest.y : widest.z;
      for (int row = pixels.first_row; row <= pixels.last_row; ++row) {
        const size_t start = ((size_t)view * batch.held + (row - batch.row_begin)) * batch.columns;
        for (int column = pixels.first_column; column <= pixels.last_column; ++column) {
          const VALUE value = values[start + column];
          if (value.y != (float)axis) continue;
          UNPACK_ENDS(value);
          const float4 line = lines[3 * (start + column)], steps_b = lines[3 * (start + column) + 1],
                       steps_c = lines[3 * (start + column) + 2];
          if (axis == 2) {
#pragma unroll
            for (int s = 0; s < K_UNROLL; ++s) {
              const float p = z + (float)s, width_b = width_at(p, steps_b, most_b),
                          width_c = width_at(p, steps_c, most_c);
              const float overlap_b = overlap(fma(p, line.x, line.y), 0.5f * width_b, voxel_b);
              const float overlap_c = overlap(fma(p, line.z, line.w), 0.5f * width_c, (float)j);
              sum[s] = fma(overlap_c, overlap_b * LENGTH_AT(value.x, p) / (width_b * width_c), sum[s]);
            }
          } else {
            const float p = axis == 0 ? x : y, width_b = width_at(p, steps_b, most_b),
                        width_c = width_at(p, steps_c, most_c);
            const float overlap_b = overlap(fma(p, line.x, line.y), 0.5f * width_b, voxel_b),
                        c = fma(p, line.z, line.w);
            if (overlap_b <= 0.0f) continue;
            const float scaled_b = overlap_b * LENGTH_AT(value.x, p) / (width_b * width_c);
#pragma unroll
            for (int s = 0; s < K_UNROLL; ++s)
              sum[s] = fma(overlap(c, 0.5f * width_c, (float)(k + s)), scaled_b, sum[s]);
          }
        }
      }
    }

#pragma unroll
  for (int s = 0; s < K_UNROLL; ++s)
    if (k + s < extent.end) voxel[plane * s] = sum[s];
}
