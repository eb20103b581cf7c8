// Commands of a device's compute queue, kept with their arguments, that can be enqueued again.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

namespace halocline {

struct KeptCommand;  // a kernel of its own with its arguments, a copy or a fill: host/opencl/opencl.hpp

/// Device::keep() fills it, and Device::replay() enqueues it. It does not keep the commands' buffers alive.
class CommandList {
 public:
  std::size_t size() const { return commands_.size(); }
  bool empty() const { return commands_.empty(); }

 private:
  friend class Device;
  std::vector<std::shared_ptr<const KeptCommand>> commands_;
};

}  // namespace halocline
