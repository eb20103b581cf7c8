// The grid of an NRRD file by its own fields about space, which ITK 5 does not all read.
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

/// Makes the same checks before ITK reports these in its own words.
void check_nrrd_space(const std::string& path);

}  // namespace halocline
