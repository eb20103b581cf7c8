// Every kernel, at small odd sizes and in slabs: run under Oclgrind by oclgrind_kernels.cmake, which looks for races,
// uninitialised values and accesses out of bounds. Not a test by itself.
//   oclgrind_kernels      the number of cases
//   oclgrind_kernels N    runs case N
//   oclgrind_kernels matrix-units   has the device compile its forms for matrix units, which a described one cannot
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>

#include "algorithms/denoisers/registry.hpp"
#include "algorithms/expressions/context.hpp"
#include "algorithms/expressions/expression.hpp"
#include "algorithms/expressions/prepared.hpp"
#include "algorithms/fdk/fdk.hpp"
#include "algorithms/fdk/row_filter_trial.hpp"
#include "algorithms/fdk/slices.hpp"
#include "algorithms/geometry/slice_planes.hpp"
#include "algorithms/matrix/matrix_projection.hpp"
#include "algorithms/projectors/backprojection.hpp"
#include "algorithms/projectors/joseph_slices_adjoint.hpp"
#include "algorithms/projectors/patches.hpp"
#include "algorithms/projectors/projector.hpp"
#include "algorithms/solvers/projector_operator.hpp"
#include "host/system/error.hpp"
#include "scheduling/execution/program_run.hpp"
#include "scheduling/profiling/measure.hpp"
#include "tests/reference/projector_scenes.hpp"
#include "tests/reference/variant_reference.hpp"
#include "tests/support/reconstruct_run.hpp"

using namespace halocline;

namespace {

using Devices = std::vector<Device>;

RunOptions two_slabs() {
  return {.plan = {.minimum_slabs = 2}};
}

void run_denoiser(const Devices& devices, const std::string& name, Schedule schedule, KernelVariants variants,
                  FusedForm fused = {}, std::size_t columns = 9, const Regulariser& regulariser = {},
                  const reference::NamedDescent& descent = {}) {
  const Grid grid = default_grid({columns, 5, 7}, {1, 2, 0.5});
  MethodParameters parameters;
  parameters.size = grid.size;
  parameters.spacing = grid.spacing;
  parameters.iterations = 3;
  parameters.lambda = 0.2;
  parameters.schedule = schedule;
  parameters.step = 1e-2;
  parameters.variants = variants;
  parameters.regulariser = regulariser;
  parameters.fused = fused;
  descent.put_into(parameters);
  const Volume f = reference::random_volume(grid, 1), w = reference::random_volume(grid, 2);
  const auto method = make_method(name, parameters);
  std::map<std::string, const Volume*> inputs;
  for (const auto& need : method->requirements().arrays)
    if (need.lifetime == Lifetime::input) inputs[need.name] = need.name == "w" ? &w : &f;
  run_program(method->program(), inputs, grid, devices, two_slabs());
}

// Frames of 5 x 3 rows of 9 voxels.
void run_frames(const Devices& devices, Schedule schedule, KernelVariants variants) {
  Grid grid = default_grid({9, 15, 5}, {1, 2, 0.5});
  MethodParameters parameters;
  parameters.size = grid.size;
  parameters.iterations = 3;
  parameters.lambda = 0.2;
  parameters.schedule = schedule;
  parameters.time = {0.7, 3};
  parameters.variants = variants;
  const Volume f = reference::random_volume(grid, 1);
  run_program(make_method("pdu4d", parameters)->program(), {{"f", &f}}, grid, devices, two_slabs());
}

// Four views of a scene, in two slabs where it has as many slices.
struct FewViews {
  FewViews(const Devices& on, const std::string& name) : devices(on), scene(reference::scene_named(name)) {
    scene.geometry.views.resize(4);
    scene.projections.size[2] = 4;
    if (scene.grid.size[2] < 2) options.plan.minimum_slabs = 1;
    options.plan.batch = 2;
    volume = reference::random_volume(scene.grid, 3);
    stack = reference::random_volume(scene.projections, 4);
  }
  void forward(const ProjectionParameters& parameters) const {
    project(volume, scene.geometry, scene.projections, parameters, devices, options);
  }
  void back_along_rays(Projector projector) const {
    backproject(stack, scene.geometry, scene.grid, projector, devices, options);
  }
  void back_to_voxels(const BackprojectionParameters& parameters) const {
    backproject(stack, scene.geometry, scene.grid, parameters, devices, options);
  }
  void back_along_rays_for_gpus(const AdjointBrick* brick = nullptr, Projector projector = Projector::joseph) const {
    const RayBackprojection rays(scene.geometry, scene.projections, scene.grid, projector, true, brick);
    run_program(program_of(rays), {{"raw", &stack}}, scene.grid, devices, options);
  }
  void back_in_form(const VoxelDriven::Options& form) const {
    run_program(program_of(Backprojection(scene.geometry, scene.projections, scene.grid, form)), {{"raw", &stack}},
                scene.grid, devices, options);
  }
  bool images() const { return devices.front().info().images; }

  const Devices& devices;
  reference::Scene scene;
  RunOptions options = two_slabs();
  Volume volume, stack;
};

void run_ray_projections(const Devices& devices, const std::string& name) {
  const FewViews views(devices, name);
  for (const auto projector : {Projector::joseph, Projector::siddon, Projector::distance_driven})
    views.forward({projector});
  for (const auto projector : {Projector::joseph, Projector::siddon})
    views.forward({.projector = projector, .gpu = true});
  for (const auto projector : {Projector::joseph, Projector::siddon, Projector::distance_driven})
    views.forward({.projector = projector, .gpu = true, .upright = true});
  if (!views.images()) return;
  for (const auto projector : {Projector::joseph, Projector::siddon})
    views.forward({.projector = projector, .images = true});
  views.forward({.hardware_interpolation = true});
}

void run_ray_backprojections(const Devices& devices, const std::string& name) {
  const FewViews views(devices, name);
  for (const auto projector : {Projector::joseph, Projector::siddon, Projector::distance_driven})
    views.back_along_rays(projector);
  views.back_along_rays_for_gpus();
  for (const AdjointBrick brick : {AdjointBrick{4, 2, 4, 2}, AdjointBrick{2, 4, 8, 1}})
    for (const auto projector : {Projector::joseph, Projector::siddon, Projector::distance_driven})
      views.back_along_rays_for_gpus(&brick, projector);
}

void run_voxel_driven(const Devices& devices, const std::string& name) {
  const FewViews views(devices, name);
  views.back_in_form({});
  if (views.images()) views.back_in_form({.image_side = 100});
  for (const LocalTile tile : {LocalTile{8, 4, 3, 2048}, LocalTile{8, 2, 2, 256}}) views.back_in_form({.tile = tile});
  FewViews more(devices, name);
  more.options.plan.batch = 4;  // twice as many as a group of the tile looks ahead
  more.back_in_form({.tile = LocalTile{8, 2, 2, 256}});
  views.back_to_voxels({});
  if (views.images()) views.back_to_voxels({.hardware_interpolation = true});
}

// Views a quarter of a turn apart, which share texels.
void run_turned_views(const Devices& devices) {
  if (!devices.front().info().images) return;
  const Geometry geometry = circular_geometry({.sid = 100, .sdd = 150, .projections = 8});
  const Volume volume = reference::random_volume(default_grid({6, 6, 5}, {2, 2, 2}), 3),
               stack = reference::random_volume(reference::detector(9, 7, 8, 3, 3), 4);
  RunOptions options = two_slabs();
  options.plan.batch = 4;
  project(volume, geometry, stack.grid, {.hardware_interpolation = true, .half_texels = true}, devices, options);
  backproject(stack, geometry, volume.grid, {.hardware_interpolation = true, .half_texels = true}, devices, options);
}

// Projectors with slices innermost, rows on slices and between them; columns of which three hold a voxel, and finer
// ones.
void run_projectors_within_slices(const Devices& devices, double column_width, double row_height) {
  const Geometry geometry = circular_geometry({.sdd = 0, .angles = {0, 17, 45, 90, 141}});
  const Grid grid = default_grid({7, 9, 34}, {1, 1, 1}),
             stack = reference::detector(11, 34, 5, column_width, row_height);
  RunOptions options = two_slabs();
  options.plan.batch = 3;
  const Volume volume = reference::random_volume(grid, 3), raw = reference::random_volume(stack, 4);
  run_program(program_of(RayProjection(geometry, grid, stack, {.slices_innermost = true})), {{"volume", &volume}},
              stack, devices, options);
  if (row_height == 1)
    run_program(program_of(SliceBackprojection(geometry, stack, grid)), {{"raw", &raw}}, grid, devices, options);
}

// All steps of the solvers, on one slab and streamed; with weights where the method takes them.
void run_solvers(const Devices& devices, const std::string& name, const Regulariser& regulariser = {},
                 Preconditioner precondition = Preconditioner::none) {
  auto scene = reference::scene_named("cone");
  scene.geometry.views.resize(3);
  scene.grid = default_grid({5, 3, 4}, {4, 5, 3});
  scene.projections = reference::detector(5, 4, 3, 6, 7);
  const SolverMethod& method = solver_method(name);
  MeasuredScan scan{.scene = scene, .b = reference::random_volume(scene.projections, 4)};
  if (method.weights) scan.w = reference::random_volume(scene.projections, 5);
  if (regulariser.guided) scan.reference = reference::random_volume(scene.grid, 6);
  ReconstructionParameters parameters{.method = name, .passes = method.penalty ? 1 : 2};
  if (method.subsets) parameters.subsets = 2;
  if (method.penalty) {
    parameters.lambda = 0.1;
    parameters.polish_steps = 2;  // a launch takes Oclgrind some milliseconds
  }
  parameters.regulariser = regulariser;
  parameters.precondition = precondition;
  for (auto options : {RunOptions(), two_slabs()}) {
    options.plan.batch = 2;
    scan.reconstructed(parameters, devices, options, method.penalty);
  }
}

// Calibration of whole counts; the first column and the last row were not measured.
CountsCalibration some_calibration(const Grid& stack) {
  CountsCalibration calibration{.size = stack.size};
  calibration.pixels.assign(stack.slice(), {2, 1000});
  calibration.replaced = {stack.slice(), std::vector<std::vector<ReplacedValues::Value>>(stack.size[2])};
  for (auto& view : calibration.replaced.views)
    for (std::uint32_t n = 0; n < stack.slice(); ++n)
      if (n % stack.size[0] == 0 || n / stack.size[0] + 1 == stack.size[1]) view.push_back({n, 500});
  calibration.beams.assign(stack.size[2], 1.1f);
  calibration.coefficients = {1, 0.1f};
  return calibration;
}

TypedVolume some_counts(Volume values) {
  for (float& value : values.voxels) value *= 900;
  TypedVolume counts(values.grid, Component::uint16);
  convert_from_float(Component::uint16, values.voxels.data(), counts.bytes(), values.voxels.size());
  return counts;
}

// Rows in local memory, and in device memory.
void run_fdk(const Devices& devices, const Volume& stack, const Geometry& geometry, FdkParameters parameters,
             bool counts) {
  if (!parameters.longest_local_rows) {
    for (const std::size_t longest : {0, 1024}) {
      parameters.longest_local_rows = longest;
      run_fdk(devices, stack, geometry, parameters, counts);
    }
    return;
  }
  const Grid grid = default_grid({7, 5, 3}, {2, 2, 2});
  if (!counts) {
    fdk(stack, geometry, grid, parameters, devices, two_slabs());
    return;
  }
  const CountsCalibration calibration = some_calibration(stack.grid);
  parameters.counts = {&calibration};
  fdk(some_counts(stack), geometry, grid, parameters, devices, two_slabs());
}

void run_fdk(const Devices& devices, bool variance, bool counts) {
  CircularOptions circle{.sid = 100, .sdd = 150, .projections = 24};
  const Volume stack = reference::random_volume(reference::detector(9, 5, 24, 3, 3), 5);
  FdkParameters parameters;
  if (variance) parameters.variance = FdkParameters::Noise{1000, 5};
  run_fdk(devices, stack, circular_geometry(circle), parameters, counts);
}

// Groups of several work-items, stages of every radix.
void run_rows(const Devices& devices, std::size_t length) {
  row_filter_trial(devices.front(), length);
}

// A window that moves past the end of the ring, slices of different sizes.
void run_slices(const Devices& devices, bool hardware, bool variance) {
  CircularOptions circle{.sid = 100, .sdd = 150, .projections = 12};
  if (hardware && !devices.front().info().images) return;
  const Volume stack = reference::random_volume(reference::detector(9, 5, 12, 3, 3), 5);
  const Grid volume = default_grid({7, 5, 3}, {2, 2, 2});
  std::vector<Grid> planes{oblique_plane(volume, centre_of(volume), {1, 2, 3})};
  for (int axis = 0; axis < 3; ++axis) planes.push_back(plane_across(volume, axis, centre_of(volume)));
  FdkParameters parameters{.hardware_interpolation = hardware};
  if (variance) parameters.variance = FdkParameters::Noise{1000, 5};
  Slices slices(devices.front(), stack, circular_geometry(circle), volume, parameters, 1000);
  slices.reconstruct(planes);
  for (int n = 0; n < 2; ++n) {
    circle.first_angle = 210.0 * n;
    circle.projections = 7;
    circle.arc = 210;
    slices.add(reference::random_volume(reference::detector(9, 5, 7, 3, 3), 6), circular_geometry(circle));
  }
  slices.reconstruct(planes);
}

// A cylindrical detector, rays that end within the volume, and both; rays in faces between voxels among them.
void run_ends(const Devices& devices, double radius, double sdd) {
  Geometry geometry = circular_geometry({.sid = 40, .sdd = sdd, .angles = {3, 95}, .out_of_plane_angle = 2});
  geometry.radius_cylindrical_detector = radius;
  geometry.ray_ends = RayEnds::end;
  const Volume volume = reference::random_volume(default_grid({9, 7, 5}, {1, 1.5, 2}), 1),
               stack = reference::random_volume(reference::detector(11, 5, 2, 2, 2.5), 2);
  for (const auto projector : {Projector::joseph, Projector::siddon, Projector::distance_driven}) {
    for (const bool gpu : {false, true})
      project(volume, geometry, stack.grid, {.projector = projector, .gpu = gpu}, devices, two_slabs());
    backproject(stack, geometry, volume.grid, projector, devices, two_slabs());
  }
}

// Siddon's rays in faces and along edges between voxels, in all its forms.
void run_faces(const Devices& devices, double sdd) {
  const Geometry geometry = circular_geometry({.sid = 40, .sdd = sdd, .angles = {0, 90, 200}});
  const Volume volume = reference::random_volume(default_grid({8, 6, 4}, {1, 1, 1}), 1),
               stack = reference::random_volume(reference::detector(11, 7, 3, 1, 1), 2);
  for (const bool gpu : {false, true})
    project(volume, geometry, stack.grid, {.projector = Projector::siddon, .gpu = gpu}, devices, two_slabs());
  if (devices.front().info().images)
    project(volume, geometry, stack.grid, {.projector = Projector::siddon, .images = true}, devices, two_slabs());
  for (const bool gpu : {false, true})
    run_program(program_of(RayBackprojection(geometry, stack.grid, volume.grid, Projector::siddon, gpu)),
                {{"raw", &stack}}, volume.grid, devices, two_slabs());
}

// The weights of short, displaced and curved scans, tilted and truncated; half of them with rows across the axis.
void run_general_fdk(const Devices& devices, bool variance, bool displaced, double radius, bool counts) {
  CircularOptions circle;
  circle.sid = 100;
  circle.sdd = 150;
  circle.projections = 12;
  circle.arc = displaced ? 360 : 230;
  circle.source_offset_x = 2;
  circle.in_plane_angle = displaced == counts ? 6 : 0;
  circle.projection_offset_x = displaced ? 6 : -1;
  Geometry geometry = circular_geometry(circle);
  geometry.radius_cylindrical_detector = radius;
  const Volume stack = reference::random_volume(reference::detector(9, 5, 12, 3, 3), 5);
  FdkParameters parameters{.pad = 0.4};
  if (variance) parameters.variance = FdkParameters::Noise{1000, 5};
  run_fdk(devices, stack, geometry, parameters, counts);
}

// Parallel beams in Fourier space: three slabs, and a whole with a work-item whose last pairs are beyond the rows.
void run_gridding(const Devices& devices, bool displaced) {
  CircularOptions circle{.sid = 100, .sdd = 0, .projections = 13, .arc = displaced ? 360.0 : 180.0};
  circle.projection_offset_x = displaced ? 6 : 0;
  const Volume stack = reference::random_volume(reference::detector(9, displaced ? 18 : 5, 13, 3, 3), 5);
  fdk(stack, circular_geometry(circle), default_grid({7, 5, 4}, {3, 4, displaced ? 13 : 3.2}),
      {.algorithm = FdkAlgorithm::gridding}, devices, {.plan = {.minimum_slabs = displaced ? 1 : 3}});
}

// Rays of a gap from the opposite side.
void run_gap_fdk(const Devices& devices, bool variance, bool counts) {
  Geometry geometry = circular_geometry({.sid = 100, .sdd = 150, .projections = 80});
  geometry.views.erase(geometry.views.begin() + 20, geometry.views.begin() + 23);
  FdkParameters parameters{.pad = 0.4};
  if (variance) parameters.variance = FdkParameters::Noise{1000, 5};
  run_fdk(devices, reference::random_volume(reference::detector(9, 3, 77, 3, 3), 5), geometry, parameters, counts);
}

// Kernels that benches run beside those that they measure, with 9 x 5 work-items.
void run_bench(const Devices& devices, bool image) {
  Requirements requirements{.stack = {40, 40, 2}};
  requirements.arrays = {{.name = "from", .kind = ArrayKind::projections, .components = 4},
                         {.name = "sums", .kind = ArrayKind::fixed, .elements = 9 * 5 * 2},
                         {.name = "others", .kind = ArrayKind::fixed, .elements = 300}};
  if (image) {
    if (!devices.front().info().images) return;
    requirements.arrays.push_back({.name = "texture", .kind = ArrayKind::image});
  }
  DeviceSlab slab(devices.front(), whole_plan(requirements, 2), 0);
  slab.launch({"bench.cl", "bench_fill", ""}, {40, 7, 1}, {out("from"), 40, 7, 1, 3, 40, 1, 1});
  slab.fill("from", 1);
  if (image) {
    slab.copy_to_image("from", "texture", 2);
    slab.launch({"bench.cl", "bench_fetch", "-D USE_IMAGE"}, {9, 5, 2}, {in("texture"), out("sums"), 9, 5, 2});
    return;
  }
  for (const char* options : {"", "-D WIDE"})
    slab.launch({"bench.cl", "bench_gather", options}, {9, 5, 2}, {in("from"), out("sums"), 9, 5, 2, 40});
  slab.copy({{"from", 16, "sums", 32, 160}, {"from", 64, "others", 0, 1200}});  // whole words, in one command
}

// A stored system matrix of parts and chunks, of three blocks of slices.
void run_matrix(const Devices& devices, Projector::Named projector, bool fan_stack) {
  CircularOptions circle{.sid = 60, .sdd = fan_stack ? 90.0 : 0.0, .angles = {0, 17, 45, 90, 141}};
  circle.fan_stack = fan_stack;
  const Geometry geometry = circular_geometry(circle);
  const Grid grid = default_grid({9, 7, 35}, {1, 1.3, 1}), stack = reference::detector(13, 35, 5, 1.2, 1);
  const auto matrix = std::make_shared<const SystemMatrix>(geometry, grid, stack, projector,
                                                           MatrixOptions{.parts = {3, 2}, .chunk_bytes = 1 << 13});
  const Volume volume = reference::random_volume(grid, 7), raw = reference::random_volume(stack, 3);
  run_program(program_of(MatrixProjection(matrix)), {{"volume", &volume}}, stack, devices, two_slabs());
  run_program(program_of(MatrixBackprojection(matrix, false)), {{"raw", &raw}}, grid, devices, two_slabs());
}

// An eighth of a matrix, of two blocks of copies and a part of a third.
void run_sectors(const Devices& devices, bool fan) {
  CircularOptions circle{.sid = 60, .sdd = fan ? 90.0 : 0.0};
  circle.projections = 8;
  circle.arc = fan ? 360 : 180;
  circle.fan_stack = fan;
  const Geometry geometry = circular_geometry(circle);
  const Grid grid = default_grid({9, 9, 5}, {1, 1, 1}), stack = reference::detector(13, 5, 8, 1.2, 1);
  const auto matrix = std::make_shared<const SystemMatrix>(geometry, grid, stack, Projector(),
                                                           MatrixOptions{.symmetric = true, .chunk_bytes = 1 << 13});
  const Volume volume = reference::random_volume(grid, 7), raw = reference::random_volume(stack, 3);
  run_program(program_of(MatrixProjection(matrix)), {{"volume", &volume}}, stack, devices, two_slabs());
  run_program(program_of(MatrixBackprojection(matrix, false)), {{"raw", &raw}}, grid, devices, two_slabs());
}

// Products of one block and of several in the device's form for matrix units.
void compile_matrix_units(const Devices& devices) {
  CircularOptions circle{.sid = 60, .sdd = 0, .projections = 8, .arc = 180};
  const MatrixUnits units = matrix_units_of(devices.front().info());
  for (const MatrixOptions& options :
       {MatrixOptions{.units = units}, MatrixOptions{.units = units, .half_vectors = true},
        MatrixOptions{.units = units, .symmetric = true}})
    for (const std::size_t slices : {2, 35}) {
      const Grid grid = default_grid({9, 9, slices}, {1, 1, 1}), stack = reference::detector(13, slices, 8, 1.2, 1);
      const auto matrix =
          std::make_shared<const SystemMatrix>(circular_geometry(circle), grid, stack, Projector(), options);
      const Volume volume = reference::random_volume(grid, 7);
      try {
        run_program(program_of(MatrixProjection(matrix)), {{"volume", &volume}}, stack, devices, {});
      } catch (const std::exception& error) {
        std::printf("%.200s\n", error.what());
      }
    }
}

// Patches of several shapes in one launch, of a cone and of a fan beam.
void run_patches(const Devices& devices, std::size_t rows) {
  const Geometry geometry = circular_geometry({.sid = 60, .sdd = 90, .angles = {0, 17, 45, 90, 141}});
  const Grid grid = default_grid({9, 7, rows}, {1, 1, 1}), stack = reference::detector(13, rows, 5, 1.2, 1.2);
  Patches patches(devices.front(), geometry, grid, stack);
  Grid row = grid, point = grid;
  row.size = {9, 1, 1}, point.size = {1, 1, 1};
  patches.set_boxes(std::vector{grid, row, point});
  patches.backproject(reference::random_volume(stack, 4).voxels);
  patches.set_views(std::vector{4, 1});
  patches.project(std::vector<float>(patches.voxels(), 0.5f));
}

// The forms of patches for more voxels, in which work-items take several parts and voxels.
void run_large_patches(const Devices& devices, const std::array<std::size_t, 3>& size) {
  const Geometry geometry = circular_geometry({.sid = 600, .sdd = 900, .angles = {17}});
  const Grid stack = reference::detector(9, 1, 1, 60, 60);
  Patches patches(devices.front(), geometry, default_grid(size, {1, 1, 1}), stack);
  patches.set_boxes(std::vector{default_grid(size, {1, 1, 1})});
  patches.backproject(reference::random_volume(stack, 4).voxels);
}

// Kernels that are written for formulas, on one slab and several.
void run_expressions(const Devices& devices) {
  namespace hx = expressions;
  for (const int slabs : {0, 3})
    for (const std::size_t columns : {9, 12}) {
      PlanOptions options{.minimum_slabs = slabs};
      const hx::Context on(devices, options);
      const hx::Space space = on.volume({.size = {columns, 10, 6}});
      hx::Array x = hx::uniform(space, 1), y = hx::uniform(space, 2);
      x += 0.5 * y / (1 + abs(x));
      y = shift(x, 1, -2) + gradient(x, 2);
      value(norm(1.2 * x + y));
      if (slabs == 0) {
        hx::Array z;
        on.record([&] { z = ratio(dot(x, y), norm(y)) * x; }).replay();
      }
      x = adjoint_gradient(y, 0);
      value(sum(x) + dot(x, gradient(y, 1)));
      value(max(x) + norm_inf(gradient(y, 1)));
    }
}

void run_operator_views(const Devices& devices) {
  const reference::Scene scene = reference::scene_named("cone");
  const expressions::Context on(devices);
  const auto A = expressions::projector(on, scene.geometry, scene.grid, scene.projections);
  const auto some = A.views({2, 0});
  expressions::read(adjoint(some) * (some * expressions::uniform(A.domain(), 1)));
}

std::vector<std::function<void(const Devices&)>> cases() {
  std::vector<std::function<void(const Devices&)>> all;
  const KernelVariants plain, float_pairs{.fp64 = false}, for_gpus{.gpu = true};
  for (const auto& name : method_names())
    for (const auto variants : {plain, float_pairs, for_gpus})
      all.push_back([=](const Devices& devices) { run_denoiser(devices, name, Schedule::standard, variants); });
  for (const char* name : {"pdu", "spdu"})
    for (const auto schedule : {Schedule::seed, Schedule::chambolle_pock})
      all.push_back([=](const Devices& devices) { run_denoiser(devices, name, schedule, plain); });
  for (const auto& [name, regulariser] : reference::regularisers())
    for (const char* method : {"pdu", "spdu"})
      all.push_back([=](const Devices& devices) {
        run_denoiser(devices, method, Schedule::standard, plain, {}, 9, regulariser);
        run_denoiser(devices, method, Schedule::chambolle_pock, for_gpus, {}, 9, regulariser);
      });
  for (const auto& descent : reference::descents())
    for (const auto variants : {plain, float_pairs, for_gpus})
      all.push_back([=](const Devices& devices) {
        // on GPUs two groups along x
        run_denoiser(devices, "tvgd", Schedule::standard, variants, {}, variants.gpu ? 40 : 9, {}, descent);
      });
  for (const auto variants : {plain, float_pairs, for_gpus})
    all.push_back([=](const Devices& devices) { run_frames(devices, Schedule::standard, variants); });
  all.push_back([=](const Devices& devices) { run_frames(devices, Schedule::chambolle_pock, plain); });
  for (const char* name : {"pdu", "spdu"})
    for (const auto form : {FusedForm{2, 16}, FusedForm{1, 32}})
      for (const std::size_t columns : {9, 20})
        all.push_back(
            [=](const Devices& devices) { run_denoiser(devices, name, Schedule::standard, for_gpus, form, columns); });
  for (const char* name : {"tvgd", "pdu"})
    for (const std::size_t columns : {10, 20})
      all.push_back(
          [=](const Devices& devices) { run_denoiser(devices, name, Schedule::standard, for_gpus, {}, columns); });
  for (const char* name : {"cone_tilted", "cone", "cone_axis_along_j", "fan", "fan_stack"})
    for (const auto run : {run_ray_projections, run_ray_backprojections, run_voxel_driven})
      all.push_back([=](const Devices& devices) { run(devices, name); });
  all.push_back(run_turned_views);
  for (const auto& [column_width, row_height] : {std::pair{0.9, 1.0}, {0.4, 1.0}, {0.9, 0.7}})
    all.push_back([=](const Devices& devices) { run_projectors_within_slices(devices, column_width, row_height); });
  for (const std::string& method : reconstruction_methods()) {
    if (method == "sart") continue;  // has the kernels of os-sart
    const auto precondition = method == "cgls" ? Preconditioner::ramp : Preconditioner::none;
    all.push_back([=](const Devices& devices) { run_solvers(devices, method, {}, precondition); });
  }
  all.push_back(run_expressions);
  all.push_back(run_operator_views);
  for (const auto projector : {Projector::joseph, Projector::siddon, Projector::distance_driven})
    for (const bool fan_stack : {false, true})
      all.push_back([=](const Devices& devices) { run_matrix(devices, projector, fan_stack); });
  for (const bool fan : {false, true}) all.push_back([=](const Devices& devices) { run_sectors(devices, fan); });
  for (const std::size_t rows : {1, 6}) all.push_back([=](const Devices& devices) { run_patches(devices, rows); });
  for (const std::array<std::size_t, 3> size : {std::array<std::size_t, 3>{201, 101, 1}, {501, 301, 1}})
    all.push_back([=](const Devices& devices) { run_large_patches(devices, size); });
  for (const auto& [name, regulariser] : reference::regularisers())
    if (name == "anisotropic" || name == "guided_huber_boxed")
      all.push_back([=](const Devices& devices) { run_solvers(devices, "spdhg", regulariser); });
  for (const auto& scan : {std::array{0.0, 43.0}, {50.0, 60.0}, {50.0, 43.0}})
    all.push_back([=](const Devices& devices) { run_ends(devices, scan[0], scan[1]); });
  for (const double sdd : {0.0, 60.0}) all.push_back([=](const Devices& devices) { run_faces(devices, sdd); });
  for (const bool hardware : {false, true})
    for (const bool variance : {false, true})
      all.push_back([=](const Devices& devices) { run_slices(devices, hardware, variance); });
  for (const bool image : {false, true}) all.push_back([=](const Devices& devices) { run_bench(devices, image); });
  for (const std::size_t length : {128, 256, 512})
    all.push_back([=](const Devices& devices) { run_rows(devices, length); });
  for (const bool displaced : {false, true})
    all.push_back([=](const Devices& devices) { run_gridding(devices, displaced); });
  for (const bool variance : {false, true}) {
    for (const bool counts : {false, true})
      for (const bool gap : {false, true})
        all.push_back([=](const Devices& devices) {
          gap ? run_gap_fdk(devices, variance, counts) : run_fdk(devices, variance, counts);
        });
    for (const bool displaced : {false, true})
      for (const double radius : {0.0, 150.0})
        for (const bool counts : {false, true})
          all.push_back([=](const Devices& devices) { run_general_fdk(devices, variance, displaced, radius, counts); });
  }
  return all;
}

}  // namespace

int main(int argc, char** argv) {
  const auto all = cases();
  if (argc < 2) {
    std::printf("%zu", all.size());
    return 0;
  }
  try {
    const auto devices = open_devices({});
    if (std::strcmp(argv[1], "matrix-units") == 0)
      compile_matrix_units(devices);
    else
      all.at(static_cast<std::size_t>(std::atoi(argv[1])))(devices);
    std::printf("ran on %s\n", devices.front().info().name.c_str());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
