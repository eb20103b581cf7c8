#include "apps/commands/fdk_options.hpp"

#include "apps/job/common_options.hpp"
#include "apps/options/geometry_file.hpp"
#include "apps/options/output_type.hpp"
#include "host/system/error.hpp"

namespace halocline {
namespace {

void add_output_options(Settings& settings, FdkCommand& command) {
  add_output_image(settings, command.output, "Volume of attenuations to write, 1/mm, or HU with --hu");
  add_water_option(settings, command.water);
  settings
      .add("output-type", command.output_type,
           "Type of the voxels of -o. Whole numbers need --hu; they are rounded to nearest, and those beyond the "
           "type's range are clamped and counted")
      .one_of({"uint8", "int16", "uint16", "float16", "float32"})
      .unit("TYPE");
}

void add_interruption_options(Settings& settings, FdkCommand& command) {
  const char* group = "Interruptions";
  settings
      .add("checkpoint", command.checkpoint,
           "Keep slices there as they are done, so that --resume can go on from them whatever ends the run: a kill, "
           "a crash, a lost device, Ctrl-C. --dry-run says how large it can get. The work is cut into at least 8 "
           "slabs. Removed when the result has been written")
      .writes(FileKind::any)
      .group(group);
  settings
      .add("resume", command.resume,
           "Go on from the --checkpoint of the same command, to the same bits as without the interruption; where "
           "there is no such file, start from the beginning")
      .needs("checkpoint")
      .group(group);
}

}  // namespace

void add_fdk_options(Settings& settings, FdkCommand& command) {
  add_input(settings, command.input,
            "Projections (u, v, view): line integrals, or with --counts counts. A stack, or a file a view: a "
            "folder of TIFF files, or a "
            "pattern such as 'p*.tif' or p_%04d.tif");
  add_geometry_option(settings, command.geometry);
  add_projection_options(settings, command.projections);
  add_grid_options(settings, command.grid, true);
  add_filter_settings(settings, command.filter, true);
  add_counts_flag(settings, command.counts, command.counts_arguments.options);
  add_noise_settings(settings, command.noise);
  add_counts_files(settings, command.counts_arguments);
  add_variance_option(settings, command.noise,
                      "Also write the variance of each voxel (for denoise --weights), 1/mm^2, or HU^2", "FILE");
  settings
      .add("halves-out", command.halves_output,
           "Also write the reconstructions of the odd and of the even views as they lie on the circle (for "
           "denoise --halves and noise-map), 1/mm, or HU; needs no model of the noise, and twice the time")
      .unit("A,B")
      .group("Noise of the volume")
      .file(FileKind::image, true, true);
  add_output_options(settings, command);
  add_fdk_denoise_options(settings, command.denoise);
  add_interruption_options(settings, command);
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
