#include "apps/images/formats_of_itk.hpp"

#include <fmt/format.h>

#include "apps/images/image_format.hpp"
#include "host/system/error.hpp"

namespace halocline {

const std::vector<std::string>& itk_write_extensions() {
  static const std::vector<std::string> extensions{".nrrd", ".nii", ".nii.gz", ".tif", ".tiff"};
  return extensions;
}

const std::vector<std::string>& itk_read_extensions() {
  static const std::vector<std::string> extensions{".nhdr", ".hdr", ".img", ".img.gz", ".dcm", ".h5", ".hdf5"};
  return extensions;
}

bool is_tiff_name(const std::string& path) {
  const std::string extension = extension_of(path);
  return extension == ".tif" || extension == ".tiff";
}

bool is_nifti_name(const std::string& path) {
  const std::string extension = extension_of(path);
  return extension == ".nii" || extension == ".nii.gz";
}

void check_itk_storage(const std::string& path, const ImageStorage& storage) {
  if (storage.component == Component::float16)
    throw InputError(fmt::format("'{}': this format has no float16; give .mha, .mhd or .raw", path));
  if (!storage.scaling.identity() && !(is_nifti_name(path) && is_integer(storage.component)))
    throw InputError(fmt::format(
        "'{}': slope and offset of scaled values are kept in .mha, .mhd and .raw, and with whole numbers in "
        ".nii and .nii.gz; give one of those, or another type of voxels",
        path));
  if (is_tiff_name(path) && component_bytes(storage.component) > 2 && storage.component != Component::float32)
    throw InputError(fmt::format("'{}': TIFF files are written with uint8, int8, uint16, int16 or float32, not with {}",
                                 path, component_name(storage.component)));
}

}  // namespace halocline
