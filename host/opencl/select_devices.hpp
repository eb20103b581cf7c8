// What a list of devices (`device`, HALOCLINE_DEVICE) says; select_devices() itself is in host/opencl/device_info.hpp.
#pragma once

#include <string>
#include <vector>

namespace halocline {

/// A sentence for every entry of `selection` that is there more than once, be it in other letters or digits ("gpu,GPU",
/// "1,01"): two entries of one number or word can only be an oversight. Different words may well name the same devices
/// ("0,cpu,all").
std::vector<std::string> repeated_devices(const std::string& selection);

}  // namespace halocline
