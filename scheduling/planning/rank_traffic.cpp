#include "scheduling/planning/rank_traffic.hpp"

#include <algorithm>
#include <map>
#include <vector>

#include "scheduling/planning/cost.hpp"
#include "scheduling/planning/range_set.hpp"
#include "scheduling/planning/ray_chain.hpp"
#include "scheduling/planning/step_tasks.hpp"

namespace halocline {
namespace {

// Slices between `low` below a part of the volume and `high` above it, cut at the slices that the device holds, that
// other ranks have: they are received.
double slices_of_others(const Plan& plan, const SlabPlan& part, std::int64_t low, std::int64_t high) {
  const Range own = part.interior;
  const Range read{std::max(part.extended.begin, own.begin - low), std::min(part.extended.end, own.end + high)};
  double slices = 0;
  for (const SlabPlan& other : plan.slabs)
    if (const Range shared = common(read, other.interior);
        !shared.empty() && plan.rank_of(other.device) != plan.rank_of(part.device))
      slices += static_cast<double>(shared.count());
  return slices;
}

// The slices of each device: a resident slab, or all that are streamed through it, with the halos of a pass.
std::vector<SlabPlan> parts_of_devices(const Plan& plan) {
  std::vector<SlabPlan> parts;
  for (const SlabPlan& slab : plan.slabs)
    if (!parts.empty() && parts.back().device == slab.device)
      parts.back().interior.end = slab.interior.end;
    else
      parts.push_back(slab);
  const Requirements& needs = plan.requirements;
  const std::int64_t deep = plan.iterations_per_exchange;
  if (!plan.resident)
    for (SlabPlan& part : parts)
      part.extended = part.interior.grown(deep * needs.halo_low, deep * needs.halo_high, needs.slices().count());
  return parts;
}

// Number of exchanges by the iterations that they are for: those of the next pass, or none but its reduction.
std::map<int, double> exchanges_by_depth(const Plan& plan) {
  const Requirements& needs = plan.requirements;
  const int deep = std::max(1, plan.iterations_per_exchange);
  if (!plan.resident) return {{deep, plan.passes}};
  std::map<int, double> exchanges;
  int done = 0;
  const auto until = [&](int due) {
    while (done < due) {
      done += std::min(deep, due - done);
      exchanges[std::min(deep, needs.iterations - done)] += 1;
    }
  };
  for (const int due : needs.reductions) until(std::min(due, needs.iterations));
  until(needs.iterations);
  return exchanges;
}

// Halos that a device receives in all passes.
double received_halos(const Plan& plan, const SlabPlan& part) {
  const Requirements& needs = plan.requirements;
  double slices = 0;
  for (const auto& [iterations, count] : exchanges_by_depth(plan))
    slices +=
        count * slices_of_others(plan, part, std::max<std::int64_t>(iterations * needs.halo_low, needs.reduction_halo),
                                 std::max<std::int64_t>(iterations * needs.halo_high, needs.reduction_halo));
  return slice_bytes(needs).state * slices;
}

// Sums of a slice, for each reduction, go to all other ranks.
double sums_bytes(const Requirements& needs) {
  double bytes = 0;
  for (const ArrayNeed& need : needs.arrays)
    if (need.lifetime == Lifetime::sums) bytes += static_cast<double>(array_bytes(need, needs, 1, 1, 1));
  return bytes * static_cast<double>(needs.slices().count()) *
         static_cast<double>(std::max<std::size_t>(1, needs.reductions.size()));
}

}  // namespace

double count_rank_bytes(const Plan& plan) {
  if (!plan.several_ranks() || plan.requirements.form != ProgramForm::stencil) return 0;
  double bytes = sums_bytes(plan.requirements) * plan.devices.back().rank;
  for (const SlabPlan& part : parts_of_devices(plan)) bytes += received_halos(plan, part);
  return bytes;
}

Range slices_of_rank(const Plan& plan, int rank) {
  Range result{0, 0};
  for (const SlabPlan& slab : plan.slabs) {
    if (plan.rank_of(slab.device) != rank) continue;
    if (result.empty()) result.begin = slab.interior.begin;
    result.end = slab.interior.end;
  }
  return result;
}

Range slices_beside(const Plan& plan, int reader, int rank, std::int64_t low, std::int64_t high) {
  return common(slices_of_rank(plan, reader).grown(low, high, plan.requirements.slices().count()),
                slices_of_rank(plan, rank));
}

namespace {

// Halos of a step's volumes that go from rank to rank.
double exchanged_bytes(const Program& program, const Step& step, const Plan& plan) {
  const Halo halo = halo_of(program, step);
  const int last = plan.devices.back().rank;
  double slices = 0;
  for (int reader = 0; reader <= last; ++reader)
    for (int rank = 0; rank <= last; ++rank)
      if (const Range beside = slices_beside(plan, reader, rank, halo.low, halo.high); rank != reader)
        slices += std::max(0.0, static_cast<double>(beside.count()));
  double bytes = 0;
  for (const auto& name : volumes_beside(program, step, plan))
    bytes += slices * static_cast<double>(array_bytes(array_of(plan.requirements, name), plan.requirements, 1, 0, 0));
  return bytes;
}

// Rows of a view that go on to a slab of another rank, and those that are complete, to the other ranks that have them.
double sent_rows(const RayChain& chain, const Plan& plan) {
  const int last = plan.devices.back().rank;
  double rows = 0;
  for (const RayLink& link : chain.links())
    if (plan.rank_of(plan.slabs[link.from].device) != plan.rank_of(plan.slabs[link.to].device))
      rows += static_cast<double>(link.rows.count());
  for (std::size_t slab = 0; slab < plan.slabs.size(); ++slab)
    for (const Range end : chain.ends(slab))
      for (int rank = 0; rank <= last; ++rank)
        if (const Range there = common(end, plan.rows_of_rank(rank));
            !there.empty() && rank != plan.rank_of(plan.slabs[slab].device))
          rows += static_cast<double>(there.count());
  return rows;
}

double sent_bytes(const Program& program, const StepUse& use, const Plan& plan) {
  const Step& step = *use.step;
  double bytes = exchanged_bytes(program, step, plan);
  if (step.over == Domain::ray_sums) {
    const double rows = sent_rows(RayChain(step, plan), plan) * static_cast<double>(use.views.count());
    for (const RayStack& stack : written_stacks(step, plan)) bytes += rows * static_cast<double>(stack.row);
  }
  const double sums = step.over == Domain::slices ? static_cast<double>(plan.requirements.slices().count())
                      : plan.rank_rows.empty()    ? 0
                                                  : static_cast<double>(sums_of_view(plan.requirements.rows())) *
                                                     static_cast<double>(use.views.count());
  if (step.reduced) bytes += 2 * sizeof(double) * step.sums * sums * plan.devices.back().rank;
  return bytes;
}

}  // namespace

double count_program_rank_bytes(const Program& program, const Plan& plan) {
  double bytes = 0;
  if (!plan.several_ranks()) return bytes;
  for (const StepUse& use : uses_of(program)) bytes += use.times * sent_bytes(program, use, plan);
  return bytes;
}

double read_bytes(const Plan& plan) {
  const Requirements& needs = plan.requirements;
  if (!plan.several_ranks() || needs.form == ProgramForm::steps) return 0;
  const auto ranks = static_cast<std::size_t>(plan.devices.back().rank) + 1;
  const double slice = static_cast<double>(needs.size[0] * needs.size[1]) * sizeof(float),
               row = static_cast<double>(needs.stack[0] * needs.stack[2]) * sizeof(float);
  if (needs.form == ProgramForm::ray_sums) return static_cast<double>(ranks) * slice * needs.slices().count();
  std::vector<RangeSet> read(ranks);  // slices, or rows
  for (const SlabPlan& slab : plan.slabs)
    read[static_cast<std::size_t>(plan.rank_of(slab.device))].add(needs.form == ProgramForm::stencil ? slab.extended
                                                                                                     : slab.rows);
  double inputs = 0;
  for (const ArrayNeed& need : needs.arrays)
    if (need.lifetime == Lifetime::input && need.kind == ArrayKind::volume) inputs += slice;
  const bool volume = needs.form == ProgramForm::stencil;
  const Range all{0, volume ? needs.slices().count() : static_cast<std::int64_t>(needs.stack[1])};
  double bytes = 0;
  for (const RangeSet& each : read) {
    auto lines = static_cast<double>(all.count());
    for (const Range& range : each.missing(all)) lines -= static_cast<double>(range.count());
    bytes += lines * (volume ? inputs : row);
  }
  return bytes;
}

double link_seconds(const Plan& plan) {
  if (!(plan.options.link_bandwidth > 0) || !plan.several_ranks() || plan.requirements.form != ProgramForm::stencil)
    return 0;
  std::vector<double> received(static_cast<std::size_t>(plan.devices.back().rank) + 1, sums_bytes(plan.requirements));
  for (const SlabPlan& part : parts_of_devices(plan))
    received[static_cast<std::size_t>(plan.rank_of(part.device))] += received_halos(plan, part);
  return *std::max_element(received.begin(), received.end()) / plan.options.link_bandwidth;
}

}  // namespace halocline
