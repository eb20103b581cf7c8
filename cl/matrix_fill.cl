// Weights of the tiles of a slice's system matrix: 8 rays x 16 pixels of half precision each, of the rays of joseph.cl, or, SIDDON, of
// siddon.cl, or, DISTANCE_DRIVEN, of distance_driven.cl, that run within slices. In units of the voxel's width, so that they are near 1
// whatever the voxels are. FAN_STACK: see rays.clh.
//
// Arrays: ray_places[ray tile] = column and view of its first ray; pixel_places[pixel tile] = i and j of its first pixel; super_begins and
// super_places of super-tiles of rays as in matrix.cl. `tiles` holds those from `first_tile` on.
// A tile's ray r is at column r % ray_width, view r / ray_width from the first; its pixel p at i = p % 4, j = p / 4. Order of the weights:
// that of cl/tile_nvidia.clh, pixel (l & 3) 2 + (e & 1) + 8 (e >> 1) of ray l >> 2 at 4 l + e. Rays and pixels of padding weigh 0.
#pragma OPENCL FP_CONTRACT OFF
#include "matrix.clh"
#include "rays.clh"
#ifdef DISTANCE_DRIVEN
#define WITHIN_SLICE
#include "distance_driven.clh"
#else
#define FACES  // of siddon.clh: rays in faces between voxels
#include "joseph.clh"
#include "siddon.clh"
#endif

#define TILE_LANES 32

typedef struct {
  Line line;
  float path, ca;
  int axis;
#ifdef DISTANCE_DRIVEN
  float4 steps;  // Shadow::steps_b
#else
  int face;  // face across `axis` that Siddon's ray runs in; -1: none
#endif
} PlaneRay;

INLINE PlaneRay plane_ray(Ray ray, Extent extent, PerAxis voxel) {
  PlaneRay r;
  r.axis = main_axis(ray);
  r.line =
      line_of(ray, r.axis, 0.5f * (float)(extent.nx - 1), 0.5f * (float)(extent.ny - 1), 0.5f * (float)(extent.nz - 1));
  r.path = path_mm(ray, r.axis, voxel) / voxel.x;
  r.ca = 0.5f * (float)((r.axis == 0 ? extent.nx : extent.ny) - 1);
#ifndef DISTANCE_DRIVEN
  const Faces faces = faces_of(ray, extent);
  r.face = r.axis == 0 ? faces.j : faces.i;
#endif
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
#elif defined(DISTANCE_DRIVEN)
  const float width = width_at(p, r.steps, INFINITY);
  return r.path * (overlap(fma(p, r.line.slope_b, r.line.shift_b), 0.5f * width, across) / width);
#else
  return r.path * hat(fma(p, r.line.slope_b, r.line.shift_b), across);
#endif
}

// Work-items: (TILE_LANES, super-tiles `first` to end - 1).
__kernel void matrix_fill(__global half* restrict tiles, __global const uint2* restrict super_begins,
                          __global const uint* restrict super_places, __global const int2* restrict ray_places,
                          __global const int2* restrict pixel_places, __global const float* restrict rays,
                          Extent extent, PerAxis voxel, Batch batch, Tiling tiling) {
  const int lane = get_global_id(0), n = lane >> 2;
  const uint super = tiling.first + (uint)get_global_id(1);
  if (lane >= TILE_LANES || super >= tiling.end) return;
  PlaneRay ray[RAY_TILES];
  bool there[RAY_TILES];
  for (int t = 0; t < RAY_TILES; ++t) {
    const int2 first = ray_places[RAY_TILES * super + t];
    const int column = first.x + n % tiling.ray_width, view = first.y + n / tiling.ray_width;
    there[t] = column < batch.columns && view < batch.first_view + batch.views;
    const int at_view = there[t] ? view : batch.first_view, at_column = there[t] ? column : 0;
    const float v = from_centre(0, batch.rows);
    const Ray at = RAY_AT(at_view, 2 * at_column, v);
    ray[t] = plane_ray(at, extent, voxel);
#ifdef DISTANCE_DRIVEN
    ray[t].steps = PIXEL_SHADOW(at, at_view, at_column, v, ray[t].axis, 0.5f * (float)(extent.nx - 1),
                                0.5f * (float)(extent.ny - 1), 0.5f * (float)(extent.nz - 1))
                       .steps_b;
#endif
  }
  size_t tile = super_begins[super].y - tiling.first_tile;
  for (uint at = super_begins[super].x; at < super_begins[super + 1].x; ++at) {
    const int2 place = pixel_places[super_places[at] >> RAY_MASK_BITS];
    for (int t = 0; t < RAY_TILES; ++t) {
      if (!(super_places[at] & (1u << t))) continue;
      for (int e = 0; e < 4; ++e) {
        const int pixel = (lane & 3) * 2 + (e & 1) + 8 * (e >> 1), i = place.x + pixel % 4, j = place.y + pixel / 4;
        const float weight = there[t] && i < extent.nx && j < extent.ny ? weight_of(ray[t], i, j) : 0.0f;
        vstore_half_rte(weight, (tile * TILE_LANES + lane) * 4 + e, tiles);
      }
      ++tile;
    }
  }
}
