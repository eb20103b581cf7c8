// The two seconds of tuning before the first run on a device.
#pragma once

#include <string>

#include "host/opencl/device.hpp"

namespace halocline {

/// Measures for two seconds what is fastest for such work (tune_classes()), and keeps it, if nobody has measured the
/// device's defaults and this was not done before. True if the device has other tuning now.
bool tune_first_run(const Device& device, const std::string& tune_class);

}  // namespace halocline
