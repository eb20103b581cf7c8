#include "apps/commands/fdk_options.hpp"

#include <CLI/CLI.hpp>

#include "apps/job/common_options.hpp"
#include "apps/options/geometry_file.hpp"
#include "apps/options/output_type.hpp"
#include "apps/options/setting_options.hpp"
#include "host/system/error.hpp"

namespace halocline {
namespace {

void add_output_options(CLI::App& sub, FdkCommand& command) {
  sub.add_option("-o,--output", command.output,
                 std::string("Volume of attenuations to write, 1/mm, or HU with --hu") + slice_files_help)
      ->required()
      ->type_name("FILE");
  add_water_option(sub, command.water);
  sub.add_option("--output-type", command.output_type,
                 "Type of the voxels of -o. Whole numbers need --hu; they are rounded to nearest, and those beyond the "
                 "type's range are clamped and counted")
      ->check(CLI::IsMember({"uint8", "int16", "uint16", "float16", "float32"}))
      ->type_name("TYPE");
}

void add_interruption_options(CLI::App& sub, FdkCommand& command) {
  const char* group = "Interruptions";
  auto* checkpoint =
      sub.add_option(
             "--checkpoint", command.checkpoint,
             "Keep slices there as they are done, so that --resume can go on from them whatever ends the run: a kill, "
             "a crash, a lost device, Ctrl-C. --dry-run says how large it can get. The work is cut into at least 8 "
             "slabs. Removed when the result has been written")
          ->type_name("FILE")
          ->group(group);
  sub.add_flag("--resume", command.resume,
               "Go on from the --checkpoint of the same command, to the same bits as without the interruption; where "
               "there is no such file, start from the beginning")
      ->needs(checkpoint)
      ->group(group);
}

}  // namespace

FdkCommand::FdkCommand() {
  add_filter_settings(settings, filter, true);
  add_counts_flag(settings, counts, counts_arguments.options);
  add_noise_settings(settings, noise);
}

void add_fdk_options(CLI::App& sub, FdkCommand& command) {
  sub.add_option("-i,--input", command.input,
                 "Projections (u, v, view): line integrals, or with --counts counts. A stack, or a file a view: a "
                 "folder of TIFF files, or a "
                 "pattern such as 'p*.tif' or p_%04d.tif")
      ->required()
      ->type_name("FILE");
  sub.add_option("-g,--geometry", command.geometry, geometry_file_help)->required()->type_name("FILE");
  add_projection_options(sub, command.projections);
  add_grid_options(sub, command.grid, true);
  add_settings(sub, command.settings);
  add_counts_files(sub, command.counts_arguments);
  add_variance_option(sub, command.noise,
                      "Also write the variance of each voxel (for denoise --weights), 1/mm^2, or HU^2", "FILE");
  sub.add_option("--halves-out", command.halves_output,
                 "Also write the reconstructions of the odd and of the even views as they lie on the circle (for "
                 "denoise --halves and noise-map), 1/mm, or HU; needs no model of the noise, and twice the time")
      ->type_name("A,B")
      ->group("Noise of the volume");
  add_output_options(sub, command);
  add_fdk_denoise_options(sub, command.denoise);
  add_interruption_options(sub, command);
}

void take_fdk_options(FdkCommand& command) {
  take_fdk_denoise(command.denoise);
  command.noise.for_weights = command.denoise.weighted();
  if (!command.denoise.wanted()) return;
  if (!command.checkpoint.empty())
    throw InputError(
        "--checkpoint keeps slices of fdk alone, not what --denoise makes of them; leave one of them out, and run "
        "halocline denoise --checkpoint on the volume");
  if (!command.halves_output.empty())
    throw InputError("--halves-out does not go with --denoise; write the halves in a run of their own");
}

}  // namespace halocline
