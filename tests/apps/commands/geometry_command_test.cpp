// labels: app
// halocline geometry convert, show, check and find-axis as commands.
#include <gmock/gmock.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <regex>
#include <tuple>
#include <utility>

#include "algorithms/geometry/geometry_xml.hpp"
#include "apps/drawing/geometry_drawing.hpp"
#include "apps/images/image_file.hpp"
#include "apps/options/geometry_file.hpp"
#include "host/system/error.hpp"
#include "tests/reference/real_data.hpp"
#include "tests/support/command_runner.hpp"

namespace halocline::geometry_command_test {
namespace {

class GeometryCommand : public testing::Test {
 protected:
  void SetUp() override {
    done({"geometry",
          "circular",
          "--sid",
          "500",
          "--sdd",
          "750",
          "--projections",
          "24",
          "--first-angle",
          "3",
          "--proj-offset-x",
          "7.5",
          "--proj-offset-y",
          "-2",
          "--source-offset-x",
          "1",
          "--in-plane",
          "2",
          "--out-of-plane",
          "-1.5",
          "-o",
          f / "g.xml"});
  }
  void refused(const Words& words, const std::vector<std::string>& parts) const {
    const auto before = f.files();
    halocline::refused(words, parts);
    EXPECT_EQ(f.files(), before);
  }
  Folder f;
  const Words detector{"--detector", "90,70", "--pixel", "2,3"};
};

double apart(const Geometry& a, const Geometry& b) {
  double worst = a.views.size() == b.views.size() ? 0 : 1e9;
  for (std::size_t n = 0; n < std::min(a.views.size(), b.views.size()); ++n) {
    const Matrix34 p = projection_matrix(a.views[n]), q = projection_matrix(b.views[n]);
    for (const double x : {-40.0, 50.0})
      for (int row = 0; row < 2; ++row) {
        const auto at = [&](const Matrix34& m) {
          return (m[4 * row] * x + m[4 * row + 1] * 20 + m[4 * row + 2] * 30 + m[4 * row + 3]) /
                 (m[8] * x + m[9] * 20 + m[10] * 30 + m[11]);
        };
        worst = std::max(worst, std::abs(at(p) - at(q)));
      }
  }
  return worst;
}

TEST_F(GeometryCommand, ConvertGoesThereAndBack) {
  const Geometry geometry = read_geometry(f / "g.xml");
  for (const std::string to : {"astra", "matrices"}) {
    done(Words{"geometry", "convert", "-i", f / "g.xml", "--to", to, "--detector-origin", "-80,-100", "-o",
               f / "t.txt"} +
         detector);
    done({"geometry", "convert", "-i", f / "t.txt", "-o", f / "back.xml"});
    EXPECT_LT(apart(geometry, read_geometry(f / "back.xml")), 2e-9) << to;  // 1e-9 of a pixel of 2 mm
  }
  done({"geometry", "convert", "-i", f / "g.xml", "--reverse", "--proj-offset-x", "1", "--proj-offset-y", "-2.5",
        "--in-plane", "0", "--out-of-plane", "4", "-o", f / "changed.xml"});
  const Geometry changed = read_geometry(f / "changed.xml");
  EXPECT_NEAR(changed.views[0].gantry_angle, 357, 1e-9);
  EXPECT_EQ(changed.views[5].projection_offset_x, 1);
  EXPECT_EQ(changed.views[5].projection_offset_y, -2.5);
  EXPECT_EQ(changed.views[5].in_plane_angle, 0);
  EXPECT_EQ(changed.views[5].out_of_plane_angle, 4);
  EXPECT_EQ(changed.views[5].source_offset_x, 1);
}

TEST_F(GeometryCommand, ConvertRefuses) {
  refused({"geometry", "convert", "-i", f / "g.xml", "-o", f / "t.txt"}, {"t.txt", "--to astra"});
  refused({"geometry", "convert", "-i", f / "g.xml", "--to", "astra", "-o", f / "t.txt"}, {"--pixel"});
  for (const std::string to : {"astra", "matrices"})
    for (const std::string name : {"t.xml", "t.XML", "t.pca"})
      refused(Words{"geometry", "convert", "-i", f / "g.xml", "--to", to, "-o", f / name} + detector,
              {name, "--to " + to, ".txt"});
  refused({"geometry", "convert", "-i", f / "g.xml", "--to", "rtk", "-o", f / "t.txt"}, {"t.txt", "--to rtk", ".xml"});
  refused({"geometry", "convert", "-i", f / "g.xml", "-o", f / "g.xml"}, {"g.xml"});
  refused({"geometry", "convert", "-i", f / "g.xml", "--from", "pca", "-o", f / "t.xml"}, {"g.xml", "[Geometry]"});
  write_text(f / "rows.txt", "1 2 3 4 5 6 7 8 9 10 11 12\n");
  refused({"geometry", "convert", "-i", f / "rows.txt", "-o", f / "t.xml"}, {"rows.txt", "--from astra"});
  write_text(f / "empty.txt", "");
  refused({"geometry", "convert", "-i", f / "empty.txt", "-o", f / "t.xml"}, {"empty.txt", "empty"});
  write_text(f / "bad.h5", "no HDF5");
  refused({"geometry", "convert", "-i", f / "bad.h5", "-o", f / "t.xml"}, {"bad.h5"});
}

// .xtekct and .pca by extension; where the stack is not centred, the geometry follows its frame.
TEST_F(GeometryCommand, VendorFilesAreRead) {
  write_text(
      f / "scan.xtekct",
      "[XTekCT]\nSrcToObject=100\nSrcToDetector=400\nDetectorPixelsX=90\nDetectorPixelsY=70\nDetectorPixelSizeX=2\n"
      "DetectorPixelSizeY=3\nProjections=36\nInitialAngle=0\nAngularStep=10\n");
  expect_contains(done({"geometry", "show", f / "scan.xtekct"}).out,
                  {"36", "magnification                 4", "radius 2"});
  DetectorPixels pixels{.origin = {{0, 0}}};
  const ScanFile scan = load_geometry(f / "scan.xtekct", {}, pixels);
  EXPECT_NEAR(scan.geometry.views[0].projection_offset_x, -89, 1e-12);  // the axis in the middle, at u = 89 mm
  EXPECT_NEAR(scan.geometry.views[0].projection_offset_y, -103.5, 1e-12);
  pixels.spacing = {1, 1};
  EXPECT_THROW(load_geometry(f / "scan.xtekct", {}, pixels), InputError);
}

TEST_F(GeometryCommand, ReversingAPcaFileIsSayingWhichWayItTurns) {
  write_text(f / "scan.pca",
             "[Geometry]\nFDD=400\nFOD=100\nCalibValue=-1.5\ncx=44.5\ncy=34.5\n[CT]\nNumberImages=36\n"
             "RotationSector=360.0\n[Image]\nDimX=90\nDimY=70\n[Detector]\nPixelsizeX=2\nPixelsizeY=3\n");
  const Words convert{"geometry", "convert", "-i", f / "scan.pca", "-o", f / "scan.xml"};
  expect_contains(done(convert).err, {"which way the table turns", "--reverse", "CalibValue"});
  const std::string reversed = done(convert + Words{"--reverse"}).err;
  EXPECT_EQ(reversed.find("which way"), std::string::npos) << reversed;
  expect_contains(reversed, {"CalibValue -1.5 is not used"});
}

TEST_F(GeometryCommand, DataExchangeAnglesAreRead) {
  SKIP_WITHOUT("parallel_tooth/tooth.h5");
#ifndef HALOCLINE_WITH_ITK
  GTEST_SKIP() << "this build is without ITK, which reads HDF5";
#endif
  const Geometry geometry = load_geometry(real_data("parallel_tooth/tooth.h5")).geometry;
  ASSERT_EQ(geometry.views.size(), 181u);
  EXPECT_TRUE(geometry.parallel());
  for (int n = 0; n < 181; ++n)
    EXPECT_NEAR(geometry.views[static_cast<std::size_t>(n)].gantry_angle, n * 180.0 / 181, 1e-4);
}

// Every command that takes a geometry takes its other forms: the projections are the same.
TEST_F(GeometryCommand, OtherCommandsTakeAnyFormat) {
  const Words phantom{"project", "--phantom", "shepp-logan-hc", "--phantom-size", "60"};
  done(Words{"geometry", "convert", "-i", f / "g.xml", "--to", "astra", "-o", f / "t.txt"} + detector);
  done(phantom + Words{"-g", f / "g.xml", "-o", f / "a.mha"} + detector);
  done(phantom + Words{"-g", f / "t.txt", "-o", f / "b.mha"} + detector);
  const Volume a = read_image(f / "a.mha"), b = read_image(f / "b.mha");
  ASSERT_EQ(a.voxels.size(), b.voxels.size());
  double worst = 0, most = 0;
  for (std::size_t n = 0; n < a.voxels.size(); ++n) {
    worst = std::max(worst, std::abs(static_cast<double>(a.voxels[n]) - b.voxels[n]));
    most = std::max(most, static_cast<double>(a.voxels[n]));
  }
  EXPECT_GT(most, 0.1);
  EXPECT_LT(worst, 1e-5 * most);  // a chord at grazing incidence moves by the root of 1e-13
  refused(phantom + Words{"-g", f / "t.txt", "--detector", "90,70", "--pixel", "2,2", "-o", f / "c.mha"},
          {"t.txt", "2 x 3", "2 x 2"});
}

TEST_F(GeometryCommand, ShowHasNoNegativeZero) {
  done({"geometry", "circular", "--sid", "100", "--sdd", "200", "--projections", "10", "--proj-offset-x=-0.0",
        "--source-offset-y=-0.0", "--in-plane=-0.0", "--first-angle=-0.0", "-o", f / "zero.xml"});
  const Ran ran = done(Words{"geometry", "show", f / "zero.xml", "--views"} + detector);
  EXPECT_THAT(ran.out, testing::Not(testing::ContainsRegex("-0(\\.0+)?([ ,\n])"))) << ran.out;
}

TEST_F(GeometryCommand, ShowTellsFieldOfViewOffsetsAndTilts) {
  const Ran ran = done(Words{"geometry", "show", f / "g.xml", "--size", "20,20,20", "--spacing", "2,2,2", "--views",
                             "--svg", f / "g.svg"} +
                       detector);
  expect_contains(
      ran.out, {"field of view", "its height", "seen by the longer side", "tilt along the beam           -1.5 degrees",
                "tilt in the detector          2 degrees", "isocentre on the detector, u  -8 mm", "column 40.50",
                "100.0 % seen in every view", "   23"});
  EXPECT_THAT(content(f / "g.svg"), testing::HasSubstr(">field of view</text>"));
  // in the file's own count, whichever way that goes
  for (const auto& [u, v, text] : {std::tuple{1.0, 1.0, "column 40.50, row 35.17; -4.00, +0.67"},
                                   {-1.0, 1.0, "column 48.50, row 35.17; +4.00, +0.67"},
                                   {-1.0, -1.0, "column 48.50, row 33.83; +4.00, -0.67"}}) {
    Grid stack;
    stack.size = {90, 70, 24};
    stack.spacing = {2, 3, 1};
    stack.origin = {-89 * u, -103.5 * v, 0};
    stack.direction = {u, 0, 0, 0, v, 0, 0, 0, 1};
    write_image(Volume(stack), f / "p.mha");
    expect_contains(done({"geometry", "show", f / "g.xml", "-i", f / "p.mha", "--report", f / "r.json"}).out, {text});
    const auto pixel = nlohmann::json::parse(content(f / "r.json")).at("results").at("isocentre_pixel");
    EXPECT_NEAR(pixel.at(0).get<double>(), 44.5 - 4 * u, 1e-6);
    EXPECT_NEAR(pixel.at(1).get<double>(), 34.5 + 2.0 / 3 * v, 1e-2);
  }
  const Ran bare = done({"geometry", "show", f / "g.xml"});
  expect_contains(bare.out, {"not known without the detector"});
}

TEST_F(GeometryCommand, TheDrawingShowsWhatIsKnownWithinItsSheet) {
  CircularOptions options{.sid = 500, .projections = 90};
  DetectorPixels pixels{.size = {{100, 80}}, .spacing = {{2, 2}}};
  const Grid volume = default_grid({40, 40, 40}, {2, 2, 2});
  for (const double sdd : {750.0, 0.0}) {
    options.sdd = sdd;
    const std::string with = draw_geometry(circular_geometry(options), pixels, volume);
    expect_contains(with,
                    {"<svg xmlns=", ">first view</text>", ">source</text>", ">field of view</text>", ">volume</text>"});
    const std::regex coordinate(" [xy][12]?=\"([-0-9.]+)\"");
    for (std::sregex_iterator at(with.begin(), with.end(), coordinate), end; at != end; ++at) {
      EXPECT_GT(std::stod((*at)[1]), 0);
      EXPECT_LT(std::stod((*at)[1]), 1240);
    }
    const std::string without = draw_geometry(circular_geometry(options), {}, {});
    expect_contains(without, {"the size of the detector is not known"});
    EXPECT_THAT(without, testing::Not(testing::HasSubstr("volume</text>")));
  }
}

TEST_F(GeometryCommand, CheckTellsAndDecides) {
  expect_contains(done(Words{"geometry", "check", f / "g.xml"} + detector).out, {"no volume was looked at"});
  expect_contains(
      done(Words{"geometry", "check", f / "g.xml", "--size", "50,50,50", "--spacing", "3,3,3"} + detector).out,
      {"warning: ", "% of the volume are seen in every view"});
  refused({"geometry", "check", f / "g.xml", "--detector", "4,4", "--pixel", "1,1"}, {"g.xml", "1 of", "impossible"});
  Grid stack{.size = {90, 70, 24}, .spacing = {2, 3, 1}, .origin = {-89, -103.5, 0}};
  write_image(Volume(stack), f / "p.mha");
  done({"geometry", "check", f / "g.xml", "-i", f / "p.mha"});
  // counted from the other side along one axis or both, as fdk reads it
  for (const auto& [u, v] : {std::pair{-1.0, 1.0}, {1.0, -1.0}, {-1.0, -1.0}}) {
    Grid turned = stack;
    turned.direction = {u, 0, 0, 0, v, 0, 0, 0, 1};
    turned.origin = {-89 * u, -103.5 * v, 0};
    write_image(Volume(turned), f / "turned.mha");
    expect_contains(done({"geometry", "check", f / "g.xml", "-i", f / "turned.mha"}).out,
                    {"nothing was found to be wrong"});
  }
  stack.direction = {0, 1, 0, 1, 0, 0, 0, 0, 1};
  write_image(Volume(stack), f / "mixed.mha");
  const Ran mixed = run({"geometry", "check", f / "g.xml", "-i", f / "mixed.mha"});
  EXPECT_EQ(mixed.code, 2);
  expect_contains(mixed.out, {"impossible: '", "turns or mixes the detector's axes"});
  stack.direction = {-1, 0, 0, 0, 1, 0, 0, 0, 1};
  stack.size[2] = 23;
  write_image(Volume(stack), f / "fewer.mha");
  const Ran ran = run({"geometry", "check", f / "g.xml", "-i", f / "fewer.mha"});
  EXPECT_EQ(ran.code, 2);
  expect_contains(ran.out, {"holds 23 views, but the geometry describes 24"});
}

TEST_F(GeometryCommand, FindAxisWritesTheCorrectedGeometry) {
  const Words phantom{"project",    "--phantom", "shepp-logan-hc", "--phantom-size", "100",
                      "--detector", "120,5",     "--pixel",        "1.6,1.6"};
  const Words circular{"geometry", "circular", "--sid", "500", "--sdd", "750", "--projections", "120"};
  done(circular + Words{"--proj-offset-x", "4", "-o", f / "true.xml"});
  done(circular + Words{"-o", f / "believed.xml"});
  done(phantom + Words{"-g", f / "true.xml", "-o", f / "p.mha"});
  const Words find{"geometry", "find-axis", "-i", f / "p.mha", "-g", f / "believed.xml", "--method", "correlation"};
  const Ran ran = done(find + Words{"-o", f / "found.xml", "--report", f / "r.json"});
  expect_contains(ran.out, {"correlation  axis at column 57.0", "found.xml"});  // 59.5 - 4 / 1.6 = 57
  EXPECT_NEAR(read_geometry(f / "found.xml").views[7].projection_offset_x, 4, 0.16);
  expect_contains(content(f / "r.json"), {"\"column\"", "\"contrast\""});
  expect_contains(ran.out, {"detector offset: its centre stands +",
                            "detector tilt about the beam: ", "within its uncertainty of the geometry's 0"});
  const auto results = nlohmann::json::parse(content(f / "r.json")).at("results");
  EXPECT_NEAR(results.at("detector_offset_mm").get<double>(), 4, 0.16);
  EXPECT_NEAR(results.at("detector_offset_pixels").get<double>(), 2.5, 0.1);
  EXPECT_FALSE(results.at("tilt").at("significant").get<bool>());
  EXPECT_EQ(read_geometry(f / "found.xml").views[7].in_plane_angle, 0);
  expect_contains(run(find + Words{"--range", "1"}).err, {"end of the range", "--range"});
  expect_contains(run(find + Words{"--range", "1"}).out, {"cannot be told, as the axis lies beyond"});
  refused(find + Words{"--range", "1", "-o", f / "end.xml"},
          {"end.xml' was not written", "end of the range", "1 pixels on each side", "larger --range"});
  refused(find + Words{"--range", "-1"}, {"--range"});
  done(circular + Words{"--arc", "90", "-o", f / "short.xml"});
  refused({"geometry", "find-axis", "-i", f / "p.mha", "-g", f / "short.xml", "--method", "correlation"},
          {"no view has one opposite"});
  refused({"geometry", "circular", "--sid", "500", "--sdd", "750", "--projections", "100000000", "-o", f / "x.xml"},
          {"--projections"});
}

// Axes within half a pixel of each other, at the end of the range: no case for a warning that they differ.
TEST_F(GeometryCommand, FindAxisWarnsThatMethodsDifferByMoreThanAPixelOnly) {
  const Words circular{"geometry", "circular", "--sid", "500", "--sdd", "750", "--projections", "60"};
  done(circular + Words{"--proj-offset-x", "2.2", "-o", f / "true.xml"});
  done(circular + Words{"-o", f / "believed.xml"});
  done({"project", "--phantom", "blade", "--phantom-size", "80", "--detector", "64,5", "--pixel", "2,2", "-g",
        f / "true.xml", "-o", f / "p.mha"});
  const Words find{"geometry", "find-axis", "-i", f / "p.mha", "-g", f / "believed.xml", "--range", "1"};
  const Ran ran = done(find);
  expect_contains(ran.err, {"by sharpness, the best axis is at the end"});
  EXPECT_EQ(ran.err.find("differ"), std::string::npos) << ran.err;
}

TEST_F(GeometryCommand, FindAxisRefusalsNameFileAndRemedy) {
  const auto find = [&](const std::string& stack, const std::string& geometry) {
    return Words{"geometry", "find-axis", "-i", f / stack, "-g", f / geometry, "-o", f / "x.xml"};
  };
  const Words circular{"geometry", "circular", "--sid", "500", "--sdd", "750", "--projections"};
  Grid stack{.size = {1, 1, 24}};
  write_image(Volume(stack, 1), f / "dot.mha");
  refused(find("dot.mha", "g.xml"), {"dot.mha': the detector has 1 column;", "give projections that are wider"});
  stack.size = {20, 3, 1};
  stack.origin = {-9.5, -1, 0};
  write_image(Volume(stack, 1), f / "one.mha");
  expect_contains(done(circular + Words{"1", "-o", f / "one.xml"}).out, {"one.xml: 1 view, divergent beam"});
  refused(find("one.mha", "one.xml"), {"one.mha' has one view;", "half a turn"});
  // what the options leave is not the file's fault
  stack.size = {20, 8, 24};
  write_image(Volume(stack, 1), f / "part.mha");
  const auto part = [&](const Words& options) { return find("part.mha", "g.xml") + options; };
  refused(part({"--crop", "5,0,3,8"}),
          {"--crop 5,0,3,8: of the 20 columns of '", "part.mha' 3 are left", "takes 4 at the least, so leave more"});
  refused(part({"--crop", "5,0,3,8", "--bin", "1,2"}), {"--crop 5,0,3,8: of the 20"});
  refused(part({"--bin", "6,1"}), {"--bin 6,1: of the 20 columns of '", "part.mha' 3 are left"});
  refused(part({"--crop", "0,0,20,7", "--bin", "6"}), {"--bin 6: of the 20 columns of '"});
  refused(part({"--crop", "0,0,15,8", "--bin", "5"}), {"--crop 0,0,15,8 and --bin 5: of the 20 columns of '"});
  refused(part({"--views", "7:7"}), {"--views 7:7: one view of '", "part.mha' is left", "half a turn"});
  stack.size = {20, 3, 1};
  stack.size[2] = 30;
  write_image(Volume(stack, 1), f / "short.mha");
  done(circular + Words{"30", "--arc", "90", "-o", f / "short.xml"});
  refused(find("short.mha", "short.xml"),
          {"no axis can be found in '", "short.mha' with '", "short.xml'", "no view has one opposite",
           "but by sharpness: 30 views leave a gap of 27", "give the missing views"});
  const Ran ran = run(find("short.mha", "short.xml"));
  EXPECT_EQ(ran.err.find("warning"), std::string::npos) << ran.err;  // of a method that then fails as well
  EXPECT_EQ(ran.err.find("--allow-incomplete-arc"), std::string::npos) << ran.err;  // find-axis has none
}

TEST_F(GeometryCommand, FindAxisForecastsTheSearchToo) {
  done({"geometry", "circular", "--sid", "500", "--sdd", "0", "--projections", "60", "-o", f / "g.xml"});
  Grid stack{.size = {300, 20, 60}, .origin = {-149.5, -9.5, 0}};
  write_image(Volume(stack, 1), f / "p.mha");
  refused(
      {"geometry", "find-axis", "-i", f / "p.mha", "-g", f / "g.xml", "--method", "correlation", "--host-memory", "1K"},
      {"host's memory is too small", "inputs and results 1.37 MiB, the run 1.10 MiB"});  // 16 of 20 rows
}

TEST_F(GeometryCommand, HelpSaysWhatIsTaken) {
  expect_contains(run({"geometry", "circular", "--help"}).out,
                  {"--sid D REQUIRED", "--sdd D REQUIRED"});  // no defaults
  expect_contains(run({"project", "--help"}).out, {"cylindrical"});
  expect_contains(run({"fdk", "--help"}).out, {"neighbours"});
  const std::string plan = run({"plan", "--help"}).out;
  expect_contains(plan, {"spdu", "tvgd"});
  EXPECT_EQ(plan.find("pdu4d"), std::string::npos) << plan;
}

class FindAxisOfCounts : public GeometryCommand {
 protected:
  /// Counts with a dead column, flats and darks; the axis at column 57 of 120.
  void SetUp() override {
    const Words circular{"geometry", "circular", "--sid", "500", "--sdd", "750", "--projections", "120"};
    done(circular + Words{"--proj-offset-x", "4", "-o", f / "true.xml"});
    done(circular + Words{"-o", f / "g.xml"});
    done({"project", "--phantom", "shepp-logan-hc", "--phantom-size", "100", "--detector", "120,6", "--pixel",
          "1.6,1.6", "-g", f / "true.xml", "-o", f / "p.mha"});
    Volume counts = read_image(f / "p.mha");
    Grid single = counts.grid;
    single.size[2] = 1;
    Volume flat(single), dark(single, 20);
    for (std::size_t n = 0; n < flat.voxels.size(); ++n)
      flat.voxels[n] = n % 120 == 41 ? 20 : 20 + 50000 + 40 * static_cast<float>(n % 11);
    for (std::size_t n = 0; n < counts.voxels.size(); ++n)
      counts.voxels[n] = std::round(20 + (flat.voxels[n % flat.voxels.size()] - 20) * std::exp(-counts.voxels[n]));
    const auto image = create_image(f / "c.mha", counts.grid, {Component::uint16, {}});
    image->begin();
    image->write(0, counts.voxels.size(), counts.voxels.data());
    image->commit();
    write_image(flat, f / "flat.mha");
    write_image(dark, f / "dark.mha");
  }
  Words find(const std::string& input, const Words& more = {}) const {
    return Words{"geometry", "find-axis", "-i", f / input, "-g", f / "g.xml", "--report", f / "r.json"} + more;
  }
  nlohmann::json results() const { return nlohmann::json::parse(content(f / "r.json")).at("results"); }
  const Words fields{"--flat", f / "flat.mha", "--dark",           f / "dark.mha",
                     "--air",  "0,0,3,6",      "--beam-hardening", "1,0.02"};
};

TEST_F(FindAxisOfCounts, IsThatOfTheirLineIntegrals) {
  done(Words{"counts", "-i", f / "c.mha", "-o", f / "li.mha"} + fields);
  const Ran steps = done(find("li.mha"));
  const auto expected = results();
  const Ran at_once = done(find("c.mha", Words{"--counts"} + fields));
  auto found = results();
  EXPECT_EQ(found.at("counts").at("bad_pixels"), 6);
  found.erase("counts");
  EXPECT_EQ(found, expected);
  EXPECT_NEAR(found.at("column").get<double>(), 57, 0.1);
  EXPECT_NE(at_once.out.find(steps.out), std::string::npos) << at_once.out << "does not end like\n" << steps.out;
  expect_contains(at_once.out, {"6 detector pixels are bad"});
  EXPECT_EQ(at_once.err.find("warning"), std::string::npos) << at_once.err;
  expect_contains(run(find("c.mha")).err, {"holds whole numbers (uint16)", "if they are counts, give --counts"});
  refused(find("c.mha") + fields, {"--counts"});
  refused(find("c.mha", {"--counts"}), {"--flat", "--air"});
}

// Columns are those of the file, and what is written is the geometry of all its views.
TEST_F(FindAxisOfCounts, IsThatOfAPart) {
  const Words part{"--method", "correlation", "--views", "0:118:2", "--crop", "4,1,114,4", "--bin", "2"};
  done(find("c.mha", Words{"--counts"} + fields + part + Words{"-o", f / "found.xml"}));
  EXPECT_NEAR(results().at("column").get<double>(), 57, 0.2);
  EXPECT_NEAR(results().at("detector_offset_pixels").get<double>(), 2.5, 0.2);
  const Geometry found = read_geometry(f / "found.xml");
  ASSERT_EQ(found.views.size(), 120u);
  for (const std::size_t n : {0, 1, 119}) EXPECT_NEAR(found.views[n].projection_offset_x, 4, 0.32);
  done(find("p.mha", part));
  EXPECT_NEAR(results().at("column").get<double>(), 57, 0.2);
  refused(find("p.mha", {"--views", "0:120"}), {"--views 0:120", "has 120 views, so the last is 119"});
  refused(find("p.mha", {"--crop", "100,0,30,6"}), {"--crop", "not in"});
}

// UTF-16 with a byte order mark, and decimal commas.
TEST(GeometryCircular, AnglesAsEditorsSaveThem) {
  const Folder f;
  const std::string text = "0 # first\n12,5\n-3,25e1\n90\n";
  std::string wide = "\xff\xfe";
  for (const char c : text) wide += {c, '\0'};
  write_text(f / "plain.txt", "0\n12.5\n-32.5\n90\n");
  write_text(f / "wide.txt", wide);
  const auto made = [&](const std::string& angles) {
    const Ran ran =
        run({"geometry", "circular", "--sid", "100", "--sdd", "0", "--angles", f / angles, "-o", f / "g.xml"});
    EXPECT_EQ(ran.code, 0) << ran.err;
    return content(f / "g.xml");
  };
  EXPECT_EQ(made("wide.txt"), made("plain.txt"));
  write_text(f / "mixed.txt", "0\n12,5\n32.5\n");
  EXPECT_EQ(
      run({"geometry", "circular", "--sid", "100", "--sdd", "0", "--angles", f / "mixed.txt", "-o", f / "g.xml"}).code,
      2);
}

}  // namespace
}  // namespace halocline::geometry_command_test
