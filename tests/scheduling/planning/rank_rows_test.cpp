// labels: unit
#include "scheduling/planning/rank_rows.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduling/planning/step_tasks.hpp"

namespace halocline::rank_rows_test {
namespace {

using testing::ElementsAre;

// Rays of slab [a, b) cross rows 10 a - 3 ... 10 b + 3 of 130, and its back-projection reads a row more at each end.
Program program_of() {
  Program program;
  Requirements& needs = program.needs;
  needs.algorithm = "solver";
  needs.form = ProgramForm::steps;
  needs.size = {3, 4, 13};
  needs.stack = {2, 130, 7};
  needs.arrays = {{.name = "x", .kind = ArrayKind::volume, .lifetime = Lifetime::output},
                  {.name = "r", .kind = ArrayKind::projections, .lifetime = Lifetime::iteration}};
  needs.detector_rows = [](Range slices) { return Range{10 * slices.begin - 4, 10 * slices.end + 4}; };
  program.each = {
      {.name = "project",
       .over = Domain::ray_sums,
       .arrays = {in("x"), out("r")},
       .rows =
           [](Range slices) {
             return Range{10 * slices.begin - 3, 10 * slices.end + 3};
           }},
      {.name = "scale", .over = Domain::views, .arrays = {inout("r")}, .by_rows = true},
      {.name = "backproject", .over = Domain::voxel_sums, .arrays = {in("r"), out("x")}},
  };
  return program;
}

// Slabs of 3, 1 and 9 slices; `ranks` of their devices, the last of which is the highest.
Plan plan_of(const Program& program, const std::vector<int>& ranks) {
  Plan plan;
  plan.requirements = program.needs;
  for (const int rank : ranks) {
    plan.devices.emplace_back().name = "device";
    plan.devices.back().rank = rank;
  }
  plan.slabs = {{0, {0, 3}, {0, 3}, {0, 130}, 0}, {1, {3, 4}, {3, 4}, {0, 130}, 0}, {2, {4, 13}, {4, 13}, {0, 130}, 0}};
  plan.batch = 3;
  return plan;
}

TEST(RankRows, AreWholePartsAroundThoseThatTheSlabsUse) {
  const Program program = program_of();
  // Rows 0 ... 33, 26 ... 43, 36 ... 129.
  EXPECT_THAT(rows_of_ranks(program, plan_of(program, {0, 1, 2})),
              ElementsAre(Range{0, 64}, Range{0, 64}, Range{32, 130}));
  EXPECT_THAT(rows_of_ranks(program, plan_of(program, {0, 0, 1})), ElementsAre(Range{0, 64}, Range{32, 130}));
  EXPECT_TRUE(rows_of_ranks(program, plan_of(program, {0, 0, 0})).empty());
}

TEST(RankRows, AreAllWhereAStepNeedsThem) {
  const auto rows_with = [](auto change) {
    Program program = program_of();
    change(program);
    return rows_of_ranks(program, plan_of(program, {0, 1, 2}));
  };
  EXPECT_FALSE(rows_with([](Program&) {}).empty());
  EXPECT_TRUE(rows_with([](Program& program) { program.each[1].by_rows = false; }).empty());
  EXPECT_TRUE(rows_with([](Program& program) { program.each[0].rows = {}; }).empty());
  EXPECT_TRUE(rows_with([](Program& program) { program.needs.detector_rows = {}; }).empty());
  EXPECT_TRUE(rows_with([](Program& program) { program.needs.arrays[1].row_length = 5; }).empty());
  EXPECT_TRUE(rows_with([](Program& program) {  // rows 100 ... 129 are on no rank
                program.each.erase(program.each.begin());
                program.needs.detector_rows = [](Range slices) { return Range{slices.begin, 7 * slices.end}; };
              })
                  .empty());
}

TEST(RankRows, AreOnEachRankWithASlab) {
  Program program = program_of();
  program.each[0].rows = [](Range slices) {
    return Range{10 * slices.begin, 10 * std::min<std::int64_t>(4, slices.end)};
  };
  program.needs.detector_rows = program.each[0].rows;  // slices 4 ... 12 are beside the detector
  program.needs.stack[1] = 40;
  EXPECT_THAT(rows_of_ranks(program, plan_of(program, {0, 1, 2})),
              ElementsAre(Range{0, 32}, Range{0, 40}, Range{0, 32}));
}

TEST(RankRows, AndSlicesAreTheHostMemoryOfARank) {
  Program program = program_of();
  program.needs.arrays.push_back({.name = "p", .kind = ArrayKind::volume, .lifetime = Lifetime::state});
  program.needs.arrays.push_back({.name = "b", .kind = ArrayKind::projections, .lifetime = Lifetime::input});
  Plan plan = plan_of(program, {0, 0, 1});
  plan.resident = false;
  plan.slabs[0].extended = {0, 4};
  const double volume = 4.0 * 3 * 4 * 13, stack = 4.0 * 2 * 130 * 7;
  EXPECT_NEAR(bytes_on_host(plan), 2 * volume * 9 / 13 + stack, 1e-9);  // each rank has all rows
  plan.rank_rows = rows_of_ranks(program, plan);
  EXPECT_NEAR(share_of_rows(plan, 0), 64.0 / 130, 1e-12);
  EXPECT_NEAR(bytes_on_host(plan), 2 * volume * 9 / 13 + stack * 98 / 130, 1e-9);
  plan.devices[2].rank = 0;
  EXPECT_NEAR(bytes_on_host(plan), 2 * volume + stack, 1e-9);
}

TEST(RankRows, AreGivenByOneRankEach) {
  const Program program = program_of();
  Plan plan = plan_of(program, {0, 1, 2});
  EXPECT_THAT(rows_to_give(plan, 0), ElementsAre(Range{0, 130}));
  EXPECT_TRUE(rows_to_give(plan, 1).empty());
  plan.rank_rows = rows_of_ranks(program, plan);
  EXPECT_THAT(rows_to_give(plan, 0), ElementsAre(Range{0, 64}));
  EXPECT_TRUE(rows_to_give(plan, 1).empty());
  EXPECT_THAT(rows_to_give(plan, 2), ElementsAre(Range{64, 130}));
  EXPECT_TRUE(plan.rows_of_rank(3).empty()) << "a rank without a device";
  EXPECT_TRUE(rows_to_give(plan, 3).empty());
}

TEST(RankRows, AreThoseOfTasksOverViews) {
  const Program program = program_of();
  Plan plan = plan_of(program, {0, 1, 2});
  plan.rank_rows = rows_of_ranks(program, plan);
  const Step& step = program.each[1];
  for (int device = 0; device < 3; ++device) {
    std::int64_t views = 0;
    for (const Task& task : tasks_of(program, step, {0, 7}, plan, device, {step, plan})) {
      EXPECT_EQ(task.rows, plan.rank_rows[static_cast<std::size_t>(device)]);
      views += task.views.count();
    }
    EXPECT_EQ(views, 7) << "each rank has rows of all views";
  }
}

}  // namespace
}  // namespace halocline::rank_rows_test
