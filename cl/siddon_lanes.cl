// siddon_project for CPUs: 8 neighbouring pixels of a row march together, each to its own next crossing, in vectors whose arithmetic has the
// bits of the same in single floats. One ray alone spends its time on branches that cannot be predicted: which plane is next.
#pragma OPENCL FP_CONTRACT OFF
#include "lanes.clh"
#include "siddon.clh"

#ifndef INDEX
#define INDEX long
#endif

typedef WHOLE_LANES(INDEX) index_lanes;

// Crossings of eight rays along one index axis.
typedef struct {
  lanes inverse, shift, plane, step, next;  // plane: number of the one that is crossed next, at `next`
  index_lanes stride;
} Way;

// The rays on their way that cross this axis next step to the next plane.
INLINE void cross_planes(Way* way, lanes next, int8 on, index_lanes* at) {
  const int8 crosses = (way->next == next) & on;
  way->plane += select((lanes)(0.0f), way->step, crosses);
  way->next = fma(way->plane, way->inverse, way->shift);
  *at += way->stride & CONVERT(INDEX)(crosses);
}

// Work-items: (views, columns / 8, rows).
__kernel void siddon_lanes_project(__global const float* restrict volume, __global const float* restrict rays,
                                   __global float* restrict projections, Extent extent, PerAxis voxel, Batch batch) {
  const int view = get_global_id(0), column = 8 * (int)get_global_id(1), row = get_global_id(2);
  const float cx = 0.5f * (float)(extent.nx - 1), cy = 0.5f * (float)(extent.ny - 1),
              cz = 0.5f * (float)(extent.nz - 1);
  __global float* pixels = projections + ((size_t)view * batch.held + row) * batch.columns + column;
  const int count = min(8, batch.columns - column);
  const INDEX slice = (INDEX)extent.nx * extent.ny;

  // of each axis, the first plane and so on; beyond the row's end, rays that have nowhere to go
  float inverse[3][8], shift[3][8], plane[3][8], step[3][8], from[8], to[8], scale[8], sum[8];
  INDEX stride[2][8], start[8];
  for (int n = 0; n < 8; ++n) {
    const Ray ray = ray_of(rays + RAY_FLOATS * (size_t)(batch.first_view + view),
                           from_centre(min(column + n, batch.columns - 1), batch.columns),
                           from_centre(batch.row_begin + row, batch.rows));
    const Crossings c = crossings_of(ray, cx, cy, cz);
    const Passage passage = passage_of(c, extent);
    const Voxel at = first_voxel(c, passage.from, extent);
    const bool right = c.inverse_x > 0.0f, forth = c.inverse_y > 0.0f;
    inverse[0][n] = c.inverse_x, inverse[1][n] = c.inverse_y, inverse[2][n] = c.inverse_z;
    shift[0][n] = c.shift_x, shift[1][n] = c.shift_y, shift[2][n] = c.shift_z;
    plane[0][n] = (float)(at.i + right), plane[1][n] = (float)(at.j + forth), plane[2][n] = (float)(at.k + 1);
    step[0][n] = right ? 1.0f : -1.0f, step[1][n] = forth ? 1.0f : -1.0f, step[2][n] = 1.0f;
    stride[0][n] = right ? 1 : -1, stride[1][n] = forth ? extent.nx : -(INDEX)extent.nx;
    start[n] = slice * (at.k - extent.offset) + (INDEX)extent.nx * at.j + at.i;
    from[n] = passage.from, to[n] = n < count ? passage.to : passage.from;
    scale[n] = length_mm(ray, voxel), sum[n] = n < count ? pixels[n] : 0.0f;
#ifdef FACES
    const Faces faces = faces_of(ray, extent);
    if (faces.any) {
      to[n] = from[n];
      if (n < count) sum[n] = add_in_faces(volume, c, faces, extent, scale[n], -INFINITY, INFINITY, sum[n]);
    }
#endif
  }

  Way ways[3];
  for (int axis = 0; axis < 3; ++axis) {
    Way* way = &ways[axis];
    way->inverse = vload8(0, inverse[axis]), way->shift = vload8(0, shift[axis]);
    way->plane = vload8(0, plane[axis]), way->step = vload8(0, step[axis]);
    way->stride = axis < 2 ? vload8(0, stride[axis]) : (index_lanes)(slice);
    way->next = fma(way->plane, way->inverse, way->shift);
  }
  lanes t = vload8(0, from), sums = vload8(0, sum);
  const lanes stop = vload8(0, to), scales = vload8(0, scale);
  index_lanes at = vload8(0, start);
  for (int8 on = t < stop; any(on); on = t < stop) {
    const lanes next = least(least(ways[0].next, ways[1].next), ways[2].next);
    const index_lanes here = at & CONVERT(INDEX)(on);  // a ray that has arrived reads the first voxel
    const lanes values = (lanes)(volume[here.s0], volume[here.s1], volume[here.s2], volume[here.s3], volume[here.s4],
                                 volume[here.s5], volume[here.s6], volume[here.s7]);
    sums = select(sums, fma((next - t) * scales, values, sums), on);
    t = select(t, next, on);
    for (int axis = 0; axis < 3; ++axis) cross_planes(&ways[axis], next, on, &at);
  }
  vstore8(sums, 0, sum);
  for (int n = 0; n < count; ++n) pixels[n] = sum[n];
}
