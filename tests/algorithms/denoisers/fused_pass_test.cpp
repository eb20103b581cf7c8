// labels: unit device slab
// Iterations in single passes: bitwise identical to the kernels that work in place, tiles that fit, the floor of stored
// duals.
#include "algorithms/denoisers/fused_pass.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "algorithms/denoisers/registry.hpp"
#include "algorithms/phantoms/phantoms.hpp"
#include "algorithms/tuning/form_trial.hpp"
#include "scheduling/execution/program_run.hpp"
#include "tests/reference/projector_scenes.hpp"
#include "tests/reference/tv_reference.hpp"

namespace halocline::fused_pass_test {
namespace {

struct Outcome {
  Volume u;
  std::vector<IterationRecord> history;
};

Outcome run(const std::string& name, const Volume& f, const Volume& w, MethodParameters parameters, FusedForm form) {
  parameters.size = f.grid.size;
  parameters.spacing = f.grid.spacing;
  parameters.fused = form;
  parameters.least_weight = 0.1;
  parameters.largest_weight = 1.1;
  const auto method = make_denoiser(name, parameters);
  std::map<std::string, const Volume*> inputs{{"f", &f}};
  if (name == "spdu") inputs["w"] = &w;
  return {run_program(method->program(), inputs, f.grid, open_devices({})).output, method->history()};
}

Volume weights_with_holes(const Grid& grid) {
  Volume w = reference::random_volume(grid, 8);
  for (std::size_t n = 0; n < w.voxels.size(); ++n) w.voxels[n] = n % 13 < 3 ? 0.0f : std::abs(w.voxels[n]) + 0.1f;
  return w;
}

struct Case {
  std::string method;
  std::array<std::size_t, 3> size;
};

class FusedPass : public testing::TestWithParam<Case> {};

TEST_P(FusedPass, HasTheBitsOfTheKernelsInPlace) {
  const Grid grid = default_grid(GetParam().size, {0.7, 1, 1.9});
  const Volume f = reference::random_volume(grid, 7), w = weights_with_holes(grid);
  MethodParameters parameters;
  parameters.iterations = 11;
  parameters.lambda = 0.2;
  const auto in_place = run(GetParam().method, f, w, parameters, {});
  for (const int stages : {1, 2, 3, 4}) {
    const auto fused = run(GetParam().method, f, w, parameters, {stages, 32});
    EXPECT_EQ(0, std::memcmp(in_place.u.voxels.data(), fused.u.voxels.data(), 4 * f.voxels.size())) << stages;
    EXPECT_NEAR(fused.history.back().gap, in_place.history.back().gap, 1e-6 * in_place.history.back().primal);
  }
}

class FusedWeights : public FusedPass {};

TEST_P(FusedWeights, HaveTheBitsOfTheKernelsInPlace) {
  const Grid grid = default_grid(GetParam().size, {0.7, 1, 1.9});
  const Volume f = reference::random_volume(grid, 7), w = weights_with_holes(grid);
  MethodParameters parameters;
  parameters.iterations = 9;
  parameters.lambda = 0.2;
  const Volume plain = run("spdu", f, w, parameters, {}).u;
  parameters.weight_bits = 16;
  const auto in_place = run("spdu", f, w, parameters, {});
  EXPECT_NE(in_place.u.voxels, plain.voxels);
  for (const int stages : {1, 2, 3, 4})
    EXPECT_EQ(run("spdu", f, w, parameters, {stages, 32}).u.voxels, in_place.u.voxels) << stages;
  for (const int dual_bits : {16, 8})
    EXPECT_EQ(run("spdu", f, w, parameters, {1, dual_bits}).u.voxels,
              run("spdu", f, w, parameters, {2, dual_bits}).u.voxels)
        << dual_bits;
}

TEST_P(FusedPass, StoredDualsDoNotDependOnTheStages) {
  const Grid grid = default_grid(GetParam().size, {0.7, 1, 1.9});
  const Volume f = reference::random_volume(grid, 7), w = weights_with_holes(grid);
  MethodParameters parameters;
  parameters.iterations = 9;
  parameters.lambda = 0.2;
  for (const int bits : {16, 8}) {
    const auto one = run(GetParam().method, f, w, parameters, {1, bits});
    for (const int stages : {2, 4}) {
      const auto more = run(GetParam().method, f, w, parameters, {stages, bits});
      EXPECT_EQ(0, std::memcmp(one.u.voxels.data(), more.u.voxels.data(), 4 * f.voxels.size()))
          << bits << " " << stages;
    }
  }
}

std::string name_of(const testing::TestParamInfo<Case>& info) {
  std::string name = info.param.method;
  for (const auto n : info.param.size) name += "_" + std::to_string(n);
  return name;
}

INSTANTIATE_TEST_SUITE_P(Sizes, FusedPass,
                         testing::Values(Case{"pdu", {1, 1, 1}}, Case{"pdu", {93, 17, 7}}, Case{"pdu", {140, 31, 5}},
                                         Case{"pdu", {38, 1, 6}}, Case{"spdu", {93, 17, 7}}, Case{"spdu", {44, 31, 9}}),
                         name_of);

INSTANTIATE_TEST_SUITE_P(Sizes, FusedWeights, testing::Values(Case{"spdu", {93, 17, 7}}, Case{"spdu", {44, 31, 9}}),
                         name_of);

// One part in 32767 of lambda leaves a gap of some 1e-6, one in 127 some 3e-4; the energy of the result never passes
// the bound that another run certifies.
TEST(StoredDuals, ReachTheirFloorAndKeepTheCertificate) {
  const Volume f = reference::two_balls(32, 0.1);
  MethodParameters parameters;
  parameters.iterations = 1500;
  parameters.lambda = 1.0 / 15;
  const auto exact = run("pdu", f, {}, parameters, {}).history.back();
  const auto half = run("pdu", f, {}, parameters, {2, 16}).history.back();
  const auto byte = run("pdu", f, {}, parameters, {2, 8}).history.back();
  EXPECT_LT(half.relative_gap, 3e-6);
  EXPECT_LT(byte.relative_gap, 1e-3);
  EXPECT_GT(byte.relative_gap, half.relative_gap);
  for (const auto& each : {half, byte}) {
    EXPECT_LE(each.dual, exact.primal * (1 + 1e-7));
    EXPECT_GE(each.primal, exact.dual * (1 - 1e-7));
  }
}

TEST(FusedTile, FitsEveryDevice) {
  for (const std::size_t group : {64, 256, 1024})
    for (const std::size_t local : {32 << 10, 48 << 10}) {
      DeviceInfo device;
      device.max_work_group = group;
      device.local_memory = local;
      for (int stages = 1; stages <= 4; ++stages)
        for (const std::size_t nx : {93, 94, 96}) {
          if (group == 64 && stages > 2) continue;
          const auto tile = fused_tile(device, stages, nx);
          EXPECT_LE(tile.items(), group);
          EXPECT_LE(tile.local_bytes(), local);
          EXPECT_EQ(nx % static_cast<std::size_t>(tile.columns), 0u);
        }
    }
}

TEST(FusedChunk, FillsTheDevice) {
  DeviceInfo device;
  device.compute_units = 132;
  const FusedTile tile{2, 4, 34, 15};                        // 4 x 43 tiles of 512 x 512
  EXPECT_EQ(fused_chunk(tile, device, 512, 512, 512), 171);  // 516 groups in four rounds of 132
  EXPECT_EQ(fused_chunk(tile, device, 512, 512, 5), 5);
}

TEST(KnownForm, IsThatOfMeasuredDevices) {
  DeviceModel measured, other, cpu;
  measured.name = "NVIDIA H200";
  measured.platform = "NVIDIA CUDA";
  other.name = "gfx1100";
  other.platform = "AMD Accelerated Parallel Processing";
  cpu.cpu = true;
  const auto stages = [](std::vector<DeviceModel> devices) {
    const auto form = known_form(devices);
    return form ? form->stages : -1;
  };
  EXPECT_EQ(stages({measured}), 2);
  EXPECT_EQ(stages({cpu}), 0);
  EXPECT_EQ(stages({measured, cpu}), 0);
  EXPECT_EQ(stages({other}), -1);
  EXPECT_EQ(stages({measured, other}), -1);
}

TEST(FormTrial, LeavesNothingBehindAndTakesWhatFits) {
  for (const bool weighted : {false, true}) {
    const auto devices = open_devices({});
    const auto form = tried_form(devices, weighted, {32, 12, 7});
    EXPECT_EQ(form.dual_bits, 32);
    EXPECT_TRUE(form.stages == 0 || has_fused_tile(devices[0].info(), form.stages, 32));
    EXPECT_EQ(devices[0].ledger().in_use(), 0u);
  }
  DeviceSelection options;
  options.device_memory = 5 * 4 * 32 * 12 * 7 + 40000;  // f, u and q, but not twice u and q
  EXPECT_EQ(tried_form(open_devices(options), false, {32, 12, 7}).stages, 0);
}

}  // namespace
}  // namespace halocline::fused_pass_test
