// labels: unit
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <set>

#include "algorithms/phantoms/phantoms.hpp"
#include "algorithms/projectors/float64_reference.hpp"
#include "algorithms/support/philox.hpp"
#include "host/system/error.hpp"

namespace halocline::gravel_test {
namespace {

using Point = std::array<double, 3>;

std::vector<Primitive> with_sign(const std::vector<Primitive>& bodies, double sign) {
  std::vector<Primitive> out;
  for (const Primitive& body : bodies)
    if (body.value * sign > 0) out.push_back(body);
  return out;
}

/// A point of the body's surface times `scale`, by a unit vector of its local axes.
Point on_surface(const Primitive& body, const Point& unit, double scale = 1) {
  Point out = body.centre;
  for (int row = 0; row < 3; ++row)
    for (int axis = 0; axis < 3; ++axis)
      out[row] += scale * body.rotation[3 * row + axis] * body.semi_axes[axis] * unit[axis];
  return out;
}

bool holds(const Primitive& body, const Point& point) {
  Primitive one = body;
  one.value = 1;
  return attenuation({one}, point) == 1;
}

/// Points of the unit sphere, evenly spread (a Fibonacci lattice).
std::vector<Point> unit_points(int count) {
  std::vector<Point> out;
  for (int n = 0; n < count; ++n) {
    const double z = 1 - (2 * n + 1.0) / count, turn = n * std::numbers::pi * (3 - std::sqrt(5.0));
    out.push_back({std::sqrt(1 - z * z) * std::cos(turn), std::sqrt(1 - z * z) * std::sin(turn), z});
  }
  return out;
}

double reach(const Primitive& body) {
  return *std::ranges::max_element(body.semi_axes);
}

double distance(const Point& a, const Point& b) {
  return std::hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]);
}

TEST(Gravel, IsTheSameForASeedAndAnotherForAnother) {
  const auto a = gravel(100, 0.02, 7), b = gravel(100, 0.02, 7), c = gravel(100, 0.02, 8);
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t n = 0; n < a.size(); ++n) {
    EXPECT_EQ(a[n].centre, b[n].centre);
    EXPECT_EQ(a[n].rotation, b[n].rotation);
    EXPECT_EQ(a[n].value, b[n].value);
  }
  EXPECT_NE(a.front().centre, c.front().centre);
  EXPECT_EQ(phantom_primitives(PhantomType::gravel, 100, 0.02).front().centre, gravel(100, 0.02, 1).front().centre);
  EXPECT_THROW(phantom_primitives(PhantomType::blade, 100, 0.02, 7), InputError);
  EXPECT_THROW(gravel(0, 0.02), InputError);
}

TEST(Gravel, ItsGrainsDoNotOverlap) {
  const auto grains = with_sign(gravel(1, 1, 3), 1);
  ASSERT_GT(grains.size(), 300u);

  const auto directions = unit_points(300);
  int neighbours = 0;
  for (const Primitive& a : grains)
    for (const Primitive& b : grains) {
      if (&a == &b || distance(a.centre, b.centre) > reach(a) + reach(b)) continue;
      ++neighbours;
      ASSERT_FALSE(holds(b, a.centre));
      for (const Point& unit : directions) ASSERT_FALSE(holds(b, on_surface(a, unit))) << testing::PrintToString(unit);
    }
  EXPECT_GT(neighbours, 300) << "grains lie close to each other";
}

TEST(Gravel, ItsPoresLieWithinGrainsOfTheirValue) {
  const auto bodies = gravel(1, 1, 4);
  const auto directions = unit_points(100);
  int pores = 0;
  for (std::size_t n = 0; n < bodies.size(); ++n) {
    if (bodies[n].value > 0) continue;
    ++pores;
    ASSERT_GT(n, 0u);
    EXPECT_EQ(bodies[n].value, -bodies[n - 1].value);
    for (const Point& unit : directions) ASSERT_TRUE(holds(bodies[n - 1], on_surface(bodies[n], unit)));
    EXPECT_EQ(attenuation(bodies, bodies[n].centre), 0);
  }
  const double share =
      static_cast<double>(pores) / static_cast<double>(bodies.size() - static_cast<std::size_t>(pores));
  EXPECT_NEAR(share, 0.25, 0.06);
}

TEST(Gravel, HasFourGreyValuesAndAir) {
  const auto bodies = gravel(2, 0.5, 5);
  PhiloxStream random(1, 0, 0);
  std::map<double, int> seen;
  int in_cylinder = 0, solid = 0;
  for (int n = 0; n < 20000; ++n) {
    Point point;
    for (double& x : point) x = 2 * random.uniform() - 1;
    const double value = attenuation(bodies, point);
    ++seen[value];
    if (value != 0) {
      EXPECT_LT(std::hypot(point[0], point[2]), 0.921);
    }
    if (std::hypot(point[0], point[2]) > 0.8 || std::abs(point[1]) > 0.8) continue;
    ++in_cylinder;
    solid += value != 0;
  }
  std::set<double> values;
  for (const auto& [value, count] : seen) {
    values.insert(std::round(1e9 * value) / 1e9);
    EXPECT_GT(count, 300) << value;
  }
  EXPECT_THAT(values, testing::ElementsAre(0, 0.3, 0.4, 0.5, 0.7));
  EXPECT_NEAR(static_cast<double>(solid) / in_cylinder, 0.5, 0.1);
}

TEST(Gravel, ItsVoxelsHaveTheMassOfItsGrains) {
  const auto bodies = gravel(48, 0.02, 2);
  double expected = 0;
  for (const Primitive& body : bodies)
    expected += body.value * 4 / 3 * std::numbers::pi * body.semi_axes[0] * body.semi_axes[1] * body.semi_axes[2];
  for (const double pitch : {1.0, 0.5}) {
    const auto n = static_cast<std::size_t>(48 / pitch);
    const Grid grid = default_grid({n, n + 1, n}, {pitch, pitch, pitch});
    const Volume volume = voxelise(bodies, grid);
    double mass = 0;
    for (const float value : volume.voxels) mass += value * pitch * pitch * pitch;
    EXPECT_NEAR(mass, expected, 2e-3 * expected);
  }
}

TEST(Gravel, ItsMeanOverAPlaneIsThatOfItsSections) {
  // The section of an ellipsoid (axes as columns of B) by the plane y = t: pi |det B| / s (1 - d^2 / s^2), with s its
  // half extent along y and d the plane's distance from its centre.
  const auto bodies = gravel(1, 1, 6);
  const double y = 0.0625;
  double expected = 0;
  for (const Primitive& body : bodies) {
    double s = 0;
    for (int axis = 0; axis < 3; ++axis) s += std::pow(body.rotation[3 + axis] * body.semi_axes[axis], 2);
    const double d2 = std::pow(y - body.centre[1], 2);
    if (d2 < s)
      expected += body.value * std::numbers::pi * body.semi_axes[0] * body.semi_axes[1] * body.semi_axes[2] /
                  std::sqrt(s) * (1 - d2 / s);
  }
  const int n = 200;
  double mean = 0;
  for (int i = 0; i < n; ++i)
    for (int k = 0; k < n; ++k) mean += attenuation(bodies, {(i + 0.5) / n - 0.5, y, (k + 0.5) / n - 0.5}) / (n * n);
  EXPECT_GT(expected, 0.2);
  EXPECT_NEAR(mean, expected, 3e-3 * expected);
}

TEST(Gravel, ItsExactProjectionsAgreeWithThoseOfItsVoxels) {
  const auto bodies = gravel(64, 0.02, 2);
  const CircularOptions options{.sid = 300, .sdd = 450, .projections = 3, .first_angle = 10};
  const Geometry geometry = circular_geometry(options);
  Grid stack;
  stack.size = {93, 67, 3};
  stack.spacing = {1.2, 1.5, 1};
  stack.origin = {-0.5 * 92 * 1.2, -0.5 * 66 * 1.5, 0};
  const Volume exact = project_analytic(bodies, geometry, stack);
  const auto error = [&](std::size_t n) {
    const double pitch = 64.0 / static_cast<double>(n);
    const Volume voxels = voxelise(bodies, default_grid({n, n, n}, {pitch, pitch, pitch}));
    const ExactScan scan{geometry, voxels.grid, stack};
    const auto voxel = [&](std::size_t i, std::size_t j, std::size_t k) { return double{voxels.at(i, j, k)}; };
    double difference = 0, total = 0;
    for (std::size_t view = 0; view < 3; ++view)
      for (std::size_t row = 0; row < 67; row += 3)
        for (std::size_t column = 0; column < 93; column += 3) {
          const double value = exact_projection(scan, Projector::siddon, {column, row, view}, voxel).value;
          difference += std::pow(value - exact.at(column, row, view), 2);
          total += std::pow(exact.at(column, row, view), 2);
        }
    return std::sqrt(difference / total);
  };
  const double coarse = error(48), fine = error(96);
  EXPECT_LT(fine, 0.06);
  EXPECT_LT(fine, 0.75 * coarse);
}

}  // namespace
}  // namespace halocline::gravel_test
