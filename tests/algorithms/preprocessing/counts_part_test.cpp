// labels: device
// Counts of parts of a scan: bins by hand, a ball from binned counts, and why they are summed before the logarithm.
#include "algorithms/preprocessing/counts_part.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "algorithms/fdk/fdk.hpp"
#include "algorithms/phantoms/phantoms.hpp"
#include "algorithms/preprocessing/calibrate_counts.hpp"
#include "tests/reference/projector_scenes.hpp"

namespace halocline::counts_part_test {
namespace {

using reference::device;

Volume stack(std::array<std::size_t, 3> size, std::vector<float> values) {
  Grid grid{.size = size};
  Volume out(grid);
  out.voxels = std::move(values);
  return out;
}

ProjectionPart part_of(std::vector<std::size_t> views, std::array<std::size_t, 2> first,
                       std::array<std::size_t, 2> size, std::array<std::size_t, 2> bin) {
  return {std::move(views), first, size, bin};
}

std::vector<float> values_of(const Volume& volume) {
  return {volume.voxels.begin(), volume.voxels.end()};
}

TEST(CountsPart, SumsByHand) {
  // 6 x 3 pixels, 2 views; the window leaves out the first column and row. A pixel of the first bin was not measured in
  // the second view, and all of the second bin in both.
  const Volume counts =
      stack({6, 3, 2}, {900, 900, 900, 900, 900, 900, 1, 2,   4, 777, 777, 6, 900, 2, 8, 777, 777, 7,  //
                        900, 900, 900, 900, 900, 900, 3, 777, 5, 777, 777, 8, 900, 6, 9, 777, 777, 9});
  CountsCalibration whole{.size = {6, 3, 2}, .beams = {1, 2}, .coefficients = {1, 0.5f}};
  for (int n = 0; n < 18; ++n) whole.pixels.push_back({0.125f * static_cast<float>(n), 10 + static_cast<float>(n)});
  whole.replaced = {18, {{{9, 1}, {10, 2}, {15, 3}, {16, 4}}, {{7, 10}, {9, 20}, {10, 30}, {15, 40}, {16, 50}}}};
  const auto part = part_of({1}, {1, 1}, {4, 2}, {2, 2});
  const CountsCalibration made = part_calibration(whole, part);
  EXPECT_EQ(made.size, (std::array<std::size_t, 3>{2, 1, 1}));
  EXPECT_EQ(made.beams, std::vector<float>{2});
  EXPECT_EQ(made.coefficients, whole.coefficients);
  EXPECT_TRUE(made.replaced.empty());
  ASSERT_EQ(made.pixels.size(), 2U);
  // pixels 7, 8, 13, 14 and 9, 10, 15, 16
  EXPECT_FLOAT_EQ(made.pixels[0].dark, 0.125f * 42);
  EXPECT_FLOAT_EQ(made.pixels[0].open, 40 + 42);
  EXPECT_FLOAT_EQ(made.pixels[1].open, 40 + 50);
  EXPECT_EQ(values_of(take_counts(MemorySource(counts), part, whole)), (std::vector<float>{10 + 5 + 6 + 9, 140}));
  EXPECT_EQ(values_of(take_counts(MemorySource(counts), part_of({1, 0}, {1, 1}, {4, 2}, {2, 2}), whole)),
            (std::vector<float>{30, 140, 2 + 4 + 2 + 8, 10}));
  Volume weights(part_grid(counts.grid, part), 8);
  withhold(whole.replaced, part, 6, weights);
  EXPECT_EQ(values_of(weights), (std::vector<float>{6, 0}));
  Volume all(counts.grid, 8);
  withhold(whole.replaced, all);
  EXPECT_EQ(std::count(all.voxels.begin(), all.voxels.end(), 0.0f), 9);
  EXPECT_EQ(all.at(1, 1, 1), 0);
  EXPECT_EQ(all.at(1, 1, 0), 8);
}

Geometry circle(std::size_t views) {
  return circular_geometry({.sid = 120, .sdd = 180, .projections = views, .first_angle = 2});
}

constexpr double mu = 0.05;

std::vector<Primitive> ball() {
  Primitive body{.semi_axes = {11, 11, 11}, .centre = {4, 1, -3}, .value = mu};
  return {body};
}

/// A detector whose flats differ from pixel to pixel by a tenth, with darks, and a column and pixels that are dead.
struct Uneven {
  Volume flats, darks;
  CountsCalibration calibration;
};

/// Counts of line integrals, with their noise or without.
Uneven uneven(const Volume& lines, double photons, Volume& counts, bool noisy) {
  Grid single = lines.grid;
  single.size[2] = 1;
  Uneven out{Volume(single), Volume(single), {}};
  std::mt19937 random(5);
  std::uniform_real_distribution<double> uniform(0, 1);
  const std::size_t columns = single.size[0], slice = single.slice();
  std::vector<double> gains;
  for (std::size_t n = 0; n < slice; ++n) {
    const bool bad = n % columns == 31 || n % 53 == 7;
    out.darks.voxels[n] = static_cast<float>(40 + 9 * uniform(random));
    gains.push_back(bad ? 0 : photons * (0.95 + 0.1 * uniform(random)));
    out.flats.voxels[n] = static_cast<float>(out.darks.voxels[n] + gains[n]);
  }
  counts = Volume(lines.grid);
  for (std::size_t n = 0; n < counts.voxels.size(); ++n) {
    const double mean = gains[n % slice] * std::exp(-static_cast<double>(lines.voxels[n]));
    const double signal = noisy && mean > 0 ? std::poisson_distribution<int>(mean)(random) : mean;
    counts.voxels[n] = static_cast<float>(out.darks.voxels[n % slice] + signal);
  }
  CountsFields fields{.flats = {.stack = &out.flats}, .darks = {.stack = &out.darks}};
  out.calibration = calibrate_counts(MemorySource(counts), fields);
  return out;
}

TEST(CountsPart, ABallFromBinnedCountsHasItsValue) {
  const Geometry geometry = circle(180);
  const Grid fine = reference::detector(110, 70, 180, 0.6, 0.6);
  const Volume lines = project_analytic(ball(), geometry, fine);
  Volume counts;
  const CountsCalibration whole = uneven(lines, 3e4, counts, false).calibration;
  ProjectionPart part{.first = {3, 2}};
  part.size = {107, 67};  // a column and a row are left over: the detector is neither centred nor whole
  part.bin = {2, 3};
  for (std::size_t view = 0; view < 180; ++view) part.views.push_back(view);
  const CountsCalibration binned = part_calibration(whole, part);
  const Volume sums = take_counts(MemorySource(counts), part, whole);
  FdkParameters parameters{.counts = {{&binned}}};
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
  Volume counts;
  const CountsCalibration whole = uneven(lines, photons, counts, true).calibration;
  ProjectionPart part{.size = {96, 60}, .bin = {2, 3}};
  for (std::size_t view = 0; view < 24; ++view) part.views.push_back(view);
  Volume sums = take_counts(MemorySource(counts), part, whole);
  counts_to_line_integrals(sums, part_calibration(whole, part));
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
