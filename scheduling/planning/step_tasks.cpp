#include "scheduling/planning/step_tasks.hpp"

#include <algorithm>
#include <stdexcept>

#include "scheduling/planning/range_set.hpp"
#include "scheduling/planning/rank_rows.hpp"

namespace halocline {
namespace {

std::vector<std::size_t> slabs_on(const Plan& plan, int device) {
  std::vector<std::size_t> result;
  for (std::size_t n = 0; n < plan.slabs.size(); ++n)
    if (plan.slabs[n].device == device) result.push_back(n);
  return result;
}

std::vector<Range> batches_of(const Plan& plan, Range views) {
  std::vector<Range> result;
  for (std::int64_t first = views.begin; first < views.end; first += plan.batch)
    result.push_back({first, std::min(views.end, first + plan.batch)});
  return result;
}

std::vector<int> devices_of(const Plan& plan) {
  std::vector<int> result;
  for (const auto& slab : plan.slabs)
    if (result.empty() || result.back() != slab.device) result.push_back(slab.device);
  return result;
}

std::vector<int> devices_of_rank(const Plan& plan, int rank) {
  std::vector<int> result = devices_of(plan);
  std::erase_if(result, [&](int device) { return plan.rank_of(device) != rank; });
  return result;
}

// True where it is cheaper for a single device to load each slab once with all batches than each batch with all slabs,
// where whole views stay on the device from slab to slab.
bool loads_slabs_once(const Plan& plan, Range views, std::size_t slabs) {
  if (slabs != plan.slabs.size()) return false;
  const auto& r = plan.requirements;
  const double volume =
      static_cast<double>(r.size[0]) * static_cast<double>(r.size[1]) * static_cast<double>(r.size[2]);
  const double stack =
      static_cast<double>(r.stack[0]) * static_cast<double>(r.stack[1]) * static_cast<double>(views.count());
  const auto batches = static_cast<double>(batches_of(plan, views).size()), count = static_cast<double>(slabs);
  return volume + (2 * count - 1) * stack < batches * volume + stack;
}

// The tasks of a device over ray sums.
class RayTasks {
 public:
  RayTasks(const Plan& plan, const RayChain& chain, Range all) : chain_(chain), batches_(batches_of(plan, all)) {}

  // Each batch with all slabs, so that devices with the next slabs can go on with it.
  std::vector<Task> by_batch(const std::vector<std::size_t>& slabs) && {
    for (const Range views : batches_)
      for (const auto slab : slabs) {
        bool prepares = slabs.size() > 1 || views == batches_.front();
        for (const RayPiece& piece : chain_.pieces(slab)) add(slab, views, piece, prepares);
      }
    return std::move(tasks_);
  }

  // Each slab with all batches; at the end, what has to wait for other devices.
  std::vector<Task> by_slab(const std::vector<std::size_t>& slabs) && {
    for (const bool waits : {false, true})
      for (const auto slab : slabs) {
        bool prepares = true;
        for (const Range views : batches_)
          for (const RayPiece& piece : chain_.pieces(slab))
            if (piece.waits == waits) add(slab, views, piece, prepares);
      }
    return std::move(tasks_);
  }

 private:
  void add(std::size_t slab, Range views, const RayPiece& piece, bool& prepares) {
    Task task{slab, views, piece.rows, prepares, piece.begins, true};
    prepares = false;
    const bool kept = !tasks_.empty() && tasks_.back().views == task.views && tasks_.back().rows == task.rows;
    if (kept) tasks_.back().passes_on = false;
    for (const RayLink& link : chain_.links())
      if (!kept && link.to == slab && !common(link.rows, piece.rows).empty()) task.follows.push_back(link);
    tasks_.push_back(std::move(task));
  }

  const RayChain& chain_;
  std::vector<Range> batches_;
  std::vector<Task> tasks_;
};

std::vector<Task> ray_tasks(const Plan& plan, Range all, const std::vector<std::size_t>& slabs, const RayChain& chain) {
  const bool once = slabs.size() > 1 && (!chain.whole() || loads_slabs_once(plan, all, slabs.size()));
  RayTasks tasks(plan, chain, all);
  return once ? std::move(tasks).by_slab(slabs) : std::move(tasks).by_batch(slabs);
}

std::vector<Task> voxel_tasks(const Program& program, const Plan& plan, Range all,
                              const std::vector<std::size_t>& slabs) {
  std::vector<Task> result;
  for (const auto slab : slabs) {
    const bool band = plan.slabs.size() > 1 && program.needs.detector_rows;
    const Range rows = band ? program.needs.detector_rows(plan.slabs[slab].extended) : plan.requirements.rows();
    for (const Range views : batches_of(plan, all)) {
      const bool first = views.begin == all.begin;
      result.push_back({slab, views, rows, first, first});
    }
  }
  return result;
}

}  // namespace

Place place_of(const Plan& plan, const ArrayNeed& kept) {
  if (kept.kind == ArrayKind::volume) return plan.resident ? Place::working : Place::host;
  const Requirements& all = plan.requirements;
  const bool one_batch = all.largest_part == 0 && plan.batch >= static_cast<int>(all.stack[2]);
  if (plan.slabs.size() == 1 && one_batch) return Place::working;
  const bool stored = std::any_of(all.arrays.begin(), all.arrays.end(),
                                  [](const ArrayNeed& need) { return need.role == ArrayRole::all_views; });
  return stored ? Place::device : Place::host;
}

Place place_of(const Plan& plan, const std::string& kept) {
  return place_of(plan, array_of(plan.requirements, kept));
}

namespace {

// The part of a kept array, 0 to 1, of which a rank touches the memory: slices of its slabs, or its rows.
double share_of_rank(const Plan& plan, const ArrayNeed& need, int rank) {
  if (!plan.several_ranks()) return 1;
  if (need.kind == ArrayKind::projections) return share_of_rows(plan, rank);
  if (need.kind != ArrayKind::volume) return 1;
  RangeSet touched;
  for (const SlabPlan& slab : plan.slabs)
    if (plan.rank_of(slab.device) == rank) touched.add(slab.extended);
  const Range all = plan.requirements.slices();
  std::int64_t others = 0;
  for (const Range& slices : touched.missing(all)) others += slices.count();
  return static_cast<double>(all.count() - others) / static_cast<double>(all.count());
}

}  // namespace

double bytes_on_host(const Plan& plan) {
  double most = 0;
  const int last = plan.several_ranks() ? plan.devices.back().rank : 0;
  for (int rank = 0; rank <= last; ++rank) {
    double bytes = 0;
    for (const ArrayNeed& need : plan.requirements.arrays)
      if (is_kept(need) && need.lifetime != Lifetime::input && place_of(plan, need) == Place::host)
        bytes += (need.halo_inout ? 2 : 1) * share_of_rank(plan, need, rank) *
                 static_cast<double>(whole_bytes(need, plan.requirements));
    most = std::max(most, bytes);
  }
  return most;
}

std::vector<Task> tasks_of(const Program& program, const Step& step, Range views, const Plan& plan, int device,
                           const RayChain& chain) {
  const auto slabs = slabs_on(plan, device);
  std::vector<Task> result;
  switch (step.over) {
    case Domain::slices:
      for (const auto slab : slabs) result.push_back({slab, {}, plan.requirements.rows()});
      return result;
    case Domain::views: {
      const auto devices = devices_of_rank(plan, plan.rank_of(device));
      const auto own = static_cast<std::size_t>(std::find(devices.begin(), devices.end(), device) - devices.begin());
      const auto batches = batches_of(plan, views);
      for (std::size_t n = own; n < batches.size(); n += devices.size())
        result.push_back({slabs.front(), batches[n], plan.rows_of_rank(plan.rank_of(device))});
      return result;
    }
    case Domain::ray_sums:
      return ray_tasks(plan, views, slabs, chain);
    case Domain::voxel_sums:
      return voxel_tasks(program, plan, views, slabs);
  }
  return result;
}

std::vector<Residence::Move> Residence::before_use(const std::string& name, const Part& part, Access access,
                                                   bool zero) {
  using Kind = Move::Kind;
  std::vector<Move> result;
  const bool working = place_of(plan_, name) == Place::working;
  const auto held = held_.find(name);
  const bool here = working || (held != held_.end() && held->second.part == part);
  if (!here && held != held_.end() && held->second.changed) result.push_back({Kind::store, name, held->second.part});
  if (zero)
    result.push_back({Kind::zero, name, part});
  else if (!here && access != Access::out)
    result.push_back({Kind::load, name, part});
  if (working) return result;
  Held& now = held_[name];
  now.changed = (here && now.changed) || access != Access::in;
  now.part = part;
  return result;
}

std::vector<Residence::Move> Residence::store_all() {
  std::vector<Move> result;
  for (const auto& [name, held] : held_)
    if (held.changed) result.push_back({Move::Kind::store, name, held.part});
  std::erase_if(held_, [](const auto& each) { return each.second.changed; });
  return result;
}

Access access_in(const Task& task, const Step& step, Access access) {
  const bool sums = step.over == Domain::ray_sums || step.over == Domain::voxel_sums;
  return sums && access == Access::out && !task.begins ? Access::inout : access;
}

Halo halo_of(const Program& program, const Step& step) {
  if (step.over == Domain::slices) return {step.halo_low, step.halo_high};
  if (step.over == Domain::ray_sums) return {0, program.needs.halo_high};
  return {};
}

Residence::Part part_of_task(const Program& program, const Step& step, const ArrayAccess& array, const Plan& plan,
                             const Task& task) {
  if (array_of(plan.requirements, array.name).kind != ArrayKind::volume) return {task.views, task.rows};
  const Range interior = plan.slabs[task.slab].interior;
  const Halo halo = array.access == Access::out ? Halo{} : halo_of(program, step);
  return {interior, {}, interior.grown(halo.low, halo.high, program.needs.slices().count())};
}

std::vector<TaskMoves> moves_of(const Program& program, const Step& step, const Plan& plan,
                                const std::vector<Task>& tasks) {
  Residence residence(plan);
  std::vector<TaskMoves> result(tasks.size());
  const auto add = [](std::vector<Residence::Move>& moves, const std::vector<Residence::Move>& more) {
    moves.insert(moves.end(), more.begin(), more.end());
  };
  for (std::size_t n = 0; n < tasks.size(); ++n) {
    const Task& task = tasks[n];
    for (const auto& array : step.arrays)
      add(result[n].before,
          residence.before_use(array.name, part_of_task(program, step, array, plan, task),
                               access_in(task, step, array.access), task.begins && array.access == Access::out));
    if ((task.passes_on && plan.slabs.size() > 1) || n + 1 == tasks.size()) add(result[n].after, residence.store_all());
  }
  return result;
}

SharedHalo shared_halo(const Halo& halo, const Plan& plan, std::size_t slab) {
  const Range own = plan.slabs[slab].interior;
  const auto slices = plan.requirements.slices().count();
  const Range held = own.grown(halo.low, halo.high, slices);
  const Range low{own.begin, own.begin == 0 ? own.begin : std::min(own.end, own.begin + halo.high)},
      high{own.end == slices ? own.end : std::max(low.end, own.end - halo.low), own.end};
  SharedHalo result;
  for (const Range range : {low, high})
    if (!range.empty()) result.offered.push_back(range);
  for (const Range range : {Range{held.begin, own.begin}, Range{own.end, held.end}})
    if (!range.empty()) result.fetched.push_back(range);
  return result;
}

namespace {

// Volumes that a step reads with a halo and other steps change.
std::vector<std::string> read_with_halo(const Program& program, const Step& step, const Plan& plan) {
  std::vector<std::string> result;
  const Halo halo = halo_of(program, step);
  if (halo.low + halo.high == 0) return result;
  for (const auto& [name, access] : step.arrays) {
    const ArrayNeed& need = array_of(plan.requirements, name);
    if (need.kind == ArrayKind::volume && access != Access::out && need.lifetime != Lifetime::input)
      result.push_back(name);
  }
  return result;
}

}  // namespace

std::vector<std::string> volumes_to_share(const Program& program, const Step& step, const Plan& plan) {
  return plan.resident && plan.slabs.size() > 1 ? read_with_halo(program, step, plan) : std::vector<std::string>{};
}

std::vector<std::string> volumes_beside(const Program& program, const Step& step, const Plan& plan) {
  return plan.several_ranks() ? read_with_halo(program, step, plan) : std::vector<std::string>{};
}

std::vector<std::string> volumes_to_replace(const Program& program, const Step& step, const Plan& plan) {
  std::vector<std::string> result;
  const Halo halo = halo_of(program, step);
  if (step.over != Domain::slices || halo.low + halo.high == 0) return result;
  for (const auto& [name, access] : step.arrays)
    if (access == Access::inout && place_of(plan, name) == Place::host) result.push_back(name);
  return result;
}

std::vector<RayStack> written_stacks(const Step& step, const Plan& plan) {
  std::vector<RayStack> stacks;
  for (const auto& [name, access] : step.arrays) {
    const ArrayNeed& need = array_of(plan.requirements, name);
    if (need.kind == ArrayKind::projections && access != Access::in && is_kept(need))
      stacks.push_back({name, array_bytes(need, plan.requirements, 0, 1, 1)});
  }
  return stacks;
}

std::vector<RayStack> stacks_of_state(const Plan& plan) {
  std::vector<RayStack> stacks;
  for (const ArrayNeed& need : plan.requirements.arrays)
    if (need.kind == ArrayKind::projections && is_state(need))
      stacks.push_back({need.name, array_bytes(need, plan.requirements, 0, 1, 1)});
  return stacks;
}

void check_halos(const Program& program) {
  for (const auto* steps : {&program.derived, &program.first, &program.each, &program.last})
    for (const Step& step : *steps) {
      if (step.halo_low == 0 && step.halo_high == 0) continue;
      if (step.over != Domain::slices || step.halo_low > program.needs.halo_low ||
          step.halo_high > program.needs.halo_high)
        throw std::logic_error(program.needs.algorithm + ": slabs have no room for the halo of " + step.name);
      for (const auto& [name, access] : step.arrays)
        if (access == Access::inout && !array_of(program.needs, name).halo_inout)
          throw std::logic_error(program.needs.algorithm + ": " + step.name + " reads neighbours in " + name +
                                 ", which it writes and which is not declared halo_inout");
    }
}

namespace {

std::size_t part_bytes(const ArrayNeed& need, const Requirements& requirements, const Residence::Move& move) {
  if (need.kind != ArrayKind::volume)
    return array_bytes(need, requirements, 0, move.part.rows.count(), move.part.range.count());
  const bool load = move.kind == Residence::Move::Kind::load;
  return array_bytes(need, requirements, (load ? move.part.held : move.part.range).count(), 0, 0);
}

double task_bytes(const Program& program, const Step& step, Range views, const Plan& plan, int device,
                  const RayChain& chain) {
  double bytes = 0;
  const auto count = [&](const std::vector<Residence::Move>& moves) {
    for (const auto& move : moves)
      if (move.kind != Residence::Move::Kind::zero && place_of(plan, move.name) == Place::host)
        bytes += static_cast<double>(part_bytes(array_of(plan.requirements, move.name), plan.requirements, move));
  };
  for (const TaskMoves& moves : moves_of(program, step, plan, tasks_of(program, step, views, plan, device, chain))) {
    count(moves.before);
    count(moves.after);
  }
  return bytes;
}

double halo_bytes(const Program& program, const Step& step, const Plan& plan) {
  double bytes = 0;
  for (const auto& name : volumes_to_share(program, step, plan))
    for (std::size_t n = 0; n < plan.slabs.size(); ++n) {
      const auto [offered, fetched] = shared_halo(halo_of(program, step), plan, n);
      for (const auto* ranges : {&offered, &fetched})
        for (const Range range : *ranges)
          bytes += static_cast<double>(
              array_bytes(array_of(plan.requirements, name), plan.requirements, range.count(), 0, 0));
    }
  return bytes;
}

}  // namespace

double count_step_bytes(const Program& program, const Step& step, Range views, const Plan& plan) {
  double bytes = halo_bytes(program, step, plan);
  const RayChain chain(step, plan);
  for (const int device : devices_of(plan)) bytes += task_bytes(program, step, views, plan, device, chain);
  return bytes;
}

double count_program_bytes(const Program& program, const Plan& plan) {
  double bytes = 0;
  for (const StepUse& use : uses_of(program))
    bytes += use.times * count_step_bytes(program, *use.step, use.views, plan);
  for (const ArrayNeed& need : plan.requirements.arrays) {  // resident inputs and the result
    if (!is_kept(need)) continue;
    const bool here = place_of(plan, need) != Place::host;
    if (need.lifetime == Lifetime::output && here != need.on_device)
      bytes += static_cast<double>(whole_bytes(need, plan.requirements));
    if (!here) continue;
    if (need.kind == ArrayKind::volume && (need.lifetime == Lifetime::input || is_given(program, need.name)))
      for (const auto& slab : plan.slabs)
        bytes += static_cast<double>(array_bytes(need, plan.requirements, slab.extended.count(), 0, 0));
    if (need.kind != ArrayKind::volume && need.lifetime == Lifetime::input)
      bytes += static_cast<double>(whole_bytes(need, plan.requirements));
  }
  return bytes;
}

}  // namespace halocline
