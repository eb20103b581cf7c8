// siddon_project for upright scans on GPUs: see upright.clh. A column is listed as the pieces of its way in single cells of the slice, none
// longer than from plane to plane, so a ray meets at most two slices in each: none follows k. Slices that are not held are zeros, so each slab
// adds its own part. Values are added piece by piece, so results differ from the portable form's in the last bits.
#pragma OPENCL FP_CONTRACT OFF
#ifndef INDEX
#define INDEX long
#endif
#include "rays.clh"
#include "upright.clh"

#define LEAST_TILT 1e-12f  // rays that climb less are taken to climb so much
// A float of this size has whole numbers as its last bits: adding it rounds to the nearest one.
#define WHOLES 12582912.0f
#define WHOLES_BITS 0x4b400000
#define LIST_LENGTH (2 * PLANES + 1 + TOGETHER)

typedef struct {
  float slope_b, shift_b;
  int axis;
} Column;

typedef struct {
  Column column;
  float slope_c, shift_c, path, inverse, from,
      to;  // inverse: mm for each slice; from, to: the slices held and two on either side
  int first, last;
} Own;

// A piece of the way: where its lower end is, from the volume's middle, its part of a plane's step, the first place of its line of voxels, and
// whether it is one of the list.
typedef struct {
  float start, length;
  INDEX line;
  int listed;
} Crossing;

typedef struct {
  int na, nb;
  float ca;
  INDEX stride_a, stride_b;
} Planes;

INLINE Planes planes_of(int axis, Extent extent) {
  Planes p;
  p.na = axis == 0 ? extent.nx : extent.ny, p.nb = axis == 0 ? extent.ny : extent.nx;
  p.ca = 0.5f * (float)(p.na - 1);
  p.stride_a = axis == 0 ? 1 : extent.nx, p.stride_b = axis == 0 ? extent.nx : 1;
  return p;
}

INLINE Own own_of(Ray ray, __global const float* rays, int view, int column, float v, int axis, Extent extent,
                  PerAxis voxel, Batch batch, Planes planes) {
  const Line line =
      line_of(ray, axis, 0.5f * (float)(extent.nx - 1), 0.5f * (float)(extent.ny - 1), 0.5f * (float)(extent.nz - 1));
  Own own;
  own.column.slope_b = line.slope_b, own.column.shift_b = line.shift_b, own.column.axis = axis;
  own.slope_c = line.slope_c, own.shift_c = line.shift_c, own.path = path_mm(ray, axis, voxel);
  own.inverse = own.path / fmax(fabs(line.slope_c), LEAST_TILT);
  own.from = (float)(extent.begin - 2), own.to = (float)extent.end;
  float low = -planes.ca, high = planes.ca;
  narrow(line.slope_b, line.shift_b, -1.0f, (float)planes.nb, (float)planes.na, &low, &high);
  narrow(line.slope_c, line.shift_c, (float)(extent.begin - 1), (float)extent.end, (float)planes.na, &low, &high);
  own.first = max(0, (int)floor(fmin(low + planes.ca, (float)planes.na + 4.0f)) - 1);
  own.last = min(planes.na - 1, (int)ceil(fmax(high + planes.ca, -4.0f)) + 1);
  return own;
}

INLINE Column column_of(Own own, int axis) {
  return own.column;
}

// The cell along b at p; all beside the volume are one.
INLINE int cell_at(Column column, Planes planes, float p) {
  return (int)fmin(fmax(floor(fma(p, column.slope_b, column.shift_b) + 0.5f), -1.0f), (float)planes.nb);
}

// Lists the pieces of a plane after those of the planes before it. A column changes cells in one direction, so their number is known.
INLINE void list_crossing(__local Crossing* crossings, Column column, Planes planes, int begin, int down, int step,
                          int count) {
  if (step >= count) return;
  const float way = down ? -1.0f : 1.0f;
  const int m = down ? begin - step : begin + step;
  const float p = (float)m - planes.ca - 0.5f * way, b = fma(p, column.slope_b, column.shift_b);
  const int cell = cell_at(column, planes, p), end = cell_at(column, planes, p + way), turn = end < cell ? -1 : 1,
            changes = abs(end - cell),
            at = step + abs(cell - cell_at(column, planes, (float)begin - planes.ca - 0.5f * way));
  float from = 0.0f;
  for (int n = 0; n <= changes; ++n) {
    const int own = cell + n * turn;
    const float edge = (float)own + 0.5f * (float)turn,
                to = n == changes ? 1.0f : fmin(fmax((edge - b) / (way * column.slope_b), from), 1.0f);
    const bool inside = m < planes.na && own >= 0 && own < planes.nb;  // lists of a group go through as many planes
    const Crossing piece = {fma(from, way, p), inside ? to - from : 0.0f,
                            inside ? m * planes.stride_a + own * planes.stride_b : 0, 1};
    crossings[at + n] = piece;
    from = to;
  }
  if (step < count - 1) return;
  const Crossing none = {0.0f, 0.0f, 0, 0};
  for (int n = 0; n < TOGETHER; ++n) crossings[at + changes + 1 + n] = none;
}

// next: from a line of voxels to the next one along b; shift: from a slice's number to its place.
INLINE float add_crossings(float sum, __local const Crossing* crossings, int count,
                           __global const float* restrict stacks, Own own, INDEX next, int depth, int shift) {
  if (count == 0) return sum;
  for (int n = 0; crossings[n].listed; n += TOGETHER) {
    float low[TOGETHER], high[TOGETHER], v[TOGETHER][2];
    EACH {
      const Crossing at = crossings[n + s];
      const float c = fmin(fmax(fma(at.start, own.slope_c, own.shift_c), own.from), own.to), biased = c + WHOLES,
                  all = own.path * at.length;
      low[s] = fmin(((biased - WHOLES - c) + 0.5f) * own.inverse, all), high[s] = all - low[s];
      const INDEX first = at.line * depth + (as_int(biased) - WHOLES_BITS + shift);
      v[s][0] = stacks[first], v[s][1] = stacks[first + 1];
    }
    EACH sum = fma(high[s], v[s][1], fma(low[s], v[s][0], sum));
  }
  return sum;
}

#include "upright_project.clh"

__kernel __attribute__((reqd_work_group_size(ROWS, COLUMNS, VIEWS))) void siddon_upright_project(
    __global const float* restrict stacks, __global const float* restrict rays, __global float* restrict projections,
    Extent extent, int before, int depth, PerAxis voxel, Batch batch) {
  __local Crossing crossings[LISTS][LIST_LENGTH];
  __local Column of_lists[LISTS];
  __local int ranges[2][2];  // of planes, of rays that ascend and that descend
  project_columns(stacks, rays, projections, extent, before, depth, voxel, batch, crossings, of_lists, ranges);
}
