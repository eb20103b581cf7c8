// Parts of all devices of a plan, which perform one step at a time.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "scheduling/execution/device_part.hpp"
#include "scheduling/execution/device_threads.hpp"
#include "scheduling/transport/rank_exchange.hpp"
#include "scheduling/transport/transport.hpp"

namespace halocline {

class DeviceParts {
 public:
  /// Allocates the arrays of the plan. Keeps all references.
  DeviceParts(const Program& program, const Plan& plan, const std::vector<Device>& devices, Transport& transport,
              BusTraffic& traffic, DeviceThreads& threads);

  /// Calls work() for each device on its thread.
  void each(const std::function<void(DevicePart&)>& work);
  /// Performs a step where it is due: halos, tasks, sums. `checked` is called before each task.
  void perform(const Step& step, Scalars& scalars, const std::function<void()>& checked);

 private:
  std::vector<double> added_sums(const Step& step, const Scalars& scalars) const;
  void share_halos(const Step& step);

  const Program& program_;
  const Plan& plan_;
  Transport& transport_;
  DeviceThreads& threads_;
  std::map<int, std::unique_ptr<DevicePart>> parts_;  // by device
};

}  // namespace halocline
