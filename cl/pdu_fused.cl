// One to four iterations of pdu.cl (or, with WEIGHT_BITS, of spdu.cl) in one pass over memory, each with the same bits
// as there:
//   q' <- Proj_{|q_i| <= lambda}( q + step o D u ),  u' <- u + theta (f - u + [w] div q'),  STAGES times
// Overlapped tiles in x and y, streaming in z (temporal blocking as in Nguyen et al. 2010).
//
// Stage k of step s computes the dual of its iteration in slice s - 2k and the primal in slice s - 2k - 1. It takes
// what neighbours in x and y computed in the step before from local memory, and its own former slices from registers:
// one barrier a step, for any number of stages. A work-item has COLUMNS voxels along x.
//
// Arrays: u, f and the new u volumes; w a volume of weights (weights.clh); qx, qy, qz and the new ones volumes of
// dual_t (duals.clh); nothing in place. x fastest, first slice in the buffers is `offset`. nx must be a multiple of
// COLUMNS.
// Halo: STAGES slices low and high. Traffic: 12 bytes a voxel and pass, a stored weight, and 6 stored duals.
//
// With GAP (DUAL_BITS 32) the pass also leaves the sums of pdu_state_gap for the state that it ends with, with the same
// bits, in `partials` (sums.clh); those of slice end - 1 are right if it is the volume's last. A tile then is 32 items
// of SEGMENT_ROWS rows, the set of a march there, and the rows and items above it that the last differences take.
// Sums go through local memory, one level a step: rows of an item's columns, then the items.
//
// Groups: (TILE_X, TILE_Y, 1) over (tiles, tiles, chunks of `chunk` slices); a tile gives
// (TILE_X - LOW_ITEMS - HIGH_ITEMS) * COLUMNS columns of OWN_ROWS rows.
// Tunables: STAGES, COLUMNS (1, 2, 4), TILE_X, TILE_Y, DUAL_BITS, WEIGHT_BITS, GAP.
#pragma OPENCL FP_CONTRACT OFF
#include "gap.clh"
#ifdef GAP
#include "sums.clh"
#endif

#ifndef STAGES
#define STAGES 2
#endif
#ifndef TILE_X
#define TILE_X 18
#endif
#ifndef TILE_Y
#define TILE_Y 14
#endif
// work-items at the tile's sides whose results its neighbours own
#define LOW_ITEMS ((STAGES + COLUMNS - 1) / COLUMNS)
#ifdef GAP
#define HIGH_ITEMS LOW_ITEMS
#define OWN_ROWS (TILE_Y - 2 * STAGES)
#define READ_STAGES STAGES  // whose u neighbours take
#define SUMS_DECLARED , __global sum_t* restrict partials
#else
#define HIGH_ITEMS ((STAGES - 1 + COLUMNS - 1) / COLUMNS)
#define OWN_ROWS (TILE_Y - 2 * STAGES + 1)
#define READ_STAGES (STAGES - 1)
#define SUMS_DECLARED
#endif
#define ITEMS (TILE_X * TILE_Y)

// slice z of the buffers; one that the pass does not need may be any that it has
#define SLICE(z) (plane * (size_t)(clamp(z, lowest, highest) - offset))

#ifdef GAP
// Adds up the items of the strips of slice number `slice` of the buffers, and the rows of the parts of the one above it,
// in the order of a march (sums.clh).
INLINE void add_up(__local float parts[GAP_COMPONENTS][MARCH_X * OWN_ROWS], __local sum_t* strips, __local sum_t* done,
                   int item, int slice, int begin, int end, __global sum_t* partials) {
  if (item < GAP_COMPONENTS * MARCH_X && slice + 1 >= begin && slice + 1 < end) {
    const int c = item / MARCH_X, lane = item % MARCH_X;
    sum_t sum = NO_SUM;
    for (int row = 0; row < OWN_ROWS; ++row) sum = add_value(sum, parts[c][lane + MARCH_X * row]);
    strips[item] = sum;
  }
  const int c = ITEMS - 1 - item;
  if (c >= GAP_COMPONENTS || slice < begin || slice >= end) return;
  __local sum_t* sums = done + c * MARCH_X;
  for (int width = MARCH_X / 2; width > 0; width /= 2)
    for (int lane = 0; lane < width; ++lane) sums[lane] = add_sums(sums[lane], sums[lane + width]);
  const size_t sets = get_num_groups(0) * get_num_groups(1),
               set = get_group_id(0) + get_num_groups(0) * get_group_id(1);
  partials[((size_t)slice * GAP_COMPONENTS + c) * sets + set] = sums[0];
}
#endif

__kernel __attribute__((reqd_work_group_size(TILE_X, TILE_Y, 1))) void pdu_fused_iterate(
    __global const float* restrict u, __global const float* restrict f,
    WEIGHTS_DECLARED __global const dual_t* restrict qx, __global const dual_t* restrict qy,
    __global const dual_t* restrict qz, __global float* restrict new_u, __global dual_t* restrict new_qx,
    __global dual_t* restrict new_qy, __global dual_t* restrict new_qz, int nx, int ny, int nz, int offset, int begin,
    int end, int chunk, float rx, float ry, float rz, float lambda, float4 steps0, float4 steps1, float4 steps2,
    float4 steps3 SUMS_DECLARED) {
  // By parity of the step. Slot ITEMS stands for what lies before the volume's near faces: 0.
  __local float last_qx[STAGES][2][ITEMS + 1];
  __local Columns last_qy[STAGES][2][ITEMS + 1];
#if READ_STAGES > 0
  __local Columns last_u[READ_STAGES][2][ITEMS];
#endif
#ifdef GAP
  __local float parts[2][GAP_COMPONENTS][MARCH_X * OWN_ROWS];  // of the columns of an item
  __local sum_t strips[2][GAP_COMPONENTS * MARCH_X];           // of its rows
  GapRest rest = {0.0f, 0.0f, 0.0f};                           // one slice above that of the step's sums
#endif
  const int lx = (int)get_local_id(0), ly = (int)get_local_id(1), item = lx + TILE_X * ly;
  const int x = ((int)get_group_id(0) * (TILE_X - LOW_ITEMS - HIGH_ITEMS) + lx - LOW_ITEMS) * COLUMNS;
  const int y = (int)get_group_id(1) * OWN_ROWS + ly - STAGES;
  const int z0 = begin + (int)get_group_id(2) * chunk, z1 = min(end, z0 + chunk);
  const bool inside = x >= 0 && x < nx && y >= 0 && y < ny;
  const bool more_x = inside && x + COLUMNS < nx, more_y = inside && y + 1 < ny;
  const bool owns = lx >= LOW_ITEMS && lx < TILE_X - HIGH_ITEMS && ly >= STAGES && ly < STAGES + OWN_ROWS;
  const bool writes = inside && owns;
  const size_t plane = (size_t)nx * (size_t)ny;
  // Items outside of the volume compute nonsense from its first voxel, which nobody reads. At the far faces a voxel is
  // its own neighbour: the difference is 0.
  const uint here = inside ? (uint)(x + nx * y) : 0;
  const uint here_x = more_x ? here + COLUMNS : here + COLUMNS - 1, here_y = more_y ? here + (uint)nx : here;
  const int left = x > 0 ? max(item - 1, 0) : ITEMS, below = y > 0 ? max(item - TILE_X, 0) : ITEMS;
  const int above = more_y ? min(item + TILE_X, ITEMS - 1) : item;
  const int right = more_x ? min(item + 1, ITEMS - 1) * COLUMNS : item * COLUMNS + COLUMNS - 1;
  const int lowest = max(0, z0 - STAGES);
#ifdef GAP
  const int highest = min(min(nz, end + STAGES) - 1, z1 + STAGES);
#else
  const int highest = min(nz - 1, z1 + STAGES - 1);
#endif
  const float4 steps[4] = {steps0, steps1, steps2, steps3};
#if DUAL_BITS != 32
  const float unit = lambda / DUAL_LARGEST, per_unit = DUAL_LARGEST / lambda;
#endif

  // Of stage k: u in slices s - 2k and s - 2k - 1; its dual, one step and two steps ago.
  Columns now_u[STAGES], past_u[STAGES];
  Dual past_q[STAGES], older_q[STAGES];
#pragma unroll
  for (int k = 0; k < STAGES; ++k) {
    now_u[k].all = past_u[k].all = (floats)(0.0f);
    past_q[k].x.all = past_q[k].y.all = past_q[k].z.all = (floats)(0.0f);
    older_q[k] = past_q[k];
    for (int parity = 0; parity < 2; ++parity) {
      last_qx[k][parity][item] = last_qx[k][parity][ITEMS] = 0.0f;
      last_qy[k][parity][item].all = last_qy[k][parity][ITEMS].all = (floats)(0.0f);
#if READ_STAGES > 0
      if (k < READ_STAGES) last_u[k][parity][item].all = (floats)(0.0f);
#endif
    }
  }
#ifdef GAP
  const int first = z0 - STAGES, last = z1 + 2 * STAGES - 1;
#else
  const int first = z0 - STAGES, last = z1 + 2 * STAGES - 2;
#endif
  now_u[0].all = LOAD(floats, u + SLICE(first), here);
  // What the next step takes from memory is asked for one step ahead.
  floats next_u = LOAD(floats, u + SLICE(first + 1), here), next_f = LOAD(floats, f + SLICE(first - 1), here);
  duals next_qx = LOAD(duals, qx + SLICE(first), here), next_qy = LOAD(duals, qy + SLICE(first), here),
        next_qz = LOAD(duals, qz + SLICE(first), here);
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int s = first; s <= last; ++s) {
    const int now = s & 1, before = now ^ 1;
    Columns ahead, ahead_y, data[STAGES];
    ahead.all = next_u;
    ahead_y.all = LOAD(floats, u + SLICE(s), here_y);
    float ahead_x = (u + SLICE(s))[here_x];
    Dual q, oldest;
    q.x.all = UNPACKED(next_qx, lambda);
    q.y.all = UNPACKED(next_qy, lambda);
    q.z.all = UNPACKED(next_qz, lambda);
    data[0].all = next_f;
#pragma unroll
    for (int k = 1; k < STAGES; ++k) data[k].all = LOAD(floats, f + SLICE(s - 2 * k - 1), here);
    next_u = LOAD(floats, u + SLICE(s + 2), here);
    next_qx = LOAD(duals, qx + SLICE(s + 1), here);
    next_qy = LOAD(duals, qy + SLICE(s + 1), here);
    next_qz = LOAD(duals, qz + SLICE(s + 1), here);
    next_f = LOAD(floats, f + SLICE(s), here);
#pragma unroll
    for (int k = 0; k < STAGES; ++k) {
      const float4 step = steps[k];
      const int z = s - 2 * k;
#ifdef WEIGHT_BITS
      Columns weight, weight_y, weight_z, past_weight;
      weight.all = LOAD_WEIGHTS(w + SLICE(z), here);
      weight_y.all = LOAD_WEIGHTS(w + SLICE(z), here_y);
      weight_z.all = LOAD_WEIGHTS(w + SLICE(z + 1), here);
      past_weight.all = LOAD_WEIGHTS(w + SLICE(z - 1), here);
      const float weight_x = WEIGHT_IN(w + SLICE(z), here_x);
#endif
      Columns primal;
#ifdef GAP
      Columns div_q;
#endif
      {
        const float qx_left = last_qx[k][before][left];
        const Columns qy_below = last_qy[k][before][below];
        EACH_COLUMN {
          const float dx = past_q[k].x.at[c] - (c > 0 ? past_q[k].x.at[c > 0 ? c - 1 : 0] : qx_left);
          const float dy = past_q[k].y.at[c] - qy_below.at[c];
          const float dz = past_q[k].z.at[c] - older_q[k].z.at[c];
          const float div = fma(rz, dz, fma(ry, dy, rx * dx)), old = past_u[k].at[c];
#ifdef GAP
          div_q.at[c] = div;
#endif
#ifdef WEIGHT_BITS
          primal.at[c] = fma(step.w, fma(past_weight.at[c], div, data[k].at[c] - old), old);
#else
          primal.at[c] = fma(step.w, (data[k].at[c] - old) + div, old);
#endif
        }
      }
      Dual dual, rounded;
      {
        const bool starts = z >= 0, more_z = z + 1 < nz;
#if STAGES > 1
        if (k > 0) {
          q = oldest;
          ahead_x = ((__local float*)last_u[k - 1][before])[right];
          ahead_y = last_u[k - 1][before][above];
        }
#endif
        EACH_COLUMN {
          const float value = now_u[k].at[c];
          const float dx = (c + 1 < COLUMNS ? now_u[k].at[c + 1 < COLUMNS ? c + 1 : 0] : ahead_x) - value;
          const float dy = ahead_y.at[c] - value, dz = more_z ? ahead.at[c] - value : 0.0f;
#ifdef WEIGHT_BITS
          float most = c + 1 < COLUMNS ? weight.at[c + 1 < COLUMNS ? c + 1 : 0] : (more_x ? weight_x : 0.0f);
          most = fmax(most, fmax(more_y ? weight_y.at[c] : 0.0f, more_z ? weight_z.at[c] : 0.0f));
          const float sum = weight.at[c] + most, each = sum > 0.0f ? 1.0f / sum : 0.0f;
          const float px = fma(step.x * each, dx, q.x.at[c]), py = fma(step.y * each, dy, q.y.at[c]);
          const float pz = fma(step.z * each, dz, q.z.at[c]);
#else
          const float px = fma(step.x, dx, q.x.at[c]), py = fma(step.y, dy, q.y.at[c]), pz = fma(step.z, dz, q.z.at[c]);
#endif
          const float scale = ball_scale(px, py, pz, lambda);
#if DUAL_BITS == 32
          dual.x.at[c] = px * scale;
          dual.y.at[c] = py * scale;
          dual.z.at[c] = starts ? pz * scale : 0.0f;
#else
          const float units = scale * per_unit;
          rounded.x.at[c] = px * units + DUAL_MAGIC;
          rounded.y.at[c] = py * units + DUAL_MAGIC;
          rounded.z.at[c] = starts ? pz * units + DUAL_MAGIC : DUAL_MAGIC;
          dual.x.at[c] = (rounded.x.at[c] - DUAL_MAGIC) * unit;
          dual.y.at[c] = (rounded.y.at[c] - DUAL_MAGIC) * unit;
          dual.z.at[c] = (rounded.z.at[c] - DUAL_MAGIC) * unit;
#endif
        }
      }
      last_qx[k][now][item] = dual.x.at[COLUMNS - 1];
      last_qy[k][now][item] = dual.y;
#if READ_STAGES > 0
      if (k < READ_STAGES) last_u[k][now][item] = primal;
#endif
      if (k == STAGES - 1 && writes) {
        const size_t i = plane * (size_t)(z - offset);
        if (z >= z0 && z < z1) {
#if DUAL_BITS == 32
          STORE(duals, new_qx + i, here, dual.x.all);
          STORE(duals, new_qy + i, here, dual.y.all);
          STORE(duals, new_qz + i, here, dual.z.all);
#else
          STORE(duals, new_qx + i, here, PACKED(rounded.x.all));
          STORE(duals, new_qy + i, here, PACKED(rounded.y.all));
          STORE(duals, new_qz + i, here, PACKED(rounded.z.all));
#endif
        }
        if (z > z0 && z <= z1) STORE(floats, new_u + (i - plane), here, primal.all);
      }
#ifdef GAP
      if (k == STAGES - 1) {
        // The slice above that of the sums has its new u now.
        const int at = z - 2;
        Columns mine, most;
        float most_right = 0.0f;
        mine.all = most.all = (floats)(0.0f);
#ifdef WEIGHT_BITS
        mine.all = LOAD_WEIGHTS(w + SLICE(at), here);
        most.all = fmax(mine.all, fmax(LOAD_WEIGHTS(w + SLICE(at), here_y), past_weight.all));
        most_right = WEIGHT_IN(w + SLICE(at), here_x);
#endif
        const Columns value = last_u[k][before][item], up = last_u[k][before][above];
        const float right_u = ((__local float*)last_u[k][before])[right];
        const GapBound bound = gap_bound(value, right_u, up, at + 1 < nz ? primal : value, older_q[k], mine, most,
                                         most_right, rx, ry, rz, lambda);
        const int part = lx - LOW_ITEMS + MARCH_X * (ly - STAGES);
        if (owns) {
          parts[now][0][part] = writes ? fma(0.5f, rest.rest, bound.bound) : 0.0f;
          parts[now][1][part] = writes ? bound.variation : 0.0f;
          parts[now][2][part] = writes ? rest.fidelity : 0.0f;
#ifdef WEIGHT_BITS
          parts[now][3][part] = writes ? rest.weighted : 0.0f;
#endif
        }
#ifdef WEIGHT_BITS
        mine = past_weight;
#endif
        rest = gap_rest(primal, data[k], div_q, mine);
      }
#endif
      oldest = older_q[k];
      past_u[k] = now_u[k];
      now_u[k] = ahead;
      older_q[k] = past_q[k];
      past_q[k] = dual;
      ahead = primal;
    }
#ifdef GAP
    add_up(parts[before], strips[now], strips[before], item, s - 2 * STAGES - 2 - offset, z0 - offset, z1 - offset,
           partials);
#endif
    barrier(CLK_LOCAL_MEM_FENCE);
  }
#ifdef GAP
  for (int s = last + 1; s <= last + 2; ++s) {
    const int now = s & 1, before = now ^ 1;
    add_up(parts[before], strips[now], strips[before], item, s - 2 * STAGES - 2 - offset, z0 - offset, z1 - offset,
           partials);
    barrier(CLK_LOCAL_MEM_FENCE);
  }
#endif
}
