// labels: device slab dealt
// FDK for real scanners: short scans, displaced and curved detectors, tilts and offsets that change from view to view,
// truncated projections. The sphere, the points and the head are as from a full circle of a perfect scanner.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>

#include "algorithms/fdk/fdk.hpp"
#include "algorithms/phantoms/phantoms.hpp"
#include "host/system/error.hpp"
#include "tests/reference/projector_reference.hpp"
#include "tests/reference/projector_scenes.hpp"
#include "tests/support/refusal.hpp"

namespace halocline::fdk_scanner_test {
namespace {

using reference::device;

constexpr double pi = std::numbers::pi;
constexpr double sid = 300, sdd = 450;

CircularOptions circle(std::size_t views, double arc = 360, double first_angle = 0) {
  return {.sid = sid, .sdd = sdd, .projections = views, .arc = arc, .first_angle = first_angle};
}

Primitive body(Shape shape, std::array<double, 3> centre, std::array<double, 3> semi_axes, double value) {
  return {.shape = shape, .semi_axes = semi_axes, .centre = centre, .value = value};
}

// ---- the same sphere

/// Mean over the voxels within `radius` of a point, in the slices that the grid has.
double mean_near(const Volume& volume, std::array<double, 3> point, double radius) {
  double sum = 0;
  int count = 0;
  for (std::size_t k = 0; k < volume.grid.size[2]; ++k)
    for (std::size_t j = 0; j < volume.grid.size[1]; ++j)
      for (std::size_t i = 0; i < volume.grid.size[0]; ++i) {
        const auto x = volume.grid.world(static_cast<double>(i), static_cast<double>(j), static_cast<double>(k));
        if (std::hypot(x[0] - point[0], x[1] - point[1], x[2] - point[2]) > radius) continue;
        sum += volume.at(i, j, k);
        ++count;
      }
  EXPECT_GT(count, 10);
  return sum / count;
}

constexpr std::array<double, 3> sphere_centre{9, 2, -6};
constexpr double sphere_value = 0.02;

struct Scanner {
  std::string name;
  Geometry geometry;
  Grid detector;
  FdkParameters parameters{};

  Volume reconstruct() const {
    const auto phantom = std::vector{body(Shape::ellipsoid, sphere_centre, {20, 20, 20}, sphere_value)};
    const bool fan = detector.size[1] == 1;
    Grid grid = default_grid({64, 64, fan ? 1u : 32u}, {1, 1, 1});
    return fdk(project_analytic(phantom, geometry, detector), geometry, grid, parameters, device()).output;
  }
};

void PrintTo(const Scanner& scanner, std::ostream* out) {
  *out << scanner.name;
}

/// Places in all of the sphere's inside, and near its rim towards all sides: cupping, streaks and a doubled rim would
/// show.
std::vector<double> inside(const Volume& volume) {
  const auto [x, y, z] = sphere_centre;
  const double at = volume.grid.size[2] == 1 ? 0 : y;  // a fan beam has one slice
  std::vector<double> out{mean_near(volume, {x, at, z}, 14)};
  for (int n = 0; n < 8; ++n)
    out.push_back(mean_near(volume, {x + 12 * std::cos(n * pi / 4), at, z + 12 * std::sin(n * pi / 4)}, 4));
  return out;
}

Grid displaced(std::size_t columns, double shift, std::size_t views, std::size_t rows = 72) {
  Grid grid = reference::detector(columns, rows, views, 1, 1);
  grid.origin[0] += shift;
  return grid;
}

std::vector<Scanner> scanners() {
  const Grid wide = reference::detector(112, 72, 180, 1, 1), row = reference::detector(112, 1, 180, 1, 1);
  const auto detector = [](std::size_t views) { return reference::detector(112, 72, views, 1, 1); };
  const Geometry turn = circular_geometry(circle(180));
  std::vector<Scanner> out;

  // half fan 7.1 degrees: at least 194.2
  out.push_back({"short", circular_geometry(circle(110, 220, 300)), detector(110)});
  out.push_back({"short_backwards", circular_geometry(circle(110, -220, 130)), detector(110)});
  out.push_back({"shortest", circular_geometry(circle(100, 197, 17)), detector(100)});
  out.push_back({"nearly_full", circular_geometry(circle(160, 330)), detector(160)});
  Geometry uneven = circular_geometry(circle(112, 222, 200));
  for (std::size_t n = 0; n < 112; ++n) uneven.views[n].gantry_angle += 0.8 * std::sin(1.7 * static_cast<double>(n));
  uneven.views.erase(uneven.views.begin() + 40);
  uneven.views.push_back(uneven.views[10]);  // repeated
  std::swap(uneven.views[5], uneven.views[90]);
  out.push_back({"short_uneven", uneven, detector(uneven.views.size())});
  out.push_back({"short_fan", circular_geometry(circle(110, 220, 300)), reference::detector(112, 1, 110, 1, 1)});

  // the sphere reaches 30.8 mm from the axis, 46.2 on the detector; it sees 20 on the other side
  out.push_back({"displaced_right", turn, displaced(72, 16, 180)});
  out.push_back({"displaced_left", turn, displaced(72, -16, 180)});
  out.push_back({"displaced_fan", turn, displaced(72, 16, 180, 1)});
  Scanner flipped{"displaced_flipped", turn, displaced(72, 0, 180)};
  flipped.detector.direction = {-1, 0, 0, 0, 1, 0, 0, 0, 1};
  flipped.detector.origin[0] = 35.5 + 16;
  out.push_back(flipped);
  Scanner wobbling{"displaced_wobbling", turn, displaced(72, 0, 180)};
  for (std::size_t n = 0; n < 180; ++n) {
    View& view = wobbling.geometry.views[n];
    view.projection_offset_x = 16 + 1.5 * std::sin(0.3 * static_cast<double>(n));
    view.projection_offset_y = 2 * std::cos(0.2 * static_cast<double>(n));
    view.in_plane_angle = 1 + std::sin(0.1 * static_cast<double>(n));
  }
  out.push_back(wobbling);

  // a pitch as the others have at the axis; at the isocentre the detector sees 13.3 mm on the short side
  for (const double side : {-1.0, 1.0}) {
    CircularOptions parallel = circle(181, 360, 25);
    parallel.sdd = 0;
    parallel.projection_offset_x = side * 16;
    Scanner half{side < 0 ? "displaced_parallel_left" : "displaced_parallel_right", circular_geometry(parallel),
                 reference::detector(88, 72, 181, sid / sdd, sid / sdd)};
    half.geometry.views[60].gantry_angle += 0.7;  // uneven
    out.push_back(half);
  }

  // K of fdk_general.cl would be up to 2.4 % off, 3.5 % and 1.5 %
  CircularOptions tilted = circle(180);
  tilted.source_offset_x = 60;
  tilted.projection_offset_x = 60 * (1 - sdd / sid);
  out.push_back({"detector_turned_about_v", circular_geometry(tilted), wide});
  tilted = circle(180);
  tilted.out_of_plane_angle = 15;
  tilted.source_offset_y = sid * std::tan(15 * pi / 180);  // the source is still in the plane y = 0
  tilted.projection_offset_y = tilted.source_offset_y * (1 - sdd / sid);
  out.push_back({"detector_turned_about_u", circular_geometry(tilted), wide});
  tilted = circle(110, 220);
  tilted.source_offset_x = 40;
  tilted.projection_offset_x = 40 * (1 - sdd / sid);
  tilted.in_plane_angle = 2;
  out.push_back({"short_tilted", circular_geometry(tilted), detector(110)});

  // upside down: u and v run the other way
  const auto turned = [](CircularOptions options) {
    options.in_plane_angle = 180;
    return circular_geometry(options);
  };
  out.push_back({"turned", turned(circle(180)), wide});
  out.push_back({"turned_short", turned(circle(110, 220, 300)), detector(110)});
  out.push_back({"turned_displaced_right", turned(circle(180)), displaced(72, 16, 180)});
  out.push_back({"turned_displaced_left", turned(circle(180)), displaced(72, -16, 180)});
  CircularOptions from_afar = circle(180, 180);
  from_afar.sdd = 0;
  out.push_back({"turned_parallel", turned(from_afar), reference::detector(112, 72, 180, sid / sdd, sid / sdd)});

  for (const double radius : {sdd, 1.6 * sdd, 0.7 * sdd})
    for (const bool fan : {false, true}) {
      Scanner curved{"cylinder_" + std::to_string(static_cast<int>(radius)) + (fan ? "_fan" : ""), turn,
                     fan ? row : wide};
      curved.geometry.radius_cylindrical_detector = radius;
      out.push_back(curved);
    }
  Scanner curved{"cylinder_short_offset", circular_geometry(circle(110, 220)), detector(110)};
  curved.geometry.radius_cylindrical_detector = sdd;
  for (View& view : curved.geometry.views) {
    view.source_offset_x = 5;
    view.projection_offset_x = -2.5;
    view.projection_offset_y = 3;
  }
  out.push_back(curved);
  curved = {"cylinder_displaced", turn, displaced(72, 16, 180)};
  curved.geometry.radius_cylindrical_detector = sdd;
  out.push_back(curved);

  CircularOptions virtual_options = circle(180);  // the rays on a detector through the axis
  virtual_options.sdd = sid;
  Scanner through_the_axis{"virtual_detector", circular_geometry(virtual_options), wide};
  through_the_axis.detector = reference::detector(112, 72, 180, sid / sdd, sid / sdd);
  out.push_back(through_the_axis);

  FdkParameters padded{.pad = 0.5};
  out.push_back({"padded_without_need", turn, wide, padded});
  out.push_back({"padded_displaced", turn, displaced(72, -16, 180), padded});
  return out;
}

class EveryScanner : public testing::TestWithParam<Scanner> {};

TEST_P(EveryScanner, MakesTheSphereOfAPerfectOne) {
  const bool fan = GetParam().detector.size[1] == 1;
  const Scanner perfect{"perfect", circular_geometry(circle(180)), reference::detector(112, fan ? 1 : 72, 180, 1, 1)};
  const auto expected = inside(perfect.reconstruct()), found = inside(GetParam().reconstruct());
  EXPECT_NEAR(expected[0], sphere_value, 0.005 * sphere_value);
  double worst = 0;
  for (std::size_t n = 0; n < expected.size(); ++n) {
    EXPECT_NEAR(found[n], expected[n], 0.005 * sphere_value) << "place " << n;
    worst = std::max(worst, std::abs(found[n] - expected[n]));
  }
  std::printf("%s: within %.3f %%\n", GetParam().name.c_str(), 100 * worst / sphere_value);
}

INSTANTIATE_TEST_SUITE_P(All, EveryScanner, testing::ValuesIn(scanners()),
                         [](const auto& info) { return info.param.name; });

// ---- rays measured twice

TEST(Redundancy, WeightsOfOppositeRaysAddUpToTwo) {
  const Redundancy parker = redundancy_of(circular_geometry(circle(110, 220)), reference::detector(112, 8, 110, 1, 1));
  ASSERT_EQ(parker.kind, Redundancy::Kind::parker);
  const double delta = parker.limit;
  EXPECT_NEAR(delta * 180 / pi, 0.5 * (218 - 180), 1e-9);
  EXPECT_NEAR(parker.betas.back() * 180 / pi, 218, 1e-9);
  int twice = 0;
  for (double beta = 0; beta <= pi + 2 * delta; beta += 0.01)
    for (double gamma = -0.12; gamma <= 0.12; gamma += 0.02) {
      double opposite = beta + pi - 2 * gamma;
      if (opposite > pi + 2 * delta) opposite -= 2 * pi;
      const bool seen = opposite >= 0 && opposite <= pi + 2 * delta;
      const double sum = reference::redundancy_weight(parker, beta, gamma) +
                         (seen ? reference::redundancy_weight(parker, opposite, -gamma) : 0);
      EXPECT_NEAR(sum, 2, 1e-12) << beta << " " << gamma;
      twice += seen ? 1 : 0;
    }
  EXPECT_GT(twice, 100);
  const Redundancy wang = redundancy_of(circular_geometry(circle(180)), displaced(72, -16, 180));
  ASSERT_EQ(wang.kind, Redundancy::Kind::wang);
  EXPECT_NEAR(wang.limit, -std::atan(19.5 / sdd), 1e-12);  // the long side is that of -u
  EXPECT_EQ(wang.columns_after, 32u);                      // -51.5 to 19.5
  EXPECT_EQ(wang.columns_before, 0u);
  for (double gamma = -0.2; gamma < 0.2; gamma += 0.01)
    EXPECT_NEAR(reference::redundancy_weight(wang, 0, gamma) + reference::redundancy_weight(wang, 0, -gamma), 2, 1e-12);
  // a parallel beam's only on a whole turn: on half of one nothing is measured twice
  CircularOptions parallel = circle(180);
  parallel.sdd = 0;
  const Redundancy far = redundancy_of(circular_geometry(parallel), displaced(72, -16, 180));
  ASSERT_EQ(far.kind, Redundancy::Kind::wang);
  EXPECT_NEAR(far.limit * parallel_source, -19.5, 1e-9);
  EXPECT_EQ(far.columns_after, 32u);
  Geometry holed = circular_geometry(circle(360));  // filled by opposite views, but for the long side
  for (View& view : holed.views) view.sdd = 0;
  holed.views.erase(holed.views.begin() + 100, holed.views.begin() + 116);
  EXPECT_THAT(redundancy_of(holed, displaced(72, -16, 344)).notes,
              testing::Contains(testing::HasSubstr("gap of 17 degrees")));
  EXPECT_THAT(redundancy_of(holed, displaced(72, 0, 344)).notes, testing::IsEmpty());
  parallel.arc = 180;
  EXPECT_EQ(redundancy_of(circular_geometry(parallel), displaced(72, -16, 180)).kind, Redundancy::Kind::none);
  parallel.arc = 330;
  EXPECT_EQ(redundancy_of(circular_geometry(parallel), displaced(72, -16, 180)).kind, Redundancy::Kind::none);
}

TEST(Redundancy, TheAngleOfTheSourceCountsNotTheGantrys) {
  // sources that jump sideways by 3 degrees and back: gantry angles are even, sources are not
  Geometry geometry = circular_geometry(circle(120));
  for (std::size_t n = 0; n < 120; n += 2) geometry.views[n].source_offset_x = sid * std::tan(1.5 * pi / 180);
  const AngularCoverage coverage = angular_coverage(geometry);
  EXPECT_NEAR(coverage.gaps[7] * 180 / pi, 3, 1e-9);  // half of 1.5 and of 4.5
  EXPECT_NEAR(coverage.betas[2] * 180 / pi, 6 + 1.5 - coverage.first_angle * 180 / pi, 1e-9);
  EXPECT_NEAR(coverage.first_angle * 180 / pi, 1.5, 1e-9);
}

// ---- arcs that are too short

struct Arc {
  std::string name;
  double sdd, arc;
  std::size_t rows;
};
void PrintTo(const Arc& arc, std::ostream* out) {
  *out << arc.name;
}

class IncompleteArcs : public testing::TestWithParam<Arc> {};

TEST_P(IncompleteArcs, LeaveAUniformDiscItsMean) {
  const auto& [name, detector_distance, arc, rows] = GetParam();
  CircularOptions options = circle(static_cast<std::size_t>(arc), arc, 20);
  options.sdd = detector_distance;
  const Geometry geometry = circular_geometry(options);
  const double pixel = detector_distance > 0 ? 1 : sid / sdd;
  const Grid detector = reference::detector(112, rows, geometry.views.size(), pixel, pixel);
  FdkParameters parameters{.redundancy = {.allow_incomplete_arc = true}};
  const auto disc = std::vector{body(Shape::cylinder, {0, 0, 0}, {28, 300, 28}, 0.0282)};
  const Volume volume = fdk(project_analytic(disc, geometry, detector), geometry, default_grid({64, 64, 1}, {1, 1, 1}),
                            parameters, device())
                            .output;
  const double mean = mean_near(volume, {0, 0, 0}, 25);
  std::printf("%s: %.5f\n", name.c_str(), mean);
  EXPECT_NEAR(mean, 0.0282, 0.01 * 0.0282);
  const Redundancy redundancy = redundancy_of(geometry, detector, parameters.redundancy);
  ASSERT_FALSE(redundancy.notes.empty());
  EXPECT_THAT(redundancy.notes.back(), testing::HasSubstr("are multiplied by "));
}

INSTANTIATE_TEST_SUITE_P(All, IncompleteArcs,
                         testing::Values(Arc{"parallel_90", 0, 90, 1}, Arc{"parallel_140", 0, 140, 1},
                                         Arc{"fan_90", sdd, 90, 1}, Arc{"fan_150", sdd, 150, 1},
                                         Arc{"fan_186", sdd, 186, 1}, Arc{"cone_90", sdd, 90, 32}),
                         [](const auto& info) { return info.param.name; });

// ---- points

// Small balls; the centre of mass of what is at least half as dense as the densest voxel about each.
void expect_points_in_place(const Geometry& geometry, const Grid& detector, const Grid& grid, double tolerance) {
  const std::vector<std::array<double, 3>> points{
      {14.3, 0.4, -8.7}, {-17.2, 5.6, 3.1}, {2.8, -7.3, 16.6}, {-4.1, 9.2, -15.4}};
  std::vector<Primitive> phantom;
  for (const auto& point : points) phantom.push_back(body(Shape::ellipsoid, point, {1.3, 1.3, 1.3}, 1));
  const Volume volume = fdk(project_analytic(phantom, geometry, detector), geometry, grid, {}, device()).output;
  double worst = 0;
  for (const auto& point : points) {
    const auto middle = grid.index(point[0], point[1], point[2]);
    double largest = 0, mass = 0, moment[3] = {0, 0, 0};
    for (const bool weigh : {false, true})
      for (int dk = -5; dk <= 5; ++dk)
        for (int dj = -5; dj <= 5; ++dj)
          for (int di = -5; di <= 5; ++di) {
            const auto i = static_cast<std::size_t>(std::lround(middle[0]) + di),
                       j = static_cast<std::size_t>(std::lround(middle[1]) + dj),
                       k = static_cast<std::size_t>(std::lround(middle[2]) + dk);
            const double value = volume.at(i, j, k);
            if (!weigh) largest = std::max(largest, value);
            if (!weigh || value < 0.5 * largest) continue;
            const auto x = grid.world(static_cast<double>(i), static_cast<double>(j), static_cast<double>(k));
            mass += value;
            for (int axis = 0; axis < 3; ++axis) moment[axis] += value * x[axis];
          }
    EXPECT_GT(largest, 0.3);
    for (int axis = 0; axis < 3; ++axis) {
      EXPECT_NEAR(moment[axis] / mass, point[axis], tolerance) << "axis " << axis << " of the point at " << point[0];
      worst = std::max(worst, std::abs(moment[axis] / mass - point[axis]));
    }
  }
  std::printf("points within %.3f voxels\n", worst / grid.spacing[0]);
}

TEST(Points, StandWhereTheyAreThroughAllNineDegreesOfFreedom) {
  // a gantry that sags, sways and twists
  Geometry geometry = circular_geometry(circle(180));
  for (std::size_t n = 0; n < 180; ++n) {
    const double t = 2 * pi * static_cast<double>(n) / 180;
    View& view = geometry.views[n];
    view.sid += 3 * std::sin(t);
    view.sdd += 4 * std::cos(2 * t);
    view.projection_offset_x = 5 * std::sin(t) + 2 * std::cos(3 * t);
    view.projection_offset_y = -4 * std::cos(t);
    view.source_offset_x = 3 * std::cos(2 * t);
    view.source_offset_y = 2 * std::sin(t);
    view.out_of_plane_angle = 1.2 * std::sin(t + 1);
    view.in_plane_angle = 1.5 * std::cos(t) - 0.7;
  }
  const Grid grid = default_grid({64, 64, 40}, {0.8, 0.8, 0.8});
  expect_points_in_place(geometry, reference::detector(128, 84, 180, 0.8, 0.8), grid, 0.08);
}

TEST(Points, StandWhereTheyAreInAShortDisplacedCurvedScan) {
  const Grid grid = default_grid({64, 64, 40}, {0.8, 0.8, 0.8});
  expect_points_in_place(circular_geometry(circle(110, 220, 40)), reference::detector(128, 84, 110, 0.8, 0.8), grid,
                         0.08);
  Grid detector = reference::detector(96, 84, 180, 0.8, 0.8);
  detector.origin[0] -= 14;
  expect_points_in_place(circular_geometry(circle(180)), detector, grid, 0.08);
  Geometry curved = circular_geometry(circle(180));
  curved.radius_cylindrical_detector = sdd;
  expect_points_in_place(curved, reference::detector(128, 84, 180, 0.8, 0.8), grid, 0.08);
}

// ---- RTK's own test: its Shepp-Logan of half width 116 mm, densities to 2, on 128^3 voxels of 2 mm

struct Quality {
  double mean_error, psnr;
};
Quality of_head(std::size_t views, double arc, double shift) {
  CircularOptions options = circle(views, arc);
  options.sid = 600;
  options.sdd = 1200;
  options.projection_offset_x = shift;
  const auto phantom = shepp_logan(232, 1, false);
  const Geometry geometry = circular_geometry(options);
  const Grid grid = default_grid({128, 128, 128}, {2, 2, 2});
  const Volume truth = voxelise(phantom, grid, 1);
  const Volume found =
      fdk(project_analytic(phantom, geometry, reference::detector(128, 128, views, 4, 4)), geometry, grid, {}, device())
          .output;
  double sum = 0, squares = 0;
  for (std::size_t n = 0; n < truth.voxels.size(); ++n) {
    const double difference = static_cast<double>(found.voxels[n]) - truth.voxels[n];
    sum += std::abs(difference);
    squares += difference * difference;
  }
  const auto count = static_cast<double>(truth.voxels.size());
  const Quality quality{sum / count, 10 * std::log10(4 / (squares / count))};
  std::printf("%zu views over %g degrees, shifted by %g mm: mean error %.4f, PSNR %.2f dB\n", views, arc, shift,
              quality.mean_error, quality.psnr);
  return quality;
}

TEST(SheppLogan, ShortScanMeetsTheThresholdsOfRtk) {
  const Quality quality = of_head(110, 220, 0);
  EXPECT_LT(quality.mean_error, 0.09);
  EXPECT_GT(quality.psnr, 22);
}

TEST(SheppLogan, DisplacedDetectorMeetsTheThresholdsOfRtk) {
  for (const double shift : {120.0, -120.0}) {
    const Quality quality = of_head(180, 360, shift);
    EXPECT_LT(quality.mean_error, 0.061);
    EXPECT_GT(quality.psnr, 24);
  }
}

// ---- rings about the axis

/// Means over rings of two millimetres about the axis, from 0 to `radius`, over the disc's value.
std::vector<double> rings(const Volume& volume, double radius) {
  std::vector<double> sums(static_cast<std::size_t>(radius / 2)), counts(sums.size());
  for (std::size_t j = 0; j < volume.grid.size[1]; ++j)
    for (std::size_t i = 0; i < volume.grid.size[0]; ++i) {
      const auto x = volume.grid.world(static_cast<double>(i), static_cast<double>(j), 0);
      const auto ring = static_cast<std::size_t>(std::hypot(x[0], x[2]) / 2);
      if (ring < sums.size()) sums[ring] += volume.at(i, j, 0), ++counts[ring];
    }
  for (std::size_t n = 0; n < sums.size(); ++n) sums[n] /= counts[n] * 0.02;
  return sums;
}

double worst_ring(const Geometry& geometry, const Grid& detector, const std::vector<Primitive>& phantom, double radius,
                  const FdkParameters& parameters = {}) {
  const Grid grid = default_grid({80, 80, 1}, {1, 1, 1});
  const auto found =
      rings(fdk(project_analytic(phantom, geometry, detector), geometry, grid, parameters, device()).output, radius);
  double worst = 0;
  for (const double ring : found) worst = std::max(worst, std::abs(ring - 1));
  return worst;
}

/// A disc 28 to 36 mm about the axis.
std::vector<Primitive> disc() {
  return {body(Shape::cylinder, {3, 0, -2}, {32, 300, 31}, 0.02)};
}

TEST(Rings, AreRightHoweverFewColumnsAreSeenTwice) {
  // 1.5 mm pixels of which 1 mm are seen at the axis; the first stands so far beyond the axis
  for (const double first : {-6.9, -3.66, -2.7, -2.25, -1.75, -1.5, -1.25, -0.75, -0.4, -0.25, -0.14})
    for (const double side : {-1.0, 1.0}) {
      Grid detector = reference::detector(64, 1, 240, 1.5, 1.5);
      detector.origin[0] = side > 0 ? first * 1.5 : -(first + 63) * 1.5;
      EXPECT_LT(worst_ring(circular_geometry(circle(240)), detector, disc(), 26), 0.01) << first << " " << side;
    }
}

TEST(Rings, AreRightWithFewColumnsSeenTwiceByAParallelBeamACylinderAndAScannerThatSways) {
  CircularOptions far = circle(240);
  far.sdd = 0;
  Grid detector = reference::detector(64, 1, 240, 1, 1);
  detector.origin[0] = -1.75;
  EXPECT_LT(worst_ring(circular_geometry(far), detector, disc(), 26), 0.01);
  detector = reference::detector(64, 1, 240, 1.5, 1.5);
  detector.origin[0] = -1.75 * 1.5;
  Geometry curved = circular_geometry(circle(240));
  curved.radius_cylindrical_detector = sdd;
  EXPECT_LT(worst_ring(curved, detector, disc(), 26), 0.01);
  detector = reference::detector(64, 5, 240, 1.5, 1.5);
  detector.origin[0] = -2.75 * 1.5;
  Geometry swaying = circular_geometry(circle(240));
  for (std::size_t n = 0; n < 240; ++n) {
    swaying.views[n].projection_offset_x = 0.5 * std::sin(2 * pi * static_cast<double>(n) / 240);
    swaying.views[n].in_plane_angle = 2;
    swaying.views[n].source_offset_x = -4;
  }
  EXPECT_LT(worst_ring(swaying, detector, disc(), 26), 0.015);
}

TEST(Rings, AreRightWhereTheObjectReachesOverTheShortSideOfADetectorDisplacedByLittle) {
  for (const double columns : {1.5, 2.0, 3.0}) {  // of 64
    Grid detector = reference::detector(64, 1, 240, 1, 1);
    detector.origin[0] += columns;
    const double edge = (31.5 - columns) / 1.5, beyond = (31.5 + columns) / 1.5;  // of the short and the long side
    const auto phantom = std::vector{body(Shape::cylinder, {0, 0, 0}, {beyond - 0.6, 300, beyond - 0.6}, 0.02)};
    const double radius = 2 * std::floor(edge / 2);
    EXPECT_LT(worst_ring(circular_geometry(circle(240)), detector, phantom, radius - 2), 0.01) << columns;
    FdkParameters without{.redundancy = {.displaced = false}};
    EXPECT_GT(worst_ring(circular_geometry(circle(240)), detector, phantom, radius - 2, without), 0.015) << columns;
    FdkParameters forced{.redundancy = {.force_displaced = true}};
    EXPECT_LT(worst_ring(circular_geometry(circle(240)), detector, phantom, radius - 2, forced), 0.01) << columns;
  }
}

TEST(Rings, WeightsOfADetectorDisplacedByLittleAddUpToTwo) {
  Grid detector = reference::detector(112, 8, 180, 1, 1);
  detector.origin[0] += 2;
  const Redundancy slight = redundancy_of(circular_geometry(circle(180)), detector);
  ASSERT_EQ(slight.kind, Redundancy::Kind::wang);
  EXPECT_TRUE(slight.slight);
  EXPECT_FALSE(slight.displaced());
  EXPECT_TRUE(slight.notes.empty());
  for (double gamma = -0.12; gamma < 0.12; gamma += 0.01)
    EXPECT_NEAR(reference::redundancy_weight(slight, 0, gamma) + reference::redundancy_weight(slight, 0, -gamma), 2,
                1e-12);
  EXPECT_EQ(reference::redundancy_weight(slight, 0, 0.05), 1);
  Geometry swaying = circular_geometry(circle(180));
  for (std::size_t n = 0; n < 180; ++n)
    swaying.views[n].projection_offset_x = 4 * std::sin(0.1 * static_cast<double>(n)) - 2;
  EXPECT_EQ(redundancy_of(swaying, detector).kind, Redundancy::Kind::none);
  EXPECT_EQ(redundancy_of(circular_geometry(circle(110, 220)), detector).kind, Redundancy::Kind::parker);
}

// ---- gaps

/// The scan of a disc with an insert, without the views from `from` to `to`.
double worst_beside_gaps(const std::vector<std::array<double, 2>>& gaps) {
  Geometry geometry = circular_geometry(circle(240));
  std::erase_if(geometry.views, [&](const View& view) {
    return std::any_of(gaps.begin(), gaps.end(),
                       [&](const auto& gap) { return view.gantry_angle > gap[0] && view.gantry_angle < gap[1]; });
  });
  Grid detector = reference::detector(112, 1, geometry.views.size(), 1, 1);
  auto phantom = disc();
  const std::array<double, 3> centre{18, 0, 4};
  phantom.push_back(body(Shape::cylinder, centre, {4, 300, 4}, -0.016));
  const Grid grid = default_grid({80, 80, 1}, {1, 1, 1});
  const Volume volume = fdk(project_analytic(phantom, geometry, detector), geometry, grid, {}, device()).output;
  double worst = std::abs(mean_near(volume, centre, 2.4) / 0.004 - 1);
  for (int n = 0; n < 12; ++n) {
    const double x = 3 + 22 * std::cos(n * pi / 6), z = -2 + 22 * std::sin(n * pi / 6);
    if (std::hypot(x - centre[0], z - centre[2]) < 8) continue;
    worst = std::max(worst, std::abs(mean_near(volume, {x, 0, z}, 2) / 0.02 - 1));
  }
  return worst;
}

TEST(Gaps, AreFilledFromTheOppositeSide) {
  EXPECT_LT(worst_beside_gaps({}), 0.006);
  EXPECT_LT(worst_beside_gaps({{100, 111}}), 0.006);
  EXPECT_LT(worst_beside_gaps({{-1, 8}, {60, 70}, {300, 318}}), 0.006);
}

TEST(Gaps, AreToldOf) {
  Geometry geometry = circular_geometry(circle(240));
  geometry.views.erase(geometry.views.begin() + 40, geometry.views.begin() + 47);
  const Grid detector = reference::detector(112, 8, geometry.views.size(), 1, 1);
  const Redundancy filled = redundancy_of(geometry, detector);
  ASSERT_EQ(filled.kind, Redundancy::Kind::gaps);
  ASSERT_EQ(filled.gaps.size(), 1u);
  EXPECT_NEAR(filled.gaps[0][1] * 180 / pi, 6, 1e-9);
  EXPECT_THAT(filled.notes, testing::ElementsAre(testing::HasSubstr("opposite side take the place")));
  for (double beta = 0; beta < 6.28; beta += 0.03)
    for (const double gamma : {-0.1, 0.0, 0.07})
      EXPECT_NEAR(reference::redundancy_weight(filled, beta, gamma) +
                      reference::redundancy_weight(filled, beta + pi - 2 * gamma, -gamma),
                  2, 1e-9);
  geometry.views.erase(geometry.views.begin() + 150, geometry.views.begin() + 157);  // opposite
  const Grid fewer = reference::detector(112, 8, geometry.views.size(), 1, 1);
  EXPECT_EQ(redundancy_of(geometry, fewer).kind, Redundancy::Kind::none);
  EXPECT_THAT(redundancy_of(geometry, fewer).notes, testing::ElementsAre(testing::HasSubstr("streaks")));
}

// ---- truncation

TEST(Truncation, PaddedRowsTakeTheBrightRimAway) {
  // an elliptic cylinder twice as wide as what is seen
  const auto phantom = std::vector{body(Shape::cylinder, {4, 0, -3}, {60, 300, 48}, 0.02)};
  const Geometry geometry = circular_geometry(circle(180));
  const Grid detector = reference::detector(84, 1, 180, 1, 1);  // 28 mm about the axis
  const Grid grid = default_grid({52, 52, 1}, {1, 1, 1});
  const Volume projections = project_analytic(phantom, geometry, detector);
  const auto worst = [&](double pad) {
    FdkParameters parameters{.pad = pad};
    const Volume volume = fdk(projections, geometry, grid, parameters, device()).output;
    double error = 0;
    for (std::size_t j = 0; j < 52; ++j)
      for (std::size_t i = 0; i < 52; ++i) {
        const auto x = grid.world(static_cast<double>(i), static_cast<double>(j), 0);
        if (std::hypot(x[0], x[2]) < 24) error = std::max(error, std::abs(volume.at(i, j, 0) / 0.02 - 1));
      }
    return error;
  };
  const double without = worst(0), with = worst(1);
  std::printf("largest error within 24 of 28 mm: %.1f %% truncated, %.1f %% padded\n", 100 * without, 100 * with);
  EXPECT_GT(without, 0.3);
  EXPECT_LT(with, 0.03);
}

// ---- what is refused

std::string refusal(const Geometry& geometry, const Grid& detector, const RedundancyOptions& options = {}) {
  return refusal_of([&] {
    check_fdk(geometry, detector, default_grid({16, 16, 16}, {1, 1, 1}), "scan.mha", "scan.xml", options);
  });
}

std::vector<std::string> told(const Geometry& geometry, const Grid& detector, const RedundancyOptions& options = {}) {
  const Grid grid = default_grid({16, 16, 16}, {1, 1, 1});
  auto notes = check_fdk_views(geometry, grid, "scan.xml");
  const auto more = check_fdk(geometry, detector, grid, "scan.mha", "scan.xml", options);
  notes.insert(notes.end(), more.begin(), more.end());
  return notes;
}

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(Refused, ArcsThatAreTooShort) {
  const Grid detector = reference::detector(112, 8, 60, 1, 1);
  const Geometry geometry = circular_geometry(circle(60, 190));  // 186.8 of 194.06 degrees
  EXPECT_THAT(refusal(geometry, detector), AllOf(HasSubstr("scan.xml"), HasSubstr("186.833 degrees"),
                                                 HasSubstr("194.0"), HasSubstr("`allow_incomplete_arc`")));
  EXPECT_THAT(told(geometry, detector, {.allow_incomplete_arc = true}),
              ElementsAre(HasSubstr("weighted as the middle")));
  const Redundancy redundancy = redundancy_of(geometry, detector, {.allow_incomplete_arc = true});
  EXPECT_NEAR(redundancy.limit, std::atan(55.5 / sdd), 1e-12);
  EXPECT_NEAR(redundancy.betas.front() + redundancy.betas.back(), pi + 2 * redundancy.limit, 1e-12);
  EXPECT_THAT(told(circular_geometry(circle(60, 210)), detector), ElementsAre(HasSubstr("Parker")));
}

TEST(Refused, RowsAlongTheAxis) {
  const Grid detector = reference::detector(112, 72, 60, 1, 1);
  for (const double sdd_or_parallel : {sdd, 0.0}) {
    CircularOptions options = circle(60);
    options.sdd = sdd_or_parallel;
    for (const double angle : {90.0, 45.0, -135.0}) {
      options.in_plane_angle = angle;
      EXPECT_THAT(
          refusal(circular_geometry(options), detector),
          AllOf(HasSubstr("rows"), HasSubstr(angle == 90 ? "turn the images by 90 degrees" : "so correct the angles")));
    }
    for (const double angle : {15.0, 165.0}) {  // resampled, where there are others to resample from
      options.in_plane_angle = angle;
      EXPECT_THAT(told(circular_geometry(options), detector), ElementsAre());
      EXPECT_THAT(told(circular_geometry(options), reference::detector(112, 1, 60, 1, 1)),
                  ElementsAre(AllOf(HasSubstr("rows stand at up to 15 degrees"), HasSubstr("one row"))));
    }
  }
}

TEST(Refused, NothingButAWordForSteepRays) {
  const Grid detector = reference::detector(112, 72, 60, 1, 1);
  CircularOptions options = circle(60);
  options.out_of_plane_angle = 15;
  const auto steep = HasSubstr("at 15 degrees to the plane across");
  EXPECT_THAT(told(circular_geometry(options), detector), ElementsAre(steep));
  options.source_offset_y = sid * std::tan(15 * pi / 180);  // the detector alone is tilted
  options.projection_offset_y = options.source_offset_y * (1 - sdd / sid);
  EXPECT_THAT(told(circular_geometry(options), detector), ElementsAre());
  options = circle(60, 180);
  options.sdd = 0;
  options.out_of_plane_angle = 15;
  EXPECT_THAT(told(circular_geometry(options), detector), ElementsAre(steep));
}

TEST(Refused, NothingButAWordForDistancesThatAreOdd) {
  const Grid detector = reference::detector(112, 72, 60, 1, 1);
  Geometry geometry = circular_geometry(circle(60));
  geometry.views[7].sid += 20;
  EXPECT_THAT(told(geometry, detector),
              ElementsAre(AllOf(HasSubstr("scan.xml: the source to isocentre distance of projection 7 is 320 mm"),
                                HasSubstr("do all views belong to one scan"))));
  CircularOptions options = circle(60);
  options.sdd = sid;
  EXPECT_THAT(told(circular_geometry(options), detector),
              ElementsAre(AllOf(HasSubstr("scan.xml: the detector stands on the rotation axis"),
                                HasSubstr("correct the distances"))));
}

TEST(Refused, ArcsMissingInside) {
  Geometry geometry = circular_geometry(circle(110, 220));
  geometry.views.erase(geometry.views.begin() + 30, geometry.views.begin() + 43);  // 28 degrees
  const Grid detector = reference::detector(112, 8, geometry.views.size(), 1, 1);
  EXPECT_THAT(refusal(geometry, detector), AllOf(HasSubstr("2 gaps"), HasSubstr("`allow_incomplete_arc`")));
  EXPECT_THAT(told(geometry, detector, {.allow_incomplete_arc = true}),
              ElementsAre(HasSubstr("2 gaps"), HasSubstr("Parker")));
  const Geometry parallel = [] {
    CircularOptions options = circle(60, 120);
    options.sdd = 0;
    return circular_geometry(options);
  }();
  const Grid stack = reference::detector(112, 8, 60, 1, 1);
  EXPECT_THAT(refusal(parallel, stack), AllOf(HasSubstr("parallel"), HasSubstr("`allow_incomplete_arc`")));
  EXPECT_THAT(told(parallel, stack, {.allow_incomplete_arc = true}), ElementsAre(HasSubstr("1 gap of up to 62")));
}

TEST(Refused, DisplacedDetectorsInAShortScan) {
  const Grid detector = displaced(72, 16, 110, 8);
  EXPECT_THAT(refusal(circular_geometry(circle(110, 220)), detector),
              AllOf(HasSubstr("displaced"), HasSubstr("short"), HasSubstr("`displaced = false`")));
  EXPECT_EQ(refusal(circular_geometry(circle(110, 220)), detector, {.displaced = false}), "");
  EXPECT_THAT(told(circular_geometry(circle(110)), detector),
              ElementsAre(AllOf(HasSubstr("Wang"), HasSubstr("13 mm"))));
}

TEST(Refused, DetectorsBesideTheAxis) {
  EXPECT_THAT(refusal(circular_geometry(circle(60)), displaced(72, 40, 60, 8)),
              AllOf(HasSubstr("misses the rotation axis in 60 of 60 views"), HasSubstr("offsets")));
  Geometry both = circular_geometry(circle(60));
  for (std::size_t n = 0; n < 60; ++n) both.views[n].projection_offset_x = n < 30 ? 16 : -16;
  EXPECT_THAT(refusal(both, displaced(72, 0, 60, 8)),
              AllOf(HasSubstr("to the left in 30 views"), HasSubstr("right in 30")));
}

TEST(Refused, CylindersThatFitNoPlane) {
  Geometry geometry = circular_geometry(circle(60));
  geometry.radius_cylindrical_detector = 30;
  EXPECT_THAT(refusal(geometry, reference::detector(112, 8, 60, 1, 1)),
              AllOf(HasSubstr("scan.xml"), HasSubstr("radius 30 mm"), HasSubstr("plane")));
  for (View& view : geometry.views) view.sdd = 0;
  EXPECT_THAT(refusal(geometry, reference::detector(112, 8, 60, 1, 1)), HasSubstr("beam is parallel"));
}

TEST(Refused, PaddingBeyondTheRow) {
  const Geometry geometry = circular_geometry(circle(60));
  const Volume projections(reference::detector(16, 8, 60, 1, 1));
  FdkParameters parameters;
  for (const double pad : {-0.1, 1.1, std::nan("")}) {
    parameters.pad = pad;
    EXPECT_THROW(fdk(projections, geometry, default_grid({4, 4, 4}, {1, 1, 1}), parameters, device()), InputError);
  }
}

TEST(Refused, NothingThatWasRightBefore) {
  // a full circle of a centred detector is weighted by the plain kernel, in rows as long as ever
  const Geometry geometry = circular_geometry(circle(60));
  const Grid detector = reference::detector(40, 40, 60, 1, 1);
  EXPECT_TRUE(told(geometry, detector).empty());
  const Fdk method(geometry, detector, default_grid({16, 16, 16}, {1, 1, 1}), {});
  EXPECT_THAT(method.requirements().kernels, testing::Contains("fdk_weight"));
  EXPECT_EQ(filtered_rows(geometry, detector, {}).length, fft_length(80));
}

}  // namespace
}  // namespace halocline::fdk_scanner_test
