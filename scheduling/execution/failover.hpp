// Work on several devices goes on when one of them fails.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "host/opencl/device.hpp"
#include "host/system/error.hpp"

namespace halocline {

/// Those of the devices that have not failed yet; all, if all have.
std::vector<Device> working_devices(const std::vector<Device>& devices);

/// Excludes the device that the error names, with a warning, if another is left; whether it did. done: what the others
/// need not do again; empty: they do all of it.
bool exclude_failed(const std::vector<Device>& devices, const DeviceError& error, const std::string& done = {});

/// work(devices that have not failed). When one of them fails (is lost, does not compile a kernel, stays without memory
/// however little is asked for), a warning names it and the work begins again with the others: what comes out does not
/// depend on the devices of a kind. The error of the last one is thrown. done: of work that goes on where it was, what
/// is done.
template <class Work>
auto with_failover(const std::vector<Device>& devices, Work&& work, const std::function<std::string()>& done = {}) {
  for (;;) {
    const auto working = working_devices(devices);
    try {
      return work(working);
    } catch (const DeviceError& error) {
      if (!exclude_failed(working, error, done ? done() : std::string())) throw;
    }
  }
}

}  // namespace halocline
