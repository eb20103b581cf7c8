// labels: device slab nightly
// Rows that are not across the rotation axis: places of the upright detector's pixels on the measured one, and FDK of a
// tilted scan beside that of a perfect one. A thin plate across the axis shows it best.
#include "algorithms/fdk/upright_rows.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "algorithms/checks/geometry_check.hpp"
#include "algorithms/fdk/fdk.hpp"
#include "algorithms/geometry/geometry_decompose.hpp"
#include "algorithms/phantoms/phantoms.hpp"
#include "tests/reference/projector_scenes.hpp"

namespace halocline::upright_rows_test {
namespace {

using reference::device;
using testing::HasSubstr;

constexpr double pi = std::numbers::pi;
constexpr double sid = 300, sdd = 450;

CircularOptions circle(std::size_t views, double in_plane, double arc = 360) {
  return {.sid = sid, .sdd = sdd, .projections = views, .arc = arc, .in_plane_angle = in_plane};
}

// ---- places of pixels

// Everything differs from view to view.
Geometry restless(bool parallel) {
  Geometry geometry = circular_geometry(circle(12, 0));
  for (std::size_t n = 0; n < 12; ++n) {
    const auto t = static_cast<double>(n);
    View& view = geometry.views[n];
    view.sid += 10 * std::sin(t);
    view.sdd = parallel ? 0 : view.sdd + 15 * std::cos(t);
    view.in_plane_angle = 8 * std::sin(2 * t) + (n % 3 == 0 ? 180 : 0);
    view.out_of_plane_angle = 6 * std::cos(3 * t);
    view.source_offset_x = 7 * std::cos(t);
    view.source_offset_y = -9 * std::sin(t);
    view.projection_offset_x = 12 * std::cos(2 * t);
    view.projection_offset_y = 5 * std::sin(3 * t);
  }
  return geometry;
}

Grid odd_detector(bool flipped) {
  Grid grid = reference::detector(41, 27, 12, 1.5, 1.1);
  grid.origin[0] += 3;
  if (flipped) {
    grid.direction = {-1, 0, 0, 0, -1, 0, 0, 0, 1};
    grid.origin = {29, 17, 0};
  }
  return grid;
}

std::array<double, 2> mapped(const UprightRows::Map& map, double column, double row) {
  const auto& m = map.to_measured;
  const auto of = [&](int n) { return m[n] * column + m[n + 1] * row + m[n + 2]; };
  return {of(0) / of(6), of(3) / of(6)};
}

class UprightPixels : public testing::TestWithParam<std::tuple<bool, bool, double>> {};

TEST_P(UprightPixels, LieWhereTheirRaysMeetTheMeasuredDetector) {
  const auto [parallel, flipped, radius] = GetParam();
  if (parallel && radius > 0) GTEST_SKIP() << "no such scan";
  Geometry geometry = restless(parallel);
  geometry.radius_cylindrical_detector = radius;
  const Grid raw = odd_detector(flipped);
  const auto upright = upright_rows(geometry, raw);
  ASSERT_TRUE(upright);
  for (std::size_t n = 0; n < 12; ++n) {
    const View &view = geometry.views[n], &level = upright->geometry.views[n];
    const auto& map = upright->maps[n];
    const Placement there = placement_of(view), here = placement_of(level);
    if (!parallel) {
      for (int axis = 0; axis < 3; ++axis) EXPECT_NEAR(here.source[axis], there.source[axis], 1e-9);
      EXPECT_NEAR(source_orbit(level).tangent[2], 0, 1e-9);
    }
    EXPECT_NEAR(here.u[1], 0, 1e-12) << "rows are across the axis";
    EXPECT_NEAR(source_orbit(level).tangent[1], 0, 1e-9);
    double least[2] = {1e9, 1e9}, most[2] = {-1e9, -1e9};
    for (const std::size_t column : {0, 20, 40})
      for (const std::size_t row : {0, 13, 26}) {
        // from the measured pixel along its ray to the upright detector, and back by the map
        const auto p = raw.world(static_cast<double>(column), static_cast<double>(row), 0);
        const Ray ray = ViewRays(view, radius).to(p[0], p[1]);
        const Matrix34 m = projection_matrix(level);
        const Vector3 x = add_scaled(ray.origin, 321, ray.direction);
        const auto of = [&](int i) { return m[i] * x[0] + m[i + 1] * x[1] + m[i + 2] * x[2] + m[i + 3]; };
        const double u = (of(0) / of(8) - upright->detector.origin[0]) / raw.spacing[0],
                     v = (of(4) / of(8) - upright->detector.origin[1]) / raw.spacing[1];
        const auto found = mapped(map, u, v);
        if (radius > 0) {
          const auto slopes = ray_slopes(view, radius, p[0], p[1]);
          EXPECT_NEAR(found[0], slopes[0], 1e-9);
          EXPECT_NEAR(found[1], slopes[1], 1e-9);
          const double to_end = std::min(std::abs(map.ends[0] - slopes[0]), std::abs(map.ends[1] - slopes[0]));
          EXPECT_EQ(to_end < 1e-9, column != 20);
        } else {
          EXPECT_NEAR(found[0], static_cast<double>(column), 1e-8);
          EXPECT_NEAR(found[1], static_cast<double>(row), 1e-8);
        }
        const double at[2] = {u, v};
        for (int axis = 0; axis < 2; ++axis) {
          EXPECT_GE(at[axis], -1e-6) << "nothing that is measured is lost";
          EXPECT_LE(at[axis], static_cast<double>(upright->detector.size[axis]) - 1 + 1e-6);
          least[axis] = std::min(least[axis], at[axis]);
          most[axis] = std::max(most[axis], at[axis]);
        }
      }
    // the end on the side of column 0 is the first
    const double middle = 0.5 * static_cast<double>(upright->detector.size[1] - 1);
    const double first = mapped(map, least[0], middle)[0], last = mapped(map, most[0], middle)[0];
    EXPECT_EQ(first < last, map.ends[0] < map.ends[1]);
  }
}

INSTANTIATE_TEST_SUITE_P(All, UprightPixels,
                         testing::Combine(testing::Bool(), testing::Bool(), testing::Values(0.0, 400.0)));

TEST(UprightRows, AreMadeOfNoScanThatHasThem) {
  const Grid detector = reference::detector(64, 48, 30, 1, 1);
  for (const double angle : {0.0, 180.0, -180.0, 0.015})  // the last one: 0.016 rows over 63 columns
    EXPECT_FALSE(upright_rows(circular_geometry(circle(30, angle)), detector)) << angle;
  CircularOptions options = circle(30, 0);
  options.out_of_plane_angle = 12;
  options.source_offset_y = 20;
  EXPECT_FALSE(upright_rows(circular_geometry(options), detector));
  options = circle(30, 0);
  options.source_offset_x = 20;
  EXPECT_FALSE(upright_rows(circular_geometry(options), detector));
  EXPECT_TRUE(upright_rows(circular_geometry(circle(30, 0.03)), detector));
  Geometry one = circular_geometry(circle(30, 0));
  one.views[7].in_plane_angle = 1;
  EXPECT_TRUE(upright_rows(one, detector));
  // pixels of the views that are not turned are unchanged
  const auto upright = upright_rows(one, detector);
  const auto at = mapped(upright->maps[3], 10, 10);
  for (const double each : at) EXPECT_NEAR(each, std::round(each), 1e-9);
}

TEST(UprightRows, HaveAsManyPixelsAsWereMeasuredAtLeast) {
  const Geometry geometry = circular_geometry(circle(12, 1));
  for (const std::size_t columns : {2, 3, 40})
    for (const std::size_t rows : {2, 3, 40}) {
      const auto upright = upright_rows(geometry, reference::detector(columns, rows, 12, 40, 0.01));
      ASSERT_TRUE(upright);
      EXPECT_GE(upright->detector.size[0], columns);
      EXPECT_GE(upright->detector.size[1], rows);
    }
}

TEST(UprightRows, OnlyTheMeasuredRowsAreReadThatASlabNeeds) {
  const Geometry geometry = circular_geometry(circle(30, 3));
  const Grid detector = reference::detector(101, 200, 30, 1, 1);
  const Grid volume = default_grid({40, 40, 120}, {1, 1, 1});
  const Fdk method(geometry, detector, volume, {});
  const auto wanted = method.requirements().detector_rows({0, 10});
  const Range read = method.rows_read(wanted);
  EXPECT_LT(wanted.count(), 60);
  EXPECT_LT(read.count(), wanted.count() + 10);  // 101 sin 3 degrees = 5.3
  EXPECT_EQ(method.rows_read({0, static_cast<std::int64_t>(method.requirements().stack[1])}), (Range{0, 200}));
}

// ---- the plate

constexpr double plate_value = 0.02;

struct PlateScan {
  std::string name;
  Geometry geometry;
  FdkParameters parameters{};
  double shift = 0;  // of the detector, mm
  std::size_t columns = 160;
};
void PrintTo(const PlateScan& scan, std::ostream* out) {
  *out << scan.name;
}

/// The mean of the voxels about the axis in the plate's middle, over its value.
double plate_centre(const PlateScan& scan) {
  Primitive plate{.semi_axes = {60, 4, 60}, .value = plate_value};
  const bool parallel = scan.geometry.parallel();
  const double pixel = parallel ? 1 : 1.5;
  Grid detector = reference::detector(scan.columns, 64, scan.geometry.views.size(), pixel, pixel);
  detector.origin[0] += scan.shift;
  const Grid grid = default_grid({9, 9, 1}, {1, 1, 1});
  const Volume volume =
      fdk(project_analytic({plate}, scan.geometry, detector), scan.geometry, grid, scan.parameters, device()).output;
  double sum = 0;
  for (const float value : volume.voxels) sum += value;
  return sum / static_cast<double>(volume.voxels.size()) / plate_value;
}

std::vector<PlateScan> plate_scans() {
  std::vector<PlateScan> out;
  for (const double angle : {0.0, 1.0, 2.0, 3.0, 5.0, 10.0, -10.0, 178.0}) {
    const std::string name =
        "cone_" + std::string(angle < 0 ? "minus_" : "") + std::to_string(std::lround(std::abs(angle)));
    out.push_back({name, circular_geometry(circle(180, angle))});
  }
  const auto parallel = [](double in_plane, double arc) {
    CircularOptions options = circle(180, in_plane, arc);
    options.sdd = 0;
    return circular_geometry(options);
  };
  out.push_back({"parallel_10", parallel(10, 180)});
  out.push_back({"parallel_displaced_5", parallel(5, 360), {}, 12, 112});
  out.push_back({"short_10", circular_geometry(circle(130, 10, 230))});
  out.push_back({"displaced_10", circular_geometry(circle(180, 10)), {}, 24, 130});
  out.push_back({"displaced_minus_10", circular_geometry(circle(180, -10)), {}, -24, 130});
  FdkParameters padded{.pad = 0.3};
  out.push_back({"padded_10", circular_geometry(circle(180, 10)), padded});
  Geometry curved = circular_geometry(circle(180, 10));
  curved.radius_cylindrical_detector = sdd;
  out.push_back({"cylinder_10", curved});
  // with the detector tilted about u and v, too, the source in the plane across the axis
  CircularOptions tilted = circle(180, 8);
  tilted.out_of_plane_angle = 6;
  const double lift = sid * std::tan(6 * pi / 180), c = std::cos(8 * pi / 180), s = std::sin(8 * pi / 180);
  tilted.source_offset_x = s * lift + 20;
  tilted.source_offset_y = (lift - s * tilted.source_offset_x) / c;
  tilted.projection_offset_x = tilted.source_offset_x * (1 - sdd / sid);
  tilted.projection_offset_y = tilted.source_offset_y * (1 - sdd / sid);
  out.push_back({"all_angles", circular_geometry(tilted)});
  Geometry wobbling = circular_geometry(circle(180, 0));
  for (std::size_t n = 0; n < 180; ++n)
    wobbling.views[n].in_plane_angle = 4 + 3 * std::sin(0.1 * static_cast<double>(n));
  out.push_back({"wobbling", wobbling});
  return out;
}

class Plates : public testing::TestWithParam<PlateScan> {};

TEST_P(Plates, AreMadeRightThroughTilts) {
  const double found = plate_centre(GetParam());
  std::printf("%s: %.4f\n", GetParam().name.c_str(), found);
  EXPECT_NEAR(found, 1, 0.005);
}

INSTANTIATE_TEST_SUITE_P(All, Plates, testing::ValuesIn(plate_scans()),
                         [](const auto& info) { return info.param.name; });

TEST(UprightRows, AlongTheRowsAPlateComesOutWrong) {  // find-axis, which needs its pixels unchanged, has to accept that
  PlateScan along{"along", circular_geometry(circle(180, 3))};
  along.parameters.upright_rows = false;
  EXPECT_GT(plate_centre(along), 1.2);
}

// ---- reports

TEST(UprightRows, GeometryCheckTellsOfRowsThatStaySlanted) {
  DetectorPixels pixels{.spacing = {{1, 1}}};
  const auto texts = [&](double in_plane, std::size_t rows) {
    pixels.size = {100, rows};
    std::string all;
    for (const auto& each : geometry_findings(circular_geometry(circle(90, in_plane)), pixels)) all += each.text + "\n";
    return all;
  };
  EXPECT_EQ(texts(12, 80), "");
  EXPECT_EQ(texts(0.5, 1), "");
  EXPECT_THAT(texts(12, 1), HasSubstr("at up to 12 degrees to the way of the source, and a detector of one row"));
}

}  // namespace
}  // namespace halocline::upright_rows_test
