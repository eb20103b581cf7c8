// labels: device slab error
// The error to a truth in the records of denoise(): against double precision, on any slabs, without an effect on the
// result.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "algorithms/denoise/denoise.hpp"
#include "tests/reference/projector_scenes.hpp"
#include "tests/reference/tv_reference.hpp"
#include "tests/support/kept_states.hpp"
#include "tests/support/refusal.hpp"

namespace halocline::denoise_truth_test {
namespace {

constexpr std::size_t edge = 20;
constexpr float offset = 5;  // grey values far from 0

Volume raised(Volume volume) {
  for (float& voxel : volume.voxels) voxel += offset;
  return volume;
}

const Volume& noisy() {
  static const Volume volume = raised(reference::two_balls(edge, 0.1, 1));
  return volume;
}
const Volume& truth() {
  static const Volume volume = raised(reference::two_balls(edge, 0, 1));
  return volume;
}
const Volume& weights() {
  static const Volume volume = reference::ramp_weights(edge);
  return volume;
}

struct Case {
  const char* name;
  const char* method;
  int iterations;
  Variation variation = Variation::isotropic;
};

DenoiseParameters parameters_of(const Case& each, bool compared) {
  DenoiseParameters parameters;
  parameters.method = each.method;
  parameters.iterations = each.iterations;
  parameters.regulariser.variation = each.variation;
  if (parameters.method.ends_with("pdu")) parameters.alpha = 10, parameters.gap = 1e-12;
  if (parameters.method == "tvgd") parameters.step = 0.01;
  if (compared) parameters.truth = &truth();
  return parameters;
}

DenoiseResult denoised(const DenoiseParameters& parameters, const RunOptions& options = {},
                       const std::vector<Device>& devices = reference::device()) {
  return denoise(noisy(), parameters.method == "spdu" ? &weights() : nullptr, parameters, devices, options);
}

class DenoiseTruth : public testing::TestWithParam<Case> {};

TEST_P(DenoiseTruth, IsComparedWithWhereverThereIsARecord) {
  const DenoiseResult result = denoised(parameters_of(GetParam(), true));
  EXPECT_GE(result.history.size(), GetParam().iterations == 1 ? 1u : 3u);
  double seconds = 0;
  for (const IterationRecord& record : result.history) {
    SCOPED_TRACE(record.iteration);
    DenoiseParameters until = parameters_of(GetParam(), false);
    until.iterations = std::max(1, record.iteration);
    const Volume u = record.iteration == 0 ? noisy() : denoised(until).output;
    double error2 = 0, norm2 = 0;
    for (std::size_t n = 0; n < u.voxels.size(); ++n) {
      const double wanted = truth().voxels[n];
      error2 += (u.voxels[n] - wanted) * (u.voxels[n] - wanted);
      norm2 += wanted * wanted;
    }
    const double rmse = std::sqrt(error2 / static_cast<double>(u.voxels.size()));
    EXPECT_NEAR(record.truth_rmse, rmse, 1e-5 * rmse);  // grey values of u are rounded again by the offset
    EXPECT_NEAR(record.truth_relative, std::sqrt(error2 / norm2), 1e-5 * std::sqrt(error2 / norm2));
    EXPECT_GE(record.seconds, seconds);
    seconds = record.seconds;
  }
  EXPECT_EQ(result.truth_rmse, result.history.back().truth_rmse);
  EXPECT_GT(seconds, 0);
}

TEST_P(DenoiseTruth, ChangesNoBitOfTheResult) {
  const DenoiseResult with = denoised(parameters_of(GetParam(), true)),
                      without = denoised(parameters_of(GetParam(), false));
  EXPECT_TRUE(with.output.voxels == without.output.voxels);
  ASSERT_EQ(with.history.size(), without.history.size());
  for (std::size_t n = 0; n < with.history.size(); ++n) {
    EXPECT_EQ(with.history[n].iteration, without.history[n].iteration);
    EXPECT_TRUE(std::isnan(without.history[n].truth_rmse));
  }
}

TEST_P(DenoiseTruth, IsComparedToTheSameBitsOnAnySlabsAndDevices) {
  const auto parameters = parameters_of(GetParam(), true);
  const DenoiseResult whole = denoised(parameters, {}, reference::undivided());
  const auto expect_same = [&](const DenoiseResult& other) {
    EXPECT_TRUE(other.output.voxels == whole.output.voxels);
    ASSERT_EQ(other.history.size(), whole.history.size());
    for (std::size_t n = 0; n < whole.history.size(); ++n)
      EXPECT_EQ(other.history[n].truth_rmse, whole.history[n].truth_rmse);
  };
  for (const int slabs : {3, 7}) {
    const DenoiseResult other = denoised(parameters, {.plan = {.minimum_slabs = slabs}}, reference::undivided());
    EXPECT_GE(other.plan.slabs.size(), static_cast<std::size_t>(slabs));
    expect_same(other);
  }
  expect_same(denoised(parameters, {}, reference::sub_devices(2)));
}

INSTANTIATE_TEST_SUITE_P(Methods, DenoiseTruth,
                         testing::Values(Case{"pdu", "pdu", 30}, Case{"spdu", "spdu", 30}, Case{"tvgd", "tvgd", 5},
                                         Case{"anisotropic", "pdu", 30, Variation::anisotropic},
                                         Case{"median", "median", 1}),
                         [](const auto& info) { return info.param.name; });

TEST(DenoiseTruths, KeepTheirRecordsInCheckpoints) {
  const auto parameters = parameters_of({"", "pdu", 30}, true);
  KeptStates memory, kept;
  RunOptions options;
  options.checkpoint_store = &memory;
  options.keep_every = 0;
  const auto whole = denoised(parameters, options).history;
  ASSERT_FALSE(memory.all.empty());
  kept.from = &memory.all.back();
  options.checkpoint_store = &kept;
  const auto resumed = denoised(parameters, options).history;
  ASSERT_EQ(resumed.size(), whole.size());
  for (std::size_t n = 0; n < whole.size(); ++n) EXPECT_EQ(resumed[n].truth_rmse, whole[n].truth_rmse);
  EXPECT_EQ(resumed.front().seconds, whole.front().seconds);
}

TEST(DenoiseTruths, AreThoseOfEachStageOfAPath) {
  DenoiseParameters parameters = parameters_of({"", "pdu", 20}, true);
  parameters.alpha.reset();
  parameters.alpha_path = {20, 5};
  const DenoiseResult result = denoised(parameters);
  ASSERT_EQ(result.stages.size(), 2u);
  EXPECT_NE(result.stages[0].last.truth_rmse, result.stages[1].last.truth_rmse);
  EXPECT_EQ(result.stages[1].last.truth_rmse, result.truth_rmse);
}

TEST(DenoiseTruths, AreRefusedWhereTheyDoNotFit) {
  DenoiseParameters parameters = parameters_of({"", "pdu", 2}, false);
  Volume wrong = truth();
  parameters.truth = &wrong;
  const auto refusal = [&] { return refusal_of([&] { denoised(parameters); }); };
  wrong.voxels[7] = std::numeric_limits<float>::infinity();
  EXPECT_NE(refusal().find("`truth`"), std::string::npos);
  wrong = truth();
  wrong.grid.spacing[0] *= 2;
  EXPECT_NE(refusal().find("`truth`"), std::string::npos);
  wrong = Volume(Grid{.size = {edge, edge, edge + 1}}, 1);
  EXPECT_NE(refusal().find("`truth`"), std::string::npos);
}

TEST(DenoiseTruths, ArePlanned) {
  const auto bytes = [](bool compared) {
    DenoiseParameters parameters = parameters_of({"", "pdu", 30}, false);
    parameters.compared = compared;
    return plan_denoise(noisy().grid, parameters, reference::device()).slabs.front().bytes;
  };
  EXPECT_GE(bytes(true), bytes(false) + sizeof(float) * noisy().voxels.size());
}

}  // namespace
}  // namespace halocline::denoise_truth_test
