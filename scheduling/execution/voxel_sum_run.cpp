// Executor of ProgramForm::voxel_sums: batches of views into slabs, which devices take from a queue.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <deque>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <sstream>
#include <string>

#include "host/system/interrupt.hpp"
#include "scheduling/execution/device_threads.hpp"
#include "scheduling/execution/executors.hpp"
#include "scheduling/execution/rate_validation.hpp"
#include "scheduling/execution/resumable_output.hpp"
#include "scheduling/execution/slab_queue.hpp"
#include "scheduling/planning/missing_slices.hpp"
#include "scheduling/profiling/rates.hpp"
#include "scheduling/slabs/device_slab.hpp"
#include "scheduling/transport/bus_traffic.hpp"
#include "scheduling/transport/rank_devices.hpp"

namespace halocline {
namespace {

constexpr std::int64_t pieces_of_a_slab = 8, fewest_slices = 16;  // a multiple of the slices of a work-item

/// Downloads of finished slices by another thread than the one that feeds the device, which uploads and filters the
/// next slab's projections meanwhile.
class Drain {
 public:
  /// Adds a download after those before; `slices` as they are in the array.
  void add(Range slices, std::function<void()> fetch) {
    tasks_.emplace_back(std::move(fetch));
    coming_.emplace_back(slices, tasks_.back().get_future());
  }

  /// Begins all added downloads. Those before must have ended.
  void start() {
    worker_ =
        std::async(std::launch::async, [tasks = std::move(tasks_), cancellation = current_cancellation()]() mutable {
          const CancellationScope scope(cancellation);
          for (auto& task : tasks) task();
        });
    tasks_.clear();
    under_way_ = std::move(coming_);
    coming_.clear();
  }

  bool empty() const { return under_way_.empty(); }

  /// Waits for the downloads of `slices`; throws their errors.
  void wait(Range slices) {
    while (!under_way_.empty() && under_way_.front().first.begin < slices.end) {
      under_way_.front().second.get();
      under_way_.pop_front();
    }
  }
  void wait() {
    while (!under_way_.empty()) wait(under_way_.front().first);
  }

 private:
  using Piece = std::pair<Range, std::future<void>>;
  std::vector<std::packaged_task<void()>> tasks_;
  std::deque<Piece> coming_, under_way_;  // each in order of slices
  std::future<void> worker_;
};

// Sink for slices of a slab, which count as resumable only if all their commands succeeded: those that compute them
// have ended when the first voxels arrive, and those that move them are waited for.
class CheckedSink : public VolumeSink {
 public:
  CheckedSink(DeviceSlab& slab, ResumableOutput& resumable) : slab_(slab), output_(resumable) {}
  const Grid& grid() const override { return output_.output().grid(); }
  void write(std::size_t first, std::size_t count, float* from) override {
    std::call_once(checked_, [&] { slab_.check(); });
    output_.write(first, count, from);
  }
  float* data() override { return output_.output().data(); }
  VoxelRange voxels_on(const Device& device) const override { return output_.voxels_on(device); }
  void take_from(const DevicePlace& from, std::size_t first, std::size_t count, std::span<const Event> waits,
                 const VoxelWork& then) override {
    for (const Event& event : waits) event.wait();
    std::call_once(checked_, [&] { slab_.check(); });
    output_.take_from(from, first, count, waits, then);
  }

 private:
  DeviceSlab& slab_;
  ResumableOutput& output_;
  std::once_flag checked_;
};

class VoxelSumRun {
 public:
  VoxelSumRun(const RunRequest& request, ResumableOutput& output, const std::vector<Device>& devices, const Plan& plan)
      : program_(request.program),
        step_(program_.first.front()),
        raw_(read_by(step_)),
        next_raw_(name_in_role(ArrayRole::next, raw_)),
        volume_(written_by(step_)),
        projections_(input_of(request.inputs, program_, raw_)),
        output_(output),
        devices_(devices),
        plan_(plan),
        options_(request.options),
        views_(plan.requirements.views().count()),
        element_bytes_(array_of(plan.requirements, raw_).element_bytes),
        size_(whole_extent(array_of(plan.requirements, raw_), plan.requirements)),
        queue_(plan) {}

  RunResult run() {
    DeviceThreads().each(plan_, [&](int device) {
      try {
        work(device);
      } catch (...) {
        queue_.stop();
        throw;
      }
    });
    RunResult result;
    result.iterations = 1;
    result.bus_bytes = traffic_.total();
    result.taken_by = queue_.taken_by();
    return result;
  }

 private:
  void work(int device) {
    DeviceSlab slab(devices_[plan_.number_on_rank(device)], plan_, device);
    Drain drain;  // destroyed before the slab
    std::int64_t most = 0;
    for (const auto& each : plan_.slabs)
      if (each.device == device) most = std::max(most, each.interior.count());
    const std::int64_t piece =
        std::max(fewest_slices, (most / pieces_of_a_slab + fewest_slices - 1) / fewest_slices * fewest_slices);
    for (const auto& fill : program_.start) fill(slab);
    while (const auto number = queue_.take(device, seconds())) {
      slab.move_to(plan_.slabs[*number]);
      reconstruct(slab, drain, piece);
    }
    drain.wait();
    slab.wait();
  }

  void reconstruct(DeviceSlab& slab, Drain& drain, std::int64_t piece) {
    // Rows are filtered again for each slab: bands of neighbouring slabs hardly overlap, so that costs less than
    // keeping filtered projections on the host.
    const auto batch_at = [&](std::int64_t first) { return Range{first, std::min(views_, first + plan_.batch)}; };
    upload(slab, batch_at(0));
    for (std::int64_t first = 0; first < views_; first += plan_.batch) {
      check_interrupt();
      const Range batch = batch_at(first);
      slab.swap(raw_, next_raw_);
      if (first == 0)
        for (const auto& name : sums_beside(step_)) slab.fill(name, 0);
      if (step_.filter) step_.filter(slab, batch, program_.scalars);
      const bool begins = first == 0, ends = batch.end == views_;
      // Pieces are small while slices of the slab before are downloaded, and where downloads of these begin.
      const std::int64_t step = ends || (begins && !drain.empty()) ? piece : slab.interior().count();
      for (std::int64_t at = slab.interior().begin; at < slab.interior().end; at += step) {
        const Range slices{at, std::min(at + step, slab.interior().end)};
        const Range held{slices.begin - slab.extended().begin, slices.end - slab.extended().begin};
        if (begins) {
          drain.wait(held);
          slab.fill(volume_, 0, slices);
        }
        step_.work(slab, {slices, batch}, program_.scalars);
        if (ends) drain.add(held, fetch_of(slab, slices));
      }
      slab.mark_step();
      if (!ends) upload(slab, batch_at(batch.end));  // after the kernels of this batch, which do not wait for it
      report(batch.count());
    }
    drain.wait();  // for a thicker slab before
    drain.start();
  }

  std::function<void()> fetch_of(DeviceSlab& slab, Range slices) {
    auto sink = std::make_shared<CheckedSink>(slab, output_);
    auto fetch = slab.fetch(volume_, slices, slab.last(), *sink);
    return [this, sink, fetch = std::move(fetch)] {
      const std::size_t bytes = fetch();
      output_.end_if_failed();
      traffic_.down += bytes;
    };
  }

  // Copies a batch from projections on this device. False if they are not there.
  bool copied_here(DeviceSlab& slab, Range views, Range rows) {
    const VolumeSource* source = projections_.source;
    if (source == nullptr || !source->on_devices() || element_bytes_ != sizeof(float)) return false;
    const std::size_t view = size_[0] * size_[1], band = size_[0] * rows.size();
    for (std::int64_t n = views.begin; n < views.end;) {
      const Range run = consecutive_views(step_.order, {n, band == view ? views.end : n + 1});
      if (!slab.copy_from(
              *source, view * static_cast<std::size_t>(run.begin) + size_[0] * static_cast<std::size_t>(rows.begin),
              band * run.size(), next_raw_, sizeof(float) * band * static_cast<std::size_t>(n - views.begin)))
        return false;
      n += run.count();
    }
    return true;
  }

  // Uploads the band of rows that the slab needs of each view of the batch.
  void upload(DeviceSlab& slab, Range views) {
    const Range rows = step_.rows_read ? step_.rows_read(slab.rows()) : slab.rows();
    const auto& order = step_.order;
    const std::size_t row = element_bytes_ * size_[0], view = row * size_[1], band = row * rows.size(),
                      start = row * static_cast<std::size_t>(rows.begin), bytes = band * views.size();
    if (copied_here(slab, views, rows)) return;
    traffic_.up += bytes;
    if (projections_.values != nullptr && slab.direct(bytes)) {
      for (std::int64_t n = views.begin; n < views.end;) {
        const Range run = consecutive_views(order, {n, band == view ? views.end : n + 1});
        slab.upload_bytes(next_raw_, band * static_cast<std::size_t>(n - views.begin),
                          projections_.values + view * static_cast<std::size_t>(run.begin) + start, band * run.size());
        n += run.count();
      }
      return;
    }
    slab.upload_bytes(next_raw_, bytes, [=, &order, this](std::byte* at, std::size_t begin, std::size_t count) {
      while (count > 0) {
        const auto n = static_cast<std::size_t>(views.begin) + begin / band;
        const std::size_t within = begin % band, now = std::min(count, band - within),
                          from = view * (order.empty() ? n : static_cast<std::size_t>(order[n])) + start + within;
        if (projections_.values != nullptr)
          std::memcpy(at, projections_.values + from, now);
        else
          projections_.source->read(from / sizeof(float), now / sizeof(float), reinterpret_cast<float*>(at));
        at += now;
        begin += now;
        count -= now;
      }
    });
  }

  void report(std::int64_t views) {
    const std::lock_guard lock(progress_mutex_);
    done_ += static_cast<double>(views);
    if (!options_.progress) return;
    const auto slabs = std::count_if(plan_.slabs.begin(), plan_.slabs.end(),
                                     [&](const SlabPlan& slab) { return plan_.is_here(slab.device); });
    ProgressState state{
        plan_.requirements.algorithm, done_, static_cast<double>(slabs) * static_cast<double>(views_), {}};
    if (!plan_.resident) state.up = static_cast<double>(traffic_.up), state.down = static_cast<double>(traffic_.down);
    options_.progress(state);
  }

  double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }

  const Program& program_;
  const Step& step_;
  const std::string raw_, next_raw_, volume_;
  const ArraySource& projections_;
  ResumableOutput& output_;
  const std::vector<Device>& devices_;
  const Plan& plan_;
  const RunOptions& options_;
  std::int64_t views_;
  std::size_t element_bytes_;
  std::array<std::size_t, 3> size_;  // of the projections
  SlabQueue queue_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  BusTraffic traffic_;
  std::mutex progress_mutex_;
  double done_ = 0;
};

// Slices that no rank has finished.
std::vector<Range> missing_on_all(Ranks& all, Range slices, const std::vector<Range>& here) {
  if (!all.several()) return here;
  std::string own;
  for (const Range& range : here) own += fmt::format("{} {} ", range.begin, range.end);
  RangeSet done;
  for (const std::string& each : all.gather("slices to make", own)) {
    RangeSet missing;
    std::istringstream text(each);
    for (Range range; text >> range.begin >> range.end;) missing.add(range);
    for (const Range& range : missing.missing(slices)) done.add(range);
  }
  return done.missing(slices);
}

// Result where all slices had been stored or written before.
RunResult nothing_to_do(const Plan& plan) {
  RunResult result;
  result.iterations = 1;
  result.taken_by.assign(plan.slabs.size(), -1);
  return result;
}

}  // namespace

RunResult run_voxel_sums(const RunRequest& request, const std::vector<Device>& devices, const Plan& plan) {
  const Requirements& needs = request.program.needs;
  const std::vector<Range> all{needs.slices()};
  ResumableOutput resumable(request.output, request.options.output_store);
  std::vector<Range> missing = resumable.missing();
  Attempts attempts = attempts_of(request, plan, [&](const Plan& now, const std::vector<Device>& used) {
    return missing.empty() ? nothing_to_do(now) : VoxelSumRun(request, resumable, used, now).run();
  });
  attempts.plan_again = [&](const std::vector<DeviceModel>& available) {
    missing = missing_on_all(ranks_of(plan), needs.slices(), resumable.missing());
    return missing.empty() ? plan : plan_missing(needs, available, with_devices(plan.options, available), missing);
  };
  attempts.done = [&] { return resumable.text(); };
  const bool begins = missing.empty() || missing == all;
  const auto models = [&] { return plan.several_ranks() ? plan.options.all_devices : device_models(devices); };
  RunResult result = run_replanning(begins ? plan : attempts.plan_again(models()), devices, attempts);
  if (missing == all && !plan.several_ranks()) validate_rates(result, devices);
  return result;
}

}  // namespace halocline
