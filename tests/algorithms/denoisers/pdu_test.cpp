// labels: device
#include "algorithms/denoisers/pdu.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "algorithms/denoisers/registry.hpp"
#include "algorithms/support/slice_sums.hpp"
#include "scheduling/execution/program_run.hpp"
#include "tests/reference/projector_scenes.hpp"
#include "tests/reference/tv_reference.hpp"
#include "tests/support/case_name.hpp"

namespace halocline::pdu_test {
namespace {

using reference::image_of;
using reference::lattice_of;

// A ball off the centre and noise.
Volume noisy_ball(const std::array<std::size_t, 3>& size, const std::array<double, 3>& spacing) {
  Grid grid{.size = size, .spacing = spacing};
  Volume volume(grid);
  std::mt19937 generator(7);
  std::normal_distribution<double> normal;
  for (std::size_t n = 0; n < volume.voxels.size(); ++n) {
    const double x = static_cast<double>(n % size[0]) - 0.4 * static_cast<double>(size[0]);
    const double y = static_cast<double>(n / size[0] % size[1]) - 0.3 * static_cast<double>(size[1]);
    const double z = static_cast<double>(n / grid.slice()) - 0.6 * static_cast<double>(size[2]);
    volume.voxels[n] = static_cast<float>((std::hypot(x, y, z) < 4 ? 1 : 0) + 0.2 * normal(generator));
  }
  return volume;
}

MethodParameters parameters_for(const Volume& f, double lambda, int iterations,
                                Schedule schedule = Schedule::standard) {
  MethodParameters parameters;
  parameters.size = f.grid.size;
  parameters.spacing = f.grid.spacing;
  parameters.lambda = lambda;
  parameters.iterations = iterations;
  parameters.schedule = schedule;
  return parameters;
}

struct Outcome {
  Volume u;
  int iterations;
  bool converged;
  std::vector<IterationRecord> history;
};

Outcome run(const Volume& f, const MethodParameters& parameters) {
  Pdu method(parameters);
  auto result = run_program(method.program(), {{"f", &f}}, f.grid, open_devices({}));
  return {std::move(result.output), result.iterations, method.converged(), method.history()};
}

double distance2(const Volume& u, const reference::Image& v) {
  double sum = 0;
  for (std::size_t n = 0; n < v.size(); ++n) sum += (u.voxels[n] - v[n]) * (u.voxels[n] - v[n]);
  return sum;
}

struct Case {
  std::array<std::size_t, 3> size;
  Schedule schedule;
};

class PduReference : public testing::TestWithParam<Case> {};

TEST_P(PduReference, ImageAndCertificateAreThoseOfTheDefinition) {
  const auto [size, schedule] = GetParam();
  const Volume f = noisy_ball(size, {0.5, 0.8, 1.7});
  const auto outcome = run(f, parameters_for(f, 0.1, 23, schedule));
  const auto exact = reference::primal_dual(lattice_of(f), image_of(f), {}, 0.1, schedule, 23);
  EXPECT_EQ(outcome.iterations, 23);
  // The seed's negative steps amplify rounding along with the image.
  const double amplified = schedule == Schedule::seed ? 30 : 1;
  for (std::size_t n = 0; n < exact.u.size(); ++n) ASSERT_NEAR(outcome.u.voxels[n], exact.u[n], 3e-6 * amplified) << n;
  const auto& last = outcome.history.back();
  EXPECT_EQ(last.iteration, 23);
  EXPECT_NEAR(last.primal, exact.primal, 1e-5 * exact.primal);
  EXPECT_NEAR(last.gap, exact.primal - exact.dual, 1e-5 * exact.primal);
  EXPECT_NEAR(last.dual, exact.dual, 2e-5 * exact.primal);
  EXPECT_NEAR(last.total_variation, reference::total_variation(lattice_of(f), exact.u), 1e-5 * exact.primal / 0.1);
  EXPECT_NEAR(last.fidelity * last.fidelity, distance2(f, exact.u), 2e-5 * exact.primal);
}

INSTANTIATE_TEST_SUITE_P(SizesAndSchedules, PduReference,
                         testing::Values(Case{{1, 1, 1}, Schedule::standard}, Case{{1, 1, 9}, Schedule::standard},
                                         Case{{93, 1, 7}, Schedule::standard}, Case{{93, 7, 13}, Schedule::standard},
                                         Case{{17, 37, 23}, Schedule::standard}, Case{{17, 37, 23}, Schedule::seed},
                                         Case{{7, 1, 12}, Schedule::seed}, Case{{17, 37, 23}, Schedule::zhu_chan},
                                         Case{{17, 37, 23}, Schedule::chambolle_pock},
                                         Case{{1, 1, 9}, Schedule::chambolle_pock}),
                         [](const auto& each) { return case_name(each.param); });

TEST(Pdu, FloatPairsSumLikeDoubles) {
  const Volume f = noisy_ball({70, 41, 5}, {1, 1, 2});
  auto parameters = parameters_for(f, 0.1, 30);
  const auto doubles = run(f, parameters);
  parameters.variants.fp64 = false;
  const auto pairs = run(f, parameters);
  EXPECT_EQ(doubles.u.voxels, pairs.u.voxels);
  const auto &a = doubles.history.back(), &b = pairs.history.back();
  EXPECT_NEAR(a.primal, b.primal, 1e-7 * a.primal);
  EXPECT_NEAR(a.fidelity, b.fidelity, 1e-7 * a.fidelity);
  EXPECT_NEAR(a.gap, b.gap, 1e-7 * a.primal);
}

TEST(Pdu, SumsOfTheKernelsForGpusAreTheSame) {
  const Volume f = noisy_ball({70, 41, 5}, {1, 1, 2});
  auto parameters = parameters_for(f, 0.1, 30);
  const auto a = run(f, parameters).history.back();
  parameters.variants.gpu = true;
  const auto b = run(f, parameters).history.back();
  // float32 terms there, float64 ones here; the sums are float64
  EXPECT_NEAR(a.primal, b.primal, 1e-8 * a.primal);
  EXPECT_NEAR(a.gap, b.gap, 1e-8 * a.primal);
}

TEST(Pdu, GapBoundsTheDistanceToTheSolution) {
  const Volume f = noisy_ball({16, 15, 14}, {1, 1, 1});
  const auto solution = reference::primal_dual(lattice_of(f), image_of(f), {}, 0.2, Schedule::chambolle_pock, 6000);
  ASSERT_LT(solution.primal - solution.dual, 1e-7 * solution.primal);
  double last = std::numeric_limits<double>::infinity();
  for (const double gap : {1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6}) {
    auto parameters = parameters_for(f, 0.2, 2000);
    parameters.gap = gap;
    const auto outcome = run(f, parameters);
    const auto& record = outcome.history.back();
    EXPECT_TRUE(outcome.converged) << gap;
    EXPECT_LE(record.relative_gap, gap);
    EXPECT_LE(distance2(outcome.u, solution.u), 2 * record.gap) << gap;
    EXPECT_GE(record.primal, solution.primal * (1 - 1e-6));
    EXPECT_LE(record.dual, solution.primal * (1 + 1e-6));
    EXPECT_LT(record.gap, last);
    last = record.gap;
  }
}

TEST(Pdu, GapIsTakenAtFixedIterationNumbers) {
  const Pdu method(MethodParameters{});
  std::vector<int> numbers;
  for (int n = -1; n < 300;) numbers.push_back(n = method.next_reduction(n));
  EXPECT_EQ(numbers, (std::vector<int>{5,   10,  15,  20,  25,  30,  35,  40,  45,  50,  60,  70,  80,  90, 100,
                                       110, 120, 130, 140, 150, 160, 170, 180, 190, 200, 225, 250, 275, 300}));
}

TEST(Pdu, SeedScheduleRisesFirstAndComesDownLater) {
  const Volume f = noisy_ball({24, 24, 24}, {1, 1, 1});
  const auto seed = run(f, parameters_for(f, 0.1, 500, Schedule::seed)).history;
  const auto standard = run(f, parameters_for(f, 0.1, 100)).history;
  const double start = 0.1 * reference::total_variation(lattice_of(f), image_of(f));  // u = f
  EXPECT_EQ(seed[2].iteration, 15);
  EXPECT_GT(seed[2].primal, 2 * start);
  EXPECT_NEAR(seed.back().primal, standard.back().primal, 1e-3 * start);
  for (const auto& record : standard) EXPECT_LT(record.primal, start) << record.iteration;
}

TEST(Pdu, ConstantVolumesStayAndAreCertifiedAtOnce) {
  Grid grid{.size = {9, 8, 7}};
  const Volume f(grid, 3.25f);
  auto parameters = parameters_for(f, 0.1, 100);
  parameters.gap = 1e-3;
  const auto outcome = run(f, parameters);
  EXPECT_EQ(outcome.u.voxels, f.voxels);
  EXPECT_TRUE(outcome.converged);
  EXPECT_EQ(outcome.iterations, 5);
  EXPECT_EQ(outcome.history.back().relative_gap, 0);
}

TEST(Pdu, UnreachedGapIsSaid) {
  const Volume f = noisy_ball({16, 16, 16}, {1, 1, 1});
  auto parameters = parameters_for(f, 0.1, 7);
  parameters.gap = 1e-6;
  const auto outcome = run(f, parameters);
  EXPECT_FALSE(outcome.converged);
  EXPECT_EQ(outcome.iterations, 7);
  EXPECT_EQ(outcome.history.back().iteration, 7);
}

// Odd rows have one column a work-item, and so the most sums.
TEST(Pdu, LongOddRowsHaveRoomForTheirSums) {
  const Grid grid = default_grid({2049, 3, 3}, {1, 1, 1});
  const Volume f = reference::random_volume(grid, 5);
  MethodParameters parameters{.size = grid.size, .iterations = 3, .lambda = 0.2};
  const auto last = [&](KernelVariants variants) {
    parameters.variants = variants;
    const auto method = make_denoiser("pdu", parameters);
    run_program(method->program(), {{"f", &f}}, grid, open_devices({}));
    return method->history().back();
  };
  const auto cpu = last({}), gpu = last({true, true});
  EXPECT_NEAR(gpu.gap, cpu.gap, 1e-6 * cpu.primal);
  EXPECT_NEAR(gpu.primal, cpu.primal, 1e-6 * cpu.primal);
  const auto need = make_denoiser("pdu", parameters)->requirements();
  const auto partials = std::find_if(need.arrays.begin(), need.arrays.end(),
                                     [](const ArrayNeed& array) { return array.name == "partials"; });
  EXPECT_GE(partials->elements, 3 * SliceSums(grid.size, 3).march({}, {0, 3}, 1).sets);
}

}  // namespace
}  // namespace halocline::pdu_test
