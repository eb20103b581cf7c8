// The subcommands of `halocline bench`, and what they share.
#pragma once

#include <string>
#include <vector>

#include "apps/commands/subcommands.hpp"
#include "host/opencl/device_info.hpp"

namespace halocline {

void add_bench_denoise(CLI::App& app, Action& action);
/// project, backproject, fdk and slices.
void add_bench_scans(CLI::App& app, Action& action);
void add_bench_scaling(CLI::App& app, Action& action);

/// "a,b, c"; an empty word stays, so that it is refused by name.
std::vector<std::string> words_of(const std::string& list);
/// "Name (platform, driver)".
std::string device_heading(const DeviceInfo& device);

}  // namespace halocline
