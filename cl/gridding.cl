// Direct Fourier reconstruction of parallel beams by gridding (O'Sullivan 1985; Jackson et al. 1991). The transform of a filtered row
// holds samples of the slice's transform on a line through the origin (the central-slice theorem):
//
//   slice(x, y) = sum over views and k of row(k) exp(2 pi i k (place + dx x + dy y)/length),      |k| < length/2,
//
// x and y whole numbers from the voxel (nx/2, ny/2) on, place the column that this voxel is seen in, dx and dy columns a voxel. These
// samples are spread over a Cartesian grid of width x height frequencies by the kernel 2^(beta (sqrt(1 - (t/REACH)^2) - 1)) along each
// axis (Barnett, Magland & af Klinteberg 2019); an inverse transform leads to voxels, which are divided by the kernel's own. The grid
// gathers: each of its frequencies adds up the samples that reach it, in a fixed order of lines and places on them, so nothing is
// added by atomics, and slices do not depend on those that are computed beside them.
//
// Two neighbouring detector rows travel as the real and imaginary part of one complex row (fdk.cl), and so do their slices: every step is
// linear with weights that are the same at opposite frequencies. The highest frequency, which has no opposite, is left out.
//
// Arrays: spectrum[view][pair][length]; filter[length]; lines[view][8] = angle in [0, pi), ascending, place: its whole part and the
// rest, 0, step a sample along x and y in frequencies of the grid, their reciprocals; grid[pair][x][y], frequencies 0, 1, ... -1;
// turned[pair][y][x], y those of the volume; corrections[nx + ny]: factors of the voxels along x and along y; slice_rows[slice][2]: the detector row below and the share
// of the next. width, height and length are powers of two. No halo.
// REACH: of the kernel, in frequencies of the grid. Tunables: PAIRS a work-item, which share the weights of samples. No bit changes.
#pragma OPENCL FP_CONTRACT OFF
#ifndef PAIRS
#define PAIRS 4
#endif
#include "extent.clh"
#include "inline.clh"

#define CORNER (1.41422f * REACH)  // of the kernel's square
#define ANGLE_SLACK 1.0e-4f        // radians; samples beyond the kernel's reach count for nothing
#define INVERSE_REACH (1.0f / REACH)
#define LINE_NUMBERS 8
#define PLACE 1  // of the place in a line's numbers
#define STEPS 4  // and of the steps, their reciprocals behind them
// The host names another function where that one is as accurate and faster (host/opencl/quirks.cpp).
#ifndef EXP2
#define EXP2 exp2
#endif

// Transfer function of linear interpolation between columns.
INLINE float interpolation(int k, int length) {
  const float turns = (float)k / (float)length, response = k == 0 ? 1.0f : sinpi(turns) / (M_PI_F * turns);
  return 2 * k == -length ? 0.0f : response * response;
}

// One work-item an element of spectrum: (length, pairs, views).
__kernel void gridding_filter(__global float2* restrict spectrum, __global const float* restrict filter,
                              __global const float* restrict lines, int length, int pairs, int views) {
  const int n = get_global_id(0), pair = get_global_id(1), view = get_global_id(2);
  if (n >= length || pair >= pairs || view >= views) return;
  __global const float* restrict line = lines + LINE_NUMBERS * (size_t)view;
  const int k = 2 * n < length ? n : n - length;
  const uint whole = (uint)(int)line[PLACE] * (uint)k & (uint)(length - 1);  // turns are exact modulo `length`
  const float turns = ((float)whole + (float)k * line[PLACE + 1]) / (float)length;
  const float c = cospi(2.0f * turns), s = sinpi(2.0f * turns), factor = filter[n] * interpolation(k, length);
  __global float2* restrict at = spectrum + ((size_t)view * pairs + pair) * length + n;
  const float2 value = *at;
  *at = factor * (float2)(value.x * c - value.y * s, value.x * s + value.y * c);
}

// The number of lines below an angle in (-2 pi, 2 pi); they repeat every pi.
INLINE int lines_below(__global const float* restrict lines, int views, float angle) {
  const float turns = floor(angle / M_PI_F), within = angle - turns * M_PI_F;
  int low = 0, high = views;
  while (low < high) {
    const int middle = (low + high) / 2;
    if (lines[LINE_NUMBERS * middle] < within)
      low = middle + 1;
    else
      high = middle;
  }
  return (int)turns * views + low;
}

// Adds the samples about a frequency, which may lie in another period of the grid. left: pairs from the first of `spectrum` on.
INLINE void gather_about(float2 about, __global const float2* restrict spectrum, __global const float* restrict lines,
                         int length, int views, int pairs, int left, float2 beta, float2* sums) {
  const float radius = hypot(about.x, about.y);
  int begin = 0, count = views;
  if (radius > CORNER) {
    const float angle = atan2(about.y, about.x), spread = asin(CORNER / radius) + ANGLE_SLACK;
    begin = lines_below(lines, views, angle - spread);
    count = min(views, lines_below(lines, views, angle + spread) - begin);
  }
  const float most = (float)(length / 2 - 1);
  const float2 least = about - REACH, largest = about + REACH;
  int view = (begin % views + views) % views;
  for (int n = 0; n < count; ++n, view = view + 1 < views ? view + 1 : 0) {
    const float4 line = vload4(0, lines + LINE_NUMBERS * view + STEPS);
    const float2 step = line.xy, a = least * line.zw, b = largest * line.zw;
    const float low = fmax(fmax(fmin(a.x, b.x), fmin(a.y, b.y)), -most);
    const float high = fmin(fmin(fmax(a.x, b.x), fmax(a.y, b.y)), most);
    __global const float2* restrict row = spectrum + (size_t)view * pairs * length;
    for (float k = ceil(low); k <= high; k += 1.0f) {
      const float2 t = INVERSE_REACH * fma((float2)(k), step, -about), squared = fma(-t, t, (float2)(1.0f));
      if (fmin(squared.x, squared.y) < 0.0f) continue;
      const float2 exponent = beta * (sqrt(squared) - 1.0f);
      const float weight = EXP2(exponent.x + exponent.y);
      const int sample = (int)k & (length - 1);
      for (int p = 0; p < PAIRS; ++p) sums[p] += weight * row[min(p, left - 1) * length + sample];
    }
  }
}

// One work-item PAIRS elements of grid: (height, width, pairs/PAIRS). limits: where samples end, REACH included.
__kernel void gridding_gather(__global const float2* restrict spectrum, __global const float* restrict lines,
                              __global float2* restrict grid, int length, int views, int pairs, int width, int height,
                              float2 limits, float2 beta) {
  const int y = get_global_id(0), x = get_global_id(1), first = PAIRS * get_global_id(2);
  if (y >= height || x >= width || first >= pairs) return;
  float2 sums[PAIRS];
  for (int p = 0; p < PAIRS; ++p) sums[p] = (float2)(0.0f, 0.0f);
  const float2 period = (float2)((float)width, (float)height);
  const float2 begin = (float2)((float)x, (float)y) - period * floor(((float2)((float)x, (float)y) + limits) / period);
  for (float v = begin.y; v <= limits.y; v += period.y)
    for (float u = begin.x; u <= limits.x; u += period.x)
      gather_about((float2)(u, v), spectrum + (size_t)first * length, lines, length, views, pairs, pairs - first, beta,
                   sums);
  for (int p = 0; p < PAIRS && first + p < pairs; ++p) grid[((size_t)(first + p) * width + x) * height + y] = sums[p];
}

// One work-item an element of turned: (ny, width, pairs).
__kernel void gridding_turn(__global const float2* restrict grid, __global float2* restrict turned, int width,
                            int height, int ny, int pairs) {
  const int y = get_global_id(0), x = get_global_id(1), pair = get_global_id(2);
  if (y >= ny || x >= width || pair >= pairs) return;
  turned[((size_t)pair * ny + y) * width + x] =
      grid[((size_t)pair * width + x) * height + ((y - ny / 2) & (height - 1))];
}

// Adds detector rows first_row to first_row + rows - 1 to the slices between them. One work-item a voxel.
__kernel void gridding_store(__global const float2* restrict turned, __global const float* restrict corrections,
                             __global const float* restrict slice_rows, __global float* restrict volume, Extent extent,
                             int width, int first_row, int rows) {
  const int x = get_global_id(0), y = get_global_id(1), z = extent.begin + (int)get_global_id(2);
  if (x >= extent.nx || y >= extent.ny || z >= extent.end) return;
  const float factor = corrections[x] * corrections[extent.nx + y], next = slice_rows[2 * z + 1];
  __global float* restrict voxel =
      volume + (size_t)x + (size_t)extent.nx * ((size_t)y + (size_t)extent.ny * (size_t)(z - extent.offset));
  float value = *voxel;
  for (int n = 0; n < 2; ++n) {
    const int row = (int)slice_rows[2 * z] + n - first_row;
    const float share = n == 0 ? 1.0f - next : next;
    if (row < 0 || row >= rows || share == 0.0f) continue;
    const float2 pair = turned[((size_t)(row / 2) * extent.ny + y) * width + ((x - extent.nx / 2) & (width - 1))];
    value = fma(share * factor, row % 2 == 0 ? pair.x : pair.y, value);
  }
  *voxel = value;
}
