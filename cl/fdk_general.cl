// Weights of filtered back-projection for scans that are not a full circle with a flat, upright, centred detector; fdk_general_weight
// stands in for fdk_weight (fdk.cl).
//
//   spectrum = raw * scale_n * K * w(beta, gamma) / |r|,      r = (a, b, -1) the ray in the view's coordinates,
//
// a = u/SDD and b = v/SDD from the foot of the perpendicular from the source. A parallel beam comes from so far away that a^2 and b^2 are
// nothing beside 1, and its fan angles are distances from the axis.
//
// K = |V x r|^2 / |(r x (V x r))_x|, V the way that the source moves per radian over SID: 1 for V = (1, 0, 0), and 1 - a sx/SID for a
//   source offset sx, the tilted fan of Gullberg et al. (1986). It follows from their change of variables taken in the plane of the
//   filtered row and the source, where the source moves by V.e, e across the ray; a row that stands at an angle to that way sees the
//   object's frequencies lower by its cosine, hence |V|^2/|V.e| in place of V.e. Rows may run either way.
// w: the fan angle gamma is that of the ray to N, the direction from the source to the axis: tan gamma = V.r / N.r.
//   PARKER (1982; eq. 12, times 2), limit = delta, beta from the arc's start:
//     2 sin^2(pi/2 x),  x = min(1, beta/(2 (delta + gamma)), (pi + 2 delta - beta)/(2 (delta - gamma))), at least 0;
//   WANG (2002; eq. 5), limit = the fan angle up to which the detector reaches on both sides, with the sign of its long side:
//     1 + sin(pi/2 gamma/limit), gamma/limit held to [-1, 1].
// Truncated rows go on beyond the detector by low_extent and high_extent columns, turned about their last pixel (Ohnesorge et al. 2000):
//   max(0, 2 row(last) - row(last - d)) cos(pi/2 d/(extent + 1))^0.75      d columns out,
// with row the weighted row and RTK's taper. It goes on with the slope that it has and ends at 0; a row that is not truncated gets nothing.
// CYLINDER: raw is a cylinder's, and is interpolated bilinearly onto the plane that touches it. In units of SDD its radius is rho, its
//   centre at (c, 1 - rho) across and away from the source: the ray meets it at the depth tau, the larger root of
//   (a tau - c)^2 + (tau - 1 + rho)^2 = rho^2, on the arc at atan2(a tau - c, tau - 1 + rho), and on the row where v/SDD = b tau.
// COUNTS: as in fdk.clh.
// VARIANCE: as in fdk.clh. Interpolating between pixels lowers the variance that the filter leaves by 1 - 2 f (1 - f)(1 - r), f the
//   fraction (Borsdorf et al. 2008); correlation_u and _v are those r for noise that the filter and back-projection's own interpolation
//   have passed, so that the two factors multiply to the right mean.
//
// Arrays: raw[view][row][raw_columns]; spectrum as in fdk.cl: the `columns` that are measured (those of raw; of the plane if CYLINDER)
// stand from `before` on, high_extent columns follow them, and low_extent end the circle. weights[view][16] = scale; a of column 0, which
// lies `before` columns left of the measured ones, its step; b of row 0, its step; V; N; beta; rho, c, raw column of arc angle 0, raw
// columns per radian. No halo, but CYLINDER needs all rows.
#pragma OPENCL FP_CONTRACT OFF
#include "fdk.clh"

#define FDK_WEIGHTS 16

inline float inner(float3 a, float3 b) {
  return fma(a.x, b.x, fma(a.y, b.y, a.z * b.z));
}

inline float3 outer(float3 a, float3 b) {
  return (float3)(fma(a.y, b.z, -(a.z * b.y)), fma(a.z, b.x, -(a.x * b.z)), fma(a.x, b.y, -(a.y * b.x)));
}

inline float redundancy(float gamma, float beta, float limit) {
#if defined(PARKER)
  const float rising = beta / fmax(2.0f * (limit + gamma), 1e-6f);
  const float falling = (fma(2.0f, limit, M_PI_F) - beta) / fmax(2.0f * (limit - gamma), 1e-6f);
  const float sine = sin(M_PI_2_F * clamp(fmin(rising, falling), 0.0f, 1.0f));
  return 2.0f * sine * sine;
#elif defined(WANG)
  return 1.0f + sin(M_PI_2_F * clamp(gamma / limit, -1.0f, 1.0f));
#else
  return 1.0f;
#endif
}

// What is measured at a column and row, as line integral or variance.
inline float sample(const FdkView* data, __global const float* restrict w, int column, int row, int rows, int row_begin,
                    float a, float b, float correlation_u, float correlation_v) {
#ifdef CYLINDER
  const float rho = w[12], c = w[13], tc = 1.0f - rho, aa = fma(a, a, 1.0f), half_sum = fma(a, c, tc);
  const float tau = (half_sum + sqrt(fma(half_sum, half_sum, -(aa * fma(c, c, fma(tc, tc, -(rho * rho))))))) / aa;
  const float u = fma(atan2(fma(a, tau, -c), tau - tc), w[15], w[14]);
  // a single row has no height to interpolate over
  const float v = rows == 1 ? 0.0f : (fma(b, tau, -w[3]) / w[4]) - (float)row_begin;
  const float u0 = floor(u), v0 = floor(v), fu = u - u0, fv = v - v0;
  const int i = (int)u0, j = (int)v0;
  float value = 0.0f;
  for (int dj = 0; dj < 2; ++dj)
    for (int di = 0; di < 2; ++di) {
      if (i + di < 0 || i + di >= data->columns || j + dj < 0 || j + dj >= rows) continue;
      const float share = (di ? fu : 1.0f - fu) * (dj ? fv : 1.0f - fv);
      value = fma(share, fdk_measured(data, i + di, j + dj), value);
    }
#ifdef VARIANCE
  value *= fma(-2.0f * fu * (1.0f - fu), 1.0f - correlation_u, 1.0f) *
           fma(-2.0f * fv * (1.0f - fv), 1.0f - correlation_v, 1.0f);
#endif
  return value;
#else
  return fdk_measured(data, column, row);
#endif
}

// A column of two rows, weighted; 0 for a row that is not there.
inline float2 pixels(const FdkView* data, __global const float* restrict w, int column, int first_row, int before,
                     int rows, int row_begin, float limit, float correlation_u, float correlation_v) {
  const float3 way = (float3)(w[5], w[6], w[7]), inward = (float3)(w[8], w[9], w[10]);
  const float a = fma((float)(before + column), w[2], w[1]);
  float value[2] = {0.0f, 0.0f};
#pragma unroll
  for (int n = 0; n < 2; ++n) {
    const int row = first_row + n;
    if (row >= rows) continue;
    const float b = fma((float)(row_begin + row), w[4], w[3]);
    const float3 r = (float3)(a, b, -1.0f), across = outer(way, r);
    const float rr = inner(r, r), along = inner(way, r);
    const float oblique = inner(across, across) / fabs(fma(way.x, rr, -(a * along)));
    const float weight = w[0] * oblique / sqrt(rr) * redundancy(atan2(along, inner(inward, r)), w[11], limit);
    value[n] = fdk_weighted(sample(data, w, column, row, rows, row_begin, a, b, correlation_u, correlation_v), weight);
  }
  return (float2)(value[0], value[1]);
}

// One work-item an element of spectrum: (length, pairs, views).
__kernel void fdk_general_weight(__global const fdk_raw_t* restrict raw, __global const float* restrict weights,
                                 __global float2* restrict spectrum, int raw_columns, int columns, int before,
                                 int low_extent, int high_extent, int row_begin, int rows, int length, int pairs,
                                 int first_view, int views, float limit, float photons, float electronic,
                                 float correlation_u, float correlation_v FDK_COUNTS_ARGUMENTS) {
  const int n = get_global_id(0), pair = get_global_id(1), view = get_global_id(2);
  if (n >= length || pair >= pairs || view >= views) return;
  // from the first column that is measured; the circle's end lies left of its beginning
  const int column = (n < length - low_extent ? n : n - length) - before;
  const int beyond = max(-column, column - (columns - 1)), extent = column < 0 ? low_extent : high_extent;
  float2 value = (float2)(0.0f, 0.0f);
  if (beyond <= extent) {
    __global const float* restrict w = weights + FDK_WEIGHTS * (size_t)(first_view + view);
    const FdkView data = FDK_VIEW(raw, raw_columns, row_begin, rows, view, first_view);
#define PIXELS(column) pixels(&data, w, column, 2 * pair, before, rows, row_begin, limit, correlation_u, correlation_v)
    if (beyond <= 0) {
      value = PIXELS(column);
    } else {
      const int last = column < 0 ? 0 : columns - 1, mirrored = column < 0 ? beyond : columns - 1 - beyond;
      value = fmax(2.0f * PIXELS(last) - PIXELS(mirrored), 0.0f) *
              pow(cos(M_PI_2_F * (float)beyond / (float)(extent + 1)), 0.75f);
    }
  }
  spectrum[((size_t)view * pairs + pair) * length + n] = value;
}
