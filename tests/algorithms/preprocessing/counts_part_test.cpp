// labels: device
// Counts of parts of a scan: bins by hand, a ball from binned counts, and why they are summed before the logarithm.
#include "algorithms/preprocessing/counts_part.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "algorithms/fdk/fdk.hpp"
#include "algorithms/phantoms/phantoms.hpp"
#include "algorithms/preprocessing/bad_pixels.hpp"
#include "host/error.hpp"
#include "tests/reference/projector_scenes.hpp"

namespace halocline::counts_part_test {
namespace {

using reference::device;
using testing::HasSubstr;

Volume stack(std::array<std::size_t, 3> size, std::vector<float> values) {
  Grid grid;
  grid.size = size;
  Volume out(grid);
  out.voxels = std::move(values);
  return out;
}

ProjectionPart part_of(std::vector<std::size_t> views, std::array<std::size_t, 2> first,
                       std::array<std::size_t, 2> size, std::array<std::size_t, 2> bin) {
  return {std::move(views), first, size, bin};
}

TEST(CountsPart, SumsByHand) {
  // 6 x 3 pixels, 2 views; the window leaves out the first column and row. Bad are a pixel of the first bin, between
  // good ones of which one lies outside the window, and all of the second bin.
  const Volume counts =
      stack({6, 3, 2}, {900, 900, 900, 900, 900, 900, 1, 777, 4, 777, 777, 6, 900, 2, 8, 777, 777, 7,  //
                        900, 900, 900, 900, 900, 900, 3, 777, 5, 777, 777, 8, 900, 6, 9, 777, 777, 9});
  CountsCalibration whole;
  whole.size = {6, 3, 2};
  whole.beams = {1, 2};
  whole.coefficients = {1, 0.5f};
  for (int n = 0; n < 18; ++n)
    whole.pixels.push_back({0.125f * static_cast<float>(n), 10 + static_cast<float>(n), 0, 0});
  const auto bad = [&](std::size_t at, float left, float right) {
    whole.pixels[at].left = left;
    whole.pixels[at].right = right;
  };
  bad(7, -1, 1);
  bad(9, -1, 2);
  bad(10, -2, 1);
  bad(15, -1, 2);
  bad(16, -2, 1);
  const auto part = part_of({1}, {1, 1}, {4, 2}, {2, 2});
  const CountsCalibration made = part_calibration(whole, part, "scan.mha");
  EXPECT_EQ(made.size, (std::array<std::size_t, 3>{2, 1, 1}));
  EXPECT_EQ(made.beams, std::vector<float>{2});
  EXPECT_EQ(made.coefficients, whole.coefficients);
  ASSERT_EQ(made.pixels.size(), 2U);
  // pixels 6, 8, 13, 14 with weights 1/2, 3/2, 1, 1, and 4/4.5 for the noise
  EXPECT_FLOAT_EQ(made.pixels[0].dark, 4 / 4.5f * (0.5f * 0.75f + 1.5f * 1 + 1.625f + 1.75f));
  EXPECT_FLOAT_EQ(made.pixels[0].open, 4 / 4.5f * (0.5f * 16 + 1.5f * 18 + 23 + 24));
  EXPECT_EQ(made.pixels[0].left, 0);
  EXPECT_EQ(made.pixels[1].left, -1);
  EXPECT_EQ(made.pixels[1].right, -1);
  const Volume taken = take_counts(MemorySource(counts), part, whole);
  EXPECT_FLOAT_EQ(taken.voxels[0], 4 / 4.5f * (0.5f * 3 + 1.5f * 5 + 6 + 9));
  // whole rows, a column each: only the bad pixels stay bad
  const auto rows = part_of({0, 1}, {1, 1}, {5, 2}, {1, 1});
  const CountsCalibration by_row = part_calibration(whole, rows, "scan.mha");
  EXPECT_EQ(by_row.pixels[0].left, 1);  // the good one on the left is cut off
  EXPECT_EQ(by_row.pixels[2].left, -1);
  EXPECT_EQ(by_row.pixels[2].right, 2);
  EXPECT_EQ(take_counts(MemorySource(counts), rows, whole).at(1, 0, 1), 5);
  EXPECT_THAT(
      [&] {
        part_calibration(whole, part_of({0}, {3, 2}, {2, 1}, {1, 1}), "scan.mha");
      },
      testing::ThrowsMessage<InputError>(HasSubstr("scan.mha: all pixels of the detector are bad")));
}

Geometry circle(std::size_t views) {
  CircularOptions options;
  options.sid = 120;
  options.sdd = 180;
  options.projections = views;
  options.first_angle = 2;
  return circular_geometry(options);
}

constexpr double mu = 0.05;

std::vector<Primitive> ball() {
  Primitive body;
  body.semi_axes = {11, 11, 11};
  body.centre = {4, 1, -3};
  body.value = mu;
  return {body};
}

/// Flats that differ from pixel to pixel by a tenth, darks, and a column and pixels that are dead.
CountsCalibration uneven(const std::array<std::size_t, 3>& size, double photons) {
  CountsCalibration out;
  out.size = size;
  out.beams.assign(size[2], 1);
  std::mt19937 random(5);
  std::uniform_real_distribution<double> uniform(0, 1);
  std::vector<char> bad;
  for (std::size_t n = 0; n < size[0] * size[1]; ++n) {
    out.pixels.push_back({static_cast<float>(40 + 9 * uniform(random)),
                          static_cast<float>(photons * (0.95 + 0.1 * uniform(random))), 0, 0});
    bad.push_back(n % size[0] == 31 || n % 53 == 7 ? 1 : 0);
  }
  find_good_neighbours(bad, "the counts", out);
  return out;
}

/// What a detector with that calibration counts in the mean.
Volume counts_of(const Volume& lines, const CountsCalibration& calibration) {
  Volume out(lines.grid);
  const std::size_t slice = lines.grid.slice();
  for (std::size_t n = 0; n < out.voxels.size(); ++n) {
    const auto& pixel = calibration.pixels[n % slice];
    const double share = pixel.left == 0 ? std::exp(-static_cast<double>(lines.voxels[n])) : 0;
    out.voxels[n] = static_cast<float>(pixel.dark + pixel.open * share);
  }
  return out;
}

TEST(CountsPart, ABallFromBinnedCountsHasItsValue) {
  const Geometry geometry = circle(180);
  const Grid fine = reference::detector(110, 70, 180, 0.6, 0.6);
  const Volume lines = project_analytic(ball(), geometry, fine);
  const CountsCalibration whole = uneven(fine.size, 3e4);
  const Volume counts = counts_of(lines, whole);
  ProjectionPart part;
  part.first = {3, 2};
  part.size = {107, 67};  // a column and a row are left over: the detector is neither centred nor whole
  part.bin = {2, 3};
  for (std::size_t view = 0; view < 180; ++view) part.views.push_back(view);
  const CountsCalibration binned = part_calibration(whole, part, "the counts");
  const Volume sums = take_counts(MemorySource(counts), part, whole);
  FdkParameters parameters;
  parameters.counts = {&binned};
  const Grid grid = default_grid({25, 25, 5}, {1, 1, 1});
  const Volume found = fdk(sums, geometry, grid, parameters, device()).output;
  double sum = 0;
  int count = 0;
  for (std::size_t j = 0; j < 25; ++j)
    for (std::size_t i = 0; i < 25; ++i) {
      const auto x = grid.world(static_cast<double>(i), static_cast<double>(j), 2);
      const auto [cx, cy, cz] = ball().front().centre;
      if (std::hypot(x[0] - cx, x[1] - cy, x[2] - cz) > 8) continue;
      EXPECT_NEAR(found.at(i, j, 2), mu, 0.01 * mu);  // no ring
      sum += found.at(i, j, 2);
      ++count;
    }
  ASSERT_GT(count, 100);
  EXPECT_NEAR(sum / count, mu, 0.002 * mu);
}

// -ln of a Poisson number N about n is too high by 1/(2n) in the mean: of the sum of six by a sixth of that.
TEST(CountsPart, SummedFirstTheyAreLessBiased) {
  const Geometry geometry = circle(24);
  const Grid fine = reference::detector(96, 60, 24, 0.6, 0.6);
  const Volume lines = project_analytic(ball(), geometry, fine);
  const double photons = 60;
  const CountsCalibration whole = uneven(fine.size, photons);
  Volume counts = counts_of(lines, whole);
  std::mt19937 random(7);
  for (std::size_t n = 0; n < counts.voxels.size(); ++n) {
    const double dark = whole.pixels[n % fine.slice()].dark;
    counts.voxels[n] = static_cast<float>(dark + std::poisson_distribution<int>(counts.voxels[n] - dark)(random));
  }
  ProjectionPart part;
  part.size = {96, 60};
  part.bin = {2, 3};
  for (std::size_t view = 0; view < 24; ++view) part.views.push_back(view);
  Volume sums = take_counts(MemorySource(counts), part, whole);
  counts_to_line_integrals(sums, part_calibration(whole, part, "the counts"));
  counts_to_line_integrals(counts, whole);
  const Volume means = take_part(MemorySource(counts), part), truth = take_part(MemorySource(lines), part);
  double of_sums = 0, of_means = 0, expected = 0;
  for (std::size_t n = 0; n < truth.voxels.size(); ++n) {
    of_sums += static_cast<double>(sums.voxels[n]) - truth.voxels[n];
    of_means += static_cast<double>(means.voxels[n]) - truth.voxels[n];
    expected += 0.5 * std::exp(static_cast<double>(truth.voxels[n])) / photons;
  }
  const auto bins = static_cast<double>(truth.voxels.size());
  std::printf("bias of sums %.4f, of means %.4f, 1/(2n) %.4f\n", of_sums / bins, of_means / bins, expected / bins);
  // 22000 bins: the standard error of the mean is that of a line integral, 1/sqrt(6 n) = 0.06, over 150
  EXPECT_NEAR(of_means, expected, 0.2 * expected);
  EXPECT_NEAR(of_sums, expected / 6, 0.15 * expected);
}

}  // namespace
}  // namespace halocline::counts_part_test
