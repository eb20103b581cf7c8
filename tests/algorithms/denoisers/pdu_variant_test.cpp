// labels: device dealt
#include "algorithms/denoisers/pdu_variant.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "algorithms/denoisers/registry.hpp"
#include "scheduling/execution/program_run.hpp"
#include "tests/reference/variant_reference.hpp"

namespace halocline::pdu_variant_test {
namespace {

using reference::Field;
using reference::grid_of;
using reference::Image;
using reference::image_of;
using reference::lattice_of;
using reference::VariantProblem;
using reference::weights_with_holes;

// A ball off the centre, and noise.
Volume ball(const Grid& grid, double noise, unsigned seed) {
  Volume volume(grid);
  std::mt19937 generator(seed);
  std::normal_distribution<double> normal;
  for (std::size_t n = 0; n < volume.voxels.size(); ++n) {
    const double x = static_cast<double>(n % grid.size[0]) - 0.4 * static_cast<double>(grid.size[0]);
    const double y = static_cast<double>(n / grid.size[0] % grid.size[1]) - 0.3 * static_cast<double>(grid.size[1]);
    const double z = static_cast<double>(n / grid.slice()) - 0.6 * static_cast<double>(grid.size[2]);
    volume.voxels[n] = static_cast<float>((std::hypot(x, y, z) < 4 ? 1 : 0) + noise * normal(generator));
  }
  return volume;
}

// Inputs of a device, and the same for the oracle.
struct Scene {
  Volume f, w, reference;
  MethodParameters parameters;
  bool weighted;

  Scene(const Grid& grid, const Regulariser& regulariser, bool with_weights, double lambda)
      : f(ball(grid, 0.2, 7)), w(weights_with_holes(grid)), reference(ball(grid, 0.02, 8)), weighted(with_weights) {
    for (auto& value : reference.voxels) value = 5 - 3 * value;
    parameters.size = grid.size;
    parameters.spacing = grid.spacing;
    parameters.lambda = lambda;
    parameters.regulariser = regulariser;
    if (weighted) parameters.largest_weight = *std::max_element(w.voxels.begin(), w.voxels.end());
  }

  VariantProblem problem() const {
    return {lattice_of(f),          image_of(f),        weighted ? image_of(w) : Image(), parameters.lambda,
            parameters.regulariser, image_of(reference)};
  }

  struct Outcome {
    Image u;
    std::vector<IterationRecord> history;
  };
  Outcome run(int iterations, Schedule schedule = Schedule::standard) const {
    auto used = parameters;
    used.iterations = iterations;
    used.schedule = schedule;
    const auto method = make_denoiser(weighted ? "spdu" : "pdu", used);
    std::map<std::string, const Volume*> inputs;
    for (const auto& need : method->requirements().arrays)
      if (need.lifetime == Lifetime::input)
        inputs[need.name] = need.name == "f" ? &f : need.name == "w" ? &w : &reference;
    const auto result = run_program(method->program(), inputs, f.grid, open_devices({}));
    return {image_of(result.output), method->history()};
  }
};

struct Case {
  reference::NamedRegulariser member;
  std::array<std::size_t, 3> size;
  bool weighted = false;
  Schedule schedule = Schedule::standard;
};

void PrintTo(const Case& c, std::ostream* out) {
  *out << c.member.name << (c.weighted ? " weighted " : " ") << c.size[0] << "x" << c.size[1] << "x" << c.size[2] << " "
       << schedule_name(c.schedule);
}

std::vector<Case> cases() {
  std::vector<Case> result;
  for (const auto& member : reference::regularisers()) {
    for (const auto& size : {std::array<std::size_t, 3>{1, 1, 9}, {93, 1, 7}, {17, 37, 23}})
      for (const bool weighted : {false, true}) result.push_back({member, size, weighted});
    for (const bool weighted : {false, true}) {
      result.push_back({member, {17, 7, 13}, weighted, Schedule::chambolle_pock});
      result.push_back({member, {17, 7, 13}, weighted, Schedule::seed});
    }
  }
  for (const auto& member : reference::regularisers()) result.push_back({member, {1, 1, 1}});
  return result;
}

class PduVariantReference : public testing::TestWithParam<Case> {};

TEST_P(PduVariantReference, ImageAndCertificateAreThoseOfTheDefinition) {
  const auto& [member, size, weighted, schedule] = GetParam();
  const Scene scene(grid_of(size, {0.5, 0.8, 1.7}), member.regulariser, weighted, 0.1);
  const auto outcome = scene.run(21, schedule);
  const auto exact = variant_primal_dual(scene.problem(), schedule, 21);
  // The seed's negative steps amplify rounding along with the image.
  const double amplified = schedule == Schedule::seed ? 100 : 1;
  for (std::size_t n = 0; n < exact.u.size(); ++n) ASSERT_NEAR(outcome.u[n], exact.u[n], 5e-6 * amplified) << n;
  const auto& last = outcome.history.back();
  EXPECT_EQ(last.iteration, 21);
  EXPECT_NEAR(last.primal, exact.primal, 1e-5 * exact.primal + 1e-9);
  EXPECT_NEAR(last.gap, exact.primal - exact.dual, 1e-5 * exact.primal + 1e-9);
  EXPECT_NEAR(last.dual, exact.dual, 2e-5 * exact.primal + 1e-9);
}

INSTANTIATE_TEST_SUITE_P(Family, PduVariantReference, testing::ValuesIn(cases()), [](const auto& info) {
  const auto& c = info.param;
  auto name = c.member.name + (c.weighted ? "_weighted_" : "_") + schedule_name(c.schedule);
  for (const auto n : c.size) name += "_" + std::to_string(n);
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

class PduVariantFamily : public testing::TestWithParam<std::tuple<reference::NamedRegulariser, bool>> {};

TEST_P(PduVariantFamily, GapBoundsTheDistanceToTheSolution) {
  const auto& [member, weighted] = GetParam();
  const Scene scene(grid_of({14, 13, 9}, {1, 1, 2}), member.regulariser, weighted, 0.2);
  const auto problem = scene.problem();
  const auto solution = variant_primal_dual(problem, Schedule::standard, 6000);
  ASSERT_LT(solution.primal - solution.dual, 1e-6 * solution.primal);
  ASSERT_GT(solution.primal - solution.dual, -1e-12 * solution.primal);
  for (const int iterations : {5, 20, 100, 300}) {
    const auto outcome = scene.run(iterations);
    const auto& last = outcome.history.back();
    double distance2 = 0;
    for (std::size_t n = 0; n < problem.f.size(); ++n) {
      const double weight = weighted ? problem.w[n] : 1;
      if (weight > 0) distance2 += std::pow(outcome.u[n] - solution.u[n], 2) / weight;
      ASSERT_GE(outcome.u[n], static_cast<float>(member.regulariser.minimum)) << n;
      ASSERT_LE(outcome.u[n], static_cast<float>(member.regulariser.maximum)) << n;
    }
    // lambda, delta and |q| <= lambda are float32: the bounds hold to that
    EXPECT_LE(distance2, 2 * last.gap + 1e-7 * solution.primal) << iterations;
    EXPECT_GE(last.primal, solution.dual * (1 - 1e-6));  // never below the minimum
    EXPECT_LE(last.dual, solution.primal * (1 + 1e-6));  // the bound never above it
    EXPECT_NEAR(last.primal, variant_primal(problem, outcome.u), 1e-6 * last.primal);
    EXPECT_LT(last.relative_gap, 3.0 / iterations);
  }
}

TEST_P(PduVariantFamily, TheOracleHasAnAdjointAndNoLargerNorm) {
  const auto& [member, weighted] = GetParam();
  const Scene scene(grid_of({9, 6, 5}, {0.5, 0.8, 1.7}), member.regulariser, weighted, 0.2);
  const auto problem = scene.problem();
  std::mt19937 generator(3);
  std::normal_distribution<double> normal;
  Image u(problem.f.size());
  Field q{u, u, u};
  for (auto& value : u) value = normal(generator);
  for (auto& component : q)
    for (auto& value : component) value = normal(generator);
  EXPECT_NEAR(reference::inner(variant_gradient(problem, u), q), -reference::inner(u, variant_divergence(problem, q)),
              1e-11);
  double norm2 = 0;
  for (int n = 0; n < 200; ++n) {
    u = variant_divergence(problem, variant_gradient(problem, u));
    norm2 = std::sqrt(reference::inner(u, u));
    for (auto& value : u) value /= norm2;
  }
  EXPECT_LE(norm2, gradient_norm2(problem.lattice.size, problem.lattice.spacing));
}

INSTANTIATE_TEST_SUITE_P(Family, PduVariantFamily,
                         testing::Combine(testing::ValuesIn(reference::regularisers()), testing::Bool()),
                         [](const auto& info) {
                           return std::get<0>(info.param).name + (std::get<1>(info.param) ? "_weighted" : "");
                         });

// Two voxels: solved by hand.
class TwoVoxels : public testing::Test {
 protected:
  std::array<double, 2> solve(double a, double b, const Regulariser& regulariser, double lambda) const {
    Scene scene(grid_of({2, 1, 1}, {1, 1, 1}), regulariser, false, lambda);
    scene.f.voxels = {static_cast<float>(a), static_cast<float>(b)};
    scene.reference.voxels = {3, 5};
    const auto u = scene.run(400).u;
    return {u[0], u[1]};
  }
};

TEST_F(TwoVoxels, HuberIsQuadraticBelowDelta) {
  Regulariser huber;
  huber.variation = Variation::huber;
  huber.huber_delta = 0.5;
  // below: both go to the middle by lambda d / delta, d the new difference: d = (b - a) / (1 + 2 lambda / delta)
  const auto small = solve(0, 0.6, huber, 0.1);
  EXPECT_NEAR(small[1] - small[0], 0.6 / 1.4, 3e-6);
  EXPECT_NEAR(small[0] + small[1], 0.6, 3e-6);
  // beyond: each goes by lambda
  const auto large = solve(0, 2, huber, 0.1);
  EXPECT_NEAR(large[0], 0.1, 3e-6);
  EXPECT_NEAR(large[1], 1.9, 3e-6);
}

TEST_F(TwoVoxels, BoundsHoldAndTheOtherVoxelKnows) {
  Regulariser boxed{.maximum = 1};
  // alone, the step would go from (0, 2) to (0.1, 1.9), and then be cut; the first voxel still moves by lambda
  const auto u = solve(0, 2, boxed, 0.1);
  EXPECT_NEAR(u[0], 0.1, 3e-6);
  EXPECT_EQ(u[1], 1);
  boxed.maximum = 0.05;  // below what the first voxel would go to: it stops there
  EXPECT_NEAR(solve(0, 2, boxed, 0.1)[0], 0.05, 3e-6);
}

TEST_F(TwoVoxels, EdgesOfTheReferenceAreFree) {
  Regulariser guided{.guided = true};
  guided.reference_eta = 1e-3;  // the reference's step is 2
  const auto free = solve(0, 1, guided, 0.2);
  EXPECT_NEAR(free[0], 0, 3e-6);
  EXPECT_NEAR(free[1], 1, 3e-6);
  guided.reference_strength = 0.25;  // a quarter off: lambda acts at three quarters
  const auto cheaper = solve(0, 1, guided, 0.2);
  EXPECT_NEAR(cheaper[0], 0.15, 3e-6);
  EXPECT_NEAR(cheaper[1], 0.85, 3e-6);
}

TEST(PduVariant, AnisotropicVariationIsThatOfEachAxis) {
  // A corner voxel of a 2 x 2 image stands out: both its differences count in full.
  Regulariser anisotropic;
  anisotropic.variation = Variation::anisotropic;
  Scene scene(grid_of({2, 2, 1}, {1, 1, 1}), anisotropic, false, 0.1);
  scene.f.voxels = {1, 0, 0, 0};
  const auto u = scene.run(400).u;
  EXPECT_NEAR(u[0], 0.8, 3e-6);
  // what it loses the others gain, the same each: the differences between them are free to be 0
  for (int n = 1; n < 4; ++n) EXPECT_NEAR(u[n], 0.2 / 3, 3e-6) << n;
}

TEST(PduVariant, FloatPairsAndTheKernelsForGpusSumLikeDoubles) {
  for (const auto& member : reference::regularisers()) {
    if (member.name != "anisotropic" && member.name != "guided_huber_boxed") continue;  // the others are parts of it
    Scene scene(grid_of({70, 41, 5}, {1, 1, 2}), member.regulariser, true, 0.1);
    const auto a = scene.run(20).history.back();
    scene.parameters.variants.fp64 = false;
    const auto b = scene.run(20).history.back();
    scene.parameters.variants = {.fp64 = true, .gpu = true};
    const auto c = scene.run(20).history.back();
    EXPECT_NEAR(a.primal, b.primal, 1e-6 * a.primal) << member.name;
    EXPECT_NEAR(a.gap, b.gap, 1e-6 * a.primal) << member.name;
    EXPECT_NEAR(a.primal, c.primal, 1e-12 * a.primal) << member.name;
    EXPECT_NEAR(a.gap, c.gap, 1e-12 * a.primal) << member.name;
  }
}

TEST(PduVariant, ABoxThatCutsNothingIsPlain) {
  Regulariser wide{.minimum = -100};
  for (const bool weighted : {false, true}) {
    Scene scene(grid_of({33, 20, 9}, {1, 0.5, 2}), wide, weighted, 0.1);
    const auto boxed = scene.run(30);
    scene.parameters.regulariser = {};
    const auto plain = scene.run(30);
    for (std::size_t n = 0; n < plain.u.size(); ++n) ASSERT_NEAR(boxed.u[n], plain.u[n], 2e-6) << n;
    EXPECT_NEAR(boxed.history.back().gap, plain.history.back().gap, 1e-5 * plain.history.back().primal);
  }
}

}  // namespace
}  // namespace halocline::pdu_variant_test
