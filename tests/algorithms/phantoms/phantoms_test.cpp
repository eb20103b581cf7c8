// labels: unit
#include "algorithms/phantoms/phantoms.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <random>

#include "host/system/error.hpp"
#include "tests/support/refusal.hpp"

namespace halocline::phantoms_test {
namespace {

using testing::HasSubstr;
using Vector3 = std::array<double, 3>;
constexpr double pi = std::numbers::pi;

double sum(const Volume& volume) {
  double total = 0;
  for (const float value : volume.voxels) total += value;
  return total;
}

double voxel_volume(const Grid& grid) {
  return grid.spacing[0] * grid.spacing[1] * grid.spacing[2];
}

/// A rotation about a skew axis.
std::array<double, 9> some_rotation() {
  const double a = 0.6, b = -1.1, c = 2.3;
  const double ca = std::cos(a), sa = std::sin(a), cb = std::cos(b), sb = std::sin(b), cc = std::cos(c),
               sc = std::sin(c);
  return {ca * cb,
          ca * sb * sc - sa * cc,
          ca * sb * cc + sa * sc,
          sa * cb,
          sa * sb * sc + ca * cc,
          sa * sb * cc - ca * sc,
          -sb,
          cb * sc,
          cb * cc};
}

/// One body of each shape, off-centre, rotated, overlapping.
std::vector<Primitive> odd_bodies() {
  return {{Shape::ellipsoid, {9, 4, 6}, {5, -3, 2}, some_rotation(), 0.02},
          {Shape::cylinder, {3, 8, 5}, {-6, 4, 1}, some_rotation(), 0.03},
          {Shape::box, {4, 2.5, 7}, {1, 5, -6}, some_rotation(), -0.01},
          {Shape::box, {2, 3, 4}, {-4, -8, 3}, Primitive{}.rotation, 0.05}};
}

/// The integral by brute force: `attenuation` at the midpoints of short steps.
double sampled_integral(const std::vector<Primitive>& bodies, const Vector3& point, const Vector3& direction,
                        double from, double to, double step) {
  const int steps = static_cast<int>((to - from) / step);
  double total = 0;
  for (int n = 0; n < steps; ++n) {
    const double t = from + (n + 0.5) * step;
    total += step * attenuation(bodies, {point[0] + t * direction[0], point[1] + t * direction[1],
                                         point[2] + t * direction[2]});
  }
  return total;
}

TEST(PhantomType, IsFoundByName) {
  EXPECT_EQ(phantom_type("shepp-logan"), PhantomType::shepp_logan);
  EXPECT_EQ(phantom_type("shepp-logan-hc"), PhantomType::shepp_logan_hc);
  EXPECT_EQ(phantom_type("blade"), PhantomType::blade);
  EXPECT_EQ(phantom_type("two-balls"), PhantomType::two_balls);
  const std::string error = refusal_of([&] { phantom_type("Blade"); });
  EXPECT_THAT(error, HasSubstr("\"Blade\""));
  for (const auto& name : phantom_names()) EXPECT_THAT(error, HasSubstr(name));
}

TEST(LineIntegral, OfSimpleBodiesIsTheirLength) {
  const double s = 1 / std::sqrt(2.0);
  const std::vector<Primitive> ball{{Shape::ellipsoid, {5, 5, 5}, {1, 2, 3}, Primitive{}.rotation, 0.1}};
  EXPECT_NEAR(line_integral(ball, {-1000, 2, 3}, {1, 0, 0}), 1, 1e-13);
  EXPECT_NEAR(line_integral(ball, {1, 5, 1e4}, {0, 0, -1}), 0.8, 1e-12);
  EXPECT_EQ(line_integral(ball, {1, 7.0001, 0}, {0, 0, 1}), 0);
  EXPECT_NEAR(line_integral(ball, {1, 2, 3}, {s, 0, s}), 1, 1e-14) << "the line is infinite: it also runs backwards";
  const std::vector<Primitive> box{{Shape::box, {1, 2, 3}, {0, 0, 0}, Primitive{}.rotation, 1}};
  EXPECT_NEAR(line_integral(box, {0, 0, 50}, {0, 0, -1}), 6, 1e-13);
  EXPECT_NEAR(line_integral(box, {0, 0, 0}, {s, s, 0}), 2 / s, 1e-13);
  EXPECT_EQ(line_integral(box, {1.5, 0, 0}, {0, 0, 1}), 0);
  const std::vector<Primitive> cylinder{{Shape::cylinder, {1, 2, 3}, {0, 0, 0}, Primitive{}.rotation, 1}};
  EXPECT_NEAR(line_integral(cylinder, {0.5, 9, 0}, {0, -1, 0}), 4, 1e-13);
  EXPECT_NEAR(line_integral(cylinder, {0, 0, 50}, {0, 0, -1}), 6, 1e-13);
  EXPECT_NEAR(line_integral(cylinder, {0, 0, 0}, {s, s, 0}), 1 / s * 2, 1e-13) << "through the mantle";
  EXPECT_EQ(line_integral(cylinder, {0, 2.5, 0}, {1, 0, 0}), 0);
  EXPECT_EQ(line_integral(cylinder, {2, 0, 0}, {0, 1, 0}), 0);
}

TEST(LineIntegral, AgreesWithSamplingAlongTheLine) {
  std::mt19937 random(5);
  std::normal_distribution<double> normal;
  int hits = 0;
  for (int repeat = 0; repeat < 60; ++repeat) {
    const Vector3 through{4 * normal(random), 4 * normal(random), 4 * normal(random)};
    Vector3 direction{normal(random), normal(random), normal(random)};
    const double length = std::hypot(direction[0], direction[1], direction[2]);
    Vector3 start;
    for (int n = 0; n < 3; ++n) {
      direction[n] /= length;
      start[n] = through[n] - 100 * direction[n];
    }
    for (const Primitive& body : odd_bodies()) {
      const double exact = line_integral({body}, start, direction);
      // each of the two ends of the chord is found to half a step
      EXPECT_NEAR(exact, sampled_integral({body}, start, direction, 60, 140, 0.005),
                  1.01 * 0.005 * std::abs(body.value));
      hits += exact != 0;
    }
  }
  EXPECT_GT(hits, 60);
}

TEST(LineIntegral, IsExactFromAFarSource) {
  // 10 km away, 1 mm ball, a chord at 0.6 of its radius
  const std::vector<Primitive> ball{{Shape::ellipsoid, {1, 1, 1}, {0, 0, 0}, Primitive{}.rotation, 1}};
  EXPECT_NEAR(line_integral(ball, {0.6, 0, 1e7}, {0, 0, -1}), 1.6, 1e-9);
}

TEST(Voxelise, KeepsTheVolumeOfEachShape) {
  Grid grid = default_grid({60, 50, 55}, {0.6, 0.7, 0.65});
  grid.origin[0] += 0.13;
  const double volumes[] = {4.0 / 3 * pi * 9 * 4 * 6, 2 * pi * 3 * 8 * 5, 8 * 4 * 2.5 * 7, 8.0 * 2 * 3 * 4};
  const auto bodies = odd_bodies();
  for (std::size_t n = 0; n < bodies.size(); ++n) {
    const double expected = volumes[n] * bodies[n].value;
    // a flat face along the grid's axes is far worse than a curved or tilted one
    const double tolerance = n == 3 ? 0.05 : 2e-3;
    EXPECT_NEAR(sum(voxelise({bodies[n]}, grid)) * voxel_volume(grid), expected, tolerance * std::abs(expected)) << n;
  }
}

TEST(Voxelise, IsTheMeanOverTheSamplePoints) {
  Grid grid{.size = {7, 9, 1}, .spacing = {2.5, 1.5, 3}, .origin = {-6, 7, 0}, .direction = some_rotation()};
  for (const int samples : {1, 2, 3}) {
    const Volume volume = voxelise(odd_bodies(), grid, samples);
    int nonzero = 0;
    for (std::size_t j = 0; j < 9; ++j)
      for (std::size_t i = 0; i < 7; ++i) {
        double mean = 0;
        for (int c = 0; c < samples; ++c)
          for (int b = 0; b < samples; ++b)
            for (int a = 0; a < samples; ++a) {
              const auto at = [&](std::size_t index, int n) {
                return static_cast<double>(index) + (n + 0.5) / samples - 0.5;
              };
              mean += attenuation(odd_bodies(), grid.world(at(i, a), at(j, b), at(0, c)));
            }
        mean /= samples * samples * samples;
        EXPECT_NEAR(volume.at(i, j, 0), mean, 1e-8) << i << "," << j;
        nonzero += mean != 0;
      }
    EXPECT_GT(nonzero, 10);
  }
}

TEST(Voxelise, RefusesBadInput) {
  const Grid grid = default_grid({4, 4, 4}, {1, 1, 1});
  EXPECT_THROW(voxelise(PhantomType::blade, grid, 4, 1, 0), InputError);
  EXPECT_THROW(voxelise(PhantomType::blade, grid, 4, 1, 17), InputError);
  EXPECT_THROW(voxelise(PhantomType::blade, grid, 0, 1), InputError);
  EXPECT_THROW(voxelise(PhantomType::blade, grid, 4, NAN), InputError);
  EXPECT_THROW(voxelise(PhantomType::blade, Grid{}, 4, 1), InputError);
}

TEST(TwoBalls, IsTheTestObjectOfTheDenoisers) {
  for (const std::size_t n : {std::size_t{1}, std::size_t{7}, std::size_t{24}}) {
    const double size = static_cast<double>(n);
    const Grid grid = default_grid({n, n, n}, {0.5, 0.5, 0.5});
    const Volume volume = voxelise(PhantomType::two_balls, grid, 0.5 * size, 2, 1);
    for (std::size_t k = 0; k < n; ++k)
      for (std::size_t j = 0; j < n; ++j)
        for (std::size_t i = 0; i < n; ++i) {
          const double x = static_cast<double>(i) + 0.5, y = static_cast<double>(j) + 0.5,
                       z = static_cast<double>(k) + 0.5;
          const auto distance = [&](double centre) {
            return std::hypot(x - centre * size, y - 0.5 * size, z - 0.5 * size);
          };
          const double expected = distance(0.35) < 0.2 * size ? 1.5 : distance(0.5) < 0.45 * size ? 1 : 0;
          ASSERT_EQ(volume.at(i, j, k), static_cast<float>(2 * expected)) << i << "," << j << "," << k;
        }
  }
}

TEST(SheppLogan, HasTheValuesOfTheTables) {
  struct Point {
    Vector3 at;  // half widths, world
    double density, high_contrast;
  };
  const Point points[] = {
      {{0, 0, 0.9}, 2, 1},                // skull, front
      {{0, 0, -0.9}, 2, 1},               // skull, back
      {{0.675, 0, 0}, 2, 1},              // skull, side
      {{0, 0.889, 0}, 2, 1},              // skull, vertex
      {{0.7, 0, 0}, 0, 0},                // outside
      {{0, 0, 0.91999}, 2, 1},            // the long axis of the slice is z
      {{0, 0.91, 0}, 0, 0},               // and not y
      {{0, 0.3, 0}, 1.02, 0.2},           // brain
      {{-0.22, -0.25, 0}, 1.00, 0},       // left ventricle
      {{0.22, -0.25, 0}, 1.00, 0},        // right ventricle
      {{-0.32, -0.25, 0.32}, 1.00, 0},    // the left ventricle leans to -x at +z (108 degrees)
      {{-0.12, -0.25, 0.32}, 1.04, 0.4},  // not there, but in the ellipsoid in front
      {{0.29, -0.25, 0.24}, 1.00, 0},     // the right one to +x (72 degrees)
      {{0, -0.25, 0.5}, 1.04, 0.4},
      {{0, -0.25, 0.1}, 1.06, 0.6},  // the small ball, within the upper end of that ellipsoid
      {{-0.08, -0.25, -0.65}, 1.03, 0.3},
      {{0.06, -0.25, -0.65}, 1.03, 0.3},
      {{0.06, 0.625, -0.105}, 1.04, 0.4},
      {{0, 0.625, 0.1}, 1.00, 0},
  };
  for (const Point& p : points) {
    const Vector3 mm{60 * p.at[0], 60 * p.at[1], 60 * p.at[2]};
    EXPECT_NEAR(attenuation(shepp_logan(120, 0.02, false), mm), 0.02 * p.density, 1e-12)
        << testing::PrintToString(p.at);
    EXPECT_NEAR(attenuation(shepp_logan(120, 0.02, true), mm), 0.02 * p.high_contrast, 1e-12)
        << testing::PrintToString(p.at);
  }
}

TEST(SheppLogan, HasItsMass) {
  double expected = 0;
  for (const Primitive& p : shepp_logan(64, 1, false))
    expected += p.value * 4 / 3 * pi * p.semi_axes[0] * p.semi_axes[1] * p.semi_axes[2];
  const Grid grid = default_grid({64, 64, 64}, {1, 1, 1});
  EXPECT_NEAR(sum(voxelise(PhantomType::shepp_logan, grid, 64, 1)), expected, 1e-3 * expected);
}

TEST(Blade, HasNoValueButMaterialAndAir) {
  const auto bodies = blade(1, 1);
  std::mt19937 random(7);
  std::uniform_real_distribution<double> uniform(-0.5, 0.5);
  int solid = 0;
  for (int n = 0; n < 40000; ++n) {
    const Vector3 point{uniform(random), uniform(random), uniform(random)};
    const double value = attenuation(bodies, point);
    ASSERT_TRUE(value == 0 || value == 1) << testing::PrintToString(point) << " has " << value;
    if (value == 0) continue;
    ++solid;
    EXPECT_LT(std::hypot(point[0], point[2]), 0.5) << "it must stay within the circle that every view sees";
  }
  EXPECT_GT(solid, 1000);
  // Random points miss the small holes: each must be in solid material, and in no other hole.
  for (const Primitive& hole : bodies) {
    if (hole.value > 0) continue;
    for (int n = 0; n < 2000; ++n) {
      Vector3 local{2 * uniform(random), 2 * uniform(random), 2 * uniform(random)}, point = hole.centre;
      if (hole.shape == Shape::ellipsoid && std::hypot(local[0], local[1], local[2]) >= 1) continue;
      if (hole.shape == Shape::cylinder && std::hypot(local[0], local[2]) >= 1) continue;
      for (int row = 0; row < 3; ++row)
        for (int axis = 0; axis < 3; ++axis)
          point[row] += hole.rotation[3 * row + axis] * hole.semi_axes[axis] * local[axis];
      ASSERT_EQ(attenuation(bodies, point), 0) << testing::PrintToString(point);
    }
  }
}

TEST(Blade, ItsRegionsAreWhatTheySay) {
  const double width = 90;
  const auto bodies = blade(width, 1);
  const BladeRegions regions = blade_regions(width);
  std::mt19937 random(9);
  std::uniform_real_distribution<double> uniform(-0.999, 0.999);
  const auto expect_uniform = [&](const Region& region, double value) {
    for (int n = 0; n < 500; ++n) {
      Vector3 point;
      for (int axis = 0; axis < 3; ++axis) point[axis] = region.centre[axis] + uniform(random) * region.half_size[axis];
      ASSERT_EQ(attenuation(bodies, point), value) << testing::PrintToString(point);
    }
  };
  expect_uniform(regions.noisy, 1);
  expect_uniform(regions.quiet, 1);
  ASSERT_EQ(regions.bores.size(), 4u);
  ASSERT_EQ(regions.slots.size(), 4u);
  for (const auto* list : {&regions.bores, &regions.slots})
    for (const FineStructure& fine : *list) {
      expect_uniform(fine.hole, 0);
      expect_uniform(fine.wall, 1);
      EXPECT_GE(fine.size, 1.49 * width / 128);
      EXPECT_LE(fine.size, 4.01 * width / 128);
    }
}

TEST(Blade, ItsRootIsNoisierThanItsAerofoil) {
  // The variance of a ray goes with exp(path), and that of a voxel with the mean of it over the views.
  const auto bodies = blade(1, 5);
  const BladeRegions regions = blade_regions(1);
  const auto variance = [&](const Vector3& at) {
    double total = 0;
    for (int degrees = 0; degrees < 180; ++degrees) {
      const double a = degrees * pi / 180;
      total += std::exp(line_integral(bodies, at, {std::cos(a), 0, std::sin(a)}));
    }
    return total / 180;
  };
  EXPECT_GT(std::sqrt(variance(regions.noisy.centre) / variance(regions.quiet.centre)), 2.5);
}

Grid stack(std::size_t columns, std::size_t rows, std::size_t views, double pitch) {
  Grid grid;
  grid.size = {columns, rows, views};
  grid.spacing = {pitch, pitch * 1.25, 1};
  grid.origin = {-0.5 * (static_cast<double>(columns) - 1) * pitch + 0.4,
                 -0.5 * (static_cast<double>(rows) - 1) * pitch * 1.25, 0};
  return grid;
}

TEST(ProjectAnalytic, TakesEachPixelFromSourceToDetector) {
  CircularOptions options;
  options.sid = 70;
  options.projections = 3;
  options.first_angle = 20;
  options.projection_offset_x = 6;
  options.projection_offset_y = -3;
  options.source_offset_x = 2;
  options.source_offset_y = 1;
  options.out_of_plane_angle = 5;
  options.in_plane_angle = -8;
  for (const double sdd : {110.0, 0.0}) {
    options.sdd = sdd;
    const Geometry geometry = circular_geometry(options);
    const Grid grid = stack(9, 7, 3, 4.0);
    const Volume projections = project_analytic(odd_bodies(), geometry, grid);
    int nonzero = 0;
    for (std::size_t view = 0; view < 3; ++view)
      for (std::size_t row = 0; row < 7; ++row)
        for (std::size_t column = 0; column < 9; ++column) {
          const auto uv = grid.world(static_cast<double>(column), static_cast<double>(row), 0);
          // two points of the ray, found independently: the detector's, and one that the matrix maps to the same place
          const Vector3 on_detector = detector_point(geometry.views[view], uv[0], uv[1]);
          Vector3 direction = ray_direction(geometry.views[view]);
          if (sdd > 0) {
            const Vector3 at_source = source_position(geometry.views[view]);
            for (int n = 0; n < 3; ++n) direction[n] = on_detector[n] - at_source[n];
            const double length = std::hypot(direction[0], direction[1], direction[2]);
            for (double& d : direction) d /= length;
          }
          const double expected = sampled_integral(odd_bodies(), on_detector, direction, -140, 0, 0.02);
          EXPECT_NEAR(projections.at(column, row, view), expected, 0.02 * 0.12);
          nonzero += expected > 0.01;
        }
    EXPECT_GT(nonzero, 30);
  }
}

TEST(ProjectAnalytic, AgreesWithTheVoxels) {
  // The integral over a parallel view times the pixel area is the mass, whatever the angles.
  CircularOptions options{.sid = 100, .sdd = 0, .projections = 5, .out_of_plane_angle = 12};
  const Volume projections =
      project_analytic(shepp_logan(40, 0.05, true), circular_geometry(options), stack(93, 75, 5, 0.5));
  const Grid grid = default_grid({40, 40, 40}, {1, 1, 1});
  const double mass = sum(voxelise(PhantomType::shepp_logan_hc, grid, 40, 0.05));
  for (std::size_t view = 0; view < 5; ++view) {
    double total = 0;
    for (std::size_t n = 0; n < projections.grid.slice(); ++n)
      total += projections.voxels[view * projections.grid.slice() + n];
    EXPECT_NEAR(total * 0.5 * 0.625, mass, 2e-3 * mass);
  }
}

TEST(ProjectAnalytic, RefusesAStackThatDoesNotFit) {
  CircularOptions options{.projections = 4};
  EXPECT_THROW(project_analytic(two_balls(10, 1), circular_geometry(options), stack(3, 3, 5, 1)), InputError);
}

}  // namespace
}  // namespace halocline::phantoms_test
