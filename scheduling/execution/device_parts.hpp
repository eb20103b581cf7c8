// The parts of all devices of a plan, which work on one step at a time.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "scheduling/execution/device_part.hpp"
#include "scheduling/execution/device_threads.hpp"
#include "scheduling/transport/transport.hpp"

namespace halocline {

class DeviceParts {
 public:
  /// All that is given has to outlive it. Allocates what the plan says.
  DeviceParts(const Program& program, const Plan& plan, const std::vector<Device>& devices, Transport& transport,
              BusTraffic& traffic, DeviceThreads& threads);

  /// Of every device, on its thread.
  void each(const std::function<void(DevicePart&)>& work);
  /// A step, where it is due: halos, tasks, sums. `checked` is called before each task.
  void perform(const Step& step, Scalars& scalars, const std::function<void()>& checked);

 private:
  std::vector<double> added_sums(const Step& step, const Scalars& scalars) const;

  const Program& program_;
  const Plan& plan_;
  Transport& transport_;
  DeviceThreads& threads_;
  std::map<int, std::unique_ptr<DevicePart>> parts_;  // by device
};

}  // namespace halocline
