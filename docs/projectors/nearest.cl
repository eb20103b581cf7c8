// A pair of kernels: the nearest voxel on each plane across the axis that a ray follows, and its adjoint as a gather,
// which looks at the pixels whose rays may pass a voxel (gather.clh). Both compute the ray's place on a plane by the
// same function, so they agree on which voxel is nearest.
#define PROJECTOR_VERSION 1
#include "gather.clh"

// The nearest voxel of plane m: its numbers along the two other axes.
int2 nearest_on(const Ray ray, int axis, const Extent extent, int m) {
  const Line line = line_of(ray, axis, 0.5f * (extent.nx - 1), 0.5f * (extent.ny - 1), 0.5f * (extent.nz - 1));
  const float p = (float)m - 0.5f * ((axis == 0 ? extent.nx : axis == 1 ? extent.ny : extent.nz) - 1);
  return (int2)((int)floor(fma(p, line.slope_b, line.shift_b) + 0.5f),
                (int)floor(fma(p, line.slope_c, line.shift_c) + 0.5f));
}

__kernel void project(__global const float* volume, __global float* projections, PROJECTOR_PARAMETERS) {
  const int column = get_global_id(0), row = get_global_id(1), view = get_global_id(2);
  if (column >= batch.columns || row >= batch.rows || view >= batch.views) return;
  const Ray ray = RAY_OF(column, row, view);
  const int axis = main_axis(ray);
  const int planes = axis == 0 ? extent.nx : axis == 1 ? extent.ny : extent.nz;
  const float path = path_mm(ray, axis, voxel);
  const Segment segment = SEGMENT_OF(ray, column, view);
  // Towards larger k, so that slabs of slices add in the order of one slab.
  const float along = axis == 0 ? ray.dx : axis == 1 ? ray.dy : ray.dz;
  const bool descends = along * ray.dz < 0;
  const size_t at = ((size_t)view * batch.rows + row) * batch.columns + column;
  float sum = projections[at];
  for (int n = 0; n < planes; ++n) {
    const int m = descends ? planes - 1 - n : n;
    const int2 near = nearest_on(ray, axis, extent, m);
    const int i = axis == 0 ? m : near.x, j = axis == 0 ? near.x : axis == 1 ? m : near.y, k = axis == 2 ? m : near.y;
    if (i < 0 || i >= extent.nx || j < 0 || j >= extent.ny || k < extent.begin || k >= extent.end) continue;
    sum = fma(path * part_of_plane(segment, axis, m - 0.5f * (planes - 1)),
              volume[((size_t)(k - extent.offset) * extent.ny + j) * extent.nx + i], sum);
  }
  projections[at] = sum;
}

__kernel void backproject(__global const float* projections, __global float* volume, PROJECTOR_PARAMETERS) {
  const int i = get_global_id(0), j = get_global_id(1), k = extent.begin + (int)get_global_id(2);
  if (i >= extent.nx || j >= extent.ny || k >= extent.end) return;
  const size_t at = ((size_t)(k - extent.offset) * extent.ny + j) * extent.nx + i;
  float sum = volume[at];
  for (int view = 0; view < batch.views; ++view) {
    const Pixels seen = shadow(matrices + 3 * (batch.first_view + view), from_centre(i, extent.nx),
                               from_centre(j, extent.ny), from_centre(k, extent.nz), 0.51f, 0.51f, 0.51f, batch.columns,
                               batch.row_begin, batch.held SHADOW_ARC(batch.first_view + view));
    for (int row = seen.first_row; row <= seen.last_row; ++row)
      for (int column = seen.first_column; column <= seen.last_column; ++column) {
        const Ray ray = RAY_OF(column, row, view);
        const int axis = main_axis(ray), m = axis == 0 ? i : axis == 1 ? j : k;
        const int2 near = nearest_on(ray, axis, extent, m);
        if (near.x != (axis == 0 ? j : i) || near.y != (axis == 2 ? j : k)) continue;
        const size_t pixel = ((size_t)view * batch.held + row - batch.row_begin) * batch.columns + column;
        const float p = m - 0.5f * ((axis == 0 ? extent.nx : axis == 1 ? extent.ny : extent.nz) - 1);
        sum = fma(path_mm(ray, axis, voxel) * part_of_plane(SEGMENT_OF(ray, column, view), axis, p), projections[pixel],
                  sum);
      }
  }
  volume[at] = sum;
}
