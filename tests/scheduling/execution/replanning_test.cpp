// labels: device
// Attempts of a run whose memory runs out, in one process and on a rank of several: Ctrl-C ends one of them.
#include "scheduling/execution/replanning.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <utility>

#include "host/system/error.hpp"
#include "host/system/interrupt.hpp"
#include "scheduling/execution/stop_rule.hpp"
#include "scheduling/profiling/rates.hpp"
#include "scheduling/transport/ranks.hpp"

namespace halocline::replanning_test {
namespace {

constexpr std::size_t slab_bytes = std::size_t{1} << 20;

// The second of two ranks. The first one lacks memory in so many attempts.
class BesideOneThatLacks : public Ranks {
 public:
  explicit BesideOneThatLacks(int attempts) : attempts_(attempts) {}
  int rank() const override { return 1; }
  int size() const override { return 2; }

 protected:
  std::vector<std::string> gather_bytes(const std::string& own) override { return {own, own}; }
  std::vector<std::string> gather_lacks(const std::string& own) override {
    return {attempts_-- > 0 ? "the device of rank 0 lacks memory" : "", own};
  }

 private:
  int attempts_;
};

class Attempting : public testing::Test {
 protected:
  void SetUp() override {
    request_interrupt(false);
    add_device(0);
  }
  void TearDown() override { request_interrupt(false); }

  // A slab on a device like this one's.
  void add_device(int rank) {
    DeviceModel model = device_models(devices_).front();
    model.rank = plan_.options.rank = rank;
    plan_.options.all_devices.push_back(model);
    plan_.slabs.push_back({.device = static_cast<int>(plan_.devices.size()), .bytes = slab_bytes});
    plan_.devices.push_back(std::move(model));
  }
  void join_ranks(int attempts_that_lack) {
    in_use_.emplace(std::make_unique<BesideOneThatLacks>(attempts_that_lack));
    add_device(1);
  }

  const std::vector<Device> devices_ = open_devices({});
  Plan plan_;

 private:
  std::optional<RanksInUse> in_use_;
};

class Replanning : public Attempting, public testing::WithParamInterface<bool> {
 protected:
  void SetUp() override {
    Attempting::SetUp();
    if (GetParam()) join_ranks(0);
  }
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

// This rank has a result of each attempt, of which the first counts for nothing.
struct Ended {
  RunResult result;
  int tries = 0;
  bool interrupt_is_given_back = false;
  std::vector<DeviceModel> planned_with;
};

class ReplanningWithAnother : public Attempting {
 protected:
  Ended run(bool interrupted) {
    Ended ended;
    Attempts attempts;
    attempts.keeps = true;
    attempts.plan_again = [&](const std::vector<DeviceModel>& available) {
      ended.interrupt_is_given_back = interrupt_requested();
      ended.planned_with = available;
      return plan_;
    };
    attempts.run = [&](const Plan&, const std::vector<Device>&) {
      CommonStop stop(true);
      RunResult result;
      result.iterations = ++ended.tries;
      stop.begin(5);
      if (interrupted && ended.tries == 1) request_interrupt(true);
      if (!stop.may_begin(0)) result.stopped_by = StoppedBy::interrupt;
      stop.end();
      stop.answer();
      return result;
    };
    ended.result = run_replanning(plan_, devices_, attempts);
    return ended;
  }
};

TEST_F(ReplanningWithAnother, AnInterruptWithAResultHereCountsAgainWhereTheOtherRankLacksMemory) {
  join_ranks(1);
  const Ended ended = run(true);
  EXPECT_EQ(ended.tries, 2);
  EXPECT_TRUE(ended.interrupt_is_given_back);
  EXPECT_EQ(ended.result.iterations, 2);
  EXPECT_EQ(ended.result.stopped_by, StoppedBy::interrupt);
  EXPECT_FALSE(interrupt_requested()) << "the second attempt has answered it";
}

TEST_F(ReplanningWithAnother, AResultWithoutAnInterruptGivesNoneBack) {
  join_ranks(2);
  const Ended ended = run(false);
  EXPECT_EQ(ended.tries, 3);
  EXPECT_FALSE(ended.interrupt_is_given_back);
  EXPECT_EQ(ended.result.stopped_by, StoppedBy::iterations);
  ASSERT_EQ(ended.planned_with.size(), 2u);
  EXPECT_EQ(ended.planned_with[0].memory, slab_bytes / 4 * 3) << "of the rank that lacks it";
  EXPECT_EQ(ended.planned_with[1].memory, plan_.options.all_devices[1].memory);
}

TEST_F(ReplanningWithAnother, AnInterruptWithAResultOnAllRanksIsAnswered) {
  join_ranks(0);
  const Ended ended = run(true);
  EXPECT_EQ(ended.tries, 1);
  EXPECT_EQ(ended.result.stopped_by, StoppedBy::interrupt);
  EXPECT_FALSE(interrupt_requested());
}

}  // namespace
}  // namespace halocline::replanning_test
