// The verbs as one function each: a job of a few settings.
#include "capi/geometry.hpp"
#include "capi/job.hpp"
#include "capi/status.hpp"

using namespace halocline;
using namespace halocline::capi;

namespace {

void set_text(halocline_job& job, const char* name, const char* value) {
  if (value != nullptr) job.set(name, std::string(value));
}

// 0 stands for the default.
void set_if(bool given, halocline_job& job, const char* name, double value) {
  if (given) job.set(name, value);
}

class OneCall {
 public:
  OneCall(halocline_context* context, const char* verb) : job_(required(context, "`context`").shared, verb) {}
  halocline_job& job() { return job_; }
  void geometry(const halocline_geometry* geometry) { job_.set_geometry(required(geometry, "`geometry`").geometry); }
  void input(const char* name, const halocline_grid* grid, const float* values) {
    job_.set_input(name, required(grid, "the grid of an input"), &required(values, "the values of an input"));
  }
  void output(const char* name, const halocline_grid* grid, float* values) {
    job_.set_output(name, required(grid, "the grid of an output"), &required(values, "the values of an output"));
  }
  template <class Options>
  void run(const Options& options) {
    job_.set_progress(options.progress, options.user);
    job_.run();
  }

 private:
  halocline_job job_;
};

}  // namespace

extern "C" int halocline_fdk(halocline_context* context, const halocline_geometry* geometry,
                             const halocline_grid* projections_grid, const float* projections,
                             const halocline_grid* volume_grid, float* volume,
                             const halocline_fdk_options* options) noexcept {
  return guarded([&] {
    const auto all = taken(options, halocline_fdk_options(HALOCLINE_FDK_OPTIONS_INIT), "halocline_fdk_options");
    OneCall call(context, "fdk");
    call.geometry(geometry);
    call.input("projections", projections_grid, projections);
    call.output("volume", volume_grid, volume);
    set_text(call.job(), "window", all.window);
    call.job().set("cutoff", all.cutoff);
    set_text(call.job(), "interpolation", all.interpolation);
    call.job().set("pad", all.pad);
    call.run(all);
  });
}

extern "C" int halocline_project(halocline_context* context, const halocline_geometry* geometry,
                                 const halocline_grid* volume_grid, const float* volume,
                                 const halocline_grid* projections_grid, float* projections,
                                 const halocline_projector_options* options) noexcept {
  return guarded([&] {
    const auto all =
        taken(options, halocline_projector_options(HALOCLINE_PROJECTOR_OPTIONS_INIT), "halocline_projector_options");
    OneCall call(context, "project");
    call.geometry(geometry);
    call.input("volume", volume_grid, volume);
    call.output("projections", projections_grid, projections);
    set_text(call.job(), "projector", all.projector);
    set_text(call.job(), "interpolation", all.interpolation);
    call.run(all);
  });
}

extern "C" int halocline_backproject(halocline_context* context, const halocline_geometry* geometry,
                                     const halocline_grid* projections_grid, const float* projections,
                                     const halocline_grid* volume_grid, float* volume,
                                     const halocline_projector_options* options) noexcept {
  return guarded([&] {
    const auto all =
        taken(options, halocline_projector_options(HALOCLINE_PROJECTOR_OPTIONS_INIT), "halocline_projector_options");
    OneCall call(context, "backproject");
    call.geometry(geometry);
    call.input("projections", projections_grid, projections);
    call.output("volume", volume_grid, volume);
    set_text(call.job(), "projector", all.projector);
    set_text(call.job(), "interpolation", all.interpolation);
    call.run(all);
  });
}

extern "C" int halocline_denoise(halocline_context* context, const halocline_grid* grid, const float* volume,
                                 float* denoised, const halocline_denoise_options* options,
                                 halocline_denoise_result* result) noexcept {
  return guarded([&] {
    const auto all =
        taken(options, halocline_denoise_options(HALOCLINE_DENOISE_OPTIONS_INIT), "halocline_denoise_options");
    if (result != nullptr) check_struct_size(result->struct_size, "halocline_denoise_result");
    OneCall call(context, "denoise");
    call.input("volume", grid, volume);
    call.output("volume", grid, denoised);
    if (all.weights != nullptr) call.input("weights", grid, all.weights);
    set_text(call.job(), "method", all.method);
    set_if(all.alpha != 0, call.job(), "alpha", all.alpha);
    set_if(!(all.gap < 0), call.job(), "gap", all.gap);
    set_if(all.iterations != 0, call.job(), "iterations", all.iterations);
    call.run(all);
    if (result == nullptr) return;
    halocline_denoise_result done = HALOCLINE_DENOISE_RESULT_INIT;
    done.alpha = call.job().number_or_nan("alpha");
    done.relative_gap = call.job().number_or_nan("relative_gap");
    done.noise_sigma = call.job().number_or_nan("noise_sigma");
    done.fidelity = call.job().number_or_nan("fidelity");
    done.seconds = call.job().number("seconds");
    done.iterations = static_cast<int32_t>(call.job().number("iterations"));
    done.converged = static_cast<int32_t>(call.job().number("converged"));
    give(done, result, "halocline_denoise_result");
  });
}

extern "C" int halocline_reconstruct(halocline_context* context, const halocline_geometry* geometry,
                                     const halocline_grid* projections_grid, const float* projections,
                                     const halocline_grid* volume_grid, float* volume,
                                     const halocline_reconstruct_options* options,
                                     halocline_reconstruct_result* result) noexcept {
  return guarded([&] {
    const auto all = taken(options, halocline_reconstruct_options(HALOCLINE_RECONSTRUCT_OPTIONS_INIT),
                           "halocline_reconstruct_options");
    if (result != nullptr) check_struct_size(result->struct_size, "halocline_reconstruct_result");
    OneCall call(context, "reconstruct");
    call.geometry(geometry);
    call.input("projections", projections_grid, projections);
    call.output("volume", volume_grid, volume);
    if (all.weights != nullptr) call.input("weights", projections_grid, all.weights);
    set_text(call.job(), "method", all.method);
    set_text(call.job(), "projector", all.projector);
    set_if(all.lambda != 0, call.job(), "lambda", all.lambda);
    set_if(!(all.gap < 0), call.job(), "gap", all.gap);
    set_if(all.iterations != 0, call.job(), "iterations", all.iterations);
    set_if(all.subsets != 0, call.job(), "subsets", all.subsets);
    call.run(all);
    if (result == nullptr) return;
    halocline_reconstruct_result done = HALOCLINE_RECONSTRUCT_RESULT_INIT;
    done.iterations = call.job().number("iterations");
    done.relative_gap = call.job().number_or_nan("relative_gap");
    done.lambda = call.job().number_or_nan("lambda");
    done.relative_residual = call.job().number("relative_residual");
    done.seconds = call.job().number("seconds");
    give(done, result, "halocline_reconstruct_result");
  });
}
