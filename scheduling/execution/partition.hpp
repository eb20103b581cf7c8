// One device's part of a run of a program: its slabs, what it holds of the program's arrays, and the visits of a step.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "scheduling/planning/visits.hpp"
#include "scheduling/slabs/slab.hpp"
#include "scheduling/transport/bus_traffic.hpp"
#include "scheduling/transport/transport.hpp"

namespace halocline {

class Partition {
 public:
  Partition(const Program& program, const Plan& plan, int device, const Device& on, Transport& transport,
            BusTraffic& traffic);

  /// Fixed arrays, and the kept arrays that stay here: from the transport.
  void start(const std::vector<std::string>& to_load);
  /// The visits of a step. `checked` is called before each.
  void perform(const Step& step, const Scalars& scalars, const std::function<void()>& checked);
  /// Slices of a volume at the lower border of the interior, which the device below needs, go to the transport; those
  /// above the interior come from there.
  void offer_halo(const std::string& name);
  void fetch_halo(const std::string& name);
  /// What stays here of a kept array goes to the transport.
  void save(const std::string& name);
  /// The interior of the output goes to the sink.
  void deliver(const std::string& name, VolumeSink& sink);
  bool holds(const std::string& name) const { return places_.at(name) != Place::home; }

 private:
  void carry_out(const Residence::Move& move);
  void load(const ArrayNeed& need, const Residence::Part& part);
  void store(const ArrayNeed& need, const Residence::Part& part);
  void from_store(const ArrayNeed& need, const Residence::Part& part, bool back);
  void load_whole(const std::string& name);
  void send_sums(const Step& step, const Visit& visit);
  std::size_t bytes_at(const ArrayNeed& need, std::int64_t begin) const;
  SlabPlan at(const Visit& visit) const;
  Range extended() const { return slab_.extended(); }

  const Program& program_;
  const Plan& plan_;
  int device_;
  Transport& transport_;
  BusTraffic& traffic_;
  std::map<std::string, Place> places_;
  Residence residence_;
  Slab slab_;
};

}  // namespace halocline
