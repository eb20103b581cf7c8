// labels: unit
#include "scheduling/execution/stop_rule.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "host/system/error.hpp"
#include "host/system/interrupt.hpp"
#include "scheduling/transport/transport.hpp"

namespace halocline::stop_rule_test {
namespace {

void wait(double seconds) {
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

class Stopping : public testing::Test {
 protected:
  void SetUp() override { request_interrupt(false); }
  void TearDown() override { request_interrupt(false); }
};

TEST_F(Stopping, WithoutALimitAllIterationsFit) {
  TimeLimit time(0);
  EXPECT_EQ(time.count(7), 7);
  time.add(7);
  EXPECT_EQ(time.count(1000), 1000);
}

TEST_F(Stopping, PassesGrowUntilTheSpeedIsKnownAndEndWithTheTime) {
  TimeLimit time(1.0);
  EXPECT_EQ(time.count(100), 1);
  time.add(1);  // no measure of the speed
  EXPECT_EQ(time.count(100), 2);
  wait(0.2);
  time.add(2);  // 0.1 s each: four or fewer, of the seven that fit
  EXPECT_LE(time.count(100), 4);
  EXPECT_GE(time.count(100), 1);
  EXPECT_EQ(time.count(1), 1);
  wait(0.75);
  EXPECT_EQ(time.count(100), 0);  // less than half of one is left
  wait(0.1);
  EXPECT_EQ(time.count(100), 0);
}

TEST_F(Stopping, ATimeThatIsOverBeforeTheFirstIterationAllowsNone) {
  TimeLimit time(1e-9);
  wait(0.001);
  EXPECT_EQ(time.count(10), 0);
}

// The first of two ranks, of which the other leaves the work when `leaves` says so.
class Leaving : public Ranks {
 public:
  int size() const override { return 2; }
  bool leaves = false;

 protected:
  std::vector<std::string> gather_bytes(const std::string& own) override {
    if (leaves) throw ClError("another rank begins again", failed_before, {});
    check_interrupt();  // as waiting for messages does
    return {own, own.substr(0, own.find('\n') + 1) + "0"};
  }
};

TEST_F(Stopping, AnInterruptOfAnAttemptThatRanksLeaveCountsInTheNext) {
  enum { unknown, known, ended };  // to all, before one of them left: perhaps while the result was written
  for (const int before : {unknown, known, ended}) {
    Leaving ranks;
    request_interrupt(true);
    const HeldInterrupts held(true);  // of all attempts together
    {
      CommonStop stop(true, ranks);
      if (before != unknown) {
        stop.begin(5);
        EXPECT_FALSE(stop.may_begin(0));
      }
      if (before == ended) stop.end();
      ranks.leaves = true;
      const auto leave = [&] {
        if (before == unknown) stop.begin(5);
        if (before == known) stop.end();
        if (before == ended) ranks.meet("the output");
      };
      EXPECT_THROW(leave(), ClError);
    }
    ranks.leaves = false;
    ranks.meet("the next attempt");
    CommonStop stop(true, ranks);
    stop.begin(5);
    EXPECT_FALSE(stop.may_begin(0));
    stop.end();
    EXPECT_TRUE(stop.interrupted());
    stop.answer();
  }
  EXPECT_FALSE(interrupt_requested()) << "a run that came to its end has answered it";
}

TEST_F(Stopping, AnInterruptWithoutAnAnswerIsGivenBackToWhoseItIs) {
  Cancellation cancellation;
  for (Cancellation* const whose : {static_cast<Cancellation*>(nullptr), &cancellation}) {
    const CancellationScope scope(whose);
    for (const bool at_end : {false, true}) {
      give_back_interrupt();
      {
        CommonStop failing(true);
        failing.begin(5);
        if (at_end)
          failing.end();
        else
          failing.may_begin(0);
        EXPECT_TRUE(failing.interrupted());
        EXPECT_FALSE(interrupt_requested());
      }
      EXPECT_TRUE(interrupt_requested());
      EXPECT_EQ(cancellation.requested(), whose != nullptr);
      {
        CommonStop next(true);
        next.begin(5);
        EXPECT_FALSE(next.may_begin(0));
        EXPECT_THROW(next.throw_answer(), Interrupted);
      }
      EXPECT_FALSE(interrupt_requested());
    }
  }
}

TEST_F(Stopping, WithoutKeepingCtrlCThrows) {
  CommonStop stop(false);
  stop.begin(5);
  EXPECT_TRUE(stop.may_begin(0));
  request_interrupt(true);
  EXPECT_THROW(stop.may_begin(1), Interrupted);
}

TEST_F(Stopping, CtrlCEndsThePassAfterTheFarthestIteration) {
  CommonStop stop(true);
  stop.begin(9);
  for (int n = 0; n < 4; ++n) EXPECT_TRUE(stop.may_begin(n));
  EXPECT_TRUE(stop.may_begin(0));  // another slab
  request_interrupt(true);
  EXPECT_TRUE(stop.may_begin(1));
  EXPECT_TRUE(stop.interrupted());
  EXPECT_EQ(stop.count(), 4);
  EXPECT_TRUE(stop.may_begin(3));
  EXPECT_FALSE(stop.may_begin(4));
  EXPECT_FALSE(interrupt_requested());  // answered; the next one ends it
  request_interrupt(true);
  EXPECT_THROW(stop.may_begin(2), Interrupted);
}

TEST_F(Stopping, IterationsThatAreTakenTogetherEndTogether) {
  CommonStop stop(true);
  stop.begin(9);
  EXPECT_TRUE(stop.may_begin(0, 3));
  EXPECT_TRUE(stop.may_begin(3, 3));
  request_interrupt(true);
  EXPECT_FALSE(stop.may_begin(6, 3));
  EXPECT_EQ(stop.count(), 6);
}

TEST_F(Stopping, CtrlCAfterTheLastIterationIsNotLost) {
  CommonStop stop(true);
  stop.begin(2);
  EXPECT_TRUE(stop.may_begin(0));
  EXPECT_TRUE(stop.may_begin(1));
  request_interrupt(true);
  stop.end();
  EXPECT_TRUE(stop.interrupted());
  EXPECT_EQ(stop.count(), 2);
  EXPECT_FALSE(interrupt_requested());
}

TEST_F(Stopping, ThreadsAgree) {
  CommonStop stop(true);
  stop.begin(100000);
  std::atomic<bool> pressed{false};
  std::vector<int> done(4, 0);
  {
    std::vector<std::jthread> threads;
    for (int& mine : done)
      threads.emplace_back([&] {
        for (int n = 0; n < 100000 && stop.may_begin(n); ++n) {
          mine = n + 1;
          if (n == 500 && !pressed.exchange(true)) request_interrupt(true);
        }
      });
  }
  for (const int mine : done) EXPECT_EQ(mine, stop.count());
  EXPECT_LT(stop.count(), 100000);
}

}  // namespace
}  // namespace halocline::stop_rule_test
