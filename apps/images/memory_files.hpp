// Images that lie in memory under names such as "mem:volume", which everything here takes as it takes files: for
// programs that call the command's verbs with arrays.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "apps/images/image_info.hpp"
#include "apps/images/image_sink.hpp"
#include "host/volume/device_array.hpp"
#include "host/volume/typed_volume.hpp"

namespace halocline {

/// The images of one run. One thread at a time.
class MemoryFiles {
 public:
  /// "mem:" and `name`.
  static std::string path(const std::string& name);

  /// An image to be read: grid.count() values in the host's byte order, which the caller keeps alive. nullptr: only the
  /// grid is there.
  void add(const std::string& name, const Grid& grid, Component component, const void* values);
  /// Sets the place of the voxels of an image that will be written, as float32, if it has that type and `count` voxels.
  void place(const std::string& name, float* values, std::size_t count);
  /// Values on a device, and a place there: an array, or new memory of the device for an image of
  /// float32 (Buffer::for_others()).
  void add(const std::string& name, std::shared_ptr<DistributedArray> values);
  void place(const std::string& name, std::shared_ptr<DistributedArray> values);
  void place(const std::string& name, const Device& device);

  bool has(const std::string& name) const { return images_.contains(name); }
  /// The header of an image that was added or written. Throws InputError for one that was not.
  ImageInfo info(const std::string& name) const;
  std::unique_ptr<VolumeSource> open(const std::string& name) const;
  /// Written on commit().
  std::unique_ptr<ImageSink> create(const std::string& name, const Grid& grid, const ImageStorage& storage);
  /// An image that was written, without a copy. Empty memory where it lies at its place() or on a device.
  TypedVolume take(const std::string& name);
  /// The voxels of an image that lies on a device; nullptr: it does not.
  std::shared_ptr<DistributedArray> on_device(const std::string& name) const;

 private:
  friend class MemoryImageSink;
  friend class DeviceImageSink;
  struct Image {
    Grid grid;
    Component component = Component::float32;
    Scaling scaling;
    const void* values = nullptr;  // memory of the caller
    std::shared_ptr<TypedVolume> own;
    std::shared_ptr<DistributedArray> array = {};
  };
  struct Place {
    float* values;
    std::size_t count;
    std::shared_ptr<DistributedArray> array = {};
    std::optional<Device> device = {};
  };
  const Image& image(const std::string& name) const;

  std::map<std::string, Image> images_;
  std::map<std::string, Place> places_;
};

/// While one of these lives, names with "mem:" stand for `files` in this thread.
class MemoryFilesScope {
 public:
  explicit MemoryFilesScope(MemoryFiles* files);
  MemoryFilesScope(const MemoryFilesScope&) = delete;
  MemoryFilesScope& operator=(const MemoryFilesScope&) = delete;
  ~MemoryFilesScope();

 private:
  MemoryFiles* before_;
};

/// True if `path` names one, where this thread has MemoryFiles; else it is a file's name as any other.
bool is_in_memory(std::string_view path);
/// True if `path` names one on a device.
bool is_on_device(std::string_view path);
std::string name_in_memory(std::string_view path);

}  // namespace halocline
