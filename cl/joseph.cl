// Forward projection (Joseph 1982): along the ray of each detector pixel, the volume is sampled on the planes of the index axis that the
// ray follows most, by bilinear interpolation on the other two axes, zero outside the volume:
//
//   projections(ray) += sum over planes m of path * volume(m, b(m), c(m)),      path = mm of ray between two planes.
//
// A ray is given in centred volume indices by its direction d and its moment M = P x d (P any point of it; Pluecker 1865). Both are affine
// in the pixel's column and row, for a divergent beam (M = S x D of source S and pixel D) and for a parallel one, so the host prepares them
// in double and no digits are lost to the distance of the source. On plane a: P_b = (P_a d_b - M_c)/d_a, P_c = (M_b + P_a d_c)/d_a
// for a, b, c cyclic.
//
// Arrays: volume[slice][y][x] with slices from `offset`; rays[view][18] = d, M at the detector's centre, then their steps a column, then
// a row; projections[view][row][column]. Halo: one slice above.
//
// A slab [begin, end) takes the samples whose lower slice floor(k) (or whose plane k, if the ray follows k) lies in it, the first slab
// also those below slice 0. The march goes towards larger k, coordinates come from the plane's number in the whole volume, and the sum
// starts from the stored value: slabs in increasing order add the same numbers in the same order as one slab does.
//
// Tunables: INDEX, the type of an index into the slab (int while it has fewer than 2^31 voxels).
#pragma OPENCL FP_CONTRACT OFF

#ifndef INDEX
#define INDEX long
#endif
#define RAY_FLOATS 18

// Narrows [*first, *last] to where low <= shift + slope * p <= high. Generous by a hundredth of a voxel: every sample is checked itself.
inline void narrow(float slope, float shift, float low, float high, float reach, float* first, float* last) {
  if (low > high) {
    *last = *first - 4.0f;
    return;
  }
  low -= 0.01f;
  high += 0.01f;
  if (fabs(slope) * reach < 1e-3f) {
    if (shift < low - 0.01f || shift > high + 0.01f) *last = *first - 4.0f;
    return;
  }
  const float a = (low - shift) / slope, b = (high - shift) / slope;
  *first = fmax(*first, fmin(a, b));
  *last = fmin(*last, fmax(a, b));
}

__kernel void joseph_project(__global const float* restrict volume, __global const float* restrict rays,
                             __global float* restrict projections, int nx, int ny, int nz, int offset, int begin, int end, float hx,
                             float hy, float hz, int columns, int rows, int first_view, int views) {
  const int column = get_global_id(0), row = get_global_id(1), view = get_global_id(2);
  if (column >= columns || row >= rows || view >= views) return;

  __global const float* restrict r = rays + RAY_FLOATS * (size_t)(first_view + view);
  const float u = (float)column - 0.5f * (float)(columns - 1), v = (float)row - 0.5f * (float)(rows - 1);
  const float dx = fma(u, r[6], fma(v, r[12], r[0])), dy = fma(u, r[7], fma(v, r[13], r[1])), dz = fma(u, r[8], fma(v, r[14], r[2]));
  const float mx = fma(u, r[9], fma(v, r[15], r[3])), my = fma(u, r[10], fma(v, r[16], r[4])),
              mz = fma(u, r[11], fma(v, r[17], r[5]));
  const float cx = 0.5f * (float)(nx - 1), cy = 0.5f * (float)(ny - 1), cz = 0.5f * (float)(nz - 1);
  const float ax = fabs(dx), ay = fabs(dy), az = fabs(dz);
  const INDEX plane = (INDEX)nx * ny;

  // planes along a; interpolation along b and c, c being k unless the ray follows k
  float da, slope_b, shift_b, slope_c, shift_c, ca;
  int na, nb;
  INDEX stride_a, stride_b, stride_c;
  const bool follows_k = az > ax && az > ay;
  if (follows_k) {  // a = k, b = i, c = j
    da = dz, ca = cz, na = nz, nb = nx;
    slope_b = dx / dz, shift_b = cx - my / dz, slope_c = dy / dz, shift_c = cy + mx / dz;
    stride_a = plane, stride_b = 1, stride_c = nx;
  } else if (ax >= ay) {  // a = i, b = j, c = k
    da = dx, ca = cx, na = nx, nb = ny;
    slope_b = dy / dx, shift_b = cy - mz / dx, slope_c = dz / dx, shift_c = cz + my / dx;
    stride_a = 1, stride_b = nx, stride_c = plane;
  } else {  // a = j, b = i, c = k
    da = dy, ca = cy, na = ny, nb = nx;
    slope_b = dx / dy, shift_b = cx + mz / dy, slope_c = dz / dy, shift_c = cz - mx / dy;
    stride_a = nx, stride_b = 1, stride_c = plane;
  }
  const float path = sqrt(fma(hx * dx, hx * dx, fma(hy * dy, hy * dy, hz * dz * (hz * dz)))) / fabs(da);

  // lowest and highest c that this slab interpolates from (floor), and the planes where that can be
  const int from = follows_k || begin == 0 ? -1 : begin, to = follows_k ? ny : end;
  float low = follows_k ? (float)begin - ca : -ca, high = follows_k ? (float)(end - 1) - ca : (float)(na - 1) - ca;
  const int lowest = follows_k ? begin : 0, highest = follows_k ? end - 1 : na - 1;
  narrow(slope_b, shift_b, -1.0f, (float)nb, (float)na, &low, &high);
  narrow(slope_c, shift_c, (float)from, (float)to, (float)na, &low, &high);
  const int first = max(lowest, (int)floor(fmin(low + ca, (float)na + 4.0f)) - 1);
  const int last = min(highest, (int)ceil(fmax(high + ca, -4.0f)) + 1);
  const bool descending = !follows_k && slope_c < 0.0f;
  // slices held: `offset` on; numbers along c are moved so that they index the buffer
  const int nc = follows_k ? ny : nz;
  const int move_c = follows_k ? 0 : offset;
  const INDEX base = follows_k ? -(INDEX)offset * plane : 0;

  const size_t pixel = ((size_t)view * rows + row) * columns + column;
  float sum = projections[pixel];
  for (int step = first; step <= last; ++step) {
    const int m = descending ? last - (step - first) : step;
    const float p = (float)m - ca;
    const float b = fma(p, slope_b, shift_b), c = fma(p, slope_c, shift_c);
    const float whole_b = floor(b), whole_c = floor(c);
    const int b0 = (int)whole_b, c0 = (int)whole_c;
    const float fb = b - whole_b, fc = c - whole_c;
    float low_b = 1.0f - fb, high_b = fb, low_c = 1.0f - fc, high_c = fc;
    if (c0 < from || c0 >= to || b0 < -1 || b0 >= nb) continue;
    INDEX step_b = stride_b, step_c = stride_c;
    INDEX at = base + m * stride_a + b0 * stride_b + (c0 - move_c) * stride_c;
    // a neighbour that is not there weighs nothing and is not read
    if (b0 < 0) low_b = 0.0f, at += stride_b, step_b = 0;
    if (b0 + 1 >= nb) high_b = 0.0f, step_b = 0;
    if (c0 < 0) low_c = 0.0f, at += stride_c, step_c = 0;
    if (c0 + 1 >= nc) high_c = 0.0f, step_c = 0;
    const float value0 = fma(high_b, volume[at + step_b], low_b * volume[at]);
    const float value1 = fma(high_b, volume[at + step_b + step_c], low_b * volume[at + step_c]);
    sum = fma(path, fma(high_c, value1, low_c * value0), sum);
  }
  projections[pixel] = sum;
}
