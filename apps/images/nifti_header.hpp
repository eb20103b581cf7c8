// Headers of NIfTI files (nifti1.h, nifti2.h).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "apps/images/image_info.hpp"
#include "host/system/temporary_folder.hpp"
#include "host/volume/component.hpp"
#include "host/volume/volume.hpp"

namespace halocline {

/// A header of version 1 or 2, in either byte order, gzipped or not. That of Analyze 7.5, which has other fields in
/// some places, has neither scale nor transforms.
struct NiftiHeader {
  int version = 1, datatype = 0;
  bool analyze = false;
  std::array<std::int64_t, 8> dim{};  ///< number of axes, then their sizes
  std::array<double, 8> pixdim{};     ///< handedness of the quaternion, then mm
  std::uint64_t voxel_bits = 0;       ///< bits of the type of its voxels
  std::uint64_t bitpix = 0;           ///< the header's entry about it
  double vox_offset = 0;              ///< bytes before the first voxel
  double slope = 0, intercept = 0;
  int qform_code = 0, sform_code = 0;
  std::array<double, 3> quatern{}, qoffset{};
  std::array<double, 12> srow{};
  int length_unit = 0;   ///< 1: m, 2: mm, 3: micrometres; others: not said
  int intent = 0;        ///< what the values mean; 0: nothing particular
  bool swapped = false;  ///< in the byte order that is not the host's
  bool pair = false;     ///< says that the voxels are in a file of their own
  std::string description = {}, auxiliary = {};
};

/// None where the file does not begin with such a header, as the voxels of a pair of files do not.
std::optional<NiftiHeader> read_nifti_header(const std::string& path);

/// "a.hdr" keeps its voxels in "a.img", and either of them may be gzipped: the header of `path`, and the file of its
/// voxels, which are the same but for such pairs.
std::array<std::string, 2> nifti_files(const std::string& path);

/// Index to world in NIfTI's axes, of which the first two point the other way: three rows of four numbers, in mm.
using NiftiTransform = std::array<double, 12>;

/// The transforms of a header, where their codes say that they are there.
std::optional<NiftiTransform> nifti_qform(const NiftiHeader& header);
std::optional<NiftiTransform> nifti_sform(const NiftiHeader& header);
NiftiTransform nifti_transform(const Grid& grid);
/// True if both are the same in the float32 of the header.
bool same_transform(const NiftiTransform& a, const NiftiTransform& b);

/// The scaling of stored numbers: by the standard they are as they are where the slope is 0, and by convention where it
/// is NaN.
Scaling nifti_scaling(const NiftiHeader& header);

/// The notes of a header whose voxels have this grid: description, auxiliary file and codes of its two transforms.
/// These are those of transforms that say the grid: readers take one of two, which is written as both, so a code whose
/// transform was another gives way to the one that was taken.
HeaderNotes read_nifti_notes(const NiftiHeader& header, const Grid& grid);

/// The name by which ITK finds the voxels of a file: beside "a.nii" it would take that for "a.nii.gz". There it is a
/// link in a folder that is removed with this object; otherwise the path itself.
class NiftiName {
 public:
  explicit NiftiName(const std::string& path);
  NiftiName(const NiftiName&) = delete;
  NiftiName& operator=(const NiftiName&) = delete;
  const std::string& get() const { return name_; }

 private:
  std::string name_;
  std::optional<TemporaryFolder> folder_;
};

/// `itk` with its origin in mm: ITK 5 takes lengths in m and micrometres into account for the spacing alone. Warns
/// where the two transforms of a header differ.
Grid nifti_grid(const std::string& path, const Grid& itk);

/// Throws InputError for a header with which ITK would end the process, or go wrong without a word: sizes, spacings,
/// scales, rotations and origins that are out of range or contradict each other, places of voxels within the header, a
/// header that is cut or damaged, and for a file of a pair that is none; and for versions and types of voxels that ITK
/// does not read. Files of other formats pass.
void check_nifti_header(const std::string& path);

}  // namespace halocline
