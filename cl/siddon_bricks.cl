// siddon_backproject for upright scans on GPUs: see bricks.clh. Between p - 1/2 and p + 1/2, p a plane across the axis that it follows, a
// column passes one cell of the slice, or two. The part of [0, 1] of the way there that a row has in slice k ends where its height is k - 1/2
// and k + 1/2; the place where the column changes cells splits it.
#pragma OPENCL FP_CONTRACT OFF
#include "bricks.clh"

#ifndef RECIPROCAL
#define RECIPROCAL(x) (1.0f / (x))
#endif
#define LEAST_TILT 1e-12f  // rays that climb less are taken to climb so much
#define NONE (-1)
#define WITHIN(share) fmin(fmax(share, 0.0f), 1.0f)

// The component along k of a ray's direction: at the detector's centre, and its steps a column and a row.
typedef struct {
  float along, per_column, per_row;
} View;

typedef struct {
  float4 affine;  // w: share of the rows for each c, times d
} Plane;

// Heights are from the volume's middle, where rays that climb least are and digits are most.
typedef struct {
  float4 line;  // slope, height of the middle row, and k's share of the rows and where it begins
  float tilt, tilt_per_row, split,
      reach;                  // height a plane, of the middle row; share of the way; most that a row may be from k
  int first, second, column;  // places of cells, or NONE; that of the column's rows
} Crossing;

INLINE float reach_b(float widest) {
  return 1.0f;  // half a voxel, and half a plane's step
}

INLINE View view_of(__global const float* r, int axis) {
  const View view = {r[2], r[8], r[14]};
  return view;
}

INLINE Plane plane_of(__global const float* vectors, View view, int axis, float p, float of_last) {
  Plane plane;
  plane.affine = affine_of(vectors, axis, p);
  plane.affine.w = of_last / plane.affine.z;
  return plane;
}

INLINE int cell_at(float4 ray, float p) {
  return (int)fmin(fmax(floor(fma(p, ray.x, ray.y) + 0.5f), -2.0f), WHOLES);
}

// The first cell and the second one, which are neighbours, even where rounding moves a column along the diagonal over two edges.
INLINE int2 cells_of(float4 ray, float p) {
  const int first = cell_at(ray, p - 0.5f), second = cell_at(ray, p + 0.5f);
  return (int2)(second + clamp(first - second, -1, 1), second);
}

INLINE bool passes(View view, float4 ray, float p, float widest, int begin_b, int end_b) {
  const int2 cells = cells_of(ray, p);
  return max(cells.x, cells.y) >= begin_b && min(cells.x, cells.y) < end_b;
}

// u, v: pixels from the detector's centre, v of the middle row.
INLINE Crossing crossing_of(View view, float4 ray, Plane plane, float p, float u, float v, float half_v, float centre_k,
                            float row_start, float2 widest, int begin_b, int end_b, int length, int stride_b, int place,
                            int column) {
  const float4 numbers = plane.affine;
  const float slope = numbers.z * ray.w, per_row = ray.z * numbers.w,
              middle = fma(v, slope, fma(u, numbers.y, numbers.x) * ray.w);
  Crossing at;
  at.tilt_per_row = view.per_row * ray.w,
  at.tilt = fma(v, at.tilt_per_row, fma(u, view.per_column, view.along) * ray.w);
  at.reach = fma(0.5f, fabs(at.tilt) + (half_v + 0.5f) * fabs(at.tilt_per_row), 0.5f);
  at.line = (float4)(slope, middle, per_row, fma(-middle, per_row, row_start - at.reach * fabs(per_row)));
  const int2 cells = cells_of(ray, p);
  const int first = cells.x, second = cells.y;
  const float from_edge = (float)max(first, second) - 0.5f - fma(p - 0.5f, ray.x, ray.y);
  at.split = first == second ? 1.0f : WITHIN(from_edge / ray.x);
  at.first = first >= begin_b && first < end_b ? place + (first - begin_b) * stride_b : NONE;
  at.second = second != first && second >= begin_b && second < end_b ? place + (second - begin_b) * stride_b : NONE;
  at.column = column;
  return at;
}

// Weighs nothing; reads rows from the share `first` on.
INLINE Crossing no_crossing(float first) {
  Crossing at;
  at.line = (float4)(4.0f, 0.0f, 0.0f, first);
  at.tilt = at.tilt_per_row = at.split = at.reach = 0.0f, at.first = at.second = NONE, at.column = 0;
  return at;
}

// Adds a row's value times the parts of its way in the slices, in the first cell and in the second one, c being the distances from them in the
// middle of the way, and goes on to the next row.
INLINE void add_row(floats* first, floats* second, floats value, floats* c, floats* tilt, const Crossing* at) {
  const floats inverse = RECIPROCAL(copysign(fmax(fabs(*tilt), LEAST_TILT), *tilt));
  const floats below = WITHIN(fma(-0.5f - *c, inverse, (floats)(0.5f))),
               above = WITHIN(fma(0.5f - *c, inverse, (floats)(0.5f)));
  *first = fma(fabs(fmin(above, at->split) - fmin(below, at->split)), value, *first);
  *second = fma(fabs(fmax(above, at->split) - fmax(below, at->split)), value, *second);
  *c += at->line.x, *tilt += at->tilt_per_row;
}

INLINE void add_rows(const Crossing* at, __global const float* rows, Rows of, floats k, __local floats* sums,
                     int stride_b) {
  // the first row that may meet k, and those after it
  const floats height = k - of.centre_k;
  __global const float* column[TOGETHER];
  uints row[TOGETHER];
  floats c[TOGETHER], tilt[TOGETHER], one[TOGETHER], two[TOGETHER], first[TOGETHER], second[TOGETHER];
  EACH {
    const float4 line = at[m].line;
    column[m] = rows + at[m].column;
    const floats share = WITHIN(fma(height, (floats)(line.z), (floats)(line.w))),
                 whole = fma(share, (floats)(of.last), (floats)(WHOLES)), from_middle = whole - of.whole_middle;
    row[m] = AS_UINTS(whole);
    c[m] = fma(from_middle, (floats)(line.x), (floats)(line.y)) - height;
    tilt[m] = fma(from_middle, (floats)(at[m].tilt_per_row), (floats)(at[m].tilt));
  }
  EACH one[m] = GATHERED(column[m], row[m]), two[m] = GATHERED(column[m] + 1, row[m]);
  EACH {
    first[m] = second[m] = (floats)(0.0f);
    add_row(&first[m], &second[m], one[m], &c[m], &tilt[m], &at[m]);
    add_row(&first[m], &second[m], two[m], &c[m], &tilt[m], &at[m]);
  }
  float size = fabs(at[0].line.x), reach = at[0].reach;
  EACH size = fmin(size, fabs(at[m].line.x)), reach = fmax(reach, at[m].reach);
  for (float passed = 2.0f * size; passed < 2.0f * reach + 2.0f * MARGIN * size; passed += size) {
    EACH {
      row[m] = min(row[m] + 1, (uints)(of.beyond));
      add_row(&first[m], &second[m], GATHERED(column[m] + 1, row[m]), &c[m], &tilt[m], &at[m]);
    }
  }
  EACH {
    if (at[m].first != NONE) sums[at[m].first] += first[m];
    if (at[m].second != NONE) sums[at[m].second] += second[m];
  }
}

#include "bricks_backproject.clh"

__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) void siddon_bricks_backproject(
    __global const float* restrict pixels, __global const float4* restrict columns,
    __global const float4* restrict matrices, __global const int* restrict axes, __global const float* restrict rays,
    __global float* restrict volume, Extent extent, Batch batch, PerAxis widest) {
  BRICK_MEMORY;
  backproject_brick(pixels, columns, matrices, axes, rays, volume, extent, batch, widest, BRICK_PARTS);
}
