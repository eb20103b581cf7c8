// Failover: work on several devices continues when one of them fails.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "host/opencl/device.hpp"
#include "host/system/error.hpp"

namespace halocline {

/// Devices that have not failed; all, if all have.
std::vector<Device> working_devices(const std::vector<Device>& devices);

/// Excludes the device that the error names, with a warning, and returns true if another is left. False on several
/// ranks, whose plan has all devices. done: the part of the work that is kept; empty: none.
bool exclude_failed(const std::vector<Device>& devices, const DeviceError& error, const std::string& done = {});

/// Calls work(working devices). When a device fails (is lost, does not compile a kernel, lacks memory for the smallest
/// slabs), warns and calls it again with the others: results do not depend on the devices of a kind. Throws the error
/// of the last one. done: the part of the work that is kept.
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
