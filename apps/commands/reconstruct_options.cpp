#include "apps/commands/reconstruct_options.hpp"

#include <fmt/format.h>

#include "algorithms/jobs/setting_values.hpp"
#include "apps/options/geometry_file.hpp"
#include "host/system/error.hpp"

namespace halocline {
namespace {

void add_image_options(Settings& settings, ReconstructCommand& command) {
  settings
      .add("weights", command.weights,
           "The inverse variance of each line integral (u, v, view). Default: with --counts or "
           "--photons from the counts I, I^2 / (I + S^2), else 1")
      .unit("FILE")
      .group(settings.find("photons")->group());
  for (const char* other : {"photons", "electronic", "no-weights"}) settings.find(other)->excludes("weights");
  settings.add("gap-map", command.gap_map, "Also write each voxel's part of the gap: where it is not done")
      .writes(FileKind::image)
      .group(settings.find("gap")->group());
  add_reference_setting(settings, command.reference);
}

void add_end_options(Settings& settings, ReconstructCommand& command) {
  const std::string group = settings.find("time-limit")->group();
  add_truth_setting(settings, command.truth, group);
  settings
      .add("plot", command.plot,
           "Also a drawing (.svg) of how the relative gap fell from pass to pass, or without a penalty the residual")
      .writes(FileKind::any)
      .group(group);
  settings
      .add("checkpoint", command.checkpoint,
           "Keep the state of the iterations there, so that --resume can go on from it "
           "whatever ends the run. Removed when the result has been written")
      .writes(FileKind::any)
      .group(group);
  settings
      .add("checkpoint-every", command.checkpoint_every,
           "Seconds between two states, longer where writing them would take more than a tenth of the time; 0: "
           "after every iteration")
      .not_negative()
      .needs("checkpoint")
      .unit("S")
      .group(group);
  settings
      .add("resume", command.resume,
           "Go on from the --checkpoint of the same command, to a bitwise identical result; where there is no such "
           "file, start from the beginning")
      .needs("checkpoint")
      .group(group);
}

}  // namespace

bool ReconstructCommand::may_be_weighted() const {
  return weighted() || (solver_method(parameters.method).weights && (counts || allow_nonfinite));
}

void add_reconstruct_options(Settings& settings, ReconstructCommand& command) {
  add_input(settings, command.input, "Projections (u, v, view): line integrals, or with --counts counts");
  add_geometry_option(settings, command.geometry);
  add_reconstruct_settings(settings, command, command.counts_arguments.options);
  add_image_options(settings, command);
  add_views_option(settings, command.projections);
  add_detector_options(settings, command.projections);
  add_counts_files(settings, command.counts_arguments);
  add_grid_options(settings, command.grid, true);
  settings
      .add("pad-volume", command.pad_volume,
           "Where the object reaches over the detector's edge: reconstruct so many mm more on each side across "
           "the rotation axis, and leave them out of -o. Else what lies outside becomes a bright rim")
      .not_negative()
      .unit("MM")
      .group("Volume");
  add_end_options(settings, command);
  add_output_image(settings, command.output, "Volume to write");
}

void take_reconstruct_options(ReconstructCommand& command) {
  take_reconstruct_settings(command, {.weights = !command.weights.empty(),
                                      .reference = !command.reference.empty(),
                                      .gap_map = !command.gap_map.empty()});
  command.projections.filtered = solver_method(command.parameters.method).fdk;
  if (command.pad_volume > 0 && (command.starts_from_image() || !(command.reference + command.truth).empty()))
    throw InputError(
        "--pad-volume does not go with a volume to begin with (--init FILE), a --reference or a --truth, which have "
        "nothing outside; give a larger --size instead");
}

}  // namespace halocline
