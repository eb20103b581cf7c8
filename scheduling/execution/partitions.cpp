#include "scheduling/execution/partitions.hpp"

#include <algorithm>
#include <limits>

#include "scheduling/planning/program_plan.hpp"
#include "scheduling/planning/visits.hpp"

namespace halocline {

Partitions::Partitions(const Program& program, const Plan& plan, const std::vector<Device>& devices,
                       InProcessTransport& transport, BusTraffic& traffic, DeviceThreads& threads)
    : program_(program), plan_(plan), transport_(transport), threads_(threads) {
  for (const auto& slab : plan.slabs) partitions_[slab.device] = nullptr;
  threads_.each(plan_, [&](int device) {
    partitions_.at(device) = std::make_unique<Partition>(program, plan, device,
                                                         devices[static_cast<std::size_t>(device)], transport, traffic);
  });
}

void Partitions::each(const std::function<void(Partition&)>& work) {
  threads_.each(plan_, [&](int device) { work(*partitions_.at(device)); });
}

void Partitions::perform(const Step& step, Scalars& scalars, const std::function<void()>& checked) {
  if (step.due && !step.due(scalars)) return;
  for (const auto& name : volumes_to_share(program_, step, plan_)) {
    each([&](Partition& partition) { partition.offer_halo(step, name); });
    each([&](Partition& partition) { partition.fetch_halo(step, name); });
  }
  transport_.begin_step();
  each([&](Partition& partition) {
    try {
      partition.perform(step, scalars, checked);
    } catch (...) {
      transport_.fail();
      throw;
    }
  });
  for (const auto& name : volumes_to_replace(program_, step, plan_)) transport_.swap(name, next_name(name));
  if (step.reduced) step.reduced(added_sums(step, scalars), scalars);
}

std::vector<double> Partitions::added_sums(const Step& step, const Scalars& scalars) const {
  const Range all{0, static_cast<std::int64_t>(program_.needs.size[2])};
  const Range range = step.over == Domain::slices ? all : views_of(step, program_.needs, scalars);
  const auto values = static_cast<std::size_t>(step.sums), count = static_cast<std::size_t>(range.count());
  std::vector<double> parts(2 * values * count), result;
  transport_.get(sums_home, 2 * values * sizeof(double) * static_cast<std::size_t>(range.begin),
                 parts.size() * sizeof(double), reinterpret_cast<std::byte*>(parts.data()));
  for (std::size_t value = 0; value < values; ++value) {
    double high = 0, low = 0, largest = -std::numeric_limits<double>::infinity();
    for (std::size_t n = 0; n < count; ++n) {
      largest = std::max(largest, parts[2 * (n * values + value)]);
      high += parts[2 * (n * values + value)];
      low += parts[2 * (n * values + value) + 1];
    }
    result.push_back(step.largest ? largest : high + low);
  }
  return result;
}

}  // namespace halocline
