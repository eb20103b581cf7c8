// labels: unit
#include "algorithms/geometry/geometry.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>
#include <numeric>
#include <random>

#include "host/system/error.hpp"
#include "tests/support/refusal.hpp"

namespace halocline::geometry_test {
namespace {

using testing::HasSubstr;
using Vector3 = std::array<double, 3>;
constexpr double pi = std::numbers::pi;

Vector3 times(const Matrix34& m, const Vector3& p) {
  Vector3 out;
  for (int row = 0; row < 3; ++row)
    out[row] = m[4 * row] * p[0] + m[4 * row + 1] * p[1] + m[4 * row + 2] * p[2] + m[4 * row + 3];
  return out;
}

/// All nine degrees of freedom at work.
View skew_view(bool parallel = false) {
  View view;
  view.sid = 500;
  view.sdd = parallel ? 0 : 820;
  view.gantry_angle = 37;
  view.out_of_plane_angle = -6;
  view.in_plane_angle = 11;
  view.source_offset_x = 4;
  view.source_offset_y = -7;
  view.projection_offset_x = -31;
  view.projection_offset_y = 12;
  return view;
}

Geometry with_angles(const std::vector<double>& degrees, double sdd = 1500) {
  return circular_geometry({.sdd = sdd, .angles = degrees});
}

double sum(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

void expect_input_error(const std::function<void()>& call, const std::vector<std::string>& parts) {
  const std::string error = refusal_of(call);
  for (const auto& part : parts) EXPECT_THAT(error, HasSubstr(part));
}

TEST(ProjectionMatrix, ReproducesRtk) {
  View view;
  view.sid = 1000;
  view.sdd = 1536;
  view.gantry_angle = 271.847274780273;
  view.projection_offset_x = -117.056503295898;
  view.projection_offset_y = -1.01195001602173;
  const Matrix34 expected{-166.5093078829,    0,     -1531.42837748039,  -117056.503295898,
                          -1.01142410874151,  -1536, 0.0326206557691505, -1011.95001602173,
                          -0.999480303105996, 0,     0.0322354417240802, -1000};
  const Matrix34 m = projection_matrix(view);
  for (int n = 0; n < 12; ++n) EXPECT_NEAR(m[n], expected[n], 1e-9) << "element " << n;
}

TEST(ProjectionMatrix, AtAngleZeroTheSourceIsOnZAndAtNinetyOnX) {
  View view{.sid = 100, .sdd = 150};
  EXPECT_THAT(source_position(view), testing::ElementsAre(0, 0, 100));
  EXPECT_THAT(detector_point(view, 3, -2), testing::ElementsAre(3, -2, -50));
  view.gantry_angle = 90;
  const Vector3 source = source_position(view);
  EXPECT_NEAR(source[0], 100, 1e-12);
  EXPECT_NEAR(source[2], 0, 1e-12);
}

TEST(ProjectionMatrix, EveryPointOfARayProjectsToItsPixel) {
  std::mt19937 random(1);
  std::uniform_real_distribution<double> uniform(-1, 1);
  for (const bool parallel : {false, true})
    for (int repeat = 0; repeat < 50; ++repeat) {
      View view = skew_view(parallel);
      view.gantry_angle = 180 * uniform(random);
      view.out_of_plane_angle = 30 * uniform(random);
      view.in_plane_angle = 180 * uniform(random);
      view.source_offset_x = 20 * uniform(random);
      view.source_offset_y = 20 * uniform(random);
      view.projection_offset_x = 100 * uniform(random);
      view.projection_offset_y = 100 * uniform(random);
      const double u = 200 * uniform(random), v = 200 * uniform(random), t = 400 + 300 * uniform(random);
      const Ray ray = ViewRays(view).to(u, v);
      Vector3 point;
      for (int n = 0; n < 3; ++n) point[n] = ray.origin[n] + t * ray.direction[n];
      for (const Vector3& p : {point, detector_point(view, u, v)}) {
        const Vector3 h = times(projection_matrix(view), p);
        EXPECT_NEAR(h[0] / h[2], u, 1e-9);
        EXPECT_NEAR(h[1] / h[2], v, 1e-9);
      }
      if (parallel) {
        for (int n = 0; n < 3; ++n) EXPECT_NEAR(ray.direction[n], ray_direction(view)[n], 1e-14);
      } else {
        const Vector3 source = source_position(view);
        for (int n = 0; n < 3; ++n) EXPECT_EQ(ray.origin[n], source[n]);
        // the source is the one point with no image: all three homogeneous coordinates vanish there
        for (const double h : times(projection_matrix(view), source)) EXPECT_NEAR(h, 0, 1e-8);
      }
    }
}

TEST(ProjectionMatrix, RotationsComeInRtksOrder) {
  // gantry and out-of-plane by quarter turns: x' = Rx(-90) Ry(-90) x, so that the source (0,0,SID) is on the world's
  // -y
  View view{.sid = 100, .sdd = 200, .gantry_angle = 90, .out_of_plane_angle = 90};
  const Vector3 source = source_position(view);
  EXPECT_NEAR(source[0], 0, 1e-12);
  EXPECT_NEAR(source[1], -100, 1e-12);
  EXPECT_NEAR(source[2], 0, 1e-12);
  // in-plane by a quarter turn: u runs along the world's... x' = Rz(-90) x = (y, -x, z), so u = 1 is y = 1
  view = View{};
  view.sid = 100;
  view.sdd = 200;
  view.in_plane_angle = 90;
  const Vector3 point = detector_point(view, 1, 0);
  EXPECT_NEAR(point[0], 0, 1e-12);
  EXPECT_NEAR(point[1], 1, 1e-12);
}

TEST(IndexToDetector, AgreesWithWorldAndTheProjectionMatrix) {
  Grid volume;
  volume.size = {7, 93, 1};
  volume.spacing = {0.5, 1.25, 2};
  volume.origin = {-3, 14, -8};
  volume.direction = {0, 0, 1, 0.8, -0.6, 0, 0.6, 0.8, 0};
  Grid stack{.size = {60, 40, 1}, .spacing = {0.8, 1.1, 1}, .origin = {-23, -19, 0}};
  for (const bool flipped : {false, true}) {
    if (flipped) stack.direction = {0, -1, 0, -1, 0, 0, 0, 0, 1};
    for (const bool parallel : {false, true}) {
      const View view = skew_view(parallel);
      const Matrix34 m = index_to_detector(view, volume, stack);
      for (const Vector3 index : {Vector3{0, 0, 0}, Vector3{6, 92, 0}, Vector3{2.5, 40, 0.25}}) {
        const Vector3 world = volume.world(index[0], index[1], index[2]);
        const Vector3 h = times(projection_matrix(view), world);
        const Vector3 pixel = stack.index(h[0] / h[2], h[1] / h[2], 0);
        const Vector3 g = times(m, {index[0] - 3, index[1] - 46, index[2]});
        EXPECT_NEAR(g[0] / g[2], pixel[0], 1e-9);
        EXPECT_NEAR(g[1] / g[2], pixel[1], 1e-9);
        // s: distance of the point towards the source, along the line from the detector to it
        const Vector3 away = ray_direction(view);
        const double s = -(away[0] * world[0] + away[1] * world[1] + away[2] * world[2]);
        EXPECT_NEAR(g[2], parallel ? 1 : (view.sid - s) / view.sid, 1e-12);
      }
    }
  }
}

TEST(CircularGeometry, SpreadsTheViewsOverTheArc) {
  CircularOptions options;
  options.projections = 4;
  options.first_angle = 10;
  options.arc = -360;
  options.projection_offset_x = 5;
  options.in_plane_angle = 2;
  const Geometry geometry = circular_geometry(options);
  ASSERT_EQ(geometry.views.size(), 4u);
  EXPECT_DOUBLE_EQ(geometry.views[0].gantry_angle, 10);
  EXPECT_DOUBLE_EQ(geometry.views[3].gantry_angle, -260);
  EXPECT_EQ(geometry.views[2].projection_offset_x, 5);
  EXPECT_EQ(geometry.views[2].in_plane_angle, 2);
  options.angles = {3, 1, 2};
  EXPECT_EQ(circular_geometry(options).views.size(), 3u);
  EXPECT_EQ(circular_geometry(options).views[1].gantry_angle, 1);
}

TEST(CheckGeometry, NamesWhatIsWrong) {
  const auto refuse = [](const std::function<void(Geometry&)>& spoil, const std::vector<std::string>& parts) {
    Geometry geometry = with_angles({0, 10, 20});
    spoil(geometry);
    expect_input_error([&] { check_geometry(geometry, "scan.xml"); }, parts);
  };
  refuse([](Geometry& g) { g.views.clear(); }, {"scan.xml", "no projections"});
  refuse([](Geometry& g) { g.views[1].sid = 0; }, {"projection 1", "isocentre distance is 0 mm"});
  refuse([](Geometry& g) { g.views[2].sdd = -5; }, {"projection 2", "-5 mm", "parallel"});
  refuse([](Geometry& g) { g.views[2].sdd = 0; }, {"projection 2", "cannot be mixed"});
  refuse([](Geometry& g) { g.views[0].sdd = 900; }, {"projection 0", "900", "1000", "exchanged"});
  refuse([](Geometry& g) { g.views[0].in_plane_angle = NAN; }, {"in-plane angle", "finite"});
  refuse([](Geometry& g) { g.radius_cylindrical_detector = -1; }, {"cylindrical"});
  Geometry good = with_angles({0, 10, 20});
  good.views[1].sdd = 1000;  // a virtual detector at the isocentre
  EXPECT_NO_THROW(check_geometry(good, "scan.xml"));
  CircularOptions options{.projections = 0};
  expect_input_error([&] { circular_geometry(options); }, {"at least one"});
  options.projections = 2;
  options.arc = 0;
  expect_input_error([&] { circular_geometry(options); }, {"arc of 0"});
}

TEST(CheckProjections, ComparesTheStackWithTheGeometry) {
  Geometry geometry = with_angles({0, 10, 20});
  Grid stack{.size = {5, 4, 3}};
  EXPECT_NO_THROW(check_projections(stack, "p.mha", geometry, "g.xml"));
  Grid longer = stack;
  longer.size[2] = 4;
  expect_input_error([&] { check_projections(longer, "p.mha", geometry, "g.xml"); }, {"p.mha", "4", "g.xml", "3"});
  Grid turned = stack;
  turned.direction = {0, 0, 1, 0, 1, 0, 1, 0, 0};
  expect_input_error([&] { check_projections(turned, "p.mha", geometry, "g.xml"); }, {"p.mha", "view axis"});
  geometry.radius_cylindrical_detector = 400;
  expect_input_error([&] { check_projections(stack, "p.mha", geometry, "g.xml"); }, {"g.xml", "cylinder", "400"});
  EXPECT_NO_THROW(check_projections(stack, "p.mha", geometry, "g.xml", DetectorShape::flat_or_cylinder));
}

// Jaws as RTK's rtkmaskcollimation has them: it keeps columns 6 to 69 and rows 31 to 75 of this detector.
TEST(CheckProjections, RefusesPixelsBehindJaws) {
  CircularOptions options;
  options.sid = 100;
  options.sdd = 160;
  options.angles = {0, 33};
  options.source_offset_x = 4;
  options.source_offset_y = 2;
  options.projection_offset_x = 7;
  options.projection_offset_y = -3;
  Geometry geometry = circular_geometry(options);
  View& view = geometry.views[1];
  view.collimation_u_inf = 11;
  view.collimation_u_sup = 9;
  view.collimation_v_inf = 6;
  view.collimation_v_sup = 8;
  const auto part = [](std::size_t u0, std::size_t v0, std::size_t u1, std::size_t v1) {  // inclusive
    Grid stack;
    stack.size = {u1 - u0 + 1, v1 - v0 + 1, 2};
    stack.spacing = {0.5, 0.5, 1};
    stack.origin = {-30 + 0.5 * static_cast<double>(u0), -20 + 0.5 * static_cast<double>(v0), 0};
    return stack;
  };
  EXPECT_NO_THROW(check_projections(part(6, 31, 69, 75), "p.mha", geometry, "g.xml"));
  const auto refused = [&](const Grid& stack, const std::string& entry) {
    expect_input_error([&] { check_projections(stack, "p.mha", geometry, "g.xml"); },
                       {"g.xml: in projection 1 <" + entry + ">", "`Cutout`", "remove the entry"});
  };
  refused(part(5, 31, 69, 75), "CollimationUInf");
  refused(part(6, 31, 70, 75), "CollimationUSup");
  refused(part(6, 30, 69, 75), "CollimationVInf");
  refused(part(6, 31, 69, 76), "CollimationVSup");
  view = geometry.views[0];
  view.collimation_u_inf = 1000;  // far outside
  EXPECT_NO_THROW(check_projections(part(0, 0, 120, 80), "p.mha", geometry, "g.xml"));
}

TEST(AngularCoverage, EvenFullCircle) {
  CircularOptions options{.projections = 93, .first_angle = 200};
  for (const double arc : {360.0, -360.0}) {
    options.arc = arc;
    const AngularCoverage c = angular_coverage(circular_geometry(options));
    EXPECT_TRUE(c.full_circle);
    EXPECT_FALSE(c.disordered);
    EXPECT_EQ(c.repeated_views, 0);
    EXPECT_DOUBLE_EQ(c.range, 2 * pi);
    EXPECT_NEAR(c.largest_gap, 2 * pi / 93, 1e-12);
    for (const double gap : c.gaps) EXPECT_NEAR(gap, 2 * pi / 93, 1e-12);
  }
}

TEST(AngularCoverage, UnevenViewsGetHalfTheGapToEachNeighbour) {
  // 0 10 25 30 45 60 ... 345
  std::vector<double> degrees{0, 10, 25, 30};
  for (int n = 3; n < 24; ++n) degrees.push_back(15 * n);
  const AngularCoverage c = angular_coverage(with_angles(degrees));
  EXPECT_TRUE(c.full_circle);
  EXPECT_NEAR(c.gaps[0] * 180 / pi, 12.5, 1e-9);
  EXPECT_NEAR(c.gaps[1] * 180 / pi, 12.5, 1e-9);
  EXPECT_NEAR(c.gaps[2] * 180 / pi, 10, 1e-9);
  EXPECT_NEAR(c.gaps[3] * 180 / pi, 10, 1e-9);
  EXPECT_NEAR(c.gaps[4] * 180 / pi, 15, 1e-9);
  EXPECT_NEAR(sum(c.gaps), 2 * pi, 1e-12);
}

TEST(AngularCoverage, OneMissingViewLeavesAFullCircle) {
  std::vector<double> degrees;
  for (int n = 0; n < 72; ++n)
    if (n != 30) degrees.push_back(5 * n);
  const AngularCoverage c = angular_coverage(with_angles(degrees));
  EXPECT_TRUE(c.full_circle);
  EXPECT_NEAR(c.gaps[29] * 180 / pi, 7.5, 1e-9);
  EXPECT_NEAR(c.gaps[30] * 180 / pi, 7.5, 1e-9);
  EXPECT_NEAR(c.largest_gap * 180 / pi, 10, 1e-9);
  EXPECT_NEAR(sum(c.gaps), 2 * pi, 1e-12);
}

TEST(AngularCoverage, ARepeatedLastViewSharesItsGap) {
  std::vector<double> degrees;
  for (int n = 0; n <= 720; ++n) degrees.push_back(0.5 * n);
  for (const double last : {360.0, 359.99999999, 360.00001}) {
    degrees.back() = last;
    const AngularCoverage c = angular_coverage(with_angles(degrees));
    EXPECT_TRUE(c.full_circle);
    EXPECT_EQ(c.repeated_views, 1);
    EXPECT_FALSE(c.disordered);
    EXPECT_NEAR(c.gaps.front() * 180 / pi, 0.25, 1e-5);
    EXPECT_NEAR(c.gaps.back() * 180 / pi, 0.25, 1e-5);
    EXPECT_NEAR(c.gaps[1] * 180 / pi, 0.5, 1e-5);
    EXPECT_NEAR(sum(c.gaps), 2 * pi, 1e-10);
  }
}

TEST(AngularCoverage, SeveralTurnsShareTheGaps) {
  std::vector<double> degrees;
  for (int n = 0; n < 3 * 36; ++n) degrees.push_back(10 * n);
  const AngularCoverage c = angular_coverage(with_angles(degrees));
  EXPECT_TRUE(c.full_circle);
  EXPECT_EQ(c.repeated_views, 72);
  EXPECT_FALSE(c.disordered);
  for (const double gap : c.gaps) EXPECT_NEAR(gap * 180 / pi, 10.0 / 3, 1e-9);
}

TEST(AngularCoverage, TheOrderOfAcquisitionDoesNotMatter) {
  std::vector<double> degrees;
  for (int n = 0; n < 61; ++n) degrees.push_back(300 + 3.5 * n);  // a short scan over 210 degrees, through 360
  const AngularCoverage ordered = angular_coverage(with_angles(degrees));
  EXPECT_FALSE(ordered.disordered);
  std::vector<std::size_t> order(degrees.size());
  std::iota(order.begin(), order.end(), 0u);
  std::shuffle(order.begin(), order.end(), std::mt19937(3));
  std::vector<double> shuffled;
  for (const std::size_t n : order) shuffled.push_back(degrees[n]);
  const AngularCoverage c = angular_coverage(with_angles(shuffled));
  EXPECT_TRUE(c.disordered);
  EXPECT_EQ(c.first_angle, ordered.first_angle);
  EXPECT_EQ(c.range, ordered.range);
  for (std::size_t n = 0; n < order.size(); ++n) {
    EXPECT_EQ(c.gaps[n], ordered.gaps[order[n]]);
    EXPECT_EQ(c.betas[n], ordered.betas[order[n]]);
  }
}

TEST(AngularCoverage, AMissingArcMakesAShortScan) {
  for (const double turn : {1.0, -1.0}) {  // beta counts in increasing gantry angle either way
    std::vector<double> degrees;
    for (int n = 0; n < 111; ++n) degrees.push_back(-40 + 2 * n);
    if (turn < 0) std::reverse(degrees.begin(), degrees.end());
    const AngularCoverage c = angular_coverage(with_angles(degrees));
    EXPECT_FALSE(c.full_circle);
    EXPECT_FALSE(c.disordered);
    EXPECT_NEAR(c.range * 180 / pi, 220, 1e-9);
    EXPECT_NEAR(c.largest_gap * 180 / pi, 140, 1e-9);
    EXPECT_NEAR(c.first_angle * 180 / pi, 320, 1e-9);
    EXPECT_NEAR(c.gaps.front() * 180 / pi, 1, 1e-9);
    EXPECT_NEAR(c.gaps.back() * 180 / pi, 1, 1e-9);
    EXPECT_NEAR(c.gaps[50] * 180 / pi, 2, 1e-9);
    EXPECT_NEAR(sum(c.gaps), c.range, 1e-12);
    for (std::size_t n = 0; n < degrees.size(); ++n) EXPECT_NEAR(c.betas[n] * 180 / pi, degrees[n] + 40, 1e-9);
  }
}

TEST(AngularCoverage, FewWideGapsAreNoMissingArc) {
  const AngularCoverage coarse = angular_coverage(with_angles({0, 30, 60, 90, 120, 150, 180, 240, 270, 300, 330}));
  EXPECT_TRUE(coarse.full_circle);  // 60 degrees, but only twice the median
  EXPECT_NEAR(sum(coarse.gaps), 2 * pi, 1e-12);
  const AngularCoverage one = angular_coverage(with_angles({77}));
  EXPECT_NEAR(one.gaps[0], 2 * pi, 1e-12);
  EXPECT_EQ(one.betas[0], 0);
}

TEST(AngularCoverage, CountsTheArcsThatAreMissing) {
  std::vector<double> degrees;
  for (int n = 0; n < 111; ++n)
    if (n < 40 || n >= 55) degrees.push_back(2 * n);  // 140 degrees missing at the end, 32 inside
  const AngularCoverage c = angular_coverage(with_angles(degrees));
  EXPECT_EQ(c.missing_arcs, 2);
  EXPECT_EQ(c.missing_inside, 1);
  EXPECT_NEAR(c.largest_gap * 180 / pi, 140, 1e-9);
  EXPECT_NEAR(c.inner_gap * 180 / pi, 32, 1e-9);
  const AngularCoverage full = angular_coverage(with_angles({0, 90, 180, 270}));
  EXPECT_EQ(full.missing_arcs, 0);
  EXPECT_EQ(full.missing_inside, 0);
  EXPECT_NEAR(full.inner_gap, pi / 2, 1e-12);
}

TEST(AngularCoverage, ParallelArcsMayMissIfAllowed) {
  std::vector<double> degrees;
  for (int n = 0; n < 150; ++n) degrees.push_back(n);
  const AngularCoverage c = angular_coverage(with_angles(degrees, 0), true);
  EXPECT_FALSE(c.full_circle);
  EXPECT_EQ(c.missing_arcs, 1);
  EXPECT_EQ(c.missing_inside, 1);
  EXPECT_NEAR(sum(c.gaps) * 180 / pi, 149, 1e-9);
  EXPECT_NEAR(c.gaps.front() * 180 / pi, 0.5, 1e-9);
}

TEST(SourceOrbit, IsTheSourcesWayRoundTheAxis) {
  View view{.sid = 400, .sdd = 600, .gantry_angle = 30};
  SourceOrbit orbit = source_orbit(view);
  EXPECT_EQ(orbit.angle, 30 * pi / 180);
  EXPECT_EQ(orbit.tangent, (std::array<double, 3>{400, 0, 0}));
  EXPECT_EQ(orbit.inward, (std::array<double, 3>{0, 0, -400}));
  view.out_of_plane_angle = 12;
  view.in_plane_angle = -7;
  view.source_offset_x = 30;
  view.source_offset_y = -20;
  orbit = source_orbit(view);
  const auto source = source_position(view);
  EXPECT_NEAR(orbit.angle, std::atan2(source[0], source[2]), 1e-14);
  // a degree further along the gantry's turn, by differences
  View next = view, before = view;
  next.gantry_angle += 1e-4;
  before.gantry_angle -= 1e-4;
  const auto a = source_position(before), b = source_position(next), o = detector_point(view, 0, 0);
  const auto u = detector_point(view, 1, 0), v = detector_point(view, 0, 1), towards = ray_direction(view);
  double along_u = 0, along_v = 0, along_z = 0, inward_u = 0;
  for (int n = 0; n < 3; ++n) {
    const double step = (b[n] - a[n]) / (2e-4 * pi / 180);
    along_u += step * (u[n] - o[n]);
    along_v += step * (v[n] - o[n]);
    along_z -= step * towards[n];
    inward_u -= n == 1 ? 0 : source[n] * (u[n] - o[n]);
  }
  EXPECT_NEAR(orbit.tangent[0], along_u, 1e-5);
  EXPECT_NEAR(orbit.tangent[1], along_v, 1e-5);
  EXPECT_NEAR(orbit.tangent[2], along_z, 1e-5);
  EXPECT_NEAR(orbit.inward[0], inward_u, 1e-9);
}

TEST(Cylinder, RaysMeetTheArc) {
  View view;
  view.sid = 400;
  view.sdd = 600;
  view.gantry_angle = 0;
  view.source_offset_x = 10;
  view.projection_offset_x = -7;
  view.projection_offset_y = 4;
  const double radius = 500, u = 130, v = 25;
  const double angle = (u - 7) / radius;  // the arc is at x' = 0 where it touches the plane
  const std::array<double, 3> point{radius * std::sin(angle), v + 4, 400 - 600 + radius * (1 - std::cos(angle))};
  const Ray ray = ViewRays(view, radius).to(u, v);
  const double t = (point[2] - ray.origin[2]) / ray.direction[2];
  for (int n = 0; n < 3; ++n) EXPECT_NEAR(ray.origin[n] + t * ray.direction[n], point[n], 1e-9);
  const auto flat = ray_slopes(view, 0, u, v), curved = ray_slopes(view, radius, u, v);
  EXPECT_NEAR(flat[0], (130 - 7 - 10) / 600.0, 1e-15);
  EXPECT_NEAR(curved[1], (25 + 4) / (600 - radius * (1 - std::cos(angle))), 1e-15);
}

TEST(AngularCoverage, ParallelViewsCountModuloPi) {
  for (const double arc : {180.0, 360.0, -180.0}) {
    const AngularCoverage c = angular_coverage(circular_geometry({.sdd = 0, .projections = 90, .arc = arc}));
    EXPECT_TRUE(c.full_circle);
    EXPECT_EQ(c.repeated_views, 0);  // an opposite view is no repetition
    EXPECT_DOUBLE_EQ(c.range, pi);
    for (const double gap : c.gaps) EXPECT_NEAR(gap, pi / 90, 1e-12);
  }
  std::vector<double> inclusive;
  for (int n = 0; n <= 180; ++n) inclusive.push_back(n);
  const AngularCoverage c = angular_coverage(with_angles(inclusive, 0));
  EXPECT_NEAR(c.gaps.front() * 180 / pi, 0.5, 1e-9);
  EXPECT_NEAR(c.gaps.back() * 180 / pi, 0.5, 1e-9);
  EXPECT_NEAR(sum(c.gaps), pi, 1e-12);
}

TEST(AngularCoverage, ParallelScansMayNotLackAnArc) {
  std::vector<double> degrees;
  for (int n = 0; n < 150; ++n) degrees.push_back(n);
  expect_input_error([&] { angular_coverage(with_angles(degrees, 0)); }, {"31 degrees", "149", "20 degrees"});
  degrees.clear();
  for (int n = 0; n < 9; ++n) degrees.push_back(20 * n);
  EXPECT_NO_THROW(angular_coverage(with_angles(degrees, 0)));
}

}  // namespace
}  // namespace halocline::geometry_test
