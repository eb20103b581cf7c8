// Questions about files to ITK and the libraries behind it: in this process, or in one that is confined
// (reader_process.hpp). Only in builds with HALOCLINE_WITH_ITK.
//
// The command reads in a process of its own, which it starts from its own program. Programs that link these libraries
// read in theirs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "apps/images/image_info.hpp"
#include "apps/images/tiff_stack.hpp"
#include "host/volume/typed_volume.hpp"

namespace halocline {

// Those of itk_image.hpp, libtiff_image.hpp and itk_dicom.hpp, which throw as they do.
bool ask_whether_itk_reads(const std::string& path);
bool ask_whether_dicom(const std::string& folder);
ImageInfo ask_info(const std::string& path);
TypedVolume ask_voxels(const std::string& path);
TiffKind ask_tiff_kind(const std::string& path);
ImageInfo ask_order(std::vector<std::string>& files, const std::string& series);

}  // namespace halocline
