// labels: device error
// Situations of the library's callers: volumes that are none, no devices, several threads that use the same ones.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <thread>

#include "algorithms/denoise/denoise.hpp"
#include "algorithms/fdk/fdk.hpp"
#include "algorithms/projectors/backprojection.hpp"
#include "algorithms/projectors/projector.hpp"
#include "host/system/error.hpp"
#include "tests/reference/projector_scenes.hpp"
#include "tests/reference/tv_reference.hpp"
#include "tests/support/refusal.hpp"

namespace halocline::library_test {
namespace {

using reference::device;
using testing::AllOf;
using testing::HasSubstr;

struct Scan {
  Volume volume = reference::two_balls(12, 0.1);
  Geometry geometry = circular_geometry({});
  Volume stack;
  Scan() {
    Grid grid{.size = {16, 12, geometry.views.size()}};
    stack = Volume(grid, 1);
  }
  std::vector<std::string> refusals(const std::vector<Device>& devices) const {
    std::vector<std::string> texts;
    for (const char* method : {"pdu", "tvgd", "gaussian", "median", "nlm"}) {
      DenoiseParameters parameters{.method = method};
      texts.push_back(refusal_of([&] { denoise(volume, nullptr, parameters, devices); }));
    }
    texts.push_back(refusal_of([&] { project(volume, geometry, stack.grid, devices); }));
    for (const auto& work : std::vector<std::function<void()>>{
             [&] { fdk(stack, geometry, volume.grid, {}, devices); },
             [&] { backproject(stack, geometry, volume.grid, BackprojectionParameters{}, devices); },
             [&] { backproject(stack, geometry, volume.grid, Projector::joseph, devices); }})
      texts.push_back(refusal_of(work));
    return texts;
  }
};

TEST(Library, WithoutDevicesNothingRuns) {
  for (const auto& text : Scan().refusals({})) EXPECT_THAT(text, HasSubstr("no device"));
}

TEST(Library, GridsHaveAValueForEachVoxel) {
  Scan scan;
  scan.volume.voxels.resize(100);
  scan.stack.voxels.resize(100);
  for (const auto& text : scan.refusals(device()))
    EXPECT_THAT(text, AllOf(HasSubstr("100 values"), HasSubstr("needs")));
}

TEST(Library, ValuesAreFinite) {
  Scan scan;
  scan.volume.voxels[7] = scan.stack.voxels[7] = std::numeric_limits<float>::quiet_NaN();
  for (const auto& text : scan.refusals(device())) EXPECT_THAT(text, AllOf(HasSubstr("NaN"), HasSubstr("(7,0,0)")));
}

TEST(Library, SpacingsArePositive) {
  for (const double spacing : {0.0, -1.0, std::numeric_limits<double>::quiet_NaN()}) {
    Volume volume = reference::two_balls(12, 0.1);
    volume.grid.spacing[1] = spacing;
    EXPECT_THAT(refusal_of([&] { denoise(volume, nullptr, {}, device()); }), HasSubstr("spacing"));
  }
}

TEST(Library, FramesStandOneUponTheOther) {
  DenoiseParameters parameters{.method = "pdu4d", .alpha = 15};
  parameters.time = {.weight = 1, .depth = 5};
  EXPECT_THAT(refusal_of([&] { denoise(reference::two_balls(12, 0.1), nullptr, parameters, device()); }),
              HasSubstr("time.depth is 5"));
}

TEST(Library, GuidanceNeedsAReference) {
  DenoiseParameters parameters;
  parameters.regulariser = {.guided = true};
  EXPECT_THAT(refusal_of([&] { denoise(reference::two_balls(12, 0.1), nullptr, parameters, device()); }),
              HasSubstr("`reference`"));
}

// The arguments of one thread's kernels must not be those of another's.
TEST(Library, ThreadsMayShareDevices) {
  DenoiseParameters parameters{.alpha = 20, .iterations = 30, .gap = 0};
  std::vector<Volume> inputs, expected;
  for (const unsigned seed : {1, 2}) inputs.push_back(reference::two_balls(48, 0.1, seed));
  for (const auto& input : inputs) expected.push_back(denoise(input, nullptr, parameters, device()).output);
  int different[2] = {0, 0};
  std::vector<std::thread> threads;
  for (const int which : {0, 1})
    threads.emplace_back([&, which] {
      for (int n = 0; n < 10; ++n)
        different[which] +=
            denoise(inputs[which], nullptr, parameters, device()).output.voxels != expected[which].voxels;
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(different[0] + different[1], 0);
}

}  // namespace
}  // namespace halocline::library_test
