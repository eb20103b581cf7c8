// labels: device dealt
// The strengths that the rules choose, against the best by search.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "algorithms/denoise/denoise.hpp"
#include "algorithms/denoise/parameter_choice.hpp"
#include "algorithms/noise/noise_estimate.hpp"
#include "algorithms/phantoms/phantoms.hpp"
#include "host/system/error.hpp"
#include "tests/reference/projector_scenes.hpp"
#include "tests/reference/tv_reference.hpp"
#include "tests/support/noise_volumes.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/rms.hpp"

namespace halocline::strength_test {
namespace {

ValueRange range_of(const Volume& volume) {
  return value_range(MemorySource(volume));
}

using reference::device;
using testing::HasSubstr;

Grid grid_of(const std::array<std::size_t, 3>& size) {
  return {.size = size};
}

Volume with_noise(Volume volume, double sigma, unsigned seed, const Volume* variance = nullptr) {
  std::mt19937_64 generator(seed);
  std::normal_distribution<double> normal;
  for (std::size_t n = 0; n < volume.voxels.size(); ++n)
    volume.voxels[n] +=
        static_cast<float>(sigma * normal(generator) * (variance != nullptr ? std::sqrt(variance->voxels[n]) : 1));
  return volume;
}

Volume phantom(const std::string& name, const std::array<std::size_t, 3>& size) {
  if (name == "balls") return reference::two_balls(size[0], 0);
  if (name == "foam") return foam(size, 2.5, 5);
  if (name == "fine_foam") return foam(size, 1.5, 3);
  return voxelise(name == "blade" ? PhantomType::blade : PhantomType::shepp_logan_hc, grid_of(size),
                  static_cast<double>(size[0]), 1);
}

DenoiseParameters by(const std::string& rule, const Volume* weights = nullptr) {
  return {.method = weights != nullptr ? "spdu" : "pdu", .strength = rule};
}

/// The least RMSE over lambdas of 0.3 to 3 times sigma in steps of a fifth, and where.
struct Best {
  double lambda = 0, error = std::numeric_limits<double>::infinity();
};
Best search(const Volume& f, const Volume* weights, const Volume& truth, double sigma) {
  Best best;
  for (double lambda = 0.3 * sigma; lambda < 3 * sigma; lambda *= std::exp2(0.25)) {
    auto parameters = by("auto", weights);
    parameters.alpha = 1 / lambda;
    const double error = rms(denoise(f, weights, parameters, device()).output, truth);
    if (error < best.error) best = {lambda, error};
  }
  return best;
}

struct Case {
  const char* name;
  std::string object;
  std::array<std::size_t, 3> size;
  double sigma;
  double change;  // of the noise's standard deviation from end to end of x
  bool weights;   // given, or not
};

class WhiteNoise : public testing::TestWithParam<Case> {};

TEST_P(WhiteNoise, AutoComesNearTheBest) {
  const auto& c = GetParam();
  const Volume truth = phantom(c.object, c.size);
  Volume variance(truth.grid);
  for (std::size_t n = 0; n < variance.voxels.size(); ++n)
    variance.voxels[n] = static_cast<float>(
        std::pow(c.change * c.change, static_cast<double>(n % c.size[0]) / static_cast<double>(c.size[0]) - 0.5));
  const Volume f = with_noise(truth, c.sigma, 1, &variance);
  for (auto& value : variance.voxels) value *= static_cast<float>(c.sigma * c.sigma);
  const Volume* weights = c.weights ? &variance : nullptr;
  const Best best = search(f, weights, truth, c.sigma);
  const auto chosen = denoise(f, weights, by("auto", weights), device());
  EXPECT_LT(rms(chosen.output, truth), 1.02 * best.error) << "lambda " << chosen.lambda << ", best " << best.lambda;
  EXPECT_THAT(chosen.alpha_choice, HasSubstr("Monte Carlo SURE with a noise of "));
  EXPECT_THAT(chosen.alpha_choice, testing::Not(HasSubstr("neighbours")));
  const auto discrepancy = denoise(f, weights, by("discrepancy", weights), device());
  EXPECT_NEAR(rms(discrepancy.output, f), discrepancy.noise_sigma, 0.01 * discrepancy.noise_sigma);
}

INSTANTIATE_TEST_SUITE_P(Objects, WhiteNoise,
                         testing::Values(Case{"balls_gentle", "balls", {48, 48, 48}, 0.03, 1, false},
                                         Case{"balls", "balls", {48, 48, 48}, 0.1, 1, false},
                                         Case{"balls_strong", "balls", {48, 48, 48}, 0.3, 1, false},
                                         Case{"shepp_logan_gentle", "shepp_logan", {48, 48, 48}, 0.02, 1, false},
                                         Case{"shepp_logan", "shepp_logan", {48, 48, 48}, 0.1, 1, false},
                                         Case{"blade", "blade", {48, 48, 48}, 0.1, 1, false},
                                         Case{"foam", "foam", {48, 48, 48}, 0.1, 1, false},
                                         Case{"fine_foam_strong", "fine_foam", {48, 48, 48}, 0.2, 1, false},
                                         Case{"fine_foam_gentle", "fine_foam", {48, 48, 48}, 0.05, 1, false},
                                         Case{"foam_slice", "foam", {96, 96, 1}, 0.1, 1, false},
                                         Case{"small_foam_slice", "foam", {64, 64, 1}, 0.2, 1, false},
                                         Case{"small_fine_foam_slice", "fine_foam", {64, 64, 1}, 0.2, 1, false},
                                         Case{"slice", "shepp_logan", {192, 192, 1}, 0.1, 1, false},
                                         Case{"threefold", "balls", {48, 48, 48}, 0.1, 3, false},
                                         Case{"threefold_weighted", "balls", {48, 48, 48}, 0.1, 3, true},
                                         Case{"ninefold_weighted", "blade", {48, 48, 48}, 0.1, 9, true}),
                         [](const auto& info) { return info.param.name; });

// Factor from the lambda found at sqrt(1 + t^2) times the noise to that of the noise itself.
TEST(Strength, TheBestLambdaIsProportionalToTheNoise) {
  for (const char* object : {"balls", "blade"}) {
    const Volume truth = phantom(object, {32, 32, 32});
    std::vector<double> lambdas;
    for (const double sigma : {0.1, 0.2}) {
      // between the steps of the search by a parabola over log lambda
      const Volume f = with_noise(truth, sigma, 1);
      const double middle = search(f, nullptr, truth, sigma).lambda, step = std::exp2(0.25);
      std::array<double, 3> errors;
      for (int n = 0; n < 3; ++n) {
        auto parameters = by("auto");
        parameters.alpha = 1 / (middle * std::pow(step, n - 1));
        errors[n] = rms(denoise(f, nullptr, parameters, device()).output, truth);
      }
      const double shift = 0.5 * (errors[0] - errors[2]) / (errors[0] - 2 * errors[1] + errors[2]);
      lambdas.push_back(middle * std::pow(step, shift));
    }
    EXPECT_NEAR(lambdas[1] / lambdas[0], 2, 0.25) << object;
  }
}

TEST(Strength, HalvesWithWhiteNoiseComeNearTheBestToo) {
  const Volume truth = phantom("balls", {48, 48, 48});
  const Volume a = with_noise(truth, 0.1 * std::sqrt(2.0), 1), b = with_noise(truth, 0.1 * std::sqrt(2.0), 2);
  Volume f = a;
  for (std::size_t n = 0; n < f.voxels.size(); ++n) f.voxels[n] = (a.voxels[n] + b.voxels[n]) / 2;
  const Best best = search(f, nullptr, truth, 0.1);
  auto parameters = by("auto");
  parameters.half_a = &a;
  parameters.half_b = &b;
  const auto chosen = denoise(f, nullptr, parameters, device());
  EXPECT_LT(rms(chosen.output, truth), 1.02 * best.error) << chosen.lambda << " " << best.lambda;
  EXPECT_THAT(chosen.alpha_choice, HasSubstr("split halves, with a noise of 0.1"));
  EXPECT_NEAR(chosen.noise_sigma, 0.1, 0.002);
  std::swap(parameters.half_a, parameters.half_b);  // d is -d then
  EXPECT_NEAR(denoise(f, nullptr, parameters, device()).lambda, chosen.lambda, 0.05 * chosen.lambda);
  parameters.strength = "halves";
  EXPECT_NEAR(denoise(f, nullptr, parameters, device()).lambda, chosen.lambda, 0.05 * chosen.lambda);
}

// A volume in other units is the same problem: alpha has the unit 1 / (grey value mm).
TEST(Strength, GoesWithGreyValuesAndSpacingAndNotWithOffsets) {
  const Volume truth = phantom("balls", {32, 32, 32});
  Volume a = with_noise(truth, 0.14, 1), b = with_noise(truth, 0.14, 2), f = a;
  for (auto* volume : {&a, &b, &f}) volume->grid.spacing = {1, 2, 0.5};
  for (std::size_t n = 0; n < f.voxels.size(); ++n) f.voxels[n] = (a.voxels[n] + b.voxels[n]) / 2;
  for (const std::string rule : {"sure", "discrepancy", "halves"}) {
    auto parameters = by(rule);
    parameters.half_a = rule == "halves" ? &a : nullptr;
    parameters.half_b = rule == "halves" ? &b : nullptr;
    const auto plain = denoise(f, nullptr, parameters, device());
    struct Units {
      double scale, spacing, offset;
    };
    for (const auto& [scale, spacing, offset] :
         {Units{1000, 1, 0}, {1, 0.1, 0}, {3, 7, 0}, {100, 0.01, 250}, {1, 1, 8}}) {
      const auto changed = [&, s = scale, t = spacing, o = offset](const Volume& volume) {
        Volume out = volume;
        for (auto& value : out.voxels) value = static_cast<float>(s * value + o);
        for (auto& length : out.grid.spacing) length *= t;
        return out;
      };
      const Volume other = changed(f), other_a = changed(a), other_b = changed(b);
      if (rule == "halves") parameters.half_a = &other_a, parameters.half_b = &other_b;
      const auto result = denoise(other, nullptr, parameters, device());
      // rounded to three digits
      EXPECT_NEAR(result.lambda / (scale * spacing), plain.lambda, 0.006 * plain.lambda)
          << rule << " " << scale << " " << spacing << " " << offset;
      const double tolerance = scale * (scale == 3 ? 2e-3 : 1e-4);
      for (std::size_t n = 0; n < f.voxels.size(); ++n)
        ASSERT_NEAR(result.output.voxels[n], scale * plain.output.voxels[n] + offset, tolerance) << rule << " " << n;
    }
  }
}

// Odd and even halves of threefold noise, and what the noise is judged by.
struct Sources {
  Volume a, b, f, variance;
  std::string from;  // estimate, halves, weights, variances (of pdu)

  explicit Sources(std::string source) : from(std::move(source)) {
    Volume truth = phantom("balls", {32, 32, 32});
    truth.grid.spacing = {1, 2, 0.7};
    variance = Volume(truth.grid);
    for (std::size_t n = 0; n < variance.voxels.size(); ++n)
      variance.voxels[n] = static_cast<float>(0.01 * std::pow(9.0, static_cast<double>(n % 32) / 32 - 0.5));
    a = f = with_noise(truth, std::sqrt(2.0), 1, &variance);
    b = with_noise(truth, std::sqrt(2.0), 2, &variance);
    for (std::size_t n = 0; n < f.voxels.size(); ++n) f.voxels[n] = (a.voxels[n] + b.voxels[n]) / 2;
  }
  DenoiseResult run(DenoiseParameters parameters, const std::vector<Device>& devices = device(),
                    const RunOptions& options = {}) const {
    parameters.method = from == "weights" ? "spdu" : "pdu";
    parameters.half_a = from == "halves" ? &a : nullptr;
    parameters.half_b = from == "halves" ? &b : nullptr;
    const bool known = from == "weights" || from == "variances";
    return denoise(f, known ? &variance : nullptr, parameters, devices, options);
  }
};

// Grey values v become scale v + offset. Rounded to float32 these are `exact` in the old units: what is compared is the
// same but for that.
TEST(Strength, InUnitsOfTheNoiseResultsAreTheSameInAllUnits) {
  struct Units {
    double scale, offset, spacing;
  };
  DenoiseParameters parameters{.alpha_sigma = 1.5};
  for (const char* from : {"estimate", "halves", "weights", "variances"})
    for (const auto& [scale, offset, spacing] : {Units{37, 0, 1}, {1, 1000, 1}, {1, 0, 3}, {37, 1000, 3}}) {
      Sources exact(from), other(from);
      for (auto [there, here] :
           {std::pair(&other.f, &exact.f), std::pair(&other.a, &exact.a), std::pair(&other.b, &exact.b)})
        for (std::size_t n = 0; n < there->voxels.size(); ++n) {
          there->voxels[n] = static_cast<float>(scale * there->voxels[n] + offset);
          here->voxels[n] = static_cast<float>((there->voxels[n] - offset) / scale);
        }
      for (auto* volume : {&other.f, &other.a, &other.b, &other.variance})
        for (double& length : volume->grid.spacing) length *= spacing;
      for (float& variance : other.variance.voxels) variance *= static_cast<float>(scale * scale);
      const auto plain = exact.run(parameters), result = other.run(parameters);
      SCOPED_TRACE(testing::Message() << from << " " << scale << " " << offset << " " << spacing);
      EXPECT_EQ(result.iterations, plain.iterations);
      // Values that were rounded beside the offset tie, so that the median may be the next detail: of N it is 2.3 / N
      // larger, where the normal distribution has its quartile.
      const double next = 2.3 / static_cast<double>(exact.f.voxels.size());
      EXPECT_NEAR(result.lambda / (scale * spacing), plain.lambda, (offset > 0 ? next : 1e-5) * plain.lambda);
      EXPECT_NEAR(result.alpha_sigma, 1.5, 1e-12);
      EXPECT_NEAR(plain.alpha * plain.noise_sigma * std::cbrt(1.4), 1.5, 1e-12);
      EXPECT_NEAR(plain.noise_sigma, rms(exact.f, phantom("balls", {32, 32, 32})), 0.1 * plain.noise_sigma);
      // rounding of the output, of the image in every unit, and of lambda
      const double tolerance = 0x1p-24 * (1.5 * scale + offset) / scale + 1e-5;
      for (std::size_t n = 0; n < exact.f.voxels.size(); ++n)
        ASSERT_NEAR((result.output.voxels[n] - offset) / scale, plain.output.voxels[n], tolerance) << n;
    }
}

// Pdu's problem has no weights; variances of its noise choose its strength.
TEST(Strength, VariancesTellPduTheNoise) {
  for (const std::string object : {"balls", "fine_foam"}) {
    const Volume truth = phantom(object, {40, 40, 40});
    Volume variance(truth.grid);
    double sum = 0;
    for (std::size_t n = 0; n < variance.voxels.size(); ++n)
      sum += variance.voxels[n] =
          static_cast<float>(0.01 * std::pow(9.0, static_cast<double>(n % 40) / 40 - 0.5));  // threefold
    const Volume f = with_noise(truth, 1, 1, &variance);
    const auto run = [&](const Volume& volume, const std::string& rule, const Volume& variances) {
      DenoiseParameters parameters{.strength = rule};
      return denoise(volume, &variances, parameters, device());
    };
    const auto discrepancy = run(f, "discrepancy", variance), sure = run(f, "sure", variance);
    const double sigma = std::sqrt(sum / static_cast<double>(f.voxels.size()));
    EXPECT_NEAR(discrepancy.noise_sigma, sigma, 1e-6);
    EXPECT_NEAR(sure.noise_sigma, sigma, 1e-6);
    // the search ends within 0.1 % and the gap, and lambda is rounded by 0.5 % at most
    EXPECT_NEAR(rms(discrepancy.output, f), sigma, 0.01 * sigma);
    EXPECT_LT(rms(sure.output, truth), 1.02 * search(f, nullptr, truth, sigma).error);
    for (const auto* result : {&discrepancy, &sure}) {
      EXPECT_THAT(result->alpha_choice, HasSubstr(" from the variances"));
      EXPECT_THAT(result->warnings, testing::IsEmpty());
    }
    Volume scaled = f, larger = variance;
    for (auto& value : scaled.voxels) value = 37 * value + 1000;
    for (auto& value : larger.voxels) value *= 37 * 37;
    for (const auto& [rule, plain] : {std::pair("discrepancy", &discrepancy), {"sure", &sure}})
      EXPECT_NEAR(run(scaled, rule, larger).lambda / 37, plain->lambda, 0.006 * plain->lambda) << rule;
    EXPECT_THAT(run(f, "sure", larger).warnings,
                testing::Contains(HasSubstr(fmt::format("`weights` say that the noise is {:.3g}, and", 37 * sigma))));
  }
}

TEST(Strength, InUnitsOfTheNoiseSmallerIsSmoother) {
  for (const char* from : {"estimate", "halves", "weights", "variances"}) {
    const Sources sources(from);
    double last = 0;
    for (const double alpha : {6.0, 3.0, 1.5}) {
      DenoiseParameters parameters{.alpha_sigma = alpha};
      const double fidelity = sources.run(parameters).fidelity;
      EXPECT_GT(fidelity, 1.1 * last) << from << alpha;
      last = fidelity;
    }
  }
}

TEST(Strength, WhatARunReportsInUnitsOfTheNoiseIsItsAlpha) {
  for (const char* from : {"estimate", "halves", "weights", "variances"}) {
    const Sources sources(from);
    for (const std::string rule : {"auto", "discrepancy", "target"}) {
      if (rule == "discrepancy" && sources.from == "halves") continue;  // goes by the volume alone
      DenoiseParameters parameters;
      if (rule != "target")
        parameters.strength = rule;
      else if (sources.from == "variances")
        continue;
      else
        parameters.target_fidelity = 15;
      const auto chosen = sources.run(parameters);
      ASSERT_TRUE(std::isfinite(chosen.alpha_sigma)) << from << rule;
      if (rule == "target" && sources.from == "halves") continue;
      parameters = {};
      parameters.alpha_sigma = chosen.alpha_sigma;
      const auto given = sources.run(parameters);
      EXPECT_NEAR(given.alpha, chosen.alpha, 1e-12 * chosen.alpha) << from << rule;
      EXPECT_THAT(given.alpha_choice, HasSubstr("for a noise of "));
    }
    if (sources.from == "variances") continue;
    DenoiseParameters parameters{.alpha = 15};
    EXPECT_TRUE(std::isnan(sources.run(parameters).alpha_sigma)) << from;  // the noise was not needed
  }
}

TEST(Strength, InUnitsOfTheNoiseSlabsAndDevicesGiveTheSameBits) {
  DenoiseParameters parameters{.alpha_sigma = 2};
  for (const char* from : {"estimate", "halves", "weights", "variances"}) {
    const Sources sources(from);
    const auto one = sources.run(parameters, reference::undivided());
    RunOptions slabs{.plan = {.minimum_slabs = 5}};
    EXPECT_EQ(sources.run(parameters, reference::undivided(), slabs).output.voxels, one.output.voxels) << from;
    slabs.plan.minimum_slabs = 2;
    EXPECT_EQ(sources.run(parameters, reference::sub_devices(2), slabs).output.voxels, one.output.voxels) << from;
  }
}

TEST(Strength, TheMeanSpacingIsOfAxesWithNeighbours) {
  Grid grid = grid_of({4, 1, 5});
  grid.spacing = {2, 1000, 8};
  EXPECT_DOUBLE_EQ(mean_spacing(grid), 4);
  grid.size = {1, 1, 1};
  EXPECT_EQ(mean_spacing(grid), 1);
}

TEST(Strength, DoesNotDependOnDevicesOrSlabs) {
  const Volume f = with_noise(phantom("balls", {32, 32, 32}), 0.1, 1);
  const auto one = denoise(f, nullptr, by("auto"), reference::undivided());
  const auto two = denoise(f, nullptr, by("auto"), reference::sub_devices(2));
  EXPECT_EQ(one.lambda, two.lambda);
  EXPECT_EQ(one.output.voxels, two.output.voxels);
  EXPECT_EQ(one.lambda, denoise(f, nullptr, by("sure"), reference::undivided()).lambda);  // of a fixed seed
}

TEST(Strength, LargeVolumesAreJudgedByTheirCentralPart) {
  const Volume truth = phantom("shepp_logan", {1500, 1500, 1});
  const Volume f = with_noise(truth, 0.1, 1);
  ParameterProblem problem{.parameters = {.spacing = f.grid.spacing}, .inputs = {{"f", &f}}};
  const auto choice = choose_parameter("auto", problem, device());
  EXPECT_THAT(choice.how, HasSubstr("on the central 1448 x 1448 x 1 voxels"));
  EXPECT_NEAR(choice.sigma, 0.1, 0.002);
  EXPECT_EQ(choice.lambda, std::stod(testing::PrintToString(choice.lambda)));
  EXPECT_GT(choice.lambda, 0.05);
  EXPECT_LT(choice.lambda, 0.3);
}

TEST(Strength, FilledBackgroundHasNoNoise) {
  const Volume truth = phantom("balls", {40, 40, 40});
  Volume f = with_noise(truth, 0.1, 1);
  for (std::size_t n = 0; n < f.voxels.size(); ++n)
    if (truth.voxels[n] == 0) f.voxels[n] = 0;
  const Best best = search(f, nullptr, truth, 0.1);
  const auto chosen = denoise(f, nullptr, by("auto"), device());
  EXPECT_LT(rms(chosen.output, truth), 1.02 * best.error) << chosen.lambda << " " << best.lambda;
}

TEST(Strength, NoiseAloneIsSmoothedAway) {
  const Volume f = with_noise(Volume(grid_of({32, 32, 32})), 0.1, 1);
  const auto chosen = denoise(f, nullptr, by("auto"), device());
  EXPECT_LT(rms(chosen.output, Volume(f.grid)), 0.003);
}

// Slices, rows and blocks of two voxels in every direction; a single voxel has nothing to go by.
TEST(Strength, ThinVolumesHaveOneToo) {
  for (const auto& size : {std::array<std::size_t, 3>{80, 80, 1},
                           {80, 1, 80},
                           {1, 80, 80},
                           {500, 1, 1},
                           {1, 500, 1},
                           {1, 1, 500},
                           {93, 7, 13},
                           {2, 2, 2},
                           {2, 1, 1}}) {
    Volume truth(grid_of(size));
    for (std::size_t n = 0; n < truth.voxels.size(); ++n) truth.voxels[n] = 2 * n < truth.voxels.size() ? 0.0f : 1.0f;
    const Volume a = with_noise(truth, 0.14, 1), b = with_noise(truth, 0.14, 2);
    Volume f = a;
    for (std::size_t n = 0; n < f.voxels.size(); ++n) f.voxels[n] = (a.voxels[n] + b.voxels[n]) / 2;
    for (const std::string rule : {"auto", "sure", "discrepancy", "halves"}) {
      auto parameters = by(rule);
      parameters.half_a = rule == "halves" ? &a : nullptr;
      parameters.half_b = rule == "halves" ? &b : nullptr;
      const auto result = denoise(f, nullptr, parameters, device());
      EXPECT_GT(result.lambda, 0) << rule << testing::PrintToString(size);
      EXPECT_TRUE(std::isfinite(result.lambda)) << rule << testing::PrintToString(size);
      if (f.voxels.size() < 100) continue;
      EXPECT_LT(rms(result.output, truth), 0.8 * rms(f, truth)) << rule << testing::PrintToString(size);
    }
  }
}

void expect_refused(const std::string& rule, const Volume& f, const Volume* a, const Volume* b,
                    const std::string& text) {
  auto parameters = by(rule);
  parameters.half_a = a;
  parameters.half_b = b;
  EXPECT_THAT(refusal_of([&] { denoise(f, nullptr, parameters, device()); }), HasSubstr(text)) << rule;
}

TEST(Strength, WithoutAnythingToGoByItSaysSo) {
  const Volume voxel(grid_of({1, 1, 1}), 3), other(voxel.grid, 4);
  const Volume flat(grid_of({9, 9, 9}), 2);
  for (const std::string rule : {"auto", "sure", "discrepancy"})
    for (const auto& [volume, text] : {std::pair(&voxel, "single voxel, so there is nothing to choose alpha by: give"),
                                       std::pair(&flat, "no noise can be measured")}) {
      ParameterProblem problem{.inputs = {{"f", volume}}};
      EXPECT_THAT([&] { choose_parameter(rule, problem, device()); },
                  testing::ThrowsMessage<InputError>(HasSubstr(text)))
          << rule;
    }
  expect_refused("halves", voxel, &voxel, &other, "single voxel");
  expect_refused("halves", flat, &flat, &flat, "the two volumes are the same");
  Volume bad = with_noise(phantom("balls", {16, 16, 16}), 0.1, 1);
  const Volume good = bad;
  bad.voxels[1234] = std::numeric_limits<float>::quiet_NaN();
  for (const std::string rule : {"auto", "sure"}) expect_refused(rule, bad, nullptr, nullptr, "NaN or infinite");
  expect_refused("halves", good, &good, &bad, "NaN or infinite");
}

TEST(Strength, HalvesMustBeThoseOfTheVolume) {
  const Volume truth = phantom("balls", {16, 16, 16});
  const Volume a = with_noise(truth, 0.1, 1), b = with_noise(truth, 0.1, 2);
  Volume doubled = a, moved = b;
  for (auto& value : doubled.voxels) value *= 2;
  moved.grid.origin[2] = 1;
  expect_refused("halves", a, nullptr, nullptr, "`strength = halves` needs `half_a, half_b`");
  expect_refused("halves", a, &a, nullptr, "`strength = halves` needs `half_a, half_b`");
  expect_refused("auto", a, &a, &moved, "the volume and `half_b` must lie");
  expect_refused("auto", doubled, &a, &b, "their mean is not the volume that is denoised");
  const Volume other = with_noise(phantom("balls", {16, 16, 16}), 0.1, 3);
  expect_refused("halves", a, &a, &other, "their mean is not the volume that is denoised");  // one half is
}

TEST(Strength, WhereNothingHappensItIsSaid) {
  const Volume f = with_noise(phantom("balls", {20, 20, 20}), 0.1, 1);
  const auto warning = [&](double alpha, const std::string& method = "pdu") {
    DenoiseParameters parameters{.method = method, .alpha = alpha, .iterations = 3000};
    const Volume weights(f.grid, 1);
    return fmt::format(
        "{}", fmt::join(denoise(f, method == "spdu" ? &weights : nullptr, parameters, device()).warnings, "\n"));
  };
  for (const std::string method : {"pdu", "spdu"}) {
    EXPECT_EQ(warning(15, method), "");
    EXPECT_THAT(warning(1e6, method), HasSubstr("hardly anything was changed"));
    EXPECT_THAT(warning(1e6, method),
                HasSubstr(fmt::format("below 1/1000 of the noise of {:.3g}", estimate_noise(f).sigma)));
    EXPECT_THAT(warning(1e6, method), HasSubstr("an `alpha` below 1e+06 smooths more"));
    EXPECT_THAT(warning(0.01, method), HasSubstr("nothing is left"));
    EXPECT_THAT(warning(0.01, method), HasSubstr("an `alpha` above 0.01 smooths less"));
  }
  DenoiseParameters parameters{.alpha = 1};
  for (const std::size_t n : {1, 9})
    EXPECT_THAT(denoise(Volume(grid_of({n, n, n}), 2), nullptr, parameters, device()).warnings,
                testing::ElementsAre(HasSubstr("the volume is constant")));
  EXPECT_THAT(effect_warning(range_of(f), range_of(f), 1e-6, 0), HasSubstr("the grey values' range of "));
}

}  // namespace
}  // namespace halocline::strength_test
