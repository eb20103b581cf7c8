// Halos between devices of one process: read by the device that owns them and written by the one that needs them, from
// the same page-locked memory, while both compute.
#pragma once

#include <condition_variable>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "scheduling/slabs/device_slab.hpp"
#include "scheduling/transport/bus_traffic.hpp"
#include "scheduling/transport/halo_exchange.hpp"

namespace halocline {

class InProcessHalos : public HaloExchange {
 public:
  /// Of the arrays `names`. The devices are copied, the traffic is kept.
  InProcessHalos(const Plan& plan, const std::vector<Device>& devices, std::vector<std::string> names,
                 BusTraffic& traffic);

  void offer(int device, const DeviceSlab& slab, Event made) override;
  void withdraw(int device) override;
  bool fetch(int device, DeviceSlab& slab, const Event& free) override;

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
  void forget_offers() override;
  std::vector<Piece> pieces(const DeviceSlab& slab, int from, int to) const;
  const Offer* wait_for(int device);
  struct Stream;
  static std::size_t ahead(const Stream& stream);
  static std::size_t largest(const std::vector<Piece>& pieces);
  void read(Stream& stream, std::size_t number);

  std::vector<Device> devices_;
  std::vector<std::string> names_;
  BusTraffic& traffic_;
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
