// Entries of a header beside grid and type, from file to file: NIfTI's description, auxiliary file and codes of its two
// transforms, NRRD's content and keys of its writer's own. Only in builds with HALOCLINE_WITH_ITK.
#pragma once

#include <string>

#include "apps/images/image_info.hpp"

namespace itk {
class ImageIOBase;
}

namespace halocline {

/// Notes of the header of an NRRD or NIfTI file whose voxels have this grid; of other files there are none.
HeaderNotes read_header_notes(const std::string& path, const Grid& grid);

/// Gives ITK, before the file is written, the notes that it writes.
void give_header_notes(const HeaderNotes& notes, itk::ImageIOBase& io);

/// Writes, after that, the others into the header of a .nii or .nii.gz. Throws FileError.
void finish_header_notes(const HeaderNotes& notes, const std::string& path);

}  // namespace halocline
