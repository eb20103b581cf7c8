/* The C interface gives the bits that the command writes, and takes what it takes. Arguments: the case, the command, a
 * folder. */
#define _POSIX_C_SOURCE 200809L

#include <halocline.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support.h"

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

  reconstruct.iterations = 3;
  CHECK_OK(halocline_reconstruct(s.context, s.geometry, &s.stack_grid, s.projections, &s.volume_grid, iterated,
                                 &reconstruct, &ended));
  CHECK(ended.lambda > 0 && ended.iterations <= 3 && ended.relative_residual < 1);
  run("reconstruct -i projections.mha -g scan.xml --size 20,20,16 --spacing 4,4,4 --iterations 3 "
      "-o iterated.mha");
  check_file("iterated.mha", &s.volume_grid, iterated);
  free(reconstructed), free(denoised), free(back), free(iterated);
  free_scan(&s);
}

/* What only jobs can do: settings as texts, and further outputs and inputs. */
static void jobs_do_what_the_command_does(void) {
  scan s = make_scan();
  float *volume = values_of(&s.volume_grid), *variance = values_of(&s.volume_grid), *odd = values_of(&s.volume_grid),
        *even = values_of(&s.volume_grid), *denoised = values_of(&s.volume_grid), *first = values_of(&s.volume_grid);
  const char* json = NULL;
  double alpha = 0, gap = 0, error = 0;
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
  CHECK_OK(halocline_job_input(job, "truth", &s.volume_grid, s.volume));
  CHECK_OK(halocline_job_output(job, "volume", &s.volume_grid, denoised));
  CHECK_OK(halocline_job_run(job));
  CHECK_OK(halocline_job_result_double(job, "truth_rmse", &error));
  CHECK(error > 0 && error < 0.01);
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
  double chi2 = 0, error = 0;
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
  CHECK_OK(halocline_job_input(job, "flats", &flat_grid, flat));
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
  CHECK_OK(halocline_job_input(job, "flats", &flat_grid, flat));
  CHECK_OK(halocline_job_output(job, "volume", &s.volume_grid, iterated));
  CHECK_OK(halocline_job_set(job, "counts", "true"));
  CHECK_OK(halocline_job_set(job, "method", "cgls"));
  CHECK_OK(halocline_job_set(job, "iterations", "4"));
  CHECK_OK(halocline_job_set(job, "electronic", "3"));
  CHECK_OK(halocline_job_input(job, "truth", &s.volume_grid, s.volume));
  CHECK_OK(halocline_job_run(job));
  CHECK_OK(halocline_job_result_double(job, "truth_relative", &error));
  CHECK(error > 0 && error < 1);
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

/* Line integrals and counts that are not finite, and flats from before and after the scan. */
static void unmeasured_rays_do_what_they_do_in_the_command(void) {
  scan s = make_scan();
  halocline_grid flat_grid = s.stack_grid;
  float *before, *after, *counts = values_of(&s.stack_grid), *volume = values_of(&s.volume_grid);
  halocline_job* job;
  size_t n, pixels, views = s.stack_grid.size[2];
  flat_grid.size[2] = 1;
  pixels = count_of(&flat_grid);
  before = values_of(&flat_grid), after = values_of(&flat_grid);
  CHECK_OK(halocline_geometry_write(s.geometry, path("scan.xml")));
  halocline_geometry_free(s.geometry);
  CHECK_OK(halocline_geometry_read(path("scan.xml"), NULL, &s.geometry));
  CHECK_OK(halocline_project(s.context, s.geometry, &s.volume_grid, s.volume, &s.stack_grid, s.projections, NULL));
  for (n = 0; n < pixels; ++n) before[n] = (float)(20000 + 100 * (n % 7)), after[n] = 0.9f * before[n];
  for (n = 0; n < count_of(&s.stack_grid); ++n)
    counts[n] =
        (float)(before[n % pixels] * (1 - 0.1 * (double)(n / pixels) / (double)(views - 1)) * exp(-s.projections[n]));
  for (n = 3; n < count_of(&s.stack_grid); n += 997) counts[n] = (float)(HUGE_VAL - HUGE_VAL);
  for (n = 17; n < count_of(&s.stack_grid); n += pixels) s.projections[n] = (float)HUGE_VAL;
  write_image(path("before.mha"), &flat_grid, before);
  write_image(path("after.mha"), &flat_grid, after);
  write_image(path("counts.mha"), &s.stack_grid, counts);
  write_image(path("lines.mha"), &s.stack_grid, s.projections);

  job = job_of(&s, "fdk");
  CHECK_OK(halocline_job_geometry(job, s.geometry));
  CHECK_OK(halocline_job_input(job, "projections", &s.stack_grid, counts));
  CHECK_OK(halocline_job_input(job, "flats-after", &flat_grid, after));
  CHECK_OK(halocline_job_output(job, "volume", &s.volume_grid, volume));
  CHECK_OK(halocline_job_set(job, "counts", "true"));
  CHECK_STATUS(halocline_job_run(job), HALOCLINE_ERROR_INPUT);
  CHECK_TEXT("NaN or infinite");
  CHECK_OK(halocline_job_set(job, "allow-nonfinite", "true"));
  CHECK_STATUS(halocline_job_run(job), HALOCLINE_ERROR_INPUT);
  CHECK_TEXT("the input `flats-after` is given alone");
  CHECK_OK(halocline_job_input(job, "flats", &flat_grid, before));
  CHECK_OK(halocline_job_run(job));
  halocline_job_free(job);
  run("fdk -i counts.mha --counts --flat before.mha after.mha --allow-nonfinite -g scan.xml --size 20,20,16 "
      "--spacing 4,4,4 -o counted.mha");
  check_file("counted.mha", &s.volume_grid, volume);

  job = job_of(&s, "reconstruct");
  CHECK_OK(halocline_job_geometry(job, s.geometry));
  CHECK_OK(halocline_job_input(job, "projections", &s.stack_grid, s.projections));
  CHECK_OK(halocline_job_output(job, "volume", &s.volume_grid, volume));
  CHECK_OK(halocline_job_set(job, "method", "cgls"));
  CHECK_OK(halocline_job_set(job, "iterations", "3"));
  CHECK_OK(halocline_job_set(job, "allow-nonfinite", "true"));
  CHECK_OK(halocline_job_run(job));
  halocline_job_free(job);
  run("reconstruct -i lines.mha --method cgls --iterations 3 --allow-nonfinite -g scan.xml --size 20,20,16 "
      "--spacing 4,4,4 -o iterated.mha");
  check_file("iterated.mha", &s.volume_grid, volume);
  free(before), free(after), free(counts), free(volume);
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
    "help input geometry output halves reference init truth weights flat flats dark darks bad-pixels variance-out "
    "halves-out "
    "gap-map size spacing origin direction like pixel detector detector-origin phantom phantom-size mu seed views crop bin "
    "views-per-frame hu output-type rescale png plot preview-roi pad-volume checkpoint checkpoint-every resume denoise "
    "html html-size "
    "undenoised";
/* Those of what fdk does with --denoise, which is another job here. */
static const char* const of_fdk_denoise =
    "alpha iterations gap schedule stages duals step target-fidelity adaptive-delta tv huber-delta minimum "
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

static const test tests[] = {
    {"does_what_the_command_does", does_what_the_command_does},
    {"jobs_do_what_the_command_does", jobs_do_what_the_command_does},
    {"counts_do_what_they_do_in_the_command", counts_do_what_they_do_in_the_command},
    {"unmeasured_rays_do_what_they_do_in_the_command", unmeasured_rays_do_what_they_do_in_the_command},
    {"frames_do_what_they_do_in_the_command", frames_do_what_they_do_in_the_command},
    {"every_option_is_a_setting", every_option_is_a_setting}};

int main(int argc, char** argv) {
  return run_test(tests, sizeof tests / sizeof tests[0], argc, argv);
}
