// joseph_project for CPUs where the rays of every detector column differ along one index axis only, e = AXIAL (k or j), which none follows: a
// circular scan about e without tilt. On a plane they all lie between the same two lines of voxels along e, so that what is read and
// blended once serves the whole column, and its pixels are taken in vectors. The bits are those of the portable form.
//
// lines[j][i][k] (AXIAL 2, joseph_stand) or [k][i][j] (AXIAL 1, joseph_turn): the slices held, with e contiguous. A work-item takes STRIP
// columns and DEPTH rows of the detector, and HELD voxels of a line at a time.
#pragma OPENCL FP_CONTRACT OFF
#include "joseph.clh"
#include "lanes.clh"

#ifndef AXIAL
#define AXIAL 2
#endif
#define STRIP 8
#define DEPTH 128
#define HELD 128

// 8 samples, each `fraction` beyond voxel `at` of a line.
INLINE lanes along_line(const float* line, int8 at, lanes fraction) {
  const float16 pairs = PAIRS(line, at);
  return fma(fraction, pairs.odd, (1.0f - fraction) * pairs.even);
}

// The same of two lines side by side, which then blend.
INLINE lanes along_both(const float* both, int8 at, lanes fraction, float low, float high) {
  at *= 2;
  const float16 a =
      (float16)(vload4(0, both + at.s0), vload4(0, both + at.s1), vload4(0, both + at.s2), vload4(0, both + at.s3));
  const float16 b =
      (float16)(vload4(0, both + at.s4), vload4(0, both + at.s5), vload4(0, both + at.s6), vload4(0, both + at.s7));
  const lanes rest = 1.0f - fraction;
  const lanes value0 = fma(fraction, (lanes)(a.s26ae, b.s26ae), rest * (lanes)(a.s048c, b.s048c));
  const lanes value1 = fma(fraction, (lanes)(a.s37bf, b.s37bf), rest * (lanes)(a.s159d, b.s159d));
  return fma((lanes)(high), value1, low * value0);
}

// Those of rows first to last that may have e in [start, start + count) on plane p: e is affine in rows but for what rounding does to it, far
// below two rows where it grows by SLOWEST a row or more. A thin slab has few of them.
#define SLOWEST 0.01f
INLINE int2 rows_between(float p, const float* slope, const float* shift, int first, int last, int start, int count) {
  const float e = fma(p, slope[first], shift[first]), e_last = fma(p, slope[last], shift[last]);
  const float each = (e_last - e) / (float)max(1, last - first);
  if (fabs(each) < SLOWEST) return (int2)(first, last);
  const float one = ((float)start - e) / each, other = ((float)(start + count) - e) / each;
  const float most = (float)(last - first);
  return (int2)(first + (int)clamp(floor(fmin(one, other)) - 2.0f, 0.0f, most),
                first + (int)clamp(ceil(fmax(one, other)) + 2.0f, 0.0f, most));
}

// Work-items: (views, columns / STRIP, rows / DEPTH).
__kernel void joseph_project_columns(__global const float* restrict lines, __global const float* restrict rays,
                                     __global float* restrict projections, Extent extent, int held, PerAxis voxel,
                                     Batch batch) {
  const int view = get_global_id(0), column = STRIP * (int)get_global_id(1), row = DEPTH * (int)get_global_id(2);
  const int width = min(STRIP, batch.columns - column), depth = min(DEPTH, batch.rows - row);
  const float cx = 0.5f * (float)(extent.nx - 1), cy = 0.5f * (float)(extent.ny - 1),
              cz = 0.5f * (float)(extent.nz - 1);
  __global const float* vectors = rays + RAY_FLOATS * (size_t)(batch.first_view + view);
  __global float* pixels = projections + ((size_t)view * batch.rows + row) * batch.columns + column;

  // of columns: the axis followed, and the line in the plane; of rays: that along e
  int axes[STRIP];
  float slope_q[STRIP], shift_q[STRIP];
  float slope_e[STRIP][DEPTH], shift_e[STRIP][DEPTH], path[STRIP][DEPTH], sum[STRIP][DEPTH];
  for (int n = 0; n < width; ++n) {
    const float u = from_centre(column + n, batch.columns);
    const int axis = main_axis(ray_of(vectors, u, from_centre(row, batch.rows)));
    axes[n] = axis;
    for (int r = 0; r < ((depth + 7) & ~7); ++r) {
      const Ray ray = ray_of(vectors, u, from_centre(row + r, batch.rows));
      const Line line = line_of(ray, axis, cx, cy, cz);
      const bool c_axial = AXIAL == 2 || axis == 2;
      slope_e[n][r] = c_axial ? line.slope_c : line.slope_b, shift_e[n][r] = c_axial ? line.shift_c : line.shift_b;
      if (r == 0)
        slope_q[n] = c_axial ? line.slope_b : line.slope_c, shift_q[n] = c_axial ? line.shift_b : line.shift_c;
      path[n][r] = path_mm(ray, axis, voxel);
      sum[n][r] = r < depth ? pixels[(size_t)r * batch.columns + n] : 0.0f;
    }
  }

  float voxels[STRIP][2 * HELD + 2];
  const int ne = AXIAL == 2 ? extent.nz : extent.ny;
  const int from_e = AXIAL == 2 && extent.begin > 0 ? extent.begin : -1, to_e = AXIAL == 2 ? extent.end : ne;
  const int offset_e = AXIAL == 2 ? extent.offset : 0;
  for (int way = 0; way < 4; ++way) {  // the march towards larger k: along each axis of the plane, to and fro
    const bool descending = way & 1, other = way > 1;
    const int axis = !other ? 0 : AXIAL == 2 ? 1 : 2;
    const Planes planes = planes_of(axis, extent);
    const bool q_is_k = AXIAL == 1 && axis == 0;
    const int nq = q_is_k ? extent.nz : planes.nb, offset_q = q_is_k ? extent.offset : 0,
              offset_a = axis == 2 ? extent.offset : 0;
    const int from_q = q_is_k ? planes.from : -1, to_q = q_is_k ? planes.to : nq;
    // rows whose march goes this way: first or last ones, because slopes grow or fall with rows
    int first_row[STRIP], last_row[STRIP];
    float low = (float)planes.highest - planes.ca, high = (float)planes.lowest - planes.ca;
    for (int n = 0; n < width; ++n) {
      first_row[n] = depth, last_row[n] = -1;
      if (axes[n] != axis) continue;
      for (int r = 0; r < depth; ++r)
        if (descending == (axis != 2 && (q_is_k ? slope_q[n] : slope_e[n][r]) < 0.0f))
          first_row[n] = min(first_row[n], r), last_row[n] = r;
      if (last_row[n] < 0) continue;
      float near = (float)planes.lowest - planes.ca, far = (float)planes.highest - planes.ca;
      narrow(slope_q[n], shift_q[n], (float)from_q, (float)to_q, (float)planes.na, &near, &far);
      low = fmin(low, near), high = fmax(high, far);
    }
    const int first = max(planes.lowest, (int)floor(fmin(low + planes.ca, (float)planes.na + 4.0f)) - 1);
    const int last = min(planes.highest, (int)ceil(fmax(high + planes.ca, -4.0f)) + 1);
    // voxels from line to line
    const size_t row_lines = AXIAL == 2 ? (size_t)held : (size_t)extent.ny, plane_lines = (size_t)extent.nx * row_lines;
    const size_t stride_a = axis == 0 ? row_lines : plane_lines, stride_q = axis == 0 ? plane_lines : row_lines;

    for (int step = first; step <= last; ++step) {
      const int m = descending ? last - (step - first) : step;
      const float p = (float)m - planes.ca;
      // what the columns read of e: most HELD voxels of it at a time. All lines are read first, so that memory answers for many at once.
      int lowest[STRIP], highest[STRIP], parts = 0;
      for (int n = 0; n < width; ++n) {
        lowest[n] = 0, highest[n] = -1;
        if (last_row[n] < 0) continue;
        // e grows or falls with rows, but for what rounding does to it
        const int one = first_row[n], other = last_row[n];
        const float one_end = floor(fma(p, slope_e[n][one], shift_e[n][one])),
                    other_end = floor(fma(p, slope_e[n][other], shift_e[n][other]));
        lowest[n] = max((int)fmin(one_end, other_end) - 1, from_e),
        highest[n] = min((int)fmax(one_end, other_end) + 1, to_e - 1);
        parts = max(parts, (highest[n] - lowest[n] + HELD) / HELD);
      }
      for (int part = 0; part < parts; ++part) {
        int start[STRIP], count[STRIP];
        float low_weight[STRIP], high_weight[STRIP];
        for (int n = 0; n < width; ++n) {
          start[n] = lowest[n] + HELD * part, count[n] = min(HELD, highest[n] - start[n] + 1);
          const float q = fma(p, slope_q[n], shift_q[n]), whole_q = floor(q), high_q = q - whole_q;
          const int q0 = (int)whole_q;
          if (q0 < from_q || q0 >= to_q) count[n] = 0;
          if (count[n] <= 0) continue;
          // a line that is not there weighs nothing and is not read
          const float low = q0 < 0 ? 0.0f : 1.0f - high_q, high = q0 + 1 >= nq ? 0.0f : high_q;
          const int low_q = max(q0, 0) - offset_q, next_q = min(q0 + 1, nq - 1) - offset_q;
          __global const float* plane = lines + (size_t)(m - offset_a) * stride_a;
          __global const float *line0 = plane + (size_t)low_q * stride_q, *line1 = plane + (size_t)next_q * stride_q;
          // and the voxel that follows; zero beyond the faces
          const int begin_e = max(0, -start[n]), end_e = min(count[n] + 1, ne - start[n]), at = start[n] - offset_e;
          float* own = voxels[n];
          if (q_is_k) {
            low_weight[n] = low, high_weight[n] = high;
            if (begin_e > 0) own[0] = 0.0f, own[1] = 0.0f;
            for (int s = begin_e; s < end_e; ++s) own[2 * s] = line0[at + s], own[2 * s + 1] = line1[at + s];
            if (end_e == count[n]) own[2 * end_e] = 0.0f, own[2 * end_e + 1] = 0.0f;
          } else {
            if (begin_e > 0) own[0] = 0.0f;
            for (int s = begin_e; s < end_e; ++s) own[s] = fma(high, line1[at + s], low * line0[at + s]);
            if (end_e == count[n]) own[end_e] = 0.0f;
          }
        }
        for (int n = 0; n < width; ++n) {
          if (count[n] <= 0) continue;
          const int2 rows_here = rows_between(p, slope_e[n], shift_e[n], first_row[n], last_row[n], start[n], count[n]);
          for (int r = rows_here.x & ~7; r <= rows_here.y; r += 8) {
            const lanes slope = vload8(0, &slope_e[n][r]), e = fma((lanes)(p), slope, vload8(0, &shift_e[n][r]));
            const lanes old = vload8(0, &sum[n][r]);
            lanes fraction;
            const int8 wanted = split(e, &fraction) - start[n], at = clamp(wanted, (int8)(0), (int8)(count[n] - 1));
            int8 taken = wanted == at;
            if (AXIAL == 2) taken &= descending ? slope < 0.0f : slope >= 0.0f;
            const lanes value = q_is_k ? along_both(voxels[n], at, fraction, low_weight[n], high_weight[n])
                                       : along_line(voxels[n], at, fraction);
            vstore8(select(old, fma(vload8(0, &path[n][r]), value, old), taken), 0, &sum[n][r]);
          }
        }
      }
    }
  }

  for (int r = 0; r < depth; ++r)
    for (int n = 0; n < width; ++n) pixels[(size_t)r * batch.columns + n] = sum[n][r];
}
