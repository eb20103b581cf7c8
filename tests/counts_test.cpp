// labels: unit
// Counts, flat and dark fields to line integrals: values by hand, guards, and the conserved mass of a real
// parallel-beam scan.
#include "algorithms/counts.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "host/error.hpp"

namespace halocline {
namespace {

using testing::AllOf;
using testing::HasSubstr;

Volume stack(std::array<std::size_t, 3> size, std::vector<float> values = {}) {
  Grid grid;
  grid.size = size;
  Volume out(grid);
  if (!values.empty()) out.voxels = std::move(values);
  return out;
}

TEST(Counts, ByHand) {
  // detector 2 x 1, two flats and three darks: means 110, 210 and 10, 20
  Volume counts = stack({2, 1, 3}, {60, 115, 110, 210, 11, 400});
  const Volume flats = stack({2, 1, 2}, {100, 200, 120, 220}), darks = stack({2, 1, 3}, {9, 20, 10, 19, 11, 21});
  const CountsReport report = counts_to_line_integrals(counts, flats, darks);
  EXPECT_EQ(report.pixels, 6U);
  EXPECT_EQ(report.nonpositive, 0U);
  EXPECT_EQ(report.dead_pixels, 0U);
  EXPECT_FLOAT_EQ(counts.voxels[0], static_cast<float>(std::log(2.0)));
  EXPECT_FLOAT_EQ(counts.voxels[1], static_cast<float>(std::log(2.0)));
  EXPECT_EQ(counts.voxels[2], 0);
  EXPECT_EQ(counts.voxels[3], 0);
  EXPECT_FLOAT_EQ(counts.voxels[4], static_cast<float>(std::log(100.0)));
  EXPECT_FLOAT_EQ(counts.voxels[5], static_cast<float>(-std::log(2.0)));  // brighter than the flat: kept
}

TEST(Counts, Guards) {
  // pixel 1 is dead; pixel 0 sees less than the dark field in views 0 and 1
  Volume counts = stack({2, 1, 3}, {5, 50, 10, 60, 20, 70});
  const CountsReport report = counts_to_line_integrals(counts, stack({2, 1, 1}, {110, 30}), stack({2, 1, 1}, {10, 30}));
  EXPECT_EQ(report.nonpositive, 2U);
  EXPECT_EQ(report.dead_pixels, 1U);
  EXPECT_FLOAT_EQ(counts.voxels[0], static_cast<float>(std::log(200.0)));
  EXPECT_FLOAT_EQ(counts.voxels[2], static_cast<float>(std::log(200.0)));
  EXPECT_FLOAT_EQ(counts.voxels[4], static_cast<float>(std::log(10.0)));
  for (const int view : {0, 1, 2}) EXPECT_EQ(counts.voxels[2 * view + 1], 0);
}

TEST(Counts, MeansAreTakenInDouble) {
  // the sum of 1001 flats near 2^24 is far beyond what float holds exactly
  Volume flats = stack({1, 1, 1001});
  for (std::size_t n = 0; n < 1001; ++n) flats.voxels[n] = 16777213.0F + static_cast<float>(n % 3);
  Volume counts = stack({1, 1, 1}, {8388607.0F});
  counts_to_line_integrals(counts, flats, stack({1, 1, 1}));
  double mean = 0;
  for (std::size_t n = 0; n < 1001; ++n) mean += flats.voxels[n] / 1001.0;
  EXPECT_FLOAT_EQ(counts.voxels[0], static_cast<float>(-std::log(8388607.0 / mean)));
}

TEST(Counts, DetectorsMustMatch) {
  const auto error = [](const Volume& flats, const Volume& darks) -> std::string {
    Volume counts = stack({93, 7, 2});
    try {
      counts_to_line_integrals(counts, flats, darks, "scan.mha", "flat.mha", "dark.mha");
    } catch (const InputError& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_EQ(error(stack({93, 7, 1}), stack({93, 7, 5})), "");
  EXPECT_THAT(error(stack({93, 8, 1}), stack({93, 7, 5})),
              AllOf(HasSubstr("flat.mha"), HasSubstr("93 x 8"), HasSubstr("93 x 7"), HasSubstr("scan.mha")));
  EXPECT_THAT(error(stack({93, 7, 1}), stack({92, 7, 5})), AllOf(HasSubstr("dark.mha"), HasSubstr("92 x 7")));
  EXPECT_THAT(error(stack({93, 7, 0}), stack({93, 7, 1})), AllOf(HasSubstr("flat.mha"), HasSubstr("no views")));
}

}  // namespace
}  // namespace halocline
