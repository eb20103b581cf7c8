// Every kernel once, at small odd sizes and in slabs: run under Oclgrind by oclgrind_kernels.cmake, which looks for
// races, uninitialised values and accesses out of bounds. Not a test by itself.
#include <cstdio>
#include <cstring>

#include "algorithms/backprojection.hpp"
#include "algorithms/fdk.hpp"
#include "algorithms/joseph.hpp"
#include "algorithms/registry.hpp"
#include "host/error.hpp"
#include "tests/reference/projector_scenes.hpp"

using namespace halocline;

namespace {

void run_denoisers(const std::vector<Device>& devices) {
  for (const auto& name : method_names())
    for (const auto schedule : {Schedule::standard, Schedule::seed, Schedule::chambolle_pock})
      for (const KernelVariants variants : {KernelVariants{}, {.fp64 = false}, {.gpu = true}}) {
        if (schedule != Schedule::standard && name != "pdu" && name != "spdu") continue;
        const Grid grid = default_grid({9, 5, 7}, {1, 2, 0.5});
        MethodParameters parameters;
        parameters.size = grid.size;
        parameters.spacing = grid.spacing;
        parameters.iterations = 3;
        parameters.lambda = 0.2;
        parameters.schedule = schedule;
        parameters.step = 1e-2;
        parameters.variants = variants;
        const Volume f = reference::random_volume(grid, 1), w = reference::random_volume(grid, 2);
        const auto method = make_method(name, parameters);
        std::map<std::string, const Volume*> inputs;
        for (const auto& need : method->requirements().arrays)
          if (need.lifetime == Lifetime::input) inputs[need.name] = need.name == "w" ? &w : &f;
        RunOptions options;
        options.plan.minimum_slabs = 2;
        run_iterations(*method, inputs, grid, devices, options);
        std::printf("ran %s, schedule %d%s%s\n", name.c_str(), static_cast<int>(schedule),
                    variants.fp64 ? "" : ", float pairs", variants.gpu ? ", for GPUs" : "");
      }
}

void run_projectors(const std::vector<Device>& devices) {
  for (auto scene : reference::scenes()) {
    if (scene.name != "cone_tilted" && scene.name != "fan") continue;
    scene.geometry.views.resize(4);
    scene.projections.size[2] = 4;
    const Volume volume = reference::random_volume(scene.grid, 3),
                 stack = reference::random_volume(scene.projections, 4);
    RunOptions options;
    options.plan.minimum_slabs = std::min<int>(2, static_cast<int>(scene.grid.size[2]));
    options.plan.batch = 2;
    project(volume, scene.geometry, scene.projections, devices, options);
    backproject(stack, scene.geometry, scene.grid, {}, devices, options);
    if (devices.front().info().images)
      backproject(stack, scene.geometry, scene.grid, {.hardware_interpolation = true}, devices, options);
    std::printf("ran projectors, %s\n", scene.name.c_str());
  }
}

void run_fdk(const std::vector<Device>& devices) {
  CircularOptions circle;
  circle.sid = 100;
  circle.sdd = 150;
  circle.projections = 24;
  const Grid grid = default_grid({7, 5, 3}, {2, 2, 2}), detector = reference::detector(9, 5, 24, 3, 3);
  const Volume stack = reference::random_volume(detector, 5);
  RunOptions options;
  options.plan.minimum_slabs = 2;
  for (const bool variance : {false, true}) {
    FdkParameters parameters;
    if (variance) parameters.variance = FdkParameters::Noise{1000, 5};
    fdk(stack, circular_geometry(circle), grid, parameters, devices, options);
    std::printf("ran fdk%s\n", variance ? " variance" : "");
  }
}

}  // namespace

int main() {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);  // what ran before a crash is worth knowing
  try {
    const auto devices = open_devices({});
    std::printf("on %s\n", devices.front().info().name.c_str());
    run_denoisers(devices);
    run_projectors(devices);
    run_fdk(devices);
    std::printf("all ran\n");
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
