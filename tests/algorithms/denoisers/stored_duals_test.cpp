// labels: device slab dealt
// Iterations in single passes with duals of 16 bits: the same bits whatever the stages, the floor of what is stored.
#include <gtest/gtest.h>

#include <cstring>

#include "tests/reference/tv_reference.hpp"
#include "tests/support/fused_run.hpp"

namespace halocline::stored_duals_test {
namespace {

class StoredDualsOfSizes : public testing::TestWithParam<FusedCase> {};

TEST_P(StoredDualsOfSizes, DoNotDependOnTheStages) {
  const FusedScene scene(GetParam(), 9);
  const auto one = scene.run(GetParam().method, {1, 16}), two = scene.run(GetParam().method, {2, 16});
  EXPECT_EQ(0, std::memcmp(one.u.voxels.data(), two.u.voxels.data(), 4 * scene.f.voxels.size()));
}

INSTANTIATE_TEST_SUITE_P(Sizes, StoredDualsOfSizes,
                         testing::Values(FusedCase{"pdu", {1, 1, 1}}, FusedCase{"pdu", {93, 17, 7}},
                                         FusedCase{"pdu", {140, 31, 5}}, FusedCase{"pdu", {38, 1, 6}},
                                         FusedCase{"spdu", {93, 17, 7}}, FusedCase{"spdu", {44, 31, 9}}),
                         name_of);

// One part in 32767 of lambda leaves a gap of some 1e-6; the energy of the result never passes the bound that another
// run certifies.
TEST(StoredDuals, ReachTheirFloorAndKeepTheCertificate) {
  const Volume f = reference::two_balls(32, 0.1);
  MethodParameters parameters{.iterations = 1500, .lambda = 1.0 / 15};
  const auto exact = run_fused("pdu", f, {}, parameters, {}).history.back();
  const auto half = run_fused("pdu", f, {}, parameters, {2, 16}).history.back();
  EXPECT_LT(half.relative_gap, 3e-6);
  EXPECT_LE(half.dual, exact.primal * (1 + 1e-7));
  EXPECT_GE(half.primal, exact.dual * (1 - 1e-7));
}

}  // namespace
}  // namespace halocline::stored_duals_test
