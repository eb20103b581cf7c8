// Back-projection and FDK's filter, resident on the device, n^3 voxels from n views of n x n; the matched pairs of
// projectors, forward and adjoint.
#include "algorithms/calibration/scan_loop.hpp"
#include "algorithms/fdk/fdk.hpp"
#include "algorithms/fdk/slices.hpp"
#include "algorithms/geometry/slice_planes.hpp"
#include "algorithms/projectors/projector.hpp"
#include "benchmarks/bench.hpp"
#include "scheduling/profiling/rates.hpp"

namespace halocline {
namespace {

Scan make_scan(double tilt) {
  return bench_scan(bench_size(), bench_size(), tilt);
}

double cube(std::size_t n) {
  return static_cast<double>(n) * static_cast<double>(n) * static_cast<double>(n);
}

// shared: views may share texels (hardware), or detector columns serve (exact, on CPUs).
void backproject(benchmark::State& state, VoxelDriven::Options options, bool shared, double tilt) {
  if (options.hardware_interpolation && !bench_device().info().images) return state.SkipWithError("no images");
  const Scan scan = make_scan(tilt);
  options.distance_weight = true;
  if (shared) set_device_options(options, device_models({bench_device()}), scan.stack, scan.volume);
  BackprojectionLoop loop(bench_device(),
                          std::make_unique<Backprojection>(scan.geometry, scan.stack, scan.volume, options), false);
  measure(state, loop.slab(), [&] { loop.run(); });
  state.counters["updates_per_s"] = benchmark::Counter(cube(bench_size()) * static_cast<double>(bench_size()),
                                                       benchmark::Counter::kIsIterationInvariantRate);
}

void filter_of(benchmark::State& state, const Scan& scan) {
  const Fdk method(scan.geometry, scan.stack, scan.volume, with_row_filter({}, {bench_device()}));
  const int batch = method.requirements().preferred_batch;
  DeviceSlab slab(bench_device(), whole_plan(method.requirements(), batch), 0);
  method.start(slab);
  slab.fill("raw", 1);
  measure(state, slab, [&] { method.filter(slab, {0, batch}, {}); });
  state.counters["pixels_per_s"] = benchmark::Counter(static_cast<double>(bench_size() * bench_size()) * batch,
                                                      benchmark::Counter::kIsIterationInvariantRate);
}

void filter(benchmark::State& state) {
  filter_of(state, make_scan(0));
}

// Parker's weights for each pixel.
void filter_short(benchmark::State& state) {
  Scan scan = make_scan(0);
  for (View& view : scan.geometry.views) view.gantry_angle *= 220.0 / 360;
  filter_of(state, scan);
}

// Wang's, and rows two thirds longer.
void filter_displaced(benchmark::State& state) {
  Scan scan = make_scan(0);
  for (View& view : scan.geometry.views) view.projection_offset_x = 110;
  filter_of(state, scan);
}

// The whole scan, resident on the device, with what is made of the volume once it is there.
void forward(benchmark::State& state, ProjectionParameters parameters, double tilt) {
  if ((parameters.images || parameters.hardware_interpolation) && !bench_device().info().images)
    return state.SkipWithError("no images");
  const Scan scan = make_scan(tilt);
  parameters.gpu = !bench_device().info().cpu();
  parameters.texel_pairs = bench_device().info().texel_pairs;
  ProjectionLoop loop(bench_device(),
                      std::make_unique<RayProjection>(scan.geometry, scan.volume, scan.stack, parameters));
  measure(state, loop.slab(), [&] { loop.run(); });
  state.counters["rays_per_s"] = benchmark::Counter(cube(bench_size()), benchmark::Counter::kIsIterationInvariantRate);
}

// The adjoint of the whole scan; every batch has the same values.
void adjoint(benchmark::State& state, Projector projector, double tilt) {
  const Scan scan = make_scan(tilt);
  BackprojectionLoop loop(bench_device(),
                          std::make_unique<RayBackprojection>(scan.geometry, scan.stack, scan.volume, projector,
                                                              !bench_device().info().cpu()),
                          true);
  measure(state, loop.slab(), [&] { loop.run(); });
  state.counters["rays_per_s"] = benchmark::Counter(cube(bench_size()), benchmark::Counter::kIsIterationInvariantRate);
}

// Three orthogonal slices of 1024^2 pixels through the middle, of projections that are filtered and on the device.
void slices(benchmark::State& state, FdkParameters parameters, std::array<std::size_t, 3> stack_size) {
  if (parameters.hardware_interpolation && !bench_device().info().images) return state.SkipWithError("no images");
  CircularOptions options;
  options.sid = 1000;
  options.sdd = 1500;
  options.projections = stack_size[2];
  const double pixel = 330.0 / static_cast<double>(stack_size[0]);
  Volume projections;
  projections.grid.size = stack_size;
  projections.grid.spacing = {pixel, pixel, 1};
  projections.grid.origin = {-0.5 * static_cast<double>(stack_size[0] - 1) * pixel,
                             -0.5 * static_cast<double>(stack_size[1] - 1) * pixel, 0};
  projections.voxels = Voxels(projections.grid.count(), 1);
  const std::size_t n = 1024;
  const Grid volume = default_grid({n, n, n}, {200.0 / n, 200.0 / n, 200.0 / n});
  std::vector<Grid> planes;
  for (int axis = 0; axis < 3; ++axis) planes.push_back(plane_across(volume, axis, centre_of(volume)));
  Slices resident(bench_device(), projections, circular_geometry(options), volume, parameters, 3 * n * n);
  measure(state, resident.slab(), [&] { resident.enqueue(planes); });
  state.counters["updates_per_s"] =
      benchmark::Counter(static_cast<double>(3 * n * n * stack_size[2]), benchmark::Counter::kIsIterationInvariantRate);
}

constexpr std::array<std::size_t, 3> small_stack{1024, 1024, 128}, large_stack{2016, 1800, 300};

const ProjectionParameters joseph_hardware{.hardware_interpolation = true}, joseph_images{.images = true};

constexpr VoxelDriven::Options exact{}, hardware{.hardware_interpolation = true},
    half{.hardware_interpolation = true, .half_texels = true};

FdkParameters hardware_slices() {
  FdkParameters parameters;
  parameters.hardware_interpolation = true;
  return parameters;
}

BENCHMARK_CAPTURE(backproject, hardware, hardware, true, 0.0)->UseManualTime()->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(backproject, hardware_one, hardware, false, 0.0)->UseManualTime()->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(backproject, half, half, true, 0.0)->UseManualTime()->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(backproject, exact, exact, true, 0.0)->UseManualTime()->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(backproject, exact_quads, exact, false, 0.0)->UseManualTime()->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(backproject, hardware_tilted, hardware, true, 2.0)->UseManualTime()->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(backproject, exact_tilted, exact, true, 2.0)->UseManualTime()->Unit(benchmark::kMillisecond);
// Sizes of the form through local memory.
const bool tiles_registered = [] {
  for (const LocalTile& tile : local_tiles())
    benchmark::RegisterBenchmark(("backproject/local " + tile.text()).c_str(),
                                 [=](benchmark::State& state) {
                                   if (!takes_tile(bench_device().info(), tile))
                                     return state.SkipWithError("too little local memory");
                                   VoxelDriven::Options options;
                                   options.tile = tile;
                                   backproject(state, options, false, 0);
                                 })
        ->UseManualTime()
        ->Unit(benchmark::kMillisecond);
  return true;
}();

BENCHMARK_CAPTURE(slices, exact_small, FdkParameters{}, small_stack)->UseManualTime()->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(slices, hardware_small, hardware_slices(), small_stack)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(slices, exact_large, FdkParameters{}, large_stack)->UseManualTime()->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(slices, hardware_large, hardware_slices(), large_stack)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK(filter)->UseManualTime()->Unit(benchmark::kMillisecond);
BENCHMARK(filter_short)->UseManualTime()->Unit(benchmark::kMillisecond);
BENCHMARK(filter_displaced)->UseManualTime()->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(forward, joseph_hardware, joseph_hardware, 0.0)->UseManualTime()->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(forward, joseph_hardware_tilted, joseph_hardware, 2.0)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(forward, joseph_images, joseph_images, 0.0)->UseManualTime()->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(forward, joseph_exact, ProjectionParameters{}, 0.0)->UseManualTime()->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(forward, joseph_exact_tilted, ProjectionParameters{}, 2.0)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(forward, siddon, ProjectionParameters{Projector::siddon}, 0.0)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(forward, distance_driven, ProjectionParameters{Projector::distance_driven}, 0.0)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(adjoint, joseph, Projector::joseph, 0.0)->UseManualTime()->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(adjoint, joseph_tilted, Projector::joseph, 2.0)->UseManualTime()->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(adjoint, siddon, Projector::siddon, 0.0)->UseManualTime()->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(adjoint, distance_driven, Projector::distance_driven, 0.0)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace halocline
