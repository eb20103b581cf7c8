// Slabs into batches of views, which devices share (Form::ray_sums).
#include <algorithm>
#include <cmath>
#include <mutex>
#include <numeric>

#include "host/system/interrupt.hpp"
#include "scheduling/execution/delivered.hpp"
#include "scheduling/execution/device_threads.hpp"
#include "scheduling/execution/failover.hpp"
#include "scheduling/execution/forms.hpp"
#include "scheduling/execution/rate_validation.hpp"
#include "scheduling/execution/run_support.hpp"
#include "scheduling/planning/cost.hpp"
#include "scheduling/planning/program_plan.hpp"
#include "scheduling/profiling/rates.hpp"
#include "scheduling/slabs/device_slab.hpp"

namespace halocline {
namespace {

// Views of each device, by its share, in steps; contiguous, so that each stays in order.
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

// The views of a plan's first batch, times the planes that rays cross in the slab.
KernelTrial ray_sum_trial(const Program& program, const Requirements& requirements) {
  const Step& step = program.first.front();
  KernelTrial trial;
  trial.prepare = [&program, &step](Slab& slab, Range) {
    for (const auto& fill : program.start) fill(slab);
    slab.fill(read_by(step), 1);
    slab.fill(written_by(step), 0);
    if (step.prepare) step.prepare(slab);
  };
  trial.work = [&program, &step](Slab& slab, Range views) {
    step.work(slab, {slab.interior(), views}, program.scalars);
  };
  trial.units = [&requirements](const Slab& slab, Range views) {
    return count_units(requirements) * static_cast<double>(slab.interior().count()) /
           static_cast<double>(requirements.size[2]) * static_cast<double>(views.count()) /
           static_cast<double>(requirements.stack[2]);
  };
  return trial;
}

// What all devices share: progress, and where the projections go.
class RaySums {
 public:
  RaySums(const Program& program, const ProgramInputs& inputs, Delivered& delivered, std::size_t devices,
          const RunOptions& options)
      : program_(program),
        step_(program.first.front()),
        volume_(read_by(step_)),
        projections_(written_by(step_)),
        before_(next_name(projections_)),
        source_(*input_of(inputs, program, volume_).source),
        delivered_(delivered),
        output_(delivered.output()),
        options_(options),
        views_(static_cast<std::int64_t>(program.needs.stack[2])),
        view_(program.needs.stack[0] * program.needs.stack[1]),
        done_(devices, 0) {}

  /// One device: its views, each batch over all slabs in order of slices.
  RunResult run_on(Device& device, const Plan& plan, std::size_t number, Range share) {
    {
      const std::lock_guard lock(progress_mutex_);
      done_[number] = 0;  // planned anew, it begins anew
    }
    DeviceSlab slab(device, plan, 0);
    for (const auto& fill : program_.start) fill(slab);
    std::size_t bytes = 0;
    bool loaded = false;
    Range before{};  // the batch that is still on the device
    for (std::int64_t first = share.begin; first < share.end; first += plan.batch) {
      const Range batch{first, std::min(share.end, first + plan.batch)};
      slab.swap(projections_, before_);
      slab.fill(projections_, 0);
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
      // The kernels of this batch run while the one before is brought back.
      bytes += bring(slab, number, before_, before);
      before = batch;
    }
    bytes += bring(slab, number, projections_, before);
    slab.wait();
    if (output_.data() != nullptr) tell_of(share);
    RunResult result;
    result.bus_bytes = static_cast<double>(bytes);
    return result;
  }

 private:
  // Views that lie in the sink's own memory.
  void tell_of(Range views) {
    for (std::int64_t n = views.begin; n < views.end;) {
      const Range run = run_of(step_.order, {n, views.end});
      const std::size_t first = view_ * static_cast<std::size_t>(run.begin);
      delivered_.write(first, view_ * static_cast<std::size_t>(run.count()), output_.data() + first);
      n += run.count();
    }
  }

  // Returns the bytes that cross the bus.
  std::size_t bring(DeviceSlab& slab, std::size_t device, const std::string& array, Range batch) {
    std::size_t crossed = 0;
    if (batch.empty()) return crossed;
    for (std::int64_t n = batch.begin; n < batch.end;) {
      const Range run = run_of(step_.order, {n, batch.end});
      const std::size_t from = sizeof(float) * view_ * static_cast<std::size_t>(n - batch.begin),
                        first = view_ * static_cast<std::size_t>(run.begin),
                        bytes = sizeof(float) * view_ * static_cast<std::size_t>(run.count());
      n += run.count();
      if (slab.copy_to(output_, first, bytes / sizeof(float), array, from)) continue;
      crossed += bytes;
      if (output_.data() != nullptr)
        slab.download_bytes(array, from, output_.data() + first, bytes);
      else
        slab.download_bytes(array, from, bytes, [&](std::byte* at, std::size_t begin, std::size_t count) {
          delivered_.write(first + begin / sizeof(float), count / sizeof(float), reinterpret_cast<float*>(at));
        });
    }
    const std::lock_guard lock(progress_mutex_);
    done_[device] += static_cast<double>(batch.count());
    if (options_.progress)
      options_.progress(
          {program_.name, std::accumulate(done_.begin(), done_.end(), 0.0), static_cast<double>(views_), {}});
    return crossed;
  }

  const Program& program_;
  const Step& step_;
  const std::string volume_, projections_, before_;
  const VolumeSource& source_;
  Delivered& delivered_;
  VolumeSink& output_;
  const RunOptions& options_;
  std::int64_t views_;
  std::size_t view_;  // pixels
  std::mutex progress_mutex_;
  std::vector<double> done_;  // views of each device
};

// Every device plans for itself (and again, if its memory runs out); a plan with one slab each serves to run them side
// by side.
RunResult run_on_all(const Program& program, const ProgramInputs& inputs, VolumeSink& output,
                     const std::vector<Device>& devices, const RunOptions& options) {
  const Requirements requirements = planned_requirements(program);
  learn_kernel_rate(requirements, devices, ray_sum_trial(program, requirements));
  const Plan joint = plan_program(program, device_models(devices), options.plan);
  const auto shares =
      share_views(static_cast<std::int64_t>(requirements.stack[2]), requirements.batch_step, view_shares(joint));
  Plan all;
  for (std::size_t n = 0; n < devices.size(); ++n)
    if (!shares[n].empty())
      all.slabs.push_back({.device = static_cast<int>(n), .interior = {}, .extended = {}, .rows = {}});
  Delivered delivered(output, nullptr);  // planned anew, a device computes views that are written already
  RaySums sums(program, inputs, delivered, devices.size(), options);
  std::vector<RunResult> results(devices.size());
  const double before = bus_bytes_of(inputs, output);
  DeviceThreads().each(all, [&](int device) {
    const auto n = static_cast<std::size_t>(device);
    Device own = devices[n];
    results[n] = run_replanning(requirements, {own}, options,
                                [&](const Plan& plan, const auto&) { return sums.run_on(own, plan, n, shares[n]); });
  });

  const int first = all.slabs.front().device;
  RunResult result = std::move(results[static_cast<std::size_t>(first)]);
  for (const auto& slab : all.slabs) {
    const auto& other = results[static_cast<std::size_t>(slab.device)];
    if (slab.device == first) continue;
    result.seconds = std::max(result.seconds, other.seconds);
    result.peak_bytes = std::max(result.peak_bytes, other.peak_bytes);
    result.bus_bytes += other.bus_bytes;
  }
  result.bus_bytes += bus_bytes_of(inputs, output) - before;
  if (devices.size() > 1) result.plan = joint;
  result.iterations = 1;
  validate_rates(result, devices);
  return result;
}

}  // namespace

RunResult run_ray_sums(const Program& program, const ProgramInputs& inputs, VolumeSink& output,
                       const std::vector<Device>& devices, const RunOptions& options) {
  return with_failover(devices, [&](const std::vector<Device>& working) {
    return run_on_all(program, inputs, output, working, options);
  });
}

}  // namespace halocline
