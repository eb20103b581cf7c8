// labels: app device nightly
// The rotation axis from projections of a phantom whose axis is known, and of a measured tooth.
#include "algorithms/alignment/find_axis.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "algorithms/phantoms/phantoms.hpp"
#include "algorithms/preprocessing/calibrate_counts.hpp"
#include "apps/images/image_file.hpp"
#include "host/system/error.hpp"
#include "tests/reference/real_data.hpp"
#include "tests/support/refusal.hpp"

namespace halocline::find_axis_test {
namespace {

using testing::HasSubstr;

/// Exact projections of a phantom (left and right of it differ) with the detector moved by `offset` mm, and the
/// geometry as if it were not.
struct Scan {
  Volume projections;
  Geometry believed;
};

Scan make_scan(CircularOptions options, double offset, std::size_t rows = 9) {
  const auto phantom = phantom_primitives(phantom_type("shepp-logan-hc"), 100, 0.02);
  Grid stack;
  const double pitch = options.sdd == 0 ? 1.1 : 1.6;
  stack.spacing = {pitch, pitch, 1};
  stack.origin = {-0.5 * 119 * pitch, -0.5 * static_cast<double>(rows - 1) * pitch, 0};
  stack.size = {120, rows, options.angles.empty() ? options.projections : options.angles.size()};
  Scan scan;
  scan.believed = circular_geometry(options);
  options.projection_offset_x += offset;
  scan.projections = project_analytic(phantom, circular_geometry(options), stack);
  return scan;
}

CircularOptions beam(bool parallel) {
  return {.sid = 500, .sdd = parallel ? 0.0 : 750.0, .projections = parallel ? 180u : 150u, .first_angle = 17};
}

class FindAxis : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Beams, FindAxis, testing::Bool(),
                         [](const auto& beam) { return beam.param ? "Parallel" : "Divergent"; });

// A detector that stands `offset` further along u has the axis `offset` further back. Linear interpolation between
// views and pixels, and edges inside pixels, leave a tenth of a pixel.
TEST_P(FindAxis, ByCorrelation) {
  CircularOptions options = beam(GetParam());
  if (!GetParam()) options.source_offset_x = 3;
  for (const double offset : {0.0, 3.7, -6.15}) {
    const Scan scan = make_scan(options, offset);
    const AxisEstimate axis = axis_by_correlation(scan.projections, scan.believed, {0, 12});
    EXPECT_NEAR(axis.shift, -offset, 0.1 * scan.projections.grid.spacing[0]) << offset;
    EXPECT_FALSE(axis.at_end);
    EXPECT_GT(axis.contrast, 2);
  }
}

TEST_P(FindAxis, BySharpness) {
  for (const double offset : {3.7, -6.15}) {
    const Scan scan = make_scan(beam(GetParam()), offset, 3);
    const AxisEstimate axis = axis_by_sharpness(scan.projections, scan.believed, {0, 10}, open_devices({}));
    EXPECT_NEAR(axis.shift, -offset, 0.5 * scan.projections.grid.spacing[0]) << offset;
    EXPECT_FALSE(axis.at_end);
  }
}

TEST(Axis, HalfATurnOfAParallelBeamHasOnePairOfOppositeViews) {
  CircularOptions options = beam(true);
  options.arc = 180;
  const Scan scan = make_scan(options, 4.4);
  const AxisEstimate axis = axis_by_correlation(scan.projections, scan.believed, {0, 12});
  EXPECT_NEAR(axis.shift, -4.4, 0.5 * 1.1);
}

TEST_P(FindAxis, OppositeViewsAreRightInNoiseOrSayThatTheyAreUncertain) {
  for (const float share : {0.1f, 0.3f, 1.5f}) {
    Scan scan = make_scan(beam(GetParam()), 3.7);
    std::mt19937 random(1);
    std::normal_distribution<float> noise(
        0, share * *std::max_element(scan.projections.voxels.begin(), scan.projections.voxels.end()));
    for (float& value : scan.projections.voxels) value += noise(random);
    const double pixel = scan.projections.grid.spacing[0];
    const AxisEstimate axis = axis_by_correlation(scan.projections, scan.believed, {0, 12});
    std::printf("%+.2f +- %.2f pixels, contrast %.3f\n", (axis.shift + 3.7) / pixel,
                axis.uncertainty.value_or(-1) / pixel, axis.contrast);
    if (share < 1) {
      EXPECT_NEAR(axis.shift, -3.7, 0.5 * pixel);
      EXPECT_TRUE(axis.certain(pixel));
    } else if (!GetParam()) {
      EXPECT_FALSE(axis.certain(pixel));  // of its one row
      EXPECT_GT(axis.contrast, 1.05);
    }
  }
}

TEST(Axis, SaysWhenTheRangeIsTooSmall) {
  const Scan scan = make_scan(beam(true), 9);
  EXPECT_TRUE(axis_by_correlation(scan.projections, scan.believed, {0, 3}).at_end);
}

TEST(Axis, RefusesWhatItCannotUse) {
  CircularOptions options = beam(false);
  options.arc = 100;
  const Scan quarter = make_scan(options, 0);
  const auto refused = [](auto work, const char* part) { EXPECT_THAT(refusal_of(work), HasSubstr(part)); };
  refused([&] { axis_by_correlation(quarter.projections, quarter.believed, {0, 5}); }, "by sharpness instead");
  Scan scan = make_scan(beam(false), 0);
  scan.projections.grid.origin[1] += 200;
  refused([&] { axis_by_sharpness(scan.projections, scan.believed, {0, 5}, open_devices({})); }, "detector row");
  scan.projections.grid.origin[1] -= 200;
  scan.projections.grid.direction[0] = -1;
  for (const char* part : {"mirrors", "give a file with its columns and rows in the order of increasing u and v"})
    refused([&] { axis_by_correlation(scan.projections, scan.believed, {0, 5}); }, part);
  scan.projections.grid.direction[0] = 1;
  scan.projections.grid.origin[0] += 500;
  refused(
      [&] {
        axis_by_sharpness(scan.projections, scan.believed, {0, 5}, open_devices({}));
      },
      "outside the detector");
}

TEST(Axis, TheCorrectedGeometryHasTheAxisThere) {
  const Geometry geometry = circular_geometry(beam(false));
  const Geometry shifted = with_axis_shifted(geometry, 2.5);
  for (std::size_t n = 0; n < geometry.views.size(); ++n) {
    const Matrix34 a = projection_matrix(geometry.views[n]), b = projection_matrix(shifted.views[n]);
    EXPECT_NEAR(b[3] / b[11] - a[3] / a[11], 2.5, 1e-9);
  }
}

// tomopy's test scan: half a turn, axis at column 296.
TEST(Axis, OfAMeasuredTooth) {
  SKIP_WITHOUT("parallel_tooth/tooth_counts.mha");
  Volume projections = read_image(real_data("parallel_tooth/tooth_counts.mha"));
  const Volume flats = read_image(real_data("parallel_tooth/tooth_flats.mha")),
               darks = read_image(real_data("parallel_tooth/tooth_darks.mha"));
  CountsFields fields{.flats = {.stack = &flats}, .darks = {.stack = &darks}};
  counts_to_line_integrals(projections, calibrate_counts(MemorySource(projections), fields, {}));
  projections.grid.origin[0] = -300;  // as if it were at column 300
  CircularOptions options{.sdd = 0};
  for (int n = 0; n < 181; ++n) options.angles.push_back(static_cast<double>(n) * 180 / 181);
  const Geometry geometry = circular_geometry(options);
  const AxisEstimate correlation = axis_by_correlation(projections, geometry, {0, 30});
  const AxisEstimate sharpness = axis_by_sharpness(projections, geometry, {correlation.shift, 6}, open_devices({}));
  std::printf("tooth: axis at column %.2f by correlation, %.2f by sharpness\n", 300 + correlation.shift,
              300 + sharpness.shift);
  EXPECT_NEAR(300 + correlation.shift, 296, 0.5);
  EXPECT_NEAR(300 + sharpness.shift, 296, 0.5);
}

}  // namespace
}  // namespace halocline::find_axis_test
