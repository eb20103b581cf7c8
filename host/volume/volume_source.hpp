// Sources and sinks of the voxels of a volume, as float32, in any place and type: runs read and write pieces, so that
// the whole volume need not be in host memory as float32.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "host/opencl/device.hpp"
#include "host/volume/run_sums.hpp"
#include "host/volume/volume.hpp"

namespace halocline {

class VolumeSource {
 public:
  virtual ~VolumeSource() = default;
  virtual const Grid& grid() const = 0;
  /// Voxels [first, first + count), numbered as in Volume::voxels, to `to`. Called by several threads at a time, and
  /// more than once for the same voxels, which must then be the same.
  virtual void read(std::size_t first, std::size_t count, float* to) const = 0;
  /// All voxels, if they are in host memory as float32; else nullptr.
  virtual const float* data() const { return nullptr; }

  // Voxels on devices (see DistributedArray); a source that wraps another one forwards these.
  /// Voxels on `device`, whole slices: copy_to() copies them within it.
  virtual VoxelRange voxels_on(const Device& /*device*/) const { return {}; }
  /// Copies voxels [first, first + count), all of which are in voxels_on(to.device), once `waits` have ended. Returns
  /// the end of the copy, on the device's compute queue.
  virtual Event copy_to(const DevicePlace& to, std::size_t first, std::size_t count,
                        std::span<const Event> waits) const;
  /// True if voxels_on() is not empty for some device.
  virtual bool on_devices() const { return false; }
  /// Sums over runs of voxels, computed where they are, with the bits of one thread of the host. Nothing where they are
  /// not on devices, or a device lacks float64 or room for the sums.
  virtual std::optional<std::vector<RunSums>> sums_of_runs(std::span<const VoxelRange> /*runs*/) const { return {}; }
  /// Facts of all voxels, found where they are. Nothing where they are not all on devices.
  virtual std::optional<VoxelFacts> facts() const { return {}; }
  /// Bytes that calls of read() have moved over the bus so far.
  virtual std::size_t bus_bytes() const { return 0; }
};

/// Work on so many voxels at a place once an event has ended. Returns its end.
using VoxelWork = std::function<Event(const DevicePlace& at, std::size_t count, const Event& after)>;
/// The one and then the other; either may be empty.
VoxelWork in_turn(VoxelWork first, VoxelWork second);

class VolumeSink {
 public:
  virtual ~VolumeSink() = default;
  virtual const Grid& grid() const = 0;
  /// Called before the first write; again if a run begins again, which then writes all voxels again.
  virtual void begin() {}
  /// Voxels [first, first + count); `from` may be overwritten. Called by several threads at a time, in any order, for
  /// every voxel once.
  virtual void write(std::size_t first, std::size_t count, float* from) = 0;
  /// Host memory of all voxels, if the sink has it; else nullptr. Undefined until write(first, count, data() + first)
  /// reports that these voxels are there.
  virtual float* data() { return nullptr; }

  // The counterparts of those of VolumeSource:
  /// Voxels whose place is on `device`, whole slices: take_from() brings them there without the bus.
  virtual VoxelRange voxels_on(const Device& /*device*/) const { return {}; }
  /// Copies voxels [first, first + count), all of which are in voxels_on(from.device), once `waits` have ended, and
  /// does `then` (empty: nothing) to the copies; all has ended when the call returns. Replaces the write() of these
  /// voxels.
  virtual void take_from(const DevicePlace& from, std::size_t first, std::size_t count, std::span<const Event> waits,
                         const VoxelWork& then);
  /// True if voxels_on() is not empty for some device.
  virtual bool on_devices() const { return false; }
  /// Bytes that calls of write() have moved over the bus so far.
  virtual std::size_t bus_bytes() const { return 0; }
};

/// True if some of the voxels are, or belong, on one of these devices.
bool lies_on(const VolumeSource& source, std::span<const Device> devices);
bool lies_on(const VolumeSink& sink, std::span<const Device> devices);

/// Host memory of a caller, who keeps it alive: grid.count() values.
class MemorySource : public VolumeSource {
 public:
  MemorySource(const Grid& grid, const float* voxels) : grid_(grid), voxels_(voxels) {}
  explicit MemorySource(const Volume& volume) : MemorySource(volume.grid, volume.voxels.data()) {}
  const Grid& grid() const override { return grid_; }
  void read(std::size_t first, std::size_t count, float* to) const override;
  const float* data() const override { return voxels_; }

 private:
  Grid grid_;
  const float* voxels_;
};

class MemorySink : public VolumeSink {
 public:
  MemorySink(const Grid& grid, float* voxels) : grid_(grid), voxels_(voxels) {}
  explicit MemorySink(Volume& volume) : MemorySink(volume.grid, volume.voxels.data()) {}
  const Grid& grid() const override { return grid_; }
  void write(std::size_t first, std::size_t count, float* from) override;
  float* data() override { return voxels_; }

 private:
  Grid grid_;
  float* voxels_;
};

/// `source` minus `shift`; a sink that adds it again is below. Both are rounded once.
class ShiftedSource : public VolumeSource {
 public:
  ShiftedSource(const VolumeSource& source, float shift) : source_(source), shift_(shift) {}
  const Grid& grid() const override { return source_.grid(); }
  void read(std::size_t first, std::size_t count, float* to) const override;
  VoxelRange voxels_on(const Device& device) const override { return source_.voxels_on(device); }
  Event copy_to(const DevicePlace& to, std::size_t first, std::size_t count,
                std::span<const Event> waits) const override;
  bool on_devices() const override { return source_.on_devices(); }
  std::size_t bus_bytes() const override { return source_.bus_bytes(); }

 private:
  const VolumeSource& source_;
  float shift_;
};

class ShiftedSink : public VolumeSink {
 public:
  ShiftedSink(VolumeSink& sink, float shift) : sink_(sink), shift_(shift) {}
  const Grid& grid() const override { return sink_.grid(); }
  void begin() override { sink_.begin(); }
  void write(std::size_t first, std::size_t count, float* from) override;
  float* data() override { return sink_.data(); }
  VoxelRange voxels_on(const Device& device) const override { return sink_.voxels_on(device); }
  void take_from(const DevicePlace& from, std::size_t first, std::size_t count, std::span<const Event> waits,
                 const VoxelWork& then) override;
  bool on_devices() const override { return sink_.on_devices(); }
  std::size_t bus_bytes() const override { return sink_.bus_bytes(); }

 private:
  VolumeSink& sink_;
  float shift_;
};

/// `source` divided by `divisor` in double. Devices without float64 do not divide.
class DividedSource : public VolumeSource {
 public:
  DividedSource(const VolumeSource& source, double divisor) : source_(source), divisor_(divisor) {}
  const Grid& grid() const override { return source_.grid(); }
  void read(std::size_t first, std::size_t count, float* to) const override;
  VoxelRange voxels_on(const Device& device) const override;
  Event copy_to(const DevicePlace& to, std::size_t first, std::size_t count,
                std::span<const Event> waits) const override;
  bool on_devices() const override { return source_.on_devices(); }
  std::size_t bus_bytes() const override { return source_.bus_bytes(); }

 private:
  const VolumeSource& source_;
  double divisor_;
};

/// Voxels that are worth a call of read() or write() of their own: 1 MiB of float32.
constexpr std::size_t voxels_in_a_piece = std::size_t{1} << 18;

/// All voxels of `source` to `sink`, in pieces, from several threads. Grids of one size. begin() is the caller's
/// business.
void copy_voxels(const VolumeSource& source, VolumeSink& sink);
Volume read_volume(const VolumeSource& source);

/// `source` on another grid of as many voxels. Holds it.
class PlacedSource : public VolumeSource {
 public:
  PlacedSource(std::unique_ptr<VolumeSource> source, const Grid& grid) : source_(std::move(source)), grid_(grid) {}
  const Grid& grid() const override { return grid_; }
  void read(std::size_t first, std::size_t count, float* to) const override { source_->read(first, count, to); }
  const float* data() const override { return source_->data(); }
  VoxelRange voxels_on(const Device& device) const override { return source_->voxels_on(device); }
  Event copy_to(const DevicePlace& to, std::size_t first, std::size_t count,
                std::span<const Event> waits) const override {
    return source_->copy_to(to, first, count, waits);
  }
  bool on_devices() const override { return source_->on_devices(); }
  std::optional<std::vector<RunSums>> sums_of_runs(std::span<const VoxelRange> runs) const override {
    return source_->sums_of_runs(runs);
  }
  std::optional<VoxelFacts> facts() const override { return source_->facts(); }
  std::size_t bus_bytes() const override { return source_->bus_bytes(); }

 private:
  std::unique_ptr<VolumeSource> source_;
  Grid grid_;
};

/// Reads all voxels, those on devices there.
ValueRange value_range(const VolumeSource& source);

/// The range of what passes, from all threads.
class RangeWatch {
 public:
  void see(const float* values, std::size_t count);
  void see(const ValueRange& range);
  void forget();
  /// 0, 0 if nothing passed.
  ValueRange range() const;

 private:
  mutable std::mutex mutex_;
  bool any_ = false;
  ValueRange range_;
};

class WatchedSource : public VolumeSource {
 public:
  explicit WatchedSource(const VolumeSource& source) : source_(source) {}
  const Grid& grid() const override { return source_.grid(); }
  void read(std::size_t first, std::size_t count, float* to) const override;
  VoxelRange voxels_on(const Device& device) const override { return source_.voxels_on(device); }
  Event copy_to(const DevicePlace& to, std::size_t first, std::size_t count,
                std::span<const Event> waits) const override {
    return source_.copy_to(to, first, count, waits);
  }
  bool on_devices() const override { return source_.on_devices(); }
  std::optional<std::vector<RunSums>> sums_of_runs(std::span<const VoxelRange> runs) const override {
    return source_.sums_of_runs(runs);
  }
  std::optional<VoxelFacts> facts() const override { return source_.facts(); }
  std::size_t bus_bytes() const override { return source_.bus_bytes(); }
  /// Range of all voxels.
  ValueRange range() const { return on_devices() ? value_range(source_) : watch_.range(); }

 private:
  const VolumeSource& source_;
  mutable RangeWatch watch_;
};

class WatchedSink : public VolumeSink {
 public:
  explicit WatchedSink(VolumeSink& sink) : sink_(sink) {}
  const Grid& grid() const override { return sink_.grid(); }
  void begin() override {
    watch_.forget();
    sink_.begin();
  }
  void write(std::size_t first, std::size_t count, float* from) override;
  float* data() override { return sink_.data(); }
  VoxelRange voxels_on(const Device& device) const override { return sink_.voxels_on(device); }
  void take_from(const DevicePlace& from, std::size_t first, std::size_t count, std::span<const Event> waits,
                 const VoxelWork& then) override;
  bool on_devices() const override { return sink_.on_devices(); }
  std::size_t bus_bytes() const override { return sink_.bus_bytes() + bus_bytes_; }
  ValueRange range() const { return watch_.range(); }

 private:
  VolumeSink& sink_;
  RangeWatch watch_;
  std::atomic<std::size_t> bus_bytes_{0};
};

}  // namespace halocline
