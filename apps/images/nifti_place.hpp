// Places of voxels by the header of a NIfTI file, to the bit as ITK 5 takes them.
#pragma once

#include <optional>

#include "apps/images/nifti_header.hpp"

namespace halocline {

/// The grid of an image of so many axes, 2 or 3, with its origin in the header's own unit (nifti_grid() turns it into
/// mm) and its spacing in mm. Of two transforms ITK takes the sform where both are close to each other and its code is
/// that of the scanner; nothing where it depends on more.
std::optional<Grid> nifti_place(const NiftiHeader& header, std::size_t axes);

}  // namespace halocline
