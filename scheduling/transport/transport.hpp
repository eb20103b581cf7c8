// What moves data between the parts of a run: halos of volumes, parts of ray sums, values that are added up.
// DeviceParts share nothing else, so a form that passes messages between processes can stand beside the one for the
// devices of one process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "host/opencl/device.hpp"
#include "scheduling/planning/plan.hpp"
#include "scheduling/transport/bus_traffic.hpp"

namespace halocline {

class HaloExchange;

/// The array that takes the sums of a step's or pass' slices, or of its views.
inline constexpr const char* sums_array = "(sums)";

class Transport {
 public:
  virtual ~Transport() = default;

  /// Bytes [first, first + count) of an array that belongs to all parts. put() is seen by those that pass a
  /// barrier, or await a ticket, that this part comes to later. By several threads.
  virtual void put(const std::string& array, std::size_t first, std::size_t count, const std::byte* from) = 0;
  virtual void get(const std::string& array, std::size_t first, std::size_t count, std::byte* to) const = 0;

  /// The parts of the rays of a batch that lie in the slabs up to and including `slab` are there.
  virtual void pass_on(std::size_t slab, std::int64_t batch) = 0;
  /// Whether that has been said.
  virtual bool passed_on(std::size_t slab, std::int64_t batch) = 0;
  /// Waits for that. Throws ClError if the part that was to pass it on has failed.
  virtual void await(std::size_t slab, std::int64_t batch) = 0;
  /// A step begins: nothing has been passed on.
  virtual void begin_step() = 0;
  /// This part cannot go on: those who wait for it are let go.
  virtual void fail() = 0;

  /// What exchanges halos of the volumes `names` between resident slabs, while these compute. The
  /// traffic is kept.
  virtual std::unique_ptr<HaloExchange> exchange(const Plan& plan, const std::vector<Device>& devices,
                                                 std::vector<std::string> names, BusTraffic& traffic) = 0;
};

}  // namespace halocline
