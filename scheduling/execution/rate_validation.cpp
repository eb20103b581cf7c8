#include "scheduling/execution/rate_validation.hpp"

#include <chrono>

#include "host/system/log.hpp"
#include "scheduling/planning/cost.hpp"
#include "scheduling/planning/rank_traffic.hpp"
#include "scheduling/planning/streaming_cost.hpp"
#include "scheduling/profiling/rates.hpp"

namespace halocline {

Plan plan_of_completed_work(const RunResult& result) {
  Plan plan = result.plan;
  auto& requirements = plan.requirements;
  if (plan.batch > 0 || result.iterations >= requirements.iterations) return plan;
  requirements.iterations = result.iterations;
  std::erase_if(requirements.reductions, [&](int due) { return due >= result.iterations; });
  plan.passes = plan.resident ? count_passes(requirements, plan.iterations_per_exchange)
                              : count_streaming_passes(requirements, plan.iterations_per_exchange);
  plan.seconds = estimate_seconds(plan);
  plan.bus_bytes = count_bus_bytes(plan);
  plan.rank_bytes = count_rank_bytes(plan);
  return plan;
}

std::string rate_deviation(double predicted, double seconds) {
  constexpr double shortest = 0.2, well_below = 0.6, well_above = 2;
  if (seconds < shortest || !(predicted > 0)) return {};
  return seconds < well_below * predicted ? "too low" : seconds > well_above * predicted ? "too high" : "";
}

void validate_rates(const RunResult& result, const std::vector<Device>& devices) {
  const double predicted = plan_of_completed_work(result).seconds;
  const std::string doubt = rate_deviation(predicted, result.seconds);
  if (doubt.empty()) return;
  library_log()->debug("the run took {:.3g} s instead of {:.3g} s: rates may be {}", result.seconds, predicted, doubt);
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  forget_rates(devices, doubt, std::chrono::duration_cast<std::chrono::seconds>(now).count());
}

}  // namespace halocline
