// One or two iterations of pdu.cl (or, with WEIGHTED, of spdu.cl) in one pass over memory, each with the same bits
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
// Groups: (TILE_X, TILE_Y, 1) over (tiles, tiles, chunks of `chunk` slices); a tile gives
// (TILE_X - LOW_ITEMS - HIGH_ITEMS) * COLUMNS columns of TILE_Y - 2 STAGES + 1 rows.
// Tunables: STAGES (1, 2), COLUMNS (1, 2, 4), TILE_X, TILE_Y, DUAL_BITS, WEIGHTED; all go together.
#pragma OPENCL FP_CONTRACT OFF
#include "columns.clh"
#include "extent.clh"
#include "pdu_fused.clh"
#include "tv.clh"
#include "weights.clh"

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
#define HIGH_ITEMS ((STAGES - 1 + COLUMNS - 1) / COLUMNS)
#define ITEMS (TILE_X * TILE_Y)

typedef struct {
  Columns x, y, z;
} Dual;

// slice z of the buffers; one that the pass does not need may be any that it has
#define SLICE(z) (plane * (size_t)(clamp(z, lowest, highest) - offset))

#define STEP(s) ((float4)((s).x, (s).y, (s).z, (s).primal))

__kernel __attribute__((reqd_work_group_size(TILE_X, TILE_Y, 1))) void pdu_fused_iterate(
    __global const float* restrict u, __global const float* restrict f,
    WEIGHTS_DECLARED __global const dual_t* restrict qx, __global const dual_t* restrict qy,
    __global const dual_t* restrict qz, __global float* restrict new_u, __global dual_t* restrict new_qx,
    __global dual_t* restrict new_qy, __global dual_t* restrict new_qz, Extent extent, FusedPass pass) {
  const int nx = extent.nx, ny = extent.ny, nz = extent.nz, offset = extent.offset, chunk = pass.chunk;
  const float rx = pass.r.x, ry = pass.r.y, rz = pass.r.z, lambda = pass.lambda;
  // Values by parity of the step. Slot ITEMS stands for the place before the volume's near faces: 0.
  __local float last_qx[STAGES][2][ITEMS + 1];
  __local Columns last_qy[STAGES][2][ITEMS + 1];
#if STAGES > 1
  __local Columns last_u[STAGES - 1][2][ITEMS];
#endif
  const int lx = (int)get_local_id(0), ly = (int)get_local_id(1), item = lx + TILE_X * ly;
  const int x = ((int)get_group_id(0) * (TILE_X - LOW_ITEMS - HIGH_ITEMS) + lx - LOW_ITEMS) * COLUMNS;
  const int y = (int)get_group_id(1) * (TILE_Y - 2 * STAGES + 1) + ly - STAGES;
  const int z0 = extent.begin + (int)get_group_id(2) * chunk, z1 = min(extent.end, z0 + chunk);
  const bool inside = x >= 0 && x < nx && y >= 0 && y < ny;
  const bool more_x = inside && x + COLUMNS < nx, more_y = inside && y + 1 < ny;
  const bool writes = inside && lx >= LOW_ITEMS && lx < TILE_X - HIGH_ITEMS && ly >= STAGES && ly < TILE_Y - STAGES + 1;
  const size_t plane = (size_t)nx * (size_t)ny;
  // Items outside of the volume compute meaningless values from its first voxel, which are never read. At the far faces
  // a voxel is its own neighbour: the difference is 0.
  const uint here = inside ? (uint)(x + nx * y) : 0;
  const uint here_x = more_x ? here + COLUMNS : here + COLUMNS - 1, here_y = more_y ? here + (uint)nx : here;
  const int left = x > 0 ? max(item - 1, 0) : ITEMS, below = y > 0 ? max(item - TILE_X, 0) : ITEMS;
  const int above = more_y ? min(item + TILE_X, ITEMS - 1) : item;
  const int right = more_x ? min(item + 1, ITEMS - 1) * COLUMNS : item * COLUMNS + COLUMNS - 1;
  const int lowest = max(0, z0 - STAGES), highest = min(nz - 1, z1 + STAGES - 1);
  const float4 steps[2] = {STEP(pass.step0), STEP(pass.step1)};
#if DUAL_BITS != 32
  const float unit = lambda / DUAL_LARGEST, per_unit = DUAL_LARGEST / lambda;
#endif

  // State of stage k: u in slices s - 2k and s - 2k - 1; its dual, one step and two steps ago.
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
#if STAGES > 1
      if (k < STAGES - 1) last_u[k][parity][item].all = (floats)(0.0f);
#endif
    }
  }
  const int first = z0 - STAGES, last = z1 + 2 * STAGES - 2;
  now_u[0].all = LOAD(floats, u + SLICE(first), here);
  // Values that the next step takes from memory, requested one step ahead.
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
#ifdef WEIGHTED
      Columns weight, weight_y, weight_z, past_weight;
      weight.all = LOAD(floats, w + SLICE(z), here);
      weight_y.all = LOAD(floats, w + SLICE(z), here_y);
      weight_z.all = LOAD(floats, w + SLICE(z + 1), here);
      past_weight.all = LOAD(floats, w + SLICE(z - 1), here);
      const float weight_x = (w + SLICE(z))[here_x];
#endif
      Columns primal;
      {
        const float qx_left = last_qx[k][before][left];
        const Columns qy_below = last_qy[k][before][below];
        EACH_COLUMN {
          const float dx = past_q[k].x.at[c] - (c > 0 ? past_q[k].x.at[c > 0 ? c - 1 : 0] : qx_left);
          const float dy = past_q[k].y.at[c] - qy_below.at[c];
          const float dz = past_q[k].z.at[c] - older_q[k].z.at[c];
          const float div = fma(rz, dz, fma(ry, dy, rx * dx)), old = past_u[k].at[c];
#ifdef WEIGHTED
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
#ifdef WEIGHTED
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
#if STAGES > 1
      if (k < STAGES - 1) last_u[k][now][item] = primal;
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
      oldest = older_q[k];
      past_u[k] = now_u[k];
      now_u[k] = ahead;
      older_q[k] = past_q[k];
      past_q[k] = dual;
      ahead = primal;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
}
