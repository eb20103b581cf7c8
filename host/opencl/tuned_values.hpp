// Tuning of a device, kept between runs with the compiled kernels.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "host/opencl/device.hpp"
#include "host/opencl/tuning.hpp"

namespace halocline {

/// Tuning of the device: as stored for devices of this name under this driver and version of the library, and as set
/// since it was opened.
Tuning tuning_of(const Device& device);

/// Sets the tuning of a device.
void use_tuning(const Device& device, Tuning tuning);

/// Name and platform of the devices that share a tuning with this one, two lines.
std::string tuned_model(const DeviceInfo& device);

/// The number that was found by that name for the problems that are launched through this handle
/// (Device::set_problem()); 0 where there is none.
int tuned_number(const Device& device, const std::string& name);

/// Reads and writes stored tuning. Nothing if it was never stored, is damaged or of another layout; store_tuning() does
/// nothing where no cache folder can be written.
std::optional<Tuning> stored_tuning(const DeviceInfo& device);
void store_tuning(const DeviceInfo& device, const Tuning& tuning);

/// Kernels that `device` has launched without a shape of their own since it was opened: those that `groups` reaches.
const std::set<std::string>& shaped_kernels(const Device& device);

}  // namespace halocline
