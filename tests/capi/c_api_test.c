/* The C interface from C99. Argument: the case. */
#define _POSIX_C_SOURCE 200809L

#include <halocline.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support.h"

static int cancel_after(double done, double total, const char* note, void* user) {
  CHECK(total > 0 && note != NULL);
  return done >= *(const double*)user;
}

static void a_callback_cancels(void) {
  scan s = make_scan();
  double after = 3;
  float* denoised = values_of(&s.volume_grid);
  halocline_denoise_options options = HALOCLINE_DENOISE_OPTIONS_INIT;
  options.alpha = 100;
  options.gap = 0;
  options.iterations = 100000;
  options.progress = cancel_after;
  options.user = &after;
  CHECK_STATUS(halocline_denoise(s.context, &s.volume_grid, s.volume, denoised, &options, NULL),
               HALOCLINE_ERROR_INTERRUPTED);
  CHECK_TEXT("cancelled");
  options.iterations = 20; /* the next run knows nothing of it */
  options.progress = NULL;
  CHECK_OK(halocline_denoise(s.context, &s.volume_grid, s.volume, denoised, &options, NULL));
  free(denoised);
  free_scan(&s);
}

static void a_cancelled_run_keeps_what_there_is(void) {
  scan s = make_scan();
  double after = 3, iterations = 0;
  float* kept = values_of(&s.volume_grid);
  halocline_job* job = job_of(&s, "denoise");
  CHECK_OK(halocline_job_set(job, "alpha", "100"));
  CHECK_OK(halocline_job_set(job, "gap", "1e-9"));
  CHECK_OK(halocline_job_set(job, "iterations", "100000"));
  CHECK_OK(halocline_job_set(job, "keep-partial", "true"));
  CHECK_OK(halocline_job_input(job, "volume", &s.volume_grid, s.volume));
  CHECK_OK(halocline_job_output(job, "volume", &s.volume_grid, kept));
  CHECK_OK(halocline_job_progress(job, cancel_after, &after));
  CHECK_STATUS(halocline_job_run(job), HALOCLINE_ERROR_INTERRUPTED);
  CHECK_TEXT("what there was");
  CHECK_OK(halocline_job_result_double(job, "iterations", &iterations));
  CHECK(iterations >= 3 && iterations < 100000 && kept[0] != -1);
  halocline_job_free(job);
  free(kept);
  free_scan(&s);
}

/* Two jobs at a time: each has a thread. */
typedef struct threaded {
  halocline_job* job;
  pthread_t thread;
  int status;
  int done; /* iterations that progress has told */
} threaded;

static pthread_mutex_t told_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t told = PTHREAD_COND_INITIALIZER;

static int tell(double done, double total, const char* note, void* user) {
  threaded* t = user;
  (void)total, (void)note;
  pthread_mutex_lock(&told_mutex);
  t->done = (int)done;
  pthread_cond_broadcast(&told);
  pthread_mutex_unlock(&told_mutex);
  return 0;
}

static void* run_job(void* argument) {
  threaded* t = argument;
  t->status = halocline_job_run(t->job);
  return NULL;
}

static threaded start(scan* s, const char* iterations, float* denoised) {
  threaded t = {NULL, 0, 1, 0};
  t.job = job_of(s, "denoise");
  CHECK_OK(halocline_job_set(t.job, "alpha", "100"));
  CHECK_OK(halocline_job_set(t.job, "gap", "0"));
  CHECK_OK(halocline_job_set(t.job, "iterations", iterations));
  CHECK_OK(halocline_job_input(t.job, "volume", &s->volume_grid, s->volume));
  CHECK_OK(halocline_job_output(t.job, "volume", &s->volume_grid, denoised));
  return t;
}

static void one_of_two_jobs_is_cancelled(void) {
  scan s = make_scan();
  float *alone = values_of(&s.volume_grid), *beside = values_of(&s.volume_grid), *lost = values_of(&s.volume_grid);
  threaded a = start(&s, "1000000", lost), b = start(&s, "300", beside), c = start(&s, "300", alone);
  CHECK_OK(halocline_job_run(c.job));
  CHECK_OK(halocline_job_progress(a.job, tell, &a));
  CHECK(pthread_create(&a.thread, NULL, run_job, &a) == 0);
  CHECK(pthread_create(&b.thread, NULL, run_job, &b) == 0);
  pthread_mutex_lock(&told_mutex);
  while (a.done < 5) pthread_cond_wait(&told, &told_mutex);
  pthread_mutex_unlock(&told_mutex);
  CHECK_STATUS(halocline_job_run(a.job), HALOCLINE_ERROR_INPUT);
  CHECK_TEXT("running already");
  CHECK_OK(halocline_job_cancel(a.job));
  CHECK(pthread_join(a.thread, NULL) == 0);
  CHECK(pthread_join(b.thread, NULL) == 0);
  CHECK(a.status == HALOCLINE_ERROR_INTERRUPTED);
  CHECK(b.status == HALOCLINE_OK);
  CHECK_TEXT("running already"); /* of this thread, not of that of the cancelled job */
  check_same(alone, beside, &s.volume_grid, "the job that went on");
  halocline_job_free(a.job), halocline_job_free(b.job), halocline_job_free(c.job);
  free(alone), free(beside), free(lost);
  free_scan(&s);
}

static void wrong_arguments_are_named(void) {
  scan s = make_scan();
  const int64_t no_size[3] = {0, 8, 8};
  const double spacing[3] = {1, 1, 1};
  double number = 0;
  float* output = values_of(&s.volume_grid);
  halocline_grid other = s.volume_grid;
  halocline_grid grid = HALOCLINE_GRID_INIT;
  halocline_context_options nowhere = HALOCLINE_CONTEXT_OPTIONS_INIT;
  halocline_context* none = NULL;
  halocline_geometry* no_geometry = NULL;
  halocline_job *job = NULL, *denoise = job_of(&s, "denoise");

  CHECK_STATUS(halocline_grid_volume(no_size, spacing, &grid), HALOCLINE_ERROR_INPUT);
  CHECK_TEXT("`size` is 0");
  nowhere.device = "no such device";
  CHECK_STATUS(halocline_context_new(&nowhere, &none), HALOCLINE_ERROR_INPUT);
  CHECK_TEXT("no such device");
  CHECK_STATUS(halocline_context_new(&nowhere, NULL), HALOCLINE_ERROR_INPUT);
  CHECK_TEXT("`context` is a null pointer");
  CHECK_STATUS(halocline_geometry_read("no such file.xml", NULL, &no_geometry), HALOCLINE_ERROR_INPUT);
  CHECK_TEXT("no such file.xml");
  CHECK_STATUS(halocline_geometry_write(s.geometry, "/no such folder/scan.xml"), HALOCLINE_ERROR_FILE);
  CHECK_TEXT("/no such folder/scan.xml");
  CHECK_STATUS(halocline_job_new(s.context, "sharpen", &job), HALOCLINE_ERROR_INPUT);
  CHECK_TEXT("fdk, project, backproject, denoise or reconstruct");

  CHECK_STATUS(halocline_job_set(denoise, "alhpa", "1"), HALOCLINE_ERROR_INPUT);
  CHECK_TEXT("the setting `alhpa`");
  CHECK_STATUS(halocline_job_set(denoise, "method", "magic"), HALOCLINE_ERROR_INPUT);
  CHECK_TEXT("`method` is \"magic\"; expected pdu, ");
  CHECK_STATUS(halocline_job_set(denoise, "alpha", "strong"), HALOCLINE_ERROR_INPUT);
  CHECK_TEXT("`alpha` is \"strong\"");
  CHECK_STATUS(halocline_job_set_number(denoise, "gap", nan("")), HALOCLINE_ERROR_INPUT);
  CHECK_TEXT("`gap`");
  CHECK_OK(halocline_job_set(denoise, "method", "tvgd"));
  CHECK_OK(halocline_job_set(denoise, "gap", "1e-3"));
  CHECK_STATUS(halocline_job_run(denoise), HALOCLINE_ERROR_INPUT);
  CHECK_TEXT("`gap` is for the methods pdu, spdu and pdu4d");
  CHECK_OK(halocline_job_set(denoise, "method", "pdu"));
  CHECK_STATUS(halocline_job_input(denoise, "volumes", &s.volume_grid, s.volume), HALOCLINE_ERROR_INPUT);
  CHECK_TEXT("the input `volumes`");
  CHECK_STATUS(halocline_job_run(denoise), HALOCLINE_ERROR_INPUT);
  CHECK_TEXT("the input `volume` is missing");
  CHECK_STATUS(halocline_job_result_double(denoise, "alpha", &number), HALOCLINE_ERROR_INPUT);
  CHECK_TEXT("halocline_job_run()");

  CHECK_OK(halocline_job_input(denoise, "volume", &s.volume_grid, s.volume));
  CHECK_OK(halocline_job_output(denoise, "volume", &s.volume_grid, s.volume));
  CHECK_STATUS(halocline_job_run(denoise), HALOCLINE_ERROR_INPUT);
  CHECK_TEXT("in memory of the input `volume`");
  other.size[0] = 4;
  CHECK_OK(halocline_job_output(denoise, "volume", &other, output));
  CHECK_STATUS(halocline_job_run(denoise), HALOCLINE_ERROR_INPUT);
  CHECK_TEXT("the size of `volume` is 4 x 20 x 16");
  CHECK_OK(halocline_job_output(denoise, "volume", &s.volume_grid, output));
  s.volume[7] = (float)nan("");
  CHECK_STATUS(halocline_job_run(denoise), HALOCLINE_ERROR_INPUT);
  CHECK_TEXT("the input `volume`");
  CHECK_OK(halocline_job_set(denoise, "allow-nonfinite", "true"));
  CHECK_OK(halocline_job_run(denoise));
  CHECK_STATUS(halocline_job_result_double(denoise, "alhpa", &number), HALOCLINE_ERROR_INPUT);
  CHECK_TEXT("relative_gap");

  s.stack_grid.size[2] = 3;
  CHECK_STATUS(halocline_fdk(s.context, s.geometry, &s.stack_grid, s.projections, &s.volume_grid, output, NULL),
               HALOCLINE_ERROR_INPUT);
  CHECK_TEXT("3");
  halocline_job_free(denoise);
  free(output);
  free_scan(&s);
}

/* Runs a job that is refused, and frees it. */
static void check_refused(halocline_job* job, const char* text) {
  CHECK_STATUS(halocline_job_run(job), HALOCLINE_ERROR_INPUT);
  CHECK_TEXT(text);
  halocline_job_free(job);
}

static halocline_job* denoise_job(scan* s, const char* method, const char* first, const char* second, float* output) {
  halocline_job* job = job_of(s, "denoise");
  CHECK_OK(halocline_job_set(job, "method", method));
  CHECK_OK(halocline_job_input(job, first, &s->volume_grid, s->volume));
  if (second != NULL) CHECK_OK(halocline_job_input(job, second, &s->volume_grid, s->volume));
  CHECK_OK(halocline_job_output(job, "volume", &s->volume_grid, output));
  return job;
}

static void inputs_that_do_not_go_together_are_named(void) {
  scan s = make_scan();
  float* output = values_of(&s.volume_grid);
  halocline_job* job = NULL;
  check_refused(denoise_job(&s, "pdu", "volume", "half-a", output), "not both given; expected both");
  check_refused(denoise_job(&s, "pdu", "volume", "frame-0", output), "the input `frame-0` is given for pdu");
  check_refused(denoise_job(&s, "pdu4d", "frame-0", "volume", output), "the input `volume` is given for pdu4d");
  check_refused(denoise_job(&s, "pdu4d", "frame-0", "truth", output), "the input `truth` is given for pdu4d");

  job = job_of(&s, "fdk");
  CHECK_OK(halocline_job_input(job, "projections", &s.stack_grid, s.projections));
  CHECK_OK(halocline_job_output(job, "volume", &s.volume_grid, output));
  check_refused(job, "the geometry is missing");

  job = job_of(&s, "reconstruct");
  CHECK_OK(halocline_job_geometry(job, s.geometry));
  CHECK_OK(halocline_job_input(job, "projections", &s.stack_grid, s.projections));
  CHECK_OK(halocline_job_output(job, "volume", &s.volume_grid, output));
  CHECK_OK(halocline_job_set(job, "projector", "own.cl"));
  CHECK_OK(halocline_job_set(job, "projector-table", "mu=mu.mha"));
  check_refused(job, "`projector_table` names the image 'mu.mha'");
  free(output);
  free_scan(&s);
}

static void too_little_memory_is_told(void) {
  scan s = make_scan();
  float* output = values_of(&s.volume_grid);
  halocline_context_options options = HALOCLINE_CONTEXT_OPTIONS_INIT;
  halocline_context* small = NULL;
  options.device_memory = 1000;
  CHECK_OK(halocline_context_new(&options, &small));
  CHECK_STATUS(halocline_denoise(small, &s.volume_grid, s.volume, output, NULL, NULL), HALOCLINE_ERROR_PLAN);
  CHECK_TEXT("`device_memory`");
  halocline_context_free(small);
  free(output);
  free_scan(&s);
}

static void two_devices_give_the_same_bits(void) {
  scan s = make_scan();
  float *by_one = values_of(&s.volume_grid), *by_two = values_of(&s.volume_grid);
  halocline_context_options options = HALOCLINE_CONTEXT_OPTIONS_INIT;
  halocline_denoise_options denoise = HALOCLINE_DENOISE_OPTIONS_INIT;
  halocline_context* split = NULL;
  int32_t count = 0;
  denoise.alpha = 100;
  denoise.iterations = 60;
  options.device = "cpu";
  options.sub_devices = 2;
  CHECK_OK(halocline_context_new(&options, &split));
  CHECK_OK(halocline_context_device_count(split, &count));
  CHECK(count == 2);
  CHECK_OK(halocline_denoise(s.context, &s.volume_grid, s.volume, by_one, &denoise, NULL));
  CHECK_OK(halocline_denoise(split, &s.volume_grid, s.volume, by_two, &denoise, NULL));
  check_same(by_one, by_two, &s.volume_grid, "by two devices");
  halocline_context_free(split);
  free(by_one), free(by_two);
  free_scan(&s);
}

/* Structs as an older header had them: with fewer members. */
typedef struct old_options {
  size_t struct_size;
  const char* method;
  double alpha;
} old_options;
typedef struct old_result {
  size_t struct_size;
  double alpha;
  double behind; /* the struct */
} old_result;

static void structs_of_older_programs_work(void) {
  scan s = make_scan();
  float *by_old = values_of(&s.volume_grid), *by_new = values_of(&s.volume_grid);
  halocline_denoise_options options = HALOCLINE_DENOISE_OPTIONS_INIT;
  halocline_device_info info = HALOCLINE_DEVICE_INFO_INIT;
  old_options old = {sizeof(old_options), "pdu", 100};
  old_result result = {offsetof(old_result, behind), 0, 42};
  int32_t count = 0;
  options.alpha = 100;
  CHECK_OK(halocline_denoise(s.context, &s.volume_grid, s.volume, by_new, &options, NULL));
  CHECK_OK(halocline_denoise(s.context, &s.volume_grid, s.volume, by_old, (halocline_denoise_options*)(void*)&old,
                             (halocline_denoise_result*)(void*)&result));
  check_same(by_old, by_new, &s.volume_grid, "by the old struct");
  CHECK(result.alpha == 100 && result.behind == 42 && result.struct_size == offsetof(old_result, behind));
  options.struct_size = 0;
  CHECK_STATUS(halocline_denoise(s.context, &s.volume_grid, s.volume, by_new, &options, NULL), HALOCLINE_ERROR_INPUT);
  CHECK_TEXT("_INIT");
  CHECK_OK(halocline_context_device_count(s.context, &count));
  CHECK(count == 1);
  strcpy(info.vendor, "untouched");
  info.struct_size = offsetof(halocline_device_info, vendor);
  CHECK_OK(halocline_context_device(s.context, 0, &info));
  CHECK(info.name[0] != '\0' && info.memory > 0 && strcmp(info.vendor, "untouched") == 0);
  CHECK_STATUS(halocline_context_device(s.context, 1, &info), HALOCLINE_ERROR_INPUT);
  free(by_old), free(by_new);
  free_scan(&s);
}

static void keep_line(int32_t level, const char* text, void* user) {
  char* kept = user;
  if (level == HALOCLINE_LOG_WARNING) snprintf(kept, 1000, "%s", text);
}

/* A detector through the volume's middle; then voxels finer than the rays. */
static void rays_are_in_the_log(const scan* s, char* line) {
  halocline_circular_options circle = HALOCLINE_CIRCULAR_OPTIONS_INIT;
  halocline_geometry* geometry = NULL;
  halocline_grid stack = HALOCLINE_GRID_INIT, volume = HALOCLINE_GRID_INIT;
  const int64_t cube[3] = {8, 8, 8}, slices[3] = {8, 8, 32};
  const double voxel[3] = {2, 2, 2}, thin[3] = {2, 2, 0.5};
  float *rays, *voxels;
  circle.sid = 100, circle.sdd = 100, circle.views = 3;
  CHECK_OK(halocline_geometry_circular(&circle, &geometry));
  CHECK_OK(halocline_grid_projections(9, 9, 3, 2, 2, &stack));
  CHECK_OK(halocline_grid_volume(slices, thin, &volume));
  rays = values_of(&stack), voxels = values_of(&volume);
  line[0] = '\0';
  CHECK_OK(halocline_backproject(s->context, geometry, &stack, rays, &volume, voxels, NULL));
  CHECK(strstr(line, "2 x 2 x 0.5 mm are finer than the rays") != NULL);
  CHECK_OK(halocline_grid_volume(cube, voxel, &volume));
  line[0] = '\0';
  CHECK_OK(halocline_project(s->context, geometry, &volume, voxels, &stack, rays, NULL));
  CHECK(strstr(line, "taken for a virtual one") != NULL);
  halocline_geometry_free(geometry);
  free(rays), free(voxels);
}

static void warnings_go_to_the_callback(void) {
  scan s = make_scan();
  char line[1000] = "";
  float* output = values_of(&s.volume_grid);
  size_t n;
  for (n = 0; n < count_of(&s.volume_grid); ++n) s.volume[n] = 1;
  CHECK_OK(halocline_set_log(HALOCLINE_LOG_WARNING, keep_line, line));
  CHECK_OK(halocline_denoise(s.context, &s.volume_grid, s.volume, output, NULL, NULL));
  CHECK(strstr(line, "constant") != NULL);
  rays_are_in_the_log(&s, line);
  line[0] = '\0';
  CHECK_OK(halocline_set_log(HALOCLINE_LOG_WARNING, NULL, NULL));
  CHECK_OK(halocline_denoise(s.context, &s.volume_grid, s.volume, output, NULL, NULL));
  CHECK(line[0] == '\0');
  CHECK_STATUS(halocline_set_log(17, keep_line, line), HALOCLINE_ERROR_INPUT);
  free(output);
  free_scan(&s);
}

static void geometries_keep_their_numbers(void) {
  const double views[2 * HALOCLINE_VIEW_NUMBERS] = {500, 900, 10, 1,   2,   3,   4,   5,   6,
                                                    501, 901, 20, 1.5, 2.5, 3.5, 4.5, 5.5, 6.5};
  const double wrong[HALOCLINE_VIEW_NUMBERS] = {-500, 900, 0, 0, 0, 0, 0, 0, 0};
  double found[2 * HALOCLINE_VIEW_NUMBERS] = {0};
  int64_t count = 0;
  halocline_grid stack = HALOCLINE_GRID_INIT, volume = HALOCLINE_GRID_INIT;
  halocline_geometry* geometry = NULL;
  scan s = make_scan();
  CHECK_OK(halocline_geometry_from_views(views, 2, 0, &geometry));
  CHECK_OK(halocline_geometry_view_count(geometry, &count));
  CHECK(count == 2);
  CHECK_OK(halocline_geometry_views(geometry, found, count));
  CHECK(memcmp(views, found, sizeof views) == 0);
  CHECK_STATUS(halocline_geometry_views(geometry, found, 3), HALOCLINE_ERROR_INPUT);
  halocline_geometry_free(geometry);
  CHECK_STATUS(halocline_geometry_from_views(wrong, 1, 0, &geometry), HALOCLINE_ERROR_INPUT);
  CHECK_OK(halocline_grid_projections(10, 6, 40, 2, 3, &stack));
  CHECK(stack.origin[0] == -9 && stack.origin[1] == -7.5 && stack.spacing[1] == 3 && stack.size[2] == 40);
  CHECK_OK(halocline_geometry_volume(s.geometry, &stack, &volume));
  CHECK(volume.size[0] == 10 && volume.size[2] == 6 && volume.spacing[0] == 1);
  free_scan(&s);
}

static const test tests[] = {{"a_callback_cancels", a_callback_cancels},
                             {"a_cancelled_run_keeps_what_there_is", a_cancelled_run_keeps_what_there_is},
                             {"one_of_two_jobs_is_cancelled", one_of_two_jobs_is_cancelled},
                             {"wrong_arguments_are_named", wrong_arguments_are_named},
                             {"inputs_that_do_not_go_together_are_named", inputs_that_do_not_go_together_are_named},
                             {"too_little_memory_is_told", too_little_memory_is_told},
                             {"two_devices_give_the_same_bits", two_devices_give_the_same_bits},
                             {"structs_of_older_programs_work", structs_of_older_programs_work},
                             {"warnings_go_to_the_callback", warnings_go_to_the_callback},
                             {"geometries_keep_their_numbers", geometries_keep_their_numbers}};

int main(int argc, char** argv) {
  return run_test(tests, sizeof tests / sizeof tests[0], argc, argv);
}
