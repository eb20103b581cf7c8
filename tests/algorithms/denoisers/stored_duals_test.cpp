// labels: device slab dealt
// Iterations in single passes with duals and weights of few bits: the same bits whatever the stages, the floor of what
// is stored.
#include <gtest/gtest.h>

#include <cstring>

#include "tests/reference/tv_reference.hpp"
#include "tests/support/fused_run.hpp"

namespace halocline::stored_duals_test {
namespace {

class FusedWeights : public testing::TestWithParam<FusedCase> {};

TEST_P(FusedWeights, HaveTheBitsOfTheKernelsInPlace) {
  FusedScene scene(GetParam(), 9);
  const Volume plain = scene.run("spdu", {}).u;
  scene.parameters.weight_bits = 16;
  const auto in_place = scene.run("spdu", {});
  EXPECT_NE(in_place.u.voxels, plain.voxels);
  for (const int stages : {1, 2, 3, 4})
    EXPECT_EQ(scene.run("spdu", {stages, 32}).u.voxels, in_place.u.voxels) << stages;
  for (const int dual_bits : {16, 8})
    EXPECT_EQ(scene.run("spdu", {1, dual_bits}).u.voxels, scene.run("spdu", {2, dual_bits}).u.voxels) << dual_bits;
}

class StoredDualsOfSizes : public testing::TestWithParam<FusedCase> {};

TEST_P(StoredDualsOfSizes, DoNotDependOnTheStages) {
  const FusedScene scene(GetParam(), 9);
  for (const int bits : {16, 8}) {
    const auto one = scene.run(GetParam().method, {1, bits});
    for (const int stages : {2, 4}) {
      const auto more = scene.run(GetParam().method, {stages, bits});
      EXPECT_EQ(0, std::memcmp(one.u.voxels.data(), more.u.voxels.data(), 4 * scene.f.voxels.size()))
          << bits << " " << stages;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, StoredDualsOfSizes,
                         testing::Values(FusedCase{"pdu", {1, 1, 1}}, FusedCase{"pdu", {93, 17, 7}},
                                         FusedCase{"pdu", {140, 31, 5}}, FusedCase{"pdu", {38, 1, 6}},
                                         FusedCase{"spdu", {93, 17, 7}}, FusedCase{"spdu", {44, 31, 9}}),
                         name_of);

INSTANTIATE_TEST_SUITE_P(Sizes, FusedWeights,
                         testing::Values(FusedCase{"spdu", {93, 17, 7}}, FusedCase{"spdu", {44, 31, 9}}), name_of);

// One part in 32767 of lambda leaves a gap of some 1e-6, one in 127 some 3e-4; the energy of the result never passes
// the bound that another run certifies.
TEST(StoredDuals, ReachTheirFloorAndKeepTheCertificate) {
  const Volume f = reference::two_balls(32, 0.1);
  MethodParameters parameters;
  parameters.iterations = 1500;
  parameters.lambda = 1.0 / 15;
  const auto exact = run_fused("pdu", f, {}, parameters, {}).history.back();
  const auto half = run_fused("pdu", f, {}, parameters, {2, 16}).history.back();
  const auto byte = run_fused("pdu", f, {}, parameters, {2, 8}).history.back();
  EXPECT_LT(half.relative_gap, 3e-6);
  EXPECT_LT(byte.relative_gap, 1e-3);
  EXPECT_GT(byte.relative_gap, half.relative_gap);
  for (const auto& each : {half, byte}) {
    EXPECT_LE(each.dual, exact.primal * (1 + 1e-7));
    EXPECT_GE(each.primal, exact.dual * (1 - 1e-7));
  }
}

}  // namespace
}  // namespace halocline::stored_duals_test
