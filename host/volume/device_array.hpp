// A volume that is kept on devices between jobs.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "host/opencl/device.hpp"
#include "host/system/uninitialised.hpp"
#include "host/volume/volume_source.hpp"

namespace halocline {

/// A float32 volume in pieces on one or several devices, or spilled to host memory: every job that takes a source or a
/// sink takes it as it is. A device's own slices reach a job that runs there without the bus; all others, and host code
/// that calls read() and write(), go through the host. The memory is booked in the devices' ledgers and held there, so
/// that plans of later jobs do without it (MemoryLedger::available()).
///
/// Several threads may use one at a time; spill() only while no job does.
class DistributedArray : public VolumeSource, public VolumeSink {
 public:
  /// A device's slices [begin, end).
  struct Share {
    Device device;
    std::int64_t begin = 0, end = 0;
  };
  /// Voxels hold anything. `shares`: one a device, in the order of slices, all of the grid's together; empty: the array
  /// is spilled from the beginning. `name` is that of the ledgers. Throws BudgetError where a budget is passed, ClError
  /// where a device has no memory, std::logic_error for shares that are not the grid's.
  DistributedArray(std::string name, const Grid& grid, std::vector<Share> shares);
  /// Uses the caller's memory on one device (Buffer::adopt()), from byte `offset` of the buffer on, a multiple of 4:
  /// not booked, and never spilled. Throws std::logic_error where it is too small.
  DistributedArray(const Grid& grid, Device device, Buffer buffer, std::size_t offset = 0);
  ~DistributedArray() override;
  DistributedArray(const DistributedArray&) = delete;
  DistributedArray& operator=(const DistributedArray&) = delete;

  const Grid& grid() const override { return grid_; }
  const std::vector<Share>& shares() const { return shares_; }
  bool spilled() const { return pieces_.empty(); }
  /// Moves all voxels to host memory, and frees the devices' memory. No effect where they are there, or in the caller's
  /// memory. Throws InputError where the scratch folder has no room, ClError.
  void spill();

  void read(std::size_t first, std::size_t count, float* to) const override;
  void write(std::size_t first, std::size_t count, float* from) override;
  /// nullptr unless it is spilled.
  const float* data() const override { return spilled() ? host_.data() : nullptr; }
  float* data() override { return spilled() ? host_.data() : nullptr; }
  VoxelRange voxels_on(const Device& device) const override;
  Event copy_to(const DevicePlace& to, std::size_t first, std::size_t count,
                std::span<const Event> waits) const override;
  void take_from(const DevicePlace& from, std::size_t first, std::size_t count, std::span<const Event> waits,
                 const VoxelWork& then) override;
  bool on_devices() const override { return !spilled(); }
  /// Bytes over the bus of read(), write() and spill(), with the voxels on devices.
  std::size_t bus_bytes() const override { return bus_bytes_; }

  std::optional<std::vector<RunSums>> sums_of_runs(std::span<const VoxelRange> runs) const override;
  std::optional<VoxelFacts> facts() const override;
  /// The memory of an array of one piece.
  const Buffer& buffer() const { return pieces_.front().buffer; }

 private:
  struct Piece {
    Device device;
    VoxelRange voxels;
    Buffer buffer;
    std::size_t offset = 0;  // of its first voxel, in bytes
    Event last = {};         // that uses the buffer

    DevicePlace place(std::size_t voxel) { return {device, buffer, offset + sizeof(float) * (voxel - voxels.begin)}; }
  };
  void allocate();
  void release();
  template <class Work>
  void for_each_piece(std::size_t first, std::size_t count, Work&& work) const;
  Event last_of(const Piece& piece) const;
  void used_by(Piece& piece, const Event& event) const;

  std::string name_;
  Grid grid_;
  std::vector<Share> shares_;
  bool adopted_ = false;              // somebody else's memory
  mutable std::deque<Piece> pieces_;  // in the order of voxels
  UninitialisedVector<float> host_;   // where it is spilled
  mutable std::mutex mutex_;          // of Piece::last
  mutable std::atomic<std::size_t> bus_bytes_{0};
};

/// Calls `work`. Where it fails for a lack of device memory (PlanError, or ClError of a driver that has none) while
/// some of the arrays (nullptr: none) are on devices, spills these and calls it once more.
void with_room(std::span<DistributedArray* const> arrays, const std::function<void()>& work);

}  // namespace halocline
