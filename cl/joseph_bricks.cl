// joseph_backproject for GPUs where the rays of every detector column differ along k alone and none follows k: a
// circular scan about k without tilt. The weight of a pixel along b is then that of its column, so the sum over rows
//
//   t(column, plane, k) = sum over rows of path * raw * (1 - |c - k|)
//
// is formed once and used for both voxels between which the column passes: volume(a, b', k) += (1 - |b - b'|) t.
//
// A work-group holds a brick of BRICK_X x BRICK_Y voxels of SLICES slices in local memory. Neighbouring work-items have
// neighbouring slices, LAYERS each: rows of a column, which are adjacent, are read side by side, and no work-item
// touches another's sums. All else of a crossing, a column on a plane, is the same for the whole group. So its
// work-items list crossings, and then all go through the list, column by column, whose rows are then near.
//
// c is affine in the row: c = c_middle + slope (row - middle row), from the rays' vectors (rays.clh) and whole numbers
// of the scan. So slabs, batches and the shape of groups change no bit. Columns are added in
// ascending order, the rows of each first, and weights along k are rounded in another way than in the portable form:
// results differ from its in the last bits.
//
// From joseph_bricks_table: pixels[view][column][row] = path * raw of the rows held, and TAIL zeros;
// columns[view][axis][column] = slope_b, shift_b, the direction's component along the axis, and one over it, of columns
// that follow it; others have shift_b = -infinity.
#pragma OPENCL FP_CONTRACT OFF
#include "gather.clh"
#include "joseph.clh"

#ifndef BRICK_X
#define BRICK_X 8
#define BRICK_Y 4
#endif
#ifndef ITEMS
#define ITEMS 32
#endif
#ifndef LAYERS
#define LAYERS 4
#endif
#ifndef TILE
#define TILE 16
#endif
#define TAIL 3
#define SLICES (ITEMS * LAYERS)
#define BRICK (BRICK_X * BRICK_Y)
#define PLANES (BRICK_X > BRICK_Y ? BRICK_X : BRICK_Y)
#define PITCH (ITEMS + 1)  // of voxels in `sums`: one more, so that they begin in different banks
#define CROSSINGS 40       // listed at a time
#define TOGETHER 2         // of them, so that loads for both are on their way
#define EACH _Pragma("unroll") for (int m = 0; m < TOGETHER; ++m)

// One number for each layer.
#if LAYERS == 1
typedef float floats;
typedef uint uints;
#define AS_UINTS(x) as_uint(x)
#define GATHERED(from, at) (from)[at]
#define FROM_LAYERS(k) (k)
#elif LAYERS == 2
typedef float2 floats;
typedef uint2 uints;
#define AS_UINTS(x) as_uint2(x)
#define GATHERED(from, at) (float2)((from)[(at).x], (from)[(at).y])
#define FROM_LAYERS(k) (k) + (float2)(0.0f, ITEMS)
#else
typedef float4 floats;
typedef uint4 uints;
#define AS_UINTS(x) as_uint4(x)
#define GATHERED(from, at) (float4)((from)[(at).x], (from)[(at).y], (from)[(at).z], (from)[(at).w])
#define FROM_LAYERS(k) (k) + (float4)(0.0f, ITEMS, 2 * ITEMS, 3 * ITEMS)
#endif

// A float of this size has whole numbers as its last bits: adding it rounds to the nearest one.
#define WHOLES 12582912.0f
#define WHOLES_BITS 0x4b400000u
// Margin, in rows: rows so near to where their weight vanishes are tested, too, because float32 may have rounded them
// there.
#define MARGIN 0.0078125f
// Step of c from row to row beyond which no third row is within 1 of k.
#define FAR 1.01f
// hat() of the distance c, as GPUs have it in one instruction.
#define WEIGHT(c) fmin(fmax(1.0f - fabs(c), 0.0f), 1.0f)

// Coefficients for a view and plane p across an axis: a ray that has d along the axis meets it at c = centre + (x + u y
// + v z) / d, u and v being columns and rows from the detector's centre.
INLINE float4 affine_of(__global const float* r, int axis, float p) {
  const bool x = axis == 0;
  return (float4)(fma(p, r[2], x ? r[4] : -r[3]), fma(p, r[8], x ? r[10] : -r[9]), fma(p, r[14], x ? r[16] : -r[15]),
                  0.0f);
}

// The columns that may pass within reach_x, reach_y of (x, y) in any slice, as shadow() in gather.clh finds them.
INLINE int2 columns_near(__global const float4* matrix, float x, float y, float reach_x, float reach_y, int columns) {
  const float4 mu = matrix[0], mw = matrix[2];
  const float w = fma(x, mw.x, fma(y, mw.y, mw.w)), inverse = 1.0f / fabs(w),
              share = (reach_x * fabs(mw.x) + reach_y * fabs(mw.y)) * inverse;
  if (!(share < 0.25f && fabs(w) > 0.01f)) return (int2)(0, columns - 1);
  const float u = fma(x, mu.x, fma(y, mu.y, mu.w)) * copysign(inverse, w);
  const float half_u = reach_x * fabs(fma(-u, mw.x, mu.x)) + reach_y * fabs(fma(-u, mw.y, mu.y));
  // 1 / (1 - share) is less than 1 + share + 2 share^2
  const float most = half_u * inverse * fma(share, fma(2.0f, share, 1.0f), 1.0f);
  int first, last;
  whole_within(u, most + 0.05f, 0, columns, &first, &last);
  return (int2)(first, last);
}

// The n-th number of a brick in an order in which memory and local memory are read and written side by side.
typedef struct {
  int x, y, s;  // voxel and slice
  int place;    // in `sums`
} Number;

INLINE Number number_of(int n) {
  Number number;
  number.x = n % BRICK_X, number.y = n / (BRICK_X * LAYERS) % BRICK_Y;
  const int layer = n / BRICK_X % LAYERS, item = n / (BRICK * LAYERS);
  number.s = layer * ITEMS + item;
  number.place = ((number.y * BRICK_X + number.x) * PITCH + item) * LAYERS + layer;
  return number;
}

// Work-items: (columns, rows held + TAIL, views) in groups of TILE x TILE, which the host sets lower where groups are
// small.
__kernel __attribute__((reqd_work_group_size(TILE, TILE, 1))) void joseph_bricks_table(
    __global const float* restrict raw, __global const float* restrict rays, __global float* restrict pixels,
    __global float4* restrict columns, Extent extent, PerAxis voxel, Batch batch) {
  __local float tile[TILE][TILE + 1];
  const int first_column = TILE * (int)get_group_id(0), first_row = TILE * (int)get_group_id(1),
            view = get_global_id(2), a = get_local_id(0), b = get_local_id(1);
  __global const float* vectors = rays + RAY_FLOATS * (size_t)(batch.first_view + view);
  const int column = first_column + a, row = first_row + b;
  float value = 0.0f;
  if (column < batch.columns && row < batch.held) {
    const Ray ray = ray_of(vectors, from_centre(column, batch.columns), from_centre(batch.row_begin + row, batch.rows));
    value = path_mm(ray, main_axis(ray), voxel) * raw[((size_t)view * batch.held + row) * batch.columns + column];
  }
  tile[b][a] = value;
  if (column < batch.columns && row == 0) {
    const Ray ray = ray_of(vectors, from_centre(column, batch.columns), from_centre(0, batch.rows));
    const int follows = main_axis(ray);
    const Line line = line_of(ray, follows, 0.5f * (float)(extent.nx - 1), 0.5f * (float)(extent.ny - 1),
                              0.5f * (float)(extent.nz - 1));
    const float along = follows == 0 ? ray.dx : ray.dy;
    for (int axis = 0; axis < 2; ++axis)
      columns[(2 * (size_t)view + axis) * batch.columns + column] =
          axis == follows ? (float4)(line.slope_b, line.shift_b, along, 1.0f / along)
                          : (float4)(0.0f, -INFINITY, 1.0f, 1.0f);
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  const int stride = batch.held + TAIL;
  if (first_column + b < batch.columns && first_row + a < stride)
    pixels[((size_t)view * batch.columns + first_column + b) * stride + first_row + a] = tile[a][b];
}

// Work-items: (slices / LAYERS, nx / BRICK_X, ny / BRICK_Y) in groups of ITEMS, for the slices of `extent`.
__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) void joseph_bricks_backproject(
    __global const float* restrict pixels, __global const float4* restrict columns,
    __global const float4* restrict matrices, __global const int* restrict axes, __global const float* restrict rays,
    __global float* restrict volume, Extent extent, Batch batch) {
  __local floats sums[BRICK * PITCH];
  __local float4 lines[CROSSINGS + TOGETHER], weights[CROSSINGS + TOGETHER], affine[PLANES];
  __local uint passed_by[ITEMS / 4];  // bits of planes, four columns in one
  __local int listed[CROSSINGS];
  const int item = get_local_id(0);
  const int begin_x = BRICK_X * (int)get_group_id(1), begin_y = BRICK_Y * (int)get_group_id(2),
            begin = extent.begin + SLICES * (int)get_group_id(0);
  const size_t slice = (size_t)extent.nx * extent.ny;
  volume += slice * (begin - extent.offset) + (size_t)begin_y * extent.nx + begin_x;
  const int count_x = min(BRICK_X, extent.nx - begin_x), count_y = min(BRICK_Y, extent.ny - begin_y),
            slices = min(SLICES, extent.end - begin);
  for (int n = item; n < BRICK * SLICES; n += ITEMS) {
    const Number of = number_of(n);
    const bool inside = of.x < count_x && of.y < count_y && of.s < slices;
    ((__local float*)sums)[of.place] = inside ? volume[slice * of.s + (size_t)of.y * extent.nx + of.x] : 0.0f;
  }

  // beyond the last slice once more the last one, whose rows are held
  const floats k = fmin((floats)(FROM_LAYERS((float)(begin + item))), (floats)((float)(extent.end - 1)));
  const float centre_k = 0.5f * (float)(extent.nz - 1);
  const int middle = batch.rows / 2;  // rows are counted from there
  const float middle_v = from_centre(middle, batch.rows);
  const float last_row = (float)max(1, batch.rows - 1), of_last = 1.0f / last_row;
  const float whole_rows = WHOLES + (float)middle, row_start = ((float)middle + 0.5f - MARGIN) * of_last;
  const int stride = batch.held + TAIL;
  const float4 no_line = {2.0f, 0.0f, 0.0f, (float)batch.row_begin * of_last};  // reads the first rows held, unused
  const uint beyond = WHOLES_BITS + (uint)(batch.row_begin + batch.held);       // + 2: the last of the zeros

  for (int view = 0; view < batch.views; ++view)
    for (int axis = 0; axis < 2; ++axis) {
      const int number = batch.first_view + view;
      if ((axes[number] >> axis & 1) == 0) continue;
      // b is j for axis 0, else i
      const bool x = axis == 0;
      const int planes = x ? count_x : count_y, length = x ? BRICK_Y : BRICK_X;
      const int stride_a = x ? PITCH : BRICK_X * PITCH, stride_b = x ? BRICK_X * PITCH : PITCH;
      const int begin_b = x ? begin_y : begin_x, end_b = x ? begin_y + count_y : begin_x + count_x;
      const float first_p = x ? from_centre(begin_x, extent.nx) : from_centre(begin_y, extent.ny);
      __global const float* vectors = rays + RAY_FLOATS * (size_t)number;
      __global const float4* of = columns + (2 * (size_t)view + axis) * batch.columns;
      // biased: numbers of rows have WHOLES_BITS
      __global const float* rows =
          pixels + ((size_t)view * batch.columns * stride - WHOLES_BITS - (size_t)batch.row_begin);
      const float half_x = 0.5f * (float)(count_x - 1), half_y = 0.5f * (float)(count_y - 1);
      const int2 near = columns_near(matrices + 3 * (size_t)number, from_centre(begin_x, extent.nx) + half_x,
                                     from_centre(begin_y, extent.ny) + half_y, x ? half_x : half_x + 1.0f,
                                     x ? half_y + 1.0f : half_y, batch.columns);

      barrier(CLK_LOCAL_MEM_FENCE);
      for (int plane = item; plane < planes; plane += ITEMS) {
        affine[plane] = affine_of(vectors, axis, first_p + (float)plane);
        affine[plane].w = of_last / affine[plane].z;  // shares of the rows for each c, times d
      }
      for (int first = near.x; first <= near.y; first += ITEMS) {
        // the planes on which this work-item's column passes the brick: they follow each other
        const int own = first + item;
        uint passes = 0;
        if (own <= near.y) {
          const float4 ray = of[own];
#pragma unroll
          for (int plane = 0; plane < PLANES; ++plane) {
            const float b = fma(first_p + (float)plane, ray.x, ray.y);
            if (b > (float)(begin_b - 1) && b < (float)end_b) passes |= 1u << plane;
          }
          passes &= (1u << planes) - 1;
        }
        if (first > near.x) barrier(CLK_LOCAL_MEM_FENCE);
        ((__local uchar*)passed_by)[item] = (uchar)passes;
        barrier(CLK_LOCAL_MEM_FENCE);
        int all = 0, earlier = 0;  // crossings, and those of columns before the own one
        const int used = min(ITEMS, near.y - first + 1);
        for (int n = 0; n < used; n += 4) {
          const uint of_four = passed_by[n / 4];
          all += popcount(of_four);
          if (item > n) earlier += popcount(of_four << 8 * max(n + 4 - item, 0));
        }
        const int code = own * PLANES + (int)popcount((passes & -passes) - 1), count = popcount(passes);
        for (int done = 0; done < all; done += CROSSINGS) {
          if (done > 0) barrier(CLK_LOCAL_MEM_FENCE);
          const int at = earlier - done, last = min(count, CROSSINGS - at);
          for (int n = max(0, -at); n < last; ++n) listed[at + n] = code + n;
          barrier(CLK_LOCAL_MEM_FENCE);
          const int end = min(all - done, CROSSINGS);
          for (int n = item; n < end; n += ITEMS) {
            const int column = listed[n] / PLANES, plane = listed[n] % PLANES;
            const float4 ray = of[column], numbers = affine[plane];
            const float slope = numbers.z * ray.w, per_row = ray.z * numbers.w;
            const float c_middle = fma(
                middle_v, slope, fma(fma(from_centre(column, batch.columns), numbers.y, numbers.x), ray.w, centre_k));
            lines[n] = (float4)(slope, c_middle, per_row, fma(-c_middle, per_row, row_start - fabs(per_row)));
            // of a pair of voxels that is half inside the brick, this half
            const float b = fma(first_p + (float)plane, ray.x, ray.y), whole = floor(b);
            const int before = (int)whole - begin_b, pair = clamp(before, 0, length - 2);
            const float low = hat(b, whole), high = hat(b, whole + 1.0f);
            weights[n] = (float4)(before == pair  ? low
                                  : before < pair ? high
                                                  : 0.0f,
                                  before == pair  ? high
                                  : before > pair ? low
                                                  : 0.0f,
                                  as_float(plane * stride_a + pair * stride_b), as_float(column * stride));
          }
          if (item == 0 && end % TOGETHER > 0) lines[end] = no_line, weights[end] = (float4)(0.0f);
          barrier(CLK_LOCAL_MEM_FENCE);

          for (int n = 0; n < end; n += TOGETHER) {
            float4 line[TOGETHER], weight[TOGETHER];
            EACH line[m] = lines[n + m], weight[m] = weights[n + m];
            // the first row with c within 1 of k, and those after it
            __global const float* column[TOGETHER];
            uints row[TOGETHER];
            floats c[TOGETHER], one[TOGETHER], two[TOGETHER], sum[TOGETHER];
            EACH {
              column[m] = rows + as_int(weight[m].w);
              const floats share = fmin(fmax(fma(k, (floats)(line[m].z), (floats)(line[m].w)), 0.0f), 1.0f),
                           whole = fma(share, (floats)(last_row), (floats)(WHOLES));
              row[m] = AS_UINTS(whole);
              c[m] = fma(whole - whole_rows, (floats)(line[m].x), (floats)(line[m].y)) - k;
            }
            EACH one[m] = GATHERED(column[m], row[m]), two[m] = GATHERED(column[m] + 1, row[m]);
            EACH sum[m] = WEIGHT(c[m]) * one[m];
            EACH c[m] += line[m].x, sum[m] = fma(WEIGHT(c[m]), two[m], sum[m]);
            float size = FAR;
            EACH size = fmin(size, fabs(line[m].x));
            if (size < FAR) {
              EACH c[m] += line[m].x, sum[m] = fma(WEIGHT(c[m]), GATHERED(column[m] + 2, row[m]), sum[m]);
              for (float passed = 3.0f * size; passed < 2.0f + 2.0f * MARGIN * size; passed += size) {
                EACH {
                  row[m] = min(row[m] + 1, (uints)(beyond));
                  c[m] += line[m].x, sum[m] = fma(WEIGHT(c[m]), GATHERED(column[m] + 2, row[m]), sum[m]);
                }
              }
            }
            EACH {
              __local floats* voxel = sums + as_int(weight[m].z) + item;
              voxel[0] = fma((floats)(weight[m].x), sum[m], voxel[0]);
              voxel[stride_b] = fma((floats)(weight[m].y), sum[m], voxel[stride_b]);
            }
          }
        }
      }
    }

  barrier(CLK_LOCAL_MEM_FENCE);
  for (int n = item; n < BRICK * SLICES; n += ITEMS) {
    const Number of = number_of(n);
    if (of.x < count_x && of.y < count_y && of.s < slices)
      volume[slice * of.s + (size_t)of.y * extent.nx + of.x] = ((__local float*)sums)[of.place];
  }
}
