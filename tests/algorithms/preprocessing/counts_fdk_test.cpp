// labels: device slab
// FDK from counts in one pass: the same as from line integrals, whatever the slabs, batches and the type of the counts.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "algorithms/fdk/fdk.hpp"
#include "algorithms/preprocessing/counts.hpp"
#include "host/system/error.hpp"
#include "scheduling/profiling/rates.hpp"
#include "tests/reference/projector_reference.hpp"
#include "tests/reference/projector_scenes.hpp"

namespace halocline::counts_fdk_test {
namespace {

using reference::device;

/// Counts of a detector on which everything is uneven.
struct Measured {
  reference::Scene scene;
  TypedVolume counts;  // uint16
  Volume as_float;
  CountsCalibration calibration;
};

Measured measured(const std::string& name, double radius) {
  Measured out;
  for (const auto& scene : reference::scenes())
    if (scene.name == name) out.scene = scene;
  Geometry geometry;
  for (int view = 0; view < 31; ++view) {
    View each = out.scene.geometry.views.front();
    each.gantry_angle = 3 + view * 360.0 / 31 + 2 * std::sin(view);
    geometry.views.push_back(each);
  }
  geometry.radius_cylindrical_detector = radius;
  out.scene.geometry = geometry;
  out.scene.projections.size[2] = 31;
  const Grid& grid = out.scene.projections;

  CountsCalibration& calibration = out.calibration;
  calibration.size = grid.size;
  calibration.floor = 100;
  calibration.coefficients = {0.9f, 0.07f, -0.004f};
  std::mt19937 random(11);
  std::uniform_real_distribution<float> uniform(0, 1);
  for (std::size_t n = 0; n < grid.slice(); ++n)
    calibration.pixels.push_back({100 + 20 * uniform(random), 30000 + 10000 * uniform(random)});
  for (std::size_t view = 0; view < 31; ++view) calibration.beams.push_back(0.9f + 0.2f * uniform(random));
  out.as_float = Volume(grid);
  out.counts = TypedVolume(grid, Component::uint16);
  auto* counts = reinterpret_cast<std::uint16_t*>(out.counts.bytes());
  for (std::size_t n = 0; n < grid.count(); ++n) {
    // some below the dark field
    counts[n] =
        n % 97 == 0 ? std::uint16_t(n % 100) : static_cast<std::uint16_t>(150 + 40000 * std::exp(-4 * uniform(random)));
    out.as_float.voxels[n] = counts[n];
  }
  return out;
}

/// Adds rows of bad pixels at both ends and in pairs in between, so that slabs begin and end beside them, bad columns,
/// and values that fail in a view.
Measured with_bad_pixels(Measured each) {
  const auto [columns, rows, views] = each.calibration.size;
  each.calibration.replaced = {columns * rows, std::vector<std::vector<ReplacedValues::Value>>(views)};
  for (std::size_t view = 0; view < views; ++view)
    for (std::size_t n = 0; n < columns * rows; ++n) {
      const std::size_t column = n % columns, row = n / columns;
      const bool bad = column == 0 || column == 4 || column == 5 || column + 1 == columns || row == 0 ||
                       row + 1 == rows || row % 4 > 1;
      if (bad || (7 * n + view) % 89 == 0)
        each.calibration.replaced.views[view].push_back(
            {static_cast<std::uint32_t>(n), static_cast<float>(200 + (13 * n + 5 * view) % 30000)});
    }
  return each;
}

std::vector<Measured> all() {
  // upright with whole rows; the general weights; a fan; a cylinder
  return {measured("cone", 0),
          measured("cone_tilted", 0),
          measured("fan", 0),
          measured("cone_world_axes", 300),
          with_bad_pixels(measured("cone", 0)),
          with_bad_pixels(measured("cone_tilted", 0)),
          with_bad_pixels(measured("cone_world_axes", 300))};
}

double largest(const Volume& volume) {
  return reference::largest({volume.voxels.begin(), volume.voxels.end()});
}

TEST(CountsFdk, IsThatOfTheLineIntegrals) {
  for (const auto& each : all()) {
    FdkParameters parameters{.pad = each.scene.name == "cone_tilted" ? 0.3 : 0};
    Volume projections = each.as_float;
    counts_to_line_integrals(projections, each.calibration);
    const auto expected = fdk(projections, each.scene.geometry, each.scene.grid, parameters, device()).output;
    parameters.counts = {&each.calibration};
    const auto found = fdk(each.as_float, each.scene.geometry, each.scene.grid, parameters, device()).output;
    // the two logarithms differ by 3 ulp, so line integrals of up to 6 by 2e-6 at most; of these random values the
    // filter makes as much as of the values themselves
    const double difference =
        reference::largest_difference(found.voxels, {expected.voxels.begin(), expected.voxels.end()});
    std::printf("%s: %.2g of the largest\n", each.scene.name.c_str(), difference / largest(expected));
    EXPECT_LT(difference, 5e-6 * largest(expected)) << each.scene.name;
  }
}

TEST(CountsFdk, SlabsBatchesDevicesAndTypesChangeNoBit) {
  for (const auto& each : all())
    for (const bool variance : {false, true}) {
      FdkParameters parameters{.counts = {{&each.calibration}}};
      if (variance) parameters.variance = FdkParameters::Noise{0.3, 5};
      const auto whole = fdk(each.as_float, each.scene.geometry, each.scene.grid, parameters, device()).output.voxels;
      for (const auto& [slabs, batch] : {std::pair{1, 1}, {2, 16}, {3, 5}}) {
        if (slabs > static_cast<int>(each.scene.grid.size[2])) continue;
        RunOptions options{.plan = {.minimum_slabs = slabs, .batch = batch}};
        const auto result = fdk(each.counts, each.scene.geometry, each.scene.grid, parameters, device(), options);
        EXPECT_GE(static_cast<int>(result.plan.slabs.size()), slabs);
        EXPECT_TRUE(result.output.voxels == whole)
            << each.scene.name << ", " << slabs << " slabs, batches of " << batch;
      }
      if (each.scene.name != "cone") continue;
      const auto parts = fdk(each.counts, each.scene.geometry, each.scene.grid, parameters, reference::sub_devices(2));
      EXPECT_TRUE(
          parts.output.voxels ==
          fdk(each.counts, each.scene.geometry, each.scene.grid, parameters, reference::undivided()).output.voxels);
    }
}

TEST(CountsFdk, VarianceIsThatOfTheCounts) {
  for (const auto& each : all()) {
    FdkParameters parameters{.counts = {{&each.calibration}}, .variance = FdkParameters::Noise{0.3, 5}};
    const auto found = fdk(each.as_float, each.scene.geometry, each.scene.grid, parameters, device()).output;
    // The reference takes the variance of p to be exp(p) for one photon: so p is its logarithm.
    const auto& [scene, counts, as_float, calibration] = each;
    Volume log_variance(scene.projections), mended = as_float;
    calibration.replaced.put(0, mended.voxels.size(), mended.voxels.data());
    for (std::size_t n = 0; n < mended.voxels.size(); ++n) {
      const std::size_t pixel = n % scene.projections.slice(), view = n / scene.projections.slice();
      const auto& [dark, open] = calibration.pixels[pixel];
      const double signal = std::max(mended.voxels[n] - double(dark), 100.0);
      const double q = -std::log(signal / (double(open) * calibration.beams[view])), photons = 0.3 * signal;
      const double slope = double(0.9f) + 2 * double(0.07f) * q + 3 * double(-0.004f) * q * q;
      log_variance.voxels[n] = static_cast<float>(std::log((photons + 25) / (photons * photons) * slope * slope));
    }
    parameters.counts.reset();
    parameters.variance = FdkParameters::Noise{1, 0};
    const auto expected = reference::fdk(log_variance, scene.geometry, scene.grid, parameters);
    EXPECT_LT(reference::largest_difference(found.voxels, expected), 2e-5 * reference::largest(expected)) << scene.name;
  }
}

TEST(CountsFdk, PlansNeedNoCalibrationAndRunsTheRightOne) {
  const Measured each = measured("cone", 0);
  FdkParameters parameters{.counts = FdkParameters::Counts{nullptr, Component::uint16}};
  const auto model = device_models(device());
  const Plan plan = plan_fdk(each.scene.geometry, each.scene.projections, each.scene.grid, parameters, model);
  EXPECT_EQ(plan.requirements.arrays.front().element_bytes, 2U);
  EXPECT_THROW(fdk(each.counts, each.scene.geometry, each.scene.grid, parameters, device()), InputError);
  CountsCalibration other = each.calibration;
  other.size[2] = 30;
  parameters.counts->calibration = &other;
  EXPECT_THROW(fdk(each.counts, each.scene.geometry, each.scene.grid, parameters, device()), InputError);
  EXPECT_THROW(fdk(each.counts, each.scene.geometry, each.scene.grid, {}, device()), InputError);  // no counts
}

}  // namespace
}  // namespace halocline::counts_fdk_test
