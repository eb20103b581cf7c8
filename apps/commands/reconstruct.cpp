// halocline reconstruct
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "algorithms/jobs/reconstruct_report.hpp"
#include "algorithms/projectors/user_projector.hpp"
#include "algorithms/solvers/fdk_start.hpp"
#include "algorithms/solvers/penalty_strength.hpp"
#include "apps/checkpoint/checkpoint_file.hpp"
#include "apps/commands/reconstruct_inputs.hpp"
#include "apps/commands/reconstruct_options.hpp"
#include "apps/commands/reconstruct_report.hpp"
#include "apps/commands/subcommands.hpp"
#include "apps/job/job.hpp"
#include "apps/job/job_checkpoint.hpp"
#include "apps/job/report.hpp"
#include "apps/options/geometry_file.hpp"
#include "host/system/error.hpp"
#include "host/volume/cutout_sink.hpp"
#include "scheduling/planning/cost.hpp"
#include "scheduling/planning/rank_rows.hpp"
#include "scheduling/planning/step_tasks.hpp"
#include "scheduling/profiling/rates.hpp"

namespace halocline {
namespace {

void begin_checkpoint(Job& job, Checkpoint& checkpoint, const ReconstructCommand& command, const ReconstructWork& work,
                      const ReconstructionInputs& inputs) {
  auto about = options_of_bits(
      job, {"--input", "--geometry", "--output", "--time-limit", "--keep-partial", "--checkpoint-every", "--like",
            "--weights", "--init", "--reference", "--truth", "--gap-map", "--projector-table"});
  about["size"] = work.grid.size;
  about["spacing"] = work.grid.spacing;
  about["origin"] = work.grid.origin;
  about["the start"] = command.starts_from_image() ? "an image" : command.start();
  for (const auto& [name, voxels] : {std::pair{"the voxels of -i", inputs.projections},
                                     {"the weights of the rays", inputs.weights},
                                     {"the image of --init", command.starts_from_image() ? inputs.start : nullptr},
                                     {"the voxels of --reference", inputs.reference},
                                     {"the voxels of --truth", inputs.truth}})
    if (voxels != nullptr) about[name] = checksum_text(voxel_checksum(*voxels, ranks()));
  if (const UserProjector* users = command.parameters.projector->users()) {
    about["the text of --projector"] = users->file();
    for (const auto& [name, values] : users->tables()) {
      const Grid numbers{.size = {values.size(), 1, 1}};
      about["the table " + name] = checksum_text(voxel_checksum(MemorySource(numbers, values.data())));
    }
  }
  about["the file of --geometry"] = checksum_text(geometry_checksum(command.geometry));
  checkpoint.set_job(std::move(about));
  if (command.resume) go_on_from(job, checkpoint);
}

RunOptions run_options(const Job& job, const ReconstructCommand& command, const ReconstructWork& work,
                       Checkpoint* checkpoint) {
  const double updates = 2 * static_cast<double>(work.grid.count()) * static_cast<double>(work.stack.size[2]);
  const int subsets = subset_count(command.parameters, work.stack.size[2]);
  RunOptions options = job.run_options({updates / subsets, 0, "updates"});
  options.time_limit = command.time_limit;
  options.keep_partial = command.keep_partial;
  options.checkpoint_store = checkpoint;
  options.keep_every = command.checkpoint_every;
  return options;
}

void choose_lambda(Job& job, ReconstructCommand& command, const ReconstructWork& work,
                   const ReconstructionInputs& inputs) {
  RunOptions options = job.run_options();
  options.plan = {};  // each rank makes the same small reconstructions
  const PenaltyStrength chosen = job.timed("choose lambda", [&] {
    return choose_strength(inputs, work.geometry, work.grid, command.parameters, job.devices(), options);
  });
  command.parameters.lambda = ranks().of_first("lambda", chosen.lambda);
  for (const StrengthTrial& trial : chosen.trials)
    job.results()["strengths"].push_back({{"lambda", trial.lambda}, {"misfit", trial.misfit}});
  job.say(fmt::format("--lambda {:.4g}: with it half of the views predict the others best, of {} strengths",
                      command.parameters.lambda, chosen.trials.size()));
}

// The image of FDK to begin with, if that is the start. volumes: bytes of what the job holds all along.
void forecast_start(Job& job, const ReconstructCommand& command, const ReconstructWork& work, const Plan& run,
                    double volumes) {
  if (command.start() != "fdk") return;
  const auto plan = plan_fdk_start(work.geometry, work.stack, work.grid, command.parameters,
                                   device_models(job.devices()), job.plan_options(), slices_held_here(run));
  if (!plan) return;
  if (job.dry_run())
    job.print(run.several_ranks() ? "Before the run, each rank makes its slices of the image to begin with, the first:"
                                  : "Before the run, fdk makes the image to begin with:");
  job.forecast(*plan, volumes);
}

// The choice of lambda, which comes before the run. volumes: as for the start.
void forecast_choice(Job& job, const ReconstructCommand& command, const ReconstructWork& work, const GivenInputs& given,
                     double volumes) {
  const StrengthForecast choice =
      plan_strength(work.stack, work.geometry, work.grid, command.parameters, given, device_models(job.devices()));
  if (job.dry_run())
    job.print(
        fmt::format("Choice of --lambda before the run: {} to {} trials on half of the views, {} to {} in all; "
                    "none with --lambda. The first trial:",
                    choice.least_trials, choice.most_trials, seconds_text(choice.least_seconds),
                    seconds_text(choice.most_seconds)));
  job.forecast(choice.plan, volumes, choice.host_bytes);
}

void finish(Job& job, const ReconstructCommand& command, Checkpoint* checkpoint, const RunResult& run, double passes) {
  const auto by = run.stopped_by;
  finish_checkpoint(job, checkpoint, by == StoppedBy::interrupt || by == StoppedBy::time);
  if (by == StoppedBy::time)
    spdlog::warn("the time limit of {:g} s ended the run after {:.3g} passes", command.time_limit, passes);
  if (by != StoppedBy::interrupt) return;
  job.keep_report();
  throw Interrupted(fmt::format("interrupted: '{}' holds what there was after {:.3g} passes", command.output, passes));
}

// A checkpoint's copy of the state, where that is not with the host anyway. The first rank collects all rows of it.
double checkpoint_bytes(const Plan& plan) {
  double rows_of_others = 0;
  if (ranks().several() && ranks().first())
    for (const RayStack& stack : stacks_of_state(plan))
      rows_of_others += (1 - share_of_rows(plan, 0)) * static_cast<double>(stack.row) *
                        static_cast<double>(plan.requirements.rows().count() * plan.requirements.views().count());
  return std::max(0.0, static_cast<double>(state_bytes(plan.requirements)) - host_state_bytes(plan)) + rows_of_others;
}

void run_reconstruct(Job& job, ReconstructCommand& command) {
  take_reconstruct_options(command);
  const ReconstructWork work = look_at_inputs(job, command);
  job.tune_first_run("project");
  GivenInputs given = command.given();
  given.weights = command.may_be_weighted();
  const Plan plan = plan_reconstruct(work.stack, work.geometry, work.grid, command.parameters, given,
                                     device_models(job.devices()), job.plan_options());
  const double held = ReconstructVolumes::bytes(command, work, plan) + grid_bytes(work.grid);
  job.forecast(plan, held, command.checkpoint.empty() ? 0 : checkpoint_bytes(plan));
  forecast_start(job, command, work, plan, held);
  if (command.chooses_lambda()) forecast_choice(job, command, work, given, held);
  const auto checkpoint = make_checkpoint(job, command.checkpoint, state_bytes(plan.requirements), command.resume);
  if (job.dry_run()) return;
  const Grid wanted = cut_out(work.grid, work.wanted);
  const auto image = job.images().create(command.output, wanted, {});
  CutoutSink output(work.grid, work.wanted, *image);
  std::unique_ptr<ImageSink> map;
  if (!command.gap_map.empty()) map = job.images().create(command.gap_map, wanted, {});
  std::optional<CutoutSink> map_output;
  if (map) map_output.emplace(work.grid, work.wanted, *map);
  const bool whole = wanted.size == work.grid.size;
  VolumeSink* const map_sink = whole || !map ? static_cast<VolumeSink*>(map.get()) : &*map_output;
  const ReconstructVolumes volumes(job, command, work, plan);
  if (volumes.inputs().start != nullptr)
    job.page().show({"start", "1/mm", false, wanted, work.wanted}, *volumes.inputs().start);
  if (const std::string lost = lost_of_start(command.parameters.method); command.starts_from_image() && !lost.empty())
    job.say(lost);
  if (command.chooses_lambda()) choose_lambda(job, command, work, volumes.inputs());
  if (checkpoint) begin_checkpoint(job, *checkpoint, command, work, volumes.inputs());
  RunOptions options = run_options(job, command, work, checkpoint.get());
  options.planned = plan;
  const ReconstructionResult result = job.timed("reconstruct", [&] {
    return resumable(checkpoint.get(), [&] {
      return reconstruct(volumes.inputs(), work.geometry, whole ? static_cast<VolumeSink&>(*image) : output,
                         command.parameters, job.devices(), options, map_sink);
    });
  });
  require_an_iteration(result.run);
  job.images().commit(*image);
  if (map) job.images().commit(*map);
  job.page().show({command.parameters.method, "1/mm", false, wanted}, command.output);
  job.page().show({"part of the gap", "of the gap", false, wanted}, command.gap_map);
  report_reconstruction(job, command, work, result);
  finish(job, command, checkpoint.get(), result.run, passes_of(result));
}

}  // namespace

std::unique_ptr<Command> reconstruct_command() {
  auto sub = std::make_unique<Command>("reconstruct", "Iterative reconstruction of a volume from its line integrals");
  Settings& settings = sub->settings;
  auto command = std::make_shared<ReconstructCommand>();
  add_reconstruct_options(settings, *command);
  sub->footer =
      "Example:\n  halocline reconstruct -i projections.mha --geometry geometry.xml --photons 2e4 --lambda 600 "
      "--size 128,128,128 --spacing 1.5,1.5,1.5 -o volume.mha\n  halocline reconstruct -i projections.mha --geometry "
      "geometry.xml --method cgls --iterations 12 -o volume.mha";
  sub->on_ranks = true;
  sub->run = [command](Job& job) {
    take_white_level(job, command->counts, command->geometry, command->counts_arguments);
    run_reconstruct(job, *command);
  };
  return sub;
}

}  // namespace halocline
