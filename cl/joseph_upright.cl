// joseph_project for upright scans on GPUs: see upright.clh. Arithmetic and its order are those of the portable form, and so are the bits;
// slabs have joseph.cl's samples and halo.
#pragma OPENCL FP_CONTRACT OFF
#include "joseph.clh"
#include "upright.clh"

typedef struct {
  float slope_b, shift_b;
  int axis;
} Column;

typedef struct {
  float slope_b, shift_b, slope_c, shift_c, path, from, to;  // from, to: samples of this slab (Planes)
  int first, last;
} Own;

// Weights of two neighbouring lines of voxels along k, the number of the first line, and p, the plane's distance from the volume's middle;
// NaN: the rays pass beside the volume.
typedef struct {
  float low, high;
  int line;
  float p;
} Crossing;

INLINE Own own_of(Ray ray, __global const float* rays, int view, int column, float v, int axis, Extent extent,
                  PerAxis voxel, Batch batch, Planes planes) {
  const Line line =
      line_of(ray, axis, 0.5f * (float)(extent.nx - 1), 0.5f * (float)(extent.ny - 1), 0.5f * (float)(extent.nz - 1));
  const int2 range = range_of(line, planes);
  const Own own = {line.slope_b,       line.shift_b,     line.slope_c, line.shift_c, path_mm(ray, axis, voxel),
                   (float)planes.from, (float)planes.to, range.x,      range.y};
  return own;
}

INLINE Column column_of(Own own, int axis) {
  const Column column = {own.slope_b, own.shift_b, axis};
  return column;
}

INLINE Crossing crossing_of(Column column, Planes planes, int m) {
  const float p = (float)m - planes.ca, b = fma(p, column.slope_b, column.shift_b), whole = floor(b);
  const int b0 = (int)whole, line = clamp(b0, 0, max(planes.nb - 2, 0));
  Crossing crossing = {0.0f, 0.0f, 0, NAN};
  if (m < 0 || m >= planes.na || b0 < -1 || b0 >= planes.nb) return crossing;
  // at the edges, the neighbour that is there and one that weighs nothing
  const float fraction = b - whole;
  crossing.low = b0 < 0 ? fraction : line == b0 ? 1.0f - fraction : 0.0f;
  crossing.high = b0 < 0 || planes.nb == 1 ? 0.0f : line == b0 ? fraction : 1.0f - fraction;
  crossing.line = (int)(m * planes.stride_a + line * planes.stride_b), crossing.p = p;
  return crossing;
}

// next: from a line of voxels to the next one along b; shift: from a slice's number to its place.
INLINE float add_crossings(float sum, __local const Crossing* crossings, int count,
                           __global const float* restrict stacks, Own own, INDEX next, int depth, int shift) {
  for (int n = 0; n < count; n += TOGETHER) {
    Crossing at[TOGETHER];
    float low_c[TOGETHER], high_c[TOGETHER], v[TOGETHER][4];
    bool taken[TOGETHER];
    EACH {
      at[s] = crossings[n + s];
      const float c = fma(at[s].p, own.slope_c, own.shift_c), whole = floor(c);
      taken[s] = whole >= own.from && whole < own.to;
      high_c[s] = c - whole, low_c[s] = 1.0f - high_c[s];
      const INDEX low = (INDEX)at[s].line * depth + (taken[s] ? (int)whole + shift : 0), high = low + next;
      v[s][0] = stacks[low], v[s][1] = stacks[low + 1], v[s][2] = stacks[high], v[s][3] = stacks[high + 1];
    }
    EACH {
      const float value0 = fma(at[s].high, v[s][2], at[s].low * v[s][0]);
      const float value1 = fma(at[s].high, v[s][3], at[s].low * v[s][1]);
      const float more = fma(own.path, fma(high_c[s], value1, low_c[s] * value0), sum);
      sum = taken[s] ? more : sum;
    }
  }
  return sum;
}

#include "upright_project.clh"

__kernel __attribute__((reqd_work_group_size(ROWS, COLUMNS, VIEWS))) void joseph_upright_project(
    __global const float* restrict stacks, __global const float* restrict rays, __global float* restrict projections,
    Extent extent, int before, int depth, PerAxis voxel, Batch batch) {
  __local Crossing crossings[LISTS][PLANES];
  __local Column of_lists[LISTS];
  __local int ranges[2][2];  // of planes, of rays that ascend and that descend
  project_columns(stacks, rays, projections, extent, before, depth, voxel, batch, crossings, of_lists, ranges);
}
