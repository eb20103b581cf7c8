// Measured choices of a device, kept between runs with the compiled kernels. No result depends on them.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "host/opencl/device.hpp"

namespace halocline {

struct Tuning {
  /// Shapes of work-groups by kernel, in place of those of work_group_shape().
  std::map<std::string, std::array<std::size_t, 3>> groups;
  /// The fastest of several ways to bitwise identical results, by names of the callers' choice.
  std::map<std::string, std::string> choices;
  /// Kinds of work for which was measured.
  std::set<std::string> classes;
  bool operator==(const Tuning&) const = default;
};

/// Tuning of the device: as stored for devices of this name under this driver and version of the library, and as set
/// since it was opened.
Tuning tuning_of(const Device& device);

/// Sets the tuning of a device.
void use_tuning(const Device& device, Tuning tuning);

/// Reads and writes stored tuning. Nothing if it was never stored or is damaged; store_tuning() does nothing where no
/// cache folder can be written.
std::optional<Tuning> stored_tuning(const DeviceInfo& device);
void store_tuning(const DeviceInfo& device, const Tuning& tuning);

/// Kernels that `device` has launched without a shape of their own since it was opened: those that `groups` reaches.
const std::set<std::string>& shaped_kernels(const Device& device);

}  // namespace halocline
