// A slab with its arrays on a device, as the executor sees it: with transfers.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "host/opencl/staging.hpp"
#include "host/volume/volume_source.hpp"
#include "scheduling/slabs/slab.hpp"

namespace halocline {

class DeviceSlab : public Slab {
 public:
  /// Allocates all arrays for the largest slabs of device number `device_index` of the plan, and begins with the first
  /// of them.
  DeviceSlab(Device device, const Plan& plan, int device_index);
  /// Waits for all commands, so that host memory and arrays outlive them.
  ~DeviceSlab();

  /// Allocates another array of the plan.
  using Slab::add;
  /// Makes the arrays those of another slab of the device. Contents do not change.
  void move_to(const SlabPlan& slab) { plan_ = slab; }
  SlabPlan current() const { return plan_; }
  /// Transfers slices (global numbers) of a volume or slice array from/to host memory that holds slices from
  /// `host_begin` on. Returns the bytes moved, as all transfers of slices do.
  std::size_t upload(const std::string& name, Range slices, const void* host, std::int64_t host_begin);
  std::size_t download(const std::string& name, Range slices, void* host, std::int64_t host_begin);
  /// Like download(), but staged data may arrive later: when settle() or wait() returns.
  std::size_t download_later(const std::string& name, Range slices, void* host, std::int64_t host_begin);
  std::size_t download_later(const std::string& name, Range slices, VolumeSink& sink);
  void settle() { later_.settle(); }
  /// A copy of `bytes` from one array to another.
  struct Copy {
    std::string from;
    std::size_t from_offset;
    std::string to;
    std::size_t to_offset, bytes;
  };
  void copy(const std::vector<Copy>& copies);
  bool has(const std::string& name) const { return arrays_.contains(name); }
  /// Transfers slices of a float32 volume from a source, in pieces, or to a sink, which has all of them when the call
  /// returns. Voxels that reside on this device are copied there, and not counted.
  std::size_t upload(const std::string& name, Range slices, const VolumeSource& source);
  std::size_t download(const std::string& name, Range slices, VolumeSink& sink);
  /// Transfers `bytes` at `offset` of an array.
  void upload_bytes(const std::string& name, std::size_t offset, const void* host, std::size_t bytes);
  void download_bytes(const std::string& name, std::size_t offset, void* host, std::size_t bytes);
  /// Uploads `bytes` to an array, at its beginning or at `offset`; `fill` writes them in pieces to staging memory.
  void upload_bytes(const std::string& name, std::size_t offset, std::size_t bytes, const Staging::Piece& fill);
  void upload_bytes(const std::string& name, std::size_t bytes, const Staging::Piece& fill) {
    upload_bytes(name, 0, bytes, fill);
  }
  /// Downloads `bytes` at `offset` of an array to `take`, in pieces; all have arrived when the call returns.
  void download_bytes(const std::string& name, std::size_t offset, std::size_t bytes, const Staging::Piece& take);
  /// Copies voxels [first, first + count) of a source to byte `offset` of an array, or from there to a sink, within
  /// this device. False, without effect, where they do not all reside on it.
  bool copy_from(const VolumeSource& source, std::size_t first, std::size_t count, const std::string& name,
                 std::size_t offset);
  bool copy_to(VolumeSink& sink, std::size_t first, std::size_t count, const std::string& name, std::size_t offset);
  /// Keeps the commands that are enqueued during its lifetime, those of a step with this name. Commands that are not
  /// kernels, fills and copies within the device throw InputError meanwhile.
  class Keeping {
   public:
    Keeping(DeviceSlab& slab, KeptSteps& into, const std::string& step);
    Keeping(const Keeping&) = delete;
    Keeping& operator=(const Keeping&) = delete;
    ~Keeping();

   private:
    DeviceSlab& slab_;
  };
  /// Enqueues them again. The slab's arrays have not been allocated again since.
  void replay(const KeptSteps& steps);
  /// True if a transfer of so many bytes is not staged.
  bool direct(std::size_t bytes) const { return staging_.direct(bytes); }
  /// The last enqueued command.
  const Event& last() const { return last_; }
  /// Returns a function that downloads slices of a float32 volume to `sink` once `written` has ended, waits for them,
  /// and returns the bytes moved. One other thread at a time may call such functions meanwhile: no command waits for
  /// them, so slices must not be overwritten before they return, and the array must not be swapped.
  std::function<std::size_t()> fetch(const std::string& name, Range slices, Event written, VolumeSink& sink);
  /// Reads `bytes` of an array to host memory once `made` has ended, or writes them once `free` has; `begin` counts
  /// from the volume's first slice. Not ordered with other commands. Thread-safe.
  Event read_part(const std::string& name, std::size_t begin, std::size_t bytes, std::byte* to,
                  const Event& made) const;
  Event write_part(const std::string& name, std::size_t begin, std::size_t bytes, const std::byte* from,
                   const Event& free) const;
  /// Waits for all commands.
  void wait();
  /// Frees page-locked memory until the next staged transfer.
  void release_staging();
  /// Throws for failed commands as wait() does, without waiting.
  void check() { device_.check(); }
  /// Seconds of kernels until the last wait(), since the last call; in plans of iterations with several resident slabs.
  double take_busy_seconds() { return std::exchange(busy_seconds_, 0); }
  /// Marks the last command, on any queue, as the end of a step, and waits until at most `newer` marked steps are in
  /// flight, which keeps Ctrl-C and progress close to the device. Calls `meanwhile` until then, while it returns true.
  void mark_step(std::size_t newer = 2, const std::function<bool()>& meanwhile = {});

 private:
  void require_float_volume(const std::string& name) const;
  void download_later(const std::string& name, Range slices, const Staging::Piece& take);
  void upload_over_bus(const std::string& name, Range slices, const VolumeSource& source);
  static Event read_slices(Staging& staging, const Buffer& buffer, std::size_t slice, Range slices,
                           std::int64_t buffer_begin, VolumeSink& sink, std::span<const Event> waits);

  Staging later_, fetching_;  // later_: for download_later(), whose chunks are busy for longer
  std::deque<Event> steps_;
};

}  // namespace halocline
