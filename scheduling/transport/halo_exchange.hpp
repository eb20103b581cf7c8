// Halos between resident slabs: each is read by the device that owns it and written by the device that needs it, from
// the same page-locked memory, while both compute. Between ranks a message carries it from memory to memory.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "scheduling/slabs/device_slab.hpp"
#include "scheduling/transport/bus_traffic.hpp"
#include "scheduling/transport/ranks.hpp"

namespace halocline {

/// Each device has one slab of the plan, and those of this process a thread. One thread begins an exchange; then the
/// thread of each device offers its slices and fetches those of the others.
class HaloExchange {
 public:
  /// Exchanges halos of the arrays `names`. Keeps a reference to the traffic alone. Throws InputError for more devices
  /// of a rank than have tags.
  HaloExchange(const Plan& plan, const std::vector<Device>& devices, std::vector<std::string> names,
               BusTraffic& traffic);

  /// Begins an exchange: each slab gets `low` slices below its interior and `high` above, as far as it holds them.
  void begin(std::int64_t low, std::int64_t high);
  /// Parts in which a device computes its interior: first those that others wait for, in order, then the rest.
  std::vector<Range> parts(int device) const;

  /// Offers the slices that others wait for, valid once `made` has ended. They must not change until all threads have
  /// fetched.
  void offer(int device, const DeviceSlab& slab, Event made);
  /// Tells others not to wait. No effect after offer().
  void withdraw(int device);
  /// Copies this slab's halos, and sends its slices to other ranks. Returns true when the halos have arrived, false if
  /// a device withdrew. Commands that end after `free` must not use the halos. Other functions of the slab may run at
  /// the same time.
  bool fetch(int device, DeviceSlab& slab, const Event& free);

 private:
  struct Offer {
    const DeviceSlab* slab = nullptr;
    Event made;
    bool withdrawn = false;
  };
  struct Piece {  // bytes of an array of the whole volume
    const std::string* name;
    std::size_t begin, bytes;
  };
  struct Chunk {  // room for a piece
    std::byte* data() const { return memory->data() + at; }
    std::shared_ptr<PinnedMemory> memory;  // of the device that is read: measured to be as fast for the other one
    std::size_t at = 0;
    Event read, written;
    Message message;  // on its way to or from another rank
  };
  struct Stream;
  struct Arrivals;
  struct Departures;
  std::vector<Range> halos(int device) const;
  std::vector<Range> shared(int from, int to) const;
  std::vector<Piece> pieces(const DeviceSlab& slab, int from, int to) const;
  const Offer* wait_for(int device);

  bool is_here(int device) const { return rank_of_.at(device) == all_.rank(); }
  Stream stream(int from, int to, const DeviceSlab& slab);
  int tag(int from, int to) const { return number_of_.at(from) * most_devices_ + number_of_.at(to); }

  Ranks& all_;
  std::map<int, int> rank_of_, number_of_;  // by device: its rank, and its number there
  int most_devices_;                        // of a rank
  std::map<int, SlabPlan> slabs_;           // by device
  std::int64_t border_slices_;
  std::int64_t low_ = 0, high_ = 0;
  std::map<int, Device> devices_;  // of this process
  std::vector<std::string> names_;
  BusTraffic& traffic_;
  std::mutex mutex_;
  std::condition_variable offered_;
  std::map<int, Offer> offers_;
  std::map<std::pair<int, int>, std::vector<Chunk>> chunks_;  // by the devices from and to which halos move
};

}  // namespace halocline
