// labels: device nightly
// Purpose of weighting with the noise: a turbine blade whose thick root is noisy and whose thin aerofoil with its fine
// structures is quiet. Unweighted TV either leaves the noise of the root or blurs the aerofoil; weighted with the
// propagated variance it does neither.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "algorithms/denoise/denoise.hpp"
#include "algorithms/fdk/fdk.hpp"
#include "algorithms/metrics/metrics.hpp"
#include "algorithms/noise/noise.hpp"
#include "algorithms/phantoms/phantoms.hpp"
#include "tests/reference/projector_scenes.hpp"

namespace halocline::blade_test {
namespace {

using reference::device;

constexpr double width = 128;       // mm
constexpr double mu = 5.5 / width;  // rays through the root lose up to a factor 200
constexpr std::size_t size = 128, views = 90;
constexpr double photons = 5000;

/// The voxels of a grid along the default axes (x, z, y) whose centres are in the region.
Box box_of(const Region& region, const Grid& grid) {
  constexpr int world_axis[] = {0, 2, 1};
  Box box;
  for (int axis = 0; axis < 3; ++axis) {
    const double centre =
        region.centre[world_axis[axis]] / grid.spacing[axis] + 0.5 * (static_cast<double>(grid.size[axis]) - 1);
    const double half = region.half_size[world_axis[axis]] / grid.spacing[axis] + 1e-6;
    box.lower[axis] = static_cast<std::size_t>(std::ceil(centre - half));
    box.upper[axis] = static_cast<std::size_t>(std::floor(centre + half)) + 1;
  }
  return box;
}

/// Measured values in units of mu.
struct Measured {
  double noisy = 0, quiet = 0;    // standard deviations in the homogeneous regions
  std::vector<double> contrasts;  // wall - hole of the bores, then of the slots
};

Measured measure(const std::string& name, const Volume& volume) {
  const auto regions = blade_regions(width);
  Measured out;
  out.noisy = box_statistics(volume, box_of(regions.noisy, volume.grid)).deviation / mu;
  out.quiet = box_statistics(volume, box_of(regions.quiet, volume.grid)).deviation / mu;
  for (const auto* structures : {&regions.bores, &regions.slots})
    for (const auto& structure : *structures)
      out.contrasts.push_back((box_statistics(volume, box_of(structure.wall, volume.grid)).mean -
                               box_statistics(volume, box_of(structure.hole, volume.grid)).mean) /
                              mu);
  fmt::print("{:12} root {:.4f} aerofoil {:.4f} contrasts {:.3f}\n", name, out.noisy, out.quiet,
             fmt::join(out.contrasts, " "));
  return out;
}

/// alpha in units of 1 / (mu mm).
Volume denoised(const Volume& volume, const Volume* variance, double alpha) {
  DenoiseParameters parameters{.method = variance ? "spdu" : "pdu", .alpha = alpha / mu};
  parameters.gap = 3e-4;  // at 1e-3, which counts the root's voxels least, some of its noise would be left
  auto result = denoise(volume, variance, parameters, device());
  EXPECT_TRUE(result.converged);
  return std::move(result.output);
}

TEST(Blade, WeightsSmoothTheRootAndKeepTheAerofoil) {
  const auto geometry = circular_geometry({.sid = 6 * width, .sdd = 9 * width, .projections = views});
  const double voxel = width / size, pixel = 0.75 * voxel;  // half a voxel at the isocentre
  const Grid grid = default_grid({size, size, size}, {voxel, voxel, voxel});
  auto projections = project_analytic(blade(width, mu), geometry, reference::detector(300, 300, views, pixel, pixel));
  add_noise(projections, photons, 0, 1);
  FdkParameters parameters;
  const Volume noisy = fdk(projections, geometry, grid, parameters, device()).output;
  parameters.variance = FdkParameters::Noise{photons, 0};
  // from the noisy projections, the only ones that a user has
  const Volume variance = fdk(projections, geometry, grid, parameters, device()).output;

  const auto regions = blade_regions(width);
  const double root = std::sqrt(box_statistics(variance, box_of(regions.noisy, grid)).mean) / mu;
  const double aerofoil = std::sqrt(box_statistics(variance, box_of(regions.quiet, grid)).mean) / mu;
  fmt::print("predicted    root {:.4f} aerofoil {:.4f}\n", root, aerofoil);
  EXPECT_GT(root, 3 * aerofoil);

  const auto before = measure("noisy", noisy);
  const auto weak = measure("weak PDU", denoised(noisy, nullptr, 40));
  const auto strong = measure("strong PDU", denoised(noisy, nullptr, 6));
  const auto weighted = measure("S-PDU", denoised(noisy, &variance, 14));

  EXPECT_NEAR(before.noisy, root, 0.1 * root);
  // weak PDU is gentle but leaves the root noisy; strong PDU and S-PDU smooth it
  EXPECT_GT(weak.noisy, 0.5 * before.noisy);
  EXPECT_LT(strong.noisy, 0.05 * before.noisy);
  EXPECT_LE(weighted.noisy, 1.1 * strong.noisy);
  for (std::size_t n = 0; n < weak.contrasts.size(); ++n) {
    EXPECT_GE(weighted.contrasts[n], 0.9 * weak.contrasts[n]) << "structure " << n;
    EXPECT_LT(strong.contrasts[n], 0.9 * weak.contrasts[n]) << "structure " << n;
  }
}

}  // namespace
}  // namespace halocline::blade_test
