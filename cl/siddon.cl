// Forward projection by exact intersection lengths (Siddon 1985) and its exact adjoint: voxels are boxes of constant value,
//
//   projections(ray) += sum over voxels of length * volume(voxel),   volume(voxel) += sum over rays of length * raw(ray),
//   length = scale * max(0, min over axes of t_out - max over axes of t_in),   scale = mm of ray for a unit of t,
//
// with the t at which the ray crosses the planes between voxels: t_x(n) = n inverse_x + shift_x for n = 0 .. nx, and so for y and z, n
// from 0 in the whole volume. The march merges the three sequences; it goes towards larger k and starts from the stored value, and a slab
// takes the voxels of its own slices, so slabs in increasing order add the same numbers in the same order as one slab does. The adjoint
// computes the same t of each ray that may cross a voxel's box: the same length to the last bit. It adds in the order of views, rows and
// columns.
//
// Arrays: volume[slice][y][x] with slices from `offset`; rays[view][18] as in rays.clh; projections and raw[view][row][column], of which
// rows `row_begin` to `row_begin + held` of the detector are held. No halo. Back-projecting, lines[view][row][column] = inverse_x, inverse_y,
// inverse_z, 0, shift_x, shift_y, shift_z, 0 and values[view][row][column] = scale * raw, 0 (both from siddon_table); matrices[view][12]
// as in backproject.cl.
//
// FACES: rays that run in a face between voxels are shared by those on either side, siddon_faces.clh; of rays that do not, it changes no bit.
// Then the 0 of values is lower_voxels(). Without, there are no such rays.
//
// ARC, ENDS: see rays.clh; t_in and t_out keep to the ray, and the t of its ends take the place of the two 0 of lines.
//
// IMAGE: the slices are the layers of an image array (joseph_image_planes of joseph_image.cl), for GPUs. The same bits.
//
// This file is the reference, for every device and scan:
//
//   file              kernels                       for                             defines
//   siddon.cl         project, table, backproject   all                             FACES, ARC, ENDS; IMAGE and FACES; K_UNROLL
//   siddon_lanes.cl   project                       CPUs; the same bits             FACES, INDEX
//   siddon_bricks.cl  backproject                   GPUs, upright; other last bits  BRICK_X, ..., LAYERS
#pragma OPENCL FP_CONTRACT OFF
#include "gather.clh"
#include "siddon.clh"

__kernel void siddon_project(
#ifdef IMAGE
    __read_only image2d_array_t planes,
#else
    __global const float* restrict volume,
#endif
    __global const float* restrict rays, ARC_PARAMETERS ENDS_PARAMETERS __global float* restrict projections,
    Extent extent, PerAxis voxel, Batch batch) {
  const int column = get_global_id(0), row = get_global_id(1), view = get_global_id(2);
  if (column >= batch.columns || row >= batch.held || view >= batch.views) return;
  const Ray ray = RAY_AT(batch.first_view + view, 2 * column, from_centre(batch.row_begin + row, batch.rows));
  const Crossings c =
      crossings_of(ray, 0.5f * (float)(extent.nx - 1), 0.5f * (float)(extent.ny - 1), 0.5f * (float)(extent.nz - 1));
  const float scale = length_mm(ray, voxel);

  Passage passage = passage_of(c, extent);
#ifdef ENDS
  const Passage ends = ends_in_t(ray, sources[batch.first_view + view], SHARE(batch.first_view + view, column));
  passage.from = fmax(passage.from, ends.from), passage.to = fmin(passage.to, ends.to);
#endif
  const size_t pixel = ((size_t)view * batch.held + row) * batch.columns + column;
#ifdef FACES
  const Faces faces = faces_of(ray, extent);
  if (faces.any) {
#ifndef ENDS
    const Passage ends = {-INFINITY, INFINITY};
#endif
    projections[pixel] = add_in_faces(SLAB, c, faces, extent, scale, ends.from, ends.to, projections[pixel]);
    return;
  }
#endif
  float t = passage.from;
  const float stop = passage.to;
  if (!(t < stop)) return;

  const Voxel first = first_voxel(c, t, extent);
  const int step_i = c.inverse_x > 0.0f ? 1 : -1, step_j = c.inverse_y > 0.0f ? 1 : -1;
  // numbers of the planes that are crossed next
  int plane_i = first.i + (step_i > 0), plane_j = first.j + (step_j > 0), plane_k = first.k + 1;
  float next_x = crossing(plane_i, c.inverse_x, c.shift_x), next_y = crossing(plane_j, c.inverse_y, c.shift_y),
        next_z = crossing(plane_k, c.inverse_z, c.shift_z);
#ifdef IMAGE
  int4 at = (int4)(first.i, first.j, first.k - extent.offset, 0);
  const int4 along_i = (int4)(step_i, 0, 0, 0), along_j = (int4)(0, step_j, 0, 0), along_k = (int4)(0, 0, 1, 0);
#define VOXEL read_imagef(planes, nearest, at).x
#else
  const size_t along_k = (size_t)extent.nx * extent.ny;
  const long along_i = step_i, along_j = (long)step_j * extent.nx;
  size_t at = along_k * (first.k - extent.offset) + (size_t)extent.nx * first.j + first.i;
#define VOXEL volume[at]
#endif
  float sum = projections[pixel];
  while (t < stop) {
#ifdef ENDS
    const float next = fmin(fmin(fmin(next_x, next_y), next_z), stop);
#else
    const float next = fmin(fmin(next_x, next_y), next_z);
#endif
    sum = fma((next - t) * scale, VOXEL, sum);
    t = next;
    if (next_x == next) {
      at += along_i;
      plane_i += step_i;
      next_x = crossing(plane_i, c.inverse_x, c.shift_x);
    }
    if (next_y == next) {
      at += along_j;
      plane_j += step_j;
      next_y = crossing(plane_j, c.inverse_y, c.shift_y);
    }
    if (next_z == next) {
      at += along_k;
      plane_k += 1;
      next_z = crossing(plane_k, c.inverse_z, c.shift_z);
    }
  }
  projections[pixel] = sum;
}

// One work-item a pixel of the rows held: what the back-projection needs of its ray.
__kernel void siddon_table(__global const float* restrict raw, __global const float* restrict rays,
                           ARC_PARAMETERS ENDS_PARAMETERS __global float4* restrict lines,
                           __global float2* restrict values, Extent extent, PerAxis voxel, Batch batch) {
  const int column = get_global_id(0), row = get_global_id(1), view = get_global_id(2);
  if (column >= batch.columns || row >= batch.held || view >= batch.views) return;
  const size_t at = ((size_t)view * batch.held + row) * batch.columns + column;
  const Ray ray = RAY_AT(batch.first_view + view, 2 * column, from_centre(batch.row_begin + row, batch.rows));
  float value = length_mm(ray, voxel) * raw[at], lower = 0.0f;
  Crossings c =
      crossings_of(ray, 0.5f * (float)(extent.nx - 1), 0.5f * (float)(extent.ny - 1), 0.5f * (float)(extent.nz - 1));
#ifdef FACES
  const Faces faces = faces_of(ray, extent);
  c = crossings_beside(c, faces, extent);
  value *= part_beside(faces), lower = (float)lower_voxels(faces, extent);
#endif
#ifdef ENDS
  const Passage ends = ends_in_t(ray, sources[batch.first_view + view], SHARE(batch.first_view + view, column));
#else
  const Passage ends = {0.0f, 0.0f};
#endif
  lines[2 * at] = (float4)(c.inverse_x, c.inverse_y, c.inverse_z, ends.from);
  lines[2 * at + 1] = (float4)(c.shift_x, c.shift_y, c.shift_z, ends.to);
  values[at] = (float2)(value, lower);
}

// Work-items: (nx, ny, slices / K_UNROLL), for the slices of `extent`.
__kernel void siddon_backproject(__global const float4* restrict lines, __global const float2* restrict values,
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

  for (int view = 0; view < batch.views; ++view) {
    const Pixels pixels =
        shadow(matrices + 3 * (size_t)(batch.first_view + view), x, y, z + half_k, 0.5f, 0.5f, half_k + 0.5f,
               batch.columns, batch.row_begin, batch.held SHADOW_ARC(batch.first_view + view));
    for (int row = pixels.first_row; row <= pixels.last_row; ++row) {
      const size_t start = ((size_t)view * batch.held + (row - batch.row_begin)) * batch.columns;
      for (int column = pixels.first_column; column <= pixels.last_column; ++column) {
        const float4 inverse = lines[2 * (start + column)], shift = lines[2 * (start + column) + 1];
#ifdef FACES
        const int lower = (int)values[start + column].y, low_i = lower & 1, low_j = lower >> 1 & 1, low_k = lower >> 2;
#else
        const int low_i = 0, low_j = 0;
#endif
        const float x0 = crossing(i, inverse.x, shift.x), x1 = crossing(i + 1 + low_i, inverse.x, shift.x);
        const float y0 = crossing(j, inverse.y, shift.y), y1 = crossing(j + 1 + low_j, inverse.y, shift.y);
        float in = fmax(fmin(x0, x1), fmin(y0, y1)), out = fmin(fmax(x0, x1), fmax(y0, y1));
#ifdef ENDS
        in = fmax(in, inverse.w), out = fmin(out, shift.w);
#endif
        if (!(out > in)) continue;
        const float value = values[start + column].x;
        float below = crossing(k, inverse.z, shift.z);
#pragma unroll
        for (int s = 0; s < K_UNROLL; ++s) {
          const float above = crossing(k + s + 1, inverse.z, shift.z);
#ifdef FACES
          const float end = low_k ? crossing(k + s + 2, inverse.z, shift.z) : above;
#else
          const float end = above;
#endif
          sum[s] = fma(fmax(0.0f, fmin(out, end) - fmax(in, below)), value, sum[s]);
          below = above;
        }
      }
    }
  }

#pragma unroll
  for (int s = 0; s < K_UNROLL; ++s)
    if (k + s < extent.end) voxel[plane * s] = sum[s];
}
