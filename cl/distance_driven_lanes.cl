// distance_driven_project for CPUs: 8 neighbouring pixels of a row go through slices and planes together, in vectors whose arithmetic has the
// bits of the same in single floats. The compiler leaves the portable form scalar.
#pragma OPENCL FP_CONTRACT OFF
#include "distance_driven.clh"
#include "lanes.clh"

typedef WHOLE_LANES(INDEX) index_lanes;

INLINE lanes widths_at(lanes p, const lanes steps[4], float largest) {
  return least(most(fabs(fma(p, steps[0], steps[1])) + fabs(fma(p, steps[2], steps[3])), (lanes)(LEAST_WIDTH)),
               (lanes)(largest));
}

INLINE lanes overlaps(lanes at, lanes half_width, lanes voxel) {
  return most((lanes)(0.0f), least(at + half_width, voxel + 0.5f) - most(at - half_width, voxel - 0.5f));
}

// floor(x), clamped as `clamped` does
INLINE int8 whole_between(lanes x, int low, int high) {
  lanes fraction;
  return split(least(most(x, (lanes)((float)low)), (lanes)((float)high)), &fraction);
}

// Work-items: (views, columns / 8, rows).
__kernel void distance_driven_lanes_project(__global const float* restrict volume, __global const float* restrict rays,
                                            __global float* restrict projections, Extent extent, PerAxis voxel,
                                            Batch batch, PerAxis widest) {
  const int view = get_global_id(0), column = 8 * (int)get_global_id(1), row = get_global_id(2);
  __global float* pixels = projections + ((size_t)view * batch.held + row) * batch.columns + column;
  const int count = min(8, batch.columns - column);
  const float v = from_centre(batch.row_begin + row, batch.rows), cx = 0.5f * (float)(extent.nx - 1),
              cy = 0.5f * (float)(extent.ny - 1), cz = 0.5f * (float)(extent.nz - 1);

  // beyond the row's end, its last pixel
  float centre[4][8], steps_b[4][8], steps_c[4][8], path[8], sum[8];
  float4 middle[8];
  int axes[8];
  for (int n = 0; n < 8; ++n) {
    const int at = min(n, count - 1);
    const Ray ray = RAY_AT(batch.first_view + view, 2 * (column + at), v);
    axes[n] = main_axis(ray);
    const Shadow s = PIXEL_SHADOW(ray, batch.first_view + view, column + at, v, axes[n], cx, cy, cz);
    middle[n] = s.centre;
    centre[0][n] = s.centre.x, centre[1][n] = s.centre.y, centre[2][n] = s.centre.z, centre[3][n] = s.centre.w;
    steps_b[0][n] = s.steps_b.x, steps_b[1][n] = s.steps_b.y, steps_b[2][n] = s.steps_b.z, steps_b[3][n] = s.steps_b.w;
    steps_c[0][n] = s.steps_c.x, steps_c[1][n] = s.steps_c.y, steps_c[2][n] = s.steps_c.z, steps_c[3][n] = s.steps_c.w;
    path[n] = path_mm(ray, axes[n], voxel);
    sum[n] = pixels[at];
  }
  lanes lines[4], of_b[4], of_c[4];
  for (int n = 0; n < 4; ++n)
    lines[n] = vload8(0, centre[n]), of_b[n] = vload8(0, steps_b[n]), of_c[n] = vload8(0, steps_c[n]);
  const lanes paths = vload8(0, path);
  lanes sums = vload8(0, sum);

  for (int axis = 0; axis < 3; ++axis) {  // nearly always one for all
    const int8 chosen = vload8(0, axes) == axis;
    if (!any(chosen)) continue;
    const Planes planes = planes_of(axis, extent, widest);
    Reach reach[8];
    int first_slice = extent.end, last_slice = extent.begin - 1;
    for (int n = 0; n < 8; ++n) {
      if (axes[n] != axis) continue;
      reach[n] = reach_of(middle[n], planes, extent);
      if (reach[n].first > reach[n].last) continue;
      first_slice = min(first_slice, reach[n].first), last_slice = max(last_slice, reach[n].last);
    }
    for (int k = first_slice; k <= last_slice; ++k) {
      int first = planes.na, last = -1;
      for (int n = 0; n < 8; ++n) {
        if (axes[n] != axis || k < reach[n].first || k > reach[n].last) continue;
        const int2 range = planes_within(middle[n], planes, reach[n], k);
        first = min(first, range.x), last = max(last, range.y);
      }
      for (int m = first; m <= last; ++m) {
        const lanes p = (float)m - planes.ca;
        const lanes c = fma(p, lines[2], lines[3]), width_c = widths_at(p, of_c, planes.most_c),
                    half_c = 0.5f * width_c;
        int8 taken = chosen;
        if (axis != 2) taken &= overlaps(c, half_c, (lanes)((float)k)) > 0.0f;
        if (!any(taken)) continue;
        const lanes b = fma(p, lines[0], lines[1]), width_b = widths_at(p, of_b, planes.most_b),
                    half_b = 0.5f * width_b;
        const lanes scale = paths / (width_b * width_c);
        const int8 first_b = whole_between(b - half_b + 0.5f, 0, planes.nb),
                   last_b = whole_between(b + half_b + 0.5f, -1, planes.nb - 1);
        int8 at_c = k, last_c = k;
        if (axis == 2)
          at_c = whole_between(c - half_c + 0.5f, 0, planes.nc),
          last_c = whole_between(c + half_c + 0.5f, -1, planes.nc - 1);
        __global const float* slice =
            volume + (INDEX)extent.nx * extent.ny * (k - extent.offset) + (axis == 2 ? 0 : planes.stride_a * m);
        for (; any(taken & (at_c <= last_c)); ++at_c) {
          const lanes scaled_c = scale * overlaps(c, half_c, convert_float8(at_c));
          const int8 on = taken & (at_c <= last_c) & (scaled_c > 0.0f);
          const index_lanes line = axis == 2 ? CONVERT(INDEX)(at_c) * extent.nx : (index_lanes)(0);
          for (int8 at_b = first_b; any(on & (at_b <= last_b)); ++at_b) {
            const lanes overlap_b = overlaps(b, half_b, convert_float8(at_b));
            const int8 here = on & (at_b <= last_b) & (overlap_b > 0.0f);
            const index_lanes at = (line + CONVERT(INDEX)(at_b) * planes.stride_b) & CONVERT(INDEX)(here);
            const lanes values = (lanes)(slice[at.s0], slice[at.s1], slice[at.s2], slice[at.s3], slice[at.s4],
                                         slice[at.s5], slice[at.s6], slice[at.s7]);
            sums = select(sums, fma(overlap_b * scaled_c, values, sums), here);
          }
        }
      }
    }
  }
  vstore8(sums, 0, sum);
  for (int n = 0; n < count; ++n) pixels[n] = sum[n];
}
