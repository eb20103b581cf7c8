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
  EXPECT_EQ(rank_bytes(plan_of(1)), 2 * (4 + 2) * 2 * 7 * 5 * 4.0);
  EXPECT_EQ(rank_bytes(plan_of(0)), 0);
}

TEST(RankTraffic, TheBusiestLinkCounts) {
  Plan plan = plan_of(1);
  EXPECT_EQ(link_seconds(plan), 0);
  plan.options.link_bandwidth = 1000;
  EXPECT_DOUBLE_EQ(link_seconds(plan), 2 * 4 * 2 * 7 * 5 * 4.0 / 1000);
}

TEST(RankTraffic, RanksReadTheirSlicesWithHalosOnce) {
  EXPECT_EQ(read_bytes(plan_of(1)), (18 + 11) * 7 * 5 * 4.0);
  EXPECT_EQ(read_bytes(plan_of(0)), 0);
}

}  // namespace
}  // namespace halocline::rank_traffic_test
