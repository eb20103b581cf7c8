// Image files that are written piece by piece.
#pragma once

#include <cstddef>
#include <string>

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

  // A file that several processes write, each some of the voxels: one creates the sink, and the others join it with
  // the path of its temporary file (join_image()). They end their parts before the first one's commit().
  /// Voxels that a process has written.
  struct Part {
    std::size_t written = 0, changed = 0;
  };
  /// The temporary file after reserve(); empty where the voxels are in memory until commit().
  virtual std::string temporary_path() const { return {}; }
  /// Forces the voxels of this process to the disk.
  virtual Part end_part() { return {}; }
  /// Counts the voxels of another process as written.
  virtual void add(const Part& /*of_another*/) {}
};

}  // namespace halocline
