/* The C interface from C99. Arguments: the case, and for some the command and a folder. */
#define _POSIX_C_SOURCE 200809L

#include <halocline.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support.h"

static const char *command, *folder;

static char* path(const char* name) {
  static char texts[8][1200];
  static int next = 0;
  char* text = texts[next++ % 8];
  snprintf(text, sizeof texts[0], "%s/%s", folder, name);
  return text;
}

/* Runs `halocline <words>` in the folder. */
static void run(const char* words) {
  char line[4000];
  snprintf(line, sizeof line, "cd '%s' && '%s' %s --quiet", folder, command, words);
  if (system(line) == 0) return;
  fprintf(stderr, "failed: %s\n", line);
  exit(1);
}

/* The file that the command wrote holds these values. */
static void check_file(const char* name, const halocline_grid* grid, const float* values) {
  float* found = read_image(path(name), grid);
  check_same(found, values, grid, name);
  free(found);
}

static void does_what_the_command_does(void) {
  scan s = make_scan();
  float *reconstructed = values_of(&s.volume_grid), *denoised = values_of(&s.volume_grid);
  float *back = values_of(&s.volume_grid), *iterated = values_of(&s.volume_grid);
  halocline_denoise_options denoise = HALOCLINE_DENOISE_OPTIONS_INIT;
  halocline_denoise_result done = HALOCLINE_DENOISE_RESULT_INIT;
  halocline_reconstruct_options reconstruct = HALOCLINE_RECONSTRUCT_OPTIONS_INIT;
  halocline_fdk_options fdk = HALOCLINE_FDK_OPTIONS_INIT;
  halocline_reconstruct_result ended = HALOCLINE_RECONSTRUCT_RESULT_INIT;
  CHECK_OK(halocline_geometry_write(s.geometry, path("scan.xml")));
  halocline_geometry_free(s.geometry); /* the file has 15 digits */
  CHECK_OK(halocline_geometry_read(path("scan.xml"), &s.stack_grid, &s.geometry));
  write_image(path("volume.mha"), &s.volume_grid, s.volume);

  CHECK_OK(halocline_project(s.context, s.geometry, &s.volume_grid, s.volume, &s.stack_grid, s.projections, NULL));
  run("project -i volume.mha -g scan.xml --detector 32,24 --pixel 7,7 -o projections.mha");
  check_file("projections.mha", &s.stack_grid, s.projections);

  fdk.window = "hann";
  CHECK_OK(halocline_fdk(s.context, s.geometry, &s.stack_grid, s.projections, &s.volume_grid, reconstructed, &fdk));
  run("fdk -i projections.mha -g scan.xml --size 20,20,16 --spacing 4,4,4 --window hann -o fdk.mha");
  check_file("fdk.mha", &s.volume_grid, reconstructed);

  CHECK_OK(halocline_denoise(s.context, &s.volume_grid, reconstructed, denoised, NULL, &done));
  CHECK(done.alpha > 0 && done.noise_sigma > 0 && done.relative_gap <= 1e-3 && done.converged == 1);
  run("denoise -i fdk.mha --method pdu -o denoised.mha");
  check_file("denoised.mha", &s.volume_grid, denoised);

  denoise.method = "tvgd";
  denoise.iterations = 7;
  CHECK_OK(halocline_denoise(s.context, &s.volume_grid, reconstructed, denoised, &denoise, &done));
  CHECK(done.iterations <= 7 && isnan(done.alpha));
  run("denoise -i fdk.mha --method tvgd --iterations 7 -o descended.mha");
  check_file("descended.mha", &s.volume_grid, denoised);

  CHECK_OK(halocline_backproject(s.context, s.geometry, &s.stack_grid, s.projections, &s.volume_grid, back, NULL));
  run("backproject -i projections.mha -g scan.xml --size 20,20,16 --spacing 4,4,4 -o back.mha");
  check_file("back.mha", &s.volume_grid, back);

  reconstruct.lambda = 0.5;
  reconstruct.iterations = 3;
  CHECK_OK(halocline_reconstruct(s.context, s.geometry, &s.stack_grid, s.projections, &s.volume_grid, iterated,
                                 &reconstruct, &ended));
  CHECK(ended.lambda == 0.5 && ended.iterations <= 3 && ended.relative_residual < 1);
  run("reconstruct -i projections.mha -g scan.xml --size 20,20,16 --spacing 4,4,4 --lambda 0.5 --iterations 3 "
      "-o iterated.mha");
  check_file("iterated.mha", &s.volume_grid, iterated);
  free(reconstructed), free(denoised), free(back), free(iterated);
  free_scan(&s);
}

static halocline_job* job_of(scan* s, const char* verb) {
  halocline_job* job = NULL;
  CHECK_OK(halocline_job_new(s->context, verb, &job));
  return job;
}

/* What only jobs can do: settings as texts, and further outputs and inputs. */
static void jobs_do_what_the_command_does(void) {
  scan s = make_scan();
  float *volume = values_of(&s.volume_grid), *variance = values_of(&s.volume_grid), *odd = values_of(&s.volume_grid),
        *even = values_of(&s.volume_grid), *denoised = values_of(&s.volume_grid), *first = values_of(&s.volume_grid);
  const char* json = NULL;
  double alpha = 0, gap = 0;
  halocline_job* job;
  CHECK_OK(halocline_geometry_write(s.geometry, path("scan.xml")));
  halocline_geometry_free(s.geometry);
  CHECK_OK(halocline_geometry_read(path("scan.xml"), NULL, &s.geometry));
  CHECK_OK(halocline_project(s.context, s.geometry, &s.volume_grid, s.volume, &s.stack_grid, s.projections, NULL));
  write_image(path("projections.mha"), &s.stack_grid, s.projections);

  job = job_of(&s, "fdk");
  CHECK_OK(halocline_job_geometry(job, s.geometry));
  CHECK_OK(halocline_job_set(job, "photons", "2e4"));
  CHECK_OK(halocline_job_input(job, "projections", &s.stack_grid, s.projections));
  CHECK_OK(halocline_job_output(job, "volume", &s.volume_grid, volume));
  CHECK_OK(halocline_job_output(job, "variance", &s.volume_grid, variance));
  CHECK_OK(halocline_job_output(job, "half-a", &s.volume_grid, odd));
  CHECK_OK(halocline_job_output(job, "half-b", &s.volume_grid, even));
  CHECK_OK(halocline_job_run(job));
  halocline_job_free(job);
  run("fdk -i projections.mha -g scan.xml --size 20,20,16 --spacing 4,4,4 --photons 2e4 --variance-out variance.mha "
      "--halves-out odd.mha,even.mha -o fdk.mha");
  check_file("fdk.mha", &s.volume_grid, volume);
  check_file("variance.mha", &s.volume_grid, variance);
  check_file("odd.mha", &s.volume_grid, odd);
  check_file("even.mha", &s.volume_grid, even);

  job = job_of(&s, "denoise");
  CHECK_OK(halocline_job_set(job, "method", "spdu"));
  CHECK_OK(halocline_job_set(job, "alpha", "1.5/sigma"));
  CHECK_OK(halocline_job_set_number(job, "gap", 1e-2));
  CHECK_OK(halocline_job_set(job, "nonnegative", "true"));
  CHECK_OK(halocline_job_input(job, "volume", &s.volume_grid, volume));
  CHECK_OK(halocline_job_input(job, "weights", &s.volume_grid, variance));
  CHECK_OK(halocline_job_output(job, "volume", &s.volume_grid, denoised));
  CHECK_OK(halocline_job_run(job));
  CHECK_OK(halocline_job_result_double(job, "alpha", &alpha));
  CHECK_OK(halocline_job_result_double(job, "relative_gap", &gap));
  CHECK(alpha > 0 && gap > 0 && gap <= 1e-2);
  CHECK_OK(halocline_job_results(job, &json));
  CHECK(strstr(json, "\"history\"") != NULL);
  run("denoise -i fdk.mha --method spdu --weights variance.mha --alpha 1.5/sigma --gap 1e-2 --nonnegative "
      "-o weighted.mha");
  check_file("weighted.mha", &s.volume_grid, denoised);
  halocline_job_free(job);

  job = job_of(&s, "denoise");
  CHECK_OK(halocline_job_set(job, "alpha_path", "200,100")); /* '_' is '-' */
  CHECK_OK(halocline_job_input(job, "volume", &s.volume_grid, volume));
  CHECK_OK(halocline_job_output(job, "volume", &s.volume_grid, denoised));
  CHECK_OK(halocline_job_output(job, "stage-0", &s.volume_grid, first));
  CHECK_OK(halocline_job_run(job));
  run("denoise -i fdk.mha --method pdu --alpha-path 200,100 -o path.mha");
  check_file("path_alpha200.mha", &s.volume_grid, first);
  check_file("path_alpha100.mha", &s.volume_grid, denoised);
  halocline_job_free(job);
  free(volume), free(variance), free(odd), free(even), free(denoised), free(first);
  free_scan(&s);
}

/* Counts of a detector, whose pixels are not alike, become line integrals on the way; rays are weighted by them. */
static void counts_do_what_they_do_in_the_command(void) {
  scan s = make_scan();
  halocline_grid flat_grid = s.stack_grid;
  float *flat, *counts = values_of(&s.stack_grid), *volume = values_of(&s.volume_grid),
               *variance = values_of(&s.volume_grid), *iterated = values_of(&s.volume_grid);
  halocline_job* job;
  double chi2 = 0;
  size_t n, pixels;
  flat_grid.size[2] = 1;
  pixels = count_of(&flat_grid);
  flat = values_of(&flat_grid);
  CHECK_OK(halocline_geometry_write(s.geometry, path("scan.xml")));
  halocline_geometry_free(s.geometry);
  CHECK_OK(halocline_geometry_read(path("scan.xml"), NULL, &s.geometry));
  CHECK_OK(halocline_project(s.context, s.geometry, &s.volume_grid, s.volume, &s.stack_grid, s.projections, NULL));
  for (n = 0; n < pixels; ++n) flat[n] = (float)(20000 + 100 * (n % 7));
  for (n = 0; n < count_of(&s.stack_grid); ++n) counts[n] = (float)floor(flat[n % pixels] * exp(-s.projections[n]));
  write_image(path("flat.mha"), &flat_grid, flat);
  write_image(path("counts.mha"), &s.stack_grid, counts);

  job = job_of(&s, "fdk");
  CHECK_OK(halocline_job_geometry(job, s.geometry));
  CHECK_OK(halocline_job_input(job, "projections", &s.stack_grid, counts));
  CHECK_OK(halocline_job_input(job, "flat", &flat_grid, flat));
  CHECK_OK(halocline_job_output(job, "volume", &s.volume_grid, volume));
  CHECK_OK(halocline_job_output(job, "variance", &s.volume_grid, variance));
  CHECK_STATUS(halocline_job_run(job), HALOCLINE_ERROR_INPUT);
  CHECK_TEXT("`photons` is missing");
  CHECK_OK(halocline_job_set(job, "photons-per-count", "2"));
  CHECK_OK(halocline_job_set(job, "counts", "true"));
  CHECK_OK(halocline_job_set(job, "beam-hardening", "1,0.05"));
  CHECK_OK(halocline_job_set(job, "reduce-rings", "2"));
  CHECK_OK(halocline_job_run(job));
  halocline_job_free(job);
  run("fdk -i counts.mha --counts --flat flat.mha --beam-hardening 1,0.05 --reduce-rings 2 --photons-per-count 2 "
      "-g scan.xml --size 20,20,16 --spacing 4,4,4 --variance-out variance.mha -o counted.mha");
  check_file("counted.mha", &s.volume_grid, volume);
  check_file("variance.mha", &s.volume_grid, variance);

  job = job_of(&s, "reconstruct");
  CHECK_OK(halocline_job_geometry(job, s.geometry));
  CHECK_OK(halocline_job_input(job, "projections", &s.stack_grid, counts));
  CHECK_OK(halocline_job_input(job, "flat", &flat_grid, flat));
  CHECK_OK(halocline_job_output(job, "volume", &s.volume_grid, iterated));
  CHECK_OK(halocline_job_set(job, "counts", "true"));
  CHECK_OK(halocline_job_set(job, "method", "cgls"));
  CHECK_OK(halocline_job_set(job, "iterations", "4"));
  CHECK_OK(halocline_job_set(job, "electronic", "3"));
  CHECK_OK(halocline_job_run(job));
  CHECK_OK(halocline_job_result_double(job, "chi2", &chi2));
  CHECK(chi2 > 0);
  run("reconstruct -i counts.mha --counts --flat flat.mha --method cgls --iterations 4 --electronic 3 -g scan.xml "
      "--size 20,20,16 --spacing 4,4,4 -o iterated.mha");
  check_file("iterated.mha", &s.volume_grid, iterated);
  halocline_job_free(job);
  free(flat), free(counts), free(volume), free(variance), free(iterated);
  free_scan(&s);
}

/* Three frames of a changing object. */
static void frames_do_what_they_do_in_the_command(void) {
  scan s = make_scan();
  float *frames[3], *denoised[3];
  halocline_job* job = job_of(&s, "denoise");
  size_t frame, n;
  CHECK_OK(halocline_job_set(job, "method", "pdu4d"));
  CHECK_OK(halocline_job_set(job, "time-weight", "20"));
  CHECK_OK(halocline_job_set(job, "alpha", "100"));
  for (frame = 0; frame < 3; ++frame) {
    char name[20];
    frames[frame] = values_of(&s.volume_grid);
    denoised[frame] = values_of(&s.volume_grid);
    for (n = 0; n < count_of(&s.volume_grid); ++n)
      frames[frame][n] = s.volume[(n + frame * 11) % count_of(&s.volume_grid)] * (1 + 0.1f * (float)frame);
    snprintf(name, sizeof name, "frame%d.mha", (int)frame);
    write_image(path(name), &s.volume_grid, frames[frame]);
    snprintf(name, sizeof name, "frame-%d", (int)frame);
    CHECK_OK(halocline_job_input(job, name, &s.volume_grid, frames[frame]));
    CHECK_OK(halocline_job_output(job, name, &s.volume_grid, denoised[frame]));
  }
  CHECK_STATUS(halocline_job_input(job, "frame-07", &s.volume_grid, frames[0]), HALOCLINE_ERROR_INPUT);
  CHECK_OK(halocline_job_run(job));
  run("denoise -i frame0.mha -i frame1.mha -i frame2.mha --method pdu4d --time-weight 20 --alpha 100 -o out%d.mha");
  check_file("out0.mha", &s.volume_grid, denoised[0]);
  check_file("out1.mha", &s.volume_grid, denoised[1]);
  check_file("out2.mha", &s.volume_grid, denoised[2]);
  halocline_job_free(job);

  /* Weights that the halves show, and an image to begin with. */
  for (n = 0; n < count_of(&s.volume_grid); ++n) {
    const float noise = 4e-5f * ((float)(n * 7919 % 101) - 50);
    frames[0][n] = s.volume[n] + noise;
    frames[1][n] = s.volume[n] - noise;
  }
  write_image(path("frame0.mha"), &s.volume_grid, frames[0]);
  write_image(path("frame1.mha"), &s.volume_grid, frames[1]);
  job = job_of(&s, "denoise");
  CHECK_OK(halocline_job_set(job, "method", "spdu"));
  CHECK_OK(halocline_job_set(job, "weights", "halves"));
  CHECK_OK(halocline_job_set(job, "tv", "huber"));
  CHECK_OK(halocline_job_set(job, "huber-delta", "0.002"));
  CHECK_OK(halocline_job_input(job, "volume", &s.volume_grid, s.volume));
  CHECK_OK(halocline_job_input(job, "half-a", &s.volume_grid, frames[0]));
  CHECK_OK(halocline_job_input(job, "half-b", &s.volume_grid, frames[1]));
  CHECK_OK(halocline_job_input(job, "init", &s.volume_grid, denoised[0]));
  CHECK_OK(halocline_job_set(job, "alpha", "0.3/sigma"));
  CHECK_OK(halocline_job_output(job, "volume", &s.volume_grid, denoised[1]));
  CHECK_OK(halocline_job_run(job));
  write_image(path("volume.mha"), &s.volume_grid, s.volume);
  run("denoise -i volume.mha --method spdu --weights halves --halves frame0.mha,frame1.mha --init out0.mha "
      "--alpha 0.3/sigma --tv huber --huber-delta 0.002 -o weighted.mha");
  check_file("weighted.mha", &s.volume_grid, denoised[1]);
  halocline_job_free(job);
  for (frame = 0; frame < 3; ++frame) free(frames[frame]), free(denoised[frame]);
  free_scan(&s);
}

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

static void warnings_go_to_the_callback(void) {
  scan s = make_scan();
  char line[1000] = "";
  float* output = values_of(&s.volume_grid);
  size_t n;
  for (n = 0; n < count_of(&s.volume_grid); ++n) s.volume[n] = 1;
  CHECK_OK(halocline_set_log(HALOCLINE_LOG_WARNING, keep_line, line));
  CHECK_OK(halocline_denoise(s.context, &s.volume_grid, s.volume, output, NULL, NULL));
  CHECK(strstr(line, "constant") != NULL);
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

/* A word of a text, between blanks and commas. */
static int has_word(const char* text, const char* word) {
  const size_t length = strlen(word);
  const char* at;
  for (at = strstr(text, word); at != NULL; at = strstr(at + 1, word))
    if ((at == text || strchr(" ,", at[-1]) != NULL) && (at[length] == '\0' || strchr(" ,", at[length]) != NULL))
      return 1;
  return 0;
}

/* Options of the command that no setting stands for: files, which are arrays here, and what programs do themselves. */
static const char* const not_settings =
    "help input geometry output halves reference init weights flat flats dark darks bad-pixels variance-out halves-out "
    "gap-map size spacing origin direction like pixel detector detector-origin phantom phantom-size mu views crop bin "
    "views-per-frame hu output-type rescale png plot preview-roi pad-volume checkpoint checkpoint-every resume denoise "
    "undenoised";
/* Those of what fdk does with --denoise, which is another job here. */
static const char* const of_fdk_denoise =
    "alpha iterations gap schedule stages duals weight-bits step target-fidelity adaptive-delta tv huber-delta minimum "
    "maximum nonnegative reference-eta reference-strength";

/* All names that the options of the verb's help have, "--" left out, with blanks between them. */
static void read_options(const char* verb, char* names, size_t room) {
  char line[4000];
  FILE* help;
  snprintf(line, sizeof line, "'%s' %s --help", command, verb);
  help = popen(line, "r");
  CHECK(help != NULL);
  names[0] = '\0';
  while (fgets(line, sizeof line, help) != NULL) {
    const char* at = line;
    if (strspn(line, " ") != 2 || line[2] != '-') continue;
    for (at = strstr(at, "--"); at != NULL && strcspn(at, " \n") > 2;) {
      const size_t length = strcspn(at, " ,\n");
      CHECK(strlen(names) + length + 2 < room);
      strncat(names, at + 2, length - 2);
      strcat(names, " ");
      at = at[length] == ',' ? at + length + 1 : NULL;
    }
  }
  CHECK(pclose(help) == 0);
}

static void every_option_is_a_setting(void) {
  static const char* const verbs[] = {"fdk", "project", "backproject", "denoise", "reconstruct"};
  scan s = make_scan();
  size_t verb;
  int missing = 0;
  for (verb = 0; verb < sizeof verbs / sizeof verbs[0]; ++verb) {
    static char options[20000], settings[20000];
    char *at, *word;
    halocline_job* job = job_of(&s, verbs[verb]);
    read_options(verbs[verb], options, sizeof options);
    CHECK(strlen(options) > 40);
    CHECK_STATUS(halocline_job_set(job, "?", "1"), HALOCLINE_ERROR_INPUT);
    snprintf(settings, sizeof settings, "%s", strstr(halocline_last_error(), "expected ") + strlen("expected "));
    for (at = strtok_r(options, " ", &word); at != NULL; at = strtok_r(NULL, " ", &word))
      if (!has_word(settings, at) && !has_word(not_settings, at) && !(verb == 0 && has_word(of_fdk_denoise, at))) {
        fprintf(stderr, "%s: the option --%s is no setting\n", verbs[verb], at);
        missing = 1;
      }
    read_options(verbs[verb], options, sizeof options);
    for (at = strtok_r(settings, " ,", &word); at != NULL; at = strtok_r(NULL, " ,", &word))
      if (strcmp(at, "or") != 0 && strcmp(at, "allow-nonfinite") != 0 && !has_word(options, at)) {
        fprintf(stderr, "%s: the setting %s is no option\n", verbs[verb], at);
        missing = 1;
      }
    halocline_job_free(job);
  }
  CHECK(!missing);
  free_scan(&s);
}

typedef struct test {
  const char* name;
  void (*run)(void);
} test;

static const test tests[] = {{"does_what_the_command_does", does_what_the_command_does},
                             {"jobs_do_what_the_command_does", jobs_do_what_the_command_does},
                             {"counts_do_what_they_do_in_the_command", counts_do_what_they_do_in_the_command},
                             {"frames_do_what_they_do_in_the_command", frames_do_what_they_do_in_the_command},
                             {"every_option_is_a_setting", every_option_is_a_setting},
                             {"a_callback_cancels", a_callback_cancels},
                             {"a_cancelled_run_keeps_what_there_is", a_cancelled_run_keeps_what_there_is},
                             {"one_of_two_jobs_is_cancelled", one_of_two_jobs_is_cancelled},
                             {"wrong_arguments_are_named", wrong_arguments_are_named},
                             {"too_little_memory_is_told", too_little_memory_is_told},
                             {"structs_of_older_programs_work", structs_of_older_programs_work},
                             {"warnings_go_to_the_callback", warnings_go_to_the_callback},
                             {"geometries_keep_their_numbers", geometries_keep_their_numbers}};

int main(int argc, char** argv) {
  size_t n;
  if (argc < 2) return 2;
  command = argc > 2 ? argv[2] : NULL;
  folder = argc > 3 ? argv[3] : ".";
  CHECK(strcmp(halocline_last_error(), "") == 0 && strlen(halocline_version()) > 4);
  for (n = 0; n < sizeof tests / sizeof tests[0]; ++n)
    if (strcmp(tests[n].name, argv[1]) == 0) {
      tests[n].run();
      return 0;
    }
  fprintf(stderr, "there is no test %s\n", argv[1]);
  return 2;
}
