// halocline bench
#include <fmt/format.h>

#include <CLI/CLI.hpp>
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

void add_bench(CLI::App& app, Action& action) {
  auto* sub = app.add_subcommand("bench", "Measure how fast the devices are");
  sub->require_subcommand(1);
  add_bench_denoise(*sub, action);
  add_bench_scans(*sub, action);
  add_bench_scaling(*sub, action);
  sub->footer("Example:\n  halocline bench backproject");
}

}  // namespace halocline
