// labels: device
// Commands that are kept and enqueued again.
#include "host/opencl/command_list.hpp"

#include <gtest/gtest.h>

#include "host/opencl/device.hpp"
#include "host/opencl/trace.hpp"
#include "tests/support/kernel_folder.hpp"

namespace halocline::command_list_test {
namespace {

constexpr const char* source = R"(
__kernel void add(__global float* x, __global const float* y, float by) {
  x[get_global_id(0)] += by * y[get_global_id(0)];
}
)";
constexpr std::size_t count = 64, bytes = count * sizeof(float);

std::vector<float> read(Device& device, const Buffer& from) {
  std::vector<float> result(count);
  device.finish();
  device.read(from, 0, result.data(), bytes).wait();
  return result;
}

TEST(CommandLists, AreEnqueuedAgainWithTheirOwnArguments) {
  const KernelFolder kernels{"add.cl", source};
  Device device = open_devices({}).front(), keeping = device;
  Buffer x = device.buffer("x", bytes), y = device.buffer("y", bytes), z = device.buffer("z", bytes);
  device.fill(y, 1, 0, bytes).wait();
  CommandList list;
  const auto add = [&](Device& on, const Buffer& to, float by) {
    const KernelArgument arguments[] = {&to, &y, by};
    on.launch({"add.cl", "add", ""}, {count, 1, 1}, arguments);
  };
  keeping.keep(&list);
  keeping.fill(x, 1, 0, bytes);
  add(keeping, x, 2);
  keeping.copy(x, 0, z, 0, bytes);
  add(keeping, z, 10);
  add(device, z, 100);  // through another handle
  keeping.keep(nullptr);
  add(keeping, z, 1000);
  EXPECT_EQ(list.size(), 4u);
  EXPECT_EQ(read(device, x), std::vector<float>(count, 3));
  EXPECT_EQ(read(device, z), std::vector<float>(count, 1113));
  const std::vector<float> twos(count, 2);
  const Event written = device.write(y, 0, twos.data(), bytes);
  device.replay(list, {&written, 1}).wait();
  EXPECT_EQ(read(device, x), std::vector<float>(count, 5));
  EXPECT_EQ(read(device, z), std::vector<float>(count, 25));
  for (int n = 0; n < 100; ++n) device.replay(list);
  EXPECT_EQ(read(device, z), std::vector<float>(count, 25));
  EXPECT_FALSE(device.replay({}));
}

TEST(CommandLists, AreInTheTrace) {
  const KernelFolder kernels{"add.cl", source};
  Device device = open_devices({}).front();
  Buffer x = device.buffer("x", bytes), y = device.buffer("y", bytes);
  device.fill(y, 1, 0, bytes);
  CommandList list;
  device.keep(&list);
  device.fill(x, 1, 0, bytes);
  const KernelArgument arguments[] = {&x, &y, 2.0f};
  device.launch({"add.cl", "add", ""}, {count, 1, 1}, arguments);
  device.keep(nullptr);
  device.finish();
  const auto trace = std::make_shared<Trace>();
  device.record(trace);
  for (int n = 0; n < 3; ++n) device.replay(list);
  device.finish();
  device.record(nullptr);
  const auto totals = trace->totals();
  ASSERT_TRUE(totals.contains("add"));
  EXPECT_EQ(totals.at("add").second, 3u);
  EXPECT_EQ(totals.size(), 2u);
}

}  // namespace
}  // namespace halocline::command_list_test
