// Executor of ProgramForm::steps: any steps, task by task.
#include <algorithm>
#include <chrono>
#include <optional>

#include "host/system/error.hpp"
#include "host/system/interrupt.hpp"
#include "scheduling/execution/checkpoint_store.hpp"
#include "scheduling/execution/checkpoint_timer.hpp"
#include "scheduling/execution/device_parts.hpp"
#include "scheduling/execution/executors.hpp"
#include "scheduling/execution/shared_state.hpp"
#include "scheduling/planning/second_buffers.hpp"
#include "scheduling/transport/rank_devices.hpp"
#include "scheduling/transport/transport.hpp"

namespace halocline {
namespace {

class StepRun {
 public:
  StepRun(const RunRequest& request, const std::vector<Device>& devices, const Plan& plan)
      : program_(request.program),
        inputs_(request.inputs),
        output_(request.output),
        devices_(devices),
        plan_(plan),
        options_(request.options),
        timer_(options_.keep_every),
        time_(options_.time_limit),
        ranks_(ranks_of(plan)),
        stop_(options_.keep_partial || options_.checkpoint_store != nullptr, ranks_),
        scalars_(program_.scalars) {
    scalars_[iteration_scalar] = scalars_[seconds_scalar] = 0;
    allocate_arrays();
  }

  RunResult run() {
    const int begun_at = restore();
    require_same_state(ranks_, begun_at);
    seconds_before_ = scalars_[seconds_scalar];
    if (begun_at < 0) read_initial_values();
    open(begun_at >= 0);
    for (const Step& step : program_.derived) perform(step);
    if (begun_at < 0)
      for (const Step& step : program_.first) perform(step);
    const int done = iterate(std::max(0, begun_at));
    finish(done);
    result_.iterations = done;
    result_.bus_bytes = traffic_.total();
    result_.iterating_seconds = seconds();
    scalars_.erase(seconds_scalar);  // the others are the same in every run
    result_.scalars = std::move(scalars_);
    return std::move(result_);
  }

 private:
  // Does the iterations from `begun_at` on, at least one, and returns the number done at the end.
  int iterate(const int begun_at) {
    int done = begun_at;
    auto& by = result_.stopped_by;
    by = StoppedBy::iterations;
    while (done < program_.needs.iterations) {
      if (done > begun_at && of_first(time_.count(1)) == 0) {
        by = StoppedBy::time;
        break;
      }
      stop_.begin(1);
      if (!stop_.may_begin(0)) break;
      scalars_[iteration_scalar] = done;
      for (const Step& step : program_.each) perform(step);
      time_.add(1);
      ++done;
      report(done);
      scalars_[seconds_scalar] = seconds();
      const bool ends = program_.ends && program_.ends(done, scalars_);
      if (ends) by = StoppedBy::method;
      if (ends) break;
      if (options_.checkpoint_store != nullptr && done < program_.needs.iterations && of_first(timer_.is_due()) != 0)
        store_state(done);
    }
    return done;
  }

  void finish(int done) {
    auto& by = result_.stopped_by;
    stop_.end();
    if (stop_.interrupted()) by = StoppedBy::interrupt;
    const bool cut = by == StoppedBy::time || by == StoppedBy::interrupt;
    if (cut && options_.checkpoint_store != nullptr && done > 0) store_state(done);
    if (by == StoppedBy::interrupt && !options_.keep_partial) stop_.throw_answer();
    scalars_[iteration_scalar] = done;
    for (const Step& step : program_.last) perform(step);
    write_output(output_name_, output_);
    for (const auto& [name, sink] : options_.also) write_output(name, *sink);
    stop_.answer();
  }

  // Allocates host memory: of projections, the rows of this rank. The first rank collects all of those that it keeps.
  void hold(const ArrayNeed& need, const std::string& name) {
    const std::size_t bytes = whole_bytes(need, plan_.requirements);
    const bool collects = options_.checkpoint_store != nullptr && ranks_.first() && is_state(need);
    if (need.kind != ArrayKind::projections || plan_.rank_rows.empty() || collects) return transport_.hold(name, bytes);
    const Range rows = plan_.rows_of_rank(ranks_.rank());
    const std::size_t row = array_bytes(need, plan_.requirements, 0, 1, 1);
    transport_.hold(name, bytes,
                    {row * plan_.requirements.rows().size(), row * unsigned_count(rows.begin), row * rows.size()});
  }

  void allocate_arrays() {
    transport_.hold(sums_array, sizeof(double) * count_step_sums(program_));
    for (const ArrayNeed& need : plan_.requirements.arrays) {
      if (!is_kept(need)) continue;
      const bool on_host = place_of(plan_, need) == Place::host;
      if (need.lifetime == Lifetime::output) output_name_ = need.name;
      if (need.lifetime == Lifetime::input) {
        transport_.hold(need.name, *input_of(inputs_, program_, need.name).source);
      } else if (on_host || plan_.slabs.size() > 1) {
        hold(need, need.name);
        if (on_host && need.halo_inout) hold(need, name_in_role(ArrayRole::next, need.name));
      }
    }
  }

  // Reads the initial values of the state; of a volume, a rank reads the slices of its slabs.
  void read_initial_values() {
    for (const auto& name : program_.given) {
      const VolumeSource& source = *input_of(inputs_, program_, name).source;
      const ArrayNeed& need = array_of(program_.needs, name);
      const std::size_t slice = source.grid().slice();
      hold(need, name);
      if (!plan_.several_ranks() || need.kind != ArrayKind::volume) {
        transport_.put(name, source);
        continue;
      }
      for (const SlabPlan& slab : plan_.slabs)
        if (plan_.is_here(slab.device))
          transport_.put(name, source, slice * unsigned_count(slab.extended.begin), slice * slab.extended.size());
    }
  }

  // Allocates the devices' parts, and loads resident inputs and initial or restored state.
  void open(bool restored) {
    std::vector<std::string> to_load;
    for (const ArrayNeed& need : plan_.requirements.arrays) {
      const bool begins = restored ? need.lifetime != Lifetime::iteration : is_given(program_, need.name);
      if (is_kept(need) && (need.lifetime == Lifetime::input || begins)) to_load.push_back(need.name);
    }
    parts_.emplace(program_, plan_, devices_, transport_, traffic_, threads_);
    parts_->each([&](DevicePart& part) { part.start(to_load); });
    if (plan_.slabs.size() > 1) return;
    for (const auto& name : program_.given)
      if (place_of(plan_, name) != Place::host) transport_.drop(name);
  }

  void perform(const Step& step) { parts_->perform(step, scalars_, check_interrupt); }

  void report(int done) const {
    if (!options_.progress) return;
    ProgressState state{program_.needs.algorithm, static_cast<double>(done),
                        static_cast<double>(program_.needs.iterations),
                        program_.note ? program_.note(scalars_) : std::string()};
    if (!plan_.resident) state.up = static_cast<double>(traffic_.up), state.down = static_cast<double>(traffic_.down);
    options_.progress(state);
  }

  // Stores the state after `done` iterations.
  void store_state(int done) {
    const auto begin = std::chrono::steady_clock::now();
    for (const auto& array : state_arrays(plan_.requirements)) {
      if (place_of(plan_, array.name) == Place::host) continue;
      if (plan_.slabs.size() == 1) transport_.hold(array.name, array.bytes);
      parts_->each([&](DevicePart& part) { part.save(array.name); });
    }
    for (const RayStack& stack : stacks_of_state(plan_)) collect_rows(transport_, plan_, stack);
    RunState state;
    state.iterations = done;
    RunState::Reduction known{done, {}};
    for (const auto& [name, value] : scalars_) known.sums.push_back(value);
    state.reductions = {known};
    state.arrays = state_arrays(plan_.requirements);
    state.read = [this](const std::string& name, std::size_t first, std::size_t count, std::byte* to) {
      transport_.get(name, first, count, to);
    };
    keep_state(*options_.checkpoint_store, state, plan_);
    timer_.kept(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }

  // Restores a stored state to host memory, and returns its number of iterations; -1: none.
  int restore() {
    if (options_.checkpoint_store == nullptr) return -1;
    const auto kept = kept_state(*options_.checkpoint_store, ranks_);
    if (!kept) return -1;
    if (kept->arrays != state_arrays(plan_.requirements) || kept->iterations > program_.needs.iterations ||
        kept->reductions.size() != 1 || kept->reductions.front().sums.size() != scalars_.size())
      throw InputError("the state that was kept is of another method, size or number of iterations");
    std::size_t n = 0;
    for (auto& [name, value] : scalars_) value = kept->reductions.front().sums[n++];
    constexpr std::size_t piece = std::size_t{4} << 20;
    std::vector<std::byte> bytes(piece);
    for (const auto& array : kept->arrays) {
      hold(array_of(plan_.requirements, array.name), array.name);
      for (std::size_t first = 0; first < array.bytes; first += piece) {
        const std::size_t count = std::min(piece, array.bytes - first);
        kept->read(array.name, first, count, bytes.data());
        transport_.put(array.name, first, count, bytes.data());
      }
    }
    return kept->iterations;
  }

  // Decisions that depend on clocks are those of the first rank.
  int of_first(int own) const { return static_cast<int>(ranks_.of_first("what is next", own)); }
  double seconds() const {
    const double own = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun_).count();
    return ranks_.of_first("seconds", seconds_before_ + own);
  }

  void write_output(const std::string& name, VolumeSink& sink) {
    sink.begin();
    if (plan_.resident) return parts_->each([&](DevicePart& part) { part.write_output(name, sink); });
    const std::size_t slice = sink.grid().slice();
    for (const auto& slab : plan_.slabs)
      if (plan_.is_here(slab.device))
        transport_.get(name, slice * unsigned_count(slab.interior.begin), slice * slab.interior.size(), sink);
  }

  const Program& program_;
  const ProgramInputs& inputs_;
  VolumeSink& output_;
  const std::vector<Device>& devices_;
  const Plan& plan_;
  const RunOptions& options_;
  CheckpointTimer timer_;
  TimeLimit time_;
  Ranks& ranks_;
  CommonStop stop_;
  Scalars scalars_;
  const std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
  double seconds_before_ = 0;  // of the runs that this one continues
  BusTraffic traffic_;
  Transport transport_;
  std::string output_name_;
  DeviceThreads threads_;
  std::optional<DeviceParts> parts_;
  RunResult result_;
};

}  // namespace

RunResult run_steps(const RunRequest& request, const std::vector<Device>& devices, const Plan& plan) {
  return run_replanning(plan, devices,
                        attempts_of(request, plan, [&](const Plan& now, const std::vector<Device>& used) {
                          return StepRun(request, used, now).run();
                        }));
}

}  // namespace halocline
