// labels: device
#include "host/opencl/kernel_resources.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "host/opencl/program_cache.hpp"
#include "host/system/error.hpp"

namespace halocline::kernel_resources_test {
namespace {

TEST(RegisterUse, IsReadFromNvidiasLog) {
  const std::string log =
      "ptxas info    : 0 bytes gmem\n"
      "ptxas info    : Compiling entry function 'pdu_dual' for 'sm_90'\n"
      "ptxas info    : Function properties for pdu_dual\n"
      "ptxas         .     16 bytes stack frame, 12 bytes spill stores, 8 bytes spill loads\n"
      "ptxas info    : Used 40 registers, used 1 barriers, 432 bytes cmem[0]\n"
      "ptxas info    : Compiling entry function 'pdu_primal' for 'sm_90'\n"
      "ptxas info    : Function properties for pdu_primal\n"
      "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
      "ptxas info    : Used 255 registers, 512 bytes smem\n";
  EXPECT_THAT(register_use(log), testing::ElementsAre(testing::Pair("pdu_dual", RegisterUse{40, 20}),
                                                      testing::Pair("pdu_primal", RegisterUse{255, 0})));
  EXPECT_TRUE(register_use("").empty());
  EXPECT_TRUE(register_use("warning: Used 3 registers").empty());
}

TEST(KernelResources, KnowTheLocalMemoryOfKernels) {
  const std::string file = keep_kernel_text("resources", R"(
__kernel void second(__global float* x) {
  __local float room[SIZE];
  room[get_local_id(0)] = x[get_global_id(0)];
  barrier(CLK_LOCAL_MEM_FENCE);
  x[get_global_id(0)] = room[0];
}
__kernel void first(__global float* x) { x[get_global_id(0)] = 1; }
)");
  // NVIDIA's driver says 1 of a kernel without.
  const bool nvidia = open_devices({}).front().info().platform.find("NVIDIA") != std::string::npos;
  const std::size_t of_nothing = nvidia ? 1 : 0;
  for (const std::size_t size : {7u, 93u, 256u}) {
    const auto found = kernel_resources(open_devices({}).front(), file, "-D SIZE=" + std::to_string(size));
    ASSERT_EQ(found.size(), 2u);
    EXPECT_EQ(found[0].kernel, "first");
    EXPECT_EQ(found[1].kernel, "second");
    EXPECT_EQ(found[0].local_bytes, of_nothing);
    EXPECT_GE(found[1].local_bytes, 4 * size);
    EXPECT_LT(found[1].local_bytes, 4 * size + 256);
    for (const KernelResources& each : found) {
      EXPECT_GT(each.group_multiple, 0u);
      EXPECT_GE(each.largest_group, each.group_multiple);
      EXPECT_EQ(each.registers.has_value(), each.spilled_bytes.has_value());
    }
  }
  EXPECT_THROW(kernel_resources(open_devices({}).front(), file), BuildError) << "SIZE is missing";
}

}  // namespace
}  // namespace halocline::kernel_resources_test
