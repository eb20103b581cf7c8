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
halocline_job* job_of(scan* s, const char* verb);

/* One case of a program. */
typedef struct test {
  const char* name;
  void (*run)(void);
} test;

/* Of the arguments: `halocline`, and a folder for files. */
extern const char *command, *folder;

/* Runs the one that the first argument names; the program's exit code. */
int run_test(const test* tests, size_t count, int argc, char** argv);

#endif
