// filtered = raw, in the layout of filtered.clh that its options name: for back-projection without a filter.
#include "filtered.clh"

__kernel void backproject_copy(__global const float* restrict raw, __global filtered_t* restrict filtered, int columns,
                               int rows, int views) {
#define RAW_AT(column, row) raw[((size_t)view * rows + (row)) * columns + (column)]
  STORE_FILTERED(RAW_AT)
}
