// One device's part of a run: its slabs, its arrays, and the tasks of a step.
#pragma once

#include <map>
#include <string>

#include "scheduling/execution/array_transfers.hpp"
#include "scheduling/planning/step_tasks.hpp"
#include "scheduling/slabs/device_slab.hpp"
#include "scheduling/transport/bus_traffic.hpp"
#include "scheduling/transport/transport.hpp"

namespace halocline {

class DevicePart {
 public:
  DevicePart(const Program& program, const Plan& plan, int device, const Device& on, Transport& transport,
             BusTraffic& traffic);

  /// Fills fixed arrays and loads the kept arrays that reside on the device.
  void start(const std::vector<std::string>& to_load);
  /// Fills fixed arrays again.
  void refill(const std::vector<std::function<void(Slab&)>>& fills) {
    for (const auto& fill : fills) fill(slab_);
  }
  /// Performs the tasks of a step with this chain. `checked` is called before each.
  void perform(const Step& step, const Scalars& scalars, const RayChain& chain, const std::function<void()>& checked);
  /// Enqueues the kernels of a step without transfers and sums.
  void enqueue(const Step& step, const Scalars& scalars);
  /// Does the same, and adds the kernels to those that replay() enqueues.
  void enqueue(const Step& step, const Scalars& scalars, KeptSteps& kept);
  void replay(const KeptSteps& kept);
  void wait() { slab_.wait(); }
  /// Stores the slices of a volume that neighbours read in this step, and loads those that this device reads.
  void offer_halo(const Step& step, const std::string& name);
  void fetch_halo(const Step& step, const std::string& name);
  /// Stores, or loads, the part of a kept array that resides here. load() returns when the transport has given all
  /// values, which may be under way.
  void save(const std::string& name);
  void load(const std::string& name);
  /// Reads the beginning of an array that is whole on this device.
  void read(const std::string& name, void* to, std::size_t bytes) { slab_.read(name, to, bytes); }
  /// Allocates another array of the plan.
  void add(const ArrayNeed& need) { slab_.add(need, plan_, device_); }
  /// Writes the interior of the output to the sink.
  void write_output(const std::string& name, VolumeSink& sink);
  bool holds(const std::string& name) const { return place_of(plan_, name) != Place::host; }

 private:
  void work(const Step& step, const Task& task, const Scalars& scalars);
  void load_inputs(const Task& task, const TaskMoves& moves);
  bool may_begin(const Task& task);
  void keep_sums(const Step& step, const Task& task);
  void send_sums(const Step& step, const std::vector<Task>& tasks);
  Range summed(const Step& step, const Task& task) const;
  std::size_t number() const;

  const Program& program_;
  const Plan& plan_;
  int device_;
  Transport& transport_;
  BusTraffic& traffic_;
  DeviceSlab slab_;
  ArrayTransfers transfers_;
};

}  // namespace halocline
