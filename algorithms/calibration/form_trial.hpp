// Form of PDU and S-PDU for a device that was never measured: the one that wins a short trial.
#pragma once

#include <vector>

#include "algorithms/denoisers/fused_pass.hpp"
#include "host/opencl/device.hpp"

namespace halocline {

struct FormTrial {
  FusedForm form;
  double seconds = 0;  ///< of the same iterations, on the slowest device
};
/// Every form that all of the devices take, in place first.
std::vector<FormTrial> form_trials(const std::vector<Device>& devices, bool weighted, std::array<std::size_t, 3> size);

/// Chooses, among the forms with float32 duals, whose bits are all the same, the one with which the slowest of the
/// devices was fastest on a volume of `size` cut to about eight million voxels; in place where a device has too little
/// memory or too small work-groups for another, or does not compile it. Takes some tenths of a second, and the time of
/// compiling at first. Throws ClError, Interrupted.
FusedForm tried_form(const std::vector<Device>& devices, bool weighted, std::array<std::size_t, 3> size);

}  // namespace halocline
