#include "scheduling/planning/program_plan.hpp"

#include <algorithm>
#include <optional>
#include <stdexcept>

#include "host/system/error.hpp"
#include "host/system/log.hpp"
#include "scheduling/planning/cost.hpp"
#include "scheduling/planning/layout.hpp"
#include "scheduling/planning/rank_rows.hpp"
#include "scheduling/planning/rank_traffic.hpp"
#include "scheduling/planning/second_buffers.hpp"
#include "scheduling/planning/step_tasks.hpp"

namespace halocline {
namespace {

// Requirements with room for all views of kept projections beside the batches that kernels use.
Requirements with_stores(Requirements requirements) {
  std::vector<ArrayNeed> stores;
  for (const auto& need : requirements.arrays) {
    if (need.kind != ArrayKind::projections || !is_kept(need)) continue;
    ArrayNeed store = in_role(ArrayRole::all_views, need);
    store.kind = ArrayKind::fixed;
    store.elements = whole_bytes(need, requirements) / (need.element_bytes * need.components);
    stores.push_back(std::move(store));
  }
  requirements.arrays.insert(requirements.arrays.end(), stores.begin(), stores.end());
  return requirements;
}

class ProgramPlanner {
 public:
  ProgramPlanner(const Program& program, std::span<const DeviceModel> devices, const PlanOptions& options)
      : program_(program), options_(options), uses_(uses_of(program)) {
    check_halos(program);
    check_parts();
    common_.requirements = program.needs;
    common_.devices.assign(devices.begin(), devices.end());
    common_.options = options;
    common_.notes = options.notes;
    if (!options.speeds.empty())
      for (auto& device : common_.devices) device.speed = options.speeds.at(device.name);
    else
      for (auto& device : common_.devices) device.speed = 1 / program_seconds(device);
  }

  Plan plan() const {
    library_log()->trace("planning {}", program_.needs.algorithm);
    std::optional<Plan> best;
    if (common_.devices.size() > 1 &&
        options_.all_devices.empty())  // the fastest alone is best where it holds everything and others gain nothing
      for (std::size_t n = 0; n < common_.devices.size() && options_.minimum_slabs <= 1 && options_.speeds.empty(); ++n)
        take_better(best, best_on({static_cast<int>(n)}));
    std::vector<int> all;
    for (std::size_t n = 0; n < common_.devices.size(); ++n) all.push_back(static_cast<int>(n));
    take_better(best, best_on(all));
    if (!best) throw_too_small();
    if (best->several_ranks() && !options_.idle_ranks) require_work_for_ranks(*best);
    return *std::move(best);
  }

 private:
  void check_parts() const {
    const auto views = program_.needs.views().count();
    for (const StepUse& use : uses_)
      if (use.step->over != Domain::slices && use.views.count() < views && program_.needs.largest_part == 0)
        throw std::logic_error(program_.needs.algorithm + ": " + use.step->name +
                               " goes over some of the views, and largest_part does not say over how many at most");
  }

  static void take_better(std::optional<Plan>& best, std::optional<Plan> other) {
    if (other && (!best || other->seconds < (1 - worth_another) * best->seconds)) best = std::move(other);
  }

  // Seconds of a step on one device, without transfers.
  double use_seconds(const StepUse& use, const DeviceModel& device) const {
    const Step& step = *use.step;
    if (!(step.units > 0)) return 0;
    const Requirements& needs = program_.needs;
    const double part = step.over == Domain::slices || needs.stack[2] == 0
                            ? 1
                            : static_cast<double>(use.views.count()) / static_cast<double>(needs.stack[2]);
    return part * step.units / unit_rate(step.cost, needs, device);
  }

  double program_seconds(const DeviceModel& device) const {
    double seconds = 1e-9;
    for (const StepUse& use : uses_) seconds += use.times * use_seconds(use, device);
    return seconds;
  }

  std::optional<Plan> best_on(const std::vector<int>& numbers) const {
    const auto& needs = common_.requirements;
    const int views = static_cast<int>(needs.stack[2]);
    const bool may_be_whole = numbers.size() == 1 && options_.minimum_slabs <= 1;
    if (may_be_whole && options_.batch == 0 && needs.largest_part == 0)
      if (auto whole = try_resident(numbers, needs, views)) return whole;
    const auto batches = batch_candidates(needs, views, options_);
    const Requirements visited = with_step_sums(program_, needs);
    if (may_be_whole)
      for (const int batch : batches)
        if (auto stored = try_resident(numbers, with_stores(visited), batch)) return stored;
    // Hidden transfers are worth a smaller batch, but not for the few kernels of steps over views.
    const Requirements all = with_spares(program_, visited, true), sums = with_spares(program_, visited, false);
    for (const int batch : batches)
      for (const Requirements* each : {&all, &sums})
        if (auto resident = try_resident(numbers, batch < views ? *each : visited, batch)) return resident;
    for (const int batch : batches)
      if (auto resident = try_resident(numbers, visited, batch)) return resident;
    std::optional<Plan> best;  // spare arrays for steps over views would make slabs thinner for little
    for (const Requirements* each : {&sums, &visited})
      for (const int batch : batches)
        if (auto slabs = lay_out_streamed(*each, devices_of(numbers), 1, batch, options_.minimum_slabs))
          take_better(best, finished(numbers, *each, *std::move(slabs), batch));
    return best;
  }

  std::vector<DeviceModel> devices_of(const std::vector<int>& numbers) const {
    std::vector<DeviceModel> result;
    for (const int n : numbers) result.push_back(common_.devices[static_cast<std::size_t>(n)]);
    return result;
  }

  std::optional<Plan> try_resident(const std::vector<int>& numbers, const Requirements& needs, int batch) const {
    auto slabs = lay_out_resident(needs, devices_of(numbers), 1, batch, options_.minimum_slabs);
    if (!slabs) return std::nullopt;
    return finished(numbers, needs, *std::move(slabs), batch);
  }

  Plan finished(const std::vector<int>& numbers, const Requirements& needs, std::vector<SlabPlan> slabs,
                int batch) const {
    Plan plan = common_;
    plan.requirements = needs;
    plan.resident = one_slab_a_device(slabs);
    plan.slabs = std::move(slabs);
    for (auto& slab : plan.slabs) slab.device = numbers[static_cast<std::size_t>(slab.device)];
    plan.batch = batch;
    plan.passes = needs.iterations;
    plan.rank_rows = rows_of_ranks(program_, plan);
    plan.bus_bytes = count_program_bytes(program_, plan);
    plan.rank_bytes = count_program_rank_bytes(program_, plan);
    plan.host_bytes = count_host_bytes(plan);
    double speed = 0, bandwidth = 0;
    for (const int n : used_devices(plan)) {
      const auto& device = plan.devices[static_cast<std::size_t>(n)];
      speed += device.speed;
      bandwidth = std::max(bandwidth, device.bus_bandwidth);
    }
    const double kernels = options_.speeds.empty() ? 1 / speed : program_seconds(plan.devices.front());
    plan.seconds = kernels;
    if (bandwidth > 0) plan.seconds += plan.bus_bytes / bandwidth - hidden_seconds(plan, kernels, bandwidth);
    return plan;
  }

  // Seconds of transfers that overlap with kernels of the same step; `kernels`: of all steps.
  double hidden_seconds(const Plan& plan, double kernels, double bandwidth) const {
    const auto& device = plan.devices[static_cast<std::size_t>(plan.slabs.front().device)];
    const double scale = kernels / program_seconds(device);
    double seconds = 0;
    for (const StepUse& use : uses_)
      if (use.step->units > 0 && overlaps(*use.step, plan))
        seconds += use.times * std::min(scale * use_seconds(use, device),
                                        count_step_bytes(program_, *use.step, use.views, plan) / bandwidth);
    return seconds;
  }

  // The message of make_plan() about the smallest piece of work.
  [[noreturn]] void throw_too_small() const {
    PlanOptions smallest = options_;
    smallest.batch = program_.needs.batch_step;
    make_plan(with_step_sums(program_, program_.needs), common_.devices, smallest);
    throw PlanError(program_.needs.algorithm + ": the devices have too little memory; give more with `device_memory`");
  }

  const Program& program_;
  const PlanOptions& options_;
  std::vector<StepUse> uses_;
  Plan common_;
};

constexpr int slabs_of_unlike_devices = 4;  // each, in the mean

// Plan for voxel sums: several slabs for each of unlike devices, so that an idle device can take another's.
Plan plan_slabs_to_share(const Requirements& needs, std::span<const DeviceModel> devices, const PlanOptions& options) {
  const auto speeds = throughputs(needs, devices);
  const auto on_unlike_devices = [&](const Plan& plan) {
    const auto used = used_devices(plan);
    return std::any_of(used.begin(), used.end(), [&](int n) {
      return speeds[static_cast<std::size_t>(n)] != speeds[static_cast<std::size_t>(used.front())];
    });
  };
  Plan plan = make_plan(needs, devices, options);
  if (!on_unlike_devices(plan)) return plan;
  PlanOptions more = options;
  more.minimum_slabs = std::max(options.minimum_slabs, slabs_of_unlike_devices * static_cast<int>(devices.size()));
  Plan divided = make_plan(needs, devices, more);
  return on_unlike_devices(divided) ? divided : plan;
}

}  // namespace

Plan plan_program(const Program& program, std::span<const DeviceModel> devices, const PlanOptions& options) {
  if (!options.all_devices.empty()) devices = options.all_devices;
  if (!devices.empty()) {  // else make_plan() reports it
    const ProgramForm form = program.needs.form;
    if (form == ProgramForm::steps) return ProgramPlanner(program, devices, options).plan();
    if (form == ProgramForm::voxel_sums) return plan_slabs_to_share(program.needs, devices, options);
  }
  return make_plan(program.needs, devices, options);
}

}  // namespace halocline
