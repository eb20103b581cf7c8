// Programs of any steps: visits to slabs and batches (Form::steps).
#include <chrono>

#include "host/error.hpp"
#include "host/interrupt.hpp"
#include "scheduling/execution/checkpoint_store.hpp"
#include "scheduling/execution/checkpoint_timer.hpp"
#include "scheduling/execution/device_threads.hpp"
#include "scheduling/execution/forms.hpp"
#include "scheduling/execution/partition.hpp"
#include "scheduling/execution/run_support.hpp"
#include "scheduling/planning/program_plan.hpp"
#include "scheduling/transport/in_process.hpp"

namespace halocline {
namespace {

class StepRun {
 public:
  StepRun(const Program& program, const ProgramInputs& inputs, VolumeSink& output, const std::vector<Device>& devices,
          const Plan& plan, const RunOptions& options)
      : program_(program),
        inputs_(inputs),
        output_(output),
        devices_(devices),
        plan_(plan),
        options_(options),
        timer_(options.keep_every),
        time_(options.time_limit),
        stop_(options.keep_partial || options.checkpoint_store != nullptr),
        scalars_(program.scalars) {
    hold_arrays();
  }

  RunResult run() {
    const int begun_at = restore();
    open(begun_at >= 0);
    if (begun_at < 0)
      for (const Step& step : program_.first) perform(step);
    const int done = iterate(std::max(0, begun_at));
    finish(done);
    result_.iterations = done;
    result_.bus_bytes = traffic_.total();
    result_.scalars = scalars_;
    return std::move(result_);
  }

 private:
  // From `begun_at` iterations on, at least one: those done at the end.
  int iterate(const int begun_at) {
    int done = begun_at;
    auto& by = result_.stopped_by;
    by = StoppedBy::iterations;
    while (done < program_.needs.iterations) {
      if (done > begun_at && time_.count(1) == 0) {
        by = StoppedBy::time;
        break;
      }
      stop_.begin(1);
      if (!stop_.go(0)) break;
      for (const Step& step : program_.each) perform(step);
      time_.did(1);
      ++done;
      report(done);
      const bool ends = program_.ends && program_.ends(done, scalars_);
      if (ends) by = StoppedBy::method;
      if (ends) break;
      if (options_.checkpoint_store != nullptr && done < program_.needs.iterations && timer_.is_due()) keep(done);
    }
    return done;
  }

  void finish(int done) {
    auto& by = result_.stopped_by;
    stop_.end();
    if (stop_.interrupted()) by = StoppedBy::interrupt;
    const bool cut = by == StoppedBy::time || by == StoppedBy::interrupt;
    if (cut && options_.checkpoint_store != nullptr && done > 0) keep(done);
    if (by == StoppedBy::interrupt && !options_.keep_partial) throw_interrupted();
    deliver();
  }

  void hold_arrays() {
    transport_.hold(sums_home, 2 * sizeof(double) * std::max(program_.needs.size[2], program_.needs.stack[2]));
    for (const auto& [name, place] : places_of(plan_)) {
      const ArrayNeed& need = array_of(plan_.requirements, name);
      if (need.lifetime == Lifetime::output) output_name_ = name;
      if (need.lifetime == Lifetime::input) {
        transport_.hold(name, *input_of(inputs_, program_, name).source);
      } else if (place == Place::home || plan_.slabs.size() > 1) {
        transport_.hold(name, whole_bytes(need, plan_.requirements));
      }
    }
  }

  // On every device: inputs that stay, and after a restart the state.
  void open(bool restored) {
    std::vector<std::string> to_load;
    for (const auto& [name, place] : places_of(plan_)) {
      const Lifetime lifetime = array_of(plan_.requirements, name).lifetime;
      if (lifetime == Lifetime::input || (restored && lifetime != Lifetime::iteration)) to_load.push_back(name);
    }
    for (const auto& slab : plan_.slabs) partitions_[slab.device] = nullptr;
    threads_.each(plan_, [&](int device) {
      auto partition = std::make_unique<Partition>(program_, plan_, device, devices_[static_cast<std::size_t>(device)],
                                                   transport_, traffic_);
      partition->start(to_load);
      partitions_.at(device) = std::move(partition);
    });
  }

  void perform(const Step& step) {
    exchange_halos(step);
    transport_.begin_step();
    threads_.each(plan_, [&](int device) {
      try {
        partitions_.at(device)->perform(step, scalars_, check_interrupt);
      } catch (...) {
        transport_.fail();
        throw;
      }
    });
    if (step.reduced) step.reduced(added_sums(step), scalars_);
  }

  void exchange_halos(const Step& step) {
    for (const auto& name : volumes_to_share(program_, step, plan_)) {
      threads_.each(plan_, [&](int device) { partitions_.at(device)->offer_halo(step, name); });
      threads_.each(plan_, [&](int device) { partitions_.at(device)->fetch_halo(step, name); });
    }
  }

  double added_sums(const Step& step) const {
    const std::size_t count = step.over == Domain::slices ? program_.needs.size[2] : program_.needs.stack[2];
    std::vector<double> sums(2 * count);
    transport_.get(sums_home, 0, sums.size() * sizeof(double), reinterpret_cast<std::byte*>(sums.data()));
    double high = 0, low = 0;
    for (std::size_t n = 0; n < count; ++n) high += sums[2 * n], low += sums[2 * n + 1];
    return high + low;
  }

  void report(int done) const {
    if (!options_.progress) return;
    ProgressState state{program_.name, static_cast<double>(done), static_cast<double>(program_.needs.iterations),
                        program_.note ? program_.note(scalars_) : std::string()};
    if (!plan_.resident) state.up = static_cast<double>(traffic_.up), state.down = static_cast<double>(traffic_.down);
    options_.progress(state);
  }

  // The state after `done` iterations goes to the checkpoint store.
  void keep(int done) {
    const auto begin = std::chrono::steady_clock::now();
    for (const auto& array : state_arrays(plan_.requirements)) {
      if (places_of(plan_).at(array.name) == Place::home) continue;
      if (plan_.slabs.size() == 1) transport_.hold(array.name, array.bytes);
      threads_.each(plan_, [&](int device) { partitions_.at(device)->save(array.name); });
    }
    RunState state;
    state.iterations = done;
    RunState::Reduction known{done, {}};
    for (const auto& [name, value] : scalars_) known.sums.push_back(value);
    state.reductions = {known};
    state.arrays = state_arrays(plan_.requirements);
    state.read = [this](const std::string& name, std::size_t first, std::size_t count, std::byte* to) {
      transport_.get(name, first, count, to);
    };
    options_.checkpoint_store->keep(state);
    timer_.kept(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }

  // Iterations that an earlier run has done, -1: none. Its state is then with the transport.
  int restore() {
    if (options_.checkpoint_store == nullptr) return -1;
    const auto kept = options_.checkpoint_store->kept();
    if (!kept) return -1;
    if (kept->arrays != state_arrays(plan_.requirements) || kept->iterations > program_.needs.iterations ||
        kept->reductions.size() != 1 || kept->reductions.front().sums.size() != scalars_.size())
      throw InputError("the state that was kept is of another method, size or number of iterations");
    std::size_t n = 0;
    for (auto& [name, value] : scalars_) value = kept->reductions.front().sums[n++];
    constexpr std::size_t piece = std::size_t{4} << 20;
    std::vector<std::byte> bytes(piece);
    for (const auto& array : kept->arrays) {
      transport_.hold(array.name, array.bytes);
      for (std::size_t first = 0; first < array.bytes; first += piece) {
        const std::size_t count = std::min(piece, array.bytes - first);
        kept->read(array.name, first, count, bytes.data());
        transport_.put(array.name, first, count, bytes.data());
      }
    }
    return kept->iterations;
  }

  void deliver() {
    output_.begin();
    if (plan_.resident)
      return threads_.each(plan_, [&](int device) { partitions_.at(device)->deliver(output_name_, output_); });
    const std::size_t voxels = program_.needs.size[0] * program_.needs.size[1] * program_.needs.size[2];
    std::vector<float> piece(voxels_in_a_piece);
    for (std::size_t first = 0; first < voxels; first += voxels_in_a_piece) {
      const std::size_t count = std::min(voxels_in_a_piece, voxels - first);
      transport_.get(output_name_, first * sizeof(float), count * sizeof(float),
                     reinterpret_cast<std::byte*>(piece.data()));
      output_.write(first, count, piece.data());
    }
  }

  const Program& program_;
  const ProgramInputs& inputs_;
  VolumeSink& output_;
  const std::vector<Device>& devices_;
  const Plan& plan_;
  const RunOptions& options_;
  CheckpointTimer timer_;
  TimeLimit time_;
  CommonStop stop_;
  Scalars scalars_;
  BusTraffic traffic_;
  InProcessTransport transport_;
  std::string output_name_;
  DeviceThreads threads_;
  std::map<int, std::unique_ptr<Partition>> partitions_;  // by device
  RunResult result_;
};

}  // namespace

RunResult run_steps(const Program& program, const ProgramInputs& inputs, VolumeSink& output,
                    const std::vector<Device>& devices, const RunOptions& options) {
  Attempts attempts;
  attempts.plan = [&](const std::vector<DeviceModel>& available) {
    return plan_program(program, available, options.plan);
  };
  attempts.run = [&](const Plan& plan, const std::vector<Device>& used) {
    const double before = bus_bytes_of(inputs, output);
    RunResult run = StepRun(program, inputs, output, used, plan, options).run();
    run.bus_bytes += bus_bytes_of(inputs, output) - before;
    return run;
  };
  attempts.done = [] { return std::string(); };
  return run_replanning(devices, attempts);
}

}  // namespace halocline
