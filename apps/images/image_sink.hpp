// Image files that are written piece by piece.
#pragma once

#include <cstddef>

#include "host/volume/volume_source.hpp"

namespace halocline {

/// begin(), write() for every voxel, commit(): then the file is there, whole. Without commit() nothing is left and an
/// older file of that name is untouched. All throw FileError with path and remedy.
class ImageSink : public VolumeSink {
 public:
  /// Takes the room of the file on the disk, where format and disk allow it: before the work that makes the voxels, so
  /// that no other program can take it meanwhile. begin() does it otherwise.
  virtual void reserve() {}
  virtual void commit() = 0;
  /// The number of values beyond the range of the voxels' type, which became the nearest in it.
  virtual std::size_t changed() const = 0;
};

}  // namespace halocline
