#include "apps/commands/reconstruct_options.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "apps/job/validators.hpp"
#include "apps/options/geometry_file.hpp"
#include "apps/options/setting_options.hpp"
#include "host/system/error.hpp"

namespace halocline {
namespace {

void add_image_options(CLI::App& sub, ReconstructCommand& command) {
  const auto group_of = [&](const char* option) { return sub.get_option(option)->get_group(); };
  auto* weights = sub.add_option("--weights", command.weights,
                                 "The inverse variance of each line integral (u, v, view). Default: with --counts or "
                                 "--photons from the counts I, I^2 / (I + S^2), else 1")
                      ->type_name("FILE")
                      ->group(group_of("--photons"));
  for (const char* other : {"--photons", "--electronic", "--no-weights"}) sub.get_option(other)->excludes(weights);
  sub.add_option("--gap-map", command.gap_map, "Also write each voxel's part of the gap: where it is not done")
      ->type_name("FILE")
      ->group(group_of("--gap"));
  sub.add_option(
         "--reference", command.reference,
         "Another volume of the object on the same grid (of another energy, time or kernel): where it has edges, "
         "the result may have them for free")
      ->type_name("FILE")
      ->group(group_of("--tv"));
}

void add_end_options(CLI::App& sub, ReconstructCommand& command) {
  const std::string group = sub.get_option("--time-limit")->get_group();
  sub.add_option(
         "--plot", command.plot,
         "Also a picture (.png) of how the relative gap fell from pass to pass, or without a penalty the residual")
      ->type_name("FILE")
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

bool ReconstructCommand::may_be_weighted() const {
  return weighted() || (solver_method(parameters.method).weights && (counts || allow_nonfinite));
}

void add_reconstruct_options(CLI::App& sub, ReconstructCommand& command) {
  sub.add_option("-i,--input", command.input, "Projections (u, v, view): line integrals, or with --counts counts")
      ->required()
      ->type_name("FILE");
  sub.add_option("-g,--geometry", command.geometry, geometry_file_help)->required()->type_name("FILE");
  add_settings(sub, command.settings);
  add_image_options(sub, command);
  add_views_option(sub, command.projections);
  add_detector_options(sub, command.projections);
  add_counts_files(sub, command.counts_arguments);
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
  take_reconstruct_settings(command, {.weights = !command.weights.empty(),
                                      .reference = !command.reference.empty(),
                                      .gap_map = !command.gap_map.empty()});
  command.projections.filtered = solver_method(command.parameters.method).fdk;
  if (command.pad_volume > 0 && (command.starts_from_image() || !command.reference.empty()))
    throw InputError(
        "--pad-volume does not go with a volume to begin with (--init FILE) or a --reference, which have "
        "nothing outside; give a larger --size instead");
}

}  // namespace halocline
