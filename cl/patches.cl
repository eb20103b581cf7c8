// Back-projection to patches, boxes of any place, direction and size, and its exact adjoint: for networks that see a part of an object at
// low latency (Graas, Palenstijn, van Werkhoven & Lucka 2024), and for planes, lines and points.
//
// A voxel (i, j, k) of box n is the point
//   x = centre + (i - (nx - 1)/2) across + (j - (ny - 1)/2) along + (k - (nz - 1)/2) up
// in voxels from the middle of the volume that the matrices are made for, and gets
//   sum over the views s of the list: weight * p_s(u, v),   u, v, weight and interpolation as in backproject.cl.
//
// Arrays: projections[view][row][column], unfiltered or filtered by the caller, or PAIRS; matrices[view][12] as in backproject.cl; views: the list,
// `count` numbers of views; places[box][4]: centre, across, along, up; shapes[box]: nx, ny, nz, and where the box begins in `boxes`;
// strides[box]: of `boxes` along j and k.
//
// A voxel is the sum of 4 sums of 4 sums of 4 sums over as many parts of the list, in this order: the same bits whatever the device, the group and
// the other boxes. Work-items: (voxels of the largest box / UNROLL, PARTS / FOLD, boxes), in groups of (GROUP, PARTS / FOLD, 1).
// The adjoint adds in fixed point (fixed_point.clh), so that its bits do not depend on the order either: 2^-32 of the largest voxel, which
// patches_largest finds before. sums: two words a pixel.
// ADD: adds to what is stored. SINGLE_ROW, DISTANCE_WEIGHT: as in backproject.cl. ALL_VIEWS: the list is 0, 1, ... IN_ROW: all points are
// seen in the single row. IN_FRONT: all points are in front of all sources. IN_PLANE: z is 0. PAIRS (with IN_ROW and IN_FRONT): projections
// are pairs of neighbouring pixels, `columns` + 2 a row, that patches_pairs makes: (0, p0), (p0, p1), ... (last, 0), (0, 0).
// Tunables: GROUP, UNROLL (voxels a work-item), FOLD (parts a work-item: 1, 4, 16 or 64). None of these changes a bit.
#pragma OPENCL FP_CONTRACT OFF
#include "fixed_point.clh"
#include "voxel_driven.clh"

#define PARTS 64
#ifndef GROUP
#define GROUP 32
#endif
#ifndef UNROLL
#define UNROLL 4
#endif
#ifndef FOLD
#define FOLD 4
#endif

typedef struct {
  float x, y, z;
} Point;

INLINE Point point_in(__global const float4* restrict place, int4 shape, int voxel) {
  const int plane = shape.x * shape.y, k = voxel / plane, rest = voxel - k * plane, j = rest / shape.x,
            i = rest - j * shape.x;
  const float a = (float)i - 0.5f * (float)(shape.x - 1), b = (float)j - 0.5f * (float)(shape.y - 1),
              c = (float)k - 0.5f * (float)(shape.z - 1);
  const float4 centre = place[0], across = place[1], along = place[2], up = place[3];
  Point point;
  point.x = fma(c, up.x, fma(b, along.x, fma(a, across.x, centre.x)));
  point.y = fma(c, up.y, fma(b, along.y, fma(a, across.y, centre.y)));
  point.z = fma(c, up.z, fma(b, along.z, fma(a, across.z, centre.z)));
  return point;
}

INLINE float of_point(float4 row, Point point) {
  const float in_plane = fma(point.x, row.x, fma(point.y, row.y, row.w));
#ifdef IN_PLANE
  return in_plane;
#else
  return fma(point.z, row.z, in_plane);
#endif
}

// Where a view sees a point: the lower pixel, the fractions to the next, and the weight of the view; 0 behind the source.
typedef struct {
  int column, row;
  float along_row, along_column, weight;
} Seen;

INLINE Seen seen_by(float4 mu, float4 mv, float4 mw, Point point) {
  const float w = of_point(mw, point);
#ifdef IN_FRONT
  const bool in_front = true;
#else
  const bool in_front = w > 1e-6f;  // nearer to the source's plane u would be too large for an int
#endif
  const float inverse_w = in_front ? RECIPROCAL(w) : 0.0f;
  const float u = of_point(mu, point) * inverse_w, whole = floor(u);
  Seen seen;
  seen.column = (int)whole, seen.along_row = u - whole;
  seen.weight = voxel_weight(inverse_w, in_front);
#ifdef IN_ROW
  seen.row = 0, seen.along_column = 0.0f;
#else
  const float v = row_of(ROW_AT(of_point(mv, point), inverse_w)), below = floor(v);
  seen.row = (int)below, seen.along_column = v - below;
#endif
  return seen;
}

INLINE float pixel_at(__global const float* restrict row, int column, bool there, int columns) {
  return there && (uint)column < (uint)columns ? row[column] : 0.0f;
}

INLINE float in_row(__global const float* restrict row, Seen seen, bool there, int columns) {
  return fma(seen.along_row, pixel_at(row, seen.column + 1, there, columns),
             (1.0f - seen.along_row) * pixel_at(row, seen.column, there, columns));
}

// Sample that the view adds; 0 outside the detector.
#ifdef PAIRS
typedef float2 Sampled;
#define ROW_WIDTH(columns) ((columns) + 2)
INLINE float sample_of(__global const float2* restrict view, Seen seen, int columns, int rows) {
  const uint place = min((uint)seen.column + 1u, (uint)columns + 1u);
  // An offset of 32 bits in bytes: NVIDIA's compiler computes those of elements in 64 bits, which takes 15 % of the kernel.
  const float2 pair = *(__global const float2*)((__global const char*)view + 8u * place);
  return fma(seen.along_row, pair.y, (1.0f - seen.along_row) * pair.x);
}
#else
typedef float Sampled;
#define ROW_WIDTH(columns) (columns)
INLINE float sample_of(__global const float* restrict view, Seen seen, int columns, int rows) {
  const bool in_front = seen.weight > 0.0f;
#ifdef IN_ROW
  return in_row(view, seen, in_front, columns);
#else
  __global const float* restrict row = view + seen.row * columns;
  const float low = in_row(row, seen, in_front && (uint)seen.row < (uint)rows, columns);
#ifdef SINGLE_ROW
  return low;
#else
  const float high = in_row(row + columns, seen, in_front && (uint)(seen.row + 1) < (uint)rows, columns);
  return fma(seen.along_column, high, (1.0f - seen.along_column) * low);
#endif
#endif
}
#endif

// Where a voxel of a box is stored.
INLINE size_t place_of(int4 shape, int2 stride, int voxel) {
  const int plane = shape.x * shape.y, k = voxel / plane, rest = voxel - k * plane, j = rest / shape.x;
  return (size_t)shape.w + (size_t)k * stride.y + (size_t)j * stride.x + (rest - j * shape.x);
}

#ifdef ALL_VIEWS
#define VIEW_AT(n) (n)
#else
#define VIEW_AT(n) views[n]
#endif

// Where a part of the list begins. Parts of many views are multiples of four, which compilers take together.
INLINE int first_of_part(int part, int count) {
  const int each = 4 * ((count + 4 * PARTS - 1) / (4 * PARTS));
  return count < 4 * PARTS ? count * part / PARTS : min(count, part * each);
}

// UNROLL voxels of a box, GROUP apart, so that neighbouring work-items have neighbouring voxels, from the views [n, end) of the list.
INLINE void add_views(const Point* point, float* sum, __global const Sampled* restrict projections,
                      __global const float4* restrict matrices, __global const int* restrict views, int n, int end,
                      int columns, int rows) {
  for (; n < end; ++n) {
    const int view = VIEW_AT(n);
    __global const float4* restrict matrix = matrices + 3 * (size_t)view;
    __global const Sampled* restrict pixels = projections + (size_t)view * rows * ROW_WIDTH(columns);
    const float4 mu = matrix[0], mv = matrix[1], mw = matrix[2];
#pragma unroll
    for (int s = 0; s < UNROLL; ++s) {
      const Seen seen = seen_by(mu, mv, mw, point[s]);
      sum[s] = fma(sample_of(pixels, seen, columns, rows), seen.weight, sum[s]);
    }
  }
}

__kernel __attribute__((reqd_work_group_size(GROUP, PARTS / FOLD, 1))) void patches_backproject(
    __global const Sampled* restrict projections, __global const float4* restrict matrices,
    __global const int* restrict views, __global const float4* restrict places, __global const int4* restrict shapes,
    __global const int2* restrict strides, __global float* restrict boxes, int count, int columns, int rows) {
  __local float parts[PARTS / FOLD][GROUP * UNROLL];
  const int lane = get_local_id(0), row = get_local_id(1), box = get_global_id(2);
  const int first = UNROLL * GROUP * (int)get_group_id(0) + lane;
  const int4 shape = shapes[box];
  const int voxels = shape.x * shape.y * shape.z;
  if (first - lane >= voxels) return;  // all of the group
  Point point[UNROLL];
  float one[UNROLL], four[UNROLL], sixteen[UNROLL], all[UNROLL];
#pragma unroll
  for (int s = 0; s < UNROLL; ++s) {
    point[s] = point_in(places + 4 * box, shape, min(first + s * GROUP, voxels - 1));
    four[s] = sixteen[s] = all[s] = 0.0f;
  }
  for (int n = 0; n < FOLD; ++n) {
    const int part = row * FOLD + n;
#pragma unroll
    for (int s = 0; s < UNROLL; ++s) one[s] = 0.0f;
    add_views(point, one, projections, matrices, views, first_of_part(part, count), first_of_part(part + 1, count),
              columns, rows);
#pragma unroll
    for (int s = 0; s < UNROLL; ++s) {
      four[s] = n % 4 == 0 ? one[s] : four[s] + one[s];
      if (FOLD >= 16 && n % 4 == 3) sixteen[s] = n % 16 == 3 ? four[s] : sixteen[s] + four[s];
      if (FOLD == 64 && n % 16 == 15) all[s] = n == 15 ? sixteen[s] : all[s] + sixteen[s];
    }
  }
#pragma unroll
  for (int s = 0; s < UNROLL; ++s)
    parts[row][s * GROUP + lane] = FOLD == 1 ? one[s] : FOLD == 4 ? four[s] : FOLD == 16 ? sixteen[s] : all[s];
  barrier(CLK_LOCAL_MEM_FENCE);
  if (row != 0) return;
  for (int s = 0; s < UNROLL; ++s) {
    const int voxel = first + s * GROUP;
    if (voxel >= voxels) return;
    const size_t at = place_of(shape, strides[box], voxel);
    float four = 0.0f, sixteen = 0.0f, total = 0.0f;
    for (int n = 0; n < PARTS; n += FOLD) {
      const float part = parts[n / FOLD][s * GROUP + lane];
      if (FOLD <= 1) four = n % 4 == 0 ? part : four + part;
      if (FOLD == 4) four = part;
      if (FOLD == 4 || (FOLD == 1 && n % 4 == 3)) sixteen = n % 16 < 4 ? four : sixteen + four;
      if (FOLD == 16) sixteen = part;
      if (FOLD == 16 || (FOLD < 16 && n % 16 == 16 - FOLD)) total = n < 16 ? sixteen : total + sixteen;
      if (FOLD == 64) total = part;
    }
#ifdef ADD
    total += boxes[at];
#endif
    boxes[at] = total;
  }
}

// Pairs of the views in the list. Work-items: (columns + 2, count).
__kernel void patches_pairs(__global const float* restrict projections, __global const int* restrict views,
                            __global float2* restrict pairs, int count, int columns) {
  const int place = get_global_id(0), n = get_global_id(1);
  if (place > columns + 1 || n >= count) return;
  const size_t view = VIEW_AT(n);
  __global const float* restrict row = projections + view * columns;
  pairs[view * (columns + 2) + place] =
      (float2)(pixel_at(row, place - 1, true, columns), pixel_at(row, place, true, columns));
}

// Scale of sums: a voxel of the largest magnitude becomes a number of 32 bits.
INLINE int exponent_of(uint largest) {
  return 32 - (ilogb(as_float(largest)) + 1);
}

// Largest magnitude of a box's voxels, as its bits, which are ordered as the numbers are; NaN is larger than all. Work-items: (voxels of the
// largest box, 1, boxes).
__kernel void patches_largest(__global const float* restrict boxes, __global const int4* restrict shapes,
                              __global const int2* restrict strides, volatile __global uint* restrict largest) {
  __local uint most;
  const int voxel = get_global_id(0), box = get_global_id(2);
  const int4 shape = shapes[box];
  if (get_local_id(0) == 0) most = 0u;
  barrier(CLK_LOCAL_MEM_FENCE);
  if (voxel < shape.x * shape.y * shape.z)
    atomic_max(&most, as_uint(fabs(boxes[place_of(shape, strides[box], voxel)])));
  barrier(CLK_LOCAL_MEM_FENCE);
  if (get_local_id(0) == 0) atomic_max(largest, most);
}

INLINE void add_pixel(volatile __global uint* restrict view, int column, int row, int columns, int rows, float value,
                      int exponent) {
  if ((uint)column < (uint)columns && (uint)row < (uint)rows && value != 0.0f)
    add_fixed_point(view + 2 * (row * columns + column), convert_long_rte(ldexp(value, exponent)));
}

// Work-items: (voxels of the largest box, ADJOINT_PARTS, boxes).
#define ADJOINT_PARTS 16
__kernel void patches_project(__global const float* restrict boxes, __global const float4* restrict matrices,
                              __global const int* restrict views, __global const float4* restrict places,
                              __global const int4* restrict shapes, __global const int2* restrict strides,
                              __global const uint* restrict largest, volatile __global uint* restrict sums, int count,
                              int columns, int rows) {
  const int voxel = get_global_id(0), part = get_global_id(1), box = get_global_id(2);
  const int4 shape = shapes[box];
  if (voxel >= shape.x * shape.y * shape.z || part >= ADJOINT_PARTS) return;
  const float value = boxes[place_of(shape, strides[box], voxel)];
  if (!(as_float(*largest) <= FLT_MAX) || value == 0.0f) return;
  const int exponent = exponent_of(*largest);
  const Point point = point_in(places + 4 * box, shape, voxel);
  const int each = (count + ADJOINT_PARTS - 1) / ADJOINT_PARTS, end = min(count, (part + 1) * each);
  for (int n = part * each; n < end; ++n) {
    const int view = VIEW_AT(n);
    const Seen seen =
        seen_by(matrices[3 * (size_t)view], matrices[3 * (size_t)view + 1], matrices[3 * (size_t)view + 2], point);
    if (seen.weight == 0.0f) continue;
    volatile __global uint* at = sums + 2 * (size_t)view * rows * columns;
    const float weighted = value * seen.weight;
#ifdef SINGLE_ROW
    const float low = weighted;
#else
    const float low = (1.0f - seen.along_column) * weighted, high = seen.along_column * weighted;
    add_pixel(at, seen.column, seen.row + 1, columns, rows, (1.0f - seen.along_row) * high, exponent);
    add_pixel(at, seen.column + 1, seen.row + 1, columns, rows, seen.along_row * high, exponent);
#endif
    add_pixel(at, seen.column, seen.row, columns, rows, (1.0f - seen.along_row) * low, exponent);
    add_pixel(at, seen.column + 1, seen.row, columns, rows, seen.along_row * low, exponent);
  }
}

// Work-items: pixels.
__kernel void patches_pixels(__global const uint2* restrict sums, __global const uint* restrict largest,
                             __global float* restrict projections, long pixels) {
  const long pixel = get_global_id(0);
  if (pixel >= pixels) return;
  const bool finite = as_float(*largest) <= FLT_MAX;
  projections[pixel] =
      finite ? ldexp(convert_float_rte(long_of_words(sums[pixel])), *largest == 0u ? 0 : -exponent_of(*largest)) : NAN;
}
