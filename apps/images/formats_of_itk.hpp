// The extensions of the formats that ITK reads and writes, and what they keep: builds without ITK know them, too.
#pragma once

#include <string>
#include <vector>

#include "apps/images/image_info.hpp"

namespace halocline {

const std::vector<std::string>& itk_write_extensions();
const std::vector<std::string>& itk_read_extensions();
/// Names with .tif or .tiff, and with .nii or .nii.gz, also in capitals.
bool is_tiff_name(const std::string& path);
bool is_nifti_name(const std::string& path);
/// Throws InputError for float16, for scalings outside NIfTI, and for types that TIFF is not written with.
void check_itk_storage(const std::string& path, const ImageStorage& storage);

}  // namespace halocline
