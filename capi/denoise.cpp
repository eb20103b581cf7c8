// The verb denoise.
#include <algorithm>
#include <cmath>

#include "algorithms/denoisers/frame_stack.hpp"
#include "algorithms/jobs/denoise_report.hpp"
#include "algorithms/jobs/denoise_settings.hpp"
#include "algorithms/noise/noise_map.hpp"
#include "capi/verb.hpp"
#include "host/system/error.hpp"

namespace halocline::capi {
namespace {

constexpr const char* half_names[] = {"half-a", "half-b"};
const std::string frame_prefix = "frame", stage_prefix = "stage";

class DenoiseVerb : public Verb {
 public:
  DenoiseVerb() {
    add_denoise_settings(settings_, denoise_);
    settings_.find("weights")->one_of({"halves", "estimate"});
  }
  std::vector<std::string> inputs() const override {
    return {"volume", "weights", "reference", "init", "truth", half_names[0], half_names[1], frame_prefix + "-*"};
  }
  std::vector<std::string> outputs() const override { return {"volume", frame_prefix + "-*", stage_prefix + "-*"}; }
  nlohmann::json run(Work& work) override;

 private:
  // The volumes that the run reads; empty: not given.
  struct Read {
    Volume init, reference, truth, half_a, half_b, weights, frames;
    std::size_t frame_count = 0;
    Grid frame;
  };

  void check_arrays(const Work& work) const;
  void read_frames(const Work& work, Read& read) const;
  Read read(const Work& work) const;
  Volume found_weights(const Work& work, const Read& read) const;
  DenoiseParameters complete(const DenoiseSettings& denoise, const Read& read) const;
  RunOptions run_options(const Work& work) const;
  DenoiseResult denoise_one(Work& work, const DenoiseParameters& parameters, const Read& read) const;
  DenoiseResult denoise_frames(Work& work, const DenoiseParameters& parameters, const Read& read) const;
  nlohmann::json results(const DenoiseSettings& denoise, const DenoiseResult& result) const;

  DenoiseSettings denoise_;
};

// The arrays that go together.
void DenoiseVerb::check_arrays(const Work& work) const {
  const bool frames = denoise_.frames();
  if ((work.input(half_names[0]) != nullptr) != (work.input(half_names[1]) != nullptr))
    throw InputError({.what = "the inputs `half-a` and `half-b`", .found = "not both given", .expected = "both"});
  if (!denoise_.weights.empty() && work.input("weights") != nullptr)
    throw InputError({.what = "`weights`", .found = "a setting and an input", .expected = "one of them"});
  if (frames && work.input("truth") != nullptr)
    throw InputError({.what = "the input `truth`", .found = "given for pdu4d", .expected = "one of a single volume"});
  if (frames && work.input("volume") != nullptr)
    throw InputError(
        {.what = "the input `volume`", .found = "given for pdu4d", .expected = "`frame-0`, `frame-1`, ..."});
  if (!frames && work.input(numbered(frame_prefix, 0)) != nullptr)
    throw InputError(
        {.what = "the input `frame-0`", .found = "given for " + denoise_.parameters.method, .expected = "`volume`"});
}

void DenoiseVerb::read_frames(const Work& work, Read& read) const {
  for (std::size_t n = 0; work.input(numbered(frame_prefix, n)) != nullptr; ++n) read.frame_count = n + 1;
  if (read.frame_count < 2)
    throw InputError({.what = "pdu4d",
                      .found = "given " + std::to_string(read.frame_count) + " frames",
                      .expected = "two or more, the inputs `frame-0`, `frame-1` and so on"});
  read.frame = work.required_input(numbered(frame_prefix, 0)).grid();
  read.frames = Volume::uninitialised(stacked_grid(read.frame, read.frame_count));
  for (std::size_t n = 0; n < read.frame_count; ++n) {
    const Volume frame = work.copy_of(numbered(frame_prefix, n));
    require_size(frame.grid, numbered(frame_prefix, n), read.frame, "`frame-0`");
    put_frame(read.frames, n, frame);
  }
}

DenoiseVerb::Read DenoiseVerb::read(const Work& work) const {
  Read read;
  if (denoise_.frames()) read_frames(work, read);
  read.init = work.copy_of("init");
  read.reference = work.copy_of("reference");
  read.truth = work.copy_of("truth");
  read.half_a = work.copy_of(half_names[0]);
  read.half_b = work.copy_of(half_names[1]);
  if (!denoise_.frames()) {
    const Grid& grid = work.required_input("volume").grid();
    for (const char* name : {"weights", "init", "reference", "truth", half_names[0], half_names[1]})
      if (const VolumeSource* other = work.input(name)) require_size(other->grid(), name, grid, "the input `volume`");
  }
  if (denoise_.finds_weights()) read.weights = found_weights(work, read);
  return read;
}

Volume DenoiseVerb::found_weights(const Work& work, const Read& read) const {
  if (denoise_.weights == "halves") return noise_map(read.half_a, read.half_b, "`half-a`", "`half-b`").variance;
  const Volume volume = work.copy_of("volume");
  const ValueRange values = value_range(MemorySource(volume));
  return values.least == values.greatest ? Volume(volume.grid, 1) : noise_map(volume).variance;
}

DenoiseParameters DenoiseVerb::complete(const DenoiseSettings& denoise, const Read& read) const {
  DenoiseParameters parameters = denoise.parameters;
  if (!read.init.voxels.empty()) parameters.init = &read.init;
  if (!read.truth.voxels.empty()) parameters.truth = &read.truth;
  if (!read.half_a.voxels.empty()) parameters.half_a = &read.half_a, parameters.half_b = &read.half_b;
  if (denoise.frames()) parameters.time.depth = read.frame.size[2];
  return parameters;
}

RunOptions DenoiseVerb::run_options(const Work& work) const {
  RunOptions options = work.options;
  options.time_limit = denoise_.time_limit;
  options.keep_partial = denoise_.keep_partial;
  if (!denoise_.alpha_path.empty())
    options.stage_output = [&work](int stage, const Volume& output) {
      VolumeSink* const sink = work.output(numbered(stage_prefix, static_cast<std::size_t>(stage)));
      if (sink == nullptr) return;
      require_size(sink->grid(), numbered(stage_prefix, static_cast<std::size_t>(stage)), output.grid, "the volume");
      sink->begin();
      copy_voxels(MemorySource(output), *sink);
    };
  return options;
}

DenoiseResult DenoiseVerb::denoise_one(Work& work, const DenoiseParameters& parameters, const Read& read) const {
  const VolumeSource& volume = work.required_input("volume");
  VolumeSink& output = work.required_output("volume");
  require_size(output.grid(), "volume", volume.grid(), "the input `volume`");
  const MemorySource found(read.weights);
  const VolumeSource* weights = read.weights.voxels.empty() ? work.input("weights") : &found;
  return denoise_into(volume, weights, output, parameters, work.devices, run_options(work),
                      read.reference.voxels.empty() ? nullptr : &read.reference);
}

DenoiseResult DenoiseVerb::denoise_frames(Work& work, const DenoiseParameters& parameters, const Read& read) const {
  for (std::size_t n = 0; n < read.frame_count; ++n)
    require_size(work.required_output(numbered(frame_prefix, n)).grid(), numbered(frame_prefix, n), read.frame,
                 "the input `frame-0`");
  Volume denoised = Volume::uninitialised(read.frames.grid);
  MemorySink sink(denoised);
  DenoiseResult result =
      denoise_into(MemorySource(read.frames), nullptr, sink, parameters, work.devices, run_options(work));
  for (std::size_t n = 0; n < read.frame_count; ++n) {
    const Volume frame = take_frame(denoised, n, read.frame);
    VolumeSink& output = work.required_output(numbered(frame_prefix, n));
    output.begin();
    copy_voxels(MemorySource(frame), output);
  }
  return result;
}

nlohmann::json DenoiseVerb::results(const DenoiseSettings& denoise, const DenoiseResult& result) const {
  nlohmann::json results = denoise_results(denoise, result);
  put_run(results, run_of(result));
  results["converged"] = result.converged;
  results["warnings"] = result.warnings;
  return results;
}

nlohmann::json DenoiseVerb::run(Work& work) {
  check_arrays(work);
  std::size_t volumes = 1;
  while (denoise_.frames() && work.input(numbered(frame_prefix, volumes)) != nullptr) ++volumes;
  DenoiseSettings denoise = denoise_;
  take_denoise_settings(denoise, settings_,
                        {.weights = work.input("weights") != nullptr,
                         .halves = work.input(half_names[0]) != nullptr,
                         .init = work.input("init") != nullptr,
                         .reference = work.input("reference") != nullptr,
                         .volumes = volumes});
  const Read given = read(work);
  const DenoiseParameters parameters = complete(denoise, given);
  const DenoiseResult result =
      denoise.frames() ? denoise_frames(work, parameters, given) : denoise_one(work, parameters, given);
  warn_of_result(
      denoise, result, work.input("init") != nullptr,
      static_cast<double>((denoise.frames() ? given.frames.grid : work.required_input("volume").grid()).count()));
  return results(denoise, result);
}

}  // namespace

std::unique_ptr<Verb> make_denoise() {
  return std::make_unique<DenoiseVerb>();
}

}  // namespace halocline::capi
