#include "support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void check(int condition, const char* text, const char* file, int line) {
  if (condition) return;
  fprintf(stderr, "%s:%d: %s is not so; last error: %s\n", file, line, text, halocline_last_error());
  exit(1);
}

void check_status(int status, int wanted, const char* text, const char* file, int line) {
  if (status == wanted) return;
  fprintf(stderr, "%s:%d: %s is %d instead of %d: %s\n", file, line, text, status, wanted, halocline_last_error());
  exit(1);
}

void check_text(const char* part, const char* file, int line) {
  if (strstr(halocline_last_error(), part) != NULL) return;
  fprintf(stderr, "%s:%d: no \"%s\" in: %s\n", file, line, part, halocline_last_error());
  exit(1);
}

size_t count_of(const halocline_grid* grid) {
  return (size_t)grid->size[0] * (size_t)grid->size[1] * (size_t)grid->size[2];
}

float* values_of(const halocline_grid* grid) {
  float* values = malloc(count_of(grid) * sizeof *values);
  size_t n;
  CHECK(values != NULL);
  for (n = 0; n < count_of(grid); ++n) values[n] = -1;
  return values;
}

void check_same(const float* a, const float* b, const halocline_grid* grid, const char* what) {
  size_t n, others = 0, first = 0;
  for (n = count_of(grid); n-- > 0;)
    if (memcmp(a + n, b + n, sizeof *a) != 0) ++others, first = n;
  if (others == 0) return;
  fprintf(stderr, "%s: %lu of %lu values differ, the first: %.9g and %.9g\n", what, (unsigned long)others,
          (unsigned long)count_of(grid), a[first], b[first]);
  exit(1);
}

void write_image(const char* path, const halocline_grid* grid, const float* values) {
  const double* d = grid->direction;
  FILE* file = fopen(path, "wb");
  CHECK(file != NULL);
  /* The axes one after the other: the columns of the direction. */
  fprintf(file,
          "ObjectType = Image\nNDims = 3\nBinaryData = True\nBinaryDataByteOrderMSB = False\nCompressedData = False\n"
          "TransformMatrix = %.17g %.17g %.17g %.17g %.17g %.17g %.17g %.17g %.17g\n",
          d[0], d[3], d[6], d[1], d[4], d[7], d[2], d[5], d[8]);
  fprintf(file, "Offset = %.17g %.17g %.17g\nElementSpacing = %.17g %.17g %.17g\nDimSize = %ld %ld %ld\n",
          grid->origin[0], grid->origin[1], grid->origin[2], grid->spacing[0], grid->spacing[1], grid->spacing[2],
          (long)grid->size[0], (long)grid->size[1], (long)grid->size[2]);
  fprintf(file, "ElementType = MET_FLOAT\nElementDataFile = LOCAL\n");
  CHECK(fwrite(values, sizeof *values, count_of(grid), file) == count_of(grid));
  CHECK(fclose(file) == 0);
}

float* read_image(const char* path, const halocline_grid* grid) {
  float* values = values_of(grid);
  FILE* file = fopen(path, "rb");
  char line[1000] = "";
  CHECK(file != NULL);
  while (strcmp(line, "ElementDataFile = LOCAL\n") != 0) CHECK(fgets(line, sizeof line, file) != NULL);
  CHECK(fread(values, sizeof *values, count_of(grid), file) == count_of(grid));
  CHECK(fgetc(file) == EOF);
  fclose(file);
  return values;
}

static void make_ball(const halocline_grid* grid, float* values) {
  unsigned noise = 1;
  int64_t i, j, k;
  for (k = 0; k < grid->size[2]; ++k)
    for (j = 0; j < grid->size[1]; ++j)
      for (i = 0; i < grid->size[0]; ++i) {
        const double x = (double)(2 * i) / (double)grid->size[0] - 1, y = (double)(2 * j) / (double)grid->size[1] - 1,
                     z = (double)(2 * k) / (double)grid->size[2] - 1;
        const double inside = sqrt(x * x + y * y + z * z) < 0.7 && !(fabs(x - 0.2) < 0.15 && fabs(y) < 0.2);
        noise = noise * 1664525u + 1013904223u;
        values[i + grid->size[0] * (j + grid->size[1] * k)] =
            (float)(0.02 * inside + 0.004 * ((double)(noise >> 8) / 16777216.0 - 0.5));
      }
}

scan make_scan(void) {
  const int64_t size[3] = {20, 20, 16};
  const double spacing[3] = {4, 4, 4};
  halocline_circular_options circular = HALOCLINE_CIRCULAR_OPTIONS_INIT;
  scan s;
  circular.sid = 400;
  circular.sdd = 800;
  circular.views = 40;
  CHECK_OK(halocline_context_new(NULL, &s.context));
  CHECK_OK(halocline_geometry_circular(&circular, &s.geometry));
  CHECK_OK(halocline_grid_volume(size, spacing, &s.volume_grid));
  CHECK_OK(halocline_grid_projections(32, 24, circular.views, 7, 7, &s.stack_grid));
  s.volume = values_of(&s.volume_grid);
  s.projections = values_of(&s.stack_grid);
  make_ball(&s.volume_grid, s.volume);
  return s;
}

void free_scan(scan* s) {
  free(s->volume);
  free(s->projections);
  halocline_geometry_free(s->geometry);
  halocline_context_free(s->context);
}

halocline_job* job_of(scan* s, const char* verb) {
  halocline_job* job = NULL;
  CHECK_OK(halocline_job_new(s->context, verb, &job));
  return job;
}

const char* command;
const char* folder;

int run_test(const test* tests, size_t count, int argc, char** argv) {
  size_t n;
  if (argc < 2) return 2;
  command = argc > 2 ? argv[2] : NULL;
  folder = argc > 3 ? argv[3] : ".";
  CHECK(strcmp(halocline_last_error(), "") == 0 && strlen(halocline_version()) > 4);
  for (n = 0; n < count; ++n)
    if (strcmp(tests[n].name, argv[1]) == 0) {
      tests[n].run();
      return 0;
    }
  fprintf(stderr, "there is no test %s\n", argv[1]);
  return 2;
}
