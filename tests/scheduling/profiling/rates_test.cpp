// labels: device
// Measured rates of the devices that are here.
#include "scheduling/profiling/rates.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "host/opencl/device_info.hpp"
#include "host/system/error.hpp"
#include "tests/reference/projector_scenes.hpp"

namespace halocline::rates_test {
namespace {

std::vector<Device> opened(const DeviceSelection& selection = {}) {
  return open_devices(selection);
}

class Rates : public testing::Test {
 protected:
  void SetUp() override {
    if (list_devices().empty()) GTEST_SKIP() << "no OpenCL device";
  }
};

TEST_F(Rates, areMeasuredOnceAndInTheBudgets) {
  const auto devices = opened();
  const auto first = device_rates(devices[0]), again = device_rates(opened()[0]);
  ASSERT_TRUE(first && again);
  EXPECT_GT(first->copy, 1e6);  // an interpreter reaches more
  EXPECT_LT(first->latency, 1);
  EXPECT_EQ(first->copy, again->copy);
  EXPECT_EQ(first->upload, again->upload);
  EXPECT_EQ(first->latency, again->latency);
  const auto model = device_models(devices).front();
  EXPECT_EQ(model.memory_bandwidth, first->copy);
  EXPECT_EQ(model.bus_bandwidth, first->upload);
  EXPECT_EQ(model.download_bandwidth, first->download);
  EXPECT_EQ(devices[0].ledger().in_use(), 0u);
}

TEST_F(Rates, areThoseOfTheModelForEqualDevices) {
  DeviceSelection selection{.device = reference::cpu_or_default(), .sub_devices = 2};
  std::vector<Device> parts;
  try {
    parts = opened(selection);
  } catch (const InputError&) {
    GTEST_SKIP() << "no CPU device with two compute units";
  }
  const auto both = device_models(parts);
  ASSERT_EQ(both.size(), 2u);
  EXPECT_EQ(both[0].memory_bandwidth, both[1].memory_bandwidth);
  EXPECT_EQ(both[0].bus_bandwidth, both[1].bus_bandwidth);
  EXPECT_EQ(both[0].latency, both[1].latency);
}

TEST_F(Rates, areDoneWithoutWhereTheBudgetIsTiny) {
  DeviceSelection selection{.device_memory = 1024};
  // Known of another run or not: nothing is thrown, and the budget is kept.
  const auto devices = opened(selection);
  EXPECT_EQ(device_models(devices).front().memory, 1024u);
}

TEST_F(Rates, ofKernelsAreLearntWhereTheWorkTakesLong) {
  const auto devices = opened();
  Requirements requirements;
  requirements.algorithm = "copies";
  requirements.size = {64, 64, 64};
  requirements.cost.name = "copies of rates_test " + std::to_string(::getpid());
  requirements.cost.bytes = 8;
  for (const char* name : {"from", "to"}) {
    requirements.arrays.emplace_back();
    requirements.arrays.back().name = name;
  }
  int prepared = 0, worked = 0;
  KernelTrial trial;
  trial.prepare = [&](Slab& slab, Range) {
    ++prepared;
    slab.fill("from", 1);
  };
  trial.work = [&](Slab& slab, Range) {
    ++worked;
    slab.launch({"copy.cl", "copy_slices", ""}, slab.extended(), {in("from"), out("to"), slab.extent(slab.extended())});
  };
  trial.units = [](const Slab& slab, Range) { return 64.0 * 64 * static_cast<double>(slab.extended().count()); };
  requirements.iterations = 1;
  learn_kernel_rate(requirements, devices, trial);
  EXPECT_EQ(worked, 0);  // a job of a moment is not worth it
  requirements.iterations = 1 << 30;
  learn_kernel_rate(requirements, devices, trial);
  EXPECT_EQ(prepared, 1);
  EXPECT_GE(worked, 2);
  const auto rates = device_models(devices).front().rates;
  ASSERT_TRUE(rates.contains(requirements.cost.name));
  EXPECT_GT(rates.at(requirements.cost.name), 1e3);
  const int before = worked;
  learn_kernel_rate(requirements, devices, trial);
  EXPECT_EQ(worked, before);
  // Failures are left to the run.
  requirements.cost.name += " again";
  trial.work = [](Slab&, Range) { throw PlanError("a failure"); };
  learn_kernel_rate(requirements, devices, trial);
  EXPECT_FALSE(device_models(devices).front().rates.contains(requirements.cost.name));
}

}  // namespace
}  // namespace halocline::rates_test
