// labels: device
// Solvers that start from an earlier result: the loss of duals and momentum, and nothing else.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/reference/iterative_problems.hpp"
#include "tests/support/reconstruct_run.hpp"

namespace halocline::warm_start_test {
namespace {

// 40^2 pixels, 20 views.
struct Small {
  reference::PenalisedScan scan = reference::penalised_scan(40, 20, 2e4, 6);
  MeasuredScan measured{.scene = scan.scene,
                        .b = reference::volume_of(scan.scene.projections, scan.problem.b),
                        .w = reference::volume_of(scan.scene.projections, scan.problem.w),
                        .start = reference::volume_of(scan.scene.grid, reference::scaled_fdk(scan))};

  ReconstructionParameters parameters(const char* method, int passes) const {
    ReconstructionParameters result;
    result.method = method;
    result.passes = passes;
    result.lambda = scan.problem.lambda;
    result.regulariser.minimum = scan.problem.lower;
    result.regulariser.maximum = scan.problem.upper;
    result.gap = 0;
    result.polish_steps = 5;  // no look ends the run
    return result;
  }
};

class GoingOn : public testing::TestWithParam<const char*> {};

TEST_P(GoingOn, FromAResultStaysThere) {
  const Small small;
  const auto before = small.measured.reconstructed(small.parameters(GetParam(), 250));
  MeasuredScan next = small.measured;
  next.start = before.x;
  next.near_minimum = true;
  const double primal = before.result.history.back().primal, residual = before.result.residual;
  for (const int passes : {1, 2, 4, 8}) {
    const auto after = next.reconstructed(small.parameters(GetParam(), passes));
    EXPECT_LT(after.result.history.back().primal, 1.002 * primal) << passes;
    EXPECT_LT(after.result.residual, 1.01 * residual) << passes;
  }
}

// A start that is no result: the duals that are made of it are no worse than those of 0.
TEST_P(GoingOn, FromAnImageFarAwayLosesNothing) {
  const Small small;
  MeasuredScan near = small.measured;
  near.near_minimum = true;
  const auto primal = [&](const MeasuredScan& scan) {
    return scan.reconstructed(small.parameters(GetParam(), 15)).result.history.back().primal;
  };
  EXPECT_LT(primal(near), 1.01 * primal(small.measured));
}

INSTANTIATE_TEST_SUITE_P(, GoingOn, testing::Values("spdhg", "fista"));

}  // namespace
}  // namespace halocline::warm_start_test
