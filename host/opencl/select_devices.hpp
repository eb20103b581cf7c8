// Parsing of a list of devices (`device`, HALOCLINE_DEVICE); select_devices() is in host/opencl/device_info.hpp.
#pragma once

#include <string>
#include <vector>

namespace halocline {

/// Sentences about entries of `selection` that occur more than once, perhaps in other letters or digits ("gpu,GPU",
/// "1,01"), which can only be an oversight. Different words may denote the same devices ("0,cpu,all").
std::vector<std::string> repeated_devices(const std::string& selection);

}  // namespace halocline
