// The partitions of all devices of a plan, which work on one step at a time.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "scheduling/execution/device_threads.hpp"
#include "scheduling/execution/partition.hpp"

namespace halocline {

class Partitions {
 public:
  /// All that is given has to outlive it. Allocates what the plan says.
  Partitions(const Program& program, const Plan& plan, const std::vector<Device>& devices, Transport& transport,
             BusTraffic& traffic, DeviceThreads& threads);

  /// Of every device, on its thread.
  void each(const std::function<void(Partition&)>& work);
  /// Halos, visits, sums. Returns the value of a step that adds one up (Step::reduced, which is not called), else 0.
  double perform(const Step& step, const Scalars& scalars, const std::function<void()>& checked);

 private:
  void exchange_halos(const Step& step);
  double added_sums(const Step& step) const;

  const Program& program_;
  const Plan& plan_;
  Transport& transport_;
  DeviceThreads& threads_;
  std::map<int, std::unique_ptr<Partition>> partitions_;  // by device
};

}  // namespace halocline
