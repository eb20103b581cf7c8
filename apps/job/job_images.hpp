// The voxels of a job: images read and written, with the time that this takes.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <string>

#include "apps/images/image_file.hpp"
#include "apps/images/image_sink.hpp"
#include "apps/job/stage_times.hpp"
#include "host/volume/cutout.hpp"
#include "host/volume/volume.hpp"
#include "scheduling/planning/range.hpp"

namespace halocline {

class JobImages {
 public:
  JobImages(StageTimes& times, bool allow_nonfinite) : times_(times), allow_nonfinite_(allow_nonfinite) {}

  /// All voxels. NaN and infinite values are refused, or become 0 if they are allowed; replaced() counts them.
  Volume read(const std::string& path);
  /// The voxels of a box.
  Volume read(const std::string& path, const Cutout& part);
  /// Projections, flats and darks (open_rays()), whose NaN and infinite values remain if they are allowed.
  Volume read_rays(const std::string& path);
  std::unique_ptr<VolumeSource> open_rays(const std::string& path);
  /// notes: of the image that it was made of.
  void write(const Volume& volume, const std::string& path, const HeaderNotes& notes = {});
  /// Writes to the place that was reserved for it; returns what ReservedImage::write() does.
  std::size_t write(const Volume& volume, ReservedImage& image);
  /// Pieces of an image, as far as the format lets (see open_image and create_image): nothing holds the whole volume as
  /// float32. create() takes the room on the disk; the file is there after commit().
  std::unique_ptr<VolumeSource> open(const std::string& path);
  std::unique_ptr<ImageSink> create(const std::string& path, const Grid& grid, const ImageStorage& storage);
  void commit(ImageSink& image);
  /// The input of a run: left where it is on a device, else read to host memory. grid: of as many voxels, on which they
  /// lie; nullptr: the image's.
  std::unique_ptr<VolumeSource> take(const std::string& path, const Grid* grid = nullptr);
  /// The stack with these rows of it read to host memory (HeldRows).
  std::unique_ptr<VolumeSource> hold_rows(std::unique_ptr<VolumeSource> stack, Range rows);

  /// Numbers of values that became 0 until now, by path.
  std::map<std::string, std::size_t> replaced() const;

 private:
  StageTimes& times_;
  bool allow_nonfinite_;
  std::map<std::string, std::shared_ptr<const std::atomic<std::size_t>>> replaced_;
};

}  // namespace halocline
