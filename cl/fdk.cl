// The row filter of filtered back-projection (Feldkamp, Davis & Kress 1984; Kak & Slaney 1988, chapter 3):
//
//   filtered = (raw * scale_n * cos gamma) convolved with h along each row,    cos gamma = 1/sqrt(1 + (u/SDD)^2 + (v/SDD)^2),
//
// with u and v from the foot of the perpendicular from the source. Two neighbouring rows of a view travel as the real and imaginary part of
// one complex row: the transfer function H is real and even, so both are filtered, and need not be separated in between. Rows pair
// by their number on the detector (the first row held is even), so a row's result does not depend on which rows are held.
//
// FAN_STACK: each row has a source of its own, and v is 0 in cos gamma.
// COUNTS: raw holds counts, which become line integrals as they are read (fdk.clh).
// VARIANCE: raw line integrals become their variances (fdk.clh), all weights are squared, and H belongs to the square of the kernel.
//
// Scans with redundant rays, tilts, truncation or a curved detector are weighted by fdk_general.cl instead of fdk_weight.
//
// Arrays: raw[view][row][column]; spectrum[view][pair][length] complex, pairs = (rows + 1)/2, zero beyond the detector; filter[length];
// weights[view][5] = scale, u/SDD of column 0, its step a column, v/SDD of row 0, its step a row; filtered as in filtered.clh. No halo.
#pragma OPENCL FP_CONTRACT OFF
#include "fdk.clh"
#include "fdk_weight.clh"
#include "filtered.clh"

// One work-item an element of spectrum: (length, pairs, views). first_pair: of the rows that are held.
__kernel void fdk_weight(__global float2* restrict spectrum, int length, int first_pair, int pairs, int views,
                         FDK_WEIGHT_ARGUMENTS) {
  const int n = get_global_id(0), pair = get_global_id(1), view = get_global_id(2);
  if (n >= length || pair >= pairs || view >= views) return;
  FDK_WEIGHTED_PAIR(value, n, first_pair + pair, view);
  spectrum[((size_t)view * pairs + pair) * length + n] = value;
}

// One work-item an element of spectrum: (length, pairs, views).
__kernel void fdk_filter(__global float2* restrict spectrum, __global const float* restrict filter, int length,
                         int pairs, int views) {
  const int n = get_global_id(0), pair = get_global_id(1), view = get_global_id(2);
  if (n >= length || pair >= pairs || view >= views) return;
  spectrum[((size_t)view * pairs + pair) * length + n] *= filter[n];
}

// Work-items: (columns + MORE_ITEMS, rows + MORE_ITEMS, views).
__kernel void fdk_unpack(__global const float* restrict spectrum, __global filtered_t* restrict filtered, int columns,
                         int rows, int length, int pairs, int views) {
#define FILTERED_AT(column, row) filtered_at(spectrum + 2 * (size_t)view * pairs * length, column, row, length)
  STORE_FILTERED(FILTERED_AT)
}
