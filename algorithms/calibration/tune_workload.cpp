#include "algorithms/calibration/tune_workload.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <span>

#include "algorithms/calibration/denoise_loop.hpp"
#include "algorithms/calibration/denoise_phantom.hpp"
#include "algorithms/calibration/scan_loop.hpp"
#include "algorithms/fdk/fdk.hpp"
#include "algorithms/projectors/patches.hpp"
#include "algorithms/projectors/scan_forms.hpp"

namespace halocline {
namespace {

Volume ones(const Grid& grid) {
  Volume volume(grid);
  std::fill(volume.voxels.begin(), volume.voxels.end(), 1.0f);
  return volume;
}

Workload iterations(const Device& device, const std::string& method, std::size_t n) {
  MethodParameters parameters;
  parameters.size = {n, n, n};
  parameters.iterations = 1 << 20;
  parameters.lambda = 1.0 / 15;
  parameters.largest_weight = 1;
  const auto f = std::make_shared<Volume>(denoise_phantom(n, 0.1));
  const auto w = std::make_shared<Volume>(ones(f->grid));
  std::map<std::string, const Volume*> inputs{{"f", f.get()}};
  if (method == "spdu") inputs["w"] = w.get();
  const auto loop = std::make_shared<DenoiseLoop>(device, BenchForm{method, {}}, parameters, inputs);
  return [loop, f, w](const auto&) { seconds_of(loop->slab(), [&] { loop->iterate(4); }); };
}

// The device's own arrays, without the host: kernels alone count, and no volume crosses the bus.
Workload reconstructions(const Device& device, const Scan& scan) {
  return [device, scan](const auto& between) {
    const auto run = [&](FdkParameters parameters) {
      const std::vector devices{device};
      if (parameters.hardware_interpolation) require_textures(true, parameters.half_texels, devices, "`class`");
      BackprojectionLoop loop(
          device,
          std::make_unique<Fdk>(
              scan.geometry, scan.stack, scan.volume,
              with_row_filter(parameters, devices, filtered_rows(scan.geometry, scan.stack, parameters).length),
              checked_budgets(devices, scan.stack, scan.volume)),
          true);
      seconds_of(loop.slab(), [&] { loop.run(); });
    };
    FdkParameters parameters;
    run(parameters);
    if (!device.info().images || device.info().cpu()) return;
    between();
    parameters.hardware_interpolation = true;
    run(parameters);
    between();
    parameters.half_texels = true;
    if (device.info().texel_pairs) run(parameters);
  };
}

Workload projections(const Device& device, const Scan& scan) {
  const auto volume = std::make_shared<Volume>(ones(scan.volume)), views = std::make_shared<Volume>(ones(scan.stack));
  return [=](const auto& between) {
    ProjectionParameters parameters;
    for (const auto projector : {Projector::joseph, Projector::siddon}) {
      parameters.projector = projector;
      project(*volume, scan.geometry, scan.stack, parameters, {device});
      between();
      backproject(*views, scan.geometry, scan.volume, projector, {device});
      between();
    }
    if (!device.info().images || device.info().cpu()) return;
    parameters.projector = Projector::joseph;
    parameters.hardware_interpolation = true;
    project(*volume, scan.geometry, scan.stack, parameters, {device});
  };
}

// A patch of all voxels, called as often as a kernel of microseconds has to be measured.
Workload patch_calls(const Device& device, const Scan& scan) {
  return [device, scan](const auto&) {
    constexpr int calls = 20;
    Device used = device;
    Patches patches(device, scan.geometry, scan.volume, scan.stack);
    patches.set_boxes(std::span(&scan.volume, 1));
    const Buffer views = used.buffer("tuning: projections", sizeof(float) * patches.pixels());
    const Buffer boxes = used.buffer("tuning: boxes", sizeof(float) * patches.voxels());
    used.fill(views, 1, 0, views.bytes()).wait();
    for (int n = 0; n < calls; ++n) patches.backproject(views, boxes).wait();
  };
}

}  // namespace

Workload workload_of(const Device& device, const std::string& tune_class, const Scan& scan, std::size_t n) {
  if (tune_class == "fdk") return reconstructions(device, scan);
  if (tune_class == "project") return projections(device, scan);
  if (tune_class == "patches") return patch_calls(device, scan);
  return iterations(device, tune_class, n);
}

}  // namespace halocline
