#include "scheduling/execution/session.hpp"

#include <algorithm>
#include <numeric>

#include "host/system/error.hpp"
#include "host/system/interrupt.hpp"
#include "scheduling/planning/second_buffers.hpp"
#include "scheduling/profiling/rates.hpp"

namespace halocline {
namespace {

const ArrayNeed* find(const Requirements& requirements, const std::string& name) {
  const auto& arrays = requirements.arrays;
  const auto found = std::find_if(arrays.begin(), arrays.end(), [&](const auto& need) { return need.name == name; });
  return found == arrays.end() ? nullptr : &*found;
}

// True where arrays that both plans have are placed alike.
bool same_layout(const Plan& a, const Plan& b) {
  const auto alike = [](const SlabPlan& one, const SlabPlan& other) {
    return one.device == other.device && one.interior == other.interior && one.extended == other.extended &&
           one.rows == other.rows;
  };
  if (a.resident != b.resident || a.batch != b.batch ||
      !std::equal(a.slabs.begin(), a.slabs.end(), b.slabs.begin(), b.slabs.end(), alike))
    return false;
  return std::all_of(a.requirements.arrays.begin(), a.requirements.arrays.end(), [&](const ArrayNeed& need) {
    const ArrayNeed* other = find(b.requirements, need.name);
    return !is_kept(need) || other == nullptr || place_of(a, need) == place_of(b, *other);
  });
}

// True where b has all arrays of a.
bool has_arrays_of(const Requirements& a, const Requirements& b) {
  return std::all_of(a.arrays.begin(), a.arrays.end(),
                     [&](const ArrayNeed& need) { return find(b, need.name) != nullptr; });
}

bool all_resident(const Plan& plan) {
  return std::all_of(plan.requirements.arrays.begin(), plan.requirements.arrays.end(),
                     [&](const ArrayNeed& need) { return !is_kept(need) || place_of(plan, need) == Place::working; });
}

std::function<Range(Range)> hull(std::function<Range(Range)> a, std::function<Range(Range)> b) {
  return [a = std::move(a), b = std::move(b)](Range slices) {
    const Range one = a(slices), other = b(slices);
    return Range{std::min(one.begin, other.begin), std::max(one.end, other.end)};
  };
}

}  // namespace

Session::Session(std::vector<Device> devices, PlanOptions options)
    : devices_(std::move(devices)), options_(std::move(options)), models_(device_models(devices_)) {
  program_.needs.algorithm = "expressions";
  program_.needs.form = ProgramForm::steps;
}

Session::~Session() = default;

void Session::extend(const Program& program) {
  Requirements& needs = program_.needs;
  if (program.needs.size != std::array<std::size_t, 3>{1, 1, 1}) needs.size = program.needs.size;
  if (program.needs.stack[2] > 0) needs.stack = program.needs.stack;
  for (const ArrayNeed& need : program.needs.arrays)
    if (find(needs, need.name) == nullptr) needs.arrays.push_back(need);
  needs.halo_low = std::max(needs.halo_low, program.needs.halo_low);
  needs.halo_high = std::max(needs.halo_high, program.needs.halo_high);
  needs.preferred_batch = std::max(needs.preferred_batch, program.needs.preferred_batch);
  needs.batch_step = std::lcm(needs.batch_step, program.needs.batch_step);
  needs.largest_part = std::max(needs.largest_part, program.needs.largest_part);
  if (program.needs.detector_rows)
    program_.needs.detector_rows = program_.needs.detector_rows
                                       ? hull(program_.needs.detector_rows, program.needs.detector_rows)
                                       : program.needs.detector_rows;
  program_.start.insert(program_.start.end(), program.start.begin(), program.start.end());
  for (Step step : program.each) {
    step.arrays.clear();
    program_.each.push_back(std::move(step));
  }
  planned_ = false;
}

void Session::extend_now(const Program& program) {
  trim();  // as plan_again() does, before the copy
  const Program before = program_;
  extend(program);
  try {
    plan_again();
  } catch (...) {
    program_ = before;
    throw;
  }
}

void Session::add_arrays(const Program& program) {
  const bool has_halo =
      program.needs.halo_low <= program_.needs.halo_low && program.needs.halo_high <= program_.needs.halo_high;
  if (has_halo && has_arrays_of(program.needs, program_.needs)) return;
  const Program before = program_;
  const bool was_planned = planned_;
  extend(program);
  try {
    planned_ = was_planned && add_in_place(plan_program(program_, models_, options_));
  } catch (const PlanError&) {  // it may fit without the free arrays
  } catch (...) {
    program_ = before;
    throw;
  }
  if (planned_) return;
  program_ = before;
  extend_now(program);
}

void Session::refill(const Program& program) {
  if (!planned_) return plan_again();
  planned_ = false;  // where an error comes in between, the next plan fills them
  parts_->each([&](DevicePart& part) { part.refill(program.start); });
  planned_ = true;
  for (const auto& each : kept_)
    if (const auto job = each.lock()) job->stale = true;
}

void Session::extend_halo(int low, int high) {
  Requirements& needs = program_.needs;
  if (low <= needs.halo_low && high <= needs.halo_high) return;
  needs.halo_low = std::max(needs.halo_low, low);
  needs.halo_high = std::max(needs.halo_high, high);
  planned_ = false;
}

std::string Session::allocate(ArrayKind kind) {
  for (const auto& name : free_)
    if (array_of(program_.needs, name).kind == kind) {
      used_.insert(name);
      return free_.extract(name).value();
    }
  const std::string name = (kind == ArrayKind::volume ? "volume " : "projections ") + std::to_string(++allocated_);
  program_.needs.arrays.push_back({.name = name, .kind = kind, .lifetime = Lifetime::state});
  used_.insert(name);
  if (planned_) {
    try {
      const Plan next = plan_program(program_, models_, options_);
      if (!add_in_place(next)) planned_ = false;
    } catch (const PlanError&) {
      planned_ = false;  // it may fit without the free arrays
    }
  }
  if (!planned_) {
    try {
      plan_again();
    } catch (...) {
      std::erase_if(program_.needs.arrays, [&](const ArrayNeed& need) { return need.name == name; });
      used_.erase(name);
      throw;
    }
  }
  return name;
}

void Session::release(const std::string& name) {
  used_.erase(name);
  free_.insert(name);
}

// Adds arrays to the current plan if the others can stay as they are.
bool Session::add_in_place(const Plan& next) {
  if (!parts_ || !same_layout(plan_, next) || !has_arrays_of(plan_.requirements, next.requirements)) return false;
  const Requirements before = plan_.requirements;
  plan_ = next;
  all_resident_ = all_resident(plan_);
  for (const ArrayNeed& need : next.requirements.arrays) {
    if (find(before, need.name) != nullptr) continue;
    parts_->each([&](DevicePart& part) { part.add(need); });
    if (used_.contains(need.name)) hold(need.name);
  }
  return true;
}

// Frees unused arrays.
void Session::trim() {
  std::erase_if(program_.needs.arrays, [&](const ArrayNeed& need) { return free_.contains(need.name); });
  for (const auto& name : free_) transport_.drop(name);
  free_.clear();
}

void Session::plan_again() {
  trim();
  Plan next = plan_program(program_, models_, options_);
  if (parts_) save_arrays();
  forget_kept();
  parts_ = nullptr;
  try {
    adopt(std::move(next));
  } catch (...) {
    parts_ = nullptr;  // the host has the arrays
    throw;
  }
}

// Adopts a plan, after the arrays of the one before have been moved to host memory.
void Session::adopt(Plan plan) {
  const Requirements before = std::exchange(plan_, std::move(plan)).requirements;
  transport_.hold(sums_array, sizeof(double) * count_step_sums(program_));
  parts_ = std::make_unique<DeviceParts>(program_, plan_, devices_, transport_, traffic_, threads_);
  std::vector<std::string> to_load;
  for (const auto& name : used_) {
    if (find(before, name) != nullptr && on_devices(name)) to_load.push_back(name);
    if (find(before, name) == nullptr) hold(name);
  }
  for (const ArrayNeed& need : plan_.requirements.arrays)
    if (need.lifetime == Lifetime::iteration) hold(need.name);
  parts_->each([&](DevicePart& part) { part.start(to_load); });
  for (const auto& name : to_load)
    if (plan_.slabs.size() == 1) transport_.drop(name);
  all_resident_ = all_resident(plan_);
  planned_ = true;
}

void Session::save_arrays() {
  for (const auto& name : used_) {
    if (find(plan_.requirements, name) == nullptr || !on_devices(name)) continue;
    transport_.hold(name, bytes_of(name));
    parts_->each([&](DevicePart& part) { part.save(name); });
  }
}

std::size_t Session::bytes_of(const std::string& name) const {
  return whole_bytes(array_of(plan_.requirements, name), plan_.requirements);
}

// Allocates an array in host memory, where it resides or slabs share their halos.
void Session::hold(const std::string& name) {
  if (!on_devices(name) || plan_.slabs.size() > 1) transport_.hold(name, bytes_of(name));
}

// True where a step needs no transfers, and no sums on the host.
bool Session::is_enqueued(const Step& step) const {
  if (step.reduced || step.due || step.views) return false;
  const bool one_slab = plan_.slabs.size() == 1, halo = step.halo_low > 0 || step.halo_high > 0;
  return step.over == Domain::slices ? plan_.resident && (one_slab || !halo) : one_slab && all_resident_;
}

void Session::perform(const Step& step) {
  if (!planned_) plan_again();
  Scalars none;
  if (!is_enqueued(step)) return parts_->perform(step, none, check_interrupt);
  check_interrupt();
  parts_->each([&](DevicePart& part) { part.enqueue(step, none); });
}

std::shared_ptr<KeptJob> Session::keep(std::vector<Step> steps) {
  if (!planned_) plan_again();
  const auto result = std::make_shared<KeptJob>(KeptJob{std::move(steps), {}});
  enqueue(*result);
  std::erase_if(kept_, [](const auto& each) { return each.expired(); });
  kept_.push_back(result);
  return result;
}

// Enqueues steps, and keeps their kernels.
void Session::enqueue(KeptJob& job) {
  for (const Step& step : job.steps) require_enqueued(step);
  KeptSteps kernels;
  for (const Step& step : job.steps) {
    check_interrupt();
    parts_->each([&](DevicePart& part) { part.enqueue(step, {}, kernels); });
  }
  job.kernels = std::move(kernels);
  job.stale = false;
}

// Throws InputError unless the kernels of one device are the whole step.
void Session::require_enqueued(const Step& step) const {
  const auto refuse = [&](const std::string& found, const std::string& remedy) {
    throw InputError({.what = "the step \"" + step.name + "\" of a prepared job",
                      .found = found,
                      .expected = "one that a device does alone, with all arrays in its memory",
                      .remedy = remedy});
  };
  if (plan_.slabs.size() > 1)
    refuse("done in " + std::to_string(plan_.slabs.size()) + " slabs",
           "choose one `device` with more memory, or a smaller volume");
  if (step.views) refuse("done on a subset of the views", "take a projector of all views");
  if (!is_enqueued(step))
    refuse("done with arrays of which a device holds parts in turn",
           "choose a `device` with more memory, or a projector of all views");
}

// Throws InputError where the arrays of kept steps have been placed again.
void Session::require_bound(const KeptJob& job) {
  if (!planned_) plan_again();
  if (job.kernels.commands.empty())
    throw InputError({.what = "a prepared job",
                      .found = "bound to arrays that have been placed again since, to make room for others",
                      .expected = "arrays that are where they were",
                      .remedy = "prepare it after the last array and operator have been made"});
}

void Session::replay(KeptJob& job) {
  require_bound(job);
  check_interrupt();
  if (job.stale) return enqueue(job);
  parts_->each([&](DevicePart& part) { part.replay(job.kernels); });
}

void Session::read(const KeptJob& job, const std::string& name, void* to, std::size_t bytes) {
  require_bound(job);
  parts_->each([&](DevicePart& part) { part.read(name, to, bytes); });
}

// Forgets the commands of arrays that will be placed again.
void Session::forget_kept() {
  for (const auto& each : kept_)
    if (const auto job = each.lock()) job->kernels = {};
  kept_.clear();
}

void Session::write(const std::string& name, const VolumeSource& from) {
  if (!planned_) plan_again();
  if (on_devices(name)) {
    transport_.hold(name, from);
    parts_->each([&](DevicePart& part) { part.load(name); });
    return transport_.give_back(name);
  }
  transport_.put(name, from);
}

void Session::read(const std::string& name, VolumeSink& to) {
  if (!planned_) plan_again();
  const bool here = on_devices(name), direct = here && to.data() != nullptr;
  to.begin();
  if (direct) transport_.hold(name, reinterpret_cast<std::byte*>(to.data()));
  if (here && !direct) transport_.hold(name, bytes_of(name));
  if (here) parts_->each([&](DevicePart& part) { part.save(name); });
  if (direct)
    to.write(0, to.grid().count(), to.data());
  else
    transport_.get(name, to);
  transport_.give_back(name);
  if (here && !direct && plan_.slabs.size() == 1) transport_.drop(name);
}

void Session::wait() {
  if (parts_) parts_->each([](DevicePart& part) { part.wait(); });
}

const Plan& Session::plan() {
  if (!planned_) plan_again();
  return plan_;
}

}  // namespace halocline
