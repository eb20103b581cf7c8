// A thread for every device, kept from one pass to the next: iterations of a millisecond would feel it begin.
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

  /// Calls work(device index) for every device that has a slab, each on its thread (the calling one if it is the only
  /// one or the last). The first exception, by device, that is no consequence of
  /// another device's is thrown again here when all have ended. One call at a time.
  void each(const Plan& plan, const std::function<void(int)>& work);

 private:
  class Worker;
  std::map<int, std::unique_ptr<Worker>> workers_;  // by device
};

}  // namespace halocline
