// labels: device
// MemoryCheck: what new arrays hold, and what is written before and behind them.
#include "host/opencl/memory_check.hpp"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "host/opencl/device.hpp"
#include "host/opencl/program_cache.hpp"
#include "tests/support/fault_layer.hpp"

namespace halocline::memory_check_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(MemoryCheck, FillsArraysAndFindsWritesOutside) {
  Device device = open_devices({}).front();
  const std::string file =
      keep_kernel_text("poke", "__kernel void poke(__global int* array, int at) { array[at] = 1; }");
  const auto poke = [&](int at, bool retire = false) {
    const MemoryCheck check(0x4b, 0x17);
    Buffer buffer = device.buffer("values", 12);
    std::vector<unsigned char> bytes(12);
    device.read(buffer, 0, bytes.data(), bytes.size()).wait();
    EXPECT_THAT(bytes, testing::Each(0x4b));
    const std::vector<KernelArgument> arguments{&buffer, std::int32_t{at}};
    device.launch({file, "poke", ""}, {1, 1, 1}, arguments);
    device.finish();
    if (retire)
      buffer.retire();
    else
      buffer = Buffer();
    return check.written_outside();
  };
  EXPECT_THAT(poke(0), IsEmpty());
  EXPECT_THAT(poke(2), IsEmpty());
  EXPECT_THAT(poke(3), ElementsAre("array values of 12 bytes: 4 bytes behind it, the first 0 after its end"));
  EXPECT_THAT(poke(4, true), ElementsAre("array values of 12 bytes: 4 bytes behind it, the first 4 after its end"));
  EXPECT_THAT(poke(-1), ElementsAre("array values of 12 bytes: 4 bytes before it, the last 1 before its begin"));
}

TEST(MemoryCheck, SaysThatGuardZonesCannotBeRead) {
  void* library = ::dlopen(HALOCLINE_FAULT_LAYER, RTLD_NOW | RTLD_NOLOAD);
  if (library == nullptr) GTEST_SKIP() << "the OpenCL loader has not loaded OPENCL_LAYERS=" << HALOCLINE_FAULT_LAYER;
  auto* arm = reinterpret_cast<HaloclineFaultArm*>(::dlsym(library, "halocline_fault_arm"));
  Device device = open_devices({}).front();
  const MemoryCheck check(0x4b, 0x17);
  {
    const Buffer buffer = device.buffer("values", 12);
    arm("enqueue:1:-36:kind");
  }
  arm("");
  EXPECT_THAT(check.written_outside(),
              ElementsAre("array values of 12 bytes: its guard zones cannot be read (CL_INVALID_COMMAND_QUEUE)"));
}

}  // namespace
}  // namespace halocline::memory_check_test
