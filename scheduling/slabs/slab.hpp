// A slab as an algorithm sees it: named arrays and launches, without events, neighbours and devices.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "host/opencl/device.hpp"
#include "host/opencl/fft.hpp"
#include "host/opencl/staging.hpp"
#include "host/volume/volume_source.hpp"
#include "scheduling/planning/array_access.hpp"
#include "scheduling/planning/plan.hpp"
#include "scheduling/slabs/graph.hpp"
#include "scheduling/slabs/structs.hpp"

namespace halocline {

using SlabArgument = std::variant<ArrayAccess, LocalBytes, StructArgument, std::int32_t, std::uint32_t, std::int64_t,
                                  std::uint64_t, float, double, std::array<float, 2>, std::array<float, 4>>;

/// Commands of steps with their arguments, and the arrays that they use.
struct KeptSteps {
  CommandList commands;
  std::vector<std::pair<std::string, Access>> accesses;  ///< one an array
};

struct DeclaredArguments;

/// One slab on one device. Arrays are those that the algorithm declared, of exactly the declared bytes; another name is
/// a logic_error. Slices are numbered as in the whole volume; slice `extended().begin` is the first in the buffers.
class Slab {
 public:
  Slab(const Slab&) = delete;
  Slab& operator=(const Slab&) = delete;

  Range interior() const { return plan_.interior; }
  Range extended() const { return plan_.extended; }
  Range rows() const { return plan_.rows; }
  std::int32_t nx() const { return static_cast<std::int32_t>(requirements_.size[0]); }
  std::int32_t ny() const { return static_cast<std::int32_t>(requirements_.size[1]); }
  std::int32_t nz() const { return static_cast<std::int32_t>(requirements_.size[2]); }
  /// Global number of the first slice in the buffers: kernels subtract it.
  std::int32_t offset() const { return static_cast<std::int32_t>(plan_.extended.begin); }
  /// Extent of the volume and these of its slices, for kernels (cl/extent.clh).
  StructArgument extent(Range slices) const;
  const DeviceInfo& device() const { return device_.info(); }
  /// The number that tuning found for this name, device and class of problem; 0 where it found none.
  int tuned(const std::string& name) const;

  /// The arguments that a kernel takes (host/opencl/kernel_arguments.hpp).
  DeclaredArguments declared_arguments(const KernelSpec& spec);
  /// Enqueues a kernel over `global` work-items with the arguments in the kernel's order.
  void launch(const KernelSpec& spec, std::array<std::size_t, 3> global, const std::vector<SlabArgument>& arguments);
  /// Enqueues a kernel with one work-item a voxel of `slices`: global = (nx, ny, slices.count()).
  void launch(const KernelSpec& spec, Range slices, const std::vector<SlabArgument>& arguments);
  /// Enqueues a kernel with this group shape.
  void launch(const KernelSpec& spec, std::array<std::size_t, 3> global, std::array<std::size_t, 3> group,
              const std::vector<SlabArgument>& arguments);
  void fill(const std::string& name, float value);
  /// Fills slices of a volume or slice array.
  void fill(const std::string& name, float value, Range slices);
  /// Does an in-place complex FFT of `batch` rows of `length` in array `name`.
  void fft(const std::string& name, std::size_t length, std::size_t batch, bool inverse);
  /// Swaps the contents of two arrays (of the same declaration but for lifetime), for passes that do not work in place.
  void swap(const std::string& a, const std::string& b);
  /// Copies projections of the slab's rows to these rows of the first `layers` of an image array; all rows of an array
  /// that declares its own.
  void copy_to_image(const std::string& from, const std::string& to, std::size_t layers);
  /// Width, height and layers of an image or planes array.
  std::array<std::size_t, 3> image_extent(const std::string& name) const;
  /// Bytes of one slice of a volume or slice array.
  std::size_t slice_bytes(const std::string& name) const;
  /// Reads the beginning of an array to host memory, and waits for it.
  void read(const std::string& name, void* host, std::size_t bytes);
  /// Writes host memory, which is copied before the call returns, to a `fixed` array.
  void set(const std::string& name, const void* data, std::size_t bytes);

  /// Translates the names of arrays during its lifetime: a step that was written with names of its own works on the
  /// program's arrays `names.at(n)`. Other names are unchanged.
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
  /// The program's array that `name` is now translated to.
  const std::string& resolved(const std::string& name) const;

 protected:
  /// Allocates all arrays for the largest slabs of device number `device_index` of the plan, and begins with the first
  /// of them.
  Slab(Device device, const Plan& plan, int device_index);
  ~Slab() = default;
  void add(const ArrayNeed& need, const Plan& plan, int device_index);

  struct Array {
    ArrayNeed need;
    Buffer buffer;
    ImageArray image;
  };
  Array& array(const std::string& name);
  const Array& array(const std::string& name) const;
  Event enqueue(Queue queue, const std::vector<std::pair<std::string, Access>>& accesses,
                const std::function<Event(std::span<const Event>)>& command);

  void require_kept(bool kept, const std::string& found) const;

  Device device_;
  const std::map<std::string, std::string>* names_ = nullptr;
  Staging staging_;
  Requirements requirements_;
  SlabPlan plan_;
  std::map<std::string, Array> arrays_;
  DependencyGraph<Event> graph_;
  KeptSteps* kept_ = nullptr;  // steps that are kept as they are enqueued,
  std::string kept_step_;      // the current one of which has this name
  Event last_;
  bool timed_;                   // true to keep
  std::vector<Event> computed_;  // commands since the last wait(),
  double busy_seconds_ = 0;      // and the seconds of those before
  std::map<std::pair<std::size_t, std::size_t>, Fft> ffts_;
  std::deque<std::pair<Event, std::shared_ptr<std::vector<std::byte>>>> keep_;  // host copies for uploads in flight
};

}  // namespace halocline
