// Weights of the tiles of a slice's system matrix: 8 rays x 16 pixels of half precision each, of the rays of joseph.cl, or, SIDDON, of
// siddon.cl, that run within slices. In units of the voxel's width, so that they are near 1 whatever the voxels are.
//
// Arrays: ray_places[ray tile] = column and view of its first ray; pixel_places[pixel tile] = i and j of its first pixel; tiles of ray tile r:
// ray_begin[r] to ray_begin[r + 1], numbered within the part, of which `tiles` holds those from `first_tile` on; pixel_tiles[tile].
// A tile's ray r is at column r % ray_width, view r / ray_width from the first; its pixel p at i = p % 4, j = p / 4. Order of the weights:
// that of cl/tile_nvidia.clh, pixel (l & 3) 2 + (e & 1) + 8 (e >> 1) of ray l >> 2 at 4 l + e. Rays and pixels of padding weigh 0.
#pragma OPENCL FP_CONTRACT OFF
#define FACES  // of siddon.clh: rays in faces between voxels
#include "joseph.clh"
#include "siddon.clh"

#define TILE_LANES 32

typedef struct {
  Line line;
  float path, ca;
  int axis, face;  // face across `axis` that Siddon's ray runs in; -1: none
} PlaneRay;

INLINE PlaneRay plane_ray(Ray ray, Extent extent, PerAxis voxel) {
  PlaneRay r;
  r.axis = main_axis(ray);
  r.line =
      line_of(ray, r.axis, 0.5f * (float)(extent.nx - 1), 0.5f * (float)(extent.ny - 1), 0.5f * (float)(extent.nz - 1));
  r.path = path_mm(ray, r.axis, voxel) / voxel.x;
  r.ca = 0.5f * (float)((r.axis == 0 ? extent.nx : extent.ny) - 1);
  const Faces faces = faces_of(ray, extent);
  r.face = r.axis == 0 ? faces.j : faces.i;
  return r;
}

INLINE float weight_of(PlaneRay r, int i, int j) {
  const float p = (float)(r.axis == 0 ? i : j) - r.ca, across = (float)(r.axis == 0 ? j : i);
#ifdef SIDDON
  if (r.face >= 0) return across == (float)r.face || across == (float)(r.face - 1) ? 0.5f * r.path : 0.0f;
  const float a = fma(p - 0.5f, r.line.slope_b, r.line.shift_b), b = fma(p + 0.5f, r.line.slope_b, r.line.shift_b),
              low = fmin(a, b), high = fmax(a, b);
  if (high - low < 1e-6f) return fabs(low - across) < 0.5f ? r.path : 0.0f;
  return r.path * (fmax(0.0f, fmin(high, across + 0.5f) - fmax(low, across - 0.5f)) / (high - low));
#else
  return r.path * hat(fma(p, r.line.slope_b, r.line.shift_b), across);
#endif
}

// Work-items: (TILE_LANES, ray tiles from first_ray_tile on).
__kernel void matrix_fill(__global half* restrict tiles, __global const uint* restrict ray_begin,
                          __global const uint* restrict pixel_tiles, __global const int2* restrict ray_places,
                          __global const int2* restrict pixel_places, __global const float* restrict rays,
                          ARC_PARAMETERS Extent extent, PerAxis voxel, Batch batch, uint first_ray_tile,
                          uint end_ray_tile, uint first_tile, int ray_width) {
  const int lane = get_global_id(0);
  const uint ray_tile = first_ray_tile + (uint)get_global_id(1);
  if (lane >= TILE_LANES || ray_tile >= end_ray_tile) return;
  const int n = lane >> 2, column = ray_places[ray_tile].x + n % ray_width,
            view = ray_places[ray_tile].y + n / ray_width;
  const bool there = column < batch.columns && view < batch.first_view + batch.views;
  const PlaneRay ray = plane_ray(
      RAY_AT(there ? view : batch.first_view, there ? 2 * column : 0, from_centre(0, batch.rows)), extent, voxel);
  for (uint tile = ray_begin[ray_tile]; tile < ray_begin[ray_tile + 1]; ++tile) {
    const int2 place = pixel_places[pixel_tiles[tile]];
    for (int e = 0; e < 4; ++e) {
      const int pixel = (lane & 3) * 2 + (e & 1) + 8 * (e >> 1), i = place.x + pixel % 4, j = place.y + pixel / 4;
      const float weight = there && i < extent.nx && j < extent.ny ? weight_of(ray, i, j) : 0.0f;
      vstore_half_rte(weight, ((size_t)(tile - first_tile) * TILE_LANES + lane) * 4 + e, tiles);
    }
  }
}
