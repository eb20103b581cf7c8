// halocline bench
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "apps/commands/bench_commands.hpp"
#include "host/system/error.hpp"

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

std::vector<std::string> modes_among(const std::vector<std::string>& known, const std::vector<std::string>& asked) {
  for (const auto& mode : asked)
    if (std::find(known.begin(), known.end(), mode) == known.end())
      throw InputError(fmt::format("`modes` has \"{}\"; expected some of: {}", mode, fmt::join(known, ", ")));
  return asked.empty() ? known : asked;
}

std::string device_heading(const DeviceInfo& device) {
  return fmt::format("{} ({}, {})", device.name, device.platform, device.driver);
}

void add_bench_format(Settings& settings, BenchFormat& format) {
  settings.add("json", format.json, "Print JSON");
  settings.add("markdown", format.markdown, "Print Markdown tables").excludes("json");
}

std::string bench_table(const BenchTable& table, bool markdown, std::size_t left) {
  std::string text;
  if (markdown) {
    for (const auto& row : table) {
      text += fmt::format("| {} |\n", fmt::join(row, " | "));
      if (&row != &table.front()) continue;
      for (std::size_t n = 0; n < row.size(); ++n) text += "|---";
      text += "|\n";
    }
    return text;
  }
  std::vector<std::size_t> widths(table.front().size(), 0);
  for (const auto& row : table)
    for (std::size_t n = 0; n < row.size(); ++n) widths[n] = std::max(widths[n], row[n].size());
  for (const auto& row : table) {
    for (std::size_t n = 0; n < row.size(); ++n)
      text += (n > 0 ? "  " : "") +
              (n < left ? fmt::format("{:<{}}", row[n], widths[n]) : fmt::format("{:>{}}", row[n], widths[n]));
    text += "\n";
  }
  return text;
}

std::string left_out_text(const std::vector<std::string>& left_out) {
  std::string text;
  for (const auto& each : left_out) text += fmt::format("left out: {}\n", each);
  return text;
}

void put_times(nlohmann::json& json, const std::string& name, const RunTimes& times) {
  json[name] = times.least;
  json["mean_" + name] = times.mean;
  json["deviation_" + name] = times.deviation;
}

std::string mean_cell(const RunTimes& times, double factor) {
  if (times.runs < 2) return fmt::format("{:.4g}", factor * times.mean);
  return fmt::format("{:.4g} +- {:.2g}", factor * times.mean, factor * times.deviation);
}

std::unique_ptr<Command> bench_command() {
  auto command = std::make_unique<Command>("bench", "Measure how fast the devices are");
  command->subcommands.push_back(bench_denoise_command());
  for (auto& each : bench_scans_commands()) command->subcommands.push_back(std::move(each));
  command->subcommands.push_back(bench_patches_command());
  command->subcommands.push_back(bench_matrix_command());
  command->subcommands.push_back(bench_scaling_command());
  command->footer = "Example:\n  halocline bench backproject";
  return command;
}

}  // namespace halocline
