/* The C interface of Halocline: reconstruction and denoising of computed tomography volumes on OpenCL devices.
 *
 * Every function that can fail returns HALOCLINE_OK or a negative status, and halocline_last_error() then says in words
 * what was found, what was expected and what to do. Texts name settings in backticks.
 *
 * Arrays are float32 in host memory, index i fastest. They are the caller's, and are read and written while
 * halocline_job_run() runs. Lengths are in mm, angles in degrees, attenuations in 1/mm.
 *
 * Structs of options and results begin with `struct_size`: set it by the _INIT macros. Functions may be called from any
 * thread. One context may serve several threads; one job is for one thread at a time, but for
 * halocline_job_cancel(). */
#ifndef HALOCLINE_H
#define HALOCLINE_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__) || defined(__clang__)
#define HALOCLINE_API __attribute__((visibility("default")))
#else
#define HALOCLINE_API
#endif

#ifdef __cplusplus
#define HALOCLINE_NOEXCEPT noexcept
extern "C" {
#else
#define HALOCLINE_NOEXCEPT
#endif

/* ---- status ---- */

#define HALOCLINE_OK 0
#define HALOCLINE_ERROR_INPUT (-1)       /* an argument, a setting, an array or a file's content is wrong */
#define HALOCLINE_ERROR_PLAN (-2)        /* the work does not fit the devices or the host */
#define HALOCLINE_ERROR_DEVICE (-3)      /* a device or its driver failed */
#define HALOCLINE_ERROR_FILE (-4)        /* a file could not be read or written */
#define HALOCLINE_ERROR_INTERRUPTED (-5) /* the progress callback or halocline_job_cancel() ended the run */
#define HALOCLINE_ERROR_MEMORY (-6)      /* the host has no memory left */
#define HALOCLINE_ERROR_UNKNOWN (-7)     /* anything else */

/* Of the last call of this thread that failed; "" before there was one. It stays until the next one. */
HALOCLINE_API const char* halocline_last_error(void) HALOCLINE_NOEXCEPT;

/* Of the library, as "0.2.0". */
HALOCLINE_API const char* halocline_version(void) HALOCLINE_NOEXCEPT;

/* ---- log ---- */

#define HALOCLINE_LOG_DEBUG 1
#define HALOCLINE_LOG_INFO 2
#define HALOCLINE_LOG_WARNING 3
#define HALOCLINE_LOG_ERROR 4

/* Warnings and notes, from any thread, one at a time. */
typedef void (*halocline_log_callback)(int32_t level, const char* text, void* user);

/* From now on lines of at least that level go to the callback, from all jobs of the process; NULL: nowhere, as at the
 * start. */
HALOCLINE_API int halocline_set_log(int32_t level, halocline_log_callback callback, void* user) HALOCLINE_NOEXCEPT;

/* ---- devices ---- */

typedef struct halocline_device_info {
  size_t struct_size;
  int32_t index; /* in the list of all devices */
  uint32_t compute_units;
  int64_t memory;     /* bytes */
  int64_t allocation; /* bytes of the largest buffer */
  char type[16];      /* "gpu", "cpu", "accelerator" or "other" */
  char name[256];
  char vendor[256];
  char platform[256];
  char driver[256];
} halocline_device_info;

#define HALOCLINE_DEVICE_INFO_INIT \
  { sizeof(halocline_device_info), 0, 0, 0, 0, "", "", "", "", "" }

/* Of all OpenCL devices, whether they are in use or not. */
HALOCLINE_API int halocline_device_count(int32_t* count) HALOCLINE_NOEXCEPT;
/* info->struct_size says how much of it is filled. */
HALOCLINE_API int halocline_device(int32_t index, halocline_device_info* info) HALOCLINE_NOEXCEPT;

/* ---- context: devices that are open ---- */

typedef struct halocline_context halocline_context;

typedef struct halocline_context_options {
  size_t struct_size;
  const char* device;    /* comma list of: index, cpu, gpu, accelerator, all, or a part of a name. NULL: that of
                            HALOCLINE_DEVICE in the environment, else the first GPU, else the first device */
  int64_t device_memory; /* budget of each device in bytes; 0: 90 % of what it has */
  int32_t sub_devices;   /* from 2 on: the one chosen CPU device is split into so many */
} halocline_context_options;

#define HALOCLINE_CONTEXT_OPTIONS_INIT \
  { sizeof(halocline_context_options), NULL, 0, 0 }

/* options: NULL for the defaults. */
HALOCLINE_API int halocline_context_new(const halocline_context_options* options,
                                        halocline_context** context) HALOCLINE_NOEXCEPT;
/* Those that the context has open. */
HALOCLINE_API int halocline_context_device_count(const halocline_context* context, int32_t* count) HALOCLINE_NOEXCEPT;
HALOCLINE_API int halocline_context_device(const halocline_context* context, int32_t number,
                                           halocline_device_info* info) HALOCLINE_NOEXCEPT;
/* Jobs keep the devices until they are freed, too. Free all of them before the process ends. NULL does nothing. */
HALOCLINE_API void halocline_context_free(halocline_context* context) HALOCLINE_NOEXCEPT;

/* ---- grids ---- */

/* Where the values of an array lie: value (i, j, k) is array[i + size[0] * (j + size[1] * k)], at
 * origin + direction * (spacing o (i, j, k)). The nine numbers of the direction stand row by row; its columns are the
 * axes i, j, k in the world. ITK's convention. A stack of projections is (u, v, view); its first two axes are the
 * detector's. */
typedef struct halocline_grid {
  int64_t size[3];
  double spacing[3];
  double origin[3];
  double direction[9];
} halocline_grid;

/* clang-format off */
#define HALOCLINE_GRID_INIT \
  { {0, 0, 0}, {1, 1, 1}, {0, 0, 0}, {1, 0, 0, 0, 1, 0, 0, 0, 1} }
/* clang-format on */

/* The grid that scans are reconstructed on by default: i = +x, j = +z, k = +y (the rotation axis), centred on the
 * isocentre. */
HALOCLINE_API int halocline_grid_volume(const int64_t size[3], const double spacing[3],
                                        halocline_grid* grid) HALOCLINE_NOEXCEPT;
/* Projections of a centred detector. */
HALOCLINE_API int halocline_grid_projections(int64_t columns, int64_t rows, int64_t views, double column_pitch,
                                             double row_pitch, halocline_grid* grid) HALOCLINE_NOEXCEPT;

/* The part of a grid of `size` values from value `first` on: a box, a plane or a point of a volume. */
HALOCLINE_API int halocline_grid_part(const halocline_grid* grid, const int64_t first[3], const int64_t size[3],
                                      halocline_grid* part) HALOCLINE_NOEXCEPT;

/* ---- scan geometries ---- */

typedef struct halocline_geometry halocline_geometry;

typedef struct halocline_circular_options {
  size_t struct_size;
  double sid;    /* source to isocentre */
  double sdd;    /* source to detector; 0: parallel beam */
  int64_t views; /* at first_angle + n * arc / views, or as many as there are angles */
  double arc;    /* negative: the gantry turns backwards */
  double first_angle;
  const double* angles; /* of each view; NULL: by the arc */
  double projection_offset_x, projection_offset_y;
  double source_offset_x, source_offset_y;
  double out_of_plane_angle, in_plane_angle;
  int fan_stack; /* each detector row is seen by a source of its own, at its height (docs/geometry.md) */
} halocline_circular_options;

#define HALOCLINE_CIRCULAR_OPTIONS_INIT \
  { sizeof(halocline_circular_options), 1000, 1536, 360, 360, 0, NULL, 0, 0, 0, 0, 0, 0, 0 }

/* Numbers of a view: sid, sdd, gantry angle, out-of-plane angle, in-plane angle, source offset x and y, projection
 * offset x and y. RTK's convention (docs/geometry.md). */
#define HALOCLINE_VIEW_NUMBERS 9

HALOCLINE_API int halocline_geometry_circular(const halocline_circular_options* options,
                                              halocline_geometry** geometry) HALOCLINE_NOEXCEPT;
/* From `count` views of nine numbers each. cylinder_radius: of the detector, 0 for a flat one. */
HALOCLINE_API int halocline_geometry_from_views(const double* views, int64_t count, double cylinder_radius,
                                                halocline_geometry** geometry) HALOCLINE_NOEXCEPT;
/* RTK's XML, rows of ASTRA vectors or of matrices that say their format, .xtekct, .pca. projections: the stack that the
 * geometry is for, which some of these formats need; NULL: not known. */
HALOCLINE_API int halocline_geometry_read(const char* path, const halocline_grid* projections,
                                          halocline_geometry** geometry) HALOCLINE_NOEXCEPT;
/* RTK's XML. */
HALOCLINE_API int halocline_geometry_write(const halocline_geometry* geometry, const char* path) HALOCLINE_NOEXCEPT;
HALOCLINE_API int halocline_geometry_view_count(const halocline_geometry* geometry, int64_t* count) HALOCLINE_NOEXCEPT;
/* Nine numbers of each of the first `count` views. */
HALOCLINE_API int halocline_geometry_views(const halocline_geometry* geometry, double* views,
                                           int64_t count) HALOCLINE_NOEXCEPT;
/* The volume that projections on that stack see: voxels as large as the pixels are at the isocentre. */
HALOCLINE_API int halocline_geometry_volume(const halocline_geometry* geometry, const halocline_grid* projections,
                                            halocline_grid* volume) HALOCLINE_NOEXCEPT;
HALOCLINE_API void halocline_geometry_free(halocline_geometry* geometry) HALOCLINE_NOEXCEPT;

/* ---- jobs ---- */

/* One run of "fdk", "project", "backproject", "denoise" or "reconstruct". Settings have the names and values of the
 * command's options (docs/commands.md), without dashes in front: halocline_job_set(job, "alpha", "1.5/sigma"). A flag
 * is "true" or "false". docs/c.md lists settings, inputs, outputs and results. */
typedef struct halocline_job halocline_job;

/* done of total steps; note: as the gap that was reached, or "". Another result than 0 cancels the run. Called from one
 * thread at a time, which need not be the caller's. It must not free the job. */
typedef int (*halocline_progress)(double done, double total, const char* note, void* user);

HALOCLINE_API int halocline_job_new(halocline_context* context, const char* verb,
                                    halocline_job** job) HALOCLINE_NOEXCEPT;
HALOCLINE_API int halocline_job_set(halocline_job* job, const char* name, const char* value) HALOCLINE_NOEXCEPT;
HALOCLINE_API int halocline_job_set_number(halocline_job* job, const char* name, double value) HALOCLINE_NOEXCEPT;
/* The job keeps a copy. */
HALOCLINE_API int halocline_job_geometry(halocline_job* job, const halocline_geometry* geometry) HALOCLINE_NOEXCEPT;
/* The array has to stay until the run has ended. */
HALOCLINE_API int halocline_job_input(halocline_job* job, const char* name, const halocline_grid* grid,
                                      const float* values) HALOCLINE_NOEXCEPT;
/* Where a result goes. It may overlap no input. */
HALOCLINE_API int halocline_job_output(halocline_job* job, const char* name, const halocline_grid* grid,
                                       float* values) HALOCLINE_NOEXCEPT;
HALOCLINE_API int halocline_job_progress(halocline_job* job, halocline_progress callback,
                                         void* user) HALOCLINE_NOEXCEPT;
/* Blocks until the work is done. After a failure outputs hold anything, but for "keep-partial" of a run that was
 * cancelled. A job may run again. */
HALOCLINE_API int halocline_job_run(halocline_job* job) HALOCLINE_NOEXCEPT;
/* Ends the run that goes on in another thread, if there is one. */
HALOCLINE_API int halocline_job_cancel(halocline_job* job) HALOCLINE_NOEXCEPT;
/* A number of the result, as "relative_gap"; yes and no are 1 and 0. */
HALOCLINE_API int halocline_job_result_double(const halocline_job* job, const char* name,
                                              double* value) HALOCLINE_NOEXCEPT;
/* All results as JSON, until the next run or halocline_job_free(). */
HALOCLINE_API int halocline_job_results(const halocline_job* job, const char** json) HALOCLINE_NOEXCEPT;
HALOCLINE_API void halocline_job_free(halocline_job* job) HALOCLINE_NOEXCEPT;

/* ---- the verbs in one call ---- */

/* Each makes a job of these settings and runs it. options, result: NULL for the defaults, and for none. */

typedef struct halocline_fdk_options {
  size_t struct_size;
  const char* window;        /* of the ramp filter */
  double cutoff;             /* fraction of the highest frequency that the window spans */
  const char* interpolation; /* "exact", "hardware" or "half" */
  double pad;                /* truncated rows go on by this fraction of their length */
  halocline_progress progress;
  void* user;
} halocline_fdk_options;

#define HALOCLINE_FDK_OPTIONS_INIT \
  { sizeof(halocline_fdk_options), "ram-lak", 1, "exact", 0, NULL, NULL }

HALOCLINE_API int halocline_fdk(halocline_context* context, const halocline_geometry* geometry,
                                const halocline_grid* projections_grid, const float* projections,
                                const halocline_grid* volume_grid, float* volume,
                                const halocline_fdk_options* options) HALOCLINE_NOEXCEPT;

typedef struct halocline_projector_options {
  size_t struct_size;
  const char* projector;     /* "automatic", "joseph", "siddon" or "distance-driven"; backproject: "voxel", too */
  const char* interpolation; /* "exact", "hardware" or "half" */
  halocline_progress progress;
  void* user;
} halocline_projector_options;

#define HALOCLINE_PROJECTOR_OPTIONS_INIT \
  { sizeof(halocline_projector_options), "automatic", "exact", NULL, NULL }

HALOCLINE_API int halocline_project(halocline_context* context, const halocline_geometry* geometry,
                                    const halocline_grid* volume_grid, const float* volume,
                                    const halocline_grid* projections_grid, float* projections,
                                    const halocline_projector_options* options) HALOCLINE_NOEXCEPT;
/* The exact adjoint of halocline_project() with the same projector. */
HALOCLINE_API int halocline_backproject(halocline_context* context, const halocline_geometry* geometry,
                                        const halocline_grid* projections_grid, const float* projections,
                                        const halocline_grid* volume_grid, float* volume,
                                        const halocline_projector_options* options) HALOCLINE_NOEXCEPT;

typedef struct halocline_denoise_options {
  size_t struct_size;
  const char* method;   /* "pdu", "spdu", "tvgd", "gaussian", "median", "nlm" */
  double alpha;         /* pdu, spdu: weight of the data; 0: chosen by the noise */
  double gap;           /* pdu, spdu: the relative duality gap to stop at; negative: the default */
  int32_t iterations;   /* at most; 0: the default */
  const float* weights; /* spdu, tvgd: noise variance of each voxel; NULL: none */
  halocline_progress progress;
  void* user;
} halocline_denoise_options;

#define HALOCLINE_DENOISE_OPTIONS_INIT \
  { sizeof(halocline_denoise_options), "pdu", 0, -1, 0, NULL, NULL, NULL }

/* What was done. Not a number: the method has no such quantity. */
typedef struct halocline_denoise_result {
  size_t struct_size;
  double alpha;
  double relative_gap;
  double noise_sigma; /* as estimated, if it was */
  double fidelity;    /* ||u - f||_2 */
  double seconds;
  int32_t iterations;
  int32_t converged; /* 1: the gap or the target was reached */
} halocline_denoise_result;

#define HALOCLINE_DENOISE_RESULT_INIT \
  { sizeof(halocline_denoise_result), 0, 0, 0, 0, 0, 0, 0 }

HALOCLINE_API int halocline_denoise(halocline_context* context, const halocline_grid* grid, const float* volume,
                                    float* denoised, const halocline_denoise_options* options,
                                    halocline_denoise_result* result) HALOCLINE_NOEXCEPT;

typedef struct halocline_reconstruct_options {
  size_t struct_size;
  const char* method;    /* of iterative reconstruction: "spdhg", "cgls", "sirt", ... */
  const char* projector; /* "automatic", "joseph", "siddon" or "distance-driven" */
  double lambda;         /* strength of the total variation; 0: chosen */
  double gap;            /* the relative duality gap to stop at; negative: the default */
  int32_t iterations;    /* passes, at most; 0: by the method */
  int32_t subsets;       /* of the views; 0: by the method */
  const float* weights;  /* of the rays: the inverse of their variance, on the stack's grid; NULL: all are 1 */
  halocline_progress progress;
  void* user;
} halocline_reconstruct_options;

#define HALOCLINE_RECONSTRUCT_OPTIONS_INIT \
  { sizeof(halocline_reconstruct_options), "spdhg", "automatic", 0, -1, 0, 0, NULL, NULL, NULL }

typedef struct halocline_reconstruct_result {
  size_t struct_size;
  double iterations; /* passes over all views */
  double relative_gap;
  double lambda;
  double relative_residual;
  double seconds;
} halocline_reconstruct_result;

#define HALOCLINE_RECONSTRUCT_RESULT_INIT \
  { sizeof(halocline_reconstruct_result), 0, 0, 0, 0, 0 }

HALOCLINE_API int halocline_reconstruct(halocline_context* context, const halocline_geometry* geometry,
                                        const halocline_grid* projections_grid, const float* projections,
                                        const halocline_grid* volume_grid, float* volume,
                                        const halocline_reconstruct_options* options,
                                        halocline_reconstruct_result* result) HALOCLINE_NOEXCEPT;

/* ---- patches ---- */

/* Boxes of voxels from projections that are new at each call, or remain on the device: unfiltered voxel-driven
 * back-projection, and its exact adjoint. They work on the first device of the context, which they keep. An object is
 * for one thread at a time. */
typedef struct halocline_patches halocline_patches;

/* volume: the grid in whose coordinates boxes are computed. projections: that of all views. */
HALOCLINE_API int halocline_patches_new(halocline_context* context, const halocline_geometry* geometry,
                                        const halocline_grid* volume, const halocline_grid* projections,
                                        halocline_patches** patches) HALOCLINE_NOEXCEPT;
/* The boxes of the calls that follow: `count` grids of any place, direction, spacing and size; parts of a volume by
 * halocline_grid_part(). Arrays of voxels hold one box after another. */
HALOCLINE_API int halocline_patches_set_boxes(halocline_patches* patches, const halocline_grid* boxes,
                                              int64_t count) HALOCLINE_NOEXCEPT;
/* Voxels of all boxes together. */
HALOCLINE_API int halocline_patches_voxel_count(const halocline_patches* patches, int64_t* count) HALOCLINE_NOEXCEPT;
/* The views that the calls that follow use, by number; NULL: all. Projections have all of them all the same. */
HALOCLINE_API int halocline_patches_set_views(halocline_patches* patches, const int64_t* views,
                                              int64_t count) HALOCLINE_NOEXCEPT;
/* Views from `first` on get the poses of another geometry with the same detector: a ring that new views enter. */
HALOCLINE_API int halocline_patches_replace_views(halocline_patches* patches, int64_t first,
                                                  const halocline_geometry* geometry) HALOCLINE_NOEXCEPT;
/* Copies the projections of `count` views from `first` on to the device, where they remain. Views that were never
 * given are 0. */
HALOCLINE_API int halocline_patches_set_projections(halocline_patches* patches, int64_t first, int64_t count,
                                                    const float* values) HALOCLINE_NOEXCEPT;
/* voxels = A^T projections. projections: of all views; NULL: those that remain on the device. */
HALOCLINE_API int halocline_patches_backproject(halocline_patches* patches, const float* projections,
                                                float* voxels) HALOCLINE_NOEXCEPT;
/* projections = A voxels in the views that are used, 0 in the others: the exact adjoint. */
HALOCLINE_API int halocline_patches_project(halocline_patches* patches, const float* voxels,
                                            float* projections) HALOCLINE_NOEXCEPT;
HALOCLINE_API void halocline_patches_free(halocline_patches* patches) HALOCLINE_NOEXCEPT;

/* ---- slices ---- */

/* Slices from projections that are filtered once and remain on the device, as "fdk" computes them. They work on the
 * first device of the context, which they keep. An object is for one thread at a time. */
typedef struct halocline_slices halocline_slices;

typedef struct halocline_slices_options {
  size_t struct_size;
  const char* window;           /* of the ramp filter */
  double cutoff;                /* fraction of the highest frequency that the window spans */
  const char* interpolation;    /* "exact" or "hardware" */
  double pad;                   /* truncated rows go on by this fraction of their length */
  int64_t most_pixels;          /* of all slices of a call; 0: four slices across each axis of the volume */
  double photons;               /* of the unattenuated beam, a pixel: slices hold the variance; 0: the values */
  double electronic;            /* standard deviation of the electronic noise, for that, in photons */
  int32_t allow_incomplete_arc; /* 1: shorter scans than a half circle and the fan */
} halocline_slices_options;

#define HALOCLINE_SLICES_OPTIONS_INIT \
  { sizeof(halocline_slices_options), "ram-lak", 1, "exact", 0, 0, 0, 0, 0 }

/* volume: the grid whose planes slices are; any others are computed in its coordinates, too. projections: line
 * integrals. options: NULL for the defaults. */
HALOCLINE_API int halocline_slices_new(halocline_context* context, const halocline_geometry* geometry,
                                       const halocline_grid* projections_grid, const float* projections,
                                       const halocline_grid* volume, const halocline_slices_options* options,
                                       halocline_slices** slices) HALOCLINE_NOEXCEPT;
/* Views that the scan goes on with, in place of as many of the oldest. All views together have to be a full circle (of
 * parallel beams: half of one) before and after. */
HALOCLINE_API int halocline_slices_add(halocline_slices* slices, const halocline_geometry* geometry,
                                       const halocline_grid* projections_grid,
                                       const float* projections) HALOCLINE_NOEXCEPT;
/* `count` slices, at most 64: grids of one layer along any axis, as of halocline_grid_part(), or of any other place and
 * direction. values: one slice after another. */
HALOCLINE_API int halocline_slices_reconstruct(halocline_slices* slices, const halocline_grid* grids, int64_t count,
                                               float* values) HALOCLINE_NOEXCEPT;
HALOCLINE_API void halocline_slices_free(halocline_slices* slices) HALOCLINE_NOEXCEPT;

#ifdef __cplusplus
}
#endif

#endif
