// stacks[y][x]: the slices held between zeros, for upright.clh, through a tile so that both are read and written along lines. Work-items:
// (nx, depth, ny) in groups of TILE x TILE, which the host sets lower where groups are small.
#ifndef TILE
#define TILE 16
#endif
__kernel __attribute__((reqd_work_group_size(TILE, TILE, 1))) void upright_stack(__global const float* restrict volume,
                                                                                 __global float* restrict stacks,
                                                                                 int nx, int ny, int held, int before,
                                                                                 int depth) {
  __local float tile[TILE][TILE + 1];
  const int x0 = TILE * (int)get_group_id(0), place0 = TILE * (int)get_group_id(1), y = get_global_id(2);
  const int a = get_local_id(0), b = get_local_id(1), slice = place0 + b - before;
  const bool inside = x0 + a < nx && slice >= 0 && slice < held;
  tile[b][a] = inside ? volume[((size_t)slice * ny + y) * nx + x0 + a] : 0.0f;
  barrier(CLK_LOCAL_MEM_FENCE);
  if (x0 + b < nx && place0 + a < depth) stacks[((size_t)y * nx + x0 + b) * depth + place0 + a] = tile[a][b];
}
