// halocline bench
#include <fmt/format.h>

#include <algorithm>

#include "apps/commands/bench_commands.hpp"

namespace halocline {

std::vector<std::string> words_of(const std::string& list) {
  std::vector<std::string> words;
  for (std::size_t at = 0; !list.empty() && at <= list.size();) {
    const auto end = std::min(list.find(',', at), list.size());
    const auto first = std::min(list.find_first_not_of(' ', at), end);
    words.push_back(list.substr(first, end - first));
    at = end + 1;
  }
  return words;
}

std::string device_heading(const DeviceInfo& device) {
  return fmt::format("{} ({}, {})", device.name, device.platform, device.driver);
}

std::unique_ptr<Command> bench_command() {
  auto command = std::make_unique<Command>("bench", "Measure how fast the devices are");
  command->subcommands.push_back(bench_denoise_command());
  for (auto& each : bench_scans_commands()) command->subcommands.push_back(std::move(each));
  command->subcommands.push_back(bench_scaling_command());
  command->footer = "Example:\n  halocline bench backproject";
  return command;
}

}  // namespace halocline
