// Halos between slabs that stay on their devices: read by the device that owns them and written by the one that needs
// them, from the same page-locked memory, while both compute.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "host/device.hpp"
#include "scheduling/slabs/slab.hpp"
#include "scheduling/transport/bus_traffic.hpp"

namespace halocline {

/// Every device has one slab of the plan, and a thread. An exchange is begun by one thread; then that of every device
/// says when its slices are there, and fetches those of the others.
class HaloExchange {
 public:
  /// Of the arrays `names`. The devices and the plan's slabs are copied, the traffic is kept.
  HaloExchange(const Plan& plan, const std::vector<Device>& devices, std::vector<std::string> names,
               BusTraffic& traffic);

  /// The next exchange: each slab gets `low` slices below its interior and `high` above, as far as it holds them.
  void begin(std::int64_t low, std::int64_t high);
  /// The parts that a device's interior is best made in: first those that others wait for, in order, then the rest.
  std::vector<Range> parts(int device) const;
  /// What others wait for will be in `slab` when `made` has ended. It must stay there until all threads have fetched.
  void offer(int device, const Slab& slab, Event made);
  /// There will be none: has no effect after offer().
  void withdraw(int device);
  /// Gets this slab's halos: true when they have arrived. They are not read or written by other commands that end after
  /// `free`. False if a device withdrew. Touches nothing of the slab that its other functions do.
  bool fetch(int device, Slab& slab, const Event& free);

 private:
  struct Offer {
    const Slab* slab = nullptr;
    Event made;
    bool withdrawn = false;
  };
  struct Piece {  // bytes of an array of the whole volume
    const std::string* name;
    std::size_t begin, bytes;
  };
  std::vector<Range> halos(int device) const;
  std::vector<Piece> pieces(const Slab& slab, int from, int to) const;
  const Offer* wait_for(int device);
  struct Stream;
  static std::size_t ahead(const Stream& stream);
  static std::size_t largest(const std::vector<Piece>& pieces);
  void read(Stream& stream, std::size_t number);

  std::map<int, SlabPlan> slabs_;  // by device
  std::int64_t border_slices_;
  std::vector<Device> devices_;
  std::vector<std::string> names_;
  BusTraffic& traffic_;
  std::int64_t low_ = 0, high_ = 0;
  std::mutex mutex_;
  std::condition_variable offered_;
  std::map<int, Offer> offers_;
  struct Chunk {
    PinnedMemory memory;  // of the device that is read: measured to be as fast for the other one
    Event read, written;
  };
  std::map<std::pair<int, int>, std::vector<Chunk>> chunks_;  // by the devices from and to which they serve
};

}  // namespace halocline
