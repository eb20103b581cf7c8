// labels: device dealt
// The predicted variance of a reconstruction against the variance of many reconstructions of noisy projections.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>
#include <string>

#include "algorithms/fdk/fdk.hpp"
#include "algorithms/phantoms/phantoms.hpp"
#include "algorithms/preprocessing/counts_part.hpp"
#include "tests/reference/projector_scenes.hpp"

namespace halocline::fdk_variance_test {
namespace {

using reference::device;

constexpr int realisations = 100;

/// -ln(I/I0) for I ~ Poisson(I0 exp(-p)) + N(0, electronic^2).
Volume with_noise(const Volume& projections, const FdkParameters::Noise& noise, unsigned seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<double> normal;
  Volume out(projections.grid);
  for (std::size_t n = 0; n < out.voxels.size(); ++n) {
    std::poisson_distribution<long> photons(noise.photons * std::exp(-static_cast<double>(projections.voxels[n])));
    const double intensity = static_cast<double>(photons(generator)) + noise.electronic * normal(generator);
    out.voxels[n] = static_cast<float>(-std::log(intensity / noise.photons));
  }
  return out;
}

/// Variance of each voxel over the realisations, divided by the predicted one. noisy(n): projections of realisation n.
std::vector<double> ratios(const Volume& clean, const std::function<Volume(unsigned)>& noisy, const Geometry& geometry,
                           const Grid& grid, FdkParameters parameters, const FdkParameters::Noise& noise) {
  std::vector<double> sum(grid.count()), squares(grid.count());
  const auto first = fdk(clean, geometry, grid, parameters, device()).output.voxels;  // against cancellation
  for (int n = 0; n < realisations; ++n) {
    const auto volume = fdk(noisy(static_cast<unsigned>(n + 1)), geometry, grid, parameters, device()).output;
    for (std::size_t at = 0; at < sum.size(); ++at) {
      const double difference = static_cast<double>(volume.voxels[at]) - first[at];
      sum[at] += difference;
      squares[at] += difference * difference;
    }
  }
  parameters.variance = noise;
  const auto predicted = fdk(clean, geometry, grid, parameters, device()).output.voxels;
  std::vector<double> out(sum.size());
  for (std::size_t at = 0; at < sum.size(); ++at)
    out[at] = (squares[at] - sum[at] * sum[at] / realisations) / (realisations - 1) / predicted[at];
  return out;
}

std::vector<double> ratios(const Volume& clean, const Geometry& geometry, const Grid& grid,
                           const FdkParameters& parameters, const FdkParameters::Noise& noise) {
  return ratios(
      clean, [&](unsigned seed) { return with_noise(clean, noise, seed); }, geometry, grid, parameters, noise);
}

/// The mean ratio is 1 and its spread that of a variance estimated from so many values.
void expect_right(const std::vector<double>& ratio, const Grid& grid, const std::string& name,
                  const std::function<bool(const std::array<double, 3>&)>& inside) {
  double sum = 0, squares = 0;
  int count = 0;
  for (std::size_t k = 0, at = 0; k < grid.size[2]; ++k)
    for (std::size_t j = 0; j < grid.size[1]; ++j)
      for (std::size_t i = 0; i < grid.size[0]; ++i, ++at) {
        if (!inside(grid.world(static_cast<double>(i), static_cast<double>(j), static_cast<double>(k)))) continue;
        sum += ratio[at];
        squares += ratio[at] * ratio[at];
        ++count;
      }
  ASSERT_GE(count, 500) << name;
  const double mean = sum / count, spread = std::sqrt(squares / count - mean * mean);
  EXPECT_NEAR(mean, 1, 0.05) << name;
  EXPECT_LT(spread, 1.3 * std::sqrt(2.0 / (realisations - 1))) << name;
}

double squared_distance(const std::array<double, 3>& x, const std::array<double, 3>& y) {
  return std::pow(x[0] - y[0], 2) + std::pow(x[1] - y[1], 2) + std::pow(x[2] - y[2], 2);
}

Geometry circle(double sdd, std::size_t views) {
  return circular_geometry({.sid = 120, .sdd = sdd, .projections = views, .first_angle = 2});
}

// An off-centre body with a dense core, so that the noise differs from place to place.
std::vector<Primitive> body() {
  Primitive outer, core;
  outer.semi_axes = {14, 17, 12};
  outer.centre = {1, 0, -1};
  outer.value = 0.05;
  core.semi_axes = {4, 20, 4};
  core.centre = {6, 0, 2};
  core.value = 0.1;
  return {outer, core};
}

class VarianceWindows : public testing::TestWithParam<Window> {};

TEST_P(VarianceWindows, OfAConeBeamScanIsThatOfManyScans) {
  const Geometry geometry = circle(180, 48);
  const Grid grid = default_grid({32, 32, 32}, {1, 1, 1});
  const Volume clean = project_analytic(body(), geometry, reference::detector(56, 56, 48, 1.2, 1.2));
  FdkParameters parameters{.window = GetParam(), .cutoff = GetParam() == Window::ram_lak ? 1 : 0.8};
  const auto ratio = ratios(clean, geometry, grid, parameters, {5000, 15});
  expect_right(ratio, grid, "centre", [](const auto& x) { return squared_distance(x, {0, 0, 0}) < 36; });
  expect_right(ratio, grid, "off centre, in the core", [](const auto& x) {
    return squared_distance(x, {7, 2, 3}) < 36;
  });
  expect_right(ratio, grid, "edge",
               [](const auto& x) { return x[0] * x[0] + x[2] * x[2] > 14 * 14 && std::abs(x[1]) < 4; });
  expect_right(ratio, grid, "top of the cone",
               [](const auto& x) { return x[0] * x[0] + x[2] * x[2] < 100 && std::abs(x[1]) > 14; });
}

INSTANTIATE_TEST_SUITE_P(Windows, VarianceWindows, testing::Values(Window::ram_lak, Window::hann),
                         [](const auto& info) { return info.param == Window::hann ? "hann" : "ram_lak"; });

TEST(Variance, OfAFanBeamScanIsThatOfManyScans) {
  const Geometry geometry = circle(180, 90);
  const Grid grid = default_grid({64, 64, 1}, {0.5, 0.5, 1});
  const Volume clean = project_analytic(body(), geometry, reference::detector(56, 1, 90, 1.2, 1.2));
  const auto ratio = ratios(clean, geometry, grid, {}, {5000, 0});
  expect_right(ratio, grid, "centre", [](const auto& x) { return squared_distance(x, {0, 0, 0}) < 49; });
  expect_right(ratio, grid, "edge", [](const auto& x) { return squared_distance(x, {0, 0, 0}) > 196; });
}

TEST(Variance, OfAFilterOfTheUsersIsThatOfManyScans) {
  const Geometry geometry = circle(180, 90);
  const Grid grid = default_grid({64, 64, 1}, {0.5, 0.5, 1});
  const Volume clean = project_analytic(body(), geometry, reference::detector(56, 1, 90, 1.2, 1.2));
  FdkParameters parameters;
  parameters.filter = {0, 0.2, 0.3, 0.1, 0.4, 0.05};
  const auto ratio = ratios(clean, geometry, grid, parameters, {5000, 0});
  expect_right(ratio, grid, "centre", [](const auto& x) { return squared_distance(x, {0, 0, 0}) < 49; });
}

// Weights of redundant rays are squared, too; extended rows and interpolated cylinders hold noise that is not
// independent.
struct Scan {
  std::string name;
  double arc = 360, shift = 0, radius = 0, pad = 0;
  std::size_t rows = 1;
  double in_plane = 0;
};
void PrintTo(const Scan& scan, std::ostream* out) {
  *out << scan.name;
}

class VarianceScans : public testing::TestWithParam<Scan> {};

TEST_P(VarianceScans, IsThatOfManyScans) {
  const Scan& scan = GetParam();
  CircularOptions options;
  options.sid = 120;
  options.sdd = 180;
  options.projections = scan.rows > 1 ? 48 : 90;
  options.arc = scan.arc;
  options.first_angle = 2;
  options.projection_offset_x = scan.shift;
  if (scan.name == "tilted") {
    options.source_offset_x = 30;
    options.projection_offset_x = -15;
    options.in_plane_angle = 3;
  }
  options.in_plane_angle += scan.in_plane;
  Geometry geometry = circular_geometry(options);
  geometry.radius_cylindrical_detector = scan.radius;
  const bool cone = scan.rows > 1;
  const Grid grid = cone ? default_grid({32, 32, 32}, {1, 1, 1}) : default_grid({64, 64, 1}, {0.5, 0.5, 1});
  const Volume clean =
      project_analytic(body(), geometry, reference::detector(56, scan.rows, options.projections, 1.2, 1.2));
  FdkParameters parameters{.pad = scan.pad};
  const auto ratio = ratios(clean, geometry, grid, parameters, {5000, 0});
  expect_right(ratio, grid, "centre", [](const auto& x) { return squared_distance(x, {0, 0, 0}) < 49; });
  expect_right(ratio, grid, "edge", [](const auto& x) { return x[0] * x[0] + x[2] * x[2] > 196; });
}

INSTANTIATE_TEST_SUITE_P(Scans, VarianceScans,
                         testing::Values(Scan{.name = "short_scan", .arc = 240}, Scan{.name = "displaced", .shift = 12},
                                         Scan{.name = "cylinder", .radius = 180}, Scan{.name = "padded", .pad = 0.5},
                                         Scan{.name = "tilted", .rows = 56},
                                         Scan{.name = "turned", .rows = 56, .in_plane = 10},
                                         Scan{.name = "turned_short", .arc = 240, .rows = 56, .in_plane = -7},
                                         Scan{.name = "cylinder_cone", .radius = 180, .rows = 56}),
                         [](const auto& info) { return info.param.name; });

// Counts that are put together before the logarithm.
TEST(Variance, OfBinnedCountsIsThatOfManyScans) {
  const Geometry geometry = circle(180, 90);
  const Grid grid = default_grid({64, 64, 1}, {0.5, 0.5, 1});
  const Grid fine = reference::detector(120, 2, 90, 0.6, 0.6);
  const Volume lines = project_analytic(body(), geometry, fine);
  constexpr double photons_per_count = 2.5, electronic = 12;  // the latter in photons
  CountsCalibration whole{.size = fine.size};
  whole.beams.assign(90, 1);
  whole.coefficients = {1, 0.03f};
  for (std::size_t n = 0; n < fine.slice(); ++n) whole.pixels.push_back({20, 500 + 10 * static_cast<float>(n % 7)});
  ProjectionPart part{.first = {4, 0}, .size = {112, 2}, .bin = {2, 2}};
  for (std::size_t view = 0; view < 90; ++view) part.views.push_back(view);
  const auto counts = [&](unsigned seed) {  // 0: those in the mean
    std::mt19937 generator(seed);
    std::normal_distribution<double> normal(0, electronic);
    Volume out(fine);
    for (std::size_t n = 0; n < out.voxels.size(); ++n) {
      const auto& pixel = whole.pixels[n % fine.slice()];
      double photons = photons_per_count * pixel.open * std::exp(-static_cast<double>(lines.voxels[n]));
      if (seed > 0)
        photons = static_cast<double>(std::poisson_distribution<long>(photons)(generator)) + normal(generator);
      out.voxels[n] = static_cast<float>(pixel.dark + photons / photons_per_count);
    }
    return take_counts(MemorySource(out), part, whole);
  };
  const CountsCalibration binned = part_calibration(whole, part);
  FdkParameters parameters{.counts = {{&binned}}};
  const auto ratio = ratios(counts(0), counts, geometry, grid, parameters, {photons_per_count, 2 * electronic});
  expect_right(ratio, grid, "centre", [](const auto& x) { return squared_distance(x, {0, 0, 0}) < 49; });
  expect_right(ratio, grid, "edge", [](const auto& x) { return squared_distance(x, {0, 0, 0}) > 196; });
}

TEST(Variance, GrowsAsTheNumberOfPhotonsFalls) {
  const Geometry geometry = circle(180, 48);
  const Grid grid = default_grid({17, 17, 5}, {1, 1, 1});
  const Volume clean = project_analytic(body(), geometry, reference::detector(56, 56, 48, 1.2, 1.2));
  FdkParameters parameters{.variance = FdkParameters::Noise{1e4, 0}};
  const auto few = fdk(clean, geometry, grid, parameters, device()).output.voxels;
  parameters.variance = FdkParameters::Noise{4e4, 0};
  const auto many = fdk(clean, geometry, grid, parameters, device()).output.voxels;
  parameters.variance = FdkParameters::Noise{1e4, 100};
  const auto electronic = fdk(clean, geometry, grid, parameters, device()).output.voxels;
  for (std::size_t n = 0; n < few.size(); ++n) {
    EXPECT_GT(many[n], 0);
    EXPECT_NEAR(few[n], 4 * many[n], 1e-4 * few[n]);
    EXPECT_GT(electronic[n], 1.5 * few[n]);  // electronic^2 = I0 doubles it even where nothing attenuates
  }
}

}  // namespace
}  // namespace halocline::fdk_variance_test
