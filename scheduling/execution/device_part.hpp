// One device's part of a run of a program: its slabs, what it holds of the program's arrays, and the tasks of a step.
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

  /// Fixed arrays, and the kept arrays that reside here: from the transport.
  void start(const std::vector<std::string>& to_load);
  /// The tasks of a step. `checked` is called before each.
  void perform(const Step& step, const Scalars& scalars, const std::function<void()>& checked);
  /// The same of a step that finds all its arrays here and sums nothing up: its kernels are enqueued.
  void enqueue(const Step& step, const Scalars& scalars);
  void wait() { slab_.wait(); }
  /// Slices of a volume that neighbours read in this step go to the transport; those that this device reads of theirs
  /// come from there.
  void offer_halo(const Step& step, const std::string& name);
  void fetch_halo(const Step& step, const std::string& name);
  /// What resides here of a kept array goes to the transport, or comes from there.
  void save(const std::string& name);
  void load(const std::string& name);
  /// The plan has another array.
  void add(const ArrayNeed& need) { slab_.add(need, plan_, device_); }
  /// The interior of the output goes to the sink.
  void deliver(const std::string& name, VolumeSink& sink);
  bool holds(const std::string& name) const { return place_of(plan_, name) != Place::host; }

 private:
  void work(const Step& step, const Task& task, const Scalars& scalars);
  void load_inputs(const Task& task, const TaskMoves& moves);
  bool follows_another(const Step& step, const Task& task) const;
  bool passes_on(const Task& task) const { return task.passes_on && plan_.slabs.size() > 1; }
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
