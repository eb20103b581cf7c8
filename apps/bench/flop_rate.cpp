#include "apps/bench/flop_rate.hpp"

#include <fmt/format.h>

#include "scheduling/profiling/measure.hpp"

namespace halocline {

double flop_rate(const Device& device, double seconds) {
  // enough work-items and rounds to keep all of a device busy for some milliseconds
  const std::size_t items = std::size_t{1} << (device.info().cpu() ? 14 : 20);
  constexpr int rounds = 512;
  const int lanes = device.info().cpu() ? 16 : 4;  // CPUs' vectors are as wide at most
  constexpr double chains = 8, of_fma = 2;
  Requirements requirements;
  requirements.algorithm = "fma";
  ArrayNeed need;
  need.name = "sums";
  need.kind = ArrayKind::fixed;
  need.elements = items;
  requirements.arrays.push_back(need);
  DeviceSlab slab(device, whole_plan(requirements), 0);
  const std::vector<SlabArgument> arguments{out("sums"), static_cast<std::int32_t>(items), std::int32_t{rounds}, 0.5f};
  const RunTimes times = repeat(
      slab,
      [&] {
        slab.launch({"bench.cl", "bench_fma", fmt::format("-D LANES={}", lanes)}, {items, 1, 1}, arguments);
      },
      seconds);
  return static_cast<double>(items) * rounds * chains * lanes * of_fma / times.least;
}

}  // namespace halocline
