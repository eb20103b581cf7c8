// joseph_project for CPUs: 8 neighbouring pixels of a row go through the planes together, in vectors whose arithmetic has the bits of the same
// in single floats. The compiler leaves the portable form scalar. Where b or c is beyond the volume's face the voxels that are read move
// back by one, and weights change places, so that pairs are read whole, and both lines at the same distance: nx and ny are 2 or more. Most
// planes are between those where any of the 8 enters or leaves, and need no tests.
//
// Memory takes the time: alone, a vector's march meets every plane in another cache line, and waits. So a work-item takes STRIP columns
// through PLANES planes at a time, and reads along lines of voxels in their order.
#pragma OPENCL FP_CONTRACT OFF
#include "joseph.clh"
#include "lanes.clh"

#define STRIP 32
#define PLANES 4

typedef WHOLE_LANES(INDEX) index_lanes;

// Eight rays that follow one axis; `chosen` are those that count.
typedef struct {
  lanes slope_b, shift_b, slope_c, shift_c, path;
  int8 chosen;
} Lines;

// line_of and path_mm of rays[0 .. 5] = dx, dy, dz, mx, my, mz.
INLINE Lines lines_of(const lanes rays[6], int axis, float cx, float cy, float cz, PerAxis voxel) {
  const lanes dx = rays[0], dy = rays[1], mx = rays[3], my = rays[4], mz = rays[5];
#ifdef FAN_STACK
  const lanes dz = 0.0f;
#else
  const lanes dz = rays[2];
#endif
  const lanes along = axis == 2 ? dz : axis == 0 ? dx : dy;
  const lanes length =
      sqrt(fma(voxel.x * dx, voxel.x * dx, fma(voxel.y * dy, voxel.y * dy, voxel.z * dz * (voxel.z * dz))));
  Lines lines;
  if (axis == 2) {
    lines.slope_b = dx / dz, lines.shift_b = cx - my / dz;
    lines.slope_c = dy / dz, lines.shift_c = cy + mx / dz;
  } else if (axis == 0) {
    lines.slope_b = dy / dx, lines.shift_b = cy - mz / dx;
    lines.slope_c = dz / dx, lines.shift_c = cz + my / dx;
  } else {
    lines.slope_b = dx / dy, lines.shift_b = cx + mz / dy;
    lines.slope_c = dz / dy, lines.shift_c = cz - mx / dy;
  }
#ifdef FAN_STACK
  lines.slope_c = 0.0f, lines.shift_c = cz + rays[2];
#endif
  lines.path = length / fabs(along);
  return lines;
}

// ray_of pixels u of a row.
INLINE void rays_of(__global const float* r, lanes u, float v, lanes rays[6]) {
  for (int n = 0; n < 6; ++n) rays[n] = fma(u, (lanes)(r[6 + n]), (lanes)(fma(v, r[12 + n], r[n])));
}

// from_centre of 8 columns; beyond the end, the last.
INLINE lanes u_of(int column, int end, int columns) {
  const int8 numbers = min(column + (int8)(0, 1, 2, 3, 4, 5, 6, 7), (int8)(end - 1));
  return convert_float8(numbers) - 0.5f * (float)(columns - 1);
}

// narrow() for each; where the slope is next to none, as if it were a little more.
INLINE void narrow_lanes(lanes slope, lanes shift, float low, float high, float reach, lanes* first, lanes* last) {
  slope = select(slope, (lanes)(1e-3f / reach), fabs(slope) * reach < 1e-3f);
  const lanes a = (low - shift) / slope, b = (high - shift) / slope;
  *first = most(*first, least(a, b));
  *last = least(*last, most(a, b));
}

INLINE float least_of(lanes x) {
  return fmin(fmin(fmin(x.s0, x.s1), fmin(x.s2, x.s3)), fmin(fmin(x.s4, x.s5), fmin(x.s6, x.s7)));
}

// Adds the samples of plane m, for all rays that have something there.
INLINE lanes add_checked(lanes sums, const Lines lines, const Planes planes, __global const float* voxels, int m) {
  // numbers along c of the first of two lines; there is one alone if the slab holds only the last slice
  const int lowest_c = max(planes.from, 0), highest_c = max(lowest_c, min(planes.to - 1, planes.nc - 2));
  const INDEX step_c = highest_c + 1 < planes.nc ? planes.stride_c : 0;
  const lanes p = (float)m - planes.ca;
  const lanes b = fma(p, lines.slope_b, lines.shift_b), c = fma(p, lines.slope_c, lines.shift_c);
  lanes fb, fc;
  const int8 b0 = split(b, &fb), c0 = split(c, &fc);
  const lanes rest_b = 1.0f - fb, rest_c = 1.0f - fc;
  const int8 taken = lines.chosen & (c0 >= planes.from) & (c0 < planes.to) & (b0 >= -1) & (b0 < planes.nb);
  if (!any(taken)) return sums;
  // a neighbour that is not there weighs nothing and is not read
  const int8 at_b = clamp(b0, (int8)(0), (int8)(planes.nb - 2)), at_c = clamp(c0, (int8)(lowest_c), (int8)(highest_c));
  const lanes first_b = select(select((lanes)(0.0f), fb, b0 < at_b), rest_b, b0 == at_b);
  const lanes second_b = select(select((lanes)(0.0f), rest_b, b0 > at_b), fb, b0 == at_b);
  const lanes first_c = select(select((lanes)(0.0f), fc, c0 < at_c), rest_c, c0 == at_c);
  const lanes second_c = select(select((lanes)(0.0f), rest_c, c0 > at_c), fc, (c0 == at_c) & (c0 + 1 < planes.nc));
  const index_lanes at = CONVERT(INDEX)(at_b) + CONVERT(INDEX)(at_c - planes.move_c) * planes.stride_c;
  __global const float* plane = voxels + m * planes.stride_a;
  const float16 low = PAIRS(plane, at), high = PAIRS(plane + step_c, at);
  const lanes value0 = fma(second_b, low.odd, first_b * low.even),
              value1 = fma(second_b, high.odd, first_b * high.even);
  return select(sums, fma(lines.path, fma(second_c, value1, first_c * value0), sums), taken);
}

// Adds the samples where all eight are between lines of the slab, and between voxels of these.
INLINE lanes add_inside(lanes sums, const Lines lines, const Planes planes, __global const float* voxels, int m) {
  const lanes p = (float)m - planes.ca;
  const lanes b = fma(p, lines.slope_b, lines.shift_b), c = fma(p, lines.slope_c, lines.shift_c);
  const int8 b0 = convert_int8(b), c0 = convert_int8(c);
  const lanes fb = b - convert_float8(b0), fc = c - convert_float8(c0);
  const lanes rest_b = 1.0f - fb;
  const index_lanes at = CONVERT(INDEX)(b0) + CONVERT(INDEX)(c0 - planes.move_c) * planes.stride_c;
  __global const float* plane = voxels + m * planes.stride_a;
  const float16 low = PAIRS(plane, at), high = PAIRS(plane + planes.stride_c, at);
  const lanes value0 = fma(fb, low.odd, rest_b * low.even), value1 = fma(fb, high.odd, rest_b * high.even);
  return fma(lines.path, fma(fc, value1, (1.0f - fc) * value0), sums);
}

INLINE bool all_inside(const Lines lines, const Planes planes, int m) {
  const lanes p = (float)m - planes.ca;
  const lanes b = fma(p, lines.slope_b, lines.shift_b), c = fma(p, lines.slope_c, lines.shift_c);
  return all((b >= 0.0f) & (b < (float)(planes.nb - 1)) & (c >= (float)max(planes.from, 0)) &
             (c < (float)min(planes.to, planes.nc - 1)));
}

// The planes, from `first` to `last`, where any of the eight may have samples, and those where all have them inside.
typedef struct {
  int first, last, inner_first, inner_last;
} Stretch;

INLINE Stretch stretch_of(const Lines lines, const Planes planes) {
  const float reach = (float)planes.na;
  const lanes lowest = (float)planes.lowest - planes.ca, highest = (float)planes.highest - planes.ca;
  lanes low = lowest, high = highest, inner_low = lowest, inner_high = highest;
  narrow_lanes(lines.slope_b, lines.shift_b, -1.01f, (float)planes.nb + 0.01f, reach, &low, &high);
  narrow_lanes(lines.slope_c, lines.shift_c, (float)planes.from - 0.01f, (float)planes.to + 0.01f, reach, &low, &high);
  const int8 some = lines.chosen & (low <= high);
  Stretch s;
  s.first = max(planes.lowest, (int)floor(least_of(select(highest, low, some)) + planes.ca) - 1);
  s.last = min(planes.highest, (int)ceil(-least_of(-select(lowest, high, some)) + planes.ca) + 1);
  s.inner_first = s.last + 1, s.inner_last = s.last;
  if (!any(some)) s.last = s.first - 1;
  if (!all(some)) return s;
  narrow_lanes(lines.slope_b, lines.shift_b, 0.0f, (float)(planes.nb - 1), reach, &inner_low, &inner_high);
  narrow_lanes(lines.slope_c, lines.shift_c, (float)max(planes.from, 0), (float)min(planes.to, planes.nc - 1), reach,
               &inner_low, &inner_high);
  s.inner_first = max(s.first, (int)ceil(-least_of(-least(inner_low, highest + 1.0f)) + planes.ca));
  s.inner_last = min(s.last, (int)floor(least_of(most(inner_high, lowest - 1.0f)) + planes.ca));
  // b and c grow or fall from plane to plane, so only the ends of the range need a test
  while (s.inner_first <= s.inner_last && !all_inside(lines, planes, s.inner_first)) ++s.inner_first;
  while (s.inner_first <= s.inner_last && !all_inside(lines, planes, s.inner_last)) --s.inner_last;
  return s;
}

// Work-items: (views, columns / STRIP, rows): the views of a row read nearly the same voxels.
__kernel void joseph_lanes_project(__global const float* restrict volume,
#ifdef TURNED
                                   __global const float* restrict turned,
#endif
                                   __global const float* restrict rays, __global float* restrict projections,
                                   Extent extent, PerAxis voxel, Batch batch) {
  const int view = get_global_id(0), column = STRIP * (int)get_global_id(1), row = get_global_id(2);
  const float cx = 0.5f * (float)(extent.nx - 1), cy = 0.5f * (float)(extent.ny - 1),
              cz = 0.5f * (float)(extent.nz - 1);
  const int width = min(STRIP, batch.columns - column), groups = (width + 7) / 8;
  const float v = from_centre(batch.row_begin + row, batch.rows);
  __global const float* r = rays + RAY_FLOATS * (size_t)(batch.first_view + view);
  __global float* pixels = projections + ((size_t)view * batch.held + row) * batch.columns + column;

  float sums[STRIP];
  for (int n = 0; n < 8 * groups; ++n) sums[n] = n < width ? pixels[n] : 0.0f;

  int8 axes[STRIP / 8];
  int followed = 0;
  for (int g = 0; g < groups; ++g) {
    lanes each[6];
    rays_of(r, u_of(column + 8 * g, column + width, batch.columns), v, each);
    const lanes ax = fabs(each[0]), ay = fabs(each[1]);
#ifdef FAN_STACK
    const lanes az = 0.0f;  // each[2] is the row's height
#else
    const lanes az = fabs(each[2]);
#endif
    axes[g] = select(select((int8)(1), (int8)(0), ax >= ay), (int8)(2), (az > ax) & (az > ay));
    for (int axis = 0; axis < 3; ++axis) followed |= any(axes[g] == axis) << axis;
  }

  Lines lines[STRIP / 8];
  int8 descending[STRIP / 8];
  Stretch stretches[STRIP / 8];
  for (int axis = 0; axis < 3; ++axis) {
    if ((followed >> axis & 1) == 0) continue;
    const Planes planes = planes_of(axis, extent);
    __global const float* voxels = VOXELS_OF(axis) + planes.base;
    for (int g = 0; g < groups; ++g) {
      lanes each[6];
      rays_of(r, u_of(column + 8 * g, column + width, batch.columns), v, each);
      lines[g] = lines_of(each, axis, cx, cy, cz, voxel);
      descending[g] = axis == 2 ? (int8)(0) : lines[g].slope_c < 0.0f;
    }
    for (int way = 0; way < 2; ++way) {  // to larger k along the axis, and back
      int first = planes.highest + 1, last = planes.lowest - 1;
      for (int g = 0; g < groups; ++g) {
        lines[g].chosen = (axes[g] == axis) & (way == 1 ? descending[g] : ~descending[g]);
        stretches[g] = stretch_of(lines[g], planes);
        if (stretches[g].first > stretches[g].last) continue;
        first = min(first, stretches[g].first), last = max(last, stretches[g].last);
      }
      for (int step = first; step <= last; step += PLANES)
        for (int g = 0; g < groups; ++g) {
          const Lines here = lines[g];
          const Stretch stretch = stretches[g];
          lanes sum = vload8(g, sums);
          for (int s = step; s < step + PLANES; ++s) {
            const int m = way == 1 ? last - (s - first) : s;
            if (m < stretch.first || m > stretch.last) continue;
            if (m >= stretch.inner_first && m <= stretch.inner_last)
              sum = add_inside(sum, here, planes, voxels, m);
            else
              sum = add_checked(sum, here, planes, voxels, m);
          }
          vstore8(sum, g, sums);
        }
    }
  }
  for (int n = 0; n < width; ++n) pixels[n] = sums[n];
}
