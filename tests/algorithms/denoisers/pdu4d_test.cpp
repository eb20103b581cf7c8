// labels: device slab
#include "algorithms/denoisers/pdu4d.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

#include "algorithms/denoise/denoise.hpp"
#include "algorithms/denoise/frames.hpp"
#include "host/system/error.hpp"
#include "scheduling/execution/program_run.hpp"
#include "tests/reference/frames_reference.hpp"
#include "tests/reference/projector_scenes.hpp"
#include "tests/support/case_name.hpp"
#include "tests/support/rms.hpp"

namespace halocline::pdu4d_test {
namespace {

using reference::device;
using reference::Image;
using reference::image_of;
using reference::Lattice4;

constexpr double time_weight = 2.3;

// A ball that grows from frame to frame, and noise.
Volume growing_ball(const std::array<std::size_t, 4>& size, const std::array<double, 3>& spacing, double noise,
                    double start = 2, double growth = 0.5) {
  Grid grid{.size = {size[0], size[1], size[2]}, .spacing = spacing};
  Volume stack(stacked_grid(grid, size[3]));
  std::mt19937 generator(7);
  std::normal_distribution<double> normal;
  for (std::size_t n = 0; n < stack.voxels.size(); ++n) {
    double distance2 = 0;
    for (int axis = 0; axis < 3; ++axis) {
      const std::size_t stride = axis == 0 ? 1 : axis == 1 ? size[0] : size[0] * size[1];
      distance2 += std::pow(static_cast<double>(n / stride % size[axis]) - 0.4 * static_cast<double>(size[axis]), 2);
    }
    const double radius = start + growth * static_cast<double>(n / grid.count());
    stack.voxels[n] = static_cast<float>((distance2 < radius * radius ? 1 : 0) + noise * normal(generator));
  }
  return stack;
}

Lattice4 lattice_of(const Volume& stack, std::size_t depth) {
  const auto& grid = stack.grid;
  return {{grid.size[0], grid.size[1] / depth, depth, grid.size[2]},
          {grid.spacing[0], grid.spacing[1], grid.spacing[2], time_weight}};
}

MethodParameters parameters_for(const Volume& stack, std::size_t depth, double lambda, int iterations,
                                Schedule schedule = Schedule::standard) {
  MethodParameters parameters;
  parameters.size = stack.grid.size;
  parameters.spacing = stack.grid.spacing;
  parameters.lambda = lambda;
  parameters.iterations = iterations;
  parameters.schedule = schedule;
  parameters.time = {time_weight, depth};
  return parameters;
}

struct Outcome {
  Volume u;
  std::vector<IterationRecord> history;
};

Outcome run(const Volume& stack, const MethodParameters& parameters, const std::vector<Device>& devices = device(),
            const PlanOptions& plan = {}) {
  Pdu4d method(parameters);
  RunOptions options{.plan = plan};
  auto result = run_program(method.program(), {{"f", &stack}}, stack.grid, devices, options);
  EXPECT_GE(result.plan.slabs.size(), static_cast<std::size_t>(plan.minimum_slabs));
  return {std::move(result.output), method.history()};
}

struct Case {
  std::array<std::size_t, 4> size;
  Schedule schedule;
};

class Pdu4dReference : public testing::TestWithParam<Case> {};

TEST_P(Pdu4dReference, FramesAndCertificateAreThoseOfTheDefinition) {
  const auto& [size, schedule] = GetParam();
  const Volume f = growing_ball(size, {0.5, 0.8, 1.7}, 0.2);
  const auto outcome = run(f, parameters_for(f, size[2], 0.1, 23, schedule));
  const auto exact = primal_dual(lattice_of(f, size[2]), image_of(f), 0.1, schedule, 23);
  for (std::size_t n = 0; n < exact.u.size(); ++n) ASSERT_NEAR(outcome.u.voxels[n], exact.u[n], 3e-6) << n;
  const auto& last = outcome.history.back();
  EXPECT_EQ(last.iteration, 23);
  EXPECT_NEAR(last.primal, exact.primal, 1e-5 * exact.primal);
  EXPECT_NEAR(last.gap, exact.primal - exact.dual, 1e-5 * exact.primal);
  EXPECT_NEAR(last.dual, exact.dual, 2e-5 * exact.primal);
}

INSTANTIATE_TEST_SUITE_P(
    SizesAndSchedules, Pdu4dReference,
    testing::Values(Case{{1, 1, 1, 1}, Schedule::standard}, Case{{1, 1, 1, 9}, Schedule::standard},
                    Case{{9, 7, 5, 1}, Schedule::standard}, Case{{93, 7, 1, 5}, Schedule::standard},
                    Case{{17, 1, 13, 7}, Schedule::standard}, Case{{13, 11, 9, 7}, Schedule::standard},
                    Case{{13, 11, 9, 7}, Schedule::chambolle_pock}, Case{{7, 2, 2, 2}, Schedule::chambolle_pock}),
    [](const auto& each) { return case_name(each.param); });

TEST(Pdu4d, GapBoundsTheDistanceToTheSolution) {
  const Volume f = growing_ball({9, 8, 7, 6}, {1, 1, 2}, 0.2);
  const auto lattice = lattice_of(f, 7);
  const auto solution = primal_dual(lattice, image_of(f), 0.1, Schedule::standard, 3000);
  ASSERT_LT(solution.primal - solution.dual, 1e-10 * solution.primal);
  const double slack = 0x1p-22 * solution.primal;  // a float32 q is longer than lambda by a few roundings
  for (const int iterations : {5, 20, 100, 300}) {
    const auto outcome = run(f, parameters_for(f, 7, 0.1, iterations));
    const auto& last = outcome.history.back();
    double distance2 = 0;
    for (std::size_t n = 0; n < solution.u.size(); ++n) distance2 += std::pow(outcome.u.voxels[n] - solution.u[n], 2);
    EXPECT_LE(distance2, 2 * (last.gap + slack)) << iterations;
    double energy = 0;
    const auto d = gradient(lattice, image_of(outcome.u));
    for (std::size_t n = 0; n < solution.u.size(); ++n)
      energy += 0.5 * std::pow(outcome.u.voxels[n] - f.voxels[n], 2) +
                0.1 * std::hypot(std::hypot(d[0][n], d[1][n], d[2][n]), d[3][n]);
    EXPECT_NEAR(last.primal, energy, 1e-6 * energy);
    EXPECT_GE(energy, last.dual - slack);
    EXPECT_GE(solution.primal, last.dual - slack);
    EXPECT_LT(last.relative_gap, 3.0 / iterations);
  }
}

TEST(Pdu4d, TheStepsKnowTheTimeAxis) {
  // ||D||^2 of the oracle by the power method: near the bound that the steps are made for, never above it.
  const Volume f = growing_ball({6, 5, 4, 9}, {0.5, 0.8, 1.7}, 1);
  Lattice4 lattice = lattice_of(f, 4);
  lattice.spacing[3] = 0.3;  // time dominates
  Image u = image_of(f);
  double norm2 = 0;
  for (int n = 0; n < 300; ++n) {
    u = divergence(lattice, gradient(lattice, u));
    norm2 = std::sqrt(reference::inner(u, u));
    for (auto& value : u) value /= norm2;
  }
  const double expected = 4 * (1 / 0.25 + 1 / 0.64 + 1 / (1.7 * 1.7) + 1 / 0.09);
  EXPECT_LE(norm2, expected);
  EXPECT_GT(norm2, 0.8 * expected);
  auto parameters = parameters_for(f, 4, 0.1, 300);
  parameters.time.weight = 0.3;
  EXPECT_LT(run(f, parameters).history.back().relative_gap, 1e-3);
}

TEST(Pdu4d, OneFrameIsPduAndTwoDimensionsWithTimeAreThree) {
  const Volume one = growing_ball({17, 11, 9, 1}, {0.5, 0.8, 1.7}, 0.2);
  Volume frame = take_frame(one, 0, frame_grid(one.grid, 9));
  auto parameters = parameters_for(one, 9, 0.1, 30);
  const auto of_one = run(one, parameters);
  parameters.size = frame.grid.size;
  Pdu pdu(parameters);
  EXPECT_EQ(run_program(pdu.program(), {{"f", &frame}}, frame.grid, device()).output.voxels, of_one.u.voxels);

  const Volume flat = growing_ball({17, 11, 1, 9}, {0.5, 0.8, 1.7}, 0.2);
  parameters = parameters_for(flat, 1, 0.1, 30);
  const auto of_flat = run(flat, parameters);
  parameters.spacing[2] = time_weight;
  Pdu three(parameters);
  const auto output = run_program(three.program(), {{"f", &flat}}, flat.grid, device()).output;
  for (std::size_t n = 0; n < output.voxels.size(); ++n) ASSERT_NEAR(output.voxels[n], of_flat.u.voxels[n], 1e-6) << n;
}

TEST(Pdu4d, RangesOfFramesGiveTheBitsOfAll) {
  const Volume f = growing_ball({13, 7, 5, 9}, {0.5, 0.8, 1.7}, 0.2);
  for (const auto schedule : {Schedule::standard, Schedule::chambolle_pock, Schedule::seed}) {
    const auto parameters = parameters_for(f, 5, 0.1, 17, schedule);
    const auto one = run(f, parameters);
    const auto expect_same = [&](const Outcome& other) {
      EXPECT_EQ(0, std::memcmp(one.u.voxels.data(), other.u.voxels.data(), 4 * one.u.voxels.size()));
      EXPECT_EQ(one.history.back().gap, other.history.back().gap);
      EXPECT_EQ(one.history.back().primal, other.history.back().primal);
    };
    for (const int slabs : {2, 4})
      for (const int exchange : {1, 3, 0})
        expect_same(run(f, parameters, device(), {.minimum_slabs = slabs, .iterations_per_exchange = exchange}));
    if (device().front().info().cpu()) {
      DeviceSelection two{.device = std::to_string(device().front().info().index), .sub_devices = 2};
      expect_same(run(f, parameters, open_devices(two), {.minimum_slabs = 2}));
    }
  }
}

TEST(Pdu4d, FloatPairsAndTheKernelsForGpusSumLikeDoubles) {
  const Volume f = growing_ball({70, 9, 5, 4}, {1, 1, 2}, 0.2);
  auto parameters = parameters_for(f, 5, 0.1, 20);
  const auto a = run(f, parameters).history.back();
  parameters.variants.fp64 = false;
  const auto b = run(f, parameters).history.back();
  parameters.variants = {.fp64 = true, .gpu = true};
  const auto c = run(f, parameters).history.back();
  EXPECT_NEAR(a.gap, b.gap, 1e-7 * a.primal);
  EXPECT_NEAR(a.gap, c.gap, 1e-12 * a.primal);
}

TEST(Frames, NoiseIsWhatNeitherTextureNorChangeExplains) {
  const std::array<std::size_t, 4> size{24, 20, 16, 6};
  const Volume noisy = growing_ball(size, {1, 1, 1}, 0.1, 4, 0);
  EXPECT_NEAR(estimate_noise_of_frames(noisy, 16).noise.sigma, 0.1, 0.005);
  Volume textured = noisy, flickering = noisy;
  for (std::size_t n = 0; n < noisy.voxels.size(); ++n) {
    const std::size_t voxel = n % noisy.grid.slice(), frame = n / noisy.grid.slice();
    textured.voxels[n] += voxel * 2654435761u % 1000 < 500 ? 1.0f : -1.0f;
    flickering.voxels[n] += frame % 2 == 0 ? 1.0f : -1.0f;
  }
  const auto of_texture = estimate_noise_of_frames(textured, 16), of_flicker = estimate_noise_of_frames(flickering, 16);
  EXPECT_TRUE(of_texture.between_frames);
  EXPECT_NEAR(of_texture.noise.sigma, 0.1, 0.005);
  EXPECT_FALSE(of_flicker.between_frames);
  EXPECT_NEAR(of_flicker.noise.sigma, 0.1, 0.01);  // of 7680 voxels, a third of them near an edge
  const Volume two = growing_ball({24, 20, 16, 2}, {1, 1, 1}, 0.1, 4, 0);
  EXPECT_NEAR(estimate_noise_of_frames(two, 16).noise.sigma, 0.1, 0.005);
}

TEST(Frames, AlphaIsChosenByTheNoise) {
  const Volume f = growing_ball({20, 18, 16, 10}, {1, 1, 1}, 0.2);
  DenoiseParameters parameters{.method = "pdu4d"};
  parameters.time = {1.0, 16};
  const auto result = denoise(f, nullptr, parameters, device());
  EXPECT_TRUE(result.converged);
  EXPECT_NEAR(result.noise_sigma, 0.2, 0.02);
  EXPECT_NEAR(rms(result.output, f), result.noise_sigma, 0.02 * result.noise_sigma);
  EXPECT_THAT(result.alpha_choice, testing::HasSubstr("discrepancy principle"));
}

TEST(Frames, AlphaGoesWithTheSpacing) {
  for (const std::array<std::size_t, 4>& size : {std::array<std::size_t, 4>{12, 10, 8, 6}, {1, 1, 1, 60}}) {
    Volume f = growing_ball(size, {1, 1, 1}, 0.2);
    DenoiseParameters parameters{.method = "pdu4d"};
    parameters.time = {1.0, size[2]};
    if (f.grid.slice() == 1) parameters.target_fidelity = 0.5;  // a single voxel shows no noise
    const double lambda = denoise(f, nullptr, parameters, device()).lambda;
    for (const double scale : {1e-9, 1e7}) {
      f.grid.spacing = {scale, scale, scale};
      parameters.time.weight = scale;
      const auto result = denoise(f, nullptr, parameters, device());
      EXPECT_TRUE(result.rule_met) << scale;
      EXPECT_NEAR(result.lambda / scale, lambda, 0.006 * lambda) << scale;  // rounded to three digits
    }
  }
}

TEST(Frames, InUnitsOfTheNoiseResultsAreTheSameInAllUnits) {
  Volume f = growing_ball({20, 18, 16, 6}, {1, 1.5, 1}, 0.2);
  DenoiseParameters parameters{.method = "pdu4d", .alpha_sigma = 1.5};
  parameters.time = {1.2, 16};
  Volume scaled = f;
  for (std::size_t n = 0; n < f.voxels.size(); ++n) {
    scaled.voxels[n] = 37 * f.voxels[n] + 1000;
    f.voxels[n] = (scaled.voxels[n] - 1000) / 37;
  }
  const auto plain = denoise(f, nullptr, parameters, device());
  EXPECT_NEAR(plain.alpha * plain.noise_sigma * std::cbrt(1.5), 1.5, 1e-12);
  EXPECT_NEAR(plain.noise_sigma, 0.2, 0.02);
  for (double& length : scaled.grid.spacing) length *= 3;
  parameters.time.weight = 3.6;
  const auto result = denoise(scaled, nullptr, parameters, device());
  EXPECT_EQ(result.iterations, plain.iterations);
  EXPECT_NEAR(result.lambda / (3 * 37), plain.lambda, 1e-5 * plain.lambda);
  for (std::size_t n = 0; n < f.voxels.size(); ++n)
    ASSERT_NEAR((result.output.voxels[n] - 1000) / 37, plain.output.voxels[n], 1e-5) << n;
  // the weight of time says how alike frames are, not how smooth each is
  parameters.time.weight = 100;
  EXPECT_EQ(denoise(scaled, nullptr, parameters, device()).lambda, result.lambda);
  Volume steps(f.grid);  // an edge, and no noise
  for (std::size_t n = 0; n < steps.voxels.size(); ++n) steps.voxels[n] = n % 20 < 7 ? 1.0f : 2.0f;
  EXPECT_THAT([&] { denoise(steps, nullptr, parameters, device()); },
              testing::ThrowsMessage<InputError>(testing::HasSubstr("no noise can be measured in the frames")));
}

// A slow change: the best that separate frames can get is passed.
TEST(Frames, TogetherTheyAreBetterThanAlone) {
  const std::array<std::size_t, 4> size{20, 18, 16, 10};
  const Volume f = growing_ball(size, {1, 1, 1}, 0.2, 4, 0.1), truth = growing_ball(size, {1, 1, 1}, 0, 4, 0.1);
  DenoiseParameters parameters{.method = "pdu4d", .alpha = 12};
  parameters.time = {0.5, 16};
  const double together = rms(denoise(f, nullptr, parameters, device()).output, truth);
  const Grid frame = frame_grid(f.grid, 16);
  for (const double alpha : {6, 8, 10}) {
    DenoiseParameters by_itself{.alpha = alpha};
    Volume alone(f.grid);
    for (std::size_t n = 0; n < size[3]; ++n)
      put_frame(alone, n, denoise(take_frame(f, n, frame), nullptr, by_itself, device()).output);
    EXPECT_LT(together, 0.9 * rms(alone, truth)) << alpha;
  }
}

TEST(Frames, TheThirdAxisCanBeTime) {
  const Volume f = growing_ball({24, 20, 1, 12}, {1, 1, 0.01}, 0.2);
  DenoiseParameters parameters{.alpha = 8};
  parameters.time = {.weight = 1.5};
  const auto timed = denoise(f, nullptr, parameters, device());
  EXPECT_EQ(timed.output.grid.spacing[2], 0.01);
  Volume spaced = f;
  spaced.grid.spacing[2] = 1.5;
  parameters.time = {};
  EXPECT_EQ(timed.output.voxels, denoise(spaced, nullptr, parameters, device()).output.voxels);
}

TEST(Frames, ThePartThatAlphaIsChosenOnIsInTheMiddle) {
  const Volume stack = growing_ball({12, 10, 8, 21}, {1, 1, 1}, 0.1);
  const auto part = central_frames(stack, 8, 16 * 6 * 6 * 6);
  EXPECT_THAT(part.stack.grid.size, testing::ElementsAre(6, 36, 16));
  EXPECT_EQ(part.depth, 6u);
  // frame 2 of the stack is the part's first, from voxel (3, 2, 1) on
  EXPECT_EQ(part.stack.voxels[0], stack.at(3, 2 + 10 * 1, 2));
  EXPECT_EQ(part.stack.voxels.back(), stack.at(8, 7 + 10 * 6, 17));
}

TEST(Frames, WrongOptionsAreNamed) {
  const Volume f = growing_ball({6, 5, 4, 3}, {1, 1, 1}, 0.1);
  const auto expect_refused = [&](const DenoiseParameters& parameters, const std::string& text) {
    try {
      denoise(f, nullptr, parameters, device());
      ADD_FAILURE() << "expected: " << text;
    } catch (const InputError& error) {
      EXPECT_THAT(error.what(), testing::HasSubstr(text));
    }
  };
  DenoiseParameters parameters{.method = "pdu4d"};
  parameters.time = {.depth = 4};
  expect_refused(parameters, "`time.weight` is missing");
  parameters.time.weight = -1;
  expect_refused(parameters, "`time.weight` is -1");
  parameters.time.weight = 1;
  parameters.regulariser.minimum = 0;
  expect_refused(parameters, "`minimum` belongs to the methods pdu and spdu");
  parameters.regulariser = {};
  parameters.method = "tvgd";
  expect_refused(parameters, "`time.weight` belongs to the methods pdu4d, pdu and spdu");
}

}  // namespace
}  // namespace halocline::pdu4d_test
