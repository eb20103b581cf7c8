// halocline bench
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "algorithms/calibration/denoise_loop.hpp"
#include "algorithms/jobs/setting_values.hpp"
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

std::vector<std::string> words_among(const std::string& setting, const std::vector<std::string>& known,
                                     const std::vector<std::string>& asked) {
  for (const auto& word : asked)
    if (std::find(known.begin(), known.end(), word) == known.end())
      throw InputError(fmt::format("`{}` has \"{}\"; expected some of: {}", setting, word, fmt::join(known, ", ")));
  return asked.empty() ? known : asked;
}

std::string device_heading(const DeviceInfo& device) {
  return fmt::format("{} ({}, {})", device.name, device.platform, device.driver);
}

void add_bench_format(Settings& settings, BenchFormat& format) {
  settings.add("json", format.json, "Print JSON");
  settings.add("markdown", format.markdown, "Print Markdown tables").excludes("json");
}

void add_bench_seconds(Settings& settings, double& seconds) {
  settings.add("seconds", seconds, "How long each mode is measured, of which the best counts; slow ones take one run")
      .positive()
      .unit("S");
}

void refuse_trace(const Job& job, const std::string& bench, const std::string& command) {
  if (!job.common().trace.empty())
    throw InputError(fmt::format(
        "{} records the devices' commands itself, so there is no --trace; \"halocline {}\" has it", bench, command));
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

Setting& add_whole_numbers(Settings& settings, const std::string& name, std::vector<std::size_t>& target,
                           std::size_t least, std::size_t most, const std::string& help) {
  const auto take = [&target, name, least, most](const std::vector<std::string>& words) {
    target.clear();
    for (const double value : parse_numbers('`' + name + '`', words)) {
      if (value != std::floor(value) || value < static_cast<double>(least) || value > static_cast<double>(most))
        throw InputError({.what = '`' + name + '`',
                          .found = fmt::format("{:g}", value),
                          .expected = fmt::format("whole numbers from {} to {}, with commas between", least, most)});
      target.push_back(static_cast<std::size_t>(value));
    }
  };
  return settings.add(name, SettingKind::numbers, help, take).unit("LIST");
}

std::vector<std::array<std::size_t, 3>> BenchVolumes::all(std::size_t otherwise) const {
  if (volume) return {*volume};
  std::vector<std::array<std::size_t, 3>> cubes;
  for (const std::size_t edge : sizes.empty() ? std::vector{otherwise} : sizes) cubes.push_back({edge, edge, edge});
  return cubes;
}

void add_bench_volumes(Settings& settings, BenchVolumes& volumes, const std::string& otherwise) {
  add_whole_numbers(settings, "size", volumes.sizes, 1, most_bench_size,
                    "Comma list of edges N: volumes of N^3 voxels. Default: " + otherwise);
  settings.add_list("volume", volumes.volume, "NX,NY,NZ", Numbers::sizes, "Voxels along the axes instead of a cube")
      .excludes("size");
}

double BenchScan::bytes() const {
  return sizeof(float) * (static_cast<double>(volume[0] * volume[1] * volume[2]) +
                          static_cast<double>(detector[0] * detector[1] * views));
}

std::vector<BenchScan> BenchScans::all(std::size_t otherwise) const {
  if (volume) return {{*volume, *detector, views.value_or(std::max((*volume)[0], (*volume)[1]))}};
  std::vector<BenchScan> scans;
  for (const std::size_t n : sizes.empty() ? std::vector{otherwise} : sizes)
    scans.push_back({{n, n, n}, {n, n}, views.value_or(n)});
  return scans;
}

void add_bench_scans(Settings& settings, BenchScans& scans, const std::string& otherwise) {
  add_whole_numbers(settings, "size", scans.sizes, 2, most_bench_size,
                    "Comma list of N: volumes of N^3 voxels and views of N^2 pixels. Default: " + otherwise);
  settings
      .add_list("volume", scans.volume, "NX,NY,NZ", Numbers::sizes,
                "Voxels along the axes, with --detector, instead of a cube")
      .excludes("size")
      .needs("detector");
  settings.add_list("detector", scans.detector, "NU,NV", Numbers::sizes, "Columns and rows of a view of that volume")
      .needs("volume");
  settings.add("views", scans.views, "Views on the circle. Default: as many as N").whole_from(1, 65536).unit("N");
}

std::string pixels_text(const std::array<std::size_t, 2>& pixels) {
  return pixels[0] == pixels[1] ? fmt::format("{}^2", pixels[0]) : fmt::format("{} x {}", pixels[0], pixels[1]);
}

std::string voxels_text(const std::array<std::size_t, 3>& volume) {
  const auto& [nx, ny, nz] = volume;
  return nx == ny && ny == nz ? fmt::format("{}^3", nx) : fmt::format("{} x {} x {}", nx, ny, nz);
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
  command->subcommands.push_back(bench_reconstruct_command());
  command->subcommands.push_back(bench_expressions_command());
  command->subcommands.push_back(bench_scaling_command());
  command->subcommands.push_back(bench_device_command());
  command->footer = "Example:\n  halocline bench backproject";
  return command;
}

}  // namespace halocline
