// distance_driven_project for upright scans on GPUs: see upright.clh. A pixel's shadow on a plane is distance_driven.cl's; its overlap along
// b, with up to LINES lines of voxels, is that of its column, and along k it reaches over up to VOXELS slices. Values are added plane by plane,
// so results differ from the portable form's in the last bits.
//
// A slab takes the shadows of which the lowest slice that they could touch, were they as wide as the widest one, lies in it; the first slab also
// those below slice 0. Halo: as many slices above as the widest shadow is high, rounded up.
#pragma OPENCL FP_CONTRACT OFF
#define WIDTHS
#include "distance_driven.clh"
#include "upright.clh"

#ifndef LINES
#define LINES 3
#endif
#ifndef VOXELS
#define VOXELS 3
#endif

typedef struct {
  float slope_b, shift_b;
  float4 steps_b;
  int axis;
} Column;

typedef struct {
  Column column;
  float slope_c, shift_c, path, most_c, from, to;  // from, to: of the lowest slice, as a place along k
  float4 steps_c;
  int first, last;
} Own;

// Overlaps with lines of voxels along k, over the shadow's width; the number of the first line, and p, the plane's distance from the
// volume's middle; NaN: the rays pass beside the volume.
typedef struct {
  float weights[LINES];
  int line;
  float p;
} Crossing;

INLINE Own own_of(Ray ray, __global const float* rays, int view, int column, float v, int axis, Extent extent,
                  PerAxis voxel, Batch batch, Planes planes) {
  const Shadow s = PIXEL_SHADOW(ray, view, column, v, axis, 0.5f * (float)(extent.nx - 1),
                                0.5f * (float)(extent.ny - 1), 0.5f * (float)(extent.nz - 1));
  Own own;
  own.column.slope_b = s.centre.x, own.column.shift_b = s.centre.y, own.column.steps_b = s.steps_b;
  own.slope_c = s.centre.z, own.shift_c = s.centre.w, own.steps_c = s.steps_c;
  own.path = path_mm(ray, axis, voxel), own.most_c = planes.most_c;
  // floor(c - most_c / 2 + 1/2) in [begin, end)
  const float lowest = 0.5f * planes.most_c - 0.5f;
  own.from = extent.begin == 0 ? -INFINITY : (float)extent.begin + lowest;
  own.to = extent.end == extent.nz ? INFINITY : (float)extent.end + lowest;
  const Reach reach = reach_of(s.centre, planes, extent);
  float low = reach.low, high = reach.high;
  narrow(own.slope_c, own.shift_c, fmax(own.from, -planes.reach_c),
         fmin(own.to, (float)extent.nz - 1.0f + planes.reach_c), (float)planes.na, &low, &high);
  own.first = max(0, (int)floor(fmin(low + planes.ca, (float)planes.na + 4.0f)) - 1);
  own.last = min(planes.na - 1, (int)ceil(fmax(high + planes.ca, -4.0f)) + 1);
  return own;
}

INLINE Column column_of(Own own, int axis) {
  Column column = own.column;
  column.axis = axis;
  return column;
}

INLINE Crossing crossing_of(Column column, Planes planes, int m) {
  const float p = (float)m - planes.ca, b = fma(p, column.slope_b, column.shift_b),
              width = width_at(p, column.steps_b, planes.most_b), half_width = 0.5f * width;
  const int first = clamped(floor(b - half_width + 0.5f), -LINES, planes.nb), line = clamp(first, 0, planes.nb - 1);
  const bool meets = m >= 0 && m < planes.na && first > -LINES && first < planes.nb;
  Crossing crossing;
  for (int n = 0; n < LINES; ++n)
    crossing.weights[n] = meets && line + n < planes.nb ? overlap(b, half_width, (float)(line + n)) / width : 0.0f;
  crossing.line = meets ? (int)(m * planes.stride_a + line * planes.stride_b) : 0, crossing.p = meets ? p : NAN;
  return crossing;
}

// next: from a line of voxels to the next one along b; shift: from a slice's number to its place.
INLINE float add_crossings(float sum, __local const Crossing* crossings, int count,
                           __global const float* restrict stacks, Own own, INDEX next, int depth, int shift) {
  for (int n = 0; n < count; ++n) {
    const float p = crossings[n].p, c = fma(p, own.slope_c, own.shift_c), width = width_at(p, own.steps_c, own.most_c),
                low = fma(-0.5f, width, c), high = fma(0.5f, width, c), first = floor(low + 0.5f), edge = first + 0.5f;
    const int place = (int)first + shift;
    if (!(c >= own.from && c < own.to && place >= 0 && place + VOXELS <= depth)) continue;
    INDEX at = (INDEX)crossings[n].line * depth + place;
    float values[VOXELS];
#pragma unroll
    for (int k = 0; k < VOXELS; ++k) values[k] = crossings[n].weights[0] * stacks[at + k];
#pragma unroll
    for (int line = 1; line < LINES; ++line) {
      const float weight = crossings[n].weights[line];
      if (weight == 0.0f) break;  // and so are those after it
      at += next;
#pragma unroll
      for (int k = 0; k < VOXELS; ++k) values[k] = fma(weight, stacks[at + k], values[k]);
    }
    float value = (fmin(high, edge) - low) * values[0];
#pragma unroll
    for (int k = 1; k < VOXELS; ++k)
      value = fma(fmin(fmax(high - (edge + (float)(k - 1)), 0.0f), 1.0f), values[k], value);
    sum = fma(own.path / width, value, sum);
  }
  return sum;
}

#include "upright_project.clh"

__kernel __attribute__((reqd_work_group_size(ROWS, COLUMNS, VIEWS))) void distance_driven_upright_project(
    __global const float* restrict stacks, __global const float* restrict rays, __global float* restrict projections,
    Extent extent, int before, int depth, PerAxis voxel, Batch batch, PerAxis widest) {
  __local Crossing crossings[LISTS][PLANES];
  __local Column of_lists[LISTS];
  __local int ranges[2][2];  // of planes, of rays that ascend and that descend
  project_columns(stacks, rays, projections, extent, before, depth, voxel, batch, widest, crossings, of_lists, ranges);
}
