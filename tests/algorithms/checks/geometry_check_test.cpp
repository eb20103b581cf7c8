// labels: unit
#include "algorithms/checks/geometry_check.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "algorithms/fdk/redundancy.hpp"
#include "algorithms/geometry/detector_alignment.hpp"
#include "algorithms/geometry/field_of_view.hpp"
#include "host/system/error.hpp"

namespace halocline::geometry_check_test {
namespace {

using testing::HasSubstr;

Geometry scan(CircularOptions options = {}) {
  if (options.angles.empty() && options.projections == 360) options.projections = 90;
  return circular_geometry(options);
}

DetectorPixels detector(std::size_t columns = 200, std::size_t rows = 100) {
  return {.size = {{columns, rows}}, .spacing = {{1.5, 2.0}}};
}

/// One finding of that gravity whose text holds all parts.
void expect_found(const std::vector<GeometryFinding>& findings, bool impossible,
                  const std::vector<std::string>& parts) {
  std::string all;
  for (const GeometryFinding& finding : findings) {
    all += (finding.impossible ? "impossible: " : "warning: ") + finding.text + "\n";
    bool here = finding.impossible == impossible;
    for (const auto& part : parts) here = here && finding.text.find(part) != std::string::npos;
    if (here) return;
  }
  FAIL() << parts.front() << " is not among\n" << all;
}

// A fan through the outer edges of the pixels touches the circle that it contains.
TEST(FieldOfView, IsTheCircleBetweenTheOuterRays) {
  const FieldOfView seen = field_of_view(scan(), detector());
  const double half = 150;  // mm, 200 pixels of 1.5
  EXPECT_NEAR(seen.radius, 1000 * std::sin(std::atan(half / 1536)), 1e-9);
  EXPECT_NEAR(seen.displaced_radius, seen.radius, 1e-9);
  EXPECT_NEAR(seen.high, (1000 - seen.radius) * 100 / 1536, 1e-9);  // where the cylinder is nearest to the source
  EXPECT_NEAR(seen.low, -seen.high, 1e-9);
  CircularOptions parallel{.sdd = 0, .projection_offset_x = 20, .projection_offset_y = 7};
  const FieldOfView flat = field_of_view(scan(parallel), detector());
  EXPECT_NEAR(flat.radius, half - 20, 1e-9);
  EXPECT_NEAR(flat.displaced_radius, half + 20, 1e-9);
  EXPECT_NEAR(flat.low, -93, 1e-9);
  EXPECT_NEAR(flat.high, 107, 1e-9);
}

// Points on the rim of the cylinder are seen in every view, and just beyond it some are not: tilts and offsets on.
TEST(FieldOfView, HoldsWhatEveryViewSees) {
  CircularOptions options;
  options.projection_offset_x = 22;
  options.projection_offset_y = -9;
  options.source_offset_x = -6;
  options.source_offset_y = 4;
  options.in_plane_angle = 3;
  options.projections = 180;
  DetectorPixels pixels = detector(211, 133);
  pixels.origin = {-140, -120};
  const Geometry geometry = scan(options);
  const FieldOfView seen = field_of_view(geometry, pixels);
  ASSERT_GT(seen.radius, 0);
  const auto all_seen = [&](double r, double y) {
    for (const View& view : geometry.views)
      for (int n = 0; n < 360; ++n) {
        const Matrix34 m = projection_matrix(view);
        const double x[] = {r * std::cos(n * M_PI / 180), y, r * std::sin(n * M_PI / 180)};
        double h[3];
        for (int row = 0; row < 3; ++row)
          h[row] = m[4 * row] * x[0] + m[4 * row + 1] * x[1] + m[4 * row + 2] * x[2] + m[4 * row + 3];
        const double u = h[0] / h[2], v = h[1] / h[2];
        if (u < -140.75 || u > -140.75 + 211 * 1.5 || v < -121 || v > -121 + 133 * 2.0) return false;
      }
    return true;
  };
  EXPECT_TRUE(all_seen(seen.radius * 0.9999, 0));
  EXPECT_FALSE(all_seen(seen.radius * 1.002, 0));
  const double middle = 0.5 * (seen.low + seen.high), half = 0.5 * (seen.high - seen.low);
  // thinner than the radius, as the image of the axis leans by the in-plane angle
  EXPECT_TRUE(all_seen(seen.radius * 0.9, middle + 0.9 * half));
  EXPECT_TRUE(all_seen(seen.radius * 0.9, middle - 0.9 * half));
  EXPECT_FALSE(all_seen(seen.radius * 0.9999, middle + 1.01 * half));
}

TEST(VolumeCoverage, IsTheFractionThatIsSeen) {
  const Geometry geometry = circular_geometry({.sdd = 0, .angles = {0, 30, 60, 90, 120, 150}});
  // twice as high as what is seen, and inside in the plane
  const Coverage half = volume_coverage(geometry, detector(), default_grid({48, 48, 80}, {4, 4, 5}));
  EXPECT_NEAR(half.every_view, 0.5, 1e-12);
  EXPECT_NEAR(half.half_of_views, 0.5, 1e-12);
  EXPECT_EQ(volume_coverage(geometry, detector(), default_grid({48, 48, 40}, {4, 4, 5})).every_view, 1);
  Grid far = default_grid({10, 10, 10}, {1, 1, 1});
  far.origin[1] += 500;
  EXPECT_EQ(volume_coverage(geometry, detector(), far).half_of_views, 0);
}

TEST(Findings, NothingIsWrongWithAGoodScan) {
  EXPECT_TRUE(geometry_findings(scan()).empty());
  EXPECT_TRUE(geometry_findings(scan(), detector(), default_grid({30, 30, 20}, {4, 4, 4})).empty());
  CircularOptions parallel{.sdd = 0, .arc = 180};
  EXPECT_TRUE(geometry_findings(scan(parallel), detector()).empty());
}

TEST(Findings, TellWhatIsImpossible) {
  CircularOptions options{.arc = 150};
  expect_found(geometry_findings(scan(options)), true, {"leave 211.667 degrees out", "148.333", "180"});
  options.arc = 250;
  options.projection_offset_x = 60;
  expect_found(geometry_findings(scan(options), detector()), true, {"displaced", "an arc is missing"});
  options.arc = 360;
  options.projection_offset_x = 400;
  expect_found(geometry_findings(scan(options), detector()), true,
               {"the rotation axis falls on u = -400 mm in projection 0", "-150 to 150 mm"});
  options.projection_offset_x = 0;
  Grid far = default_grid({10, 10, 10}, {1, 1, 1});
  far.origin[1] += 500;
  expect_found(geometry_findings(scan(options), detector(), far), true, {"no part of the volume is seen"});
  expect_found(geometry_findings(scan(options), detector(), default_grid({100, 100, 4}, {20, 20, 1})), true,
               {"reaches 1414.21 mm", "source passes at 1000 mm"});
  CircularOptions parallel{.sdd = 0, .arc = 120};
  expect_found(geometry_findings(scan(parallel)), true, {"gap of 61.33 degrees"});
  EXPECT_THROW(geometry_findings(Geometry{}), InputError);
}

// An arc that is found too short is one that fdk refuses, to the last view.
TEST(Findings, AskForTheArcThatFdkAsksFor) {
  CircularOptions options{.projections = 400};
  const Grid pixels = detector().grid(400);
  int refused = 0;
  for (int n = 0; n < 40; ++n) {
    options.arc = 189 + 0.1 * n;  // 180 and the fan to the centres of the outer pixels, 11.09
    const Geometry geometry = scan(options);
    bool impossible = false, too_short = false;
    for (const GeometryFinding& finding : geometry_findings(geometry, detector()))
      impossible = impossible || finding.impossible;
    try {
      redundancy_of(geometry, pixels);
    } catch (const InputError&) {
      too_short = true;
    }
    EXPECT_EQ(impossible, too_short) << options.arc;
    refused += too_short ? 1 : 0;
  }
  EXPECT_GT(refused, 5);
  EXPECT_LT(refused, 35);
  EXPECT_NEAR(short_scan_arc(scan(), pixels), M_PI + 2 * std::atan(99.5 * 1.5 / 1536), 1e-12);
}

TEST(Findings, WarnOfWhatIsOdd) {
  CircularOptions options{.arc = 220};
  expect_found(geometry_findings(scan(options), detector()), false, {"short scan", "217.556"});
  options.arc = 360;
  options.projection_offset_x = 60;
  expect_found(geometry_findings(scan(options), detector()), false, {"detector is displaced"});
  CircularOptions half = options;  // of a parallel beam the middle is seen whole
  half.sdd = 0;
  half.arc = 180;
  expect_found(geometry_findings(scan(half), detector()), false, {"displaced", "an arc is missing"});
  options.projection_offset_x = 0;
  options.projection_offset_y = 400;
  expect_found(geometry_findings(scan(options), detector()), false, {"isocentre falls on v = -400 mm"});
  options.projection_offset_y = 0;
  expect_found(geometry_findings(scan(options), detector(), default_grid({64, 64, 40}, {4, 4, 4})), false,
               {"% of the volume are seen in every view", "smaller volume"});
  options.in_plane_angle = 180;
  expect_found(geometry_findings(scan(options)), false, {"in-plane angle of projection 0 is 180", "flip the images"});
  options.in_plane_angle = 0;
  options.out_of_plane_angle = -12;
  expect_found(geometry_findings(scan(options)), false,
               {"in projection 0", "at 12 degrees to the plane", "the out-of-plane angle is -12"});
  options.out_of_plane_angle = 0;
  options.sdd = 1000;
  expect_found(geometry_findings(scan(options)), false, {"detector stands on the rotation axis"});
  options.sdd = 1536;

  Geometry geometry = scan(options);
  geometry.views[17].sid = 900;
  expect_found(geometry_findings(geometry), false, {"source to isocentre distance of projection 17 is 900", "-100 mm"});
  geometry = scan(options);
  geometry.views[80].in_plane_angle = 350;  // 10 degrees, not 350
  expect_found(geometry_findings(geometry), false, {"in-plane angle of projection 80", "-10 degrees from the median"});
  geometry = scan(options);
  geometry.views[5].gantry_angle = geometry.views[4].gantry_angle;
  expect_found(geometry_findings(geometry), false, {"1 view stands at an angle"});
  std::swap(geometry.views[20], geometry.views[40]);
  expect_found(geometry_findings(geometry), false, {"neither increase nor decrease"});
}

// Rule of fdk: the middle of the outermost pixel has to be beyond the axis.
TEST(GeometryCheck, TheAxisOnTheOutermostPixel) {
  const auto impossible = [](double offset) {
    CircularOptions options{.projection_offset_x = offset};
    const auto findings = geometry_findings(scan(options), detector());
    return std::any_of(findings.begin(), findings.end(), [](const GeometryFinding& finding) {
      return finding.impossible && finding.text.find("outermost pixel") != std::string::npos;
    });
  };
  EXPECT_FALSE(impossible(149));  // 200 pixels of 1.5 mm: the last one from 148.5 to 150
  EXPECT_TRUE(impossible(149.5));
  EXPECT_TRUE(impossible(-149.5));
  EXPECT_TRUE(impossible(151));
}

// The longer side of a displaced detector is right on a full turn.
TEST(GeometryCheck, TheVolumeOfADisplacedDetector) {
  CircularOptions options{.projection_offset_x = 100};
  const auto warned = [&](double spacing) {
    const auto findings =
        geometry_findings(scan(options), detector(), default_grid({64, 64, 10}, {spacing, spacing, 1}));
    return std::any_of(findings.begin(), findings.end(), [](const GeometryFinding& finding) {
      return finding.text.find("% of the volume") != std::string::npos;
    });
  };
  EXPECT_FALSE(warned(3));  // 136 mm to the corner, 32 mm seen in every view, 161 mm by the longer side
  EXPECT_TRUE(warned(4));
}

TEST(GeometryCheck, GapsInsideTheScan) {
  CircularOptions options;
  for (int n = 0; n < 180; ++n)
    if ((n < 20 || n >= 32) && (n < 100 || n >= 112)) options.angles.push_back(2.0 * n);
  expect_found(geometry_findings(scan(options), detector()), true,
               {"2 gaps of up to 26 degrees", "`allow_incomplete_arc`"});
  options.angles.clear();
  for (int n = 0; n < 180; ++n)
    if (n < 20 || n >= 27) options.angles.push_back(2.0 * n);
  expect_found(geometry_findings(scan(options), detector()), false, {"a gap of up to 16 degrees", "mostly 2 apart"});
  options.angles = {0, 180};
  expect_found(geometry_findings(scan(options), detector()), true, {"a gap of 180 degrees", "no more than 60"});
}

TEST(Alignment, IsTheMeanAndTheSpread) {
  Geometry geometry = scan();
  for (std::size_t n = 0; n < geometry.views.size(); ++n) {
    geometry.views[n].projection_offset_x = n % 2 == 0 ? 4 : 8;
    geometry.views[n].source_offset_x = 2;
    geometry.views[n].in_plane_angle = n % 2 == 0 ? 359 : 1;
    geometry.views[n].out_of_plane_angle = -0.5;
  }
  const Alignment a = alignment(geometry);
  // the axis through 0 seen from x = 2: at 2 - 2 * 1536/1000 in the detector's plane, less its offset
  EXPECT_NEAR(a.axis_u.mean, 2 - 2 * 1.536 - 6, 1e-9);
  EXPECT_NEAR(a.axis_u.spread, 2, 1e-9);
  EXPECT_NEAR(a.in_plane.mean, 0, 1e-9);
  EXPECT_NEAR(a.in_plane.spread, 1, 1e-9);
  EXPECT_NEAR(a.out_of_plane.mean, -0.5, 1e-9);
  EXPECT_NEAR(a.source_x.mean, 2, 1e-9);
}

}  // namespace
}  // namespace halocline::geometry_check_test
