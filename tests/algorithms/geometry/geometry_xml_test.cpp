// labels: unit
#include "algorithms/geometry/geometry_xml.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <fstream>
#include <sstream>

#include "host/system/error.hpp"
#include "tests/support/refusal.hpp"

namespace halocline::geometry_xml_test {
namespace {

using testing::HasSubstr;
using testing::Not;

/// A file that lives as long as the test needs it.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& text) {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    path_ = testing::TempDir() + "halocline_" + test->test_suite_name() + "_" + test->name() + ".xml";
    std::ofstream(path_, std::ios::binary) << text;
  }
  ~TemporaryFile() { std::remove(path_.c_str()); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

Geometry read_text(const std::string& text) {
  return read_geometry(TemporaryFile(text).path());
}

std::string document(const std::string& content, const std::string& version = "3") {
  return "<?xml version=\"1.0\"?>\n<!DOCTYPE RTKGEOMETRY>\n<RTKThreeDCircularGeometry version=\"" + version + "\">\n" +
         content + "</RTKThreeDCircularGeometry>\n";
}

void expect_refused(const std::string& text, const std::vector<std::string>& parts) {
  const std::string error = refusal_of([&] { read_text(text); });
  EXPECT_THAT(error, HasSubstr(".xml"));
  for (const auto& part : parts) EXPECT_THAT(error, HasSubstr(part));
}

constexpr const char* distances =
    "  <SourceToIsocenterDistance>1000</SourceToIsocenterDistance>\n"
    "  <SourceToDetectorDistance>1536</SourceToDetectorDistance>\n";

/// Text as RTK writes it.
const std::string rtk_projection =
    "  <Projection>\n"
    "    <GantryAngle>271.847274780273</GantryAngle>\n"
    "    <ProjectionOffsetX>-117.056503295898</ProjectionOffsetX>\n"
    "    <ProjectionOffsetY>-1.01195001602173</ProjectionOffsetY>\n"
    "    <Matrix>\n"
    "          -166.5093078829                   0   -1531.42837748039   -117056.503295898\n"
    "        -1.01142410874151               -1536  0.0326206557691505   -1011.95001602173\n"
    "       -0.999480303105996                   0  0.0322354417240802               -1000\n"
    "    </Matrix>\n"
    "  </Projection>\n";

TEST(ReadGeometry, ReadsWhatRtkWrites) {
  for (const std::string version : {"2", "3"}) {
    const Geometry geometry = read_text(document(distances + rtk_projection, version));
    ASSERT_EQ(geometry.views.size(), 1u);
    const View& view = geometry.views[0];
    EXPECT_EQ(view.sid, 1000);
    EXPECT_EQ(view.sdd, 1536);
    EXPECT_EQ(view.gantry_angle, 271.847274780273);
    EXPECT_EQ(view.projection_offset_x, -117.056503295898);
    EXPECT_EQ(view.projection_offset_y, -1.01195001602173);
    EXPECT_EQ(view.out_of_plane_angle, 0);
    EXPECT_EQ(view.collimation_u_inf, View{}.collimation_u_inf);
  }
}

TEST(ReadGeometry, ValuesHoldUntilTheyAreGivenAgain) {
  const Geometry geometry =
      read_text(document("<sourcetoisocenterdistance> 500 "
                         "</sourcetoisocenterdistance><SOURCETODETECTORDISTANCE>+8e2</SOURCETODETECTORDISTANCE>"
                         "<Remark>unknown <SourceOffsetY>-2</SourceOffsetY></Remark><!-- a comment -->"
                         "<Projection><Angle>10</Angle><InPlaneAngle>3</InPlaneAngle></Projection>"
                         "<Projection><GantryAngle>20</GantryAngle></Projection>"
                         "<SourceOffsetX>7</SourceOffsetX><RadiusCylindricalDetector>850</RadiusCylindricalDetector>"
                         "<projection><angle>30</angle><InPlaneAngle>0</"
                         "InPlaneAngle><CollimationUInf>1.79769313486232e+308</CollimationUInf>"
                         "<CollimationVSup>55.5</CollimationVSup></projection>"));
  ASSERT_EQ(geometry.views.size(), 3u);
  EXPECT_EQ(geometry.radius_cylindrical_detector, 850);
  for (const View& view : geometry.views) {
    EXPECT_EQ(view.sid, 500);
    EXPECT_EQ(view.sdd, 800);
    EXPECT_EQ(view.source_offset_y, -2);
  }
  EXPECT_EQ(geometry.views[0].gantry_angle, 10);
  EXPECT_EQ(geometry.views[0].in_plane_angle, 3);
  EXPECT_EQ(geometry.views[1].gantry_angle, 20);
  EXPECT_EQ(geometry.views[1].in_plane_angle, 3);
  EXPECT_EQ(geometry.views[1].source_offset_x, 0);
  EXPECT_EQ(geometry.views[2].gantry_angle, 30);
  EXPECT_EQ(geometry.views[2].in_plane_angle, 0);
  EXPECT_EQ(geometry.views[2].source_offset_x, 7);
  EXPECT_EQ(geometry.views[2].collimation_u_inf, View{}.collimation_u_inf);
  EXPECT_EQ(geometry.views[2].collimation_v_sup, 55.5);
}

TEST(ReadGeometry, ComparesTheMatrix) {
  std::string wrong = rtk_projection;
  wrong.replace(wrong.find("-1011.95001602173"), 17, "-1011.95201602173");
  expect_refused(document(distances + rtk_projection + wrong),
                 {"projection 1", "element (1,3)", "-1011.95201602173", "-1011.95001602173", "<Matrix>"});
  std::string close = rtk_projection;  // as a file with fewer digits has it
  close.replace(close.find("-1011.95001602173"), 17, "-1011.95061602173");
  EXPECT_NO_THROW(read_text(document(distances + close)));
  expect_refused(document(std::string(distances) + "<Projection><Matrix>1 2 3</Matrix></Projection>"),
                 {"3 numbers", "12"});
  expect_refused(document(std::string(distances) + "<Projection><Matrix>1 0 0 0 0 1 0 0 0 0 x 0</Matrix></Projection>"),
                 {"Matrix", "\"x\""});
}

// RTK compares the matrix of each projection with the angle that the one before had, and refuses.
TEST(ReadGeometry, WantsOneGantryAngleAProjection) {
  const std::string angle = "<GantryAngle>10</GantryAngle>", one = "<Projection>" + angle + "</Projection>";
  const auto expect = [&](const std::string& content, const std::string& projection, const std::string& count) {
    expect_refused(document(distances + content), {projection + " has " + count, "<GantryAngle>", "line 6",
                                                   count == "no" ? "add it" : "remove the others"});
  };
  EXPECT_EQ(read_text(document(distances + one + "<Angle>5</Angle>" + one)).views[1].gantry_angle, 10);
  expect("<Projection/>", "projection 0", "no");
  expect(one + one + "<Projection><InPlaneAngle>1</InPlaneAngle></Projection>", "projection 2", "no");
  expect(angle + "<Projection/>", "projection 0", "no");
  expect(one + "<Projection>" + angle + angle + "</Projection>", "projection 1", "2");
  expect("<Projection>" + angle + "<Note><Angle>11</Angle></Note></Projection>" + one, "projection 0", "2");
}

TEST(ReadGeometry, SaysWhatIsWrongWithAFile) {
  EXPECT_THROW(read_geometry("/nonexistent/geometry.xml"), InputError);
  EXPECT_THROW(read_geometry(testing::TempDir()), InputError);
  expect_refused("", {"empty"});
  const std::string good = document(distances + rtk_projection);
  for (const double part : {0.2, 0.5, 0.9, 0.99})
    expect_refused(good.substr(0, static_cast<std::size_t>(part * static_cast<double>(good.size()))),
                   {"line", "truncated"});
  expect_refused("<html></html>", {"<html>", "RTKThreeDCircularGeometry"});
  expect_refused(document(distances + rtk_projection, "1"), {"version \"1\""});
  expect_refused(document(distances), {"no projections"});
  expect_refused(document("<Projection><GantryAngle>1</GantryAngle></Projection>"),
                 {"projection 0", "source to isocentre distance is 0"});
  for (const std::string value : {"", "12abc", "1 2", "nan", "inf", "1e999", "0x10", "1,5,2"})
    expect_refused(document(distances + ("\n<Projection><GantryAngle>" + value + "</GantryAngle></Projection>")),
                   {"line 7", "GantryAngle", "\"" + value + "\""});
}

Geometry varied_geometry(bool parallel) {
  Geometry geometry;
  for (int n = 0; n < 5; ++n) {
    View view;
    view.sid = 1000.123456789;
    view.sdd = parallel ? 0 : 1536 + n / 7.0;
    view.gantry_angle = 400 - 91.3 * n;
    view.out_of_plane_angle = 1.0 / 3;
    view.in_plane_angle = n == 2 ? 0.1 : 0;
    view.source_offset_x = -2.5;
    view.source_offset_y = n;
    view.projection_offset_x = 1e-7 * n;
    view.projection_offset_y = -33.3;
    if (n == 1) view.collimation_u_inf = 25;
    view.collimation_v_sup = 40.25;
    geometry.views.push_back(view);
  }
  geometry.radius_cylindrical_detector = 12.5;
  return geometry;
}

TEST(WriteGeometry, ComesBackTheSame) {
  for (const bool parallel : {false, true}) {
    const Geometry written = varied_geometry(parallel);
    const Geometry back = read_text(geometry_xml(written));
    ASSERT_EQ(back.views.size(), written.views.size());
    EXPECT_EQ(back.radius_cylindrical_detector, written.radius_cylindrical_detector);
    for (std::size_t n = 0; n < back.views.size(); ++n) {
      const View &a = written.views[n], &b = back.views[n];
      const auto same = [](double x, double y) { EXPECT_NEAR(x, y, 1e-14 * std::abs(x)); };
      same(a.sid, b.sid);
      same(a.sdd, b.sdd);
      EXPECT_GE(b.gantry_angle, 0);
      EXPECT_LT(b.gantry_angle, 360);
      EXPECT_NEAR(std::remainder(a.gantry_angle - b.gantry_angle, 360), 0, 1e-11);
      same(a.out_of_plane_angle, b.out_of_plane_angle);
      same(a.in_plane_angle, b.in_plane_angle);
      same(a.source_offset_x, b.source_offset_x);
      same(a.source_offset_y, b.source_offset_y);
      same(a.projection_offset_x, b.projection_offset_x);
      same(a.projection_offset_y, b.projection_offset_y);
      EXPECT_EQ(a.collimation_u_inf, b.collimation_u_inf);
      EXPECT_EQ(a.collimation_u_sup, b.collimation_u_sup);
      EXPECT_EQ(a.collimation_v_inf, b.collimation_v_inf);
      EXPECT_EQ(a.collimation_v_sup, b.collimation_v_sup);
    }
    EXPECT_EQ(geometry_xml(back), geometry_xml(read_text(geometry_xml(back))));
  }
}

// The example of RTK's documentation (its second projection has other offsets, so that each has them), and a file
// with every parameter in RTK's order, angles in [0, 360).
TEST(WriteGeometry, WritesRtksBytes) {
  const std::string second =
      "  <Projection>\n"
      "    <GantryAngle>271.852905273438</GantryAngle>\n"
      "    <ProjectionOffsetX>-117.056831359863</ProjectionOffsetX>\n"
      "    <ProjectionOffsetY>-1.01187002658844</ProjectionOffsetY>\n"
      "    <Matrix>\n"
      "        -166.660129424325                   0   -1531.41199650136   -117056.831359863\n"
      "        -1.01134095059569               -1536  0.0327174625589984   -1011.87002658844\n"
      "       -0.999477130482326                   0  0.0323336611415466               -1000\n"
      "    </Matrix>\n"
      "  </Projection>\n";
  const std::string text = document(
      distances + ("  <RadiusCylindricalDetector>1536</RadiusCylindricalDetector>\n" + rtk_projection) + second);
  // The matrices there are those of a scanner's float32 angles and offsets, which have more digits than are written.
  Geometry example{.radius_cylindrical_detector = 1536};
  struct Values {
    float angle, offset_x, offset_y;
  };
  for (const Values& values : {Values{-88.1527252197266f, -117.056503295898f, -1.01195001602173f},
                               Values{-88.1470947265625f, -117.056831359863f, -1.01187002658844f}}) {
    View view;
    view.sid = 1000;
    view.sdd = 1536;
    view.gantry_angle = values.angle;
    view.projection_offset_x = values.offset_x;
    view.projection_offset_y = values.offset_y;
    example.views.push_back(view);
  }
  EXPECT_EQ(geometry_xml(example), text);

  View view{.sid = 750.25, .sdd = 1200, .gantry_angle = -90, .in_plane_angle = -1.5};
  view.out_of_plane_angle = 90;  // its sine and cosine are exact in the digits that are written
  view.source_offset_x = 1;
  view.source_offset_y = 2;
  view.projection_offset_x = 3;
  view.projection_offset_y = 4;
  view.collimation_v_sup = 50;
  Geometry geometry{.views = {view}};
  const std::string all = geometry_xml(geometry);
  std::size_t from = 0;
  for (const char* line : {"  <SourceToIsocenterDistance>750.25</", "  <SourceToDetectorDistance>1200</",
                           "  <SourceOffsetX>1</", "  <SourceOffsetY>2</", "  <ProjectionOffsetX>3</",
                           "  <ProjectionOffsetY>4</", "  <InPlaneAngle>358.5</", "  <OutOfPlaneAngle>90</",
                           "  <CollimationVSup>50</", "  <Projection>\n    <GantryAngle>270</", "    <Matrix>\n"}) {
    const std::size_t at = all.find(line, from);
    ASSERT_NE(at, std::string::npos) << line << " is not in its place in\n" << all;
    from = at;
  }
}

TEST(WriteGeometry, StatesConstantsOnceAndDefaultsNever) {
  const std::string text = geometry_xml(varied_geometry(false));
  EXPECT_THAT(text,
              HasSubstr("<?xml version=\"1.0\"?>\n<!DOCTYPE RTKGEOMETRY>\n<RTKThreeDCircularGeometry version=\"3\">\n"
                        "  <SourceToIsocenterDistance>1000.123456789</SourceToIsocenterDistance>\n"));
  const auto count = [&](const std::string& part) {
    int n = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
    return n;
  };
  EXPECT_EQ(count("<SourceToIsocenterDistance>"), 1);
  EXPECT_EQ(count("<SourceOffsetX>-2.5<"), 1);
  EXPECT_EQ(count("<CollimationVSup>40.25<"), 1);
  EXPECT_EQ(count("<CollimationUSup>"), 0);
  EXPECT_EQ(count("<CollimationUInf>"), 5);
  EXPECT_EQ(count("<SourceToDetectorDistance>"), 5);
  EXPECT_EQ(count("<GantryAngle>"), 5);
  EXPECT_EQ(count("<InPlaneAngle>"), 5);
  EXPECT_EQ(count("<Matrix>"), 5);
  EXPECT_THAT(text, HasSubstr("<OutOfPlaneAngle>0.333333333333333<"));
  CircularOptions options{.angles = {0, -1e-14, -90, 360, 725}};
  const std::string plain = geometry_xml(circular_geometry(options));
  for (const char* angle : {">0<", ">270<", ">5<"}) EXPECT_THAT(plain, HasSubstr("<GantryAngle" + std::string(angle)));
  EXPECT_THAT(plain, Not(HasSubstr(">360<")));
  EXPECT_THAT(plain, Not(HasSubstr("Offset")));
  EXPECT_THAT(plain, Not(HasSubstr("Collimation")));
  std::ostringstream stream;
  write_geometry(circular_geometry(options), stream);
  EXPECT_EQ(stream.str(), plain);
  EXPECT_THROW(geometry_xml(Geometry{}), InputError);
}

}  // namespace
}  // namespace halocline::geometry_xml_test
