// `halocline bench backproject --groups`, and `--stages` of it and of `halocline bench fdk`.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

#include "apps/bench/scan_bench.hpp"
#include "scheduling/execution/progress.hpp"

namespace halocline {

/// Modes of voxel-driven back-projection whose groups have any shape.
std::vector<std::string> group_modes();

/// JSON and text of a bench of one device. options.modes: some of group_modes(), or of stage_modes().
std::pair<nlohmann::json, std::string> bench_groups_of(const Device& device, const ScanBenchOptions& options,
                                                       const std::string& groups, bool markdown,
                                                       const Progress& progress);
std::pair<nlohmann::json, std::string> bench_stages_of(ScanBench bench, const Device& device,
                                                       const ScanBenchOptions& options, bool markdown);

/// "NVIDIA H200 (platform, driver), 300 x 300 x 1200 voxels, 3 views of 300 x 1548 pixels"
std::string scan_heading(ScanBench bench, const DeviceInfo& device, const ScanBenchPlan& plan);

}  // namespace halocline
