// labels: device slab
// SIRT and CGLS against double precision with the explicit matrix, known answers, and one slab against many slabs,
// batches and devices.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "algorithms/solvers/reconstruct.hpp"
#include "host/error.hpp"
#include "host/interrupt.hpp"
#include "tests/reference/solver_reference.hpp"
#include "tests/support/kept_states.hpp"

namespace halocline {
namespace {

using reference::device;
using reference::norm;
using reference::RayMatrix;
using reference::Vector;

struct Asked {
  std::string method = "sirt";
  int passes = 0;
  Projector projector = Projector::joseph;
  double relaxation = 1, tolerance = 0;
  double minimum = Regulariser().minimum;

  ReconstructionParameters parameters() const {
    ReconstructionParameters result;
    result.method = method;
    result.passes = passes;
    result.projector = projector;
    result.relaxation = relaxation;
    result.tolerance = tolerance;
    result.regulariser.minimum = minimum;
    return result;
  }
};

struct Reconstructed {
  Volume volume;
  ReconstructionResult result;
};
Reconstructed run(const Volume& b, const reference::Scene& scene, const Asked& asked,
                  const std::vector<Device>& devices = device(), const RunOptions& options = {}) {
  Reconstructed all;
  all.volume = Volume::uninitialised(scene.grid);
  MemorySink sink(all.volume);
  const MemorySource source(b);
  all.result = reconstruct({.projections = &source}, scene.geometry, sink, asked.parameters(), devices, options);
  return all;
}

RunOptions split(int slabs, int batch = 0) {
  RunOptions options;
  options.plan.minimum_slabs = slabs;
  options.plan.batch = batch;
  return options;
}

// Projections of an object without symmetry.
Volume projections_of(const RayMatrix& A, const reference::Scene& scene) {
  const Volume truth = reference::random_volume(scene.grid, 11);
  const Vector b = A.times(Vector(truth.voxels.begin(), truth.voxels.end()));
  return reference::volume_of(scene.projections, b);
}

double relative_difference(const Volume& found, const Vector& expected) {
  return reference::relative_difference(reference::vector_of(found), expected);
}

class SolverScenes : public testing::TestWithParam<reference::Scene> {};

TEST_P(SolverScenes, MatchDoublePrecisionWithTheMatrix) {
  const auto& scene = GetParam();
  for (const Projector projector : {Projector::joseph, Projector::distance_driven}) {
    const RayMatrix A(scene, projector);
    const Volume b = projections_of(A, scene);
    const Vector exact = reference::vector_of(b);
    SCOPED_TRACE(projector_name(projector));
    for (const int iterations : {1, 7}) {
      SCOPED_TRACE(iterations);
      const auto x = run(b, scene, {.passes = iterations, .projector = projector, .relaxation = 1.3});
      const Vector expected = reference::sirt({A, exact}, iterations, 1.3);
      EXPECT_LT(relative_difference(x.volume, expected), 2e-5);
      EXPECT_NEAR(x.result.residual, norm(reference::minus(exact, A.times(expected))), 1e-4 * norm(exact));
      const auto y = run(b, scene, {.method = "cgls", .passes = iterations, .projector = projector});
      EXPECT_LT(relative_difference(y.volume, reference::cgls({A, exact}, iterations)), iterations == 1 ? 2e-5 : 2e-3);
      EXPECT_TRUE(y.result.run.iterations == iterations || y.result.run.stopped_by == StoppedBy::method);
      EXPECT_NEAR(y.result.projections, norm(exact), 1e-9 * norm(exact));
    }
  }
}

TEST_P(SolverScenes, SlabsBatchesAndDevicesChangeNoBit) {
  const auto& scene = GetParam();
  const Volume b = projections_of(RayMatrix(scene), scene);
  const auto slices = static_cast<int>(scene.grid.size[2]);
  for (const char* method : {"sirt", "cgls"}) {
    SCOPED_TRACE(method);
    const Asked parameters{.method = method, .passes = 4};
    const auto whole = run(b, scene, parameters);
    for (const int slabs : {2, 3, slices})
      for (const int batch : {1, 3}) {
        SCOPED_TRACE(testing::Message() << slabs << " slabs, batches of " << batch);
        const auto other = run(b, scene, parameters, device(), split(std::min(slabs, slices), batch));
        EXPECT_EQ(other.result.run.plan.slabs.size(), static_cast<std::size_t>(std::min(slabs, slices)));
        EXPECT_TRUE(other.volume.voxels == whole.volume.voxels);
        EXPECT_EQ(other.result.residual, whole.result.residual);
      }
    const auto batches = run(b, scene, parameters, device(), split(0, 2));
    EXPECT_TRUE(batches.volume.voxels == whole.volume.voxels) << "projections stay on the device";
    const auto one = run(b, scene, parameters, reference::undivided());
    {
      const auto& devices = reference::sub_devices(2);
      RunOptions options;
      for (const Device& each : devices) options.plan.speeds[each.info().name] = 1;
      const auto several = run(b, scene, parameters, devices, options);
      EXPECT_EQ(several.result.run.plan.slabs.size(), std::min<std::size_t>(devices.size(), scene.grid.size[2]));
      EXPECT_TRUE(several.volume.voxels == one.volume.voxels) << devices.size() << " devices";
      options.plan.minimum_slabs = slices;
      options.plan.batch = 2;
      EXPECT_TRUE(run(b, scene, parameters, devices, options).volume.voxels == one.volume.voxels)
          << devices.size() << " devices, streamed";
    }
  }
}

TEST_P(SolverScenes, BytesOverTheBusAreThosePredicted) {
  const auto& scene = GetParam();
  const Volume b = projections_of(RayMatrix(scene), scene);
  for (const char* method : {"sirt", "cgls"})
    for (const auto& options : {RunOptions(), split(0, 2), split(2), split(static_cast<int>(scene.grid.size[2]), 1)}) {
      const auto found = run(b, scene, {.method = method, .passes = 3}, device(), options);
      EXPECT_EQ(found.result.run.bus_bytes, found.result.run.plan.bus_bytes)
          << method << ", " << found.result.run.plan.slabs.size() << " slabs";
    }
}

const reference::Scene& cone() {
  static const auto all = reference::scenes();
  return all.front();
}
const Volume& cone_projections() {
  static const Volume b = projections_of(RayMatrix(cone()), cone());
  return b;
}

TEST(Solvers, GoOnFromEveryStateToTheSameBits) {
  for (const char* method : {"sirt", "cgls"}) {
    const Asked parameters{.method = method, .passes = 5};
    const auto whole = run(cone_projections(), cone(), parameters);
    KeptStates memory;
    RunOptions keeping = split(2, 3);
    keeping.checkpoint_store = &memory;
    keeping.keep_every = 0;
    run(cone_projections(), cone(), parameters, device(), keeping);
    ASSERT_EQ(memory.all.size(), 4u) << method;
    for (const auto& state : memory.all)
      for (auto options : {RunOptions(), split(0, 2), split(3, 1)}) {
        KeptStates kept;
        kept.from = &state;
        options.checkpoint_store = &kept;
        const auto other = run(cone_projections(), cone(), parameters, device(), options);
        EXPECT_TRUE(other.volume.voxels == whole.volume.voxels) << method << " after " << state.state.iterations;
        EXPECT_EQ(other.result.residual, whole.result.residual);
      }
  }
}

TEST(Solvers, RefuseTheStateOfAnotherJob) {
  KeptStates memory;
  RunOptions options;
  options.checkpoint_store = &memory;
  options.keep_every = 0;
  run(cone_projections(), cone(), {.method = "sirt", .passes = 3}, device(), options);
  memory.from = &memory.all.front();
  EXPECT_THROW(run(cone_projections(), cone(), {.method = "cgls", .passes = 3}, device(), options), InputError);
}

TEST(Solvers, KeepWhatThereIsWhenTheyAreInterrupted) {
  const auto expected = run(cone_projections(), cone(), {.passes = 3});
  KeptStates memory;
  RunOptions options;
  options.keep_partial = true;
  options.checkpoint_store = &memory;
  options.keep_every = 1000;
  options.progress = [](const ProgressState& state) { request_interrupt(state.done == 3); };
  const auto found = run(cone_projections(), cone(), {.passes = 50}, device(), options);
  request_interrupt(false);
  EXPECT_EQ(found.result.run.stopped_by, StoppedBy::interrupt);
  EXPECT_EQ(found.result.run.iterations, 3);
  EXPECT_TRUE(found.volume.voxels == expected.volume.voxels);
  ASSERT_EQ(memory.all.size(), 1u);
  EXPECT_EQ(memory.all.front().state.iterations, 3);
  options.keep_partial = false;
  options.checkpoint_store = nullptr;
  EXPECT_THROW(run(cone_projections(), cone(), {.passes = 50}, device(), options), Interrupted);
  request_interrupt(false);
}

TEST(Solvers, AreStreamedWhereTheDeviceIsSmall) {
  const auto whole = run(cone_projections(), cone(), {.method = "cgls", .passes = 3}, reference::undivided());
  std::size_t bytes = 0;
  for (const auto& slab : whole.result.run.plan.slabs) bytes += slab.bytes;
  const auto small = open_devices({.device = "cpu", .sub_devices = 0, .device_memory = bytes / 3});
  const auto found = run(cone_projections(), cone(), {.method = "cgls", .passes = 3}, small);
  EXPECT_TRUE(found.result.run.plan.slabs.size() > 1 || found.result.run.plan.batch < 7);
  EXPECT_LE(found.result.run.peak_bytes, bytes / 3);
  EXPECT_TRUE(found.volume.voxels == whole.volume.voxels);
  const auto none = open_devices({.device = "cpu", .sub_devices = 0, .device_memory = 2000});
  EXPECT_THROW(run(cone_projections(), cone(), {.method = "cgls"}, none), PlanError);
}

TEST(Solvers, SayWhichParameterIsWrong) {
  const auto message = [](const Asked& parameters) -> std::string {
    try {
      run(cone_projections(), cone(), parameters);
    } catch (const InputError& error) {
      return error.what();
    }
    return {};
  };
  using testing::HasSubstr;
  EXPECT_THAT(message({.method = "art"}), HasSubstr("`method` is \"art\"; expected one of: spdhg, "));
  EXPECT_THAT(message({.relaxation = 2}), HasSubstr("`relaxation` is 2"));
  EXPECT_THAT(message({.passes = -1}), HasSubstr("`iterations` is -1"));
  EXPECT_THAT(message({.method = "cgls", .minimum = 0}),
              HasSubstr("(`minimum`, `maximum`) goes with another method than cgls; leave it out, or take one of:"));
  EXPECT_THAT(message({.method = "sirt", .tolerance = 0.1}),
              HasSubstr("`tolerance` goes with another method than sirt; leave it out, or take one of: cgls, lsqr"));
}

TEST(Solvers, LeaveNoVoxelBelowZero) {
  Volume b = cone_projections();
  for (std::size_t n = 0; n < b.voxels.size(); n += 2) b.voxels[n] = -b.voxels[n];
  const RayMatrix A(cone());
  const auto x = run(b, cone(), {.passes = 5, .minimum = 0});
  EXPECT_GE(*std::min_element(x.volume.voxels.begin(), x.volume.voxels.end()), 0);
  EXPECT_LT(relative_difference(x.volume, reference::sirt({A, reference::vector_of(b)}, 5, 1, {.minimum = 0})),
            1e-4);  // terms cancel
}

TEST(Solvers, EndWhereTheGradientIsSmall) {
  const auto x = run(cone_projections(), cone(), {.method = "cgls", .passes = 200, .tolerance = 1e-2});
  EXPECT_EQ(x.result.run.stopped_by, StoppedBy::method);
  EXPECT_LT(x.result.run.iterations, 200);
}

TEST(Solvers, OfNothingIsNothing) {
  for (const char* method : {"sirt", "cgls"}) {
    Volume b(cone().projections);
    const auto x = run(b, cone(), {.method = method, .passes = 3});
    EXPECT_THAT(x.volume.voxels, testing::Each(0.0f)) << method;
  }
}

std::vector<reference::Scene> chosen_scenes() {
  auto all = reference::scenes();
  all.push_back({"one_slice", all.front().geometry, all.front().projections, default_grid({13, 7, 1}, {2, 3, 1.5})});
  return all;
}
INSTANTIATE_TEST_SUITE_P(, SolverScenes, testing::ValuesIn(chosen_scenes()),
                         [](const auto& each) { return each.param.name; });

}  // namespace
}  // namespace halocline
