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
// Arrays: volume[slice][y][x] with slices from `offset`; rays[view][18] as in rays.clh; projections and raw[view][row][column]. No halo: a
// ray adds slice after slice, and within a slice plane after plane, so slabs in increasing order add the same numbers in the same order as
// one slab does. Back-projecting, rows `row_begin` to `row_begin + held` of the detector are held; lines[view][row][column][3] = b and c as
// lines, and the steps of each a column and a row as lines, values[view][row][column] = path * raw and the axis that the ray follows (both
// from distance_driven_table); matrices[view][12] as in backproject.cl; axes[view] = the sum of 1 << axis over the axes that its rays may
// follow. It adds in the order of views, rows and columns.
//
// ARC, ENDS: see rays.clh; a pixel of a cylinder reaches from arc to arc. A plane that the ray ends in counts for the part of it that the ray
// passes, and values has ray_values.clh's form.
//
// LANES: the form for CPUs, distance_driven_lanes.clh. The same bits.
//
// Tunable: INDEX, the type of an index into the slab (int while it has fewer than 2^31 voxels).
#pragma OPENCL FP_CONTRACT OFF

#ifndef INDEX
#define INDEX long
#endif
#include "gather.clh"
#include "lanes.clh"
#include "ray_values.clh"
#include "rays.clh"

#define LEAST_WIDTH (1.0f / 64.0f)

// Lines over p, the distance of a plane from the volume's middle: slope and shift of b, c; of the steps of b a column, a row; of c.
typedef struct {
  float4 centre, steps_b, steps_c;
} Shadow;

// Of the pixel whose centre has the first of the rays, and its sides, down to up and left to right, the others.
INLINE Shadow shadow_of(Ray centre, Ray left, Ray right, Ray below, Ray above, int axis, float cx, float cy, float cz) {
  const Line at = line_of(centre, axis, cx, cy, cz);
  const Line u0 = line_of(left, axis, cx, cy, cz), u1 = line_of(right, axis, cx, cy, cz);
  const Line v0 = line_of(below, axis, cx, cy, cz), v1 = line_of(above, axis, cx, cy, cz);
  Shadow s;
  s.centre = (float4)(at.slope_b, at.shift_b, at.slope_c, at.shift_c);
  s.steps_b =
      (float4)(u1.slope_b - u0.slope_b, u1.shift_b - u0.shift_b, v1.slope_b - v0.slope_b, v1.shift_b - v0.shift_b);
  s.steps_c =
      (float4)(u1.slope_c - u0.slope_c, u1.shift_c - u0.shift_c, v1.slope_c - v0.slope_c, v1.shift_c - v0.shift_c);
  return s;
}

#define PIXEL_SHADOW(ray, view, column, v, axis, cx, cy, cz)                         \
  shadow_of(ray, RAY_AT(view, 2 * (column)-1, v), RAY_AT(view, 2 * (column) + 1, v), \
            RAY_AT(view, 2 * (column), (v)-0.5f), RAY_AT(view, 2 * (column), (v) + 0.5f), axis, cx, cy, cz)

INLINE float width_at(float p, float4 steps, float most) {
  return fmin(fmax(fabs(fma(p, steps.x, steps.y)) + fabs(fma(p, steps.z, steps.w)), LEAST_WIDTH), most);
}

// Of the shadow about `at` and the voxel about `voxel`, along one axis.
INLINE float overlap(float at, float half_width, float voxel) {
  return fmax(0.0f, fmin(at + half_width, voxel + 0.5f) - fmax(at - half_width, voxel - 0.5f));
}

INLINE int clamped(float value, int low, int high) {
  return (int)fmin(fmax(value, (float)low), (float)high);
}

// The na planes along the axis that a ray follows, about ca; nb and nc voxels across; the widest shadows there, and how far from a shadow's
// middle the centres of voxels that it touches lie; voxels from plane to plane (unless these are slices), and along b.
typedef struct {
  int axis, na, nb, nc;
  float ca, most_b, most_c, reach_b, reach_c;
  INDEX stride_a, stride_b;
} Planes;

INLINE Planes planes_of(int axis, Extent extent, PerAxis widest) {
  Planes p;
  p.axis = axis;
  p.na = axis == 2   ? extent.nz
         : axis == 0 ? extent.nx
                     : extent.ny,
  p.nb = axis == 0 ? extent.ny : extent.nx, p.nc = axis == 2 ? extent.ny : extent.nz;
  p.ca = 0.5f * (float)(p.na - 1);
  p.most_b = axis == 0 ? widest.y : widest.x, p.most_c = axis == 2 ? widest.y : widest.z;
  p.reach_b = fma(0.5f, p.most_b, 0.5f), p.reach_c = fma(0.5f, p.most_c, 0.5f);
  p.stride_a = axis == 0 ? 1 : extent.nx, p.stride_b = axis == 0 ? extent.nx : 1;
  return p;
}

// The planes where a shadow may touch the volume, from its middle, and the slices of [begin, end) that it may touch there.
typedef struct {
  float low, high;
  int first, last;
} Reach;

INLINE Reach reach_of(float4 centre, Planes p, Extent extent) {
  Reach r;
  r.low = -p.ca, r.high = (float)(p.na - 1) - p.ca, r.first = extent.end, r.last = extent.begin - 1;
  narrow(centre.x, centre.y, -p.reach_b, (float)(p.nb - 1) + p.reach_b, (float)p.na, &r.low, &r.high);
  narrow(centre.z, centre.w, -p.reach_c, (float)(p.nc - 1) + p.reach_c, (float)p.na, &r.low, &r.high);
  if (r.low > r.high + 2.0f) return r;
  float lowest = r.low + p.ca, highest = r.high + p.ca;
  if (p.axis != 2) {
    const float c0 = fma(r.low, centre.z, centre.w), c1 = fma(r.high, centre.z, centre.w),
                more = fabs(centre.z) + p.reach_c;
    lowest = fmin(c0, c1) - more, highest = fmax(c0, c1) + more;
  }
  r.first = clamped(floor(lowest) - 1.0f, extent.begin, extent.end),
  r.last = clamped(ceil(highest) + 1.0f, extent.begin - 1, extent.end - 1);
  return r;
}

// The planes where it may touch slice k.
INLINE int2 planes_within(float4 centre, Planes p, Reach r, int k) {
  if (p.axis == 2) return (int2)(k, k);
  narrow(centre.z, centre.w, (float)k - p.reach_c, (float)k + p.reach_c, (float)p.na, &r.low, &r.high);
  return (int2)(clamped(floor(r.low + p.ca) - 1.0f, 0, p.na), clamped(ceil(r.high + p.ca) + 1.0f, -1, p.na - 1));
}

#ifdef LANES
#include "distance_driven_lanes.clh"
#else
__kernel void distance_driven_project(__global const float* restrict volume, __global const float* restrict rays,
                                      ARC_PARAMETERS ENDS_PARAMETERS __global float* restrict projections,
                                      Extent extent, PerAxis voxel, Batch batch, PerAxis widest) {
  const int column = get_global_id(0), row = get_global_id(1), view = get_global_id(2);
  if (column >= batch.columns || row >= batch.rows || view >= batch.views) return;
  const float v = from_centre(row, batch.rows);
  const Ray ray = RAY_AT(batch.first_view + view, 2 * column, v);
  const int axis = main_axis(ray);
  const Shadow s = PIXEL_SHADOW(ray, batch.first_view + view, column, v, axis, 0.5f * (float)(extent.nx - 1),
                                0.5f * (float)(extent.ny - 1), 0.5f * (float)(extent.nz - 1));
  const float path = path_mm(ray, axis, voxel);
  const Planes planes = planes_of(axis, extent, widest);
  const Reach reach = reach_of(s.centre, planes, extent);
  ENDS_OF(ray, axis, batch.first_view + view, column);
  const size_t plane = (size_t)extent.nx * extent.ny;

  const size_t pixel = ((size_t)view * batch.rows + row) * batch.columns + column;
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
#endif

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
