// labels: unit
#include "host/work_groups.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "host/quirks.hpp"

namespace halocline {
namespace {

using ::testing::ElementsAre;

DeviceInfo info(const std::string& vendor, const std::string& platform, const std::string& type,
                std::size_t max_work_group) {
  DeviceInfo result;
  result.name = "device";
  result.vendor = vendor;
  result.platform = platform;
  result.type = type;
  result.max_work_group = max_work_group;
  result.global_memory = std::size_t{64} << 30;
  return result;
}

const DeviceInfo nvidia = info("NVIDIA Corporation", "NVIDIA CUDA", "gpu", 1024);
const DeviceInfo amd = info("Advanced Micro Devices, Inc.", "AMD Accelerated Parallel Processing", "gpu", 256);
const DeviceInfo pocl = info("GenuineIntel", "Portable Computing Language", "cpu", 4096);

TEST(WorkGroups, areWideForStencils) {
  for (const auto& device : {nvidia, amd, pocl})
    for (const char* kernel : {"pdu_dual", "spdu_primal", "tvgd_gradient", "fdk_weight", "something_new"})
      EXPECT_THAT(work_group_shape(device, kernel, {512, 512, 512}), ElementsAre(64, 4, 1))
          << device.vendor << " " << kernel;
}

TEST(WorkGroups, dependOnTheKernel) {
  EXPECT_THAT(work_group_shape(nvidia, "backproject_exact", {512, 512, 512}), ElementsAre(8, 16, 1));
  EXPECT_THAT(work_group_shape(nvidia, "backproject_image", {512, 512, 512}), ElementsAre(16, 16, 1));
  EXPECT_THAT(work_group_shape(amd, "joseph_project", {512, 512, 512}), ElementsAre(32, 2, 4));
  EXPECT_THAT(work_group_shape(pocl, "backproject_exact", {512, 512, 512}), ElementsAre(64, 4, 1));
}

TEST(WorkGroups, areNotWiderThanTheRange) {
  EXPECT_THAT(work_group_shape(nvidia, "pdu_dual", {1, 1, 1}), ElementsAre(1, 1, 1));
  EXPECT_THAT(work_group_shape(nvidia, "pdu_dual", {7, 93, 5}), ElementsAre(8, 4, 1));
  EXPECT_THAT(work_group_shape(nvidia, "pdu_dual", {33, 3, 5}), ElementsAre(64, 4, 1));
  EXPECT_THAT(work_group_shape(nvidia, "pdu_dual", {0, 0, 0}), ElementsAre(1, 1, 1));
}

TEST(WorkGroups, areNoLargerThanTheDeviceAllows) {
  for (std::size_t most = 0; most <= 300; ++most) {
    auto device = nvidia;
    device.max_work_group = most;
    for (const char* kernel : {"pdu_dual", "backproject_exact", "joseph_project"}) {
      const auto shape = work_group_shape(device, kernel, {512, 512, 512});
      EXPECT_LE(shape[0] * shape[1] * shape[2], std::max<std::size_t>(1, most)) << kernel;
      EXPECT_GE(shape[0] * shape[1] * shape[2], 1u);
    }
  }
}

TEST(Quirks, belongToDrivers) {
  EXPECT_TRUE(quirks_of(nvidia).fill_with_kernel);
  EXPECT_TRUE(quirks_of(nvidia).allocations_beyond_max);
  for (const auto& device : {amd, pocl}) {
    EXPECT_FALSE(quirks_of(device).fill_with_kernel);
    EXPECT_FALSE(quirks_of(device).allocations_beyond_max);
    EXPECT_FALSE(quirks_of(device).large_allocations);
  }
  EXPECT_EQ(quirks_of(amd).build_options, "");
  EXPECT_EQ(quirks_of(pocl).build_options, "-w") << "PoCL counts its compiler's warnings on stderr";
  auto intel = info("Intel(R) Corporation", "Intel(R) OpenCL Graphics", "gpu", 1024);
  EXPECT_TRUE(quirks_of(intel).large_allocations);
  EXPECT_NE(quirks_of(intel).build_options.find("4GB"), std::string::npos);
  intel.global_memory = std::size_t{2} << 30;
  EXPECT_FALSE(quirks_of(intel).large_allocations);
  // The same card under another driver.
  EXPECT_FALSE(
      quirks_of(info("NVIDIA Corporation", "Portable Computing Language", "gpu", 1024)).allocations_beyond_max);
}

}  // namespace
}  // namespace halocline
