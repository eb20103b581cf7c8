// The subcommands of `halocline bench`, and their common part.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "apps/commands/subcommands.hpp"
#include "apps/job/job.hpp"
#include "apps/job/report.hpp"
#include "host/opencl/device_info.hpp"
#include "scheduling/profiling/run_times.hpp"

namespace halocline {

std::unique_ptr<Command> bench_denoise_command();
/// project, backproject, fdk and slices.
std::vector<std::unique_ptr<Command>> bench_scans_commands();
std::unique_ptr<Command> bench_reconstruct_command();
std::unique_ptr<Command> bench_scaling_command();
std::unique_ptr<Command> bench_patches_command();
std::unique_ptr<Command> bench_matrix_command();
std::unique_ptr<Command> bench_expressions_command();
std::unique_ptr<Command> bench_device_command();

struct BenchFormat {
  bool json = false, markdown = false;
};
void add_bench_format(Settings& settings, BenchFormat& format);

/// The setting `seconds`: how long each mode is measured.
void add_bench_seconds(Settings& settings, double& seconds);
/// Throws InputError for --trace, of a bench that records the devices' commands itself; `command` has it.
void refuse_trace(const Job& job, const std::string& bench, const std::string& command);

/// A heading and rows of as many cells.
using BenchTable = std::vector<std::vector<std::string>>;
/// The table in columns as wide as they need, of which the first `left` are aligned to the left, or in Markdown.
std::string bench_table(const BenchTable& table, bool markdown, std::size_t left = 1);
/// A line "left out: ..." each.
std::string left_out_text(const std::vector<std::string>& left_out);

/// Puts the least, the mean and the deviation into `json`: `name`, "mean_..." and "deviation_...".
void put_times(nlohmann::json& json, const std::string& name, const RunTimes& times);
/// "12.3 +- 0.04": mean and standard deviation in milliseconds, or times another factor; of one run only the mean.
std::string mean_cell(const RunTimes& times, double factor = 1e3);
/// Heading of that cell.
inline constexpr const char* mean_heading = "mean +- deviation";

/// Measures device by device and problem by problem and prints each result, or all of them as JSON, which the report
/// has, too. problems_of: those of a device; result_of: the JSON and the text of a device's bench of a problem.
template <class ProblemsOf, class ResultOf>
void run_benches(Job& job, const BenchFormat& format, ProblemsOf&& problems_of, ResultOf&& result_of) {
  auto& results = job.results();
  results["benches"] = nlohmann::json::array();
  for (const auto& device : job.devices())
    for (const auto& problem : problems_of(device)) {
      const auto [json, text] = job.timed("bench", [&] { return result_of(device, problem); });
      const char* gap = results["benches"].empty() ? "" : "\n";
      results["benches"].push_back(json);
      if (!format.json) job.print(gap + text);
    }
  if (format.json) job.print(json_text(results));
}
/// Overload for one problem.
template <class ResultOf>
void run_benches(Job& job, const BenchFormat& format, ResultOf&& result_of) {
  const auto one = [](const Device&) { return std::array{0}; };
  run_benches(job, format, one, [&](const Device& device, int) { return result_of(device); });
}

/// A setting of a comma list of whole numbers from `least` to `most`, as "256,512".
Setting& add_whole_numbers(Settings& settings, const std::string& name, std::vector<std::size_t>& target,
                           std::size_t least, std::size_t most, const std::string& help);

/// Volumes of --size and --volume.
struct BenchVolumes {
  std::vector<std::size_t> sizes;
  std::optional<std::array<std::size_t, 3>> volume;
  /// All of them; where neither is given a cube of that edge.
  std::vector<std::array<std::size_t, 3>> all(std::size_t otherwise) const;
};
void add_bench_volumes(Settings& settings, BenchVolumes& volumes, const std::string& otherwise);

/// A scan of --size, or of --volume, --detector and --views.
struct BenchScan {
  std::array<std::size_t, 3> volume{};
  std::array<std::size_t, 2> detector{};  ///< columns, rows
  std::size_t views = 0;
  double bytes() const;  ///< of volume and projections in float32
};
struct BenchScans {
  std::vector<std::size_t> sizes;
  std::optional<std::array<std::size_t, 3>> volume;
  std::optional<std::array<std::size_t, 2>> detector;
  std::optional<std::size_t> views;
  /// All of them; where no size is given N^3 voxels and views of N^2 pixels.
  std::vector<BenchScan> all(std::size_t otherwise) const;
};
void add_bench_scans(Settings& settings, BenchScans& scans, const std::string& otherwise);
/// "512^2" or "512 x 300".
std::string pixels_text(const std::array<std::size_t, 2>& pixels);
/// "512^3" or "300 x 300 x 1200".
std::string voxels_text(const std::array<std::size_t, 3>& volume);

/// Splits "a,b, c"; an empty word is kept, so that it is refused by name.
std::vector<std::string> words_of(const std::string& list);
/// The words that are asked for, or all of `known`. Throws InputError that names the setting.
std::vector<std::string> words_among(const std::string& setting, const std::vector<std::string>& known,
                                     const std::vector<std::string>& asked);
/// "Name (platform, driver)".
std::string device_heading(const DeviceInfo& device);

}  // namespace halocline
