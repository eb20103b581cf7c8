#include "apps/images/memory_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "apps/images/image_format.hpp"
#include "host/system/error.hpp"

namespace halocline {
namespace {

constexpr std::string_view prefix = "mem:";
thread_local MemoryFiles* current = nullptr;

// Values of the caller, converted as they are read.
class BorrowedSource : public VolumeSource {
 public:
  BorrowedSource(const Grid& grid, Component component, const Scaling& scaling, const void* values,
                 std::shared_ptr<TypedVolume> owner)
      : grid_(grid), component_(component), scaling_(scaling), values_(values), owner_(std::move(owner)) {}
  const Grid& grid() const override { return grid_; }
  void read(std::size_t first, std::size_t count, float* to) const override {
    const auto* from = static_cast<const std::byte*>(values_) + first * component_bytes(component_);
    convert_to_float(component_, from, false, to, count, scaling_);
  }
  const float* data() const override {
    return component_ == Component::float32 && scaling_.identity() ? static_cast<const float*>(values_) : nullptr;
  }

 private:
  Grid grid_;
  Component component_;
  Scaling scaling_;
  const void* values_;
  std::shared_ptr<TypedVolume> owner_;
};

// Values on a device, which are kept.
class ArraySource : public VolumeSource {
 public:
  ArraySource(const Grid& grid, std::shared_ptr<DistributedArray> array) : grid_(grid), array_(std::move(array)) {}
  const Grid& grid() const override { return grid_; }
  void read(std::size_t first, std::size_t count, float* to) const override { array_->read(first, count, to); }
  VoxelRange voxels_on(const Device& device) const override { return array_->voxels_on(device); }
  Event copy_to(const DevicePlace& to, std::size_t first, std::size_t count,
                std::span<const Event> waits) const override {
    return array_->copy_to(to, first, count, waits);
  }
  bool on_devices() const override { return array_->on_devices(); }
  std::optional<std::vector<RunSums>> sums_of_runs(std::span<const VoxelRange> runs) const override {
    return array_->sums_of_runs(runs);
  }
  std::optional<VoxelFacts> facts() const override { return array_->facts(); }
  std::size_t bus_bytes() const override { return array_->bus_bytes(); }

 private:
  Grid grid_;
  std::shared_ptr<DistributedArray> array_;
};

}  // namespace

// Writes to memory of its own, or to the caller's place.
class MemoryImageSink : public ImageSink {
 public:
  MemoryImageSink(MemoryFiles& files, std::string name, const Grid& grid, const ImageStorage& storage, float* place)
      : files_(files), name_(std::move(name)), grid_(grid), storage_(storage), place_(place) {
    if (place_ == nullptr) {
      own_ = std::make_shared<TypedVolume>(grid, storage.component, storage.scaling);
      typed_.emplace(*own_);
    }
  }
  const Grid& grid() const override { return grid_; }
  void begin() override {
    if (typed_) typed_->begin();
  }
  void write(std::size_t first, std::size_t count, float* from) override {
    if (typed_)
      typed_->write(first, count, from);
    else if (from != place_ + first)
      std::copy_n(from, count, place_ + first);
  }
  float* data() override {
    if (place_ != nullptr) return place_;
    const bool plain = storage_.component == Component::float32 && storage_.scaling.identity();
    return plain ? own_->memory.data() : nullptr;
  }
  std::size_t changed() const override { return typed_ ? typed_->changed() : 0; }
  void commit() override {
    files_.images_[name_] = {grid_, storage_.component, storage_.scaling,
                             place_ != nullptr ? static_cast<const void*>(place_) : own_->bytes(), own_};
  }

 private:
  MemoryFiles& files_;
  std::string name_;
  Grid grid_;
  ImageStorage storage_;
  float* place_;
  std::shared_ptr<TypedVolume> own_;
  std::optional<TypedSink> typed_;
};

// Writes to memory of a device.
class DeviceImageSink : public ImageSink {
 public:
  DeviceImageSink(MemoryFiles& files, std::string name, const Grid& grid, std::shared_ptr<DistributedArray> array)
      : files_(files), name_(std::move(name)), grid_(grid), array_(std::move(array)) {}
  const Grid& grid() const override { return grid_; }
  void write(std::size_t first, std::size_t count, float* from) override { array_->write(first, count, from); }
  VoxelRange voxels_on(const Device& device) const override { return sink().voxels_on(device); }
  void take_from(const DevicePlace& from, std::size_t first, std::size_t count, std::span<const Event> waits,
                 const VoxelWork& then) override {
    array_->take_from(from, first, count, waits, then);
  }
  bool on_devices() const override { return sink().on_devices(); }
  std::size_t bus_bytes() const override { return sink().bus_bytes(); }
  std::size_t changed() const override { return 0; }
  void commit() override { files_.images_[name_] = {grid_, Component::float32, {}, nullptr, nullptr, array_}; }

 private:
  const VolumeSink& sink() const { return *array_; }

  MemoryFiles& files_;
  std::string name_;
  Grid grid_;
  std::shared_ptr<DistributedArray> array_;
};

std::string MemoryFiles::path(const std::string& name) {
  return std::string(prefix) + name;
}

void MemoryFiles::add(const std::string& name, const Grid& grid, Component component, const void* values) {
  images_[name] = {grid, component, {}, values, nullptr};
}

void MemoryFiles::place(const std::string& name, float* values, std::size_t count) {
  places_[name] = {values, count};
}

void MemoryFiles::add(const std::string& name, std::shared_ptr<DistributedArray> values) {
  const Grid grid = values->grid();
  images_[name] = {grid, Component::float32, {}, nullptr, nullptr, std::move(values)};
}

void MemoryFiles::place(const std::string& name, std::shared_ptr<DistributedArray> values) {
  const std::size_t count = values->grid().count();
  places_[name] = {nullptr, count, std::move(values)};
}

void MemoryFiles::place(const std::string& name, const Device& device) {
  places_[name] = {nullptr, 0, nullptr, device};
}

const MemoryFiles::Image& MemoryFiles::image(const std::string& name) const {
  const auto found = images_.find(name);
  if (found == images_.end()) throw InputError(fmt::format("there is no array '{}'", name));
  return found->second;
}

ImageInfo MemoryFiles::info(const std::string& name) const {
  const Image& found = image(name);
  return {found.grid, component_name(found.component), "memory", found.scaling};
}

std::unique_ptr<VolumeSource> MemoryFiles::open(const std::string& name) const {
  const Image& found = image(name);
  if (found.array) return std::make_unique<ArraySource>(found.grid, found.array);
  if (found.values == nullptr) throw InputError(fmt::format("the array '{}' has a grid and no values", name));
  return std::make_unique<BorrowedSource>(found.grid, found.component, found.scaling, found.values, found.own);
}

std::unique_ptr<ImageSink> MemoryFiles::create(const std::string& name, const Grid& grid, const ImageStorage& storage) {
  const auto found = places_.find(name);
  if (found == places_.end()) return std::make_unique<MemoryImageSink>(*this, name, grid, storage, nullptr);
  const Place& place = found->second;
  const bool plain = storage.component == Component::float32 && storage.scaling.identity();
  if (place.device) {
    if (!plain) return std::make_unique<MemoryImageSink>(*this, name, grid, storage, nullptr);
    auto memory = Buffer::for_others(*place.device, name, grid.count() * sizeof(float));
    return std::make_unique<DeviceImageSink>(
        *this, name, grid, std::make_shared<DistributedArray>(grid, *place.device, std::move(memory)));
  }
  if (!plain || place.count != grid.count())
    throw InputError(fmt::format("the array for '{}' has {} values of float32; the result has {} of {}", name,
                                 place.count, grid.count(), component_name(storage.component)));
  if (place.array) return std::make_unique<DeviceImageSink>(*this, name, grid, place.array);
  return std::make_unique<MemoryImageSink>(*this, name, grid, storage, place.values);
}

TypedVolume MemoryFiles::take(const std::string& name) {
  const Image found = image(name);
  images_.erase(name);
  if (found.own) return std::move(*found.own);
  TypedVolume empty;
  empty.grid = found.grid;
  return empty;
}

std::shared_ptr<DistributedArray> MemoryFiles::on_device(const std::string& name) const {
  return image(name).array;
}

MemoryFilesScope::MemoryFilesScope(MemoryFiles* files) : before_(std::exchange(current, files)) {}
MemoryFilesScope::~MemoryFilesScope() {
  current = before_;
}

bool is_in_memory(std::string_view path) {
  return current != nullptr && path.starts_with(prefix);
}

std::string name_in_memory(std::string_view path) {
  return std::string(path.substr(prefix.size()));
}

namespace {

class MemoryFormat : public ImageFormat {
 public:
  const std::vector<std::string>& write_extensions() const override { return none_; }
  const std::vector<std::string>& read_extensions() const override { return none_; }
  bool reads(const std::string& path) const override { return is_in_memory(path); }
  bool writes(const std::string& path) const override { return is_in_memory(path); }
  ImageInfo info(const std::string& path) const override { return current->info(name_in_memory(path)); }
  std::unique_ptr<VolumeSource> open(const std::string& path) const override {
    return current->open(name_in_memory(path));
  }
  bool is_read_in_pieces(const std::string&) const override { return true; }
  bool is_streamable() const override { return true; }
  void check_storage(const std::string&, const ImageStorage&) const override {}
  void check_writable(const std::string&) const override {}
  std::unique_ptr<ImageSink> create(const std::string& path, const Grid& grid,
                                    const ImageStorage& storage) const override {
    return current->create(name_in_memory(path), grid, storage);
  }
  bool was_written(const std::string& path, std::size_t) const override { return current->has(name_in_memory(path)); }

 private:
  std::vector<std::string> none_;
};

}  // namespace

const ImageFormat& memory_format() {
  static const MemoryFormat format;
  return format;
}

bool is_on_device(std::string_view path) {
  if (!is_in_memory(path)) return false;
  const std::string name = name_in_memory(path);
  return current->has(name) && current->on_device(name) != nullptr;
}

}  // namespace halocline
