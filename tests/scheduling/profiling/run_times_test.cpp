// labels: unit
// Statistics of repeated runs, and how often they are repeated.
#include "scheduling/profiling/run_times.hpp"

#include <gtest/gtest.h>

#include "scheduling/profiling/measure.hpp"

namespace halocline::run_times_test {
namespace {

TEST(RunTimes, HaveMeanAndDeviation) {
  const RunTimes times({4, 1, 3, 2, 5});
  EXPECT_EQ(times.runs, 5u);
  EXPECT_EQ(times.least, 1);
  EXPECT_EQ(times.median, 3);
  EXPECT_DOUBLE_EQ(times.mean, 3);
  EXPECT_DOUBLE_EQ(times.deviation, std::sqrt(2.5));
  EXPECT_EQ(RunTimes({7}).deviation, 0);
  EXPECT_EQ(RunTimes({7}).mean, 7);
  const RunTimes part = times.over(2);
  EXPECT_EQ(part.least, 0.5);
  EXPECT_DOUBLE_EQ(part.deviation, std::sqrt(2.5) / 2);
  EXPECT_EQ(part.runs, 5u);
  const RunTimes later = times.after(0.75);
  EXPECT_EQ(later.least, 0.25);
  EXPECT_DOUBLE_EQ(later.mean, 2.25);
  EXPECT_EQ(later.deviation, times.deviation);
}

TEST(Repeat, EndsByNumberOrByTime) {
  int calls = 0;
  const auto run = [&] { return ++calls, 0.5; };
  EXPECT_EQ(repeat(run, 7).runs, 7u);
  EXPECT_EQ(repeat(run, 7, 1.2).runs, 3u);
  EXPECT_EQ(repeat(run, 7, 0).runs, 1u);
  EXPECT_EQ(calls, 11);
}

}  // namespace
}  // namespace halocline::run_times_test
