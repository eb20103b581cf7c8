// Transfers between a device's arrays and host memory, one task ahead for arrays with a second buffer
// (scheduling/planning/second_buffers.hpp).
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "scheduling/planning/step_tasks.hpp"
#include "scheduling/slabs/device_slab.hpp"
#include "scheduling/transport/bus_traffic.hpp"
#include "scheduling/transport/transport.hpp"

namespace halocline {

class ArrayTransfers {
 public:
  ArrayTransfers(const Plan& plan, DeviceSlab& slab, Transport& transport, BusTraffic& traffic);

  /// Begins a step. Results in the volumes `replaced` go to their second arrays (ArrayRole::next).
  void begin_step(std::map<std::string, std::string> second_buffers, const std::vector<std::string>& replaced);
  /// Loads the inputs of the next task, whose slab the arrays hold now; into second buffers while enqueued kernels may
  /// still use the arrays themselves. Results that were in second buffers have been stored.
  void load_inputs(const std::vector<Residence::Move>& moves);
  /// Swaps the arrays that were loaded with their second buffers.
  void swap_buffers();
  /// Registers results of the enqueued kernels for the next store_results(); stores those without a second buffer at
  /// once.
  void add_results(const std::vector<Residence::Move>& stores);
  /// Stores the results in second buffers, and returns when they have arrived.
  void store_results();
  /// Transfers slices of a volume that the slab holds.
  void load_slices(const std::string& name, Range slices);
  void store_slices(const std::string& name, Range slices);
  /// Transfers all of a kept array on this device: the slab's slices (loads: with their halos), or all views.
  void load_whole(const std::string& name);
  void save_whole(const std::string& name);

 private:
  struct Result {
    Residence::Part part;
    bool swapped = false;  // in the second buffer
  };
  void carry_out(const Residence::Move& move, const std::string& array);
  void load(const std::string& name, const Residence::Part& part, const std::string& array);
  void store(const std::string& name, const Residence::Part& part, const std::string& array);
  void load_volume(const ArrayNeed& need, Range slices, const std::string& array);
  void load_rows(const ArrayNeed& need, const Residence::Part& part, const std::string& array);
  void store_rows(const ArrayNeed& need, const Residence::Part& part, const std::string& array);
  void store_bytes(const ArrayNeed& need, std::size_t offset, Range range, const std::string& array);
  void copy_stored(const ArrayNeed& need, const Residence::Part& part, bool back);
  std::size_t bytes_of(const ArrayNeed& need, std::int64_t count) const;
  const ArrayNeed& need_of(const std::string& name) const { return array_of(plan_.requirements, name); }
  Range held_with(Range interior) const;

  const Plan& plan_;
  DeviceSlab& slab_;
  Transport& transport_;
  BusTraffic& traffic_;
  std::map<std::string, std::string> second_buffers_;
  std::map<std::string, Result> results_;
  std::set<std::string> to_swap_, replaced_;
};

}  // namespace halocline
