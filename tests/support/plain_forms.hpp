// Devices that project any scan by the same kernels.
#pragma once

#include <vector>

#include "algorithms/projectors/adjoint_bricks.hpp"
#include "algorithms/projectors/joseph_slices.hpp"
#include "algorithms/projectors/upright.hpp"
#include "host/opencl/device.hpp"
#include "host/opencl/tuned_values.hpp"

namespace halocline {

/// The default devices without the forms for upright scans and for rays within slices, which are other ones beside
/// those of reference::device().
inline const std::vector<Device>& plain_devices() {
  static const std::vector<Device> devices = [] {
    std::vector<Device> opened = open_devices({});
    Tuning tuning;
    for (const char* choice : {slice_form_choice, upright_form_choice, brick_form_choice})
      tuning.choices[choice] = rays_form;
    for (const Device& each : opened) use_tuning(each, tuning);
    return opened;
  }();
  return devices;
}

}  // namespace halocline
