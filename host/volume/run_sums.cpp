#include "host/volume/run_sums.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>

#include "host/system/error.hpp"

namespace halocline {
namespace {

constexpr std::size_t doubles_of_run = sizeof(RunSums) / sizeof(double), group = 64, chunk = 1024;

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

ValueRange ValueRange::with(const ValueRange& other) const {
  return {std::min(least, other.least), std::max(greatest, other.greatest)};
}

// Each work-item looks at its part of the voxels: neighbours on a CPU, every n-th on others.
std::optional<VoxelFacts> facts_at(const DevicePlace& at, std::size_t count, const Event& after) {
  constexpr std::size_t of_item = 1024, most_items = std::size_t{1} << 16;
  struct Found {
    float least, greatest;
    std::uint32_t not_finite;
  };
  const std::size_t items = std::clamp<std::size_t>(count / of_item, 1, most_items);
  const std::uint64_t part = (count + items - 1) / items;
  const bool cpu = at.device.info().cpu();
  std::vector<Found> found(items);
  try {
    Device& device = at.device;
    const Buffer of_items = device.buffer("facts", items * sizeof(Found));
    const KernelArgument arguments[] = {&at.buffer,
                                        std::uint64_t{at.offset / sizeof(float)},
                                        std::uint64_t{count},
                                        std::uint64_t{items},
                                        part,
                                        std::uint64_t{cpu ? part : 1},
                                        std::uint64_t{cpu ? 1 : items},
                                        &of_items};
    const Event made =
        device.launch({"voxels.cl", "voxels_facts", ""}, {items, 1, 1}, arguments, std::span(&after, after ? 1 : 0));
    device.read(of_items, 0, found.data(), of_items.bytes(), std::span(&made, 1)).wait();
  } catch (const BudgetError&) {
    return std::nullopt;
  }
  VoxelFacts facts{{found.front().least, found.front().greatest}};
  for (const Found& each : found) {
    facts.range = facts.range.with({each.least, each.greatest});
    facts.not_finite += each.not_finite;
  }
  return facts;
}

}  // namespace halocline
