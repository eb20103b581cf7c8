#include "scheduling/measure.hpp"

#include <algorithm>
#include <chrono>
#include <limits>

namespace halocline {

Plan whole_plan(const Requirements& requirements, int batch) {
  Plan plan;
  plan.requirements = requirements;
  plan.batch = batch;
  const auto slices = static_cast<std::int64_t>(requirements.size[2]);
  const auto rows = static_cast<std::int64_t>(requirements.stack[1]);
  plan.slabs.push_back({.device = 0, .interior = {0, slices}, .extended = {0, slices}, .rows = {0, rows}});
  return plan;
}

double seconds_of(Slab& slab, const std::function<void()>& work) {
  slab.wait();
  const auto start = std::chrono::steady_clock::now();
  work();
  slab.wait();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double copy_bandwidth(const Device& device, std::size_t bytes) {
  constexpr std::size_t vector_bytes = 16, group = 256;
  const std::size_t vectors = std::max<std::size_t>(bytes / vector_bytes, 1024);
  Requirements requirements;
  requirements.algorithm = "copy";
  for (const char* name : {"from", "to"}) {
    ArrayNeed need;
    need.name = name;
    need.kind = ArrayKind::fixed;
    need.element_bytes = vector_bytes;
    need.elements = vectors;
    requirements.arrays.push_back(need);
  }
  Slab slab(device, whole_plan(requirements), 0);
  const auto copy = [&](int times) {
    for (int n = 0; n < times; ++n)
      slab.launch({"copy.cl", "copy_vector", ""}, {vectors, 1, 1}, {group, 1, 1},
                  {in("from"), out("to"), static_cast<std::uint64_t>(vectors)});
  };
  slab.fill("from", 1);
  copy(1);
  // so many copies that starting and ending them does not count, and no more than a tenth of a second if they are slow
  const double one = seconds_of(slab, [&] { copy(1); });
  const int times = std::clamp(static_cast<int>(0.1 / one), 1, 20);
  double best = std::numeric_limits<double>::infinity();
  for (int run = 0; run < 5; ++run) best = std::min(best, seconds_of(slab, [&] { copy(times); }) / times);
  return 2 * static_cast<double>(vectors * vector_bytes) / best;
}

}  // namespace halocline
