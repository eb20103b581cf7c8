// A thread for each device, kept from one pass to the next, because passes can be as short as a millisecond.
#pragma once

#include <functional>
#include <map>
#include <memory>

#include "scheduling/planning/plan.hpp"

namespace halocline {

class DeviceThreads {
 public:
  DeviceThreads();
  ~DeviceThreads();

  /// Calls work(device index) for every device of this process that has a slab, each on its thread (the last on the
  /// calling one). When all have ended, throws the first exception, by device, that is no consequence of another
  /// device's. One call at a time.
  void each(const Plan& plan, const std::function<void(int)>& work);

 private:
  class Worker;
  std::map<int, std::unique_ptr<Worker>> workers_;  // by device
};

}  // namespace halocline
