// labels: unit
// Geometries that are converted to other descriptions and back: every world point must fall on the same pixel.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <fstream>
#include <random>

#include "algorithms/geometry/geometry_decompose.hpp"
#include "algorithms/geometry/geometry_text.hpp"
#include "algorithms/geometry/geometry_vendor.hpp"
#include "algorithms/geometry/geometry_xml.hpp"
#include "host/system/error.hpp"
#include "tests/support/refusal.hpp"

namespace halocline::geometry_formats_test {
namespace {

using testing::HasSubstr;
using testing::Not;

/// All nine parameters differ from 0 and from view to view, angles on both sides of 0.
Geometry tilted(bool parallel = false) {
  std::mt19937 random(7);
  const auto number = [&](double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random);
  };
  Geometry geometry;
  for (int n = 0; n < 25; ++n) {
    View view{.sid = number(400, 1100)};
    view.sdd = parallel ? 0 : view.sid + number(50, 700);
    view.gantry_angle = number(-400, 400);
    view.out_of_plane_angle = number(-60, 60);
    view.in_plane_angle = number(-170, 170);
    view.source_offset_x = parallel ? 0 : number(-30, 30);
    view.source_offset_y = parallel ? 0 : number(-30, 30);
    view.projection_offset_x = number(-90, 90);
    view.projection_offset_y = number(-90, 90);
    geometry.views.push_back(view);
  }
  return geometry;
}

/// Anisotropic, and far from centred.
DetectorPixels pixels() {
  return {.size = {{517, 389}}, .spacing = {{0.41, 0.73}}, .origin = {{-80.3, -190.7}}};
}

/// The largest distance in pixels between the images of the same points in two geometries.
double pixels_apart(const Geometry& a, const Geometry& b) {
  EXPECT_EQ(a.views.size(), b.views.size());
  if (a.views.size() != b.views.size()) return 1e9;
  std::mt19937 random(3);
  std::uniform_real_distribution<double> place(-120, 120);
  double worst = 0;
  for (std::size_t n = 0; n < a.views.size(); ++n)
    for (int point = 0; point < 20; ++point) {
      const double x[] = {place(random), place(random), place(random), 1};
      const auto image = [&](const View& view) {
        const Matrix34 m = projection_matrix(view);
        double h[3] = {0, 0, 0};
        for (int row = 0; row < 3; ++row)
          for (int column = 0; column < 4; ++column) h[row] += m[4 * row + column] * x[column];
        return std::array<double, 2>{h[0] / h[2] / 0.41, h[1] / h[2] / 0.73};
      };
      const auto p = image(a.views[n]), q = image(b.views[n]);
      worst = std::max(worst, std::hypot(p[0] - q[0], p[1] - q[1]));
    }
  return worst;
}

template <typename Work>
void expect_refused(Work&& work, const std::vector<std::string>& parts) {
  const std::string error = refusal_of(work);
  for (const auto& part : parts) EXPECT_THAT(error, HasSubstr(part));
}

class Beam : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Beams, Beam, testing::Bool(),
                         [](const auto& beam) { return beam.param ? "Parallel" : "Divergent"; });

TEST_P(Beam, MatricesGiveTheirParametersBack) {
  const Geometry geometry = tilted(GetParam());
  for (const double factor : {1.0, -1.0, 3e-4, -20.0}) {  // a matrix is only known up to a factor
    Geometry back;
    for (const View& view : geometry.views) {
      Matrix34 m = projection_matrix(view);
      for (double& element : m) element *= factor;
      back.views.push_back(view_from_matrix(m, "m"));
      const View& found = back.views.back();
      if (GetParam()) continue;
      EXPECT_NEAR(found.sid, view.sid, 1e-9);
      EXPECT_NEAR(found.sdd, view.sdd, 1e-9);
      EXPECT_NEAR(std::remainder(found.gantry_angle - view.gantry_angle, 360), 0, 1e-10);
      EXPECT_NEAR(found.out_of_plane_angle, view.out_of_plane_angle, 1e-10);
      EXPECT_NEAR(std::remainder(found.in_plane_angle - view.in_plane_angle, 360), 0, 1e-10);
      EXPECT_NEAR(found.source_offset_x, view.source_offset_x, 1e-9);
      EXPECT_NEAR(found.source_offset_y, view.source_offset_y, 1e-9);
      EXPECT_NEAR(found.projection_offset_x, view.projection_offset_x, 1e-9);
      EXPECT_NEAR(found.projection_offset_y, view.projection_offset_y, 1e-9);
    }
    EXPECT_LT(pixels_apart(geometry, back), 1e-9) << factor;
  }
}

TEST_P(Beam, PlacementsGiveTheViewBack) {
  const Geometry geometry = tilted(GetParam());
  Geometry back;
  for (const View& view : geometry.views) {
    Placement p = placement_of(view);
    p.u = scaled(0.2, p.u);  // axes of any length
    p.v = scaled(7, p.v);
    back.views.push_back(view_from_placement(p, "p"));
  }
  EXPECT_LT(pixels_apart(geometry, back), 1e-9);
}

TEST(Decompose, TakesASourceOnTheAxisAndLargeAngles) {
  for (const double out : {90.0, -90.0, 100.0, -135.0}) {
    Geometry geometry = tilted();
    for (View& view : geometry.views) view.out_of_plane_angle = out;
    Geometry back;
    for (const View& view : geometry.views) back.views.push_back(view_from_matrix(projection_matrix(view), "m"));
    EXPECT_LT(pixels_apart(geometry, back), 1e-9) << out;
  }
}

TEST_P(Beam, TextComesBackTheSame) {
  const Geometry geometry = tilted(GetParam());
  DetectorPixels centred = pixels();
  centred.origin.reset();
  for (const TextFormat format : {TextFormat::astra, TextFormat::matrices})
    for (const DetectorPixels& detector : {pixels(), centred}) {
      const std::string text = geometry_text(geometry, format, detector);
      EXPECT_TRUE(has_text_format(text));
      const ScanFile back = read_geometry_text(text, "text");
      EXPECT_LT(pixels_apart(geometry, back.geometry), 1e-9) << text.substr(0, 60);
      EXPECT_EQ(back.detector.size, detector.size);
      EXPECT_EQ(back.detector.spacing, detector.spacing);
      EXPECT_EQ(back.detector.origin, detector.origin);
    }
  const ScanFile mm = read_geometry_text(geometry_text(geometry, TextFormat::matrices, {}), "text");
  EXPECT_LT(pixels_apart(geometry, mm.geometry), 1e-9);
}

// Through all formats one after another, each time read from what was written.
TEST_P(Beam, AChainOfConversionsEndsWhereItBegan) {
  const Geometry geometry = tilted(GetParam());
  const std::string path = testing::TempDir() + "halocline_chain_" + (GetParam() ? "p" : "d") + ".xml";
  Geometry now = geometry;
  for (int turn = 0; turn < 3; ++turn) {
    now = read_geometry_text(geometry_text(now, TextFormat::astra, pixels()), "a").geometry;
    std::ofstream(path) << geometry_xml(now);
    now = read_geometry(path);
    now = read_geometry_text(geometry_text(now, TextFormat::matrices, pixels()), "m").geometry;
  }
  std::remove(path.c_str());
  EXPECT_LT(pixels_apart(geometry, now), 1e-9);
}

// One view worked out by hand. ASTRA: source at angle 0 on -Y, detector on +Y, u = +X, v = +Z.
TEST(Astra, RowsAreInItsAxes) {
  const std::string rows =
      "# format: astra cone_vec\n0 -500 0  0 250 0  0.5 0 0  0 0 0.25\n500,0,0,-250,0,0,0,.5,0,0,0,.25\n";
  const Geometry geometry = read_geometry_text(rows, "rows").geometry;
  ASSERT_EQ(geometry.views.size(), 2u);
  for (int n = 0; n < 2; ++n) {
    const View& view = geometry.views[static_cast<std::size_t>(n)];
    EXPECT_NEAR(view.gantry_angle, 90 * n, 1e-12);
    EXPECT_NEAR(view.sid, 500, 1e-12);
    EXPECT_NEAR(view.sdd, 750, 1e-12);
    EXPECT_NEAR(view.in_plane_angle, 0, 1e-12);
    EXPECT_NEAR(view.out_of_plane_angle, 0, 1e-12);
    EXPECT_NEAR(view.projection_offset_x, 0, 1e-12);
  }
  const ScanFile ray = read_geometry_text("# format: astra parallel3d_vec\n0 1 0 3 250 4 0.5 0 0 0 0 0.25\n", "rows");
  EXPECT_TRUE(ray.geometry.parallel());
  EXPECT_NEAR(ray.geometry.views[0].gantry_angle, 0, 1e-12);
  EXPECT_NEAR(ray.geometry.views[0].projection_offset_x, 3, 1e-12);
  EXPECT_NEAR(ray.geometry.views[0].projection_offset_y, 4, 1e-12);
  EXPECT_EQ(*ray.detector.spacing, (std::array<double, 2>{0.5, 0.25}));
}

TEST(Astra, TheBeamIsToldWithoutAHeader) {
  const TextFormat astra = TextFormat::astra;
  for (const bool parallel : {false, true}) {
    std::string text = geometry_text(tilted(parallel), astra, pixels());
    text.erase(0, text.find('\n') + 1);  // the format
    const ScanFile back = read_geometry_text(text, "rows", {}, &astra);
    EXPECT_EQ(back.geometry.parallel(), parallel);
    EXPECT_EQ(back.notes.size(), 1u);
    EXPECT_LT(pixels_apart(tilted(parallel), back.geometry), 1e-9);
  }
}

TEST(Matrices, MayStandInThreeLines) {
  const Geometry geometry = tilted();
  std::string text = "# format: matrices mm\n";
  for (const View& view : geometry.views) {
    const Matrix34 m = projection_matrix(view);
    char line[200];
    for (int row = 0; row < 3; ++row) {
      std::snprintf(line, sizeof line, "%.17g, %.17g, %.17g, %.17g\n", m[4 * row], m[4 * row + 1], m[4 * row + 2],
                    m[4 * row + 3]);
      text += line;
    }
    text += "\n";
  }
  EXPECT_LT(pixels_apart(geometry, read_geometry_text(text, "m").geometry), 1e-9);
}

TEST(Formats, RefuseWhatNoGeometryExpresses) {
  const View view = tilted().views.front();
  const Matrix34 good = projection_matrix(view);
  const auto changed = [&](auto change) {
    Matrix34 m = good;
    change(m);
    return [m] { view_from_matrix(m, "m.txt: projection 3 of 9"); };
  };
  const std::string name = "m.txt: projection 3 of 9";
  expect_refused(changed([](Matrix34& m) {
                   for (int n = 0; n < 4; ++n) m[n] += 0.01 * m[4 + n];
                 }),
                 {name, "not at right angles", "skewed"});
  expect_refused(changed([](Matrix34& m) {
                   for (int n = 0; n < 4; ++n) m[n] *= 1.01;
                 }),
                 {name, "different scales", "`detector.spacing`"});
  for (const int row : {0, 4})  // either axis turned over
    expect_refused(changed([row](Matrix34& m) {
                     for (int n = 0; n < 4; ++n) m[row + n] *= -1;
                   }),
                   {name, "mirrored", "flip the images"});
  expect_refused(changed([](Matrix34& m) { m = {}; }), {name, "singular"});
  expect_refused(changed([](Matrix34& m) { m[0] = m[1] = m[2] = 0; }), {name, "singular"});
  expect_refused(changed([](Matrix34& m) { m[5] = NAN; }), {name, "finite"});
  const Matrix34 parallel{0.5, 0, 0, 1, 0, 0.5, 0, 2, 0, 0, 0, 1};
  expect_refused([&] { view_from_matrix(parallel, "m"); }, {"parallel beam", "0.5", "`detector.spacing`"});

  Placement p = placement_of(view);
  p.u = scaled(-1, p.u);
  expect_refused([&] { view_from_placement(p, name); }, {name, "mirrored"});
  p = placement_of(view);
  p.source = scaled(-1, p.source);
  expect_refused([&] { view_from_placement(p, name); }, {name});
  p = placement_of(view);
  p.v = add_scaled(p.v, 0.001, p.u);
  expect_refused([&] { view_from_placement(p, name); }, {name, "89.94"});
  p = placement_of(view);
  p.detector = add_scaled(p.detector, 0.99, add_scaled(p.source, -1, p.detector));  // in front of the isocentre
  expect_refused([&] { view_from_placement(p, name); }, {name, "not between source and detector"});
  p = placement_of(tilted(true).views.front());
  p.source = add_scaled(p.source, 0.1, p.u);
  expect_refused([&] { view_from_placement(p, name); }, {name, "5.71", "oblique"});
  p = placement_of(tilted(true).views.front());
  p.u = scaled(-1, p.u);
  expect_refused([&] { view_from_placement(p, name); }, {name, "mirrored"});
}

TEST(Formats, SayWhatIsWrongWithAText) {
  const auto refused = [](const std::string& text, const std::vector<std::string>& parts,
                          const DetectorPixels& detector = {}) {
    expect_refused([&] { read_geometry_text(text, "rows.txt", detector); }, parts);
  };
  const std::string row = "0 -500 0 0 250 0 0.5 0 0 0 0 0.25\n", head = "# format: astra cone_vec\n";
  refused(row, {"rows.txt", "`format = astra`", "`format = matrices`"});
  refused(head, {"rows.txt", "holds no view"});
  refused(head + row + "1 2 3\n", {"rows.txt, line 3", "3 numbers", "12"});
  refused(head + row + "1 2 x 4", {"rows.txt, line 3", "'x'"});
  refused(head + "0 nan 0 0 250 0 0.5 0 0 0 0 0.25", {"line 2", "'nan'", "finite"});
  refused("# format: tigre\n" + row, {"line 1", "'tigre'", "astra cone_vec"});
  refused(head + "# detector: 12.5 7\n" + row, {"line 2", "whole"});
  refused(head + "# pixel: 0 1\n" + row, {"line 2", "positive"});
  refused(head + "# origin: 1\n" + row, {"line 2", "two numbers"});
  refused(head + row + "0 -500 0 0 250 0 0.6 0 0 0 0 0.25\n", {"projection 1 of 2", "0.6", "one pixel size"});
  refused(head + "# origin: -3 -4\n" + row, {"`detector.size = NU,NV`"});
  refused("# format: matrices pixels\n" + row, {"`detector.spacing = DU,DV`"});
  refused("# format: matrices mm\n1 2 3 4\n5 6 7 8\n", {"8 numbers", "12"});
  DetectorPixels other{.spacing = {{0.5, 0.5}}};
  refused(head + row, {"0.5 x 0.25", "0.5 x 0.5"}, other);
  other = pixels();
  refused(head + "# detector: 100 100\n" + row, {"100 x 100", "517 x 389"}, other);
  const TextFormat matrices = TextFormat::matrices;
  expect_refused([&] { read_geometry_text(head + row, "rows.txt", {}, &matrices); }, {"leave `format` out"});
  expect_refused([&] { geometry_text(tilted(), TextFormat::astra, {}); }, {"`detector.spacing = DU,DV`"});
  Geometry cylinder = tilted();
  cylinder.radius_cylindrical_detector = 900;
  expect_refused([&] { geometry_text(cylinder, TextFormat::astra, pixels()); }, {"cylinder", "900"});
}

const std::string xtekct =
    "[XTekCT]\r\nName=seeds\r\nSrcToObject=150.5\r\nSrcToDetector=980\r\nDetectorPixelsX=2000\r\nDetectorPixelsY="
    "1500\r\n"
    "DetectorPixelSizeX=0.2\r\nDetectorPixelSizeY=0.2\r\nProjections=4\r\nInitialAngle=10\r\nAngularStep=0.5\r\n";

TEST(Xtekct, SaysTheGeometry) {
  const ScanFile plain = read_xtekct(xtekct, "x");
  ASSERT_EQ(plain.geometry.views.size(), 4u);
  EXPECT_EQ(*plain.detector.size, (std::array<std::size_t, 2>{2000, 1500}));
  const View& view = plain.geometry.views[2];
  EXPECT_EQ(view.sid, 150.5);
  EXPECT_EQ(view.sdd, 980);
  EXPECT_NEAR(view.gantry_angle, 11, 1e-12);
  EXPECT_EQ(view.projection_offset_x, 0);
  EXPECT_EQ(view.in_plane_angle, 180);  // rows from the top
  EXPECT_TRUE(plain.from_top);
  EXPECT_FALSE(plain.white_level);
  EXPECT_EQ(read_xtekct(xtekct + "WhiteLevel=59000\n", "x").white_level, 59000);
}

// Points of the object in the file's own frame: x to the right as the source sees, y up, z towards the source. The
// object turns by -AngularStep, anticlockwise seen from above being positive; column 0 is on the right, row 0 on top.
TEST(Xtekct, HasTheObjectUpright) {
  const ScanFile scan = read_xtekct(xtekct, "x");
  for (std::size_t n = 0; n < 4; ++n)
    for (const auto& [x, y, z] : {std::array{3.0, 5.0, 2.0}, {-4.0, 1.0, 6.0}}) {
      const double turn = -(10 + 0.5 * static_cast<double>(n)) * M_PI / 180;
      const double right = x * std::cos(turn) + z * std::sin(turn), near = z * std::cos(turn) - x * std::sin(turn);
      const double scale = 980 / (150.5 - near) / 0.2;
      const Matrix34 m = projection_matrix(scan.geometry.views[n]);
      const double w = m[8] * x + m[9] * y + m[10] * z + m[11];
      EXPECT_NEAR((m[0] * x + m[1] * y + m[2] * z + m[3]) / w / 0.2 + 999.5, 999.5 - right * scale, 1e-9);
      EXPECT_NEAR((m[4] * x + m[5] * y + m[6] * z + m[7]) / w / 0.2 + 749.5, 749.5 - y * scale, 1e-9);
      // columns are along the axis to the last bit: kernels take the faster way for those
      EXPECT_EQ(m[1], 0);
      EXPECT_EQ(m[9], 0);
    }
}

// The axis and a line along it, 1 mm at a time, seen at the detector: what the keys say directly.
TEST(Xtekct, PlacesTheAxis) {
  const auto column_row = [](const View& view, double y) {
    const Matrix34 m = projection_matrix(view);
    const double w = m[9] * y + m[11];
    return std::array<double, 2>{(m[1] * y + m[3]) / w / 0.2 + 999.5, (m[5] * y + m[7]) / w / 0.2 + 749.5};
  };
  // 1.5 mm at the top edge and 0.9 mm at the bottom edge of the detector, of 300 mm height, rows from the top
  const View old = read_xtekct(xtekct + "CentreOfRotationTop=1.5\nCentreOfRotationBottom=0.9\n", "x").geometry.views[0];
  const auto a = column_row(old, 0), b = column_row(old, 1);
  const double slope = (b[0] - a[0]) / (b[1] - a[1]);
  EXPECT_NEAR(a[1], 749.5, 1e-9);
  EXPECT_NEAR(a[0], 999.5 + 1.2 / 0.2, 1e-9);                 // the mean, at half height
  EXPECT_NEAR(a[0] + slope * -750, 999.5 + 1.5 / 0.2, 1e-9);  // the top edge is at row -0.5
  EXPECT_NEAR(a[0] + slope * 750, 999.5 + 0.9 / 0.2, 1e-9);
  // newer files give the offset at the axis, and angles
  const View now = read_xtekct(xtekct + "ObjectOffsetX=0.03\nObjectRoll=0.2\nObjectTilt=30\n", "x").geometry.views[0];
  EXPECT_NEAR(column_row(now, 0)[0], 999.5 + 0.03 * 980 / 150.5 / 0.2, 1e-9);
  // with a tilt of 30 degrees the axis' lower end, at -y, moves towards the source by its sine
  const Matrix34 m = projection_matrix(now);
  EXPECT_NEAR(m[9], -std::sin(M_PI / 6) * std::cos(0.2 * M_PI / 180), 1e-12);
}

TEST(Xtekct, SaysWhatIsMissing) {
  const auto refused = [](const std::string& from, const std::string& to, const std::vector<std::string>& parts) {
    std::string text = xtekct;
    text.replace(text.find(from), from.size(), to);
    expect_refused([&] { read_xtekct(text, "scan.xtekct"); }, parts);
  };
  refused("SrcToObject=150.5", "", {"scan.xtekct", "SrcToObject", "[XTekCT]", "missing"});
  refused("SrcToDetector=980", "SrcToDetector=98o", {"SrcToDetector", "'98o'"});
  refused("SrcToDetector=980", "SrcToDetector=98", {"scan.xtekct", "exchanged"});
  refused("Projections=4", "Projections=4.5", {"Projections", "whole"});
  refused("Projections=4", "Projections=4\r\nSRCTOOBJECT=151", {"SrcToObject", "[XTekCT]", "'150.5'", "'151'"});
  refused("AngularStep=0.5", "AngularStep=0", {"AngularStep is 0"});
  refused("DetectorPixelSizeX=0.2", "DetectorPixelSizeX=-1", {"DetectorPixelSizeX", "positive"});
  refused("SrcToObject=150.5", "SrcToObject=150,5", {"'150,5'", "decimal comma", "has a point"});
  std::string commas = xtekct;
  std::replace(commas.begin(), commas.end(), '.', ',');
  commas.replace(commas.find("DetectorPixelsX=2000"), 20, "DetectorPixelsX=2,000");  // thousands
  expect_refused([&] { read_xtekct(commas, "scan.xtekct"); }, {"DetectorPixelsX", "2,000", "whole"});
}

TEST(Xtekct, CommasThatMayStandBetweenThousandsAreRefused) {
  const std::string whole =
      "[XTekCT]\nSrcToObject=1,005\nSrcToDetector=2000\nDetectorPixelsX=2000\nDetectorPixelsY=1500\n"
      "DetectorPixelSizeX=1\nDetectorPixelSizeY=1\nProjections=4\nAngularStep=1\n";
  const auto ambiguous = [](const std::string& text) {
    expect_refused([&] { read_xtekct(text, "scan.xtekct"); },
                   {"scan.xtekct", "SrcToObject", "[XTekCT]", "'1,005'", "thousands", "with a point"});
  };
  ambiguous(whole);
  ambiguous(whole + "InitialAngle=12,250\n");  // the same again
  ambiguous(whole + "[Other]\nA=0,5\nB=0.5\n");
  const auto distance = [](const std::string& text) {
    return read_xtekct(text, "scan.xtekct").geometry.views.front().sid;
  };
  for (const char* decimal : {"InitialAngle=0,5\n", "InitialAngle=0,500\n", "InitialAngle=1,5\n",
                              "ObjectTilt=1,25e-3\n", "InitialAngle=1000,250\n", "[Other]\nA=0,5\n"})
    EXPECT_EQ(distance(whole + decimal), 1.005) << decimal;
  // a count has no decimals
  expect_refused([&] { read_xtekct(whole + "InitialAngle=0,5\nVoxelsX=1,000\n", "scan.xtekct"); },
                 {"scan.xtekct", "VoxelsX", "1,000", "whole"});
}

TEST(Xtekct, WithoutItsSectionIsRefused) {
  for (const std::string& text : {std::string(), xtekct.substr(xtekct.find('\n') + 1), "[Other]\n" + xtekct.substr(10)})
    expect_refused([&] { read_xtekct(text, "scan.xtekct"); },
                   {"scan.xtekct", "no section [XTekCT]", "as Nikon's software wrote it"});
}

const std::string pca =
    "[General]\nVersion-pca=2\n[Geometry]\nFDD=800.5\nFOD=160.25\nCalibValue=-1.231\ncx=1011.5\ncy=900.5\nTilt=0.0\n"
    "DetectorRot=0\n[CT]\nNumberImages=1800\nRotationSector=360.0\n[CalibValue]\nNumberImages=18\n[Image]\nDimX=2004\n"
    "DimY=2024\n[Detector]\nPixelsizeX=0.2\nPixelsizeY=0.25\n";

TEST(Pca, WithoutASectionIsRefused) {
  for (const char* section : {"Geometry", "CT", "Image", "Detector"}) {
    std::string text = pca;
    text.replace(text.find(fmt::format("[{}]", section)) + 1, 1, "x");
    expect_refused([&] { read_pca(text, "scan.pca"); }, {"scan.pca", fmt::format("no section [{}]", section)});
  }
}

TEST(Pca, SaysTheGeometry) {
  const ScanFile scan = read_pca(pca, "p");
  ASSERT_EQ(scan.geometry.views.size(), 1800u);
  const View& view = scan.geometry.views[450];
  EXPECT_EQ(view.sid, 160.25);
  EXPECT_EQ(view.sdd, 800.5);
  EXPECT_NEAR(view.gantry_angle, 90, 1e-12);
  // the isocentre falls on pixel (cx, cy) of the centred detector
  const Matrix34 m = projection_matrix(view);
  EXPECT_NEAR(m[3] / m[11] / 0.2 + 1001.5, 1011.5, 1e-9);
  EXPECT_NEAR(m[7] / m[11] / 0.25 + 1011.5, 900.5, 1e-9);
  EXPECT_THAT(scan.sense, HasSubstr("`gantry_angle = -gantry_angle`"));
  ASSERT_EQ(scan.notes.size(), 1u);
  EXPECT_THAT(scan.notes[0], HasSubstr("-1.231"));
  std::string tilted = pca;
  tilted.replace(tilted.find("Tilt=0.0"), 8, "Tilt=2.5");
  expect_refused([&] { read_pca(tilted, "scan.pca"); }, {"scan.pca", "Tilt", "2.5", "`out_of_plane_angle`"});
  std::string still = pca;
  still.replace(still.find("RotationSector=360.0"), 20, "RotationSector=0");
  expect_refused([&] { read_pca(still, "scan.pca"); }, {"RotationSector", "0"});
  EXPECT_THAT(geometry_text(scan.geometry, TextFormat::astra, scan.detector), HasSubstr("# detector: 2004 2024"));
}

// Files that count columns or rows backwards are of the same detector.
TEST(Detector, LiesWhereItsPixelsLieWhicheverWayTheFileCounts) {
  Grid ascending = pixels().grid(3), backwards = ascending;
  for (const std::size_t axis : {0, 1}) {
    backwards.origin[axis] += static_cast<double>(ascending.size[axis] - 1) * ascending.spacing[axis];
    backwards.direction[4 * axis] = -1;
    const DetectorPixels a = DetectorPixels::of(ascending), b = DetectorPixels::of(backwards);
    for (const std::size_t n : {0, 1}) {
      EXPECT_NEAR(a.first()[n], b.first()[n], 1e-9);
      EXPECT_NEAR(a.centre()[n], b.centre()[n], 1e-9);
    }
  }
}

}  // namespace
}  // namespace halocline::geometry_formats_test
