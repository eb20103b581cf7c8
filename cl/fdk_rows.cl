// The row filter of filtered back-projection (fdk.cl) in one pass over memory: rows are weighted as they are read, by
// fdk_weight.clh or, if GENERAL, fdk_general.clh, and filtered in local memory. A pair of rows is one complex row, as
// in fdk.cl, and a work-group's.
//
// Arrays: raw and weights as in fdk.cl or fdk_general.cl; filter: the table of fourier.clh; spectrum[view][pair][LENGTH]
// complex, of which the first `kept` columns, the filtered ones, are written. LENGTH values of local memory. No halo.
#pragma OPENCL FP_CONTRACT OFF
#include "fdk.clh"
#ifdef GENERAL
#include "fdk_general.clh"
#else
#include "fdk_weight.clh"
#endif
#include "fourier.clh"

// GROUP work-items a pair of rows: (GROUP, pairs, views).
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void fdk_rows_filter(__global float2* restrict spectrum,
                                                                                 __global const float* restrict filter,
                                                                                 int kept, int pairs,
                                                                                 FDK_WEIGHT_ARGUMENTS) {
  __local float2 row[LENGTH];
  const int pair = get_global_id(1), view = get_global_id(2), length = LENGTH;
  for (int n = get_local_id(0); n < length; n += GROUP) {
    FDK_WEIGHTED_PAIR(value, n, pair, view);
    row[SLOT(n)] = value;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  convolve(row, filter);
  __global float2* restrict filtered = spectrum + ((size_t)view * pairs + pair) * length;
  for (int n = get_local_id(0); n < kept; n += GROUP) filtered[n] = row[SLOT(n)] * (float2)(1.0f, -1.0f);
}
