// labels: device error slow
// The choice of the penalty's strength by halves of the views.
#include "algorithms/solvers/penalty_strength.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "host/error.hpp"
#include "tests/reference/iterative_problems.hpp"
#include "tests/support/reconstruct_run.hpp"

namespace halocline {
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

TEST(PenaltyStrength, IsNearlyTheBest) {
  for (const double photons : {2e3, 2e4, 5e4}) {
    const Noisy noisy(photons);
    const PenaltyStrength chosen = noisy.chosen();
    double best = std::numeric_limits<double>::infinity(), at = 0;
    for (double lambda = 2; lambda < 5000; lambda *= 1.5) {
      const double error = noisy.error(lambda);
      std::printf("%g: %g\n", lambda, error);
      if (error < best) best = error, at = lambda;
    }
    RecordProperty("chosen_" + std::to_string(photons), std::to_string(chosen.lambda) + " best " + std::to_string(at));
    std::printf("%g photons: %g, error %g; best %g, error %g\n", photons, chosen.lambda, noisy.error(chosen.lambda), at,
                best);
    EXPECT_LT(noisy.error(chosen.lambda), 1.1 * best) << chosen.lambda << " instead of " << at;
    for (const auto& t : chosen.trials) std::printf("trial %g %g\n", t.lambda, t.misfit);
    EXPECT_GE(chosen.trials.size(), 3u);
    EXPECT_LE(chosen.trials.size(), 9u);
    const auto least = std::min_element(chosen.trials.begin(), chosen.trials.end(),
                                        [](const auto& a, const auto& b) { return a.misfit < b.misfit; });
    EXPECT_GT(chosen.lambda, least->lambda / 2);
    EXPECT_LT(chosen.lambda, least->lambda * 2);
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
}  // namespace halocline
