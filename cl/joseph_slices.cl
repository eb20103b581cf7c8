// joseph_project where every ray runs within a slice: dz is 0 and each detector row has one k in a view (RayTable::slices()). For GPUs:
// slices are innermost, so that neighbouring work-items, at the same place of neighbouring slices, read neighbouring voxels. Arithmetic and its
// order are those of the portable form, and so are the bits.
//
// ALIGNED: rows are on slices, one row a slice; the other slice that the portable form interpolates with weighs 0 and is not read. A work-item
// takes four slices. Otherwise it takes one row, and four voxels a sample.
//
// stacks: the slices held, in blocks of BLOCK, of which each is [j][i][k]; the last block may be thinner. Their number is rounded up to a
// multiple of 4 by slices of zeros. Tunable: FETCHES, samples on their way at a time.
#pragma OPENCL FP_CONTRACT OFF
#include "joseph.clh"
#include "joseph_slices.clh"

#ifndef FETCHES
#define FETCHES 4
#endif

// Work-items: (nx, slices rounded up to a multiple of 4, ny) in groups of TILE x TILE.
__kernel __attribute__((reqd_work_group_size(TILE, TILE, 1))) void joseph_slices_stack(
    __global const float* restrict volume, __global float* restrict stacks, int nx, int ny, int slices) {
  __local float tile[TILE][TILE + 1];
  const int x0 = TILE * (int)get_group_id(0), k0 = TILE * (int)get_group_id(1), y = get_global_id(2);
  const int a = get_local_id(0), b = get_local_id(1);
  const size_t plane = (size_t)nx * ny;
  if (x0 + a < nx) tile[b][a] = k0 + b < slices ? volume[plane * (k0 + b) + (size_t)y * nx + x0 + a] : 0.0f;
  barrier(CLK_LOCAL_MEM_FENCE);
  const int k = k0 + a;
  if (x0 + b >= nx || k >= ((slices + 3) & ~3)) return;
  const Block block = block_of(k / BLOCK, slices, plane, 1);
  stacks[block.start + ((size_t)y * nx + x0 + b) * block.depth + k % BLOCK] = tile[a][b];
}

#ifdef ALIGNED
#define EACH 4
#define SAMPLES float4
#else
#define EACH 1
#define SAMPLES float
#endif

// Lines of voxels along k that a work-item reads. Voxel (m, b) of planes across the axis that the ray follows is at [m a + b b].
typedef struct {
  __global const SAMPLES* low;
  int low_a, low_b;
#ifndef ALIGNED
  __global const SAMPLES* high;  // of the slice above
  int high_a, high_b;
  float low_c, high_c;
#endif
} Lines;

// Two voxels beside each other on plane m, interpolated along k.
typedef struct {
  SAMPLES low, high;
#ifndef ALIGNED
  SAMPLES low_above, high_above;
#endif
} Voxels;

INLINE Voxels voxels_at(const Lines lines, int m, int b, int next) {
  Voxels v;
  v.low = lines.low[m * lines.low_a + b * lines.low_b], v.high = lines.low[m * lines.low_a + next * lines.low_b];
#ifndef ALIGNED
  v.low_above = lines.high[m * lines.high_a + b * lines.high_b];
  v.high_above = lines.high[m * lines.high_a + next * lines.high_b];
#endif
  return v;
}

INLINE SAMPLES blended(const Lines lines, const Voxels v, float low_b, float high_b) {
  const SAMPLES value0 = fma((SAMPLES)(high_b), v.high, low_b * v.low);
#ifdef ALIGNED
  return value0;
#else
  const SAMPLES value1 = fma(high_b, v.high_above, low_b * v.low_above);
  return fma(lines.high_c, value1, lines.low_c * value0);
#endif
}

// Adds the samples from plane `first` to `last`; a neighbour outside weighs nothing, and is not read.
INLINE SAMPLES add_checked(SAMPLES sum, const Lines lines, const Line line, const Planes planes, float path, int first,
                           int last) {
  for (int m = first; m <= last; ++m) {
    const float b = fma((float)m - planes.ca, line.slope_b, line.shift_b), whole = floor(b), fraction = b - whole;
    const int b0 = (int)whole;
    if (b0 < -1 || b0 >= planes.nb) continue;
    const Voxels v = voxels_at(lines, m, max(b0, 0), min(b0 + 1, planes.nb - 1));
    const float low_b = b0 < 0 ? 0.0f : 1.0f - fraction, high_b = b0 + 1 >= planes.nb ? 0.0f : fraction;
    sum = fma((SAMPLES)(path), blended(lines, v, low_b, high_b), sum);
  }
  return sum;
}

// Adds the samples where both neighbours are inside.
INLINE SAMPLES add_inside(SAMPLES sum, const Lines lines, const Line line, const Planes planes, float path, int first,
                          int last) {
  int m = first;
  float p = (float)first - planes.ca;
  for (; m + FETCHES <= last + 1; m += FETCHES, p += (float)FETCHES) {
    Voxels v[FETCHES];
    float fraction[FETCHES];
#pragma unroll
    for (int n = 0; n < FETCHES; ++n) {
      const float b = fma(p + (float)n, line.slope_b, line.shift_b);
      const int b0 = (int)b;
      fraction[n] = b - (float)b0;
      v[n] = voxels_at(lines, m + n, b0, b0 + 1);
    }
#pragma unroll
    for (int n = 0; n < FETCHES; ++n)
      sum = fma((SAMPLES)(path), blended(lines, v[n], 1.0f - fraction[n], fraction[n]), sum);
  }
  return add_checked(sum, lines, line, planes, path, m, last);
}

INLINE bool inside(const Line line, const Planes planes, int m) {
  const float b = fma((float)m - planes.ca, line.slope_b, line.shift_b);
  return b >= 0.0f && b < (float)(planes.nb - 1);
}

// Adds the samples of the ray on the planes.
INLINE SAMPLES add_ray(SAMPLES sum, const Lines lines, const Line line, const Planes planes, float path) {
  float low = (float)planes.lowest - planes.ca, high = (float)planes.highest - planes.ca;
  narrow(line.slope_b, line.shift_b, -1.0f, (float)planes.nb, (float)planes.na, &low, &high);
  const int first = max(planes.lowest, (int)floor(fmin(low + planes.ca, (float)planes.na + 4.0f)) - 1);
  const int last = min(planes.highest, (int)ceil(fmax(high + planes.ca, -4.0f)) + 1);
  narrow(line.slope_b, line.shift_b, 0.0f, (float)(planes.nb - 1), (float)planes.na, &low, &high);
  int inner_first = max(first, (int)floor(fmin(low + planes.ca, (float)planes.na + 4.0f)) - 1);
  int inner_last = min(last, (int)ceil(fmax(high + planes.ca, -4.0f)) + 1);
  // b grows or falls from plane to plane, so only the ends of the range need a test
  while (inner_first <= inner_last && !inside(line, planes, inner_first)) ++inner_first;
  while (inner_first <= inner_last && !inside(line, planes, inner_last)) --inner_last;
  if (inner_first > inner_last) return add_checked(sum, lines, line, planes, path, first, last);
  sum = add_checked(sum, lines, line, planes, path, first, inner_first - 1);
  sum = add_inside(sum, lines, line, planes, path, inner_first, inner_last);
  return add_checked(sum, lines, line, planes, path, inner_last + 1, last);
}

// Work-items: (columns * BLOCK / EACH, views, blocks): a work-item's place in its block first, so that neighbours read along lines; blocks
// last, so that caches hold the one that is read. ALIGNED: blocks of slices held, whose rows are row_of_0 + row_step k; else of rows.
__kernel void joseph_slices_project(__global const SAMPLES* restrict stacks, __global const float* restrict rays,
                                    __global float* restrict projections, Extent extent, int held, PerAxis voxel,
                                    Batch batch, int row_of_0, int row_step) {
  const int item = get_global_id(0), view = get_global_id(1), block = get_global_id(2);
  const size_t plane = (size_t)extent.nx * extent.ny;
#ifdef ALIGNED
  const Block slices = block_of(block, held, plane, EACH);
  const int depth = slices.depth;
#else
  const int depth = min(BLOCK, batch.held - block * BLOCK);
#endif
  const int column = item / depth, place = item - column * depth;
  if (column >= batch.columns || view >= batch.views) return;
#ifdef ALIGNED
  const int k = extent.offset + block * BLOCK + EACH * place, row_of_k = row_of_0 + row_step * k,
            row = row_of_k - batch.row_begin;
  bool taken[EACH], any_taken = false;
  for (int s = 0; s < EACH; ++s) {
    taken[s] =
        k + s >= extent.begin && k + s < extent.end && row + row_step * s >= 0 && row + row_step * s < batch.held;
    any_taken |= taken[s];
  }
  if (!any_taken) return;
  const int ray_row = clamp(row_of_k, 0, batch.rows - 1);  // but for k, the rays of all rows are the same
#else
  const int row = block * BLOCK + place, ray_row = batch.row_begin + row;
#endif

  const Ray ray = RAY_AT(batch.first_view + view, 2 * column, from_centre(ray_row, batch.rows));
  const int axis = main_axis(ray);
  const Line line =
      line_of(ray, axis, 0.5f * (float)(extent.nx - 1), 0.5f * (float)(extent.ny - 1), 0.5f * (float)(extent.nz - 1));
  const float path = path_mm(ray, axis, voxel);
  const Planes planes = planes_of(axis, extent);
  // voxels from line to line
  const int step_a = axis == 0 ? 1 : extent.nx, step_b = axis == 0 ? extent.nx : 1;

  Lines lines;
#ifdef ALIGNED
  lines.low = stacks + slices.start + place;
  lines.low_a = step_a * depth, lines.low_b = step_b * depth;
#else
  const float whole_c = floor(line.shift_c), fraction_c = line.shift_c - whole_c;
  const int c0 = (int)whole_c;
  if (c0 < planes.from || c0 >= planes.to) return;
  lines.low_c = c0 < 0 ? 0.0f : 1.0f - fraction_c, lines.high_c = c0 + 1 >= planes.nc ? 0.0f : fraction_c;
  const int low = max(c0, 0) - extent.offset, high = min(c0 + 1, planes.nc - 1) - extent.offset;
  const Block below = block_of(low / BLOCK, held, plane, 1), above = block_of(high / BLOCK, held, plane, 1);
  lines.low = stacks + below.start + low % BLOCK, lines.high = stacks + above.start + high % BLOCK;
  lines.low_a = step_a * below.depth, lines.low_b = step_b * below.depth;
  lines.high_a = step_a * above.depth, lines.high_b = step_b * above.depth;
#endif

  projections += ((size_t)view * batch.held + row) * batch.columns + column;
#ifdef ALIGNED
  const int step = row_step * batch.columns;
  SAMPLES sum;
  sum.x = taken[0] ? projections[0] : 0.0f, sum.y = taken[1] ? projections[step] : 0.0f;
  sum.z = taken[2] ? projections[2 * step] : 0.0f, sum.w = taken[3] ? projections[3 * step] : 0.0f;
  sum = add_ray(sum, lines, line, planes, path);
  if (taken[0]) projections[0] = sum.x;
  if (taken[1]) projections[step] = sum.y;
  if (taken[2]) projections[2 * step] = sum.z;
  if (taken[3]) projections[3 * step] = sum.w;
#else
  projections[0] = add_ray(projections[0], lines, line, planes, path);
#endif
}
