#include "algorithms/calibration/scan_loop.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "algorithms/support/kernel_numbers.hpp"
#include "cl/bench.clh"
#include "host/system/error.hpp"
#include "host/system/interrupt.hpp"
#include "host/system/thread_pool.hpp"
#include "scheduling/planning/plan_text.hpp"

namespace halocline {
namespace {

Plan require_resident(const Device& device, const Requirements& requirements) {
  if (auto plan = resident_plan(device, requirements)) return *std::move(plan);
  throw PlanError(fmt::format("{}: it does not lie in the memory of {} ({}) as one slab: take fewer voxels",
                              requirements.algorithm, device.info().name,
                              bytes_text(static_cast<double>(device.ledger().budget()))));
}

std::int64_t views_of(const Plan& plan) {
  return static_cast<std::int64_t>(plan.requirements.stack[2]);
}

Range batch_from(const Plan& plan, std::int64_t first) {
  return {first, std::min(views_of(plan), first + plan.batch)};
}

int view_at(const std::vector<int>& order, std::int64_t place) {
  return order.empty() ? static_cast<int>(place) : order[static_cast<std::size_t>(place)];
}

// times(name): how often a batch reads or writes the array.
double batch_bytes(const Plan& plan, const std::function<double(const ArrayNeed&)>& times) {
  double bytes = 0;
  for (const ArrayNeed& need : plan.requirements.arrays)
    bytes += times(need) * static_cast<double>(array_bytes(need, plan.requirements, plan.slabs[0].extended.count(),
                                                           plan.slabs[0].rows.count(), plan.batch));
  return bytes;
}

double batches_of(const Plan& plan) {
  return static_cast<double>((views_of(plan) + plan.batch - 1) / plan.batch);
}

CircularOptions cone_beam(std::size_t views, double tilt) {
  CircularOptions options;
  options.sid = 1000;
  options.sdd = 1500;
  options.projections = views;
  options.in_plane_angle = tilt;
  return options;
}

}  // namespace

Scan bench_scan(const std::array<std::size_t, 3>& volume, const std::array<std::size_t, 2>& detector,
                std::size_t views) {
  const double voxel = 200 / static_cast<double>(std::max(volume[0], volume[1])),
               pixel = 330 / static_cast<double>(detector[0]);
  Scan scan;
  scan.geometry = circular_geometry(cone_beam(views, 0));
  scan.volume = default_grid(volume, {voxel, voxel, voxel});
  scan.stack.size = {detector[0], detector[1], views};
  scan.stack.spacing = {pixel, pixel, 1};
  scan.stack.origin = {-0.5 * (static_cast<double>(detector[0]) - 1) * pixel,
                       -0.5 * (static_cast<double>(detector[1]) - 1) * pixel, 0};
  return scan;
}

Scan bench_scan(std::size_t size, std::size_t views, double tilt) {
  Scan scan = bench_scan({size, size, size}, {size, size}, views);
  scan.geometry = circular_geometry(cone_beam(views, tilt));
  return scan;
}

Scan sliced_bench_scan(std::size_t size, std::size_t slices, std::size_t rows, std::size_t views, bool fan_stack) {
  CircularOptions options;
  options.sid = 1000;
  options.sdd = fan_stack ? 1500 : 0;
  options.projections = views;
  options.arc = fan_stack ? 360 : 180;
  options.fan_stack = fan_stack;
  const double voxel = 200 / static_cast<double>(size), width = fan_stack ? voxel * options.sdd / options.sid : voxel,
               pixel = voxel * static_cast<double>(slices) / static_cast<double>(rows);
  Scan scan;
  scan.geometry = circular_geometry(options);
  scan.volume = default_grid({size, size, slices}, {voxel, voxel, voxel});
  scan.stack.size = {size, rows, views};
  scan.stack.spacing = {width, pixel, 1};
  scan.stack.origin = {-0.5 * (static_cast<double>(size) - 1) * width, -0.5 * (static_cast<double>(rows) - 1) * pixel,
                       0};
  return scan;
}

float bench_number(const std::array<std::size_t, 3>& size, std::size_t x, std::size_t y, std::size_t z) {
  const std::uint64_t n = (static_cast<std::uint64_t>(z) * size[1] + y) * size[0] + x;
  return bench_value(static_cast<std::uint32_t>(n), static_cast<std::uint32_t>(n >> 32));
}

Volume bench_numbers(const Grid& grid) {
  Volume volume = Volume::uninitialised(grid);
  parallel_parts(grid.size[2], [&](std::size_t z) {
    for (std::size_t y = 0; y < grid.size[1]; ++y)
      for (std::size_t x = 0; x < grid.size[0]; ++x) volume.at(x, y, z) = bench_number(grid.size, x, y, z);
  });
  return volume;
}

BackprojectionLoop::BackprojectionLoop(const Device& device, std::unique_ptr<BackprojectionMethod> method,
                                       bool with_filter)
    : method_(std::move(method)),
      with_filter_(with_filter),
      plan_(require_resident(device, method_->requirements())),
      slab_(device, plan_, 0) {
  method_->start(slab_);
  slab_.fill("raw", 1);
  slab_.fill("volume", 0);
  method_->filter(slab_, batch(0), {});
}

Range BackprojectionLoop::batch(std::int64_t first) const {
  return batch_from(plan_, first);
}

void BackprojectionLoop::run() {
  for (std::int64_t first = 0; first < views_of(plan_); first += plan_.batch) {
    if (with_filter_) method_->filter(slab_, batch(first), {});
    method_->accumulate(slab_, batch(first), slab_.interior(), {});
  }
}

std::vector<float> BackprojectionLoop::of_numbers(std::span<const std::array<std::size_t, 3>> voxels) {
  const auto& stack = plan_.requirements.stack;
  const Range rows = slab_.rows();
  const auto order = method_->order();
  method_->start(slab_);
  slab_.fill("volume", 0);
  for (std::int64_t first = 0; first < views_of(plan_); first += plan_.batch) {
    check_interrupt();
    for (std::int64_t place = batch(first).begin; place < batch(first).end; ++place)
      slab_.launch({"bench.cl", "bench_fill", ""}, {stack[0], static_cast<std::size_t>(rows.count()), 1},
                   {out("raw"), number(stack[0]), number(rows.count()), number(1), number(rows.begin), number(stack[1]),
                    number(place - first), number(view_at(order, place))});
    method_->filter(slab_, batch(first), {});
    method_->accumulate(slab_, batch(first), slab_.interior(), {});
    slab_.mark_step();
  }
  const auto& size = plan_.requirements.size;
  std::vector<float> result(voxels.size());
  for (std::size_t n = 0; n < voxels.size(); ++n)
    slab_.download_bytes("volume", sizeof(float) * (voxels[n][0] + size[0] * (voxels[n][1] + size[1] * voxels[n][2])),
                         &result[n], sizeof(float));
  slab_.wait();
  return result;
}

double BackprojectionLoop::bytes() const {
  return batches_of(plan_) * batch_bytes(plan_, [&](const ArrayNeed& need) {
           if (need.name == "volume" || need.name == "texture") return 2.0;
           if (need.name == "filtered" || (with_filter_ && need.name == "raw")) return 1.0;
           return need.kind == ArrayKind::projections && with_filter_ ? 2.0 : 0.0;  // an adjoint's table
         });
}

ProjectionLoop::ProjectionLoop(const Device& device, std::unique_ptr<ProjectionMethod> method)
    : method_((method->check_device(device.info()), std::move(method))),
      plan_(require_resident(device, method_->requirements())),
      slab_(device, plan_, 0) {
  method_->start(slab_);
  slab_.fill("volume", 1);
  slab_.fill("projections", 0);
}

Range ProjectionLoop::batch(std::int64_t first) const {
  return batch_from(plan_, first);
}

void ProjectionLoop::run() {
  method_->loaded(slab_);
  for (std::int64_t first = 0; first < views_of(plan_); first += plan_.batch) method_->project(slab_, batch(first), {});
}

std::vector<float> ProjectionLoop::of_numbers(std::span<const std::array<std::size_t, 3>> pixels) {
  const auto& size = plan_.requirements.size;
  const auto& stack = plan_.requirements.stack;
  const auto order = method_->order();
  slab_.launch({"bench.cl", "bench_fill", ""}, {size[0], size[1], size[2]},
               {out("volume"), number(size[0]), number(size[1]), number(size[2]), number(0), number(size[1]), number(0),
                number(0)});
  method_->loaded(slab_);
  std::vector<float> result(pixels.size());
  for (std::int64_t first = 0; first < views_of(plan_); first += plan_.batch) {
    check_interrupt();
    slab_.fill("projections", 0);
    method_->project(slab_, batch(first), {});
    for (std::int64_t place = batch(first).begin; place < batch(first).end; ++place)
      for (std::size_t n = 0; n < pixels.size(); ++n)
        if (pixels[n][2] == static_cast<std::size_t>(view_at(order, place)))
          slab_.download_bytes(
              "projections",
              sizeof(float) *
                  (pixels[n][0] + stack[0] * (pixels[n][1] + stack[1] * static_cast<std::size_t>(place - first))),
              &result[n], sizeof(float));
    slab_.mark_step();
  }
  slab_.wait();
  return result;
}

double ProjectionLoop::bytes() const {
  const auto& arrays = plan_.requirements.arrays;
  const bool images =
      std::any_of(arrays.begin(), arrays.end(), [](const ArrayNeed& need) { return need.kind == ArrayKind::planes; });
  const double copies = static_cast<double>(std::count_if(arrays.begin(), arrays.end(), [](const ArrayNeed& need) {
    return need.kind == ArrayKind::planes || need.name == "turned" || need.name == "stacks";
  }));
  const double before = batch_bytes(plan_, [&](const ArrayNeed& need) {
    return need.name == "volume"                                                              ? copies
           : need.kind == ArrayKind::planes || need.name == "turned" || need.name == "stacks" ? 1.0
                                                                                              : 0.0;
  });
  return before + batches_of(plan_) * batch_bytes(plan_, [&](const ArrayNeed& need) {
                    if (need.name == "projections") return 2.0;
                    return (images ? need.kind == ArrayKind::planes : need.name == "volume") ? 1.0 : 0.0;
                  });
}

std::vector<double> seconds_of_form(const Device& device, const ScanForm& form, const Scan& scan, bool gpu,
                                    double seconds) {
  const auto runs_of = [&](auto&& loop) {
    const auto once = [&] { return seconds_of(loop.slab(), [&] { loop.run(); }); };
    once();  // compiles
    std::vector<double> runs;
    for (double spent = 0; runs.empty() || spent < seconds; spent += runs.back()) {
      check_interrupt();
      runs.push_back(once());
    }
    return runs;
  };
  if (!form.adjoint) return runs_of(ProjectionLoop(device, make_projection(form, scan, gpu)));
  return runs_of(BackprojectionLoop(device, make_backprojection(form, scan, gpu), form.projector.has_value()));
}

}  // namespace halocline
