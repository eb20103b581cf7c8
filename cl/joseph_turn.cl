// turned[slice][x][y] = volume[slice][y][x], for TURNED forms of Joseph's projector (joseph.cl), through a tile so that both are read and
// written along lines. Work-items: (nx, ny, slices) in groups of TILE x TILE, which the host sets lower where groups are small.
#ifndef TILE
#define TILE 16
#endif
__kernel __attribute__((reqd_work_group_size(TILE, TILE, 1))) void joseph_turn(__global const float* restrict volume,
                                                                               __global float* restrict turned, int nx,
                                                                               int ny) {
  __local float tile[TILE][TILE + 1];
  const int x0 = TILE * (int)get_group_id(0), y0 = TILE * (int)get_group_id(1), slice = get_global_id(2);
  const int a = get_local_id(0), b = get_local_id(1);
  const size_t base = (size_t)nx * ny * slice;
  if (x0 + a < nx && y0 + b < ny) tile[b][a] = volume[base + (size_t)(y0 + b) * nx + x0 + a];
  barrier(CLK_LOCAL_MEM_FENCE);
  if (x0 + b < nx && y0 + a < ny) turned[base + (size_t)(x0 + b) * ny + y0 + a] = tile[a][b];
}
