// halocline reconstruct
#include "algorithms/solvers/reconstruct.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <optional>

#include "algorithms/checks/suspicious_projections.hpp"
#include "apps/checkpoint/checkpoint_file.hpp"
#include "apps/checkpoint/interruptions.hpp"
#include "apps/commands/subcommands.hpp"
#include "apps/commands/visibility.hpp"
#include "apps/job/job.hpp"
#include "apps/job/report.hpp"
#include "apps/job/validators.hpp"
#include "apps/options/geometry_file.hpp"
#include "apps/options/grid_options.hpp"
#include "apps/options/projection_options.hpp"
#include "apps/options/scan_grid.hpp"
#include "host/error.hpp"
#include "host/plural.hpp"
#include "scheduling/planning/cost.hpp"
#include "scheduling/profiling/rates.hpp"

namespace halocline {
namespace {

struct ReconstructCommand {
  std::string input, geometry, output, projector = "joseph";
  DetectorPixels detector;
  GridOptions grid;
  ReconstructionParameters parameters;
  double time_limit = 0;
  bool keep_partial = false;
  std::string checkpoint;
  double checkpoint_every = 60;
  bool resume = false;
};

// Sizes and places, all checked before anything is computed.
struct ReconstructWork {
  Grid stack, grid;
  Geometry geometry;
};

ReconstructWork look_at_inputs(Job& job, const ReconstructCommand& command) {
  ReconstructWork work;
  const ImageInfo input = job.input_image("-i", command.input);
  const std::string name = "'" + command.input + "'", geometry_name = "'" + command.geometry + "'";
  job.input("--geometry", command.geometry);
  work.stack = placed_projections(command.detector, input, name, command.geometry);
  job.input("--like", command.grid.like);
  job.output_image("-o", command.output);
  const std::optional<Grid> stated = stated_grid(command.grid);
  const ScanFile scan = load_geometry(command.geometry, {}, DetectorPixels::of(work.stack));
  work.geometry = scan.geometry;
  work.grid =
      stated ? *stated
             : make_grid(command.grid, [&] { return scan_grid(job, command.grid, scan, work.geometry, work.stack); });
  check_projections(work.stack, name, work.geometry, geometry_name, DetectorShape::flat_or_cylinder);
  require_seen(work.grid, "the volume", work.stack, name, work.geometry);
  return work;
}

void warn_of(const Volume& projections, const std::string& name) {
  const auto found = suspicious_projections(MemorySource(projections), nullptr, {}, name);
  for (const std::string& text : {found.constant, found.unlike_integrals})
    if (!text.empty()) spdlog::warn("{}", text);
}

void begin_checkpoint(Job& job, Checkpoint& checkpoint, const ReconstructCommand& command, const ReconstructWork& work,
                      const Volume& projections) {
  auto about = options_of_bits(
      job, {"--input", "--geometry", "--output", "--time-limit", "--keep-partial", "--checkpoint-every", "--like"});
  about["size"] = work.grid.size;
  about["spacing"] = work.grid.spacing;
  about["origin"] = work.grid.origin;
  about["the voxels of -i"] = checksum_text(voxel_checksum(MemorySource(projections)));
  about["the file of --geometry"] = checksum_text(file_checksum(command.geometry));
  checkpoint.set_job(std::move(about));
  if (command.resume) go_on_from(job, checkpoint);
}

const char* what_ended(StoppedBy by) {
  return by == StoppedBy::interrupt ? "interrupt"
         : by == StoppedBy::time    ? "time"
         : by == StoppedBy::method  ? "tolerance"
                                    : "iterations";
}

void tell(Job& job, const ReconstructCommand& command, const ReconstructWork& work,
          const ReconstructionResult& result) {
  const double relative = result.projections > 0 ? result.residual / result.projections : 0;
  job.record(result.run, "reconstruct");
  auto& results = job.results();
  results["method"] = command.parameters.method;
  results["iterations"] = result.run.iterations;
  results["relative_residual"] = relative;
  results["stopped_by"] = what_ended(result.run.stopped_by);
  results["grid"] = grid_json(work.grid);
  job.say(fmt::format("{}: {}, {} by {} ({}) of {}, relative residual {:.3g}{}", command.output,
                      grid_summary(work.grid), plural(result.run.iterations, "iteration", "iterations"),
                      command.parameters.method, command.projector, views_text(work.stack.size[2]), relative,
                      job.how(result.run)));
}

void run_reconstruct(Job& job, ReconstructCommand& command) {
  command.parameters.projector = projector_from_name(command.projector);
  const ReconstructWork work = look_at_inputs(job, command);
  job.tune_first_run("project");
  const Plan plan =
      plan_reconstruct(work.stack, work.geometry, work.grid, command.parameters, device_models(job.devices()), {});
  // A checkpoint's copy of the state, where that is not with the host anyway.
  const double kept = command.checkpoint.empty() ? 0 : static_cast<double>(state_bytes(plan.requirements));
  job.forecast(plan, grid_bytes(work.stack) + grid_bytes(work.grid), std::max(0.0, kept - host_state_bytes(plan)));
  const auto checkpoint = make_checkpoint(job, command.checkpoint, state_bytes(plan.requirements), command.resume);
  if (job.dry_run()) return;
  auto image = job.create(command.output, work.grid, {});
  Volume projections = job.read(command.input);
  projections.grid = work.stack;
  warn_of(projections, "'" + command.input + "'");
  if (checkpoint) begin_checkpoint(job, *checkpoint, command, work, projections);
  RunOptions options = job.run_options(
      {2 * static_cast<double>(work.grid.count()) * static_cast<double>(work.stack.size[2]), 0, "updates"});
  options.time_limit = command.time_limit;
  options.keep_partial = command.keep_partial;
  options.checkpoint_store = checkpoint.get();
  options.keep_every = command.checkpoint_every;
  const ReconstructionResult result = job.timed("reconstruct", [&] {
    return resumable(checkpoint.get(), [&] {
      return reconstruct(MemorySource(projections), work.geometry, *image, command.parameters, job.devices(), options);
    });
  });
  require_an_iteration(result.run);
  job.commit(*image);
  const auto by = result.run.stopped_by;
  finish_checkpoint(job, checkpoint.get(), by == StoppedBy::interrupt || by == StoppedBy::time);
  tell(job, command, work, result);
  if (by == StoppedBy::time)
    spdlog::warn("the time limit of {:g} s ended the run after {} iterations", command.time_limit,
                 result.run.iterations);
  if (by != StoppedBy::interrupt) return;
  job.keep_report();
  throw Interrupted(
      fmt::format("interrupted: '{}' holds what there was after {} iterations", command.output, result.run.iterations));
}

void add_solver_options(CLI::App& sub, ReconstructCommand& command) {
  auto& p = command.parameters;
  sub.add_option("--method", p.method,
                 "sirt: simultaneous iterative reconstruction, robust, needs about 100 iterations; cgls: conjugate "
                 "gradients for least squares, about 12, and noise comes back with more")
      ->check(CLI::IsMember(reconstruction_methods()));
  sub.add_option("--iterations", p.iterations, "Default: 100 of sirt, 12 of cgls")
      ->check(whole_number_from(1, 1000000))
      ->default_str("")
      ->type_name("N");
  sub.add_option("--projector", command.projector, "Line integrals and their exact adjoint by this method")
      ->check(CLI::IsMember(projector_names()));
  sub.add_option("--relaxation", p.relaxation, "sirt: how far each iteration goes, between 0 and 2")->type_name("W");
  sub.add_flag("--non-negative", p.non_negative, "sirt: voxels below 0 become 0 after every iteration");
  sub.add_option("--tolerance", p.tolerance,
                 "cgls: end when the gradient has become so small a part of the first. Default: all iterations")
      ->check(CLI::Range(0.0, 1.0))
      ->default_str("")
      ->type_name("T");
}

void add_end_options(CLI::App& sub, ReconstructCommand& command) {
  const char* group = "End of the run";
  sub.add_option("--time-limit", command.time_limit,
                 "End after so many seconds of iterations with what there is then. Default: none")
      ->check(positive_number())
      ->default_str("")
      ->type_name("S")
      ->group(group);
  sub.add_flag("--keep-partial", command.keep_partial,
               "At Ctrl-C or SIGTERM, write what there is (the exit code is 1 all the same)")
      ->group(group);
  auto* checkpoint = sub.add_option("--checkpoint", command.checkpoint,
                                    "Keep the state of the iterations there, so that --resume can go on from it "
                                    "whatever ends the run. Removed when the result has been written")
                         ->type_name("FILE")
                         ->group(group);
  sub.add_option("--checkpoint-every", command.checkpoint_every,
                 "Seconds between two states, longer where writing them would take more than a tenth of the time; 0: "
                 "after every iteration")
      ->check(not_negative())
      ->needs(checkpoint)
      ->type_name("S")
      ->group(group);
  sub.add_flag("--resume", command.resume,
               "Go on from the --checkpoint of the same command, to a bitwise identical result; where there is no such "
               "file, start from the beginning")
      ->needs(checkpoint)
      ->group(group);
}

}  // namespace

void add_reconstruct(CLI::App& app, Action& action) {
  auto* sub = app.add_subcommand("reconstruct", "Iterative reconstruction of a volume from its line integrals");
  auto command = std::make_shared<ReconstructCommand>();
  sub->add_option("-i,--input", command->input, "Line integrals (u, v, view)")->required()->type_name("FILE");
  sub->add_option("-g,--geometry", command->geometry, geometry_file_help)->required()->type_name("FILE");
  add_solver_options(*sub, *command);
  add_pixel_options(*sub, command->detector);
  add_grid_options(*sub, command->grid, true);
  add_end_options(*sub, *command);
  sub->add_option("-o,--output", command->output, std::string("Volume to write") + slice_files_help)
      ->required()
      ->type_name("FILE");
  sub->footer(
      "Example:\n  halocline reconstruct -i projections.mha --geometry geometry.xml --method cgls --iterations 12 "
      "--size 128,128,128 --spacing 1.5,1.5,1.5 -o volume.mha");
  sub->callback([&action, command] { action = [command](Job& job) { run_reconstruct(job, *command); }; });
}

}  // namespace halocline
