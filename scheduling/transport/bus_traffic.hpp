// Traffic over the bus in a run.
#pragma once

#include <atomic>
#include <cstddef>

namespace halocline {

/// Bytes to and from the devices, counted by the threads of all of them.
struct BusTraffic {
  std::atomic<std::size_t> up{0}, down{0};
  double total() const { return static_cast<double>(up + down); }
};

}  // namespace halocline
