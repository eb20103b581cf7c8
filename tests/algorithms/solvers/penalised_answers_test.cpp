// labels: unit
// The double-precision references of penalised least squares: closed forms, rates, the minimum bounded from below, and
// passes to known accuracies.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <random>

#include "tests/reference/dense_reference.hpp"
#include "tests/reference/iterative_problems.hpp"

namespace halocline::penalised_answers_test {
namespace {

using reference::Penalised;
using reference::RayMatrix;
using reference::Spdhg;
using reference::SpdhgRun;
using reference::Vector;

std::function<std::vector<int>(int)> permutations(int views, int subsets, std::uint64_t seed = 1) {
  return [all = ViewSubsets(views, subsets), seed](int pass) {
    return all.permutation(seed, static_cast<std::uint64_t>(pass));
  };
}

// 16^2 pixels, 24 views, few photons.
const reference::PenalisedScan& tiny_scan() {
  static const auto scan = reference::penalised_scan(16, 24, 200, 4);
  return scan;
}
Penalised tiny(double lambda, double upper) {
  Penalised problem = tiny_scan().problem;
  problem.lambda = lambda, problem.upper = upper;
  return problem;
}

TEST(Penalised, FindsTheNonNegativeLeastSquares) {
  Penalised problem = tiny(0, std::numeric_limits<double>::infinity());
  problem.A = problem.A.with_identity(2);  // well conditioned
  problem.b.resize(problem.A.rows(), 0.0);
  problem.w.assign(problem.A.rows(), 1.0);
  const Vector exact = reference::non_negative_least_squares(problem.A, problem.b);
  EXPECT_GT(std::count(exact.begin(), exact.end(), 0.0), 20);
  const Vector found = reference::fista(problem, Vector(exact.size(), 0.0), 3000, 0, true);
  EXPECT_LT(reference::relative_difference(found, exact), 1e-6);
}

TEST(Penalised, ConvergesAtTheKnownRates) {
  // ||x0 - x*||_d^2 / (2 k), and 2 ||x0 - x*||_d^2 / (k + 1)^2 with momentum (Beck & Teboulle 2009)
  const Penalised problem = tiny(0, 0.03);
  const Vector start(problem.A.columns(), 0.0), d = problem.majoriser(),
                                                exact = reference::fista(problem, start, 20000, 0, true);
  const double least = problem.value(exact), distance = reference::dot(reference::product(d, exact), exact);
  double before = problem.value(start);
  reference::proximal_gradient(problem, start, 300, 0, [&](int k, const Vector& x) {
    const double now = problem.value(x);
    EXPECT_LE(now, before) << k;
    EXPECT_LE(now - least, distance / (2 * k)) << k;
    before = now;
  });
  reference::fista(problem, start, 300, 0, false, [&](int k, const Vector& x) {
    EXPECT_LE(problem.value(x) - least, 2 * distance / ((k + 1.0) * (k + 1.0))) << k;
  });
}

TEST(Penalised, ProximalStepsNeverLeadUphill) {
  const Penalised problem = tiny(40, 0.1);
  double before = std::numeric_limits<double>::infinity();
  reference::proximal_gradient(problem, Vector(problem.A.columns(), 0.01), 100, 300, [&](int k, const Vector& x) {
    const double now = problem.value(x);
    EXPECT_LE(now, before * (1 + 1e-9)) << k;
    before = now;
  });
}

TEST(Penalised, TwoMethodsFindTheSameMinimum) {
  for (const double lambda : {5.0, 40.0, 300.0}) {
    const Penalised problem = tiny(lambda, 0.1);
    const Vector start(problem.A.columns(), 0.01);
    const Vector one = reference::fista(problem, start, 3000, 10, true);
    const Spdhg other = reference::spdhg(problem, reference::rays_of(tiny_scan().scene, 12), start,
                                         {.passes = 400, .inner = 20, .order = permutations(24, 12), .look = {}});
    EXPECT_NEAR(problem.value(one), problem.value(other.x), 1e-7 * problem.value(one)) << lambda;
    const double bound = problem.dual_value(other.r, reference::polished(problem, other, 2000));
    EXPECT_LE(bound, problem.value(other.x) * (1 + 1e-12)) << lambda;
    EXPECT_LE(problem.value(other.x) - bound, 1e-5 * problem.value(one)) << lambda;
  }
}

// Random weights, some of them 0, on 4 x 4 x 2 voxels; sparse rows; data that no x fits.
Penalised random_problem(unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> uniform;
  const reference::Lattice lattice{{4, 4, 2}, {1, 1 + uniform(random), 0.5}};
  const std::size_t voxels = lattice.count(), rays = 24 + seed % 30;
  std::vector<RayMatrix::Entry> entries;
  for (std::size_t ray = 0; ray < rays; ++ray)
    for (std::size_t n = 0; n < voxels; ++n)
      if (uniform(random) < 0.3 && !(seed % 5 == 0 && n == 7)) entries.push_back({ray, n, uniform(random)});
  Vector b, w;
  for (std::size_t ray = 0; ray < rays; ++ray) {
    b.push_back(6 * uniform(random) - 1);
    w.push_back(uniform(random) < 0.1 ? 0 : 100 * uniform(random));
  }
  const double lambda = seed % 7 == 0 ? 0 : std::pow(10, 3 * uniform(random) - 1),
               lower = seed % 3 == 0 ? -0.5 * uniform(random) : 0;
  return {RayMatrix(rays, voxels, entries), b, w, lattice, lambda, lower, 0.5 + uniform(random)};
}

TEST(Penalised, TheBoundNeverLiesAboveTheMinimum) {
  double largest = 0;
  for (unsigned seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(seed);
    const Penalised problem = random_problem(seed);
    reference::RaySubsets subsets(4);
    for (std::size_t ray = 0; ray < problem.b.size(); ++ray) subsets[ray % 4].push_back(ray);
    std::vector<double> bounds;
    double least = std::numeric_limits<double>::infinity();
    const auto look = [&](int passes, const Spdhg& state) {
      least = std::min(least, problem.value(state.x));
      bounds.push_back(problem.dual_value(state.r, state.q));
      if (passes % 50 == 0) {
        bounds.push_back(problem.dual_value(state.r, reference::polished(problem, state, 30)));
        bounds.push_back(problem.dual_value(problem.residual(state.x), state.q));
      }
    };
    const Spdhg found = reference::spdhg(problem, subsets, Vector(problem.A.columns(), 0.1),
                                         {.passes = 1500, .inner = 2, .order = permutations(4, 4, seed), .look = look});
    const double other = problem.value(reference::fista(problem, found.x, 1000, 20, true));
    least = std::min(least, other);
    const double best = *std::max_element(bounds.begin(), bounds.end());
    EXPECT_LE(best, least + 1e-9 * std::abs(least));
    largest = std::max(largest, (least - best) / least);
  }
  EXPECT_LT(largest, 1e-4) << "and comes close";
}

// Iterations until RMS differences to the minimiser, parts of 0.02 per mm, and a relative gap.
struct Passes {
  int to_10 = 0, to_3 = 0, to_1 = 0, to_gap = 0;  // 1e-2, 3e-3, 1e-3, 0.1
};

// Checks that the bound holds at every pass, too.
Passes passes_needed(const Penalised& problem, const reference::RaySubsets& subsets, const Vector& start,
                     const Vector& exact, SpdhgRun run) {
  const double least = problem.value(exact);
  Passes result;
  const auto note = [](int& at, bool reached, int passes) {
    if (at == 0 && reached) at = passes;
  };
  run.look = [&](int passes, const Spdhg& state) {
    const double away = reference::rms_difference(state.x, exact) / 0.02, value = problem.value(state.x),
                 gap = value - problem.dual_value(state.r, reference::polished(problem, state, 50));
    EXPECT_GE(gap, value - least) << passes;
    note(result.to_10, away <= 1e-2, passes);
    note(result.to_3, away <= 3e-3, passes);
    note(result.to_1, away <= 1e-3, passes);
    note(result.to_gap, gap <= 0.1 * value, passes);
  };
  reference::spdhg(problem, subsets, start, run);
  return result;
}

TEST(Penalised, SpdhgNeedsFewPasses) {
  const auto scan = reference::penalised_scan(64, 60, 2e4, 6);
  const auto& [scene, truth, problem] = scan;
  const Vector start = reference::scaled_fdk(scan);
  const auto subsets_of = [&scene = scene](int subsets) { return reference::rays_of(scene, subsets); };
  const Vector exact =
      reference::spdhg(problem, subsets_of(30), start, {.passes = 300, .order = permutations(60, 30), .look = {}}).x;
  // passes to 1e-3 and to the gap, a fifth more than found
  for (const auto& [subsets, passes, passes_to_gap] :
       {std::array{10, 47, 39}, std::array{30, 34, 26}, std::array{60, 32, 21}}) {
    SCOPED_TRACE(subsets);
    const Passes needed = passes_needed(problem, subsets_of(subsets), start, exact,
                                        {.passes = passes, .order = permutations(60, subsets), .look = {}});
    EXPECT_GT(needed.to_1, 0);
    EXPECT_GT(needed.to_gap, 0);
    EXPECT_LE(needed.to_gap, passes_to_gap);
  }
}

}  // namespace
}  // namespace halocline::penalised_answers_test
