// Work on voxels of volumes that reside on devices (host/volume/device_array.hpp): one work-item a voxel, or a group a run of voxels.

// voxels[first + n] -= shift for n < count.
__kernel void voxels_subtract(__global float* voxels, ulong first, ulong count, float shift) {
  const size_t n = get_global_id(0);
  if (n < count) voxels[first + n] -= shift;
}

// voxels[first + n] into [minimum, maximum]; NaN remains.
__kernel void voxels_clamp(__global float* voxels, ulong first, ulong count, float minimum, float maximum) {
  const size_t n = get_global_id(0);
  if (n >= count) return;
  const float value = voxels[first + n], raised = value < minimum ? minimum : value;
  voxels[first + n] = maximum < raised ? maximum : raised;
}

// Facts of the part of count voxels that a work-item takes, number n = item * to_item + k * to_next for k < part: the least and the
// greatest value, and the number of values that are not finite. NaN is neither least nor greatest, but for the first voxel.
typedef struct {
  float least, greatest;
  uint not_finite;
} VoxelFacts;
__kernel void voxels_facts(__global const float* voxels, ulong first, ulong count, ulong items, ulong part,
                           ulong to_item, ulong to_next, __global VoxelFacts* facts) {
  const size_t item = get_global_id(0);
  if (item >= items) return;
  float least = voxels[first], greatest = least;
  uint not_finite = 0;
  ulong n = item * to_item;
  for (ulong k = 0; k < part && n < count; ++k, n += to_next) {
    const float value = voxels[first + n];
    least = value < least ? value : least;
    greatest = value > greatest ? value : greatest;
    not_finite += (as_uint(value) & 0x7f800000) == 0x7f800000;
  }
  facts[item].least = least;
  facts[item].greatest = greatest;
  facts[item].not_finite = not_finite;
}

#ifdef USE_FP64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable

// voxels[first + n] /= divisor, in double, rounded once.
__kernel void voxels_divide(__global float* voxels, ulong first, ulong count, double divisor) {
  const size_t n = get_global_id(0);
  if (n < count) voxels[first + n] = (float)((double)voxels[first + n] / divisor);
}

// Attenuations as CT numbers, 1000 (mu - water)/water, or their variances, in double, rounded once.
__kernel void voxels_hounsfield(__global float* voxels, ulong first, ulong count, double water) {
  const size_t n = get_global_id(0);
  if (n >= count) return;
  const double value = voxels[first + n];
#ifdef VARIANCE
  voxels[first + n] = (float)(value * (1000 / water) * (1000 / water));
#else
  voxels[first + n] = (float)(1000 * (value - water) / water);
#endif
}

#ifdef GROUP
// The sums of runs: GROUP work-items fetch CHUNK voxels at a time, and the first of them adds these up, in their order.
// runs: first voxel in the buffer and number of voxels, two a run. states: RunSums, STATE doubles a run, which are continued.
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void voxels_runs(__global const float* restrict voxels,
                                                                             __global const ulong* restrict runs,
                                                                             __global double* restrict states) {
  __local float chunk[CHUNK];
  const size_t run = get_global_id(1);
  const uint lane = get_local_id(0);
  const ulong first = runs[2 * run], length = runs[2 * run + 1];
  __global double* state = states + STATE * run;
  double sum = state[0], squares = state[1], finite = state[2], positive = state[3], uniform = state[4], bad = state[5];
  float least_positive = (float)state[6], largest = (float)state[7], least = (float)state[8],
        greatest = (float)state[9];
  uint stretch = (uint)state[10];
  float last = (float)state[11];
  ulong seen = (ulong)state[12];
  for (ulong at = 0; at < length; at += CHUNK) {
    const uint now = (uint)min((ulong)CHUNK, length - at);
    for (uint n = lane; n < now; n += GROUP) chunk[n] = voxels[first + at + n];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lane == 0)
      for (uint n = 0; n < now; ++n, ++seen) {
        const float value = chunk[n];
        if (seen == 0) least = greatest = value;
        least = value < least ? value : least;
        greatest = value > greatest ? value : greatest;
        stretch = seen > 0 && value == last ? stretch + 1 : 1;
        if (stretch == 27) uniform += 27;
        if (stretch > 27) uniform += 1;
        last = value;
        const bool is_finite = isfinite(value);
        if (bad < 0 && (!(value >= 0) || !is_finite)) bad = (double)seen;
        if (bad < 0) {
          if (value > 0) positive += 1;
          if (value > 0 && value < least_positive) least_positive = value;
          if (value > largest) largest = value;
        }
        if (!is_finite) continue;
        sum += value;
        squares += (double)value * value;
        finite += 1;
      }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (lane != 0) return;
  state[0] = sum;
  state[1] = squares;
  state[2] = finite;
  state[3] = positive;
  state[4] = uniform;
  state[5] = bad;
  state[6] = least_positive;
  state[7] = largest;
  state[8] = least;
  state[9] = greatest;
  state[10] = stretch;
  state[11] = last;
  state[12] = (double)seen;
}
#endif
#endif
