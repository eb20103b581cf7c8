// Executor of ProgramForm::stencil: iterations over resident or streamed slabs.
#include <algorithm>
#include <chrono>
#include <limits>
#include <mutex>
#include <optional>
#include <stdexcept>

#include "host/system/error.hpp"
#include "host/system/interrupt.hpp"
#include "scheduling/execution/checkpoint_timer.hpp"
#include "scheduling/execution/executors.hpp"
#include "scheduling/execution/rate_validation.hpp"
#include "scheduling/execution/resident_slabs.hpp"
#include "scheduling/execution/shared_state.hpp"
#include "scheduling/execution/streamed_slabs.hpp"
#include "scheduling/planning/cost.hpp"
#include "scheduling/planning/skew.hpp"
#include "scheduling/profiling/rates.hpp"

namespace halocline {
namespace {

class StencilRun {
  using Clock = std::chrono::steady_clock;

 public:
  StencilRun(const RunRequest& request, const std::vector<Device>& devices, const Plan& plan)
      : job_(request, devices, plan),
        requirements_(job_.requirements),
        options_(request.options),
        time_(options_.time_limit),
        timer_(options_.keep_every) {
    job_.progressed = [this](std::int64_t slices, int iterations) { report_part(slices, iterations); };
    if (plan.resident)
      slabs_.reset(resident_ = new ResidentSlabs(job_));
    else
      slabs_.reset(streamed_ = new StreamedSlabs(job_));
  }

  RunResult run() {
    job_.reduction.begin();
    bool stop = restore();
    require_same_state(job_.ranks, job_.begun_at);
    if (const auto steered = run_steered()) return finish(*steered);
    const int iterations = requirements_.iterations;
    int done = job_.begun_at;
    if (begins_with_reduction()) stop = pass(done, 0, true);
    auto& by = result_.stopped_by;
    by = stop ? StoppedBy::method : StoppedBy::iterations;
    while (!stop && done < iterations) {
      const int due = due_after(done);
      const int count = of_first(time_.count(most_of_next_pass(done, due)));
      if (count == 0) by = StoppedBy::time;
      if (count == 0) break;
      const bool ends = pass(done, count, done + count == due);
      const int did = job_.stop.count();
      done += did;
      time_.add(did);
      stop = ends || job_.stop.interrupted();
      if (ends) by = StoppedBy::method;
      if (!stop && job_.reduction.stage_ended() && reduced_at_ == done && options_.stage_output)
        options_.stage_output(stages_++, slabs_->current_output());
      report(done);
      if (!stop) store_state(done);
      if (!stop && done < iterations && !job_.ranks.several())
        if (const auto better = job_.balance.rebalanced_plan(job_.plan, did, iterations - done, slabs_->settled()))
          slabs_->move_to(*better);
    }
    return finish(done);
  }

 private:
  RunResult finish(int done) {
    auto& by = result_.stopped_by;
    job_.stop.end();
    if (job_.stop.interrupted()) by = StoppedBy::interrupt;
    if (by == StoppedBy::time || by == StoppedBy::interrupt) store_state(done, true);
    if (by == StoppedBy::interrupt && !options_.keep_partial) job_.stop.throw_answer();
    if ((by == StoppedBy::time || by == StoppedBy::interrupt) && done < requirements_.iterations)
      if (job_.reduction.ends_early(done)) reduced_at_ = -1;
    if (resident_ != nullptr) resident_->prepare();
    if (reduced_at_ != done) pass(done, 0, true);  // every result has its certificate
    slabs_->write_output();
    job_.stop.answer();
    result_.plan = job_.plan;
    result_.iterations = done;
    result_.bus_bytes = job_.traffic.total();
    return std::move(result_);
  }

  // Decisions that depend on clocks are those of the first rank.
  int of_first(int own) const { return static_cast<int>(job_.ranks.of_first("what is next", own)); }

  // Restores a stored state, and repeats its reductions for the method. Returns true if the method ended there.
  bool restore() {
    auto& kept = job_.kept;
    if (options_.checkpoint_store != nullptr) kept = kept_state(*options_.checkpoint_store, job_.ranks);
    if (!kept) return false;
    if (kept->arrays != state_arrays(requirements_) || kept->iterations > requirements_.iterations)
      throw InputError("the state that was kept is of another method, size or number of iterations");
    job_.begun_at = kept_at_ = kept->iterations;
    // The last reduction is taken again where every iteration needs its results on the device.
    if (requirements_.reduction_every_iteration)
      std::erase_if(kept->reductions, [&](const auto& each) { return each.done >= job_.begun_at; });
    bool ends = false;
    for (auto& [done, sums] : kept->reductions) {
      seconds_before_ = sums.back();
      ends = report_sums(done, std::move(sums));
      if (job_.reduction.stage_ended()) ++stages_;
    }
    if (streamed_ != nullptr) streamed_->restore_state();
    return ends;
  }

  bool begins_with_reduction() const {
    return job_.begun_at == 0 ? job_.reduction.next_reduction(-1) <= 0 : requirements_.reduction_every_iteration;
  }

  // Stores the state after `done` iterations of all slabs, if it is due or `now`.
  void store_state(int done, bool now = false) {
    if (options_.checkpoint_store == nullptr || done >= requirements_.iterations || done <= kept_at_) return;
    if (!now && of_first(timer_.is_due() ? 1 : 0) == 0) return;
    const auto begin = Clock::now();
    RunState state;
    state.iterations = kept_at_ = done;
    state.reductions = reported_sums_;
    state.arrays = state_arrays(requirements_);
    state.read = [this](const std::string& name, std::size_t first, std::size_t count, std::byte* to) {
      slabs_->read_state(name, first, count, to);
    };
    keep_state(*options_.checkpoint_store, state, job_.plan);
    timer_.kept(seconds(Clock::now() - begin));
  }

  // Iterations that take so many seconds: at least one.
  int iterations_in(double seconds_of_them, int done) const {
    constexpr int no_limit = std::numeric_limits<int>::max();
    const double each = done > job_.begun_at ? seconds(Clock::now() - begun_) / (done - job_.begun_at)
                                             : job_.plan.seconds / std::max(1, requirements_.iterations);
    const double fit = seconds_of_them / each;
    return fit < no_limit ? std::max(1, static_cast<int>(fit)) : no_limit;
  }

  // Iterations until the next checkpoint, and until several ranks look for interrupts, which end a pass.
  int iterations_until_end(int done) const {
    int most = std::numeric_limits<int>::max();
    if (options_.checkpoint_store != nullptr && options_.keep_every > 0)
      most = iterations_in(timer_.seconds_left(), done);
    if (job_.ranks.several()) most = std::min(most, iterations_in(between_looks, done));
    return most;
  }

  int most_of_next_pass(int done, int due) const {
    const Plan& plan = job_.plan;
    const bool waits = plan.resident || requirements_.reductions_steer;
    int most = std::min(plan.iterations_per_exchange, iterations_until_end(done));
    if (plan.resident && plan.slabs.size() == 1) most = std::min(most, iterations_untold);
    return std::min(most, (waits ? due : requirements_.iterations) - done);
  }

  std::vector<double> with_seconds(std::vector<double> sums) const {
    sums.push_back(job_.ranks.of_first("seconds", seconds_before_ + seconds(Clock::now() - begun_)));
    return sums;
  }

  // Reports sums over the volume, and the seconds, to the method, and returns true if it ends.
  bool report_sums(int done, std::vector<double> sums) {
    reduced_at_ = done;
    const bool ends = job_.reduction.reduced(done, sums);
    if (options_.checkpoint_store != nullptr) reported_sums_.push_back({done, std::move(sums)});
    return ends;
  }

  // Runs a loop that the device steers, on one slab. Returns the number of iterations done, nothing if this is another
  // case.
  std::optional<int> run_steered() {
    const DeviceSteering* steering = job_.reduction.on_device();
    if (steering == nullptr || !job_.plan.resident || job_.plan.slabs.size() != 1) return std::nullopt;
    resident_->prepare();
    DeviceSlab& slab = resident_->only();
    const int window = steering->window(slab), iterations = requirements_.iterations;
    if (window == 0) return std::nullopt;
    auto& by = result_.stopped_by;
    by = StoppedBy::iterations;
    job_.reduction.reduce(slab, job_.begun_at, slab.interior());
    steering->steer(slab, job_.begun_at);
    bool ends = report_sums(job_.begun_at, with_seconds(steering->sums(slab, job_.begun_at, 1).front()));
    if (ends) by = StoppedBy::method;
    while (!ends && !job_.stop.interrupted() && reduced_at_ < iterations) {
      const int first = reduced_at_, count = time_.count(std::min(window, iterations - first));
      if (count == 0) by = StoppedBy::time;
      if (count == 0) break;
      const int done = steer(*steering, slab, first, count);
      if (!options_.keep_partial) check_interrupt();
      if (done == 0) break;
      for (auto& sums : steering->sums(slab, first + done, done))
        if ((ends = report_sums(reduced_at_ + 1, with_seconds(std::move(sums))))) break;
      time_.add(done);
      if (ends) by = StoppedBy::method;
      report(reduced_at_);
      if (!ends && !job_.stop.interrupted()) store_state(reduced_at_);
    }
    return reduced_at_;
  }

  // Does `count` iterations from number `first`, or as many as Ctrl-C allows, and returns their number.
  int steer(const DeviceSteering& steering, DeviceSlab& slab, int first, int count) {
    job_.stop.begin(count);
    int done = 0;
    for (; done < count && job_.stop.may_begin(done); ++done) {
      job_.loop.iterate(slab, first + done, slab.interior());
      job_.reduction.reduce(slab, first + done + 1, slab.interior());
      steering.steer(slab, first + done + 1);
      slab.mark_step();
    }
    return done;
  }

  // Number of iterations done at the first reduction after `done`.
  int due_after(int done) const {
    return std::min(requirements_.iterations, std::max(done + 1, job_.reduction.next_reduction(done)));
  }

  // Reductions of a pass, counted from its first iteration. Over streamed slabs a pass includes all that are due, and
  // is cut to those for whose sums there is room.
  std::vector<int> due_in_pass(int first, int& count, bool reduce) const {
    std::vector<int> due;
    if (!job_.plan.resident)
      for (int n = first; n < first + count;)
        if ((n = due_after(n)) <= first + count) due.push_back(n - first);
    if (reduce && due.empty()) due.push_back(count);
    const auto most = static_cast<std::size_t>(reductions_of_pass(requirements_, job_.plan.iterations_per_exchange));
    while (due.size() > most) {
      due.pop_back();
      count = due.back();
    }
    return due;
  }

  // Does `count` iterations from number `first` over all slabs, then a reduction if it is due. Returns true if the
  // method ends.
  bool pass(int first, int count, bool reduce) {
    const std::vector<int> due = due_in_pass(first, count, reduce);
    const bool last = first + count == requirements_.iterations && !due.empty() && due.back() == count;
    pass_begin_ = first;
    pass_done_ = 0;
    slabs_->pass(first, count, due, last);
    if (!due.empty() && due.front() <= job_.stop.count()) job_.share_sums(due.size());
    bool ends = false;
    for (std::size_t n = 0; n < due.size() && due[n] <= job_.stop.count(); ++n)
      ends = report_sums(first + due[n], with_seconds(job_.added_sums(n)));
    return ends;
  }

  void report(double done) const {
    if (!options_.progress) return;
    const double iterations = requirements_.iterations, expected = job_.reduction.expected_iterations();
    const double total = expected > 0 ? std::clamp(expected, done, iterations) : iterations;
    ProgressState state{requirements_.algorithm, done, total, job_.reduction.note()};
    if (!job_.plan.resident)
      state.up = static_cast<double>(job_.traffic.up), state.down = static_cast<double>(job_.traffic.down);
    options_.progress(state);
  }

  // Reports progress within a pass over streamed slabs. Called by the threads of all devices.
  void report_part(std::int64_t slices, int iterations) {
    const std::lock_guard lock(report_mutex_);
    pass_done_ += static_cast<double>(slices) * iterations / static_cast<double>(requirements_.size[2]);
    report(std::min<double>(pass_begin_ + pass_done_, requirements_.iterations));
  }

  static double seconds(Clock::duration span) { return std::chrono::duration<double>(span).count(); }

  // Iterations between two reports of a single slab: a multiple of those that a launch takes.
  static constexpr int iterations_untold = 24;
  static constexpr double between_looks = 0.5;  // seconds

  StencilJob job_;
  const Requirements& requirements_;
  const RunOptions& options_;
  TimeLimit time_;
  CheckpointTimer timer_;
  std::unique_ptr<StencilSlabs> slabs_;
  ResidentSlabs* resident_ = nullptr;  // one of the two is slabs_
  StreamedSlabs* streamed_ = nullptr;
  int reduced_at_ = -1;  // iterations done at the last reduction
  std::vector<RunState::Reduction> reported_sums_;
  int kept_at_ = 0;  // iterations done when the state was last kept
  int stages_ = 0;   // stages of the method that have ended
  const Clock::time_point begun_ = Clock::now();
  double seconds_before_ = 0;  // of the runs that this one continues, up to their last reduction
  RunResult result_;
  std::mutex report_mutex_;
  int pass_begin_ = 0;  // iterations done before the pass, and since, averaged over the volume
  double pass_done_ = 0;
};

}  // namespace

RunResult run_stencil(const RunRequest& request, const std::vector<Device>& devices, const Plan& plan) {
  for (const auto& [name, volume] : request.options.initial)
    if (volume->grid.size != request.program.needs.size)
      throw std::logic_error("initial " + name + " has another size than the result");
  RunResult result =
      run_replanning(plan, devices, attempts_of(request, plan, [&](const Plan& now, const std::vector<Device>& used) {
                       return StencilRun(request, used, now).run();
                     }));
  // Plans do not include restoring and storing the state.
  if (request.options.checkpoint_store == nullptr && !plan.several_ranks()) validate_rates(result, devices);
  return result;
}

}  // namespace halocline
