// A format of image files: the names that it has, and how it is read and written. A new format is a file with a class
// derived from this one, its function below, and its place in file_formats() (image_formats.cpp).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/images/image_info.hpp"
#include "apps/images/image_sink.hpp"
#include "host/volume/volume.hpp"
#include "host/volume/volume_source.hpp"

namespace halocline {

/// Reads images of some kind.
class ImageReader {
 public:
  virtual ~ImageReader() = default;
  /// Returns true for a path that it reads.
  virtual bool reads(const std::string& path) const = 0;
  /// Grid and type, from the header only. Throws InputError.
  virtual ImageInfo info(const std::string& path) const = 0;
  /// The values, not checked for NaN and Inf.
  virtual std::unique_ptr<VolumeSource> open(const std::string& path) const = 0;
  /// Returns true if open() leaves the voxels on the disk.
  virtual bool is_read_in_pieces(const std::string& /*path*/) const { return false; }
  /// Throws InputError if the voxels are missing or too few, as far as that is seen without reading them.
  virtual void check_voxels(const std::string& /*path*/) const {}
};

class ImageFormat : public ImageReader {
 public:
  /// Extensions in lower case, with their dots.
  virtual const std::vector<std::string>& write_extensions() const = 0;
  /// Extensions of files that are read alone.
  virtual const std::vector<std::string>& read_extensions() const = 0;

  /// Goes by the extensions.
  bool reads(const std::string& path) const override;
  /// Returns true for a name that this format writes.
  virtual bool writes(const std::string& path) const;
  /// Returns true if the format's writer knows the extension of this name in lower case only.
  virtual bool wants_lower_case(const std::string& /*path*/) const { return false; }
  /// Throws InputError where this build cannot read or write the format.
  virtual void require_available(const std::string& /*path*/, bool /*writing*/) const {}

  // Members for series of files of one slice each.
  /// Returns true if the files of this folder are one volume by themselves.
  virtual bool reads_folder(const std::string& /*path*/) const { return false; }
  /// Brings files that say where they lie into the order of their places. Returns the stack; none: they do not say.
  virtual std::optional<ImageInfo> place_slices(std::vector<std::string>& /*files*/,
                                                const std::string& /*series*/) const {
    return {};
  }
  /// Throws InputError that names both files if one of the series is of another kind than its first one.
  virtual void require_one_kind(const std::vector<std::string>& /*files*/, const std::string& /*series*/) const {}

  /// Returns true if create() writes voxels to the file as they come.
  virtual bool is_streamable() const { return false; }
  /// Throws InputError if the format cannot keep voxels stored so.
  virtual void check_storage(const std::string& path, const ImageStorage& storage) const = 0;
  /// Throws InputError or FileError if nothing can be written there.
  virtual void check_writable(const std::string& path) const = 0;
  /// Throws FileError if the disk has no room, InputError for sizes that the format does not hold.
  virtual void require_room(const std::string& /*path*/, const Grid& /*grid*/, Component /*component*/) const {}
  virtual std::unique_ptr<ImageSink> create(const std::string& path, const Grid& grid,
                                            const ImageStorage& storage) const = 0;
  /// Joins the sink of another process with this temporary file; nullptr: the format has no such sinks.
  virtual std::unique_ptr<ImageSink> join(const std::string& /*path*/, const Grid& /*grid*/,
                                          const ImageStorage& /*storage*/, const std::string& /*temporary*/) const {
    return nullptr;
  }
  /// Writes float32 in one go.
  virtual void write(const Volume& volume, const std::string& path, const HeaderNotes& notes) const;
  /// Returns true if an image of so many slices was written there.
  virtual bool was_written(const std::string& path, std::size_t slices) const;
};

/// The format that reads a file, a series or an array in memory. Throws InputError that lists the formats.
const ImageReader& format_to_read(const std::string& path);
/// The format that reads one file. Throws as well.
const ImageFormat& file_format(const std::string& path);
/// The format that writes such a name. Throws InputError that lists the formats.
const ImageFormat& format_to_write(const std::string& path);
/// nullptr: none writes it.
const ImageFormat* find_format_to_write(const std::string& path);
/// Formats of files, in the order in which they are asked.
const std::vector<const ImageFormat*>& file_formats();
/// Extensions of files that are written or read, with their dots.
std::vector<std::string> image_extensions(bool written);
[[noreturn]] void refuse_extension(const std::string& path, bool writing);

/// The extension in lower case; ".nii.gz" is one extension.
std::string extension_of(const std::string& path);
bool holds(const std::vector<std::string>& list, const std::string& item);

const ImageFormat& memory_format();
const ImageFormat& meta_format();
/// NRRD, NIfTI, TIFF, HDF5, DICOM; without ITK it refuses them.
const ImageFormat& itk_format();
/// Files of one slice each in any of the formats of files, named by a pattern or a folder.
const ImageReader& series_format();

}  // namespace halocline
