// labels: device nightly
// Total variation that outweighs the data: SPDHG still reaches the minimum, as its certificate says. Also the beginning
// and the end of the search for a strength.
#include <gtest/gtest.h>

#include <cmath>

#include "algorithms/solvers/penalty_strength.hpp"
#include "algorithms/solvers/reconstruct.hpp"
#include "tests/reference/iterative_problems.hpp"
#include "tests/reference/ray_matrix.hpp"
#include "tests/reference/solver_scan.hpp"

namespace halocline::strong_penalty_test {
namespace {

using reference::device;

// Projections of the phantom with noise of standard deviation `noise`.
Volume projections(const reference::Scene& scene, double noise) {
  const reference::RayMatrix A(scene);
  const reference::Vector exact = A.times(reference::toft_phantom(scene.grid));
  const Volume random = reference::random_volume(scene.projections, 3);
  Volume b(scene.projections);
  for (std::size_t n = 0; n < exact.size(); ++n)
    b.voxels[n] = static_cast<float>(exact[n] + noise * std::sqrt(12.0) * (random.voxels[n] - 0.5));
  return b;
}

TEST(StrongPenalty, IsMinimised) {
  const reference::Scene scene = reference::small_parallel_scene();
  const Volume b = projections(scene, 0);
  const MemorySource source(b);
  ReconstructionParameters parameters;
  parameters.passes = 150;
  parameters.subsets = 6;
  parameters.gap = 0;
  for (const auto& [lambda, gap] : {std::pair{1.0, 1e-3}, std::pair{5.0, 1e-3}, std::pair{20.0, 5e-3}}) {
    SCOPED_TRACE(lambda);
    parameters.lambda = lambda;
    Volume x = Volume::uninitialised(scene.grid);
    MemorySink sink(x);
    const auto result = reconstruct({.projections = &source}, scene.geometry, sink, parameters, device());
    EXPECT_LT(result.history.back().relative_gap, gap);
    // The objective does not grow again.
    for (const ReconstructionRecord& record : result.history)
      if (record.passes >= 50) {
        EXPECT_LE(result.history.back().primal, record.primal * (1 + 1e-5));
      }
  }
}

TEST(StrongPenalty, IsChosenInAFewTrialsWhateverTheUnitOfTheNoise) {
  const reference::Scene scene = reference::small_parallel_scene();
  const Volume b = projections(scene, 0.5);
  Volume weights(scene.projections);
  const MemorySource b_source(b), w_source(weights);
  double chosen = 0;
  for (const double weight : {1.0, 400.0, 1e6}) {
    SCOPED_TRACE(weight);
    for (float& each : weights.voxels) each = static_cast<float>(weight);
    const auto strength =
        choose_strength({.projections = &b_source, .weights = &w_source}, scene.geometry, scene.grid, {}, device());
    EXPECT_LE(strength.trials.size(), 7u);
    if (chosen == 0) chosen = strength.lambda;
    EXPECT_NEAR(strength.lambda / weight, chosen, 0.01 * chosen);  // the problem in another unit
  }
}

// The box grows with the image if there is no maximum, and a bound that was found for a smaller box does not apply.
TEST(StrongPenalty, BoundsOfTheMinimumStayBelowTheObjective) {
  const reference::Scene scene = reference::small_parallel_scene();
  const Volume b = projections(scene, 0);
  const MemorySource source(b);
  for (const char* method : {"spdhg", "fista"})
    for (const double lambda : {1e-3, 1.0, 1e3}) {
      SCOPED_TRACE(testing::Message() << method << " " << lambda);
      ReconstructionParameters parameters;
      parameters.method = method;
      parameters.lambda = lambda;
      parameters.passes = 40;
      parameters.gap = 0;
      Volume x = Volume::uninitialised(scene.grid);
      MemorySink sink(x);
      const auto result = reconstruct({.projections = &source}, scene.geometry, sink, parameters, device());
      const double first = result.history.front().primal;
      for (const ReconstructionRecord& record : result.history) {
        EXPECT_LE(record.dual, record.primal);
        EXPECT_LE(record.primal, 10 * first);  // a look does not throw the iterations back
      }
    }
}

}  // namespace
}  // namespace halocline::strong_penalty_test
