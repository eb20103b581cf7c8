#include "scheduling/execution/device_parts.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "scheduling/planning/program_plan.hpp"
#include "scheduling/planning/step_tasks.hpp"

namespace halocline {

DeviceParts::DeviceParts(const Program& program, const Plan& plan, const std::vector<Device>& devices,
                         Transport& transport, BusTraffic& traffic, DeviceThreads& threads)
    : program_(program), plan_(plan), transport_(transport), threads_(threads) {
  for (const auto& slab : plan.slabs)
    if (plan.is_here(slab.device)) parts_[slab.device] = nullptr;
  threads_.each(plan_, [&](int device) {
    parts_.at(device) =
        std::make_unique<DevicePart>(program, plan, device, devices[plan.number_on_rank(device)], transport, traffic);
  });
}

void DeviceParts::each(const std::function<void(DevicePart&)>& work) {
  threads_.each(plan_, [&](int device) { work(*parts_.at(device)); });
}

// Brings slices beside those of each device to it, for volumes that a step reads with a halo.
void DeviceParts::share_halos(const Step& step) {
  const auto [low, high] = halo_of(program_, step);
  const auto resident = volumes_to_share(program_, step, plan_);
  for (const auto& name : resident) each([&](DevicePart& part) { part.offer_halo(step, name); });
  for (const auto& name : volumes_beside(program_, step, plan_))
    exchange_slices(transport_, plan_, name,
                    array_bytes(array_of(plan_.requirements, name), plan_.requirements, 1, 0, 0), low, high);
  for (const auto& name : resident) each([&](DevicePart& part) { part.fetch_halo(step, name); });
}

void DeviceParts::perform(const Step& step, Scalars& scalars, const std::function<void()>& checked) {
  if (step.due && !step.due(scalars)) return;
  share_halos(step);
  const RayChain chain(step, plan_);
  std::optional<RayRoute> route;
  if (plan_.several_ranks() && step.over == Domain::ray_sums)
    route.emplace(transport_, plan_, chain, written_stacks(step, plan_), views_of(step, program_.needs, scalars));
  transport_.begin_step(route ? &*route : nullptr);
  each([&](DevicePart& part) {
    try {
      part.perform(step, scalars, chain, checked);
    } catch (...) {
      transport_.fail();
      throw;
    }
  });
  if (route) route->end();
  for (const auto& name : volumes_to_replace(program_, step, plan_))
    transport_.swap(name, name_in_role(ArrayRole::next, name));
  if (!step.reduced) return;
  const std::size_t sums = 2 * sizeof(double) * static_cast<std::size_t>(step.sums);
  if (step.over == Domain::slices)
    share_slices(transport_, plan_, sums_array, sums);
  else
    share_view_sums(transport_, plan_, views_of(step, program_.needs, scalars), sums);
  step.reduced(added_sums(step, scalars), scalars);
}

std::vector<double> DeviceParts::added_sums(const Step& step, const Scalars& scalars) const {
  const bool slices = step.over == Domain::slices;
  const Range range = slices ? program_.needs.slices() : views_of(step, program_.needs, scalars);
  const std::size_t of_one = slices ? 1 : unsigned_count(sums_of_view(program_.needs.rows()));
  const auto values = static_cast<std::size_t>(step.sums), count = range.size();
  std::vector<double> parts(2 * values * of_one * count), result;
  transport_.get(sums_array, 2 * values * sizeof(double) * of_one * unsigned_count(range.begin),
                 parts.size() * sizeof(double), reinterpret_cast<std::byte*>(parts.data()));
  for (std::size_t value = 0; value < values; ++value) {
    double high = 0, low = 0, largest = -std::numeric_limits<double>::infinity();
    for (std::size_t n = 0; n < count; ++n) {
      double own_high = 0, own_low = 0;  // of a slice or view
      for (std::size_t of_it = 0; of_it < of_one; ++of_it) {
        const double* const part = &parts[2 * ((n * of_one + of_it) * values + value)];
        if (part[0] > largest || std::isnan(part[0])) largest = part[0];
        own_high += part[0];
        own_low += part[1];
      }
      high += own_high;
      low += own_low;
    }
    result.push_back(step.largest ? largest : high + low);
  }
  return result;
}

}  // namespace halocline
