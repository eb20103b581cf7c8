// labels: device
// Attempts of a run whose memory runs out, in one process and on a rank of several: Ctrl-C ends one of them.
#include "scheduling/execution/replanning.hpp"

#include <gtest/gtest.h>

#include "host/system/error.hpp"
#include "host/system/interrupt.hpp"
#include "scheduling/execution/stop_rule.hpp"
#include "scheduling/profiling/rates.hpp"

namespace halocline::replanning_test {
namespace {

class Replanning : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    request_interrupt(false);
    plan_.devices = plan_.options.all_devices = device_models(devices_);
    plan_.slabs.push_back({.bytes = std::size_t{1} << 20});
    if (GetParam()) plan_.devices.back().rank = plan_.options.rank = 1;
  }
  void TearDown() override { request_interrupt(false); }

  const std::vector<Device> devices_ = open_devices({});
  Plan plan_;
};

INSTANTIATE_TEST_SUITE_P(Attempts, Replanning, testing::Bool(),
                         [](const auto& each) { return each.param ? "Ranks" : "OneProcess"; });

// An attempt takes the interrupt, and lacks memory when it keeps its state or writes its result.
TEST_P(Replanning, AnInterruptOfAnAttemptThatLacksMemoryEndsTheNext) {
  for (const bool keeps_state : {false, true}) {
    int tries = 0;
    Attempts attempts;
    attempts.keeps = true;
    attempts.plan_again = [&](const std::vector<DeviceModel>&) {
      check_interrupt();
      return plan_;
    };
    attempts.run = [&](const Plan&, const std::vector<Device>&) {
      CommonStop stop(true);
      stop.begin(5);
      if (++tries == 1) request_interrupt(true);
      EXPECT_FALSE(stop.may_begin(0)) << tries;
      stop.end();
      if (tries == 1) throw BudgetError("the device lacks memory for what is written");
      if (keeps_state) stop.throw_answer();
      stop.answer();
      RunResult result;
      result.stopped_by = StoppedBy::interrupt;
      return result;
    };
    if (keeps_state)
      EXPECT_THROW(run_replanning(plan_, devices_, attempts), Interrupted);
    else
      EXPECT_EQ(run_replanning(plan_, devices_, attempts).stopped_by, StoppedBy::interrupt);
    EXPECT_EQ(tries, 2);
    EXPECT_FALSE(interrupt_requested());
  }
}

TEST_P(Replanning, AnInterruptOfARunThatFailsIsNotThatOfTheNextRun) {
  Attempts attempts;
  attempts.keeps = true;
  attempts.run = [&](const Plan&, const std::vector<Device>&) -> RunResult {
    CommonStop stop(true);
    stop.begin(5);
    request_interrupt(true);
    EXPECT_FALSE(stop.may_begin(0));
    throw FileError("the disk is full");
  };
  EXPECT_THROW(run_replanning(plan_, devices_, attempts), FileError);
  EXPECT_FALSE(interrupt_requested());
}

}  // namespace
}  // namespace halocline::replanning_test
