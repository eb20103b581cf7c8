// labels: unit
#include "algorithms/denoisers/gap_rule.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

namespace halocline::gap_rule_test {
namespace {

using Curve = std::function<double(int)>;

struct Outcome {
  int evaluations = 0, iterations = 0;
  bool reached = false, stalled = false;
};

Outcome follow(const Curve& gap, double target, int most = 100000) {
  GapRule rule(target);
  Outcome outcome;
  for (int done = -1; !outcome.reached && !outcome.stalled;) {
    const int next = rule.next(done);
    EXPECT_GT(next, done);
    done = std::min(next, most);
    ++outcome.evaluations;
    outcome.iterations = done;
    rule.found(done, gap(done));
    outcome.reached = gap(done) <= target;
    outcome.stalled = !outcome.reached && rule.stalled();
    if (done == most) break;
  }
  return outcome;
}

int first_below(const Curve& gap, double target) {
  int n = 1;
  while (gap(n) > target) ++n;
  return n;
}

// Gaps of total variation fall ever faster in log-log at first, then along a line.
Curve typical(double scale, double knee, double exponent) {
  return [=](int n) { return scale * std::pow(1 + n / knee, -exponent); };
}

TEST(GapRule, WithoutATargetTheNumbersAreFixed) {
  GapRule rule(0);
  std::vector<int> numbers;
  for (int n = -1; n < 300;) {
    numbers.push_back(n = rule.next(n));
    rule.found(n, 1.0 / n);
  }
  EXPECT_EQ(numbers, (std::vector<int>{5,   10,  15,  20,  25,  30,  35,  40,  45,  50,  60,  70,  80,  90, 100,
                                       110, 120, 130, 140, 150, 160, 170, 180, 190, 200, 225, 250, 275, 300}));
  EXPECT_EQ(rule.estimate(300), (std::vector<int>(numbers.begin(), numbers.end() - 1)));
  EXPECT_FALSE(rule.stalled());
}

TEST(GapRule, BelowZeroNothingIsEvaluatedOnTheWay) {
  const GapRule rule(-1);
  EXPECT_GT(rule.next(-1), 1000000);
  EXPECT_GT(rule.next(60), 1000000);
  EXPECT_TRUE(rule.estimate(1000000).empty());
}

TEST(GapRule, EvaluatesRarelyAndHardlyOvershoots) {
  int cases = 0;
  for (const double exponent : {2.0, 2.5, 3.0, 3.5})
    for (const double knee : {0.5, 2.0, 5.0, 10.0})
      for (const double scale : {0.5, 1.0, 5.0})
        for (const double target : {1e-2, 1e-3, 1e-4, 1e-5}) {
          const auto gap = typical(scale, knee, exponent);
          const int exact = first_below(gap, target);
          if (exact < 10 || exact > 500) continue;
          const auto outcome = follow(gap, target);
          SCOPED_TRACE(testing::Message() << exponent << " " << knee << " " << scale << " " << target << ": " << exact);
          EXPECT_TRUE(outcome.reached);
          EXPECT_LE(outcome.iterations, std::max(exact + 1, static_cast<int>(std::ceil(1.06 * exact))));
          EXPECT_LE(outcome.evaluations, exact <= 60 ? 5 : 8);
          ++cases;
        }
  EXPECT_GT(cases, 100);
}

TEST(GapRule, AFloorIsRecognisedSoon) {
  for (const double floor : {1e-7, 2e-6, 3e-4}) {  // of float32, and of duals in 16 and 8 bits
    const auto outcome = follow([&](int n) { return std::max(floor, typical(1, 2, 2.7)(n)); }, 1e-9);
    EXPECT_TRUE(outcome.stalled) << floor;
    const int there = first_below(typical(1, 2, 2.7), floor);
    EXPECT_LE(outcome.iterations, 8 * there) << floor;
    EXPECT_LE(outcome.evaluations, 16) << floor;
  }
  // rounding makes the floor uneven
  const auto rough = follow([](int n) { return 1e-7 * (1 + 0.1 * std::sin(n)) + typical(1, 2, 2.7)(n); }, 1e-9);
  EXPECT_TRUE(rough.stalled);
}

TEST(GapRule, SlowIsNotStalled) {
  const auto slow = follow([](int n) { return 1.0 / n; }, 1e-4, 20000);
  EXPECT_TRUE(slow.reached);
  // the seed schedule first goes the wrong way
  const auto rising = [](int n) { return n < 40 ? 0.7 + 0.3 * std::sin(n / 25.0) : 0.9 * std::pow(n / 40.0, -3.0); };
  EXPECT_TRUE(follow(rising, 1e-4).reached);
}

TEST(GapRule, TheEstimateEndsDenselyAtTheUsualNumber) {
  const auto numbers = GapRule(1e-3).estimate(500);
  ASSERT_FALSE(numbers.empty());
  EXPECT_EQ(numbers.front(), 5);
  for (std::size_t n = 1; n < numbers.size(); ++n) EXPECT_GT(numbers[n], numbers[n - 1]);
  EXPECT_LT(numbers.back(), 500);
  EXPECT_LT(numbers.size(), 25u);
  EXPECT_TRUE(GapRule(1e-3).estimate(4).empty());
}

TEST(GapRule, TellsWhatIsExpected) {
  GapRule rule(1e-4);
  EXPECT_EQ(rule.expected(), 0);
  rule.found(10, 1e-2);
  rule.found(20, 1e-2 / 8);  // n^-3
  EXPECT_NEAR(rule.expected(), 20 * std::pow(12.5, 1.0 / 3), 1e-9);
}

TEST(GapRule, GapsThatAreNoNumbersDoNoHarm) {
  GapRule rule(1e-4);
  rule.found(5, std::numeric_limits<double>::quiet_NaN());
  EXPECT_EQ(rule.next(5), 10);
  EXPECT_EQ(rule.expected(), 0);
  rule.found(10, std::numeric_limits<double>::infinity());
  EXPECT_EQ(rule.next(10), 20);
  EXPECT_FALSE(rule.stalled());
}

}  // namespace
}  // namespace halocline::gap_rule_test
