// labels: device slab
// Projection in slabs, of which each computes and moves the rows alone that its rays cross: the bits of all rows at
// once, in every form of every projector, and fewer bytes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "algorithms/projectors/backprojection.hpp"
#include "algorithms/projectors/projector.hpp"
#include "algorithms/solvers/ray_operator.hpp"
#include "scheduling/execution/session.hpp"
#include "scheduling/planning/ray_chain.hpp"
#include "scheduling/planning/step_tasks.hpp"
#include "tests/reference/projector_scenes.hpp"
#include "tests/support/split_runs.hpp"

namespace halocline::projected_bands_test {
namespace {

using reference::Scene;

// Projections by one step, and the bytes that it moves.
struct Projected {
  std::vector<float> pixels;
  double bytes = 0, predicted = 0, rows = 0;  // rows: computed, over those of all slabs
};

// `whole`: each slab computes all rows.
Projected project(const Scene& scene, const ProjectionParameters& parameters, const std::vector<Device>& devices,
                  PlanOptions options, bool whole = false) {
  for (const Device& each : devices) options.speeds[each.info().name] = 1;
  const ProjectorPair pair{
      .forward = std::make_shared<RayProjection>(scene.geometry, scene.grid, scene.projections, parameters),
      .adjoint =
          std::make_shared<RayBackprojection>(scene.geometry, scene.projections, scene.grid, parameters.projector)};
  const RayOperator A(scene.grid, scene.projections, pair);
  Session session(devices, options);
  Program needs = A.program("bands");
  session.extend(needs);
  const std::string x = session.allocate(ArrayKind::volume), y = session.allocate(ArrayKind::projections);
  session.write(x, MemorySource(reference::random_volume(scene.grid, 5)));
  session.write(y, MemorySource(reference::random_volume(scene.projections, 6)));  // which the sums replace
  Step step = A.project(x, y);
  if (whole) step.rows = {};
  needs.needs.arrays = session.plan().requirements.arrays;
  needs.needs.halo_high = session.plan().requirements.halo_high;
  Projected result;
  result.predicted = count_step_bytes(needs, step, needs.needs.views(), session.plan());
  const double before = session.bus_bytes();
  session.perform(step);
  session.wait();
  result.bytes = session.bus_bytes() - before;
  const RayChain chain(step, session.plan());
  for (std::size_t slab = 0; slab < session.plan().slabs.size(); ++slab)
    for (const RayPiece& piece : chain.pieces(slab)) result.rows += static_cast<double>(piece.rows.count());
  Volume pixels = Volume::uninitialised(scene.projections);
  MemorySink sink(pixels);
  session.read(y, sink);
  result.pixels = std::move(pixels.voxels);
  return result;
}

std::vector<ProjectionParameters> forms(const Scene& scene) {
  std::vector<ProjectionParameters> result;
  for (const Projector projector : {Projector::joseph, Projector::siddon, Projector::distance_driven}) {
    result.push_back({.projector = projector});
    result.push_back({.projector = projector, .gpu = true});
    if (projector != Projector::siddon) result.push_back({.projector = projector, .gpu = true, .upright = true});
    if (projector != Projector::distance_driven && scene.geometry.radius_cylindrical_detector == 0)
      result.push_back({.projector = projector, .images = true, .gpu = true});
  }
  result.push_back({.projector = Projector::joseph, .gpu = true, .slices_innermost = true});
  return result;
}

void expect_same_bits(const Scene& scene, bool is_seen = true) {
  const auto most = static_cast<int>(scene.grid.size[2]);
  for (const ProjectionParameters& form : forms(scene)) {
    SCOPED_TRACE(RayProjection(scene.geometry, scene.grid, scene.projections, form).requirements().kernels.back());
    const Projected one = project(scene, form, reference::device(), {});
    ASSERT_EQ(*std::max_element(one.pixels.begin(), one.pixels.end()) > 0, is_seen);
    for (const auto& [slabs, batch] : {std::pair{2, 3}, {3, 1}, {most, 0}}) {
      const Projected other =
          project(scene, form, reference::device(), {.minimum_slabs = std::min(slabs, most), .batch = batch});
      EXPECT_TRUE(other.pixels == one.pixels) << slabs << " slabs, batches of " << batch;
      EXPECT_EQ(other.bytes, other.predicted) << slabs << " slabs, batches of " << batch;
    }
  }
}

class Bands : public testing::TestWithParam<Scene> {};

TEST_P(Bands, ChangeNoBitOfAnyForm) {
  expect_same_bits(GetParam());
}

TEST_P(Bands, ChangeNoBitOnSeveralDevices) {
  const auto most = static_cast<int>(GetParam().grid.size[2]);
  for (const Projector projector : {Projector::joseph, Projector::siddon, Projector::distance_driven}) {
    const Projected one = project(GetParam(), {.projector = projector}, reference::undivided(), {});
    for (const auto& [slabs, batch] : {std::pair{0, 0}, {0, 1}, {most, 2}}) {
      const Projected other = project(GetParam(), {.projector = projector}, reference::sub_devices(2),
                                      {.minimum_slabs = slabs, .batch = batch});
      EXPECT_TRUE(other.pixels == one.pixels) << projector_name(projector) << ", " << slabs << " slabs";
      EXPECT_EQ(other.bytes, other.predicted) << projector_name(projector) << ", " << slabs << " slabs";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, Bands, testing::ValuesIn(reference::scenes()),
                         [](const auto& info) { return info.param.name; });
INSTANTIATE_TEST_SUITE_P(Upright, Bands, testing::ValuesIn(reference::upright_scenes()),
                         [](const auto& info) { return info.param.name; });

// A source that rises by `pitch` mm a turn; the detector's middle is `above` mm above it.
Scene helical(double pitch, double above, std::size_t slices = 93, std::size_t rows = 71) {
  Scene scene;
  scene.name = "helical";
  scene.projections = reference::detector(37, rows, 17, 2.1, 1.9);
  scene.grid = default_grid({23, 21, slices}, {1.7, 1.9, 1.1});
  for (std::size_t n = 0; n < scene.projections.size[2]; ++n) {
    const double turn = 1.5 * static_cast<double>(n) / static_cast<double>(scene.projections.size[2]);
    View view;
    view.sid = 300, view.sdd = 450;
    view.gantry_angle = 360 * turn + 0.3;
    view.source_offset_y = pitch * (turn - 0.75);
    view.projection_offset_y = view.source_offset_y + above;
    scene.geometry.views.push_back(view);
  }
  return scene;
}

TEST(BandsOfOneScan, ChangeNoBitOfAHelix) {
  expect_same_bits(helical(40, 0));
}

TEST(BandsOfOneScan, ChangeNoBitBesideTheDetector) {
  expect_same_bits(helical(0, 60));  // which sees some of the slices
  expect_same_bits(helical(0, -300, 7, 1), false);
  expect_same_bits(helical(5, 0, 1, 7));
}

TEST(BandsOfOneScan, MoveAndComputeFewerRows) {
  const Scene scene = helical(0, 0);
  for (const auto& [slabs, batch] : {std::pair{2, 4}, {5, 4}, {5, 0}}) {
    const PlanOptions options{.minimum_slabs = slabs, .batch = batch};
    const Projected banded = project(scene, {}, reference::device(), options),
                    whole = project(scene, {}, reference::device(), options, true);
    EXPECT_TRUE(banded.pixels == whole.pixels);
    EXPECT_EQ(whole.bytes, whole.predicted);
    EXPECT_LT(banded.rows, 71 * (1 + 0.25 * (slabs - 1))) << "of " << whole.rows;
    if (batch > 0) {
      EXPECT_LT(banded.bytes, 0.8 * whole.bytes) << slabs << " slabs";
    }
  }
  const auto& devices = reference::sub_devices(2);
  const Projected banded = project(scene, {}, devices, {.batch = 4}),
                  whole = project(scene, {}, devices, {.batch = 4}, true);
  EXPECT_LT(banded.bytes, 0.5 * whole.bytes);
  EXPECT_TRUE(banded.pixels == whole.pixels);
}

}  // namespace
}  // namespace halocline::projected_bands_test
