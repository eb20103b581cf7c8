// The volumes that `halocline denoise` reads.
#pragma once

#include <optional>
#include <string>

#include "apps/commands/denoise_options.hpp"
#include "apps/job/job.hpp"
#include "host/volume/cutout.hpp"

namespace halocline {

struct DenoiseInputs {
  ImageInfo header;               // header of the first -i
  Grid frame;                     // grid of each -i
  Grid whole;                     // grid of -i, or of all frames as one volume
  std::optional<Cutout> region;   // --preview-roi
  std::optional<Cutout> widened;  // with its margin
  Grid grid;                      // grid of the denoised volume

  /// The grid of the written image.
  Grid output_grid() const { return region ? cut_out(grid, region->within(*widened)) : grid; }
  /// The voxels to be denoised of an image on the grid of -i; none of an empty path.
  Volume read(Job& job, const std::string& path) const;
};

/// Takes the inputs for the job. Throws InputError if their grids differ.
DenoiseInputs look_at_inputs(Job& job, DenoiseCommand& command);

/// --weights estimate or halves: the variances of the noise in `volume`, or as the halves show it.
Volume estimated_variances(Job& job, const DenoiseCommand& command, const Volume& volume, const Volume& half_a,
                           const Volume& half_b);

}  // namespace halocline
