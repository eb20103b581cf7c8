// labels: device error
// The trial of forms of PDU: it takes what fits, leaves out what a device lacks something for, and hides no other fault
// (the OpenCL layer of fault_layer.cpp makes calls fail).
#include "algorithms/calibration/form_trial.hpp"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "host/system/error.hpp"
#include "tests/support/fault_layer.hpp"
#include "tests/support/refusal.hpp"

namespace halocline::form_trial_test {
namespace {

using ::testing::HasSubstr;

constexpr std::array<std::size_t, 3> size{32, 12, 7};

TEST(FormTrial, LeavesNothingBehindAndTakesWhatFits) {
  for (const bool weighted : {false, true}) {
    const auto devices = open_devices({});
    const auto form = tried_form(devices, weighted, size);
    EXPECT_EQ(form.dual_bits, 32);
    EXPECT_TRUE(takes_stages(devices[0].info(), form.stages, 32));
    EXPECT_EQ(devices[0].ledger().in_use(), 0u);
  }
  DeviceSelection options;
  options.device_memory = 5 * 4 * 32 * 12 * 7 + 40000;  // f, u and q, but not twice u and q
  EXPECT_EQ(tried_form(open_devices(options), false, size).stages, 0);
}

class FormTrialFaults : public testing::Test {
 protected:
  void SetUp() override {
    void* library = ::dlopen(HALOCLINE_FAULT_LAYER, RTLD_NOW | RTLD_NOLOAD);
    if (library == nullptr) GTEST_SKIP() << "the OpenCL loader has not loaded OPENCL_LAYERS=" << HALOCLINE_FAULT_LAYER;
    arm_ = reinterpret_cast<HaloclineFaultArm*>(::dlsym(library, "halocline_fault_arm"));
    hits_ = reinterpret_cast<HaloclineFaultHits*>(::dlsym(library, "halocline_fault_hits"));
  }
  void TearDown() override {
    if (arm_ != nullptr) arm_("");
  }

  HaloclineFaultArm* arm_ = nullptr;
  HaloclineFaultHits* hits_ = nullptr;
};

TEST_F(FormTrialFaults, AFormThatTheDeviceLacksSomethingForIsLeftOut) {
  for (const char* fault : {"kernel=pdu_fused_iterate:1:-54:kind", "kernel=pdu_fused_iterate:1:-4:kind"}) {
    const auto devices = open_devices({});
    arm_(fault);
    const auto trials = form_trials(devices, false, size);
    EXPECT_GT(hits_(), 0) << fault;
    arm_("");
    ASSERT_EQ(trials.size(), 1u) << fault;
    EXPECT_EQ(trials[0].form.stages, 0) << fault;
  }
  for (const char* fault : {"allocation:1:-4:kind", "build:1:-11:kind"}) {
    const auto devices = open_devices({});
    arm_(fault);
    EXPECT_EQ(tried_form(devices, false, size).stages, 0) << fault;
    EXPECT_GT(hits_(), 0) << fault;
    EXPECT_TRUE(form_trials(devices, false, size).empty()) << fault;
    arm_("");
    EXPECT_EQ(devices[0].ledger().in_use(), 0u) << fault;
  }
}

TEST_F(FormTrialFaults, AnotherFaultOfTheDeviceIsItsError) {
  const auto devices = open_devices({});
  arm_("kernel=pdu_fused_iterate:1:-36:kind");
  EXPECT_THAT(refusal_of<ClError>([&] { form_trials(devices, false, size); }), HasSubstr("CL_INVALID_COMMAND_QUEUE"));
}

}  // namespace
}  // namespace halocline::form_trial_test
