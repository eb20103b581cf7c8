// Forward projection (Joseph 1982): along the ray of each detector pixel, the volume is sampled on the planes of the index axis that the
// ray follows most, by bilinear interpolation on the other two axes, zero outside the volume:
//
//   projections(ray) += sum over planes m of path * volume(m, b(m), c(m)),      path = mm of ray between two planes,
//
// and its exact adjoint, joseph_backproject: for each voxel, the sum over the pixels whose rays pass within a voxel of it on its plane,
//
//   volume(a, b', c') += (1 - |b(a) - b'|) * path * raw(ray) * (1 - |c(a) - c'|),      with the b, c, path that the projector computes.
//
// Arrays: volume[slice][y][x] with slices from `offset`; rays[view][18] as in rays.clh; projections and raw[view][row][column], of which
// rows `row_begin` to `row_begin + held` of the detector are held. Projecting, halo: one slice above. Back-projecting, no halo;
// lines[view][row][column] = slope_b, shift_b, slope_c, shift_c and values[view][row][column] = path * raw and the axis that the ray
// follows (both from joseph_table); matrices[view][12] as in backproject.cl; axes[view] = the sum of 1 << axis over the axes that its rays
// may follow.
//
// A slab [begin, end) of the projector takes the samples whose lower slice floor(k) (or whose plane k, if the ray follows k) lies in it,
// the first slab also those below slice 0. The march goes towards larger k, coordinates come from the plane's number in the whole volume,
// and the sum starts from the stored value: slabs in increasing order add the same numbers in the same order as one slab does. The adjoint
// adds, voxel by voxel, in the order of views, rows and columns: the same bits whatever is held.
//
// This file is the reference, for every device and scan. The forms that are faster somewhere, with the same bits but where noted:
//
//   file                      kernels                      for                                       defines
//   joseph.cl                 project, table, backproject  all                                       TURNED, ARC, ENDS
//   joseph_image.cl           planes, project              GPUs with images                          AXIS, PACK, HARDWARE
//   joseph_slices.cl          stack, project               GPUs, rays within slices                  ALIGNED
//   joseph_slices_adjoint.cl  table, stack, backproject    GPUs, rays within slices, a row on each   GROUP
//   joseph_upright.cl         project                      GPUs, upright                             ROWS, ..., PLANES, INDEX
//   joseph_stacks.cl          table, backproject           GPUs, no ray follows k                    UPRIGHT
//   joseph_bricks.cl          backproject                  GPUs, upright; other last bits            BRICK_X, ..., LAYERS
//   joseph_lanes.cl           project                      CPUs                                      TURNED
//   joseph_tiles.cl           backproject                  CPUs
//   joseph_turn.cl            joseph_turn                  the volume of TURNED
//
// The defines of a file go together in any way. ARC and ENDS are for this file alone: where they are needed, on CPUs and GPUs, no other
// file can be used. Tunables: INDEX (joseph.clh), K_UNROLL (gather.clh).
// TURNED: turned[slice][x][y] too, the slices transposed by joseph_turn, which rays that follow i read, so that neighbouring rays read
// neighbouring voxels. The same numbers, so the same bits.
// ARC, ENDS: see rays.clh; a plane that the ray ends in counts for the part of it that the ray passes. Then values has ray_values.clh's form.
#pragma OPENCL FP_CONTRACT OFF
#include "gather.clh"
#include "joseph.clh"
#include "ray_values.clh"

__kernel void joseph_project(__global const float* restrict volume,
#ifdef TURNED
                             __global const float* restrict turned,
#endif
                             __global const float* restrict rays,
                             ARC_PARAMETERS ENDS_PARAMETERS __global float* restrict projections, Extent extent,
                             PerAxis voxel, Batch batch) {
  const int column = get_global_id(0), row = get_global_id(1), view = get_global_id(2);
  if (column >= batch.columns || row >= batch.held || view >= batch.views) return;

  const Ray ray = RAY_AT(batch.first_view + view, 2 * column, from_centre(batch.row_begin + row, batch.rows));
  const int axis = main_axis(ray);
  const Line line =
      line_of(ray, axis, 0.5f * (float)(extent.nx - 1), 0.5f * (float)(extent.ny - 1), 0.5f * (float)(extent.nz - 1));
  const float path = path_mm(ray, axis, voxel);
  const Planes planes = planes_of(axis, extent);
  const int2 range = range_of(line, planes);
  const bool descending = descends(line, axis);
  __global const float* restrict voxels = VOXELS_OF(axis);
  ENDS_OF(ray, axis, batch.first_view + view, column);

  const size_t pixel = ((size_t)view * batch.held + row) * batch.columns + column;
  float sum = projections[pixel];
  for (int step = range.x; step <= range.y; ++step) {
    const int m = descending ? range.y - (step - range.x) : step;
    const float p = (float)m - planes.ca;
    const float b = fma(p, line.slope_b, line.shift_b), c = fma(p, line.slope_c, line.shift_c);
    const float whole_b = floor(b), whole_c = floor(c);
    const int b0 = (int)whole_b, c0 = (int)whole_c;
    const float fb = b - whole_b, fc = c - whole_c;
    float low_b = 1.0f - fb, high_b = fb, low_c = 1.0f - fc, high_c = fc;
    if (c0 < planes.from || c0 >= planes.to || b0 < -1 || b0 >= planes.nb) continue;
    INDEX step_b = planes.stride_b, step_c = planes.stride_c;
    INDEX at = planes.base + m * planes.stride_a + b0 * step_b + (c0 - planes.move_c) * step_c;
    // a neighbour that is not there weighs nothing and is not read
    if (b0 < 0) low_b = 0.0f, at += step_b, step_b = 0;
    if (b0 + 1 >= planes.nb) high_b = 0.0f, step_b = 0;
    if (c0 < 0) low_c = 0.0f, at += step_c, step_c = 0;
    if (c0 + 1 >= planes.nc) high_c = 0.0f, step_c = 0;
    const float value0 = fma(high_b, voxels[at + step_b], low_b * voxels[at]);
    const float value1 = fma(high_b, voxels[at + step_b + step_c], low_b * voxels[at + step_c]);
    sum = fma(LENGTH_AT(path, p), fma(high_c, value1, low_c * value0), sum);
  }
  projections[pixel] = sum;
}

// One work-item a pixel of the rows held: what the back-projection needs of its ray.
__kernel void joseph_table(__global const float* restrict raw, __global const float* restrict rays,
                           ARC_PARAMETERS ENDS_PARAMETERS __global float4* restrict lines,
                           __global VALUE* restrict values, Extent extent, PerAxis voxel, Batch batch) {
  const int column = get_global_id(0), row = get_global_id(1), view = get_global_id(2);
  if (column >= batch.columns || row >= batch.held || view >= batch.views) return;
  const size_t at = ((size_t)view * batch.held + row) * batch.columns + column;
  const Ray ray = RAY_AT(batch.first_view + view, 2 * column, from_centre(batch.row_begin + row, batch.rows));
  const int axis = main_axis(ray);
  const Line line =
      line_of(ray, axis, 0.5f * (float)(extent.nx - 1), 0.5f * (float)(extent.ny - 1), 0.5f * (float)(extent.nz - 1));
  const float value = path_mm(ray, axis, voxel) * raw[at];
  lines[at] = (float4)(line.slope_b, line.shift_b, line.slope_c, line.shift_c);
  ENDS_OF(ray, axis, batch.first_view + view, column);
  values[at] = VALUE_OF(value, axis);
}

// Work-items: (nx, ny, slices / K_UNROLL), for the slices of `extent`.
__kernel void joseph_backproject(__global const float4* restrict lines, __global const VALUE* restrict values,
                                 __global const float4* restrict matrices, __global const int* restrict axes,
                                 ARC_PARAMETERS __global float* restrict volume, Extent extent, Batch batch) {
  const int i = get_global_id(0), j = get_global_id(1), k = extent.begin + K_UNROLL * (int)get_global_id(2);
  if (i >= extent.nx || j >= extent.ny || k >= extent.end) return;
  const float x = from_centre(i, extent.nx), y = from_centre(j, extent.ny), z = from_centre(k, extent.nz),
              half_k = 0.5f * (K_UNROLL - 1);
  const size_t plane = (size_t)extent.nx * extent.ny;
  __global float* voxel = volume + plane * (k - extent.offset) + (size_t)j * extent.nx + i;
  float sum[K_UNROLL];
#pragma unroll
  for (int s = 0; s < K_UNROLL; ++s) sum[s] = k + s < extent.end ? voxel[plane * s] : 0.0f;

  for (int view = 0; view < batch.views; ++view)
    for (int axis = 0; axis < 3; ++axis) {
      if ((axes[batch.first_view + view] >> axis & 1) == 0) continue;
      const Pixels pixels = shadow(matrices + 3 * (size_t)(batch.first_view + view), x, y, z + half_k,
                                   axis == 0 ? 0.0f : 1.0f, axis == 1 ? 0.0f : 1.0f, half_k + (axis == 2 ? 0.0f : 1.0f),
                                   batch.columns, batch.row_begin, batch.held SHADOW_ARC(batch.first_view + view));
      const float p = axis == 0 ? x : y, whole_b = (float)(axis == 0 ? j : i);
      const size_t begin = (size_t)view * batch.held * batch.columns;
      for (int row = pixels.first_row; row <= pixels.last_row; ++row) {
        const size_t start = begin + (size_t)(row - batch.row_begin) * batch.columns;
        for (int column = pixels.first_column; column <= pixels.last_column; ++column) {
          const float4 line = lines[start + column];
          const VALUE value = values[start + column];
          if (value.y != (float)axis) continue;
          UNPACK_ENDS(value);
          if (axis == 2) {
#pragma unroll
            for (int s = 0; s < K_UNROLL; ++s) {
              const float at = z + (float)s;
              const float weight_b = hat(fma(at, line.x, line.y), (float)i),
                          weight_c = hat(fma(at, line.z, line.w), (float)j);
              sum[s] = fma(weight_b * LENGTH_AT(value.x, at), weight_c, sum[s]);
            }
          } else {
            const float weight_b = hat(fma(p, line.x, line.y), whole_b), c = fma(p, line.z, line.w);
            if (weight_b <= 0.0f) continue;
#pragma unroll
            for (int s = 0; s < K_UNROLL; ++s)
              sum[s] = fma(weight_b * LENGTH_AT(value.x, p), hat(c, (float)(k + s)), sum[s]);
          }
        }
      }
    }

#pragma unroll
  for (int s = 0; s < K_UNROLL; ++s)
    if (k + s < extent.end) voxel[plane * s] = sum[s];
}
