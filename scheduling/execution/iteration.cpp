#include "scheduling/execution/iteration.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <limits>
#include <list>
#include <mutex>
#include <optional>
#include <stdexcept>

#include "host/error.hpp"
#include "host/interrupt.hpp"
#include "host/process_memory.hpp"
#include "host/scratch_folder.hpp"
#include "host/thread_pool.hpp"
#include "scheduling/execution/checkpoint_store.hpp"
#include "scheduling/execution/device_threads.hpp"
#include "scheduling/execution/rate_validation.hpp"
#include "scheduling/execution/region_stream.hpp"
#include "scheduling/execution/run_support.hpp"
#include "scheduling/planning/cost.hpp"
#include "scheduling/profiling/rates.hpp"
#include "scheduling/transport/bus_traffic.hpp"
#include "scheduling/transport/halo_exchange.hpp"

namespace halocline {
namespace {

class Run {
  using Clock = std::chrono::steady_clock;

 public:
  Run(IterativeMethod& method, const std::map<std::string, const VolumeSource*>& inputs, VolumeSink& output,
      const std::vector<Device>& devices, const Plan& plan, const RunOptions& options)
      : method_(method),
        inputs_(inputs),
        output_(output),
        devices_(devices),
        plan_(plan),
        requirements_(plan_.requirements),
        options_(options),
        time_(options.time_limit),
        stop_(options.keep_partial || options.checkpoint_store != nullptr) {
    for (const auto& need : requirements_.arrays) {
      if (need.lifetime == Lifetime::input && need.kind == ArrayKind::volume && !inputs.contains(need.name))
        throw std::logic_error(fmt::format("{} needs the input {}", requirements_.algorithm, need.name));
      if (need.lifetime == Lifetime::state || need.lifetime == Lifetime::output) states_.push_back(need.name);
      if (need.lifetime == Lifetime::sums) sums_name_ = need.name, components_ = need.elements;
      if (need.lifetime == Lifetime::output) output_name_ = need.name;
    }
    sums_.resize(requirements_.size[2] * components_);
    host_.input = [this](const std::string& name) -> const VolumeSource& { return *inputs_.at(name); };
    host_.state = [this](const std::string& name) { return host_state(name); };
    host_.initial = &options_.initial;
    host_.traffic = &traffic_;
    host_.progressed = [this](std::int64_t slices, int iterations) { report_part(slices, iterations); };
  }

  RunResult run() {
    method_.begin();
    bool stop = restore();
    if (const auto steered = run_steered()) return finish(*steered);
    const int iterations = requirements_.iterations;
    int done = begun_at_;
    if (begins_with_reduction()) stop = pass(done, 0, true);
    auto& by = result_.stopped_by;
    by = stop ? StoppedBy::method : StoppedBy::iterations;
    while (!stop && done < iterations) {
      const int due = due_after(done);
      const bool waits = plan_.resident || requirements_.reductions_steer;
      int most = std::min(plan_.iterations_per_exchange, iterations_until_kept(done));
      if (plan_.resident && plan_.slabs.size() == 1) most = std::min(most, iterations_untold);
      const int count = time_.count(std::min(most, (waits ? due : iterations) - done));
      if (count == 0) by = StoppedBy::time;
      if (count == 0) break;
      const bool ends = pass(done, count, done + count == due);
      done += stop_.count();
      time_.did(stop_.count());
      stop = ends || stop_.interrupted();
      if (ends) by = StoppedBy::method;
      if (!stop && method_.stage_ended() && reduced_at_ == done && options_.stage_output) {
        options_.stage_output(stages_++, current_output());
      }
      report(done, iterations);
      if (!stop) keep(done);
      if (!stop && done < iterations) share_anew(stop_.count(), iterations - done);
    }
    return finish(done);
  }

 private:
  RunResult finish(int done) {
    auto& by = result_.stopped_by;
    stop_.end();
    if (stop_.interrupted()) by = StoppedBy::interrupt;
    if (by == StoppedBy::time || by == StoppedBy::interrupt) keep(done, true);
    if (by == StoppedBy::interrupt && !options_.keep_partial) throw_interrupted();
    if ((by == StoppedBy::time || by == StoppedBy::interrupt) && done < requirements_.iterations)
      if (method_.ends_early(done)) reduced_at_ = -1;
    if (plan_.resident) prepare();
    if (reduced_at_ != done) pass(done, 0, true);  // the result never goes without its certificate
    hand_over();
    result_.plan = plan_;
    result_.iterations = done;
    result_.bus_bytes = traffic_.total();
    return std::move(result_);
  }

  // What was kept: the method is told again what it was told. Whether it was to end there.
  bool restore() {
    if (options_.checkpoint_store != nullptr) kept_ = options_.checkpoint_store->kept();
    if (!kept_) return false;
    if (kept_->arrays != state_arrays(requirements_) || kept_->iterations > requirements_.iterations)
      throw InputError("the state that was kept is of another method, size or number of iterations");
    begun_at_ = kept_at_ = kept_->iterations;
    // Where every iteration waits for a reduction, it also needs what that leaves on the device.
    if (requirements_.reduction_every_iteration)
      std::erase_if(kept_->reductions, [&](const auto& each) { return each.done >= begun_at_; });
    bool ends = false;
    for (auto& [done, sums] : kept_->reductions) {
      ends = tell(done, std::move(sums));
      if (method_.stage_ended()) ++stages_;
    }
    if (!plan_.resident) {
      for (const auto& array : kept_->arrays)
        parallel_ranges(array.bytes, state_piece,
                        [&, to = host_state(array.name)](std::size_t first, std::size_t count) {
                          kept_->read(array.name, first, count, to + first);
                          give_back(to + first, count);
                        });
      started_ = true;
    }
    return ends;
  }

  bool begins_with_reduction() const {
    return begun_at_ == 0 ? method_.next_reduction(-1) <= 0 : requirements_.reduction_every_iteration;
  }

  // The state after `done` iterations, if it is time to, or `now`. All slabs have done as many.
  void keep(int done, bool now = false) {
    const auto begin = Clock::now();
    if (options_.checkpoint_store == nullptr || done >= requirements_.iterations || done <= kept_at_) return;
    if (!now && options_.keep_every > 0 && after(begin, options_.keep_every / 20) < keep_at_) return;
    RunState state;
    state.iterations = kept_at_ = done;
    state.reductions = told_;
    state.arrays = state_arrays(requirements_);
    state.read = [this](const std::string& name, std::size_t first, std::size_t count, std::byte* to) {
      read_state(name, first, count, to);
    };
    options_.checkpoint_store->keep(state);
    constexpr double least_between = 9;  // times as long as it took
    const auto end = Clock::now();
    const double took = std::chrono::duration<double>(end - begin).count();
    keep_at_ = after(end, std::max(options_.keep_every, least_between * took));
  }

  // A pass over streamed slabs may be the whole run, but the state is kept between passes alone.
  int iterations_until_kept(int done) const {
    constexpr int no_limit = std::numeric_limits<int>::max();
    if (options_.checkpoint_store == nullptr || !(options_.keep_every > 0)) return no_limit;
    const auto seconds = [](Clock::duration span) { return std::chrono::duration<double>(span).count(); };
    const double each = done > begun_at_ ? seconds(Clock::now() - begun_) / (done - begun_at_)
                                         : plan_.seconds / std::max(1, requirements_.iterations);
    const double fit = seconds(keep_at_ - Clock::now()) / each;
    return fit < no_limit ? std::max(1, static_cast<int>(fit)) : no_limit;
  }

  void read_state(const std::string& name, std::size_t first, std::size_t count, std::byte* to) {
    if (!plan_.resident) {
      std::memcpy(to, host_state(name) + first, count);
      give_back(host_state(name) + first, count);
      return;
    }
    for (auto& [device, slab] : resident_) {
      const std::size_t slice = slab->slice_bytes(name);
      const auto at = [slice](std::int64_t number) { return slice * static_cast<std::size_t>(number); };
      const std::size_t begin = std::max(first, at(slab->interior().begin)),
                        end = std::min(first + count, at(slab->interior().end));
      if (begin >= end) continue;
      slab->download_bytes(name, begin - at(slab->extended().begin), to + (begin - first), end - begin);
      slab->wait();
      traffic_.down += end - begin;
    }
  }

  // All that slabs which stay on their devices hold of the state that was kept.
  void load_kept(Slab& slab) {
    for (const auto& array : kept_->arrays) {
      const std::size_t slice = slab.slice_bytes(array.name),
                        begin = slice * static_cast<std::size_t>(slab.extended().begin),
                        bytes = slice * static_cast<std::size_t>(slab.extended().count());
      slab.upload_bytes(array.name, bytes, [&](std::byte* at, std::size_t first, std::size_t count) {
        kept_->read(array.name, begin + first, count, at);
      });
      traffic_.up += bytes;
    }
  }

  // Tells the method of sums over the volume: whether it ends.
  bool tell(int done, std::vector<double> sums) {
    reduced_at_ = done;
    const bool ends = method_.reduced(done, sums);
    if (options_.checkpoint_store != nullptr) told_.push_back({done, std::move(sums)});
    return ends;
  }

  // A volume on one device whose method needs no look from the host at every iteration: the host reads the sums of many
  // iterations at once. Number of iterations done, nothing if this is another case.
  std::optional<int> run_steered() {
    if (!plan_.resident || plan_.slabs.size() != 1 || !requirements_.reduction_every_iteration) return std::nullopt;
    prepare();
    Slab& slab = *resident_.begin()->second;
    const int window = method_.steered(slab), iterations = requirements_.iterations;
    if (window == 0) return std::nullopt;
    started_ = true;
    auto& by = result_.stopped_by;
    by = StoppedBy::iterations;
    method_.reduce(slab, begun_at_, slab.interior());
    method_.steer(slab, begun_at_);
    bool ends = tell(begun_at_, method_.steered_sums(slab, begun_at_, 1).front());
    if (ends) by = StoppedBy::method;
    while (!ends && !stop_.interrupted() && reduced_at_ < iterations) {
      const int first = reduced_at_, count = time_.count(std::min(window, iterations - first));
      if (count == 0) by = StoppedBy::time;
      if (count == 0) break;
      stop_.begin(count);
      int done = 0;
      for (; done < count && stop_.go(done); ++done) {
        method_.iterate(slab, first + done, slab.interior());
        method_.reduce(slab, first + done + 1, slab.interior());
        method_.steer(slab, first + done + 1);
        slab.mark_step();
      }
      if (!options_.keep_partial) check_interrupt();
      if (done == 0) break;
      for (auto& sums : method_.steered_sums(slab, first + done, done))
        if ((ends = tell(reduced_at_ + 1, std::move(sums)))) break;
      time_.did(done);
      if (ends) by = StoppedBy::method;
      report(reduced_at_, iterations);
      if (!ends && !stop_.interrupted()) keep(reduced_at_);
    }
    return reduced_at_;
  }

  // After `done` iterations: those done when the next reduction is due.
  int due_after(int done) const {
    return std::min(requirements_.iterations, std::max(done + 1, method_.next_reduction(done)));
  }

  // `count` iterations from number `first` over all slabs, then a reduction if it is due: whether to stop.
  bool pass(int first, int count, bool reduce) {
    const bool ends = plan_.resident ? resident_pass(first, count, reduce) : visiting_pass(first, count, reduce);
    started_ = true;
    return ends;
  }

  // By the threads of all devices. The first pass that iterates compiles kernels and tells nothing.
  void busy(int device, int first, double seconds) {
    const std::lock_guard lock(report_mutex_);
    if (first > 0 && plan_.slabs.size() > 1) busy_[device] += seconds;
  }

  // After `count` iterations, `left` before the end: the slabs by what the devices were seen to do, where that saves
  // more time than it takes to move the state. Not after every pass: times vary, and borders are not to follow them.
  void share_anew(int count, int left) {
    if ((settled_ && busy_.size() < 2) || equal_parts()) return;
    seen_ += count;
    if (++seen_passes_ < passes_to_see_ || !settled_) return;
    const auto longest = [&](const Plan& plan, const std::vector<double>& speeds) {
      std::vector<double> slices(speeds.size(), 0);
      for (const auto& slab : plan.slabs) slices[slab.device] += static_cast<double>(slab.interior.count());
      double seconds = 0;
      for (const auto& [device, unused] : busy_) seconds = std::max(seconds, slices[device] / speeds[device]);
      return seconds;
    };
    std::vector<double> speeds(plan_.devices.size(), 0);  // slices and iterations a second
    for (const auto& slab : plan_.slabs)
      speeds[slab.device] += static_cast<double>(slab.interior.count()) * seen_ / std::max(busy_.at(slab.device), 1e-9);
    auto better = rebalanced(plan_, speeds);
    const double now = longest(plan_, speeds), then = better ? longest(*better, speeds) : now;
    busy_.clear();
    seen_ = seen_passes_ = 0;
    passes_to_see_ *= 2;
    constexpr double clearly = 0.95;
    if (then > clearly * now || (now - then) * left < (plan_.resident ? move_seconds(plan_, *better) : 0)) return;
    spdlog::debug("slabs get other borders: an iteration took {:.3g} s, and is to take {:.3g} s", now, then);
    if (plan_.resident)
      move_resident(*better);
    else
      move_visited(*better);
  }

  // Of a device that was split, with equal shares: what differs between them does not last.
  bool equal_parts() const {
    const auto& first = plan_.devices[static_cast<std::size_t>(plan_.slabs.front().device)];
    return std::all_of(plan_.slabs.begin(), plan_.slabs.end(), [&](const SlabPlan& slab) {
      const auto& device = plan_.devices[static_cast<std::size_t>(slab.device)];
      return device.part && device.speed == first.speed;
    });
  }

  // The host has the state.
  void move_visited(const Plan& better) {
    streams_.clear();
    plan_ = better;
  }

  // The state goes through the host, if it has room.
  void move_resident(const Plan& better) {
    std::map<std::string, UninitialisedVector<std::byte>> states;
    std::size_t bytes = process_bytes();
    for (const auto& name : states_) bytes += slice_bytes(name) * requirements_.size[2];
    if (bytes > (options_.host_memory > 0 ? options_.host_memory : host_memory_bytes())) return;
    try {
      for (const auto& name : states_) states[name].resize(slice_bytes(name) * requirements_.size[2]);
    } catch (const InputError&) {  // no room in the scratch folder: the borders stay as they are
      return;
    }
    threads_.each(plan_, [&](int device) {
      Slab& slab = *resident_.at(device);
      for (const auto& name : states_) download_common(slab, name, {0, slab.nz()}, states.at(name).data());
      slab.wait();
    });
    resident_.clear();
    exchange_.reset();
    plan_ = better;
    prepare();
    threads_.each(plan_, [&](int device) {
      Slab& slab = *resident_.at(device);
      for (const auto& name : states_) {
        slab.upload(name, slab.extended(), states.at(name).data(), 0);
        traffic_.up += slab.slice_bytes(name) * static_cast<std::size_t>(slab.extended().count());
      }
      slab.wait();
    });
  }

  // The halos of the next pass, or of a reduction, travel while the last step of this one is computed.
  bool resident_pass(int first, int count, bool reduce) {
    stop_.begin(count);
    if (resident_.empty()) {
      prepare();
    } else if (!halos_are_there_) {
      begin_exchange(first);
      threads_.each(plan_, [&](int device) { receive(device, *resident_.at(device), resident_.at(device)->last()); });
      halos_are_there_ = true;
    }
    if (count > 0) begin_exchange(first + count);
    settled_ = !exchange_ || first <= begun_at_ || seen_passes_ + 1 >= passes_to_see_ ||
               ++passes_unsettled_ == passes_to_settle;
    if (settled_) passes_unsettled_ = 0;
    threads_.each(plan_, [&](int device) { work(device, first, count, reduce); });
    if (exchange_ && count > 0) halos_are_there_ = stop_.count() == count;
    if (!reduce || stop_.count() < count) return false;
    return tell(first + count, added_sums(0));
  }

  // Of the state after `done` iterations.
  void begin_exchange(int done) {
    if (!exchange_) return;
    const auto& need = requirements_;
    const std::int64_t extra = need.reduction_halo,
                       next = std::min(plan_.iterations_per_exchange, need.iterations - done);
    exchange_->begin(std::max(next * need.halo_low, extra), std::max(next * need.halo_high, extra));
  }

  // A device's part of a pass.
  void work(int device, int first, int count, bool reduce) {
    Slab& slab = *resident_.at(device);
    try {
      const Event made = iterate(slab, device, first, count);
      if (stop_.count() < count || (exchange_ && count > 0 && !receive(device, slab, made))) {
        if (exchange_) exchange_->withdraw(device);
        return slab.wait();
      }
    } catch (...) {
      if (exchange_) exchange_->withdraw(device);  // or others would wait for ever
      throw;
    }
    if (!options_.keep_partial) check_interrupt();
    if (reduce) {
      method_.reduce(slab, first + count, slab.interior());
      slab.download(sums_name_, slab.interior(), sums_.data(), 0);
      slab.last().wait();
      slab.check();  // the sums would be there if what they are of had failed, too
    }
    if (!settled_ || !(reduce || exchange_)) return;
    slab.wait();
    busy(device, first, slab.take_busy_seconds());
  }

  // What others need of the slab is there after `made`; it gets what it needs of them.
  bool receive(int device, Slab& slab, const Event& made) {
    exchange_->offer(device, slab, made);
    return exchange_->fetch(device, slab, made);
  }

  // Streamed slabs. Reductions that only report are taken on the way.
  bool visiting_pass(int first, int count, bool reduce) {
    std::vector<int> due;
    for (int n = first; n < first + count;)
      if ((n = due_after(n)) <= first + count) due.push_back(n - first);
    if (count == 0 && reduce) due.push_back(0);
    const auto most = static_cast<std::size_t>(reductions_of_pass(requirements_, plan_.iterations_per_exchange));
    while (due.size() > most) {
      due.pop_back();
      count = due.back();
    }
    const RegionStream::Pass work{first, PassSteps::of(count, method_.together(), due, !started_),
                                  first + count == requirements_.iterations && !due.empty() && due.back() == count};
    sums_.resize(due.size() * requirements_.size[2] * components_);
    // Where stages are reported, the result of the last one is looked at once more.
    host_.output = work.last && !options_.stage_output ? &output_ : nullptr;
    if (host_.output != nullptr) output_.begin();
    stop_.begin(count);
    pass_begin_ = first;
    pass_done_ = 0;
    if (streams_.empty()) {
      for (const auto& slab : plan_.slabs) streams_[slab.device] = nullptr;
      threads_.each(plan_, [&](int device) {
        streams_.at(device) = std::make_unique<RegionStream>(devices_[device], plan_, device, method_, host_, stop_);
      });
    }
    for (auto& [device, stream] : streams_) stream->gather(work);
    threads_.each(plan_, [&](int device) {
      const auto start = Clock::now();
      streams_.at(device)->run(work, sums_);
      busy(device, first, std::chrono::duration<double>(Clock::now() - start).count());
    });
    if (!options_.keep_partial) check_interrupt();
    bool ends = false;
    for (std::size_t n = 0; n < due.size() && due[n] <= stop_.count(); ++n) ends = tell(first + due[n], added_sums(n));
    return ends;
  }

  // The result as it is now.
  Volume current_output() {
    Volume output = Volume::uninitialised(output_.grid());
    if (plan_.resident) {
      threads_.each(plan_, [&](int device) {
        Slab& slab = *resident_.at(device);
        slab.download(output_name_, slab.interior(), output.voxels.data(), 0);
        traffic_.down += slab.slice_bytes(output_name_) * static_cast<std::size_t>(slab.interior().count());
        slab.wait();
      });
    } else {
      std::memcpy(output.voxels.data(), host_state(output_name_), output.voxels.size() * sizeof(float));
    }
    return output;
  }

  void report(double done, int iterations) const {
    if (!options_.progress) return;
    const double expected = method_.expected_iterations();
    const double total = expected > 0 ? std::clamp<double>(expected, done, iterations) : iterations;
    ProgressState state{requirements_.algorithm, done, total, method_.note()};
    if (!plan_.resident) state.up = static_cast<double>(traffic_.up), state.down = static_cast<double>(traffic_.down);
    options_.progress(state);
  }

  // In a pass over streamed slabs, which may be the whole run. By the threads of all devices.
  void report_part(std::int64_t slices, int iterations) {
    const std::lock_guard lock(report_mutex_);
    pass_done_ += static_cast<double>(slices) * iterations / static_cast<double>(requirements_.size[2]);
    report(std::min<double>(pass_begin_ + pass_done_, requirements_.iterations), requirements_.iterations);
  }

  // The result to where it goes.
  void hand_over() {
    std::vector<Range> left;  // what devices have not handed over in the last pass
    for (const auto& [device, stream] : streams_)
      if (!stream->handed_over()) left.push_back(stream->block());
    if (streams_.empty()) left.push_back({0, static_cast<std::int64_t>(requirements_.size[2])});
    if (left.size() >= streams_.size()) output_.begin();
    exchange_.reset();  // its page-locked memory serves the result
    if (plan_.resident)
      return threads_.each(plan_, [&](int device) {
        Slab& slab = *resident_.at(device);
        traffic_.down += slab.download(output_name_, slab.interior(), output_);
        slab.wait();
      });
    const std::size_t slice = requirements_.size[0] * requirements_.size[1];
    for (const Range slices : left) {
      const std::size_t begin = slice * static_cast<std::size_t>(slices.begin);
      auto* state = reinterpret_cast<float*>(host_state(output_name_)) + begin;
      parallel_ranges(slice * static_cast<std::size_t>(slices.count()), voxels_in_a_piece,
                      [&](std::size_t first, std::size_t count) {
                        output_.write(begin + first, count, state + first);
                        give_back(state + first, count * sizeof(float));
                      });
    }
  }

  // Before the first pass: slabs that stay get their memory and inputs.
  void prepare() {
    if (!resident_.empty()) return;
    for (const auto& slab : plan_.slabs) resident_[slab.device] = nullptr;
    threads_.each(plan_, [&](int device) {
      auto slab = std::make_unique<Slab>(devices_[device], plan_, device);
      load_inputs(*slab);
      start(*slab);
      slab->wait();
      slab->release_staging();
      resident_.at(device) = std::move(slab);
    });
    if (plan_.slabs.size() > 1) exchange_.emplace(plan_, devices_, states_, traffic_);
    halos_are_there_ = true;  // slabs begin with them
  }

  void load_inputs(Slab& slab) {
    for (const auto& need : requirements_.arrays) {
      if (need.lifetime != Lifetime::input || need.kind != ArrayKind::volume) continue;
      traffic_.up += slab.upload(need.name, slab.extended(), *inputs_.at(need.name));
    }
  }

  void start(Slab& slab) {
    method_.start(slab);
    if (kept_) return load_kept(slab);
    for (const auto& [name, volume] : options_.initial) {
      slab.upload(name, slab.extended(), volume->voxels.data(), 0);
      traffic_.up += slab.slice_bytes(name) * static_cast<std::size_t>(slab.extended().count());
    }
  }

  // The end of what other devices need of it.
  Event iterate(Slab& slab, int device, int first, int count) {
    const auto& need = requirements_;
    const auto limit = static_cast<std::int64_t>(need.size[2]);
    Event made;
    int now = 0;
    for (int n = 0; n < count; n += now) {
      now = std::min(method_.together(), count - n);
      if (!stop_.go(n, now)) break;
      const std::int64_t later = count - now - n;  // iterations of this pass that need more than the interior
      if (later > 0 || !exchange_ || !method_.takes_parts(slab)) {
        method_.iterate_together(slab, first + n, now,
                                 slab.interior().grown(later * need.halo_low, later * need.halo_high, limit));
        made = slab.last();
      } else {
        const auto parts = exchange_->parts(device);
        method_.iterate_parts(slab, first + n, now, parts, [&](std::size_t part) {
          if (part + 1 < parts.size() || parts.size() == 1) made = slab.last();
        });
      }
      slab.mark_step();
    }
    return made;
  }

  // The part of `wanted` that `slab` owns, into memory that holds `wanted`.
  void download_common(Slab& slab, const std::string& name, Range wanted, std::byte* to) {
    const Range common{std::max(wanted.begin, slab.interior().begin), std::min(wanted.end, slab.interior().end)};
    if (common.empty()) return;
    slab.download(name, common, to, wanted.begin);
    traffic_.down += slab.slice_bytes(name) * static_cast<std::size_t>(common.count());
  }

  // Of reduction number `which` of the pass.
  std::vector<double> added_sums(std::size_t which) const {
    std::vector<double> total(components_, 0.0);
    const double* from = sums_.data() + which * requirements_.size[2] * components_;
    for (std::size_t slice = 0; slice < requirements_.size[2]; ++slice)
      for (std::size_t c = 0; c < components_; ++c) total[c] += from[slice * components_ + c];
    return total;
  }

  std::size_t slice_bytes(const std::string& name) const {
    for (const auto& need : requirements_.arrays)
      if (need.name == name) return array_bytes(need, requirements_, 1, 1, 1);
    throw std::logic_error("no array " + name);
  }

  // Where streamed slabs keep an array of the state. By any thread.
  std::byte* host_state(const std::string& name) {
    if (name == output_name_ && output_.data() != nullptr) return reinterpret_cast<std::byte*>(output_.data());
    const std::lock_guard lock(host_states_mutex_);
    auto& state = host_states_[name];
    if (state.empty()) state.resize(slice_bytes(name) * requirements_.size[2]);
    return state.data();
  }

  // Of one slab between two reports; a multiple of what passes over memory take together.
  static constexpr int iterations_untold = 24;
  // Passes after which the host waits until the devices have nothing to do, and looks at what each of them did: that
  // takes a tenth of a millisecond, and otherwise the next pass is there when one ends. Or sooner, where slabs may get
  // other borders by it.
  static constexpr int passes_to_settle = 8;
  static constexpr std::size_t state_piece = std::size_t{4} << 20;  // bytes
  static Clock::time_point after(Clock::time_point time, double seconds) {
    return time + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(std::min(seconds, 1e9)));
  }

  IterativeMethod& method_;
  const std::map<std::string, const VolumeSource*>& inputs_;
  VolumeSink& output_;
  std::vector<Device> devices_;
  Plan plan_;  // slabs may get other borders
  const Requirements& requirements_;
  const RunOptions& options_;
  TimeLimit time_;
  CommonStop stop_;
  int reduced_at_ = -1;           // iterations done at the last reduction
  std::optional<RunState> kept_;  // by an earlier run, to go on from
  std::vector<RunState::Reduction> told_;
  int begun_at_ = 0, kept_at_ = 0;  // iterations done at the beginning of this run, and when the state was last kept
  int stages_ = 0;                  // of the method that have ended
  const Clock::time_point begun_ = Clock::now();
  Clock::time_point keep_at_ = after(begun_, options_.keep_every);
  RunResult result_;
  std::vector<std::string> states_;
  std::string sums_name_, output_name_;
  std::size_t components_ = 0;
  std::vector<double> sums_;
  std::map<std::string, UninitialisedVector<std::byte>> host_states_;  // out of core
  std::mutex host_states_mutex_, report_mutex_;
  int pass_begin_ = 0;  // iterations done before the pass, and since: on average over the volume
  double pass_done_ = 0;
  HostArrays host_;
  DeviceThreads threads_;
  std::optional<HaloExchange> exchange_;                  // outlives the slabs, whose commands use its memory
  std::map<int, std::unique_ptr<Slab>> resident_;         // by device
  std::map<int, std::unique_ptr<RegionStream>> streams_;  // by device, out of core
  bool started_ = false, halos_are_there_ = false;
  bool settled_ = true;  // what the devices did in the last pass is known
  int passes_unsettled_ = 0;
  std::map<int, double> busy_;                          // seconds of every device in the last passes,
  int seen_ = 0, seen_passes_ = 0, passes_to_see_ = 2;  // their iterations and how many there were and are to be
  BusTraffic traffic_;
};

}  // namespace

std::vector<int> IterativeMethod::expected_reductions(int iterations) const {
  std::vector<int> numbers;
  for (int done = next_reduction(-1); done < iterations; done = std::max(done + 1, next_reduction(done)))
    numbers.push_back(std::max(0, done));
  return numbers;
}

Requirements requirements_with_reductions(const IterativeMethod& method) {
  Requirements requirements = method.requirements();
  requirements.together = method.together();
  requirements.reductions = method.expected_reductions(requirements.iterations);
  return requirements;
}

namespace {

// What sources and sinks that lie on devices have moved over the bus.
double host_traffic(const std::map<std::string, const VolumeSource*>& inputs, const VolumeSink& output) {
  auto bytes = static_cast<double>(output.bus_bytes());
  for (const auto& [name, source] : inputs) bytes += static_cast<double>(source->bus_bytes());
  return bytes;
}

// As many iterations as the method takes together, and the reduction without which the next ones cannot begin.
KernelTrial trial_of(IterativeMethod& method, const Requirements& requirements) {
  KernelTrial trial;
  const int together = std::min(method.together(), std::max(1, requirements.iterations));
  trial.iterations = together;
  trial.prepare = [&method, &requirements](Slab& slab, Range) {
    for (const auto& need : requirements.arrays)
      if (need.lifetime == Lifetime::input && need.kind == ArrayKind::volume) slab.fill(need.name, 1);
    method.begin();
    method.start(slab);
  };
  trial.work = [&method, &requirements, together](Slab& slab, Range) {
    method.iterate_together(slab, 0, together, slab.interior());
    if (requirements.reduction_every_iteration) method.reduce(slab, 1, slab.interior());
  };
  trial.units = [together](const Slab& slab, Range) {
    return static_cast<double>(slab.nx()) * slab.ny() * static_cast<double>(slab.interior().count()) * together;
  };
  return trial;
}

}  // namespace

RunResult run_iterations(IterativeMethod& method, const std::map<std::string, const VolumeSource*>& inputs,
                         VolumeSink& output, const std::vector<Device>& devices, const RunOptions& options) {
  Requirements requirements = requirements_with_reductions(method);
  for (auto& need : requirements.arrays) {
    const auto input = inputs.find(need.name);
    need.on_device = need.on_device || (input != inputs.end() && !need.encode && input->second->on_devices()) ||
                     (need.lifetime == Lifetime::output && output.on_devices());
  }
  if (output.grid().size != requirements.size) throw std::logic_error("the result has another size than the method");
  for (const auto& [name, source] : inputs)
    if (source->grid().size != requirements.size)
      throw std::logic_error("input " + name + " has another size than the result");
  for (const auto& [name, volume] : options.initial)
    if (volume->grid.size != requirements.size)
      throw std::logic_error("initial " + name + " has another size than the result");
  learn_kernel_rate(requirements, devices, trial_of(method, requirements));
  RunOptions planned = options;
  if (can_end_early(options)) planned.plan.may_stream = false;
  RunResult result =
      run_replanning(requirements, devices, planned, [&](const Plan& plan, const std::vector<Device>& used) {
        const double before = host_traffic(inputs, output);
        RunResult run = Run(method, inputs, output, used, plan, options).run();
        run.bus_bytes += host_traffic(inputs, output) - before;
        return run;
      });
  // Where a run goes on from that keeps its state, and what that takes, is not in the plan.
  if (options.checkpoint_store == nullptr) validate_rates(result, devices);
  return result;
}

RunResult run_iterations(IterativeMethod& method, const std::map<std::string, const Volume*>& inputs, const Grid& grid,
                         const std::vector<Device>& devices, const RunOptions& options) {
  std::list<MemorySource> memory;
  std::map<std::string, const VolumeSource*> sources;
  for (const auto& [name, volume] : inputs) sources[name] = &memory.emplace_back(*volume);
  Volume output = Volume::uninitialised(grid);
  MemorySink sink(output);
  RunResult result = run_iterations(method, sources, sink, devices, options);
  result.output = std::move(output);
  return result;
}

}  // namespace halocline
