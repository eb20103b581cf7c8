// labels: device error nightly
// The choice of the penalty's strength by halves of the views.
#include "algorithms/solvers/penalty_strength.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "host/system/error.hpp"
#include "tests/reference/iterative_problems.hpp"
#include "tests/support/reconstruct_run.hpp"

namespace halocline::penalty_strength_test {
namespace {

struct Noisy {
  reference::PenalisedScan scan;
  MeasuredScan measured;
  ReconstructionParameters parameters;

  explicit Noisy(double photons)
      : scan(reference::penalised_scan(64, 40, photons, 9)),
        measured{.scene = scan.scene,
                 .b = reference::volume_of(scan.scene.projections, scan.problem.b),
                 .w = reference::volume_of(scan.scene.projections, scan.problem.w),
                 .start = reference::volume_of(scan.scene.grid, reference::scaled_fdk(scan))} {
    parameters.regulariser.minimum = 0;
    parameters.gap = 0;
    parameters.passes = 15;
  }
  double error(double lambda) const {
    auto chosen = parameters;
    chosen.lambda = lambda;
    return reference::rms_difference(reference::vector_of(measured.reconstructed(chosen).x), scan.truth);
  }
  PenaltyStrength chosen() const {
    const MemorySource b(measured.b), w(*measured.w), start(*measured.start);
    return choose_strength({&b, &w, &start}, measured.scene.geometry, measured.scene.grid, parameters,
                           reference::device());
  }
};

struct Case {
  double photons, more_error;  // at most, than with the best strength
};

// Weak strengths do not converge in so few passes, and predict better than they would: where there are many photons the
// choice is too weak.
TEST(PenaltyStrength, IsNearlyTheBest) {
  for (const auto& [photons, more_error] : {Case{500, 1.1}, Case{2e3, 1.1}, Case{2e4, 1.3}}) {
    SCOPED_TRACE(photons);
    const Noisy noisy(photons);
    const PenaltyStrength chosen = noisy.chosen();
    double best = std::numeric_limits<double>::infinity(), at = 0;
    for (double lambda = 20; lambda < 3000; lambda *= 1.5) {
      const double error = noisy.error(lambda);
      if (error < best) best = error, at = lambda;
    }
    EXPECT_LT(noisy.error(chosen.lambda), more_error * best) << chosen.lambda << " instead of " << at;
    EXPECT_GE(chosen.trials.size(), 3u);
    EXPECT_LE(chosen.trials.size(), 9u);
    const auto least = std::min_element(chosen.trials.begin(), chosen.trials.end(),
                                        [](const auto& a, const auto& b) { return a.misfit < b.misfit; });
    EXPECT_GT(chosen.lambda, least->lambda / 1.5);
    EXPECT_LT(chosen.lambda, least->lambda * 1.5);
  }
}

TEST(PenaltyStrength, NeedsFourViews) {
  Noisy noisy(2e4);
  noisy.measured.scene.geometry.views.resize(3);
  for (Volume* each : {&noisy.measured.b, &*noisy.measured.w}) {
    each->grid.size[2] = 3;
    each->voxels.resize(each->grid.count());
  }
  try {
    noisy.chosen();
    FAIL();
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("`lambda` is a choice by halves of fewer than four views"));
  }
}

}  // namespace
}  // namespace halocline::penalty_strength_test
