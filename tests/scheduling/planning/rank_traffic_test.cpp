// labels: unit
#include "scheduling/planning/rank_traffic.hpp"

#include <gtest/gtest.h>

namespace halocline::rank_traffic_test {
namespace {

// Slabs of 10, 4 and 9 slices of 7 x 5 voxels: the first two on rank 0, the last on rank 1. A pass is of two iterations
// with a halo of 1 below and 2 above.
Plan plan_of(int rank_of_last) {
  Plan plan;
  Requirements& needs = plan.requirements;
  needs.algorithm = "stencil";
  needs.form = ProgramForm::stencil;
  needs.size = {7, 5, 23};
  needs.iterations = 6;
  needs.halo_low = 1;
  needs.halo_high = 2;
  needs.reductions = {6};
  needs.arrays = {{.name = "f", .kind = ArrayKind::volume, .lifetime = Lifetime::input},
                  {.name = "u", .kind = ArrayKind::volume, .lifetime = Lifetime::output},
                  {.name = "q", .kind = ArrayKind::volume, .lifetime = Lifetime::state}};
  for (const int rank : {0, 0, rank_of_last}) {
    plan.devices.emplace_back().name = "device";
    plan.devices.back().rank = rank;
  }
  plan.slabs = {{0, {0, 10}, {0, 14}, {}, 0}, {1, {10, 14}, {8, 18}, {}, 0}, {2, {14, 23}, {12, 23}, {}, 0}};
  plan.iterations_per_exchange = 2;
  plan.passes = 3;
  return plan;
}

TEST(RankTraffic, IsThatOfHalosWhichCrossFromRankToRank) {
  // Two exchanges, after 2 and 4 of 6 iterations: rank 0 receives 4 slices of u and q above its second slab, rank 1
  // gets 2 below its own.
  EXPECT_EQ(count_rank_bytes(plan_of(1)), 2 * (4 + 2) * 2 * 7 * 5 * 4.0);
  EXPECT_EQ(count_rank_bytes(plan_of(0)), 0);
}

TEST(RankTraffic, TheBusiestLinkCounts) {
  Plan plan = plan_of(1);
  EXPECT_EQ(link_seconds(plan), 0);
  plan.options.link_bandwidth = 1000;
  EXPECT_DOUBLE_EQ(link_seconds(plan), 2 * 4 * 2 * 7 * 5 * 4.0 / 1000);
}

// Slabs of 5, 2 and 6 slices of 3 x 4 voxels, each on a rank; a slab's rows are its slices and one beside. Twice, views
// of 2 columns of 13 rows are made of x, which is read with a slice above.
TEST(RankTraffic, RaysThatCrossGoOnAndCompleteOnesToAll) {
  Program program;
  Requirements& needs = program.needs;
  needs.algorithm = "solver";
  needs.form = ProgramForm::steps;
  needs.size = {3, 4, 13};
  needs.stack = {2, 13, 7};
  needs.iterations = 2;
  needs.halo_high = 1;
  needs.arrays = {{.name = "x", .kind = ArrayKind::volume, .lifetime = Lifetime::output},
                  {.name = "r", .kind = ArrayKind::projections, .lifetime = Lifetime::iteration}};
  const auto rows = [](Range slices) { return Range{slices.begin - 1, slices.end + 1}; };
  program.each = {{.name = "project", .over = Domain::ray_sums, .arrays = {in("x"), out("r")}, .rows = rows},
                  {.name = "update", .arrays = {inout("x")}, .reduced = [](auto, Scalars&) {}, .sums = 3}};
  Plan plan;
  plan.requirements = needs;
  for (const int rank : {0, 1, 2}) {
    plan.devices.emplace_back().name = "device";
    plan.devices.back().rank = rank;
  }
  plan.slabs = {{0, {0, 5}, {0, 6}, {0, 13}, 0}, {1, {5, 7}, {5, 8}, {0, 13}, 0}, {2, {7, 13}, {7, 13}, {0, 13}, 0}};
  plan.batch = 3;
  // Rows 0..5, 4..7, 6..12: two cross each border, and 13 go to two others.
  const double rays = (2 + 2 + 2 * 13) * 7 * 2 * 4.0, halos = 2 * 3 * 4 * 4.0, sums = 2 * 13 * 3 * 16.0;
  EXPECT_EQ(count_program_rank_bytes(program, plan), 2 * (rays + halos + sums));
  // Ranks that have some rows each: row 3 goes to the second one, 4 and 5 back to the first, 5 on to the third, and so
  // on; sums of rows are gathered.
  plan.rank_rows = {{0, 7}, {3, 9}, {5, 13}};
  program.each.push_back(
      {.name = "norm", .over = Domain::views, .arrays = {in("r")}, .reduced = [](auto, Scalars&) {}});
  const double narrow = (2 + 2 + 1 + (2 + 1) + (1 + 3)) * 7 * 2 * 4.0, parts = 2 * 1 * 7 * 16.0;
  EXPECT_EQ(count_program_rank_bytes(program, plan), 2 * (narrow + halos + sums + parts));
  plan.devices[1].rank = plan.devices[2].rank = 0;
  EXPECT_EQ(count_program_rank_bytes(program, plan), 0);
}

TEST(RankTraffic, RanksReadTheirSlicesWithHalosOnce) {
  EXPECT_EQ(read_bytes(plan_of(1)), (18 + 11) * 7 * 5 * 4.0);
  EXPECT_EQ(read_bytes(plan_of(0)), 0);
}

}  // namespace
}  // namespace halocline::rank_traffic_test
