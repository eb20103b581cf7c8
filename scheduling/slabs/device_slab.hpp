// A slab with its arrays on a device, as the executor sees it: transfers, and other slabs that take its place.
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
  /// Allocates every declared array for the largest of the slabs that `plan` gives to its device number `device_index`,
  /// and begins with the first of them.
  DeviceSlab(Device device, const Plan& plan, int device_index);
  /// Waits for what is in flight, so that host memory and arrays outlive their commands.
  ~DeviceSlab();

  /// Allocates another array, no image, that `plan` has beside those that the slab was made with.
  using Slab::add;
  /// From now on the arrays hold another slab of the same device. Contents stay as they are.
  void move_to(const SlabPlan& slab) { plan_ = slab; }
  /// Copies slices (global numbers) of a volume or slice array from/to host memory that holds slices from `host_begin`
  /// on.
  std::size_t upload(const std::string& name, Range slices, const void* host, std::int64_t host_begin);
  std::size_t download(const std::string& name, Range slices, void* host, std::int64_t host_begin);
  /// As download(), but what goes through page-locked memory may arrive later: when settle() or wait() returns.
  std::size_t download_later(const std::string& name, Range slices, void* host, std::int64_t host_begin);
  /// Returns the bytes that cross the bus, as download() does.
  std::size_t download_later(const std::string& name, Range slices, VolumeSink& sink);
  void settle() { later_.settle(); }
  /// `bytes` from one array into another, on the device.
  struct Copy {
    std::string from;
    std::size_t from_offset;
    std::string to;
    std::size_t to_offset, bytes;
  };
  void copy(const std::vector<Copy>& copies);
  /// Whether there is such an array.
  bool has(const std::string& name) const { return arrays_.contains(name); }
  /// upload() and download() of a volume array of float32 (an upload: or one that declares how it is encoded), from
  /// where the voxels come from, piece by piece into the memory that the bus reads; and to where they go, all of which
  /// have arrived when the call returns. Voxels that lie on this device, or go to a place there, are copied without the
  /// bus. Both return the bytes that crossed it.
  std::size_t upload(const std::string& name, Range slices, const VolumeSource& source);
  std::size_t download(const std::string& name, Range slices, VolumeSink& sink);
  /// `bytes` at `offset` of an array (projections).
  void upload_bytes(const std::string& name, std::size_t offset, const void* host, std::size_t bytes);
  void download_bytes(const std::string& name, std::size_t offset, void* host, std::size_t bytes);
  /// `bytes` into an array, at its beginning or at `offset`, which `fill` writes piece by piece into the memory that
  /// the bus reads.
  void upload_bytes(const std::string& name, std::size_t offset, std::size_t bytes, const Staging::Piece& fill);
  void upload_bytes(const std::string& name, std::size_t bytes, const Staging::Piece& fill) {
    upload_bytes(name, 0, bytes, fill);
  }
  /// `bytes` at `offset` of an array, which `take` gets piece by piece; all have arrived when the call returns.
  void download_bytes(const std::string& name, std::size_t offset, std::size_t bytes, const Staging::Piece& take);
  /// Voxels [first, first + count) of a source to byte `offset` of an array (projections), or from there to a sink,
  /// within this device. False, and nothing is done, where they do not all lie here.
  bool copy_from(const VolumeSource& source, std::size_t first, std::size_t count, const std::string& name,
                 std::size_t offset);
  bool copy_to(VolumeSink& sink, std::size_t first, std::size_t count, const std::string& name, std::size_t offset);
  /// Whether an upload of so many bytes takes them from where they lie.
  bool direct(std::size_t bytes) const { return staging_.direct(bytes); }
  /// The last command that was enqueued here.
  const Event& last() const { return last_; }
  /// What downloads slices of a volume of float32 to `sink` once `written` has ended, and returns the bytes that
  /// crossed the bus when all have arrived. One other thread at a time may call such functions while this one goes on:
  /// no command waits for them, so whoever writes these slices again does so after their return. Not after a swap() of
  /// the array.
  std::function<std::size_t()> fetch(const std::string& name, Range slices, Event written, VolumeSink& sink);
  /// `bytes` of an array, `begin` counted from the volume's first slice, to host memory once `made` has ended, and from
  /// there once `free` has: not ordered with other commands, so that other threads may call these at any time.
  Event read_part(const std::string& name, std::size_t begin, std::size_t bytes, std::byte* to,
                  const Event& made) const;
  Event write_part(const std::string& name, std::size_t begin, std::size_t bytes, const std::byte* from,
                   const Event& free) const;
  /// Waits until all that was enqueued here has ended.
  void wait();
  /// Gives page-locked memory back until the next transfer that needs it.
  void release_staging();
  /// Throws as wait() does for commands that have ended and failed, without waiting.
  void check() { device_.check(); }
  /// Seconds that kernels ran until the last wait(), since this was called before; in plans of iterations with several
  /// resident slabs.
  double take_busy_seconds() { return std::exchange(busy_seconds_, 0); }
  /// Marks what was enqueued last, on any queue, as the end of a step, and waits until at most `newer` of the steps
  /// marked so far are in flight: keeps Ctrl-C and progress close to the device. `meanwhile` is called until then, as
  /// long as it finds something to do.
  void mark_step(std::size_t newer = 2, const std::function<bool()>& meanwhile = {});

 private:
  void require_float_volume(const std::string& name) const;
  void download_later(const std::string& name, Range slices, const Staging::Piece& take);
  void upload_over_bus(const std::string& name, Range slices, const VolumeSource& source);
  static Event read_slices(Staging& staging, const Buffer& buffer, std::size_t slice, Range slices,
                           std::int64_t buffer_begin, VolumeSink& sink, std::span<const Event> waits);

  Staging later_, fetching_;  // later_: of download_later(), whose chunks stay busy longer
  std::deque<Event> steps_;
};

}  // namespace halocline
