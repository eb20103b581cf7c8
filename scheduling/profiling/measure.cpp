#include "scheduling/profiling/measure.hpp"

#include <algorithm>
#include <chrono>
#include <limits>

#include "host/system/error.hpp"
#include "host/system/interrupt.hpp"
#include "scheduling/profiling/rates.hpp"

namespace halocline {
namespace {

constexpr std::size_t copied_together = 16;  // bytes, by a work-item

}  // namespace

Plan whole_plan(const Requirements& requirements, int batch) {
  Plan plan;
  plan.requirements = requirements;
  plan.batch = batch;
  const Range slices = requirements.slices();
  plan.slabs.push_back({.device = 0, .interior = slices, .extended = slices, .rows = requirements.rows()});
  return plan;
}

double seconds_of(DeviceSlab& slab, const std::function<void()>& work) {
  slab.wait();
  const auto start = std::chrono::steady_clock::now();
  work();
  slab.wait();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double best_of_tries(const std::function<double()>& seconds) {
  constexpr int most = 12, enough = 3;
  constexpr double longest = 0.3, close = 1.1, stalled = 5;
  double best = seconds(), spent = best;
  // The first one alone may be a stall of the driver.
  for (int n = 0, alike = 0; n < most && alike < enough && spent < (n == 0 ? stalled : longest); ++n) {
    const double now = seconds();
    spent += now;
    alike = now * close < best ? 1 : now <= close * best ? alike + 1 : alike;
    best = std::min(best, now);
  }
  return best;
}

RunTimes repeat(const std::function<double()>& run, int most, double seconds) {
  std::vector<double> runs;
  for (double spent = 0; runs.empty() || (static_cast<int>(runs.size()) < most && spent < seconds);
       spent += runs.back()) {
    check_interrupt();
    runs.push_back(run());
  }
  return RunTimes(std::move(runs));
}

RunTimes repeat(DeviceSlab& slab, const std::function<void()>& work, double seconds) {
  const auto run = [&](int calls) {
    return seconds_of(slab,
                      [&] {
                        for (int n = 0; n < calls; ++n) work();
                      }) /
           calls;
  };
  run(1);  // compiles
  const double once = run(1);
  if (once > seconds) return RunTimes({once});
  const int calls = std::clamp(static_cast<int>(seconds / 5 / once), 1, 1000);
  return repeat([&] { return run(calls); }, std::numeric_limits<int>::max(), seconds / calls);
}

std::optional<Plan> resident_plan(const Device& device, const Requirements& requirements) {
  try {
    Plan plan = make_plan(requirements, device_models({device}));
    if (plan.slabs.size() == 1) return plan;
  } catch (const PlanError&) {
  }
  return std::nullopt;
}

Requirements copy_requirements(std::size_t bytes) {
  Requirements requirements;
  requirements.algorithm = "copy";
  for (const char* name : {"from", "to"}) {
    ArrayNeed need;
    need.name = name;
    need.kind = ArrayKind::fixed;
    need.element_bytes = copied_together;
    need.elements = bytes / copied_together;
    requirements.arrays.push_back(need);
  }
  return requirements;
}

void copy_once(Slab& slab, std::size_t bytes) {
  constexpr std::size_t group = 256;
  slab.launch({"copy.cl", "copy_vector", ""}, {bytes / copied_together, 1, 1}, {group, 1, 1},
              {in("from"), out("to"), static_cast<std::uint64_t>(bytes / copied_together)});
}

double copy_bandwidth(const Device& device, std::size_t bytes) {
  bytes = std::max<std::size_t>(bytes / copied_together, 1024) * copied_together;
  DeviceSlab slab(device, whole_plan(copy_requirements(bytes)), 0);
  const auto copy = [&](int times) {
    for (int n = 0; n < times; ++n) copy_once(slab, bytes);
  };
  slab.fill("from", 1);
  copy(1);
  // enough copies to hide launch times, and at most a tenth of a second
  const double one = seconds_of(slab, [&] { copy(1); });
  const int times = std::clamp(static_cast<int>(0.1 / one), 1, 20);
  double best = std::numeric_limits<double>::infinity();
  for (int run = 0; run < 5; ++run) best = std::min(best, seconds_of(slab, [&] { copy(times); }) / times);
  return 2 * static_cast<double>(bytes) / best;
}

}  // namespace halocline
