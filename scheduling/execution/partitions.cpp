#include "scheduling/execution/partitions.hpp"

#include "scheduling/planning/visits.hpp"

namespace halocline {

Partitions::Partitions(const Program& program, const Plan& plan, const std::vector<Device>& devices,
                       Transport& transport, BusTraffic& traffic, DeviceThreads& threads)
    : program_(program), plan_(plan), transport_(transport), threads_(threads) {
  for (const auto& slab : plan.slabs) partitions_[slab.device] = nullptr;
  threads_.each(plan_, [&](int device) {
    partitions_.at(device) = std::make_unique<Partition>(
        program, plan, device, devices[static_cast<std::size_t>(device)], transport, traffic);
  });
}

void Partitions::each(const std::function<void(Partition&)>& work) {
  threads_.each(plan_, [&](int device) { work(*partitions_.at(device)); });
}

double Partitions::perform(const Step& step, const Scalars& scalars, const std::function<void()>& checked) {
  exchange_halos(step);
  transport_.begin_step();
  each([&](Partition& partition) {
    try {
      partition.perform(step, scalars, checked);
    } catch (...) {
      transport_.fail();
      throw;
    }
  });
  return step.reduced ? added_sums(step) : 0;
}

void Partitions::exchange_halos(const Step& step) {
  for (const auto& name : volumes_to_share(program_, step, plan_)) {
    each([&](Partition& partition) { partition.offer_halo(step, name); });
    each([&](Partition& partition) { partition.fetch_halo(step, name); });
  }
}

double Partitions::added_sums(const Step& step) const {
  const std::size_t count = step.over == Domain::slices ? program_.needs.size[2] : program_.needs.stack[2];
  std::vector<double> sums(2 * count);
  transport_.get(sums_home, 0, sums.size() * sizeof(double), reinterpret_cast<std::byte*>(sums.data()));
  double high = 0, low = 0;
  for (std::size_t n = 0; n < count; ++n) high += sums[2 * n], low += sums[2 * n + 1];
  return high + low;
}

}  // namespace halocline
