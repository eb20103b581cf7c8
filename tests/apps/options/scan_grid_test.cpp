// labels: app
// The grid and the pixels of scans of which the command line says neither.
#include "apps/options/scan_grid.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "algorithms/geometry/default_volume.hpp"
#include "algorithms/geometry/geometry_vendor.hpp"
#include "algorithms/geometry/geometry_xml.hpp"
#include "apps/images/image_file.hpp"
#include "apps/options/geometry_file.hpp"
#include "tests/support/command_runner.hpp"

namespace halocline::scan_grid_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using Sizes = std::array<std::size_t, 3>;
using Lengths = std::array<double, 3>;

Geometry circle(double sid, double sdd, double offset_x = 0, double offset_y = 0) {
  Geometry geometry = circular_geometry({.sid = sid, .sdd = sdd, .projections = 12});
  for (View& view : geometry.views) {
    view.projection_offset_x = offset_x;
    view.projection_offset_y = offset_y;
  }
  return geometry;
}

Grid stack(std::size_t columns, std::size_t rows, double du, double dv) {
  DetectorPixels pixels{.size = {{columns, rows}}, .spacing = {{du, dv}}};
  return pixels.grid(12);
}

void expect_near(const Lengths& a, const Lengths& b) {
  for (int n = 0; n < 3; ++n) EXPECT_NEAR(a[n], b[n], 1e-9) << n;
}

TEST(DefaultVolume, IsWhatTheDetectorSees) {
  Grid grid = default_volume(circle(100, 250), stack(93, 7, 2, 3), false);
  EXPECT_EQ(grid.size, (Sizes{93, 93, 7}));
  expect_near(grid.spacing, {0.8, 0.8, 1.2});
  expect_near(grid.origin, default_grid(grid.size, grid.spacing).origin);
  // a parallel beam has no magnification, and one row gives one slice
  grid = default_volume(circle(100, 0), stack(640, 1, 0.5, 1), false);
  EXPECT_EQ(grid.size, (Sizes{640, 640, 1}));
  expect_near(grid.spacing, {0.5, 0.5, 1});
}

TEST(DefaultVolume, ADisplacedDetectorSeesFarther) {
  // 100 columns of 2 mm, of which 80 are on one side of the axis
  for (const double offset : {60.0, -60.0}) {
    const Grid grid = default_volume(circle(100, 200, offset), stack(100, 7, 2, 2), true);
    EXPECT_EQ(grid.size, (Sizes{160, 160, 7}));
    expect_near(grid.spacing, {1, 1, 1});
    EXPECT_EQ(default_volume(circle(100, 200, offset), stack(100, 7, 2, 2), false).size, (Sizes{100, 100, 7}));
  }
}

TEST(DefaultVolume, LiesWhereTheRowsSeeTheAxis) {
  // rows that were cut, or a detector that stands higher by 20 mm: 10 mm at the isocentre
  Grid grid = default_volume(circle(100, 200, 0, 20), stack(50, 8, 2, 2), false);
  expect_near(grid.world(24.5, 24.5, 3.5), {0, 10, 0});
  Grid cut = stack(50, 8, 2, 2);
  cut.origin[1] += 30;
  expect_near(default_volume(circle(100, 200), cut, false).world(24.5, 24.5, 3.5), {0, 15, 0});
  expect_near(default_volume(circle(100, 0), cut, false).world(24.5, 24.5, 3.5), {0, 30, 0});
}

TEST(DefaultVolume, WhatIsWantedOfIt) {
  const Geometry geometry = circle(100, 200);
  Grid grid = default_volume(geometry, stack(100, 60, 2, 2), false, {Sizes{50, 25, 30}, {}});
  EXPECT_EQ(grid.size, (Sizes{50, 25, 30}));
  expect_near(grid.spacing, {2, 4, 2});  // over the same 100 x 100 x 60 mm
  grid = default_volume(geometry, stack(100, 60, 2, 2), false, {{}, Lengths{0.5, 1, 7}});
  EXPECT_EQ(grid.size, (Sizes{200, 100, 9}));
  expect_near(grid.spacing, {0.5, 1, 7});
}

constexpr const char* xtekct =
    "[XTekCT]\nSrcToObject=100\nSrcToDetector=200\nProjections=24\nAngularStep=15\nDetectorPixelsX=25\n"
    "DetectorPixelsY=18\nDetectorPixelSizeX=2\nDetectorPixelSizeY=2\n";

TEST(ScanFiles, VoxelsOfAnXtekct) {
  const std::string voxels =
      "VoxelsX=20\nVoxelsY=21\nVoxelsZ=10\nVoxelSizeX=0.9\nVoxelSizeY=0.9\nVoxelSizeZ=1.1\nOffsetX=0\n";
  const auto volume = read_xtekct(xtekct + voxels, "s.xtekct").volume;
  ASSERT_TRUE(volume);
  EXPECT_EQ(volume->size, (Sizes{20, 21, 10}));
  expect_near(volume->spacing, {0.9, 0.9, 1.1});
  EXPECT_FALSE(read_xtekct(xtekct, "s.xtekct").volume);
  EXPECT_FALSE(read_xtekct(xtekct + voxels + "OffsetY=3\n", "s.xtekct").volume);
  EXPECT_FALSE(read_xtekct(xtekct + voxels.substr(12), "s.xtekct").volume);
}

TEST(ScanFiles, PixelsAreNotedInXml) {
  const Folder f;
  const Geometry geometry = circle(100, 200);
  DetectorPixels pixels{.size = {{25, 18}}, .spacing = {{0.1, 0.2}}};
  const std::string plain = geometry_xml(geometry), noted = geometry_xml(geometry, pixels);
  EXPECT_THAT(plain, Not(HasSubstr("<?halocline")));
  EXPECT_THAT(noted,
              HasSubstr("\n  <?halocline-detector size-u=\"25\" size-v=\"18\" pitch-u=\"0.1\" pitch-v=\"0.2\"?>\n"));
  write_text(f / "g.xml", noted);
  DetectorPixels found = detector_in(f / "g.xml");
  EXPECT_EQ(found.size, pixels.size);
  EXPECT_EQ(found.spacing, pixels.spacing);
  EXPECT_FALSE(found.origin);
  EXPECT_EQ(geometry_xml(read_geometry(f / "g.xml")), plain);
  pixels.origin = {-1.25, 3.5};
  write_text(f / "g.xml", geometry_xml(geometry, pixels));
  EXPECT_EQ(detector_in(f / "g.xml").origin, pixels.origin);
  write_text(f / "g.xml", plain);
  EXPECT_FALSE(detector_in(f / "g.xml").spacing);
  // a spoilt note is none
  std::string spoilt = noted;
  spoilt.replace(spoilt.find("0.1"), 3, "1<0");
  write_text(f / "g.xml", spoilt);
  EXPECT_FALSE(detector_in(f / "g.xml").spacing);
}

#ifdef HALOCLINE_WITH_ITK

// Projections as TIFF files beside a Nikon scanner's parameters.
class NikonScan : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_device()) GTEST_SKIP() << "no OpenCL device";
    write_text(f_ / "s.xtekct", xtekct);
    ASSERT_EQ(run({"geometry", "convert", "-i", f_ / "s.xtekct", "-o", f_ / "g.xml"}).code, 0);
    done({"project", "--phantom", "shepp-logan", "--phantom-size", "14", "-g", f_ / "g.xml", "--detector", "25,18",
          "--pixel", "2,2", "-o", f_ / "p_%02d.tif"});
  }
  Ran fdk(const std::string& geometry, const std::string& output, const Words& more = {}) const {
    return run(Words{"fdk", "-i", f_ / "p_%02d.tif", "-g", f_ / geometry, "-o", f_ / output} + more);
  }
  Folder f_;
};

TEST_F(NikonScan, NeedsNoPixelsAndNoGrid) {
  const Ran ran = fdk("s.xtekct", "v.mha");
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("grid of the volume: 25 x 25 x 18"));
  EXPECT_THAT(ran.err, AllOf(HasSubstr("pixels of 2 x 2 mm, as"), Not(HasSubstr("outside the field of view"))));
  ASSERT_EQ(fdk("s.xtekct", "w.mha", {"--pixel", "2,2", "--size", "25,25,18", "--spacing", "1,1,1"}).code, 0);
  EXPECT_EQ(content(f_ / "v.mha"), content(f_ / "w.mha"));
  const Ran dry = fdk("s.xtekct", "x.mha", {"--dry-run", "--bin", "5,3"});
  ASSERT_EQ(dry.code, 0) << dry.err;
  EXPECT_THAT(dry.out, HasSubstr("grid of the volume: 5 x 5 x 6"));
  // the other commands that make volumes of projections
  ASSERT_EQ(run({"backproject", "-i", f_ / "p_%02d.tif", "-g", f_ / "s.xtekct", "-o", f_ / "b.mha"}).code, 0);
  EXPECT_EQ(read_image_info(f_ / "b.mha").grid.size, (Sizes{25, 25, 18}));
  const Ran slices =
      run({"slices", "-i", f_ / "p_%02d.tif", "-g", f_ / "s.xtekct", "--plane", "axial", "-o", f_ / "a.mha"});
  ASSERT_EQ(slices.code, 0) << slices.err;
  EXPECT_EQ(read_image_info(f_ / "a.mha").grid.size, (Sizes{25, 25, 1}));
}

TEST_F(NikonScan, KeepsItsPixelsThroughFindAxis) {
  const Ran found = done({"geometry", "find-axis", "-i", f_ / "p_%02d.tif", "-g", f_ / "s.xtekct", "--method",
                          "correlation", "-o", f_ / "found.xml"});
  const DetectorPixels pixels = detector_in(f_ / "found.xml");
  EXPECT_EQ(pixels.spacing, (std::array<double, 2>{2, 2}));
  const Ran ran = fdk("found.xml", "v.mha");
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(read_image_info(f_ / "v.mha").grid.size, (Sizes{25, 25, 18}));
  EXPECT_EQ(fdk("g.xml", "v.mha").code, 0);  // of geometry convert
  // other images are not taken for these pixels
  Grid grid = stack(12, 9, 1, 1);
  grid.size[2] = 24;
  write_image(Volume(grid, 1), f_ / "q_%02d.tif");
  const Ran other = run({"fdk", "-i", f_ / "q_%02d.tif", "-g", f_ / "found.xml", "-o", f_ / "y.mha"});
  EXPECT_EQ(other.code, 2);
  EXPECT_THAT(other.err, AllOf(HasSubstr("12 x 9"), HasSubstr("25 x 18"), HasSubstr("--pixel")));
}

TEST_F(NikonScan, WhatNobodySaysIsAskedFor) {
  ASSERT_EQ(
      run({"geometry", "circular", "--sid", "100", "--sdd", "200", "--projections", "24", "-o", f_ / "c.xml"}).code, 0);
  const Ran ran = fdk("c.xml", "v.mha");
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, AllOf(HasSubstr("--pixel DU,DV"), HasSubstr("nor does '" + (f_ / "c.xml"))));
  const Ran turned = fdk("s.xtekct", "v.mha", {"--direction", "1,0,0,0,1,0,0,0,1"});
  EXPECT_EQ(turned.code, 2);
  EXPECT_THAT(turned.err, HasSubstr("--size is missing"));
}

#endif

}  // namespace
}  // namespace halocline::scan_grid_test
