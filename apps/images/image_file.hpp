// The single entry point for image files: the name's extension decides the format.
//
// Always: .mha, .mhd, .raw with its .mhd beside it. Through ITK: .nrrd, .nii, .nii.gz, .tif, .tiff, and for reading
// also .nhdr, .hdr/.img, .h5, .hdf5, .dcm, a folder with one DICOM series or with TIFF files, and whatever else those
// readers recognise by content. A series of files of these formats is named by a pattern (see image_series.hpp). TIFF
// keeps neither origin nor direction nor the spacing between slices.
#pragma once

#include <memory>
#include <string>

#include "apps/images/image_info.hpp"
#include "apps/images/image_sink.hpp"
#include "host/volume/cutout.hpp"
#include "host/volume/finite_source.hpp"
#include "host/volume/volume.hpp"

namespace halocline {

/// Grid and type of an image, from its header only. Throws InputError.
ImageInfo read_image_info(const std::string& path);

/// Throws InputError that names both files if `path`, of the series, is of another kind than its first file, which
/// require_same_images() does not see: white-is-zero, with another orientation, or without the other's rescale.
void require_same_kind(const std::string& path, const std::string& first, const std::string& series);

/// Throws InputError if no file of a series that grows (check_growing_series()) can ever be read: for a folder or an
/// extension whose format this build cannot read, and for one of formats that no build reads. Others may be known by
/// their content once they are there.
void check_readable_series(const std::string& series);

/// Warns, if the file is TIFF, which grid was taken for a volume, as these files do not keep it; `remedy` ends the
/// sentence.
void warn_of_grid(const ImageInfo& info, const std::string& name, const std::string& remedy);

/// Reads a 2D or 3D image of any scalar type as float32; 2D gets size 1 along z. NaN and Inf are an InputError that
/// says where, or become 0 with `allow_nonfinite`. Throws InputError that names the file, what was found and what was
/// expected.
/// `replaced`, where it is given: how many became 0.
Volume read_image(const std::string& path, bool allow_nonfinite = false, std::size_t* replaced = nullptr);

/// Reads a box of voxels, which must lie in the image. Only they are read, as far as the format allows (MetaImage
/// without compression does); only they are looked at for NaN and Inf.
Volume read_image_part(const std::string& path, const Cutout& part, bool allow_nonfinite = false,
                       std::size_t* replaced = nullptr);

/// Writes float32. The file appears whole or not at all; an older one is replaced only then. Throws InputError for an
/// unknown extension, FileError with path and remedy if the disk is full or the folder cannot be written. Files
/// compressed through ITK (.nii.gz) are read back to be sure, which needs the volume's memory once more. A .tif with a
/// place for a number becomes a file a slice (apps/images/slice_files.hpp).
void write_image(const Volume& volume, const std::string& path, const HeaderNotes& notes = {});

/// Opens an image for reading in pieces, as float32. MetaImage files that are not compressed (.mha, .mhd, .raw) and
/// series of files other than DICOM remain on the disk: nothing but what is asked for is read, and a file that is too
/// short is refused here. All others are read here, and held in their own type. NaN and Inf are as in read_image, found
/// as they are read.
std::unique_ptr<FiniteSource> open_image(const std::string& path, bool allow_nonfinite = false);
/// Reads projections, flats and darks: with `allow_nonfinite` they keep values that are not finite, which were not
/// measured; what is larger than any ray (require_rays()) is refused.
std::unique_ptr<FiniteSource> open_rays(const std::string& path, bool allow_nonfinite);
Volume read_rays(const std::string& path, bool allow_nonfinite);

/// True if open_image() keeps the voxels on the disk. Throws InputError as read_image_info() does.
bool is_read_in_pieces(const std::string& path);

/// Throws open_image()'s InputError if the file of voxels is missing or too short, as far as that is seen without
/// reading it: of MetaImage files that are not compressed.
void check_image_file(const std::string& path);

/// An image file to be written in pieces, of any type of voxels. MetaImage files go to the disk as they come; the other
/// formats are gathered in their type and written by commit(). What is refused: see check_storage().
std::unique_ptr<ImageSink> create_image(const std::string& path, const Grid& grid, const ImageStorage& storage);

/// Joins the sink that another process created with the same arguments, whose ImageSink::temporary_path() this is.
/// Throws InputError for formats other than MetaImage, and FileError where the file is not seen.
std::unique_ptr<ImageSink> join_image(const std::string& path, const Grid& grid, const ImageStorage& storage,
                                      const std::string& temporary);

/// The place of an image that is written in one go, after the work that makes it. Where voxels go to the file as they
/// come, its room is taken on the disk at construction, so that no other program can take it during the work; of the
/// other formats it is only looked whether there is room. If it is never written, nothing is left.
class ReservedImage {
 public:
  /// Throws as create_image() does, and FileError if the disk has no room.
  ReservedImage(std::string path, const Grid& grid, const ImageStorage& storage = {});
  /// All voxels, of a volume with the grid; then the file is there. Called again when a run begins again: without room
  /// that was kept. Returns how many values lay beyond what the type can hold, and became the nearest that it can.
  std::size_t write(const Volume& volume);

 private:
  std::string path_;
  Grid grid_;
  ImageStorage storage_;
  std::unique_ptr<ImageSink> image_;  // if there is one already
};

/// True if create_image() writes the format of `path` piece by piece, and open_image() reads it so if it is not
/// compressed.
bool is_streamable(const std::string& path);

/// Throws InputError if the format of `path` cannot keep voxels stored so: float16 needs MetaImage, scalings that or
/// whole numbers in NIfTI (which rounds slope and offset to float32), TIFF
/// through ITK takes uint8, int8, uint16, int16 and float32 only.
void check_storage(const std::string& path, const ImageStorage& storage);

/// Throws as write_image would, before a long computation: InputError for an unknown extension, a missing folder or a
/// place for a number where there is none (apps/images/slice_files.hpp), FileError for a folder that cannot be written.
/// Leaves nothing behind.
void check_writable(const std::string& path);

/// True if an image of so many slices was written there.
bool was_written(const std::string& path, std::size_t slices);

}  // namespace halocline
