// labels: unit device slab dealt
// Iterations in single passes: bitwise identical to the kernels that work in place, tiles that fit.
#include "algorithms/denoisers/fused_pass.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "tests/support/fused_run.hpp"

namespace halocline::fused_pass_test {
namespace {

class FusedPass : public testing::TestWithParam<FusedCase> {};

TEST_P(FusedPass, HasTheBitsOfTheKernelsInPlace) {
  const FusedScene scene(GetParam(), 11);
  const auto in_place = scene.run(GetParam().method, {});
  for (const int stages : {1, 2}) {
    const auto fused = scene.run(GetParam().method, {stages, 32});
    EXPECT_EQ(0, std::memcmp(in_place.u.voxels.data(), fused.u.voxels.data(), 4 * scene.f.voxels.size())) << stages;
    EXPECT_NEAR(fused.history.back().gap, in_place.history.back().gap, 1e-6 * in_place.history.back().primal);
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, FusedPass,
                         testing::Values(FusedCase{"pdu", {1, 1, 1}}, FusedCase{"pdu", {93, 17, 7}},
                                         FusedCase{"pdu", {140, 31, 5}}, FusedCase{"pdu", {38, 1, 6}},
                                         FusedCase{"spdu", {93, 17, 7}}, FusedCase{"spdu", {44, 31, 9}}),
                         name_of);

TEST(FusedTile, FitsEveryDevice) {
  for (const std::size_t group : {64, 256, 1024})
    for (const std::size_t local : {32 << 10, 48 << 10}) {
      DeviceInfo device{.local_memory = local, .max_work_group = group};
      for (int stages = 1; stages <= most_stages; ++stages)
        for (const std::size_t nx : {93, 94, 96}) {
          const auto tile = fused_tile(device, stages, nx);
          EXPECT_LE(tile.items(), group);
          EXPECT_LE(tile.local_bytes(), local);
          EXPECT_EQ(nx % static_cast<std::size_t>(tile.columns), 0u);
        }
    }
}

TEST(FusedChunk, FillsTheDevice) {
  DeviceInfo device{.compute_units = 132};
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

}  // namespace
}  // namespace halocline::fused_pass_test
