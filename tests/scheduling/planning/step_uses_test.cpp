// labels: unit
// Number of times that a program does its steps, and their views.
#include <gtest/gtest.h>

#include "scheduling/planning/program.hpp"

namespace halocline::step_uses_test {
namespace {

int iteration(const Scalars& known) {
  return static_cast<int>(known.at(iteration_scalar));
}

TEST(StepUses, AreCountedByWhatTheIterationsTell) {
  Program program{.needs = {.size = {5, 4, 7}, .stack = {4, 3, 9}, .iterations = 10}};
  program.first = {{.name = "once"}, {.name = "never", .due = [](const Scalars&) { return false; }}};
  program.each = {{.name = "always"},
                  {.name = "third", .due = [](const Scalars& known) { return iteration(known) % 3 == 2; }},
                  {.name = "subset",
                   .over = Domain::ray_sums,
                   .views =
                       [](const Scalars& known) {
                         const int n = iteration(known) % 4;
                         return n == 0 ? Range{0, 3} : n == 1 ? Range{3, 9} : Range{0, 9};
                       }},
                  {.name = "both",
                   .over = Domain::views,
                   .views =
                       [](const Scalars&) {
                         return Range{1, 2};
                       },
                   .due = [](const Scalars& known) { return iteration(known) > 6; }}};
  program.last = {{.name = "end", .due = [](const Scalars& known) { return iteration(known) == 10; }}};
  std::map<std::string, std::map<std::pair<std::int64_t, std::int64_t>, double>> found;
  for (const StepUse& use : uses_of(program)) {
    EXPECT_TRUE(found[use.step->name].emplace(std::pair{use.views.begin, use.views.end}, use.times).second);
  }
  const auto times = [&](const char* name) {
    double sum = 0;
    for (const auto& [range, each] : found[name]) sum += each;
    return sum;
  };
  EXPECT_EQ(times("once"), 1);
  EXPECT_EQ(times("never"), 0);
  EXPECT_EQ(times("always"), 10);
  EXPECT_EQ(times("third"), 3);
  EXPECT_EQ(times("end"), 1);
  EXPECT_EQ((found["subset"]),
            (std::map<std::pair<std::int64_t, std::int64_t>, double>{{{0, 3}, 3}, {{3, 9}, 3}, {{0, 9}, 4}}));
  EXPECT_EQ((found["both"]), (std::map<std::pair<std::int64_t, std::int64_t>, double>{{{1, 2}, 3}}));
}

TEST(StepUses, OfAProgramWithoutIterationsAreItsFirstAndLastSteps) {
  Program program{.needs = {.iterations = 0}};
  program.first = {{.name = "first"}};
  program.each = {{.name = "each", .due = [](const Scalars&) { return true; }}};
  program.last = {{.name = "last", .due = [](const Scalars& known) { return iteration(known) == 0; }}};
  const auto uses = uses_of(program);
  ASSERT_EQ(uses.size(), 2u);
  EXPECT_EQ(uses[0].step->name, "first");
  EXPECT_EQ(uses[1].step->name, "last");
}

}  // namespace
}  // namespace halocline::step_uses_test
