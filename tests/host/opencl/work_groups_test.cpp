// labels: unit
#include "host/opencl/work_groups.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "host/opencl/quirks.hpp"

namespace halocline::work_groups_test {
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
  EXPECT_THAT(work_group_shape(nvidia, "backproject_image", {512, 512, 512}), ElementsAre(8, 16, 1));
  EXPECT_THAT(work_group_shape(amd, "joseph_project", {512, 512, 512}), ElementsAre(32, 2, 4));
  EXPECT_THAT(work_group_shape(pocl, "backproject_exact", {512, 512, 512}), ElementsAre(64, 4, 1));
}

TEST(WorkGroups, areNotWiderThanTheRange) {
  EXPECT_THAT(work_group_shape(nvidia, "pdu_dual", {1, 1, 1}), ElementsAre(1, 1, 1));
  EXPECT_THAT(work_group_shape(nvidia, "pdu_dual", {7, 93, 5}), ElementsAre(8, 4, 1));
  EXPECT_THAT(work_group_shape(nvidia, "pdu_dual", {33, 3, 5}), ElementsAre(64, 4, 1));
  EXPECT_THAT(work_group_shape(nvidia, "pdu_dual", {0, 0, 0}), ElementsAre(1, 1, 1));
}

TEST(WorkGroups, haveFewShapesOnCpus) {  // PoCL compiles a kernel for each
  EXPECT_THAT(work_group_shape(pocl, "pdu_dual", {7, 93, 5}), ElementsAre(64, 4, 1));
  EXPECT_THAT(work_group_shape(pocl, "pdu_dual", {7, 1, 5}), ElementsAre(64, 1, 1));
  EXPECT_THAT(work_group_shape(pocl, "pdu_dual", {1, 93, 5}), ElementsAre(1, 4, 1));
  EXPECT_THAT(work_group_shape(pocl, "pdu_dual", {0, 1, 0}), ElementsAre(1, 1, 1));
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

TEST(WorkGroups, heedWhatTheKernelAndTheAxesAllow) {
  const GroupLimits few{64, {16, 1, 64}};
  EXPECT_THAT(work_group_shape(nvidia, "pdu_dual", {512, 512, 512}, nullptr, few), ElementsAre(16, 1, 1));
  EXPECT_THAT(work_group_shape(nvidia, "joseph_project", {512, 512, 512}, nullptr, {64}), ElementsAre(32, 2, 1));
  EXPECT_TRUE(few.take({16, 1, 4}));
  EXPECT_FALSE(few.take({16, 1, 8}));
  EXPECT_FALSE(few.take({8, 2, 1}));
  EXPECT_THAT(work_group_within({32, 1, 4}, amd), ElementsAre(32, 1, 4));
  EXPECT_THAT(work_group_within({32, 1, 4}, GroupLimits{64}), ElementsAre(32, 1, 2));
  EXPECT_THAT(work_group_within({16, 8, 2}, GroupLimits{64}), ElementsAre(16, 4, 1));
}

DeviceInfo driven(const std::string& platform, const std::string& driver) {
  DeviceInfo result = info("", platform, "cpu", 1024);
  result.driver = driver;
  return result;
}

TEST(Quirks, driversThatEndTheProcessAreRefusedByName) {
  const std::string pocl_name = "Portable Computing Language";
  for (const char* version : {"1.8", "3.0-rc2", "2.2"})
    EXPECT_THAT(refusal(driven(pocl_name, version)), testing::HasSubstr("PoCL 3.1 and later work")) << version;
  for (const char* version : {"3.1+debian", "5.0", "6.0-6", "10.1", "main"})
    EXPECT_EQ(refusal(driven(pocl_name, version)), "") << version;
  EXPECT_THAT(refusal(driven("rusticl", "22.3.6")), testing::HasSubstr("rusticl of Mesa 22.3.6"));
  EXPECT_EQ(refusal(driven("rusticl", "25.0.7-2")), "");
  EXPECT_EQ(refusal(driven("NVIDIA CUDA", "1.0")), "");
}

TEST(Quirks, oneProgramOfPocl6IsNotOptimised) {
  const std::string pocl_name = "Portable Computing Language";
  const auto options = [&](const char* version, const char* file, const char* given) {
    return program_options(driven(pocl_name, version), file, given);
  };
  EXPECT_EQ(options("6.0", "pdu_variant.cl", "-D WEIGHTED"), "-cl-opt-disable");
  EXPECT_EQ(options("6.0", "pdu_variant.cl", ""), "");
  EXPECT_EQ(options("6.0", "spdu.cl", "-D WEIGHTED"), "");
  EXPECT_EQ(options("6.1", "pdu_variant.cl", "-D WEIGHTED"), "");
  EXPECT_EQ(options("3.1+debian", "pdu_variant.cl", "-D WEIGHTED"), "");
}

TEST(Quirks, oneFormOfGpusIsNotOptimisedByIntelsRuntimeForCpus) {
  DeviceInfo device = driven("Intel(R) OpenCL", "2026.20.3.0.19");
  device.type = "cpu";
  EXPECT_EQ(program_options(device, "tvgd_variant.cl", "-D ADAPTIVE -D MARCH_Z=8"), "-cl-opt-disable");
  EXPECT_EQ(program_options(device, "tvgd_variant.cl", "-D ADAPTIVE -D LANES_PER_ITEM=64"), "");
  EXPECT_EQ(program_options(device, "tvgd.cl", "-D MARCH_Z=8"), "");
  EXPECT_EQ(program_options(device, "matrix.cl", "-D UNITS_INTEL -D LANES=8"), "-cl-intel-256-GRF-per-thread");
  EXPECT_EQ(program_options(device, "matrix.cl", "-D SECTORS"), "");
  device.type = "gpu";
  EXPECT_EQ(program_options(device, "tvgd_variant.cl", "-D ADAPTIVE -D MARCH_Z=8"), "");
}

TEST(Quirks, vectorsAndNumbersHaveOneInverseRootOnIntelsRuntimeForCpus) {
  DeviceInfo device = driven("Intel(R) OpenCL", "2026.20.3.0.19");
  device.type = "cpu";
  EXPECT_NE(quirks_of(device).build_options.find("INVERSE_ROOT"), std::string::npos);
  device.type = "gpu";
  EXPECT_EQ(quirks_of(device).build_options.find("INVERSE_ROOT"), std::string::npos);
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
  // The card under another driver.
  EXPECT_FALSE(
      quirks_of(info("NVIDIA Corporation", "Portable Computing Language", "gpu", 1024)).allocations_beyond_max);
}

}  // namespace
}  // namespace halocline::work_groups_test
