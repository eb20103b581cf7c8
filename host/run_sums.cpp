#include "host/run_sums.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>

#include "host/error.hpp"

namespace halocline {
namespace {

constexpr std::size_t doubles_of_run = sizeof(RunSums) / sizeof(double), group = 64, chunk = 1024;
constexpr std::size_t longest_run = std::size_t{1} << 16;  // voxels

}  // namespace

std::vector<RunSums> empty_sums(std::size_t runs) {
  std::vector<RunSums> sums(runs);
  for (auto& each : sums) each.least_positive = std::numeric_limits<double>::infinity();
  return sums;
}

bool add_runs(const DevicePlace& at, std::span<const VoxelRange> runs, std::span<RunSums> sums, const Event& after) {
  if (!at.device.info().fp64 || at.device.info().max_work_group < group) return false;
  if (runs.empty()) return true;
  std::vector<std::uint64_t> places;
  for (const VoxelRange& run : runs) places.insert(places.end(), {at.offset / sizeof(float) + run.begin, run.count()});
  try {
    Device& device = at.device;
    const Buffer of_runs = device.buffer("runs", places.size() * sizeof(std::uint64_t)),
                 of_states = device.buffer("sums of runs", sums.size_bytes());
    const Event before[] = {device.write(of_runs, 0, places.data(), of_runs.bytes()),
                            device.write(of_states, 0, sums.data(), of_states.bytes()), after};
    const KernelArgument arguments[] = {&at.buffer, &of_runs, &of_states};
    const Event made = device.launch(
        {"voxels.cl", "voxels_runs",
         fmt::format("-D USE_FP64 -D GROUP={} -D CHUNK={} -D STATE={}", group, chunk, doubles_of_run)},
        {group, runs.size(), 1}, arguments, std::span(before, after ? 3 : 2), std::array<std::size_t, 3>{group, 1, 1});
    device.read(of_states, 0, sums.data(), of_states.bytes(), std::span(&made, 1)).wait();
  } catch (const BudgetError&) {
    return false;
  }
  return true;
}

std::vector<VoxelRange> all_in_runs(std::size_t count) {
  std::vector<VoxelRange> runs;
  for (std::size_t at = 0; at < count; at += longest_run) runs.push_back({at, std::min(at + longest_run, count)});
  return runs;
}

ValueRange range_of(std::span<const RunSums> sums) {
  ValueRange range{static_cast<float>(sums.front().least), static_cast<float>(sums.front().greatest)};
  for (const auto& each : sums)
    range = {std::min(range.least, static_cast<float>(each.least)),
             std::max(range.greatest, static_cast<float>(each.greatest))};
  return range;
}

}  // namespace halocline
