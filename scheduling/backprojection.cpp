#include "scheduling/backprojection.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>

#include "host/interrupt.hpp"
#include "scheduling/rates.hpp"
#include "scheduling/run_support.hpp"

namespace halocline {
namespace {

// The slab's band of rows of each view of the batch (numbers in `order`), one after the other into "raw".
std::size_t upload_rows(Slab& slab, const std::byte* host, const Grid& stack, std::size_t element_bytes,
                        const std::vector<int>& order, Range views) {
  const std::size_t row = element_bytes * stack.size[0], view = row * stack.size[1];
  const std::size_t band = row * static_cast<std::size_t>(slab.rows().count());
  for (std::int64_t n = views.begin; n < views.end;) {
    const Range run = run_of(order, {n, band == view ? views.end : n + 1});
    slab.upload_bytes(
        "raw", band * static_cast<std::size_t>(n - views.begin),
        host + view * static_cast<std::size_t>(run.begin) + row * static_cast<std::size_t>(slab.rows().begin),
        band * static_cast<std::size_t>(run.count()));
    n += run.count();
  }
  return band * static_cast<std::size_t>(views.count());
}

// Accumulation alone; filtering has a cost of its own (KernelCost::pixel_bytes).
KernelTrial trial_of(const BackprojectionMethod& method) {
  KernelTrial trial;
  trial.prepare = [&method](Slab& slab, Range views) {
    method.start(slab);
    slab.fill("raw", 1);
    method.filter(slab, views);
  };
  trial.work = [&method](Slab& slab, Range views) { method.accumulate(slab, views); };
  trial.units = [](const Slab& slab, Range views) {
    return static_cast<double>(slab.nx()) * slab.ny() * static_cast<double>(slab.interior().count() * views.count());
  };
  return trial;
}

}  // namespace

RunResult run_backprojection(const BackprojectionMethod& method, const Grid& stack, const std::byte* projections,
                             const Grid& grid, const std::vector<Device>& devices, const RunOptions& options) {
  const auto requirements = method.requirements();
  const auto raw = std::find_if(requirements.arrays.begin(), requirements.arrays.end(),
                                [](const ArrayNeed& need) { return need.name == "raw"; });
  const auto views = static_cast<std::int64_t>(requirements.stack[2]);
  const auto order = method.order();
  learn_kernel_rate(requirements, devices, trial_of(method));
  return run_replanning(requirements, devices, options, [&](const Plan& plan) {
    RunResult result;
    result.output = Volume::uninitialised(grid);
    std::atomic<std::size_t> bytes{0};
    std::mutex progress_mutex;
    double done = 0;
    const double total = static_cast<double>(plan.slabs.size()) * static_cast<double>(views);
    for_each_device(plan, [&](int device) {
      Slab slab(devices[device], plan, device);
      for (const auto& each : slabs_of(plan, device)) {
        slab.move_to(each);
        method.start(slab);
        // Rows are filtered again for each slab: the bands of neighbouring slabs hardly overlap, so that costs less
        // than keeping filtered projections on the host would.
        for (std::int64_t first = 0; first < views; first += plan.batch) {
          check_interrupt();
          const Range batch{first, std::min(views, first + plan.batch)};
          bytes += upload_rows(slab, projections, stack, raw->element_bytes, order, batch);
          method.filter(slab, batch);
          method.accumulate(slab, batch);
          slab.mark_step();
          std::lock_guard lock(progress_mutex);
          done += static_cast<double>(batch.count());
          if (options.progress) options.progress({requirements.algorithm, done, total, {}});
        }
        slab.download("volume", slab.interior(), result.output.voxels.data(), 0);
        bytes += slab.slice_bytes("volume") * static_cast<std::size_t>(slab.interior().count());
        slab.wait();
      }
    });
    result.iterations = 1;
    result.bus_bytes = static_cast<double>(bytes.load());
    return result;
  });
}

RunResult run_backprojection(const BackprojectionMethod& method, const Volume& projections, const Grid& grid,
                             const std::vector<Device>& devices, const RunOptions& options) {
  return run_backprojection(method, projections.grid, reinterpret_cast<const std::byte*>(projections.voxels.data()),
                            grid, devices, options);
}

}  // namespace halocline
