// labels: device slab
// Forms of projectors for devices: those that fail their check are not taken, by projections nor by solvers, and
// solvers take Siddon's images and pairs of views as projections do.
#include "algorithms/projectors/faster_forms.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "algorithms/projectors/projector.hpp"
#include "algorithms/solvers/reconstruct.hpp"
#include "host/system/error.hpp"
#include "scheduling/execution/program_run.hpp"
#include "scheduling/planning/program_plan.hpp"
#include "tests/reference/projector_scenes.hpp"
#include "tests/reference/solver_scan.hpp"
#include "tests/support/split_runs.hpp"

namespace halocline::faster_forms_test {
namespace {

using reference::Scene;
using testing::Contains;
using testing::ElementsAre;
using testing::Not;

DeviceModel hopper() {
  DeviceModel model;
  model.name = "NVIDIA H200";
  model.platform = "NVIDIA CUDA";
  model.memory = model.max_allocation = std::size_t{1} << 30;
  model.image_side = 16384, model.image_layers = 2048;
  model.texel_pairs = true;
  return model;
}

std::vector<std::string> kernels_of(const DeviceModel& model, const Scene& scene, Projector projector) {
  const RayOperator A(scene.geometry, scene.grid, scene.projections, projector, {&model, 1});
  return A.program("kernels").needs.kernels;
}

// The names of the forms that are checked, and the model if they all fail.
std::pair<std::vector<std::string>, DeviceModel> checked(const Scene& scene, Projector projector, Directions directions,
                                                         bool work = false) {
  std::vector<std::string> names;
  const auto works = [&](const Variant& form, const std::string& instead) {
    EXPECT_FALSE(instead.empty());
    names.push_back(form.name);
    return work;
  };
  auto models = without_faults({hopper()}, works, projector, directions, scene.geometry, scene.grid, scene.projections);
  return {names, models.front()};
}

TEST(FasterForms, ThatFailTheirCheckAreNotTaken) {
  const Scene cone = reference::scene_named("cone");
  const auto [names, faulty] = checked(cone, Projector::joseph, Directions::both);
  EXPECT_THAT(names, ElementsAre("projection of columns of rays", "Joseph's adjoint in bricks, 4x4x128"));
  EXPECT_THAT(kernels_of(hopper(), cone, Projector::joseph), Contains("joseph_upright_project"));
  EXPECT_THAT(kernels_of(hopper(), cone, Projector::joseph), Contains("joseph_bricks_backproject"));
  EXPECT_THAT(kernels_of(hopper(), cone, Projector::siddon), Contains("siddon_bricks_backproject"));
  EXPECT_THAT(kernels_of(faulty, cone, Projector::joseph), Not(Contains("joseph_upright_project")));
  EXPECT_THAT(kernels_of(faulty, cone, Projector::joseph), Not(Contains("joseph_bricks_backproject")));
  const auto right = checked(cone, Projector::joseph, Directions::both, true).second;
  EXPECT_EQ(kernels_of(right, cone, Projector::joseph), kernels_of(hopper(), cone, Projector::joseph));
}

TEST(FasterForms, AreCheckedInTheDirectionsThatAreUsed) {
  const Scene cone = reference::scene_named("cone"), parallel = reference::scene_named("parallel");
  EXPECT_EQ(checked(cone, Projector::joseph, Directions::forward).first.size(), 1);
  EXPECT_EQ(checked(cone, Projector::joseph, Directions::adjoint).first.size(), 1);
  EXPECT_THAT(checked(parallel, Projector::joseph, Directions::forward).first,
              Contains("projection with slices innermost"));
  EXPECT_THAT(checked(cone, Projector::siddon, Directions::forward).first,
              ElementsAre("Siddon's projection from images"));
}

bool from_images(const Plan& plan) {
  const auto& arrays = plan.requirements.arrays;
  return std::any_of(arrays.begin(), arrays.end(),
                     [](const ArrayNeed& need) { return need.kind == ArrayKind::planes; });
}

TEST(SiddonsImages, AreThoseOfSolversWhereTheyFit) {
  const Scene scene = reference::scenes().front();
  const auto taken = [&](const DeviceModel& model, Projector projector = Projector::siddon) {
    return from_images(plan_reconstruct(scene.projections, scene.geometry, scene.grid,
                                        {.method = "sirt", .passes = 2, .projector = projector}, {}, {model}));
  };
  EXPECT_TRUE(taken(hopper()));
  EXPECT_FALSE(taken(hopper(), Projector::joseph));
  DeviceModel other = hopper();
  other.choices[siddon_form_choice] = buffers_form;
  EXPECT_FALSE(taken(other));
  const auto slabs = [&](std::size_t memory) {
    other.memory = memory;
    try {
      const RayOperator A(scene.geometry, scene.grid, scene.projections, Projector::siddon, {&other, 1});
      const ViewSubsets all(static_cast<int>(scene.projections.size[2]), 1);
      return plan_program(solver_program(A, all, {.method = "sirt", .passes = 2}, {}), {&other, 1}, {}).slabs.size();
    } catch (const PlanError&) {
      return std::size_t{0};
    }
  };
  DeviceModel narrow = hopper();  // just enough memory for one slab from buffers
  while (slabs(narrow.memory / 100 * 99) == 1) narrow.memory = narrow.memory / 100 * 99;
  EXPECT_FALSE(taken(narrow));
}

TEST(SiddonsImages, AreThoseOfProjectionsThatNeedNoMoreSlabs) {
  const Scene scene = reference::scenes().front();
  const auto pay = [&](const DeviceModel& model, const ProjectionParameters& parameters) {
    return images_pay(scene.geometry, scene.grid, scene.projections, parameters, {&model, 1}, {});
  };
  const auto slabs = [&](const DeviceModel& model, bool images) {
    const RayProjection projection(scene.geometry, scene.grid, scene.projections,
                                   {.projector = Projector::siddon, .images = images});
    return plan_program(program_of(projection), {&model, 1}).slabs.size();
  };
  const ProjectionParameters siddon{.projector = Projector::siddon};
  EXPECT_TRUE(pay(hopper(), siddon));
  EXPECT_FALSE(pay(hopper(), {.projector = Projector::siddon, .images = true}));
  EXPECT_FALSE(pay(hopper(), {.projector = Projector::siddon, .upright = true}));
  EXPECT_FALSE(pay(hopper(), {.projector = Projector::joseph}));
  DeviceModel small = hopper();
  small.image_layers = scene.grid.size[2] - 1;
  EXPECT_FALSE(pay(small, siddon));
  DeviceModel narrow = hopper();  // images need more slabs than buffers
  while (slabs(narrow, true) <= slabs(narrow, false)) narrow.memory = narrow.memory / 20 * 19;
  EXPECT_FALSE(pay(narrow, siddon));
  narrow.memory = 1000;  // no plan at all
  EXPECT_FALSE(pay(narrow, siddon));
}

// A solver's program for such devices, on whatever device there is.
TEST(SiddonsImages, ChangeNoBitOfASolver) {
  const auto device = reference::device();
  if (!device.front().info().images) GTEST_SKIP() << "no images";
  const Scene scene = reference::scenes().front();
  const Volume stack = reference::random_volume(scene.projections, 3);
  const DeviceModel model = hopper();
  const auto solved = [&](bool images, const RunOptions& options) {
    const RayOperator A(scene.geometry, scene.grid, scene.projections, Projector::siddon, {&model, 1},
                        {.images = images});
    const ViewSubsets all(static_cast<int>(scene.projections.size[2]), 1);
    const Program program = solver_program(A, all, {.method = "sirt", .passes = 3}, {});
    EXPECT_EQ(std::any_of(program.needs.arrays.begin(), program.needs.arrays.end(),
                          [](const ArrayNeed& need) { return need.kind == ArrayKind::planes; }),
              images);
    return run_program(program, {{"b", &stack}}, scene.grid, device, options).output.voxels;
  };
  const Voxels expected = solved(false, {});
  for (const auto& options : {RunOptions{}, split(1, 4), split(3, 2)}) EXPECT_TRUE(solved(true, options) == expected);
}

// Views on a full circle, an even number, and a volume that turns into itself.
Scene full_circle() {
  CircularOptions circle;
  circle.sid = 300, circle.sdd = 450, circle.projections = 12;
  Grid stack = default_grid({33, 21, 12}, {1.5, 1.5, 1});
  stack.origin = {-24, -15, 0};
  stack.direction = {1, 0, 0, 0, 1, 0, 0, 0, 1};
  return {"full circle", circular_geometry(circle), stack, default_grid({14, 12, 9}, {2, 2, 2})};
}

TEST(Pairs, AreTakenByHardwareInterpolationOfSolvers) {
  const auto components = [&](const Scene& scene, bool texel_pairs) {
    DeviceModel model = hopper();
    model.texel_pairs = texel_pairs;
    const Plan plan =
        plan_reconstruct(scene.projections, scene.geometry, scene.grid,
                         {.method = "ba-gmres", .passes = 2, .hardware_interpolation = true}, {}, {model});
    std::vector<std::size_t> found;
    for (const ArrayNeed& need : plan.requirements.arrays)
      if (need.kind == ArrayKind::planes || need.kind == ArrayKind::image) found.push_back(need.components);
    return found;
  };
  EXPECT_THAT(components(full_circle(), true), testing::Each(2));
  EXPECT_THAT(components(full_circle(), false), testing::Each(1));
  EXPECT_THAT(components(reference::scene_named("cone"), true), testing::Each(1));
}

// Projections in another order than the views would make another image.
TEST(Pairs, ChangeNothingBeyondTheRoundingOfTextures) {
  const auto device = reference::device();
  if (!device.front().info().images) GTEST_SKIP() << "no images";
  const Scene scene = full_circle();
  const Volume truth = reference::random_volume(scene.grid, 3);
  const Volume stack = project(truth, scene.geometry, scene.projections, device).output;
  const MemorySource projections(stack);
  const auto found = [&](bool hardware) {
    Volume x(scene.grid);
    MemorySink sink(x);
    ReconstructionInputs inputs;
    inputs.projections = &projections;
    const auto result = reconstruct(inputs, scene.geometry, sink,
                                    {.method = "ba-gmres", .passes = 4, .hardware_interpolation = hardware}, device);
    return std::pair{std::move(x), result.residual};
  };
  const auto [exact, residual] = found(false);
  const auto [hardware, other] = found(true);
  EXPECT_LT(reference::relative_difference(reference::vector_of(hardware), reference::vector_of(exact)), 0.03);
  EXPECT_NEAR(other, residual, 0.05 * residual);
}

}  // namespace
}  // namespace halocline::faster_forms_test
