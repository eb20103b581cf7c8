// What was measured to be fastest on a device, kept between runs beside the compiled kernels. No result depends on it.
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
  /// Shapes of work-groups by kernel, instead of those of work_group_shape(). For kernels launched without one.
  std::map<std::string, std::array<std::size_t, 3>> groups;
  /// Of several ways to bitwise identical results the fastest, as whoever offers them names them.
  std::map<std::string, std::string> choices;
  /// Kinds of work for which was measured.
  std::set<std::string> classes;
  bool operator==(const Tuning&) const = default;
};

/// What the device uses: what was stored for devices of this name under this driver and version of the library, if
/// anything was, since it was opened.
Tuning tuning_of(const Device& device);

/// From now on `device` uses `tuning`.
void use_tuning(const Device& device, Tuning tuning);

/// Reads and writes what is kept. Nothing is kept if it was never stored or is damaged; where no cache folder can be
/// written, store_tuning() does nothing.
std::optional<Tuning> stored_tuning(const DeviceInfo& device);
void store_tuning(const DeviceInfo& device, const Tuning& tuning);

/// Kernels that `device` has launched without a shape of their own since it was opened: those that `groups` reaches.
const std::set<std::string>& shaped_kernels(const Device& device);

}  // namespace halocline
