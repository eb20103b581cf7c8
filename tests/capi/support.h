/* What the C tests share: checks that end the program, and MetaImage files. */
#ifndef HALOCLINE_TESTS_CAPI_SUPPORT_H
#define HALOCLINE_TESTS_CAPI_SUPPORT_H

#include <halocline.h>
#include <stddef.h>

#define CHECK(condition) check((condition), #condition, __FILE__, __LINE__)
#define CHECK_STATUS(status, wanted) check_status((status), (wanted), #status, __FILE__, __LINE__)
#define CHECK_OK(status) CHECK_STATUS(status, HALOCLINE_OK)
/* The last error has this text in it. */
#define CHECK_TEXT(part) check_text((part), __FILE__, __LINE__)

void check(int condition, const char* text, const char* file, int line);
void check_status(int status, int wanted, const char* text, const char* file, int line);
void check_text(const char* part, const char* file, int line);

size_t count_of(const halocline_grid* grid);
float* values_of(const halocline_grid* grid);
/* Bit by bit. */
void check_same(const float* a, const float* b, const halocline_grid* grid, const char* what);

void write_image(const char* path, const halocline_grid* grid, const float* values);
float* read_image(const char* path, const halocline_grid* grid);

/* A small scan of a ball with a hole and a grain of noise. */
typedef struct scan {
  halocline_context* context;
  halocline_geometry* geometry;
  halocline_grid volume_grid, stack_grid;
  float *volume, *projections;
} scan;

scan make_scan(void);
void free_scan(scan* s);

#endif
