// distance_driven_backproject for upright scans on GPUs: see bricks.clh. Shadows are distance_driven.cl's. Both widths of a shadow have one
// numerator for each plane of a view, so they are computed without differences of neighbouring rays. Bricks of up to 4 x 4 voxels.
#pragma OPENCL FP_CONTRACT OFF
#include "bricks.clh"

#define LEAST_WIDTH (1.0f / 64.0f)  // distance_driven.clh's
#define WEIGHTS 4                   // of voxels along b

// The component of a ray's direction along the axis is along + step u in column u; a shadow is |per_p p + shift| / (along + step (u + 1/2)) /
// (along + step (u - 1/2)) wide.
typedef struct {
  float along, step, per_p, shift;
} View;

typedef struct {
  float4 affine;                 // w: share of the rows for each c, times d
  float c_numerator, c_per_row;  // a column's step of c, over the divisors above, is c_numerator + c_per_row v
} Plane;

typedef struct {
  float4 line;                      // slope, c of the middle row, and k's share of the rows and where it begins
  float4 weights;                   // overlap with the brick's voxels along b, over the width
  float step, step_per_row, reach;  // of c a column: of the middle row, and its change; most that c may be from k
  int place;                        // of the brick's first voxel on the plane; the column's rows
  int column;
} Crossing;

INLINE float reach_b(float widest) {
  return fma(0.5f, widest, 0.5f);
}

INLINE View view_of(__global const float* r, int axis) {
  View view;
  const float sign = axis == 0 ? -1.0f : 1.0f, per_p0 = r[axis == 0 ? 1 : 0], per_p1 = r[axis == 0 ? 7 : 6];
  view.along = r[axis == 0 ? 0 : 1], view.step = r[axis == 0 ? 6 : 7];
  view.per_p = fma(per_p1, view.along, -(per_p0 * view.step));
  view.shift = sign * fma(r[11], view.along, -(r[5] * view.step));
  return view;
}

INLINE Plane plane_of(__global const float* vectors, View view, int axis, float p, float of_last) {
  Plane plane;
  plane.affine = affine_of(vectors, axis, p);
  plane.affine.w = of_last / plane.affine.z;
  plane.c_numerator = fma(plane.affine.y, view.along, -(plane.affine.x * view.step));
  plane.c_per_row = -(plane.affine.z * view.step);
  return plane;
}

INLINE float over_sides(View view, float along) {
  return 1.0f / (fma(0.5f, view.step, along) * fma(-0.5f, view.step, along));
}

INLINE float width_b(View view, float p, float over, float widest) {
  return fmin(fmax(fabs(fma(p, view.per_p, view.shift) * over), LEAST_WIDTH), widest);
}

INLINE bool passes(View view, float4 ray, float p, float widest, int begin_b, int end_b) {
  const float b = fma(p, ray.x, ray.y), reach = 0.5f * width_b(view, p, over_sides(view, ray.z), widest) + 0.5f;
  return b + reach > (float)begin_b && b - reach < (float)(end_b - 1);
}

INLINE Crossing crossing_of(View view, float4 ray, Plane plane, float p, float u, float v, float half_v, float centre_k,
                            float row_start, float2 widest, int begin_b, int end_b, int length, int stride_b, int place,
                            int column) {
  const float4 numbers = plane.affine;
  const float slope = numbers.z * ray.w, per_row = ray.z * numbers.w, over = over_sides(view, ray.z);
  const float c_middle = fma(v, slope, fma(fma(u, numbers.y, numbers.x), ray.w, centre_k));
  Crossing at;
  at.step_per_row = plane.c_per_row * over, at.step = fma(v, at.step_per_row, plane.c_numerator * over);
  // of the widest shadow of the column's
  const float most = fabs(slope) + fma(half_v, fabs(at.step_per_row), fabs(plane.c_numerator * over));
  at.reach = fma(0.5f, fmin(fmax(most, LEAST_WIDTH), widest.y), 0.5f);
  at.line = (float4)(slope, c_middle, per_row, fma(-c_middle, per_row, row_start - at.reach * fabs(per_row)));
  const float width = width_b(view, p, over, widest.x), b = fma(p, ray.x, ray.y), low = fma(-0.5f, width, b),
              high = fma(0.5f, width, b);
  float weights[WEIGHTS];
#pragma unroll
  for (int n = 0; n < WEIGHTS; ++n) {
    const float voxel = (float)(begin_b + n);
    weights[n] = begin_b + n < end_b ? fmax(fmin(high, voxel + 0.5f) - fmax(low, voxel - 0.5f), 0.0f) / width : 0.0f;
  }
  at.weights = (float4)(weights[0], weights[1], weights[2], weights[3]);
  at.place = place, at.column = column;
  return at;
}

// Weighs nothing; reads rows from the share `first` on.
INLINE Crossing no_crossing(float first) {
  Crossing at;
  at.line = (float4)(4.0f, 0.0f, 0.0f, first), at.weights = (float4)(0.0f);
  at.step = at.step_per_row = at.reach = 0.0f, at.place = at.column = 0;
  return at;
}

// Adds a row's value times its overlap with the slices, c being their distance and `step` that of c a column, and goes on to the next row.
INLINE void add_row(floats* sum, floats value, floats* c, floats* step, const Crossing* at) {
  const floats width = fmax(fabs(*step) + fabs(at->line.x), LEAST_WIDTH);
  const floats overlap = fmin(fmin(fmax(fma((floats)(0.5f), width, (floats)(0.5f)) - fabs(*c), 0.0f), 1.0f), width);
  *sum = fma(overlap * (1.0f / width), value, *sum);
  *c += at->line.x, *step += at->step_per_row;
}

INLINE void add_rows(const Crossing* at, __global const float* rows, Rows of, floats k, __local floats* sums,
                     int stride_b) {
  // the first row whose shadow may reach k, and those after it
  __global const float* column[TOGETHER];
  uints row[TOGETHER];
  floats c[TOGETHER], step[TOGETHER], one[TOGETHER], two[TOGETHER], sum[TOGETHER];
  EACH {
    const float4 line = at[m].line;
    column[m] = rows + at[m].column;
    const floats share = fmin(fmax(fma(k, (floats)(line.z), (floats)(line.w)), 0.0f), 1.0f),
                 whole = fma(share, (floats)(of.last), (floats)(WHOLES)), from_middle = whole - of.whole_middle;
    row[m] = AS_UINTS(whole);
    c[m] = fma(from_middle, (floats)(line.x), (floats)(line.y)) - k;
    step[m] = fma(from_middle, (floats)(at[m].step_per_row), (floats)(at[m].step));
  }
  EACH one[m] = GATHERED(column[m], row[m]), two[m] = GATHERED(column[m] + 1, row[m]);
  EACH {
    sum[m] = (floats)(0.0f);
    add_row(&sum[m], one[m], &c[m], &step[m], &at[m]);
    add_row(&sum[m], two[m], &c[m], &step[m], &at[m]);
  }
  float size = fabs(at[0].line.x), reach = at[0].reach;
  EACH size = fmin(size, fabs(at[m].line.x)), reach = fmax(reach, at[m].reach);
  for (float passed = 2.0f * size; passed < 2.0f * reach + 2.0f * MARGIN * size; passed += size) {
    EACH {
      row[m] = min(row[m] + 1, (uints)(of.beyond));
      add_row(&sum[m], GATHERED(column[m] + 1, row[m]), &c[m], &step[m], &at[m]);
    }
  }
  EACH {
    __local floats* voxel = sums + at[m].place;
    const float weights[WEIGHTS] = {at[m].weights.x, at[m].weights.y, at[m].weights.z, at[m].weights.w};
#pragma unroll
    for (int n = 0; n < WEIGHTS; ++n)
      if (weights[n] != 0.0f) voxel[n * stride_b] = fma((floats)(weights[n]), sum[m], voxel[n * stride_b]);
  }
}

#include "bricks_backproject.clh"

__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) void distance_driven_bricks_backproject(
    __global const float* restrict pixels, __global const float4* restrict columns,
    __global const float4* restrict matrices, __global const int* restrict axes, __global const float* restrict rays,
    __global float* restrict volume, Extent extent, Batch batch, PerAxis widest) {
  BRICK_MEMORY;
  backproject_brick(pixels, columns, matrices, axes, rays, volume, extent, batch, widest, BRICK_PARTS);
}
