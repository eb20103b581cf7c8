// Carries out what has to move between a device's arrays and the transport, one visit ahead for arrays that have a
// second buffer (scheduling/planning/second_buffers.hpp).
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "scheduling/planning/visits.hpp"
#include "scheduling/slabs/device_slab.hpp"
#include "scheduling/transport/bus_traffic.hpp"
#include "scheduling/transport/transport.hpp"

namespace halocline {

class Mover {
 public:
  Mover(const Plan& plan, DeviceSlab& slab, Transport& transport, BusTraffic& traffic);

  /// A step begins. What it writes of the volumes `replaced` goes to next_name() with the transport.
  void begin(std::map<std::string, std::string> second_buffers, const std::vector<std::string>& replaced);
  /// What the next visit finds, which the slab has moved to. Kernels that have been enqueued may still work on the
  /// arrays themselves. What earlier visits have left in second buffers has been flushed.
  void bring(const std::vector<Residence::Move>& moves);
  /// Kernels find what was brought last.
  void turn();
  /// Kernels that have been enqueued leave this behind, for the next flush().
  void leave(const std::vector<Residence::Move>& stores);
  /// Brings home what visits have left behind. It has arrived when this returns.
  void flush();

  /// Slices of a volume, of those that the slab holds, from the transport and to it.
  void load_slices(const std::string& name, Range slices);
  void store_slices(const std::string& name, Range slices);
  /// A kept array that stays here: the slab's slices with their halos, or all views; and back.
  void load_whole(const std::string& name);
  void save_whole(const std::string& name);
  /// The plan has more arrays.
  void refresh() { places_ = places_of(plan_); }
  Place place(const std::string& name) const { return places_.at(name); }

 private:
  struct Left {
    Residence::Part part;
    bool turned = false;  // it lies in the second buffer
  };
  void carry_out(const Residence::Move& move, const std::string& array);
  void load(const std::string& name, const Residence::Part& part, const std::string& array);
  void store(const std::string& name, const Residence::Part& part, const std::string& array);
  void load_volume(const ArrayNeed& need, Range slices, const std::string& array);
  void load_rows(const ArrayNeed& need, const Residence::Part& part, const std::string& array);
  void store_bytes(const ArrayNeed& need, std::size_t offset, Range range, const std::string& array);
  void copy_stored(const ArrayNeed& need, const Residence::Part& part, bool back);
  std::size_t bytes_of(const ArrayNeed& need, std::int64_t count) const;
  const ArrayNeed& need_of(const std::string& name) const { return array_of(plan_.requirements, name); }
  Range held_with(Range interior) const;

  const Plan& plan_;
  DeviceSlab& slab_;
  Transport& transport_;
  BusTraffic& traffic_;
  std::map<std::string, Place> places_;
  std::map<std::string, std::string> seconds_;
  std::map<std::string, Left> left_;
  std::set<std::string> to_turn_, replaced_;
};

}  // namespace halocline
