// Executor of ProgramForm::ray_sums: slabs into batches of views, which devices share.
#include <algorithm>
#include <cmath>
#include <mutex>
#include <numeric>

#include "host/system/interrupt.hpp"
#include "scheduling/execution/device_threads.hpp"
#include "scheduling/execution/executors.hpp"
#include "scheduling/execution/rate_validation.hpp"
#include "scheduling/execution/resumable_output.hpp"
#include "scheduling/planning/cost.hpp"
#include "scheduling/slabs/device_slab.hpp"

namespace halocline {
namespace {

// Contiguous views of each device, by its share, in steps.
std::vector<Range> share_views(std::int64_t views, std::int64_t step, const std::vector<double>& shares) {
  double before = 0;
  std::vector<Range> result;
  const auto end = [&] { return step * std::llround(static_cast<double>(views / step) * before); };
  for (const double share : shares) {
    const std::int64_t begin = end();
    before += share;
    result.push_back({begin, end()});
  }
  const auto last = std::find_if(shares.rbegin(), shares.rend(), [](double share) { return share > 0; });
  result[static_cast<std::size_t>(shares.rend() - last) - 1].end = views;
  return result;
}

// State that all devices share: progress, and the output.
class RaySums {
 public:
  RaySums(const RunRequest& request, ResumableOutput& output)
      : program_(request.program),
        step_(program_.first.front()),
        volume_(read_by(step_)),
        projections_(written_by(step_)),
        before_(name_in_role(ArrayRole::next, projections_)),
        source_(*input_of(request.inputs, program_, volume_).source),
        resumable_(output),
        output_(output.output()),
        options_(request.options),
        views_(program_.needs.views().count()),
        view_(program_.needs.stack[0] * program_.needs.stack[1]) {}

  /// Computes a device's views, each batch over all slabs in order of slices. Returns the bytes over the bus.
  double run_on(const Device& device, const Plan& plan, Range share) {
    DeviceSlab slab(device, plan, 0);
    for (const auto& fill : program_.start) fill(slab);
    std::size_t bytes = 0;
    bool loaded = false;
    Range before{};  // the batch that is not stored yet
    for (std::int64_t first = share.begin; first < share.end; first += plan.batch) {
      const Range batch{first, std::min(share.end, first + plan.batch)};
      slab.swap(projections_, before_);
      slab.fill(projections_, 0);
      for (const auto& name : sums_beside(step_)) slab.fill(name, 0);
      for (const auto& each : plan.slabs) {
        check_interrupt();
        slab.move_to(each);
        if (!loaded || plan.slabs.size() > 1) {
          bytes += slab.upload(volume_, slab.extended(), source_);
          loaded = true;
          if (step_.prepare) step_.prepare(slab);
        }
        step_.work(slab, {slab.interior(), batch}, program_.scalars);
        slab.mark_step();
      }
      // The batch before is stored while the kernels of this one run.
      bytes += store_batch(slab, before_, before);
      before = batch;
    }
    bytes += store_batch(slab, projections_, before);
    slab.wait();
    if (output_.data() != nullptr) report_views(share);
    return static_cast<double>(bytes);
  }

 private:
  // Reports views in the sink's own memory.
  void report_views(Range views) {
    for (std::int64_t n = views.begin; n < views.end;) {
      const Range run = consecutive_views(step_.order, {n, views.end});
      const std::size_t first = view_ * static_cast<std::size_t>(run.begin);
      resumable_.write(first, view_ * run.size(), output_.data() + first);
      n += run.count();
    }
  }

  // Stores a batch, and returns the bytes over the bus.
  std::size_t store_batch(DeviceSlab& slab, const std::string& array, Range batch) {
    std::size_t crossed = 0;
    if (batch.empty()) return crossed;
    for (std::int64_t n = batch.begin; n < batch.end;) {
      const Range run = consecutive_views(step_.order, {n, batch.end});
      const std::size_t from = sizeof(float) * view_ * static_cast<std::size_t>(n - batch.begin),
                        first = view_ * static_cast<std::size_t>(run.begin), bytes = sizeof(float) * view_ * run.size();
      n += run.count();
      if (slab.copy_to(output_, first, bytes / sizeof(float), array, from)) continue;
      crossed += bytes;
      if (output_.data() != nullptr)
        slab.download_bytes(array, from, output_.data() + first, bytes);
      else
        slab.download_bytes(array, from, bytes, [&](std::byte* at, std::size_t begin, std::size_t count) {
          resumable_.write(first + begin / sizeof(float), count / sizeof(float), reinterpret_cast<float*>(at));
        });
    }
    const std::lock_guard lock(progress_mutex_);
    done_ += static_cast<double>(batch.count());
    if (options_.progress) options_.progress({program_.needs.algorithm, done_, static_cast<double>(views_), {}});
    return crossed;
  }

  const Program& program_;
  const Step& step_;
  const std::string volume_, projections_, before_;
  const VolumeSource& source_;
  ResumableOutput& resumable_;
  VolumeSink& output_;
  const RunOptions& options_;
  std::int64_t views_;
  std::size_t view_;  // pixels
  std::mutex progress_mutex_;
  double done_ = 0;  // views
};

RunResult run_on_all(RaySums& sums, const Plan& plan, const std::vector<Device>& devices) {
  const Requirements& needs = plan.requirements;
  const auto shares = share_views(needs.views().count(), needs.batch_step, view_shares(plan));
  Plan threads;  // a slab for each device that has views
  threads.devices = plan.devices;
  threads.options = plan.options;
  for (std::size_t n = 0; n < shares.size(); ++n)
    if (!shares[n].empty())
      threads.slabs.push_back({.device = static_cast<int>(n), .interior = {}, .extended = {}, .rows = {}});
  std::vector<double> bytes(shares.size(), 0);
  DeviceThreads().each(threads, [&](int device) {
    const auto n = static_cast<std::size_t>(device);
    bytes[n] = sums.run_on(devices[plan.number_on_rank(device)], plan, shares[n]);
  });
  RunResult result;
  result.iterations = 1;
  result.bus_bytes = std::accumulate(bytes.begin(), bytes.end(), 0.0);
  return result;
}

}  // namespace

RunResult run_ray_sums(const RunRequest& request, const std::vector<Device>& devices, const Plan& plan) {
  ResumableOutput resumable(request.output, nullptr);  // after another plan, views are computed again
  RunResult result =
      run_replanning(plan, devices, attempts_of(request, plan, [&](const Plan& now, const std::vector<Device>& used) {
                       RaySums sums(request, resumable);
                       return run_on_all(sums, now, used);
                     }));
  if (!plan.several_ranks()) validate_rates(result, devices);
  return result;
}

}  // namespace halocline
