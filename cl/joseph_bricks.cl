// joseph_backproject for upright scans on GPUs: see bricks.clh.
#pragma OPENCL FP_CONTRACT OFF
#include "bricks.clh"
#include "joseph.clh"

// Step of c from row to row beyond which no third row is within 1 of k.
#define FAR 1.01f
// hat() of the distance c, as GPUs have it in one instruction.
#define WEIGHT(c) fmin(fmax(1.0f - fabs(c), 0.0f), 1.0f)

typedef float View;  // none of its numbers are needed

typedef struct {
  float4 affine;  // w: share of the rows for each c, times d
} Plane;

typedef struct {
  float4 line;     // slope, c of the middle row, and k's share of the rows and where it begins
  float4 weights;  // of a pair of voxels, as bits the place of the first one and that of the column's rows
} Crossing;

INLINE float reach_b(float widest) {
  return 1.0f;
}

INLINE View view_of(__global const float* vectors, int axis) {
  return 0.0f;
}

INLINE Plane plane_of(__global const float* vectors, View view, int axis, float p, float of_last) {
  Plane plane;
  plane.affine = affine_of(vectors, axis, p);
  plane.affine.w = of_last / plane.affine.z;
  return plane;
}

INLINE bool passes(View view, float4 ray, float p, float widest, int begin_b, int end_b) {
  const float b = fma(p, ray.x, ray.y);
  return b > (float)(begin_b - 1) && b < (float)end_b;
}

// u, v: pixels from the detector's centre, v of the middle row.
INLINE Crossing crossing_of(View view, float4 ray, Plane plane, float p, float u, float v, float half_v, float centre_k,
                            float row_start, float2 widest, int begin_b, int end_b, int length, int stride_b, int place,
                            int column) {
  const float4 numbers = plane.affine;
  const float slope = numbers.z * ray.w, per_row = ray.z * numbers.w;
  const float c_middle = fma(v, slope, fma(fma(u, numbers.y, numbers.x), ray.w, centre_k));
  Crossing at;
  at.line = (float4)(slope, c_middle, per_row, fma(-c_middle, per_row, row_start - fabs(per_row)));
  // of a pair of voxels that is half inside the brick, this half
  const float b = fma(p, ray.x, ray.y), whole = floor(b);
  const int before = (int)whole - begin_b, pair = clamp(before, 0, length - 2);
  const float low = hat(b, whole), high = hat(b, whole + 1.0f);
  at.weights = (float4)(before == pair  ? low
                        : before < pair ? high
                                        : 0.0f,
                        before == pair  ? high
                        : before > pair ? low
                                        : 0.0f,
                        as_float(place + pair * stride_b), as_float(column));
  return at;
}

// Weighs nothing; reads rows from the share `first` on.
INLINE Crossing no_crossing(float first) {
  Crossing at;
  at.line = (float4)(2.0f, 0.0f, 0.0f, first), at.weights = (float4)(0.0f);
  return at;
}

INLINE void add_rows(const Crossing* at, __global const float* rows, Rows of, floats k, __local floats* sums,
                     int stride_b) {
  // the first row with c within 1 of k, and those after it
  __global const float* column[TOGETHER];
  uints row[TOGETHER];
  floats c[TOGETHER], one[TOGETHER], two[TOGETHER], sum[TOGETHER];
  EACH {
    const float4 line = at[m].line;
    column[m] = rows + as_int(at[m].weights.w);
    const floats share = fmin(fmax(fma(k, (floats)(line.z), (floats)(line.w)), 0.0f), 1.0f),
                 whole = fma(share, (floats)(of.last), (floats)(WHOLES));
    row[m] = AS_UINTS(whole);
    c[m] = fma(whole - of.whole_middle, (floats)(line.x), (floats)(line.y)) - k;
  }
  EACH one[m] = GATHERED(column[m], row[m]), two[m] = GATHERED(column[m] + 1, row[m]);
  EACH sum[m] = WEIGHT(c[m]) * one[m];
  EACH c[m] += at[m].line.x, sum[m] = fma(WEIGHT(c[m]), two[m], sum[m]);
  float size = FAR;
  EACH size = fmin(size, fabs(at[m].line.x));
  if (size < FAR) {
    EACH c[m] += at[m].line.x, sum[m] = fma(WEIGHT(c[m]), GATHERED(column[m] + 2, row[m]), sum[m]);
    for (float passed = 3.0f * size; passed < 2.0f + 2.0f * MARGIN * size; passed += size) {
      EACH {
        row[m] = min(row[m] + 1, (uints)(of.beyond));
        c[m] += at[m].line.x, sum[m] = fma(WEIGHT(c[m]), GATHERED(column[m] + 2, row[m]), sum[m]);
      }
    }
  }
  EACH {
    __local floats* voxel = sums + as_int(at[m].weights.z);
    voxel[0] = fma((floats)(at[m].weights.x), sum[m], voxel[0]);
    voxel[stride_b] = fma((floats)(at[m].weights.y), sum[m], voxel[stride_b]);
  }
}

#include "bricks_backproject.clh"

__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) void joseph_bricks_backproject(
    __global const float* restrict pixels, __global const float4* restrict columns,
    __global const float4* restrict matrices, __global const int* restrict axes, __global const float* restrict rays,
    __global float* restrict volume, Extent extent, Batch batch, PerAxis widest) {
  BRICK_MEMORY;
  backproject_brick(pixels, columns, matrices, axes, rays, volume, extent, batch, widest, BRICK_PARTS);
}
