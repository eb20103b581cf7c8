/* Projects a ball; then a box of it at once, and a slice from projections that are filtered once. */
#include <halocline.h>
#include <stdio.h>
#include <stdlib.h>

enum { side = 32, views = 60 };
static float volume[side * side * side], projections[side * side * views], box[8 * 8 * 8], slice[side * side];

static void must(int status) {
  if (status == HALOCLINE_OK) return;
  fprintf(stderr, "error %d: %s\n", status, halocline_last_error());
  exit(1);
}

int main(void) {
  const int64_t size[3] = {side, side, side}, first[3] = {12, 12, 12}, eight[3] = {8, 8, 8};
  const int64_t middle[3] = {0, side / 2, 0}, plane[3] = {side, 1, side}, some[3] = {3, 41, 20};
  const double spacing[3] = {2, 2, 2}; /* mm */
  halocline_circular_options circular = HALOCLINE_CIRCULAR_OPTIONS_INIT;
  halocline_slices_options options = HALOCLINE_SLICES_OPTIONS_INIT;
  halocline_context* context;
  halocline_geometry* geometry;
  halocline_patches* patches;
  halocline_slices* slices;
  halocline_grid grid, stack, part;
  int i, j, k;

  for (k = 0; k < side; ++k)
    for (j = 0; j < side; ++j)
      for (i = 0; i < side; ++i) {
        const int x = 2 * i + 1 - side, y = 2 * j + 1 - side, z = 2 * k + 1 - side;
        volume[i + side * (j + side * k)] = x * x + y * y + z * z < 20 * 20 ? 0.02f : 0;
      }
  circular.sid = 500;
  circular.sdd = 1000;
  circular.views = views;
  must(halocline_context_new(NULL, &context));
  must(halocline_geometry_circular(&circular, &geometry));
  must(halocline_grid_volume(size, spacing, &grid));
  must(halocline_grid_projections(side, side, views, 5, 5, &stack));
  must(halocline_project(context, geometry, &grid, volume, &stack, projections, NULL));

  must(halocline_patches_new(context, geometry, &grid, &stack, &patches));
  must(halocline_grid_part(&grid, first, eight, &part));
  must(halocline_patches_set_boxes(patches, &part, 1));
  must(halocline_patches_set_views(patches, some, 3)); /* others at each step of a stochastic method */
  must(halocline_patches_backproject(patches, projections, box));
  printf("a box from three views begins with %g\n", box[0]);

  options.window = "hann";
  must(halocline_slices_new(context, geometry, &stack, projections, &grid, &options, &slices));
  must(halocline_grid_part(&grid, middle, plane, &part));
  must(halocline_slices_reconstruct(slices, &part, 1, slice)); /* another place at each call */
  printf("the middle of a slice: %g per mm\n", slice[side / 2 * (side + 1)]);

  halocline_slices_free(slices);
  halocline_patches_free(patches);
  halocline_geometry_free(geometry);
  halocline_context_free(context);
  return 0;
}
