#include "scheduling/planning/plan.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "host/system/error.hpp"
#include "host/system/log.hpp"
#include "host/system/plural.hpp"
#include "scheduling/planning/cost.hpp"
#include "scheduling/planning/layout.hpp"
#include "scheduling/planning/plan_text.hpp"
#include "scheduling/planning/rank_traffic.hpp"
#include "scheduling/planning/skew.hpp"
#include "scheduling/planning/streaming_cost.hpp"

namespace halocline {
namespace {

// Fraction of its time that streaming must save over resident slabs, whose transfers tend to be faster than predicted.
constexpr double worth_streaming = 0.1;
constexpr double worth_more_slabs = 0.05, nearly_as_fast = 0.01;

// Candidates for the iterations per exchange: all small numbers, then steps of a sixteenth.
std::vector<int> exchange_candidates(const Requirements& requirements, const PlanOptions& options) {
  const int iterations = std::max(1, requirements.iterations);
  if (!is_iterative(requirements) || requirements.reduction_every_iteration) return {1};
  if (options.iterations_per_exchange > 0) return {std::min(options.iterations_per_exchange, iterations)};
  int longest = 0, before = 0;  // between reductions: wider halos would never be used
  for (const int due : requirements.reductions) {
    longest = std::max(longest, due - before);
    before = due;
  }
  longest = requirements.reductions_steer ? std::max(longest, iterations - before) : iterations;
  std::vector<int> result;
  for (int k = 1; k < longest; k += std::max(1, k / 16)) result.push_back(k);
  result.push_back(longest);
  return result;
}

// Views for which all devices' image arrays have layers.
int most_views(const Requirements& requirements, std::span<const DeviceModel> devices) {
  std::size_t most = requirements.stack[2];
  for (const ArrayNeed& need : requirements.arrays) {
    if (need.kind != ArrayKind::image) continue;
    const std::size_t together = need.layer_views > 0 ? static_cast<std::size_t>(need.layer_views) : need.components;
    for (const auto& device : devices)
      if (device.image_layers > 0) most = std::min(most, device.image_layers * together);
  }
  return static_cast<int>(most);
}

// Devices to lay slabs out for. Where devices share the views, each sees every slab, so slabs fit the smallest.
std::vector<DeviceModel> layout_devices(const Requirements& requirements, std::span<const DeviceModel> devices) {
  if (!shares_views(requirements)) return {devices.begin(), devices.end()};
  DeviceModel smallest = devices.front();
  for (const auto& device : devices) {
    smallest.memory = std::min(smallest.memory, device.memory);
    smallest.max_allocation = std::min(smallest.max_allocation, device.max_allocation);
  }
  return {smallest};
}

// Devices that take part, and their numbers among all.
struct Team {
  std::vector<DeviceModel> devices;
  std::vector<int> numbers;
};

void finish_plan(Plan& plan, const Team& team, std::vector<SlabPlan> slabs, bool resident, int iterations, int batch) {
  plan.slabs = std::move(slabs);
  for (auto& slab : plan.slabs) slab.device = team.numbers[static_cast<std::size_t>(slab.device)];
  plan.iterations_per_exchange = iterations;
  plan.batch = batch;
  plan.resident = resident;
  plan.passes = !is_iterative(plan.requirements) ? 1
                : resident                       ? count_passes(plan.requirements, iterations)
                                                 : count_streaming_passes(plan.requirements, iterations);
  plan.seconds = estimate_seconds(plan);
}

// Streamed slabs of an iterative method: with second buffers, so that transfers overlap with kernels, or without where
// these do not fit.
std::optional<Plan> try_skewed_plan(const Plan& common, const Team& team, int iterations, const PlanOptions& options) {
  // The last region would otherwise hold the whole volume.
  const auto& r = common.requirements;
  const bool asked = options.iterations_per_exchange > 0;
  if (!asked && iterations > 1 && std::int64_t{iterations} * r.halo_high > r.slices().count()) return std::nullopt;
  for (const bool overlapped : {true, false}) {
    Plan plan = common;
    plan.requirements = skewed_requirements(common.requirements, iterations, overlapped);
    auto slabs = lay_out_streamed(plan.requirements, team.devices, iterations, 0, options.minimum_slabs);
    if (!slabs) continue;
    finish_plan(plan, team, std::move(*slabs), false, iterations, 0);
    return plan;
  }
  return std::nullopt;
}

std::optional<Plan> try_plan(const Plan& common, const Team& team, int iterations, int batch,
                             const PlanOptions& options) {
  auto slabs = lay_out_resident(common.requirements, team.devices, iterations, batch, options.minimum_slabs);
  if (!slabs && batch == 0) return try_skewed_plan(common, team, iterations, options);
  if (!slabs) slabs = lay_out_streamed(common.requirements, team.devices, iterations, batch, options.minimum_slabs);
  if (!slabs) return std::nullopt;
  Plan plan = common;
  const bool resident = one_slab_a_device(*slabs);
  finish_plan(plan, team, std::move(*slabs), resident, iterations, batch);
  return plan;
}

// True where slabs that could be resident may be streamed: in one pass, which moves no more over the bus but overlaps
// it with kernels.
bool may_stream(const Plan& common, const Team& team, const PlanOptions& options) {
  const auto& r = common.requirements;
  return options.may_stream && !options.may_end_early && options.minimum_slabs == 0 &&
         options.iterations_per_exchange == 0 && is_iterative(r) && !r.reductions_steer &&
         !r.reduction_every_iteration && is_one_pass(r, r.iterations) &&
         std::none_of(team.devices.begin(), team.devices.end(),
                      [](const DeviceModel& device) { return device.shares_memory; });
}

// Number of streamed slabs with the least time: with few, the transfers at both ends of a pass are not hidden, with
// many the seams cost more. The smallest number that is nearly as good. More slabs gained nothing where the state moves
// in every pass (H200).
std::optional<Plan> in_best_slabs(const Plan& common, const Team& team, int iterations, const PlanOptions& options) {
  auto fewest = try_skewed_plan(common, team, iterations, options);
  if (!fewest || options.minimum_slabs > 0 || fewest->passes > 1) return fewest;
  const auto count = static_cast<double>(std::max(fewest->slabs.size(), team.devices.size()));
  std::vector<Plan> plans;
  double least = fewest->seconds;
  for (const double more : {1.25, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 10.0, 12.0, 16.0, 24.0, 32.0}) {
    PlanOptions divided = options;
    divided.minimum_slabs =
        static_cast<int>(std::min(std::ceil(more * count), static_cast<double>(common.requirements.size[2])));
    auto plan = try_skewed_plan(common, team, iterations, divided);
    // second buffers are not given up for it
    if (!plan || is_overlapped(plan->requirements) != is_overlapped(fewest->requirements)) continue;
    least = std::min(least, plan->seconds);
    plans.push_back(*std::move(plan));
  }
  if (fewest->seconds <= (1 + worth_more_slabs) * least) return fewest;
  return *std::find_if(plans.begin(), plans.end(),
                       [&](const Plan& plan) { return plan.seconds <= (1 + nearly_as_fast) * least; });
}

// The best plan for all devices of a team.
std::optional<Plan> best_plan(const Plan& common, const Team& team, const PlanOptions& options) {
  const auto exchanges = exchange_candidates(common.requirements, options);
  const auto batches = batch_candidates(common.requirements, most_views(common.requirements, team.devices), options);
  std::optional<Plan> best;
  // A slab without neighbours exchanges nothing: all iterations at once are best.
  if (auto whole = try_plan(common, team, exchanges.back(), batches.front(), options);
      whole && whole->slabs.size() == 1) {
    best = std::move(whole);
  }
  const bool alone = best && team.devices.size() == 1;
  for (const int batch : batches)
    for (const int iterations : exchanges) {
      if (alone) break;
      auto plan = try_plan(common, team, iterations, batch, options);
      if (!plan) continue;
      // Resident slabs are preferred to streamed ones.
      const bool better = !best || (plan->resident && !best->resident) ||
                          (plan->resident == best->resident && plan->seconds < best->seconds);
      if (better) best = std::move(plan);
    }
  if (!best || batches.front() > 0) return best;
  if (!best->resident) return in_best_slabs(common, team, best->iterations_per_exchange, options);
  if (!may_stream(common, team, options)) return best;
  auto streamed = in_best_slabs(common, team, common.requirements.iterations, options);
  if (!streamed || !is_overlapped(streamed->requirements)) return best;
  if (streamed->seconds > (1 - worth_streaming) * best->seconds) return best;
  streamed->streamed = true;
  return streamed;
}

// possible_teams(), or all devices where speeds are given by hand.
std::vector<Team> teams(const Plan& common, bool by_hand) {
  const auto all = layout_devices(common.requirements, common.devices);
  auto possible = possible_teams(all);
  if (by_hand) possible.erase(possible.begin(), possible.end() - 1);
  std::vector<Team> result;
  for (auto& numbers : possible) {
    Team team;
    for (const int n : numbers) team.devices.push_back(all[static_cast<std::size_t>(n)]);
    team.numbers = std::move(numbers);
    result.push_back(std::move(team));
  }
  return result;
}

std::string names_of(const Plan& plan, const Team& team) {
  std::vector<std::string> names;
  for (const int n : team.numbers) names.push_back(plan.devices[static_cast<std::size_t>(n)].name);
  return fmt::format("{}", fmt::join(names, " + "));
}

Team others(const Team& all, const Team& team) {
  Team result;
  for (const int n : all.numbers)
    if (std::find(team.numbers.begin(), team.numbers.end(), n) == team.numbers.end()) result.numbers.push_back(n);
  return result;
}

[[noreturn]] void throw_too_small(const Requirements& given, std::span<const DeviceModel> devices, int iterations,
                                  int batch, const PlanOptions& options) {
  const Requirements requirements = batch > 0 ? given : skewed_requirements(given, iterations, false);
  const auto& largest = *std::max_element(devices.begin(), devices.end(),
                                          [](const auto& a, const auto& b) { return a.memory < b.memory; });
  SlabPlan slab;  // the slice with the largest need
  const auto nz = requirements.slices().count();
  for (std::int64_t z = 0; z < nz; ++z) {
    const auto one = batch > 0 ? make_slab(requirements, 0, {z, z + 1}, iterations, batch)
                               : make_region(requirements, 0, {0, nz}, {z, z + 1}, iterations);
    if (one.bytes > slab.bytes) slab = one;
  }
  std::string text =
      fmt::format("{}: not even one slice of the volume ({} x {} voxels) with its halos{} fits the device memory.\n",
                  requirements.algorithm, requirements.size[0], requirements.size[1],
                  batch > 0 ? fmt::format(" and {} view{}", batch, batch > 1 ? "s" : "") : "");
  const auto row = [&](const std::string& name, std::size_t bytes, const char* note) {
    text += fmt::format("  {:<28} {:>12}{}\n", name, bytes_text(static_cast<double>(bytes)), note);
  };
  text += fmt::format("  {:<28} {:>12}\n", "array", "needed");
  bool array_too_large = false;
  for (const auto& need : requirements.arrays) {
    const auto bytes = array_bytes(need, requirements, slab.extended.count(), slab.rows.count(), batch);
    const bool too_large = bytes > largest.max_allocation;
    array_too_large = array_too_large || too_large;
    row(need.name, bytes, too_large ? "  more than one allocation may have" : "");
  }
  row(fmt::format("all, for {} slices", slab.extended.count()), slab.bytes, "");
  for (const auto& device : devices) {
    row("budget of " + device.name, device.memory, "");
    row("  largest allocation", device.max_allocation, "");
  }
  if (array_too_large)
    text += "Choose another `device`, or fewer voxels; `device_memory` does not change the largest allocation.";
  else
    text += "Give more with `device_memory` if the device has it, choose another `device`, or fewer voxels.";
  if (iterations > 1)
    text += fmt::format(" {} iterations per exchange were asked for: fewer need thinner halos.", iterations);
  if (options.batch > 1) text += fmt::format(" {} views at a time were asked for: fewer need less.", batch);
  throw PlanError(text);
}

}  // namespace

std::vector<DeviceModel> models_for(std::span<const DeviceModel> devices, const std::array<std::size_t, 3>& volume,
                                    const std::array<std::size_t, 3>& stack) {
  std::vector<DeviceModel> result(devices.begin(), devices.end());
  const auto problem = problem_class(volume, stack);
  for (DeviceModel& device : result) {
    if (const auto found = problem ? device.problems.find(*problem) : device.problems.end();
        found != device.problems.end())
      for (const auto& [name, choice] : found->second.choices) device.choices[name] = choice;
    device.problems.clear();
  }
  return result;
}

void SlabExtent::include(const SlabPlan& slab) {
  slices = std::max(slices, slab.extended.count());
  rows = std::max(rows, slab.rows.count());
}

SlabExtent Plan::extent_of(int device) const {
  SlabExtent extent;
  for (const auto& slab : slabs)
    if (slab.device == device) extent.include(slab);
  return extent;
}

std::size_t Plan::number_on_rank(int device) const {
  if (!several_ranks()) return static_cast<std::size_t>(device);
  return static_cast<std::size_t>(
      std::count_if(devices.begin(), devices.begin() + device,
                    [&](const DeviceModel& before) { return before.rank == rank_of(device); }));
}

Range Plan::rows_of_rank(int rank) const {
  if (!devices.empty() && rank > devices.back().rank) return {};
  return rank_rows.empty() ? requirements.rows() : rank_rows[static_cast<std::size_t>(rank)];
}

std::string Plan::device_name(int device) const {
  const DeviceModel& model = devices[static_cast<std::size_t>(device)];
  return several_ranks() ? fmt::format("rank {}: {}", model.rank, model.name) : model.name;
}

void require_work_for_ranks(const Plan& plan) {
  const auto used = used_devices(plan);
  for (int rank = 0; rank <= plan.devices.back().rank; ++rank)
    if (std::none_of(used.begin(), used.end(), [&](int device) { return plan.rank_of(device) == rank; })) {
      const Requirements& needs = plan.requirements;
      throw PlanError(
          fmt::format("{}: of {} ranks, rank {} would have nothing to do, as there is too little for all: "
                      "{}; start fewer ranks",
                      needs.algorithm, plan.devices.back().rank + 1, rank,
                      shares_views(needs) ? views_text(needs.stack[2]) : plural(needs.size[2], "slice", "slices")));
    }
}

Plan make_plan(const Requirements& requirements, std::span<const DeviceModel> devices, const PlanOptions& options) {
  if (!options.all_devices.empty()) devices = options.all_devices;
  if (devices.empty())
    throw PlanError("there is no device to plan for: choose one with `device`; `device_memory` sets what it may use");
  if (std::any_of(requirements.size.begin(), requirements.size.end(), [](std::size_t n) { return n == 0; }))
    throw InputError(fmt::format("{}: the volume has size {} x {} x {}; every size must be at least 1",
                                 requirements.algorithm, requirements.size[0], requirements.size[1],
                                 requirements.size[2]));
  library_log()->trace("planning {}", requirements.algorithm);
  Plan common;
  common.requirements = requirements;
  for (auto& need : common.requirements.arrays)
    need.on_device = need.on_device || options.on_devices.contains(need.name);
  common.devices.assign(devices.begin(), devices.end());
  for (auto& device : common.devices)
    if (const auto held = options.reserved.find(device.name); held != options.reserved.end())
      device.memory -= std::min(device.memory, held->second);
  common.options = options;
  common.notes = options.notes;
  if (!options.speeds.empty())
    for (auto& device : common.devices) device.speed = options.speeds.at(device.name);
  const bool by_hand = common.devices.front().speed > 0 || !options.all_devices.empty();
  const auto speeds = throughputs(requirements, common.devices);
  for (std::size_t n = 0; n < speeds.size(); ++n) common.devices[n].speed = speeds[n];

  const auto candidates = teams(common, by_hand);
  std::optional<Plan> best;
  const Team* chosen = nullptr;
  double with_more = 0;  // seconds of the next larger team, which was not worth it
  for (const auto& team : candidates) {
    auto plan = best_plan(common, team, options);
    if (!plan) continue;
    if (best && plan->seconds > (1 - worth_another) * best->seconds) {
      if (with_more == 0) with_more = plan->seconds;
      continue;
    }
    best = std::move(plan);
    chosen = &team;
    with_more = 0;
  }
  if (!best)
    throw_too_small(requirements, candidates.back().devices, exchange_candidates(requirements, options).front(),
                    batch_candidates(requirements, most_views(requirements, candidates.back().devices), options).back(),
                    options);
  if (with_more > 0)
    best->notes.push_back(fmt::format("left out: {}; with {} it would take {:.3g} s instead of {:.3g} s",
                                      names_of(*best, others(candidates.back(), *chosen)),
                                      candidates.size() > 2 ? "more" : "it", with_more, best->seconds));
  if (shares_views(requirements)) {
    const auto shares = view_shares(*best);
    for (std::size_t n = 0; n < shares.size(); ++n)
      if (shares[n] <= 0)
        best->notes.push_back(fmt::format("left out: {}; it would gain less than 2 %", best->devices[n].name));
  }
  best->bus_bytes = count_bus_bytes(*best);
  best->rank_bytes = count_rank_bytes(*best);
  best->host_bytes = count_host_bytes(*best);
  if (best->several_ranks() && !options.idle_ranks) require_work_for_ranks(*best);
  return *std::move(best);
}

std::optional<Plan> rebalanced(const Plan& plan, std::span<const double> speeds) {
  Plan result = plan;
  Team team;
  for (const auto& slab : plan.slabs) {
    if (!team.numbers.empty() && slab.device == team.numbers.back()) continue;
    auto& device = result.devices[static_cast<std::size_t>(slab.device)];
    device.speed = speeds[static_cast<std::size_t>(slab.device)];
    team.devices.push_back(device);
    team.numbers.push_back(slab.device);
  }
  const int iterations = plan.iterations_per_exchange, count = static_cast<int>(plan.slabs.size());
  auto slabs = plan.resident ? lay_out_resident(plan.requirements, team.devices, iterations, plan.batch, count)
                             : lay_out_streamed(plan.requirements, team.devices, iterations, plan.batch, count);
  if (!slabs) return std::nullopt;
  finish_plan(result, team, std::move(*slabs), plan.resident, iterations, plan.batch);
  return result;
}

}  // namespace halocline
