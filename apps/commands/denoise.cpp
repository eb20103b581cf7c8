// halocline denoise
#include "algorithms/denoise/denoise.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <memory>

#include "algorithms/jobs/denoise_report.hpp"
#include "apps/checkpoint/checkpoint_file.hpp"
#include "apps/commands/denoise_forecast.hpp"
#include "apps/commands/denoise_report.hpp"
#include "apps/commands/subcommands.hpp"
#include "apps/job/job_checkpoint.hpp"
#include "apps/job/rank_checks.hpp"
#include "host/system/error.hpp"

namespace halocline {
namespace {

// All that the result depends on; voxels instead of the files that hold them.
nlohmann::json checkpoint_job(const Job& job, const Grid& grid,
                              const std::map<std::string, const VolumeSource*>& volumes) {
  auto result = options_of_bits(
      job, {"--input", "--weights", "--init", "--reference", "--truth", "--halves", "--output", "--output-type",
            "--rescale", "--png", "--stages", "--time-limit", "--keep-partial", "--checkpoint-every"});
  result["size"] = grid.size;
  result["spacing"] = grid.spacing;
  for (const auto& [name, volume] : volumes)
    if (volume != nullptr) result["the voxels of " + name] = checksum_text(voxel_checksum(*volume, ranks()));
  return result;
}

// One run, from what it reads to its result.
class DenoiseRun {
 public:
  // Reads all but the volume and its weights. checkpoint: nullptr is none.
  DenoiseRun(Job& job, DenoiseCommand& command, const DenoiseInputs& inputs, DenoiseOutputs& outputs,
             const DenoisePlan& plan, Checkpoint* checkpoint)
      : job_(job),
        command_(command),
        inputs_(inputs),
        outputs_(outputs),
        plan_(plan),
        checkpoint_(checkpoint),
        init_(inputs.read(job, command.control.init)),
        reference_(inputs.read(job, command.reference)),
        truth_(inputs.read(job, command.truth)),
        half_a_(inputs.read(job, command.half_volumes[0])),
        half_b_(inputs.read(job, command.half_volumes[1])) {
    auto& parameters = command.parameters;
    if (!init_.voxels.empty()) parameters.init = &init_;
    if (!truth_.voxels.empty()) parameters.truth = &truth_;
    if (!half_a_.voxels.empty()) parameters.half_a = &half_a_, parameters.half_b = &half_b_;
  }
  ~DenoiseRun() {
    auto& parameters = command_.parameters;
    parameters.init = parameters.truth = parameters.half_a = parameters.half_b = nullptr;
  }
  DenoiseRun(const DenoiseRun&) = delete;
  DenoiseRun& operator=(const DenoiseRun&) = delete;

  // Denoises from file to file, piece by piece.
  DenoiseResult stream() {
    const auto volume = job_.images().open(command_.input);
    const auto weights = command_.weights.empty() ? nullptr : job_.images().open(command_.weights);
    outputs_.scale_to(*volume);
    VolumeSink& to = outputs_.begin_stream();
    check_room();
    return denoise(*volume, weights.get(), to);
  }

  DenoiseResult in_memory(Volume& denoised) {
    const Volume volume = command_.frames.several() ? read_frames(job_, command_.frames, inputs_.frame)
                                                    : inputs_.read(job_, command_.input);
    const Volume weights = command_.finds_weights() ? estimated_variances(job_, command_, volume, half_a_, half_b_)
                                                    : inputs_.read(job_, command_.weights);
    const MemorySource from(volume), variances(weights);
    outputs_.scale_to(from);
    outputs_.reserve();
    check_room();
    denoised = Volume::uninitialised(volume.grid);
    MemorySink to(denoised);
    return denoise(from, command_.weights.empty() ? nullptr : &variances, to);
  }

 private:
  // The room of all outputs is taken before the run, and the checkpoint's is what is left then.
  void check_room() const {
    if (checkpoint_ != nullptr) checkpoint_->check(state_bytes(plan_.plan.requirements), true);
  }

  // Sets the job of the checkpoint, and takes the state to go on from.
  void begin_checkpoint(const VolumeSource& from, const VolumeSource* weights) {
    const MemorySource init(init_), reference(reference_), truth(truth_);
    job_.timed("checksums", [&] {
      checkpoint_->set_job(checkpoint_job(job_, inputs_.grid,
                                          {{"-i", &from},
                                           {"--weights", weights},
                                           {"--init", init_.voxels.empty() ? nullptr : &init},
                                           {"--truth", truth_.voxels.empty() ? nullptr : &truth},
                                           {"--reference", reference_.voxels.empty() ? nullptr : &reference}}));
    });
    auto& parameters = command_.parameters;
    parameters.on_parameter_chosen = [kept = checkpoint_](const ParameterChoice& choice) { kept->strength = choice; };
    if (command_.control.resume && go_on_from(job_, *checkpoint_)) parameters.chosen = checkpoint_->strength;
  }

  RunOptions run_options() {
    const auto& control = command_.control;
    RunOptions options = job_.run_options({static_cast<double>(inputs_.grid.count()), 0, "voxel-iterations"});
    options.plan = plan_.options;
    options.planned = plan_.plan;
    options.time_limit = command_.time_limit;
    options.keep_partial = command_.keep_partial;
    options.checkpoint_store = checkpoint_;
    options.keep_every = control.checkpoint_every;
    // Set for paths of alpha alone: without it the result of the last pass is written as it arrives.
    if (!command_.parameters.alpha_path.empty())
      options.stage_output = [this](int stage, const Volume& output) { outputs_.write_stage(stage, output); };
    return options;
  }

  DenoiseResult denoise(const VolumeSource& from, const VolumeSource* weights, VolumeSink& to) {
    if (checkpoint_ != nullptr) begin_checkpoint(from, weights);
    const RunOptions options = run_options();
    return job_.timed("denoise", [&] {
      try {
        return resumable(checkpoint_, [&] {
          return denoise_into(from, weights, to, command_.parameters, job_.devices(), options,
                              reference_.voxels.empty() ? nullptr : &reference_);
        });
      } catch (const Interrupted&) {
        const auto& written = outputs_.written();
        if (written.empty() || (checkpoint_ != nullptr && checkpoint_->iterations())) throw;
        throw Interrupted(
            fmt::format("interrupted: '{}' had been written, and nothing after that", fmt::join(written, "', '")));
      }
    });
  }

  Job& job_;
  DenoiseCommand& command_;
  const DenoiseInputs& inputs_;
  DenoiseOutputs& outputs_;
  const DenoisePlan& plan_;
  Checkpoint* checkpoint_;
  const Volume init_, reference_, truth_, half_a_, half_b_;  // empty for an option that is not given
};

void run_denoise(Job& job, DenoiseCommand& command) {
  take_denoise_options(command);
  const DenoiseInputs inputs = look_at_inputs(job, command);
  DenoiseOutputs outputs(job, command, inputs);
  if (!outputs.streamed())
    refuse_several_ranks("denoise with several frames, --alpha-path, --preview-roi, --png or weights that it estimates",
                         "leave these out");
  const DenoisePlan plan = forecast_denoise(job, command, inputs, outputs);
  const auto checkpoint =
      make_checkpoint(job, command.control.checkpoint, state_bytes(plan.plan.requirements), command.control.resume);
  if (job.dry_run()) return;
  if (!command.control.init.empty() && command.pdu_or_spdu())
    job.say(command.parameters.method +
            " begins with the image of `init` and with duals of 0, so that it takes no fewer iterations; `checkpoint` "
            "and `resume` go on with the duals");
  Volume in_memory;
  const DenoiseResult result = [&] {
    DenoiseRun run(job, command, inputs, outputs, plan, checkpoint.get());
    return outputs.streamed() ? run.stream() : run.in_memory(in_memory);
  }();
  require_an_iteration(run_of(result));
  outputs.write(in_memory, result);
  const bool timed_out = result.stopped_by == StoppedBy::time && !result.converged;
  finish_checkpoint(job, checkpoint.get(), timed_out || result.stopped_by == StoppedBy::interrupt);
  outputs.write_picture(in_memory);
  outputs.show(result);
  report_denoise(job, command, inputs, outputs, result);
}

}  // namespace

std::unique_ptr<Command> denoise_command() {
  auto sub = std::make_unique<Command>("denoise", "Remove noise from a volume by total variation");
  Settings& settings = sub->settings;
  auto command = std::make_shared<DenoiseCommand>();
  add_denoise_options(settings, *command);
  sub->footer =
      "Example:\n  halocline denoise -i volume.mha --method pdu -o denoised.mha\n"
      "  halocline denoise -i volume.mha --method pdu --alpha 1.5/sigma -o denoised.mha";
  sub->on_ranks = true;
  sub->run = [command](Job& job) { run_denoise(job, *command); };
  return sub;
}

}  // namespace halocline
