// Where the voxels of an NRRD file lie: its own words about space, which ITK 5 does not all take in.
#pragma once

#include <string>

#include "host/volume/volume.hpp"

namespace halocline {

/// `itk` with the spacing, origin and direction that the header states, in mm and in LPS: of `space directions` and
/// `space origin` in any space whose axes have anatomical names, or in one that has none and is right-handed; of
/// `spacings`, `axis mins`, `axis maxs` and `centers`; by `space units` and `units`. Throws InputError that names the
/// field: for left-handed and unknown spaces, for both kinds of fields, for limits of axes without `centers` or with
/// other spacings, for vectors that do not fit, and for units that are no lengths.
Grid nrrd_grid(const std::string& path, const Grid& itk);

/// The same checks, before ITK has words of its own for these.
void check_nrrd_space(const std::string& path);

}  // namespace halocline
