// labels: device slab
// Volumes, projections and results that reside on the device: the same bits, nothing over the bus.
#include <gtest/gtest.h>

#include <functional>
#include <memory>

#include "algorithms/fdk/fdk.hpp"
#include "algorithms/projectors/projector.hpp"
#include "host/volume/device_array.hpp"
#include "tests/reference/projector_scenes.hpp"
#include "tests/support/split_runs.hpp"

namespace halocline::projections_on_devices_test {
namespace {

using Job = std::function<RunResult(const VolumeSource& from, VolumeSink& to, const RunOptions& options)>;

std::unique_ptr<DistributedArray> array_on(const Device& device, const Grid& grid) {
  return std::make_unique<DistributedArray>(
      "kept", grid, std::vector<DistributedArray::Share>{{device, 0, static_cast<std::int64_t>(grid.size[2])}});
}

void expect_no_bus(const Job& job, const Volume& from, const Grid& to, const RunOptions& options) {
  Volume expected(to);
  MemorySink memory(expected);
  job(MemorySource(from), memory, options);
  const Device& device = reference::device().front();
  const auto source = array_on(device, from.grid), sink = array_on(device, to);
  copy_voxels(MemorySource(from), *source);
  const std::size_t before = source->bus_bytes();
  const RunResult result = job(*source, *sink, options);
  EXPECT_EQ(result.bus_bytes, 0);
  EXPECT_EQ(result.plan.bus_bytes, 0);
  EXPECT_EQ(source->bus_bytes(), before);
  EXPECT_EQ(sink->bus_bytes(), 0u);
  EXPECT_TRUE(read_volume(*sink).voxels == expected.voxels);
  // the source alone
  const RunResult other = job(*source, memory, options);
  EXPECT_EQ(other.bus_bytes, static_cast<double>(to.count() * sizeof(float)));
  EXPECT_EQ(other.plan.bus_bytes, other.bus_bytes);
}

class OnDevice : public testing::Test {
 protected:
  void SetUp() override {
    if (list_devices().empty()) GTEST_SKIP() << "no OpenCL device";
    CircularOptions circle;
    circle.projections = 24;
    scene_ = {"circle", circular_geometry(circle), reference::detector(30, 24, 24, 2, 2), {}};
    scene_.grid.size = {20, 17, 19};
    scene_.grid.origin = {-9.5, -8, -9};
    volume_ = reference::random_volume(scene_.grid, 1);
    stack_ = reference::random_volume(scene_.projections, 2);
  }
  reference::Scene scene_;
  Volume volume_, stack_;
};

TEST_F(OnDevice, FilteredBackprojection) {
  for (const auto& [slabs, batch] : {std::pair{0, 0}, {1, 3}, {4, 5}}) {
    SCOPED_TRACE(testing::Message() << slabs << " slabs, batches of " << batch);
    expect_no_bus(
        [&](const VolumeSource& from, VolumeSink& to, const RunOptions& options) {
          return fdk_into(from, scene_.projections, scene_.geometry, to, {}, reference::device(), options);
        },
        stack_, scene_.grid, split(slabs, batch));
  }
}

TEST_F(OnDevice, ProjectionAndItsAdjoint) {
  for (const Projector projector : {Projector::joseph, Projector::siddon, Projector::distance_driven})
    for (const auto& [slabs, batch] : {std::pair{0, 0}, {4, 5}}) {
      SCOPED_TRACE(testing::Message() << slabs << " slabs, batches of " << batch);
      expect_no_bus(
          [&](const VolumeSource& from, VolumeSink& to, const RunOptions& options) {
            return project_into(from, scene_.geometry, to, {projector, false}, reference::device(), options);
          },
          volume_, scene_.projections, split(slabs, batch));
      expect_no_bus(
          [&](const VolumeSource& from, VolumeSink& to, const RunOptions& options) {
            return backproject_into(from, scene_.geometry, to, projector, reference::device(), options);
          },
          stack_, scene_.grid, split(slabs, batch));
    }
}

}  // namespace
}  // namespace halocline::projections_on_devices_test
