// What an algorithm sees of the slab it works on: named arrays and launches. Events, neighbours and devices stay behind
// it.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "host/device.hpp"
#include "host/fft.hpp"
#include "host/staging.hpp"
#include "host/volume_source.hpp"
#include "scheduling/planning/array_access.hpp"
#include "scheduling/planning/plan.hpp"
#include "scheduling/slabs/graph.hpp"
#include "scheduling/slabs/structs.hpp"

namespace halocline {

using SlabArgument = std::variant<ArrayAccess, LocalBytes, StructArgument, std::int32_t, std::uint32_t, std::int64_t,
                                  std::uint64_t, float, double, std::array<float, 2>, std::array<float, 4>>;

/// One slab on one device. Arrays are those that the algorithm declared, of exactly the declared bytes; asking for
/// another name is a logic_error. Slices are numbered as in the whole volume; slice `extended().begin` is the first in
/// the buffers.
class Slab {
 public:
  /// Allocates every declared array for the largest of the slabs that `plan` gives to its device number `device_index`,
  /// and moves to the first of them.
  Slab(Device device, const Plan& plan, int device_index);
  Slab(const Slab&) = delete;
  Slab& operator=(const Slab&) = delete;
  /// Waits for what is in flight, so that host memory and arrays outlive their commands.
  ~Slab();

  Range interior() const { return plan_.interior; }
  Range extended() const { return plan_.extended; }
  Range rows() const { return plan_.rows; }
  std::int32_t nx() const { return static_cast<std::int32_t>(requirements_.size[0]); }
  std::int32_t ny() const { return static_cast<std::int32_t>(requirements_.size[1]); }
  std::int32_t nz() const { return static_cast<std::int32_t>(requirements_.size[2]); }
  /// Global number of the first slice in the buffers: kernels subtract it.
  std::int32_t offset() const { return static_cast<std::int32_t>(plan_.extended.begin); }
  /// The volume and these of its slices, for kernels that take cl/extent.clh's Extent.
  StructArgument extent(Range slices) const;
  const DeviceInfo& device() const { return device_.info(); }

  /// Enqueues a kernel over `global` work-items with the arguments in the kernel's order.
  void launch(const KernelSpec& spec, std::array<std::size_t, 3> global, const std::vector<SlabArgument>& arguments);
  /// The same with one work-item a voxel of `slices`: global = (nx, ny, slices.count()).
  void launch(const KernelSpec& spec, Range slices, const std::vector<SlabArgument>& arguments);
  /// With an explicit group shape.
  void launch(const KernelSpec& spec, std::array<std::size_t, 3> global, std::array<std::size_t, 3> group,
              const std::vector<SlabArgument>& arguments);
  void fill(const std::string& name, float value);
  /// The same of slices of a volume or slice array.
  void fill(const std::string& name, float value, Range slices);
  /// In-place complex FFT of `batch` rows of `length` in array `name`.
  void fft(const std::string& name, std::size_t length, std::size_t batch, bool inverse);
  /// From now on each has the other's contents (of the same declaration but for lifetime): how a pass that does not
  /// work in place becomes the state.
  void swap(const std::string& a, const std::string& b);
  /// Projections of the slab's rows into these rows of the first `layers` of an image array; of an array that declares
  /// rows of its own, all of them.
  void copy_to_image(const std::string& from, const std::string& to, std::size_t layers);
  /// Width, height and layers of an image or planes array.
  std::array<std::size_t, 3> image_extent(const std::string& name) const;
  /// Host memory into a `fixed` array (a filter, matrices). The data is copied before the call returns.
  void set(const std::string& name, const void* data, std::size_t bytes);

  /// While it lives, `names.at(n)` stands for an array that is called n: a step of a program that was written with
  /// names of its own works on the program's arrays. Other names stand for themselves.
  class Names {
   public:
    Names(Slab& slab, const std::map<std::string, std::string>& names);
    Names(const Names&) = delete;
    Names& operator=(const Names&) = delete;
    ~Names();

   private:
    Slab& slab_;
    const std::map<std::string, std::string>* before_;
  };

  // For the executor:
  /// From now on the arrays hold another slab of the same device. Contents stay as they are.
  void move_to(const SlabPlan& slab);
  /// Copies slices (global numbers) of a volume or slice array from/to host memory that holds slices from `host_begin`
  /// on.
  void upload(const std::string& name, Range slices, const void* host, std::int64_t host_begin);
  void download(const std::string& name, Range slices, void* host, std::int64_t host_begin);
  /// As download(), but what goes through page-locked memory may arrive later: when settle() or wait() returns.
  void download_later(const std::string& name, Range slices, void* host, std::int64_t host_begin);
  /// Returns the bytes that cross the bus, as download() does.
  std::size_t download_later(const std::string& name, Range slices, VolumeSink& sink);
  void settle();
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
  /// Bytes of one slice of a volume or slice array.
  std::size_t slice_bytes(const std::string& name) const;
  /// Waits until all that was enqueued here has ended.
  void wait();
  /// Gives page-locked memory back until the next transfer that needs it.
  void release_staging();
  /// Throws as wait() does for commands that have ended and failed, without waiting.
  void check() { device_.check(); }
  /// Seconds that kernels ran until the last wait(), since this was called before; in plans of iterations with several
  /// slabs that stay.
  double take_busy_seconds() { return std::exchange(busy_seconds_, 0); }
  /// Marks what was enqueued last, on any queue, as the end of a step, and waits until at most `newer` of the steps
  /// marked so far are in flight: keeps Ctrl-C and progress close to the device. `meanwhile` is called until then, as
  /// long as it finds something to do.
  void mark_step(std::size_t newer = 2, const std::function<bool()>& meanwhile = {});

 private:
  struct Array {
    ArrayNeed need;
    Buffer buffer;
    ImageArray image;
  };
  Array& array(const std::string& name);
  const Array& array(const std::string& name) const;
  void require_float_volume(const std::string& name) const;
  void upload_encoded(const Array& array, Range slices, const VolumeSource& source);
  template <class Voxels>
  Range slices_here(const Voxels& voxels, std::size_t slice, Range slices) const;
  void upload_over_bus(const std::string& name, Range slices, const VolumeSource& source);
  void hand_over(const Buffer& buffer, std::size_t slice, Range slices, std::int64_t buffer_begin, VolumeSink& sink,
                 std::span<const Event> waits) const;
  static Event read_slices(Staging& staging, const Buffer& buffer, std::size_t slice, Range slices,
                           std::int64_t buffer_begin, VolumeSink& sink, std::span<const Event> waits);
  Event enqueue(Queue queue, const std::vector<std::pair<std::string, Access>>& accesses,
                const std::function<Event(std::span<const Event>)>& command);

  const std::string& resolved(const std::string& name) const;

  Device device_;
  const std::map<std::string, std::string>* names_ = nullptr;
  Staging staging_, later_, fetching_;  // later_: of download_later(), whose chunks stay busy longer
  Requirements requirements_;
  SlabPlan plan_;
  std::map<std::string, Array> arrays_;
  DependencyGraph<Event> graph_;
  Event last_;
  std::deque<Event> steps_;
  bool timed_;                   // whether
  std::vector<Event> computed_;  // holds commands since the last wait(),
  double busy_seconds_ = 0;      // and how long those before it took, that nobody asked for
  std::map<std::pair<std::size_t, std::size_t>, Fft> ffts_;
  std::vector<std::shared_ptr<std::vector<std::byte>>> keep_;  // host copies that uploads in flight read
};

}  // namespace halocline
