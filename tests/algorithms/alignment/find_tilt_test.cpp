// labels: unit nightly
// The turn of the detector about the beam from projections of asymmetric phantoms whose turn is known.
#include "algorithms/alignment/find_tilt.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "algorithms/alignment/find_axis.hpp"
#include "algorithms/phantoms/phantoms.hpp"

namespace halocline::find_tilt_test {
namespace {

std::vector<Primitive> moved(std::vector<Primitive> phantom, double x, double y, double z) {
  for (Primitive& p : phantom) {
    p.centre[0] += x;
    p.centre[1] += y;
    p.centre[2] += z;
  }
  return phantom;
}

std::vector<Primitive> off_centre_blade() {
  return moved(blade(90, 0.02), 9, 6, -7);
}

std::vector<Primitive> two_spheres() {
  Primitive large, small;
  large.semi_axes = {16, 16, 16}, large.centre = {-21, 3, 9}, large.value = 0.02;
  small.semi_axes = {9, 9, 9}, small.centre = {24, -11, 14}, small.value = 0.03;
  return {large, small};
}

/// Object that a row-by-row comparison in a cone takes for a tilt: balls along a screw about the axis.
std::vector<Primitive> screw() {
  std::vector<Primitive> out;
  for (int n = -30; n <= 30; ++n) {
    Primitive ball;
    ball.semi_axes = {5, 5, 5};
    ball.centre = {25 * std::cos(0.06 * n), 1.5 * n, 25 * std::sin(0.06 * n)};
    ball.value = 0.01;
    out.push_back(ball);
  }
  return out;
}

struct Scan {
  Volume projections;
  Geometry believed;
};

CircularOptions beam(double half_cone) {
  CircularOptions options{.sid = 1000, .sdd = 0, .projections = 120, .first_angle = 17};
  if (half_cone > 0)
    options.sdd = 0.5 * 96 * 1.6 / std::tan(half_cone * 3.14159265358979 / 180), options.sid = options.sdd / 1.5;
  return options;
}

Scan make_scan(CircularOptions options, const std::vector<Primitive>& phantom, double turn, double offset,
               double noise) {
  Grid stack;
  const double pitch = options.sdd == 0 ? 1.1 : 1.6;
  stack.size = {128, 96, options.projections};
  stack.spacing = {pitch, pitch, 1};
  stack.origin = {-0.5 * 127 * pitch, -0.5 * 95 * pitch, 0};
  Scan scan;
  scan.believed = circular_geometry(options);
  options.projection_offset_x += offset;
  options.in_plane_angle += turn;
  scan.projections = project_analytic(phantom, circular_geometry(options), stack);
  std::mt19937 random(7);
  std::normal_distribution<float> error;
  if (noise > 0)
    for (std::size_t k = 0; k < stack.size[2]; ++k)
      for (std::size_t j = 0; j < stack.size[1]; ++j)
        for (std::size_t i = 0; i < stack.size[0]; ++i)
          scan.projections.at(i, j, k) += static_cast<float>(noise) * error(random);
  return scan;
}

TiltEstimate tilt_of(const Scan& scan) {
  return detector_tilt(scan.projections, scan.believed,
                       axis_by_correlation(scan.projections, scan.believed, {0, 12}).shift);
}

struct Case {
  const char* name;
  std::vector<Primitive> phantom;
  double half_cone;  ///< degrees
  double largest;    ///< uncertainty, degrees
};

class Tilt : public testing::TestWithParam<Case> {};
// 0.05 pixels at the detector's sides, 60 pixels from the axis, are 0.05 degrees; in a cone the bound of the object's
// false tilt is added, in proportion to the cone: 0.1 degrees and less at 8 degrees for these objects. The blade's thin
// part, which a cone's middle rows see, is quiet, and noise counts. Its faces along the rows, sampled at points, move
// in steps of a pixel and draw the tilt towards 0.
INSTANTIATE_TEST_SUITE_P(Scans, Tilt,
                         testing::Values(Case{"BladeParallel", off_centre_blade(), 0, 0.1},
                                         Case{"SpheresParallel", two_spheres(), 0, 0.06},
                                         Case{"BladeNarrowCone", off_centre_blade(), 2, 0.15},
                                         Case{"SpheresNarrowCone", two_spheres(), 2, 0.1},
                                         Case{"BladeCone", off_centre_blade(), 8, 0.25},
                                         Case{"SpheresCone", two_spheres(), 8, 0.15}),
                         [](const auto& each) { return std::string(each.param.name); });

TEST_P(Tilt, IsFoundWithTheSignOfTheInPlaneAngle) {
  const Case& each = GetParam();
  for (const double turn : {0.7, -0.4, 0.0}) {
    const Scan scan = make_scan(beam(each.half_cone), each.phantom, turn, 3.7, 0.01);
    const TiltEstimate tilt = tilt_of(scan);
    ASSERT_EQ(tilt.unknown, "");
    std::printf("%s, turn %g: %.3f +- %.3f degrees, axis %+.3f pixels off\n", each.name, turn, tilt.change,
                tilt.uncertainty, (tilt.shift + 3.7) / scan.projections.grid.spacing[0]);
    EXPECT_NEAR(tilt.change, turn, std::min(each.half_cone == 0 ? 0.1 : 10, 2 * tilt.uncertainty)) << turn;
    EXPECT_LT(tilt.uncertainty, each.largest) << turn;
    EXPECT_NEAR(tilt.shift, -3.7, 0.1 * scan.projections.grid.spacing[0]) << turn;
    EXPECT_EQ(tilt.significant(), std::abs(tilt.change) > 3 * tilt.uncertainty);
    if (turn == 0 || each.half_cone == 0) {
      EXPECT_EQ(tilt.significant(), turn != 0) << turn;
    }
  }
}

// The uncertainty covers the worst that a cone does to it.
TEST(DetectorTilt, AScrewInAConeIsNoTilt) {
  for (const double half_cone : {2.0, 8.0}) {
    const TiltEstimate tilt = tilt_of(make_scan(beam(half_cone), screw(), 0, 3.7, 0));
    ASSERT_EQ(tilt.unknown, "");
    EXPECT_LT(std::abs(tilt.change), tilt.uncertainty) << half_cone;
  }
}

// Detector and source are away from the middle; a wrong sign would double the error, and the old axis leave it.
TEST(DetectorTilt, TheCorrectedGeometryReprojectsToTheScan) {
  for (const double half_cone : {0.0, 2.0, 8.0}) {
    CircularOptions options = beam(half_cone);
    options.projection_offset_y = 21;
    if (half_cone > 0) options.source_offset_x = 3, options.source_offset_y = 19;
    options.in_plane_angle = 1;
    const Scan scan = make_scan(options, two_spheres(), 0.7, 3.7, 0);
    const TiltEstimate tilt = tilt_of(scan);
    ASSERT_EQ(tilt.unknown, "");
    const auto error = [&](double shift, double change) {
      const Volume again = project_analytic(
          two_spheres(), with_detector_turned(with_axis_shifted(scan.believed, shift), change), scan.projections.grid);
      double sum = 0;
      const Grid& grid = again.grid;
      for (std::size_t k = 0; k < grid.size[2]; ++k)
        for (std::size_t j = 0; j < grid.size[1]; ++j)
          for (std::size_t i = 0; i < grid.size[0]; ++i)
            sum += std::pow(again.at(i, j, k) - scan.projections.at(i, j, k), 2);
      return std::sqrt(sum);
    };
    const double right = error(tilt.shift, tilt.change);
    EXPECT_LT(right, 0.35 * error(tilt.shift - tilt.lever, 0)) << half_cone;
    EXPECT_LT(right, 0.2 * error(tilt.shift, -tilt.change)) << half_cone;
  }
}

TEST(DetectorTilt, BadViewsAndRowsCountLess) {
  Scan scan = make_scan(beam(0), two_spheres(), 0.7, 3.7, 0.01);
  for (std::size_t i = 20; i < 60; ++i)
    for (std::size_t j = 70; j < 80; ++j)
      for (std::size_t k = 30; k < 36; ++k) scan.projections.at(i, j, k) += 0.3f;
  EXPECT_NEAR(tilt_of(scan).change, 0.7, 0.1);
}

TEST(DetectorTilt, HalfATurnOfAParallelBeamHasOnePairOfOppositeViews) {
  CircularOptions options = beam(0);
  options.arc = 180;
  EXPECT_NEAR(tilt_of(make_scan(options, two_spheres(), 0.7, 3.7, 0)).change, 0.7, 0.2);
}

TEST(DetectorTilt, SaysWhyItCannotBeTold) {
  const auto expect = [](const TiltEstimate& tilt, const char* part) {
    EXPECT_NE(tilt.unknown.find(part), std::string::npos) << "'" << part << "' is not in '" << tilt.unknown << "'";
    EXPECT_FALSE(tilt.significant());
  };
  Scan scan = make_scan(beam(8), two_spheres(), 0.7, 0, 0);
  const auto tilt = [&](double shift = 0) { return detector_tilt(scan.projections, scan.believed, shift); };
  expect(tilt(95), "nearer than 8 columns");
  scan.projections.grid.origin[1] += 90;
  expect(tilt(), "source's plane");
  scan.projections.grid.origin[1] -= 90;
  Geometry turned = with_detector_turned(scan.believed, 90);
  expect(detector_tilt(scan.projections, turned, 0), "far from along the axis");
  expect(detector_tilt(Volume(scan.projections.grid), scan.believed, 0), "show nothing");
  CircularOptions options = beam(8);
  options.arc = 100;
  expect(detector_tilt(scan.projections, circular_geometry(options), 0), "no view has one opposite");
  Grid row = scan.projections.grid;
  row.size[1] = 1;
  expect(detector_tilt(Volume(row), scan.believed, 0), "3 detector rows, and there are 1");
}

}  // namespace
}  // namespace halocline::find_tilt_test
