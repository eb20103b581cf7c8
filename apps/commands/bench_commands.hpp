// The subcommands of `halocline bench`, and what they share.
#pragma once

#include <string>
#include <vector>

#include "apps/commands/subcommands.hpp"
#include "host/opencl/device_info.hpp"

namespace halocline {

std::unique_ptr<Command> bench_denoise_command();
/// project, backproject, fdk and slices.
std::vector<std::unique_ptr<Command>> bench_scans_commands();
std::unique_ptr<Command> bench_scaling_command();

/// "a,b, c"; an empty word stays, so that it is refused by name.
std::vector<std::string> words_of(const std::string& list);
/// "Name (platform, driver)".
std::string device_heading(const DeviceInfo& device);

}  // namespace halocline
