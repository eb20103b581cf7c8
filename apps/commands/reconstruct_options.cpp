#include "apps/commands/reconstruct_options.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "apps/job/validators.hpp"
#include "apps/options/geometry_file.hpp"
#include "host/system/error.hpp"

namespace halocline {
namespace {

std::string methods_text() {
  std::string text;
  for (const SolverMethod& method : solver_methods())
    text += fmt::format("{}{}: {} ({} passes)", text.empty() ? "" : "; ", method.name, method.about, method.passes);
  return text;
}

void add_solver_options(CLI::App& sub, ReconstructCommand& command) {
  auto& p = command.parameters;
  sub.add_option("--method", p.method, methods_text())->check(CLI::IsMember(reconstruction_methods()));
  sub.add_option("--iterations", p.passes,
                 "At most so many passes: a projection and a back-projection of all views each. Default: by the method")
      ->check(whole_number_from(1, 1000000))
      ->default_str("")
      ->type_name("N");
  sub.add_option("--init", command.init,
                 "Begin with fdk, with zero, or with a volume of the same size. Default: fdk of methods with a "
                 "penalty, of --method fdk and with --precondition ramp, else zero")
      ->type_name("fdk|zero|FILE");
  sub.add_option("--subsets", p.subsets, "Of the views, for methods that go through them. Default: by the method")
      ->check(whole_number_from(1, 1000000))
      ->default_str("")
      ->type_name("S");
  sub.add_option("--seed", p.seed, "spdhg: of the order of the subsets")->type_name("N");
  add_projector_options(sub, command.projector, "Line integrals and their exact adjoint by this method");
  sub.add_option("--interpolation", command.interpolation,
                 "hardware: methods with a penalty, and ba-gmres, project in the GPU's texture units, with the exact "
                 "adjoint; the certificate goes by exact projections all the same")
      ->check(CLI::IsMember({"exact", "hardware"}));
  sub.add_option("--relaxation", p.relaxation, "How far each step goes, between 0 and 2")->type_name("W");
  sub.add_option(
         "--precondition", command.precondition,
         "cgls: ramp filters the slices of the gradient, so that 5 passes from fdk do what 20 do without. Noise "
         "comes back as soon")
      ->check(CLI::IsMember(preconditioner_names()));
  sub.add_option("--tolerance", p.tolerance,
                 "Least squares: end when the normal residual |A^T W (b - A x)| is so small a part of |A^T W b|. "
                 "Default: all passes")
      ->check(CLI::Range(0.0, 1.0))
      ->default_str("")
      ->type_name("T");
}

void add_weight_options(CLI::App& sub, ReconstructCommand& command) {
  const char* group = "Weights of the rays";
  auto* weights = sub.add_option("--weights", command.weights,
                                 "The inverse variance of each line integral (u, v, view). Default: with --counts or "
                                 "--photons from the counts I, I^2 / (I + S^2), else 1")
                      ->type_name("FILE")
                      ->group(group);
  sub.add_option("--photons", command.photons,
                 "Photons of the open beam in a pixel: the counts of line integrals p are then N exp(-p), and with "
                 "--counts those of the beam are N")
      ->check(positive_number())
      ->excludes(weights)
      ->type_name("N")
      ->group(group);
  sub.add_option("--electronic", command.electronic, "Standard deviation of the detector's own noise, in photons")
      ->check(not_negative())
      ->excludes(weights)
      ->type_name("S")
      ->group(group);
  sub.add_flag("--no-weights", command.no_weights, "All rays count alike, with --counts, too")
      ->excludes(weights)
      ->group(group);
}

void add_objective_options(CLI::App& sub, ReconstructCommand& command) {
  const char* group = "The objective: 1/2 sum w (A x - b)^2 + lambda sum |grad x|";
  auto* lambda =
      sub.add_option("--lambda", command.lambda,
                     "Strength of the total variation; the gradient is in 1/mm. Default: what predicts left-out "
                     "views best, which takes as long as 25 to 50 passes")
          ->check(positive_number())
          ->type_name("L")
          ->group(group);
  sub.add_option("--alpha", command.alpha, "The same as --lambda 1/A, as denoise has it")
      ->check(positive_number())
      ->excludes(lambda)
      ->type_name("A")
      ->group(group);
  sub.add_option(
         "--gap", command.parameters.gap,
         "End when the objective is certain to lie less than this part of itself above its minimum; 0: after all "
         "passes")
      ->check(CLI::Range(0.0, 1.0))
      ->type_name("G")
      ->group(group);
  sub.add_option("--gap-map", command.gap_map, "Also write each voxel's part of the gap: where it is not done")
      ->type_name("FILE")
      ->group(group);
  add_regulariser_options(sub, command.penalty, command.parameters.regulariser,
                          "Other penalties than plain total variation, and bounds");
}

void add_end_options(CLI::App& sub, ReconstructCommand& command) {
  const char* group = "End of the run";
  sub.add_option(
         "--plot", command.plot,
         "Also a picture (.png) of how the relative gap fell from pass to pass, or without a penalty the residual")
      ->type_name("FILE")
      ->group(group);
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

bool ReconstructCommand::weighted() const {
  if (no_weights) return false;
  return !weights.empty() || photons || (counts && solver_method(parameters.method).weights);
}

bool ReconstructCommand::may_be_weighted() const {
  return weighted() || (solver_method(parameters.method).weights && (counts || allow_nonfinite));
}

void add_reconstruct_options(CLI::App& sub, ReconstructCommand& command) {
  sub.add_option("-i,--input", command.input, "Projections (u, v, view): line integrals, or with --counts counts")
      ->required()
      ->type_name("FILE");
  sub.add_option("-g,--geometry", command.geometry, geometry_file_help)->required()->type_name("FILE");
  add_solver_options(sub, command);
  add_objective_options(sub, command);
  add_weight_options(sub, command);
  add_views_option(sub, command.projections);
  add_detector_options(sub, command.projections);
  add_counts_flag(sub, command.counts, command.counts_arguments);
  add_grid_options(sub, command.grid, true);
  sub.add_option("--pad-volume", command.pad_volume,
                 "Where the object reaches over the detector's edge: reconstruct so many mm more on each side across "
                 "the rotation axis, and leave them out of -o. Else what lies outside becomes a bright rim")
      ->check(not_negative())
      ->type_name("MM")
      ->group("Volume");
  add_end_options(sub, command);
  sub.add_option("-o,--output", command.output, std::string("Volume to write") + slice_files_help)
      ->required()
      ->type_name("FILE");
}

void take_reconstruct_options(ReconstructCommand& command) {
  auto& p = command.parameters;
  p.hardware_interpolation = command.interpolation == "hardware";
  p.precondition = preconditioner_from_name(command.precondition);
  command.projections.filtered = solver_method(p.method).fdk;
  if (command.lambda) p.lambda = *command.lambda;
  if (command.alpha) p.lambda = 1 / *command.alpha;
  command.penalty.put_into(p.regulariser, "spdu");
  command.chooses_lambda = command.penalised() && !command.lambda && !command.alpha;
  if (command.chooses_lambda) p.lambda = 1;  // until it is chosen
  if (command.photons && !solver_method(p.method).weights)
    throw InputError(
        fmt::format("--photons weights the rays, and {} takes no weights; leave it out, or take a method that "
                    "does, such as spdhg or cgls",
                    p.method));
  if (command.electronic > 0 && !command.photons && !command.counts)
    throw InputError("--electronic needs counts: give --counts, or --photons for line integrals");
  if (command.pad_volume > 0 && (command.starts_from_file() || !command.penalty.reference.empty()))
    throw InputError(
        "--pad-volume does not go with a volume to begin with (--init FILE) or a --reference, which have "
        "nothing outside; give a larger --size instead");
  p.gap_map = !command.gap_map.empty();
  check_parameters(p, command.given());
}

}  // namespace halocline
