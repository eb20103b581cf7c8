#include "scheduling/cost.hpp"

#include <algorithm>
#include <cmath>

#include "scheduling/visit_cost.hpp"

namespace halocline {
namespace {

// Waiting for a device, starting its transfers and the next kernels.
constexpr double latency_seconds = 2e-4;

// Bytes a slice of the volume, by what happens to them.
struct SliceBytes {
  double input = 0, state = 0, output = 0, all = 0;  // state: outputs too
};

SliceBytes slice_bytes(const Requirements& requirements) {
  SliceBytes result;
  for (const auto& need : requirements.arrays) {
    if (need.kind != ArrayKind::volume && need.kind != ArrayKind::slice) continue;
    const auto bytes = static_cast<double>(array_bytes(need, requirements, 1, 0, 0));
    result.all += bytes;
    if (need.lifetime == Lifetime::input) result.input += bytes;
    if (need.lifetime == Lifetime::state || need.lifetime == Lifetime::output) result.state += bytes;
    if (need.lifetime == Lifetime::output) result.output += bytes;
  }
  return result;
}

// Bytes that one detector row of one view moves.
double row_bytes(const Requirements& requirements, Lifetime lifetime) {
  double result = 0;
  for (const auto& need : requirements.arrays)
    if (need.kind == ArrayKind::projections && need.lifetime == lifetime)
      result += static_cast<double>(array_bytes(need, requirements, 0, 1, 1));
  return result;
}

double count_batches(const Plan& plan) {
  return plan.batch > 0 ? std::ceil(static_cast<double>(plan.requirements.stack[2]) / plan.batch) : 0;
}

struct Work {
  double bus_bytes = 0;     // both ways
  double memory_bytes = 0;  // read and written by kernels
  double waits = 0;
};

Work iterative_work(const Plan& plan, const SlabPlan& slab) {
  const auto bytes = slice_bytes(plan.requirements);
  const auto interior = static_cast<double>(slab.interior.count()),
             extended = static_cast<double>(slab.extended.count());
  const double k = plan.iterations_per_exchange;
  Work work;
  // A halo is read from the neighbour and written here.
  work.bus_bytes =
      bytes.input * extended + bytes.output * interior + (plan.passes - 1) * 2 * bytes.state * (extended - interior);
  // What an iteration computes shrinks from the slab with its halos to the interior.
  const double computed = interior + (extended - interior) * (k - 1) / (2 * k);
  work.memory_bytes = 2 * bytes.all * computed * std::max(1, plan.requirements.iterations);
  work.waits = plan.slabs.size() > 1 ? plan.passes : 1;
  return work;
}

Work backprojection_work(const Plan& plan, const SlabPlan& slab) {
  const auto& requirements = plan.requirements;
  const auto bytes = slice_bytes(requirements);
  const auto extended = static_cast<double>(slab.extended.count());
  const auto batches = count_batches(plan);
  const auto upload = row_bytes(requirements, Lifetime::input);
  Work work;
  work.bus_bytes = upload * static_cast<double>(slab.rows.count()) * static_cast<double>(requirements.stack[2]) +
                   bytes.output * static_cast<double>(slab.interior.count()) + bytes.input * extended;
  work.memory_bytes = 2 * bytes.all * extended * batches;  // each batch adds to the volume
  work.waits = batches;
  return work;
}

// The slabs are visited for every batch, unless there is only one.
Work projection_work(const Plan& plan, const SlabPlan& slab) {
  const auto bytes = slice_bytes(plan.requirements);
  const auto extended = static_cast<double>(slab.extended.count());
  const auto batches = count_batches(plan);
  Work work;
  work.bus_bytes = bytes.input * extended *
                   (plan.slabs.size() > 1 ? batches : std::min(batches, static_cast<double>(plan.devices.size())));
  work.memory_bytes = bytes.all * extended * batches;
  work.waits = batches;
  return work;
}

Work work_of(const Plan& plan, const SlabPlan& slab) {
  if (plan.requirements.stack[2] == 0) return iterative_work(plan, slab);
  return shares_views(plan.requirements) ? projection_work(plan, slab) : backprojection_work(plan, slab);
}

// What is moved once, whatever the slabs are.
double common_bus_bytes(const Plan& plan) {
  const auto& requirements = plan.requirements;
  const auto stack = static_cast<double>(requirements.stack[1]) * static_cast<double>(requirements.stack[2]);
  return shares_views(requirements) ? stack * row_bytes(requirements, Lifetime::output) : 0;
}

}  // namespace

bool shares_views(const Requirements& requirements) {
  return std::any_of(requirements.arrays.begin(), requirements.arrays.end(), [](const ArrayNeed& need) {
    return need.kind == ArrayKind::projections && need.lifetime == Lifetime::output;
  });
}

double count_passes(const Requirements& requirements, int iterations_per_exchange) {
  // Every exchange and every reduction ends a pass.
  const double k = std::max(1, iterations_per_exchange);
  double passes = 0;
  int before = 0;
  const auto until = [&](int due) {
    passes += std::ceil((due - before) / k);
    before = due;
  };
  for (const int due : requirements.reductions)
    if (due == 0)
      passes += 1;
    else
      until(due);
  until(std::max(1, requirements.iterations));
  return passes;
}

double count_bus_bytes(const Plan& plan) {
  if (!plan.resident && plan.requirements.stack[2] == 0) return visit_bus_bytes(plan);
  double result = common_bus_bytes(plan);
  for (const auto& slab : plan.slabs) result += work_of(plan, slab).bus_bytes;
  return result;
}

double estimate_seconds(const Plan& plan) {
  if (!plan.resident && plan.requirements.stack[2] == 0) return visit_seconds(plan);
  std::vector<double> seconds(plan.devices.size(), 0);
  for (const auto& slab : plan.slabs) {
    const auto& device = plan.devices[static_cast<std::size_t>(slab.device)];
    const auto work = work_of(plan, slab);
    seconds[static_cast<std::size_t>(slab.device)] += work.bus_bytes / device.bus_bandwidth +
                                                      work.memory_bytes / device.memory_bandwidth +
                                                      work.waits * latency_seconds;
  }
  return *std::max_element(seconds.begin(), seconds.end());
}

}  // namespace halocline
