/* Projects a ball, reconstructs it by FDK and denoises the result. */
#include <halocline.h>
#include <stdio.h>
#include <stdlib.h>

enum { side = 32, views = 60 };
static float volume[side * side * side], projections[side * side * views];
static float reconstructed[side * side * side], denoised[side * side * side];

static void must(int status) {
  if (status == HALOCLINE_OK) return;
  fprintf(stderr, "error %d: %s\n", status, halocline_last_error());
  exit(1);
}

static int tell(double done, double total, const char* note, void* user) {
  (void)user;
  fprintf(stderr, "\r%3.0f %% %s", 100 * done / total, note);
  return 0; /* anything else cancels */
}

int main(void) {
  const int64_t size[3] = {side, side, side};
  const double spacing[3] = {2, 2, 2}; /* mm */
  halocline_context* context;
  halocline_geometry* geometry;
  halocline_grid grid, stack;
  halocline_circular_options circular = HALOCLINE_CIRCULAR_OPTIONS_INIT;
  halocline_denoise_options options = HALOCLINE_DENOISE_OPTIONS_INIT;
  halocline_denoise_result result = HALOCLINE_DENOISE_RESULT_INIT;
  int i, j, k;

  must(halocline_context_new(NULL, &context));
  must(halocline_grid_volume(size, spacing, &grid));
  for (k = 0; k < side; ++k)
    for (j = 0; j < side; ++j)
      for (i = 0; i < side; ++i) {
        const int x = 2 * i + 1 - side, y = 2 * j + 1 - side, z = 2 * k + 1 - side;
        volume[i + side * (j + side * k)] = x * x + y * y + z * z < 20 * 20 ? 0.02f : 0;
      }

  circular.sid = 500;
  circular.sdd = 1000;
  circular.views = views;
  must(halocline_geometry_circular(&circular, &geometry));
  must(halocline_grid_projections(side, side, views, 5, 5, &stack));
  must(halocline_project(context, geometry, &grid, volume, &stack, projections, NULL));
  must(halocline_fdk(context, geometry, &stack, projections, &grid, reconstructed, NULL));

  options.progress = tell;
  must(halocline_denoise(context, &grid, reconstructed, denoised, &options, &result));
  printf("\ncentre: %g per mm, after %d iterations to a relative gap of %.2g\n",
         denoised[side / 2 * (1 + side + side * side)], (int)result.iterations, result.relative_gap);

  halocline_geometry_free(geometry);
  halocline_context_free(context);
  return 0;
}
