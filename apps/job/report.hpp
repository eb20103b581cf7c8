// The parts of --report: options as understood, grids, devices, runs. Times and devices stand only there, never in an
// image.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "algorithms/jobs/settings.hpp"
#include "apps/images/image_info.hpp"
#include "host/opencl/device_info.hpp"
#include "scheduling/execution/run.hpp"

namespace halocline {

/// The settings of a subcommand and those of every one by their options' names, defaults included.
nlohmann::json options_json(const Settings& own, const Settings& common);
nlohmann::json grid_json(const Grid& grid);
nlohmann::json device_json(const DeviceInfo& info);
/// Plan, iterations, memory and traffic of a run, predicted and as they were.
nlohmann::json run_json(const RunResult& result);

/// Indented; bytes that are no UTF-8 are replaced.
std::string json_text(const nlohmann::json& value);

/// "3 slabs, 4 iterations per exchange" for result lines.
std::string plan_summary(const Plan& plan);
/// Bytes of its voxels as float32.
inline double grid_bytes(const Grid& grid) {
  return sizeof(float) * static_cast<double>(grid.count());
}
/// "24 x 24 x 24 of 1 x 1 x 1 mm" for result lines.
std::string grid_summary(const Grid& grid);
/// "0.31 s", "2 min 5 s".
std::string seconds_text(double seconds);

}  // namespace halocline
