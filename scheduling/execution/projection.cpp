#include "scheduling/execution/projection.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <mutex>
#include <numeric>
#include <stdexcept>

#include "host/interrupt.hpp"
#include "scheduling/execution/device_threads.hpp"
#include "scheduling/execution/failover.hpp"
#include "scheduling/execution/rate_validation.hpp"
#include "scheduling/execution/run_support.hpp"
#include "scheduling/planning/cost.hpp"
#include "scheduling/profiling/rates.hpp"

namespace halocline {
namespace {

constexpr const char* other_projections = "projections_before";

Requirements requirements_of(const ProjectionMethod& method) {
  return with_double_buffer(method.requirements(), "projections", other_projections);
}

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
KernelTrial trial_of(const ProjectionMethod& method, const Requirements& requirements) {
  KernelTrial trial;
  trial.prepare = [&method](Slab& slab, Range) {
    method.start(slab);
    slab.fill("volume", 1);
    slab.fill("projections", 0);
    method.loaded(slab);
  };
  trial.work = [&method](Slab& slab, Range views) { method.project(slab, views); };
  trial.units = [&requirements](const Slab& slab, Range views) {
    return count_units(requirements) * static_cast<double>(slab.interior().count()) /
           static_cast<double>(requirements.size[2]) * static_cast<double>(views.count()) /
           static_cast<double>(requirements.stack[2]);
  };
  return trial;
}

RunResult project_on(const ProjectionMethod& method, const Volume& volume, const Grid& projections,
                     const std::vector<Device>& devices, const RunOptions& options) {
  const auto requirements = requirements_of(method);
  const auto views = static_cast<std::int64_t>(requirements.stack[2]);
  learn_kernel_rate(requirements, devices, trial_of(method, requirements));
  const Plan joint = make_plan(requirements, device_models(devices), options.plan);
  const auto shares = share_views(views, requirements.batch_step, view_shares(joint));
  const std::size_t view_bytes = 4 * projections.size[0] * projections.size[1];
  const auto order = method.order();
  Volume stack = Volume::uninitialised(projections);
  auto* host = reinterpret_cast<std::byte*>(stack.voxels.data());
  std::mutex progress_mutex;
  std::vector<double> done(devices.size(), 0);  // views

  const auto bring = [&](Slab& slab, std::size_t device, const char* array, Range batch) {
    if (batch.empty()) return;
    for (std::int64_t n = batch.begin; n < batch.end;) {
      const Range run = run_of(order, {n, batch.end});
      slab.download_bytes(array, view_bytes * static_cast<std::size_t>(n - batch.begin),
                          host + view_bytes * static_cast<std::size_t>(run.begin),
                          view_bytes * static_cast<std::size_t>(run.count()));
      n += run.count();
    }
    const std::lock_guard lock(progress_mutex);
    done[device] += static_cast<double>(batch.count());
    if (options.progress)
      options.progress(
          {requirements.algorithm, std::accumulate(done.begin(), done.end(), 0.0), static_cast<double>(views), {}});
  };

  // One device: its views, each batch over all slabs in order of slices.
  const auto work = [&](const Plan& plan, std::size_t device) {
    const Range share = shares[device];
    RunResult result;
    {
      const std::lock_guard lock(progress_mutex);
      done[device] = 0;  // planned anew, it begins anew
    }
    Slab slab(devices[device], plan, 0);
    method.start(slab);
    std::size_t bytes = 0;
    bool loaded = false;
    Range before{};  // the batch that is still on the device
    for (std::int64_t first = share.begin; first < share.end; first += plan.batch) {
      const Range batch{first, std::min(share.end, first + plan.batch)};
      slab.swap("projections", other_projections);
      slab.fill("projections", 0);
      for (const auto& each : plan.slabs) {
        check_interrupt();
        slab.move_to(each);
        if (!loaded || plan.slabs.size() > 1) {
          slab.upload("volume", slab.extended(), volume.voxels.data(), 0);
          bytes += slab.slice_bytes("volume") * static_cast<std::size_t>(slab.extended().count());
          loaded = true;
          method.loaded(slab);
        }
        method.project(slab, batch);
        slab.mark_step();
      }
      // The kernels of this batch run while the one before is brought back.
      bring(slab, device, other_projections, before);
      before = batch;
    }
    bring(slab, device, "projections", before);
    bytes += view_bytes * static_cast<std::size_t>(share.count());
    slab.wait();
    result.bus_bytes = static_cast<double>(bytes);
    return result;
  };

  // Every device plans for itself (and again, if its memory runs out); a plan with one slab each serves to run them
  // side by side.
  Plan all;
  for (std::size_t n = 0; n < devices.size(); ++n)
    if (!shares[n].empty())
      all.slabs.push_back({.device = static_cast<int>(n), .interior = {}, .extended = {}, .rows = {}});
  std::vector<RunResult> results(devices.size());
  DeviceThreads().each(all, [&](int n) {
    results[n] = run_replanning(requirements, {devices[n]}, options,
                                [&](const Plan& plan, const auto&) { return work(plan, static_cast<std::size_t>(n)); });
  });

  RunResult result = std::move(results[static_cast<std::size_t>(all.slabs.front().device)]);
  for (const auto& slab : all.slabs) {
    const auto& other = results[static_cast<std::size_t>(slab.device)];
    if (slab.device == all.slabs.front().device) continue;
    result.seconds = std::max(result.seconds, other.seconds);
    result.peak_bytes = std::max(result.peak_bytes, other.peak_bytes);
    result.bus_bytes += other.bus_bytes;
  }
  if (devices.size() > 1) result.plan = joint;
  result.iterations = 1;
  result.output = std::move(stack);
  validate_rates(result, devices);
  return result;
}

}  // namespace

Plan plan_projection(const ProjectionMethod& method, const std::vector<DeviceModel>& devices,
                     const PlanOptions& options) {
  return make_plan(requirements_of(method), devices, options);
}

RunResult run_projection(const ProjectionMethod& method, const Volume& volume, const Grid& projections,
                         const std::vector<Device>& devices, const RunOptions& options) {
  return with_failover(devices, [&](const std::vector<Device>& working) {
    return project_on(method, volume, projections, working, options);
  });
}

}  // namespace halocline
