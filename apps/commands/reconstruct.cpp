// halocline reconstruct
#include "algorithms/solvers/reconstruct.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>

#include "algorithms/checks/suspicious_projections.hpp"
#include "apps/checkpoint/checkpoint.hpp"
#include "apps/checkpoint/checkpoint_file.hpp"
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
#include "scheduling/planning/plan_text.hpp"
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
  std::optional<Grid> stated;
  if (!leaves_grid(command.grid)) stated = make_grid(command.grid);
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

std::unique_ptr<Checkpoint> make_checkpoint(Job& job, const ReconstructCommand& command, const Plan& plan) {
  if (command.checkpoint.empty()) return nullptr;
  job.output("--checkpoint", command.checkpoint);
  const std::size_t bytes = state_bytes(plan.requirements);
  if (job.dry_run())
    job.print(
        fmt::format("  checkpoint: {}, twice while one replaces the other", bytes_text(static_cast<double>(bytes))));
  auto checkpoint = std::make_unique<Checkpoint>(command.checkpoint);
  checkpoint->check(bytes, command.resume || job.dry_run());
  return checkpoint;
}

void begin_checkpoint(Job& job, Checkpoint& checkpoint, const ReconstructCommand& command, const ReconstructWork& work,
                      const Volume& projections) {
  auto about = options_of_bits(
      job, {"--input", "--geometry", "--output", "--time-limit", "--keep-partial", "--checkpoint-every", "--like"});
  about["size"] = work.grid.size;
  about["spacing"] = work.grid.spacing;
  about["origin"] = work.grid.origin;
  about["the voxels of -i"] = fmt::format("{:08x}", voxel_checksum(MemorySource(projections)));
  about["the file of --geometry"] = fmt::format("{:08x}", file_checksum(command.geometry));
  checkpoint.set_job(std::move(about));
  if (!command.resume) return;
  if (checkpoint.resume()) {
    spdlog::info("going on after {} iterations", *checkpoint.iterations());
    job.results()["resumed_after_iterations"] = *checkpoint.iterations();
  } else {
    spdlog::info("there is no '{}': the run starts from the beginning", checkpoint.path());
  }
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
  job.forecast(plan, grid_bytes(work.stack) + grid_bytes(work.grid));
  const auto checkpoint = make_checkpoint(job, command, plan);
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
  const auto how = [&] { return checkpoint ? checkpoint->how_to_resume() : std::string(); };
  const ReconstructionResult result = job.timed("reconstruct", [&] {
    return resumable(how, [&] {
      return reconstruct(MemorySource(projections), work.geometry, *image, command.parameters, job.devices(), options);
    });
  });
  const auto by = result.run.stopped_by;
  if (by == StoppedBy::interrupt && result.run.iterations == 0)
    throw Interrupted("interrupted before the first iteration: nothing was written, the input files are untouched");
  job.commit(*image);
  const bool ended_early = by == StoppedBy::interrupt || by == StoppedBy::time;
  if (checkpoint && ended_early && checkpoint->iterations())
    job.say(checkpoint->how_to_resume());
  else if (checkpoint)
    checkpoint->remove();
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
      ->check(CLI::PositiveNumber)
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
