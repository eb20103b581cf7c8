// labels: unit
// Plans filter rows where runs on such devices do.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "algorithms/fdk/fdk.hpp"
#include "algorithms/fdk/row_filter.hpp"
#include "tests/reference/projector_scenes.hpp"

namespace halocline::row_filter_plan_test {
namespace {

DeviceModel gpu_with(std::size_t local_memory) {
  return {.name = "GPU",
          .memory = std::size_t{1} << 30,
          .max_allocation = std::size_t{1} << 28,
          .local_memory = local_memory};
}

TEST(RowFilterPlan, HasTheLongestRowsOfAllDevices) {
  const DeviceModel small = gpu_with(32 << 10), large = gpu_with(96 << 10);
  DeviceModel cpu = large;
  cpu.cpu = true;
  EXPECT_EQ(longest_local_rows(std::vector{small}, 4096), 4096u);
  EXPECT_EQ(longest_local_rows(std::vector{small}, 4097), 0u);
  EXPECT_EQ(longest_local_rows(std::vector{large}, 8192), 8192u);
  EXPECT_EQ(longest_local_rows(std::vector{large, small}, 100), 4096u);
  EXPECT_EQ(longest_local_rows(std::vector{large, cpu}, 100), 0u);
  EXPECT_EQ(longest_local_rows(std::vector<DeviceModel>{}, 1), 0u);
}

TEST(RowFilterPlan, NamesTheKernels) {
  const reference::Scene scene = reference::scene_named("cone");
  const auto kernels = [&](const DeviceModel& model, FdkParameters parameters) {
    return plan_fdk(scene.geometry, scene.projections, scene.grid, parameters, {model}).requirements.kernels;
  };
  EXPECT_THAT(kernels(gpu_with(48 << 10), {}), testing::Contains("fdk_rows_filter"));
  EXPECT_THAT(kernels(gpu_with(1 << 9), {}), testing::Contains("fdk_filter")) << "rows are longer";
  EXPECT_THAT(kernels(gpu_with(48 << 10), {.longest_local_rows = 0}), testing::Contains("fdk_filter"));
}

}  // namespace
}  // namespace halocline::row_filter_plan_test
