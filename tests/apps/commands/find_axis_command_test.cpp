// labels: app device nightly
// geometry find-axis on half a turn of objects that reach over the detector, in noise, of displaced and tilted
// detectors, and where its measures disagree.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <random>

#include "algorithms/geometry/geometry_xml.hpp"
#include "apps/images/image_file.hpp"
#include "tests/reference/real_data.hpp"
#include "tests/support/command_runner.hpp"

namespace halocline::find_axis_command_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class FindAxisCommand : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_device()) GTEST_SKIP() << "no OpenCL device";
  }
  /// p.mha: half a turn of 180 views of 256 x 2 pixels of 1 mm; the axis at column 127.5 - offset, while g.xml has it
  /// in the middle.
  void scan(const std::string& phantom, int size, double offset) {
    const Words circular{"geometry", "circular", "--sid", "500", "--sdd", "0", "--projections", "180", "--arc", "180"};
    ASSERT_EQ(run(circular + Words{"--proj-offset-x", fmt::format("{}", offset), "-o", f / "true.xml"}).code, 0);
    ASSERT_EQ(run(circular + Words{"-o", f / "g.xml"}).code, 0);
    done({"project", "--phantom", phantom, "--phantom-size", fmt::format("{}", size), "--detector", "256,2", "--pixel",
          "1,1", "-g", f / "true.xml", "-o", f / "p.mha"});
  }
  Ran find(const Words& more = {}) const {
    return run(Words{"geometry", "find-axis", "-i", f / "p.mha", "-g", f / "g.xml", "--report", f / "r.json"} + more);
  }
  nlohmann::json results() const { return nlohmann::json::parse(content(f / "r.json")).at("results"); }
  Folder f;
};

TEST_F(FindAxisCommand, IsRightWhereTheObjectReachesOverBothEdges) {
  for (const auto& [phantom, size, offset] :
       {std::tuple{"shepp-logan-hc", 500, 5.3}, {"shepp-logan-hc", 420, -9.6}, {"blade", 600, -2.7}}) {
    scan(phantom, size, offset);
    const Ran ran = find({"-o", f / "found.xml"});
    ASSERT_EQ(ran.code, 0) << ran.err;
    EXPECT_NEAR(results().at("column").get<double>(), 127.5 - offset, 0.5) << phantom;
    EXPECT_NEAR(read_geometry(f / "found.xml").views[9].projection_offset_x, offset, 0.5) << phantom;
    EXPECT_THAT(ran.err, HasSubstr("reaches over the detector's edge"));
    EXPECT_FALSE(results().contains("sharpness"));
    ASSERT_EQ(find({"--bin", "2,1"}).code, 0);
    EXPECT_NEAR(results().at("column").get<double>(), 127.5 - offset, 0.5) << phantom;
  }
}

TEST_F(FindAxisCommand, LooksThroughTheRangeThatIsAskedFor) {
  scan("shepp-logan-hc", 500, -33.4);
  EXPECT_THAT(find({"--range", "20", "-o", f / "x.xml"}).err, HasSubstr("end of the range"));
  ASSERT_EQ(find({"--range", "50"}).code, 0);
  EXPECT_NEAR(results().at("column").get<double>(), 127.5 + 33.4, 0.5);
  // sharpness, too, wherever opposite views found the axis
  scan("shepp-logan-hc", 180, 0);
  Volume stack = read_image(f / "p.mha");
  for (std::size_t row = 0; row < 2; ++row)  // the last view, 16 columns too far: the pair's axis moves by half of that
    for (std::size_t n = 255; n >= 16; --n) stack.at(n, row, 179) = stack.at(n - 16, row, 179);
  write_image(stack, f / "p.mha");
  find({"--range", "24"});
  EXPECT_NEAR(results().at("sharpness").at("column").get<double>(), 127.5, 0.5);
  EXPECT_GT(std::abs(results().at("correlation").at("column").get<double>() - 127.5), 6);
}

TEST_F(FindAxisCommand, WritesNothingWhereMeasuresDisagreeUnlessForced) {
  scan("shepp-logan-hc", 180, 4.3);
  Volume stack = read_image(f / "p.mha");
  for (std::size_t row = 0; row < 2; ++row)
    for (std::size_t n = 255; n >= 12; --n) stack.at(n, row, 179) = stack.at(n - 12, row, 179);
  write_image(stack, f / "p.mha");
  const Ran refused = find({"-o", f / "found.xml"});
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, AllOf(HasSubstr("found.xml' was not written, for the measures disagree"),
                                 HasSubstr("by sharpness by"), HasSubstr("--method"), HasSubstr("--force")));
  EXPECT_FALSE(std::filesystem::exists(f / "found.xml"));
  EXPECT_FALSE(results().at("agreed").get<bool>());
  EXPECT_EQ(find().code, 0);  // a warning
  const Ran forced = find({"-o", f / "found.xml", "--force"});
  ASSERT_EQ(forced.code, 0) << forced.err;
  EXPECT_TRUE(std::filesystem::exists(f / "found.xml"));
  ASSERT_EQ(find({"-o", f / "found.xml", "--method", "sharpness"}).code, 0);
  EXPECT_NEAR(read_geometry(f / "found.xml").views[0].projection_offset_x, 4.3, 0.5);
}

TEST_F(FindAxisCommand, WritesNoAxisThatIsUncertainUnlessForced) {
  scan("shepp-logan-hc", 500, 5.3);
  Volume stack = read_image(f / "p.mha");
  std::mt19937 random(1);
  const float greatest = *std::max_element(stack.voxels.begin(), stack.voxels.end());
  std::normal_distribution<float> noise(0, 0.2f * greatest);
  for (float& value : stack.voxels) value += noise(random);
  write_image(stack, f / "p.mha");
  const Ran refused = find({"-o", f / "found.xml"});
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, AllOf(HasSubstr("found.xml' was not written"), HasSubstr("--force")));
  EXPECT_FALSE(std::filesystem::exists(f / "found.xml"));
  EXPECT_EQ(find({"-o", f / "found.xml", "--force"}).code, 0);
}

TEST_F(FindAxisCommand, SaysNothingOfEdgesThatTheObjectDoesNotReach) {
  scan("shepp-logan-hc", 180, 4.3);
  const Ran ran = find({"-o", f / "found.xml"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.err, Not(HasSubstr("edge")));
  EXPECT_NEAR(read_geometry(f / "found.xml").views[0].projection_offset_x, 4.3, 0.1);
  EXPECT_EQ(results().at("method"), "sharpness");
}

TEST_F(FindAxisCommand, TellsAndWritesTheTilt) {
  const Words circular{"geometry", "circular", "--sid", "500", "--sdd", "0", "--projections", "60"};
  done(circular + Words{"--proj-offset-x", "4", "--proj-offset-y", "15", "--in-plane", "-0.7", "-o", f / "true.xml"});
  done(circular + Words{"--proj-offset-y", "15", "-o", f / "believed.xml"});
  const auto project = [&](const std::string& rows) {
    done({"project", "--phantom", "blade", "--phantom-size", "80", "--detector", "240," + rows, "--pixel", "0.55,0.55",
          "-g", f / "true.xml", "-o", f / "p.mha"});
  };
  const auto find = [&](const std::string& method) {
    return done({"geometry", "find-axis", "-i", f / "p.mha", "-g", f / "believed.xml", "--method", method, "-o",
                 f / "found.xml", "--report", f / "r.json"});
  };
  const auto tilt = [&] { return nlohmann::json::parse(content(f / "r.json")).at("results").at("tilt"); };
  project("180");
  for (const std::string method : {"correlation", "sharpness"}) {
    const Ran ran = find(method);
    expect_contains(ran.out,
                    {"detector tilt about the beam: -0.", "degrees (in-plane angle)\n", "the detector turned by -0."});
    const Geometry found = read_geometry(f / "found.xml");
    EXPECT_NEAR(std::remainder(found.views[7].in_plane_angle, 360), -0.7, 0.1);
    EXPECT_NEAR(found.views[7].projection_offset_x, 4, method == "sharpness" ? 0.275 : 0.055);
    EXPECT_TRUE(tilt().at("significant").get<bool>());
    EXPECT_NEAR(tilt().at("in_plane_degrees").get<double>(), -0.7, 0.1);
  }
  project("1");
  expect_contains(find("correlation").out, {"cannot be told, as that takes 3 detector rows, and there are 1"});
  EXPECT_TRUE(tilt().contains("unknown"));
  EXPECT_EQ(read_geometry(f / "found.xml").views[7].in_plane_angle, 0);
}

// A full turn with a displaced detector sees every ray once or twice: sharpness then goes astray.
TEST_F(FindAxisCommand, ByBothMethodsIsRightForADisplacedDetector) {
  const Words circular{"geometry",      "circular", "--sid",           "300", "--sdd", "600",
                       "--projections", "240",      "--proj-offset-x", "90"};
  done(circular + Words{"-o", f / "displaced.xml"});
  done({"project", "--phantom", "shepp-logan-hc", "--phantom-size", "60", "--detector", "256,8", "--pixel", "1.1,1.1",
        "-g", f / "displaced.xml", "-o", f / "p.mha"});
  const Ran ran = done({"geometry", "find-axis", "-i", f / "p.mha", "-g", f / "displaced.xml", "-o", f / "found.xml"});
  EXPECT_NEAR(read_geometry(f / "found.xml").views[0].projection_offset_x, 90, 1.1);
  expect_contains(ran.err, {"pixels; the axis is that by correlation"});

  // and by a part of a pixel where the two nearly agree
  done({"geometry", "circular", "--sid", "300", "--sdd", "600", "--projections", "240", "--proj-offset-x", "30", "-o",
        f / "displaced.xml"});
  done({"project", "--phantom", "two-balls", "--phantom-size", "60", "--detector", "128,8", "--pixel", "2,2", "-g",
        f / "displaced.xml", "-o", f / "p.mha"});
  done({"geometry", "find-axis", "-i", f / "p.mha", "-g", f / "displaced.xml", "-o", f / "found.xml"});
  EXPECT_NEAR(read_geometry(f / "found.xml").views[0].projection_offset_x, 30, 0.1);
}

// tomopy's test scan, from what the detector counted: half a turn, axis at column 296.
TEST_F(FindAxisCommand, OfAMeasuredToothFromItsCounts) {
  SKIP_WITHOUT("parallel_tooth/tooth_counts.mha");
  std::string angles;
  for (int n = 0; n < 181; ++n) angles += std::to_string(n * 180.0 / 181) + "\n";
  write_text(f / "angles.txt", angles);
  done({"geometry", "circular", "--sid", "1000", "--sdd", "0", "--angles", f / "angles.txt", "-o", f / "tooth.xml"});
  const auto data = [](const std::string& name) { return real_data("parallel_tooth/tooth_" + name + ".mha"); };
  const Ran ran = done({"geometry", "find-axis", "-i", data("counts"), "--counts", "--flat", data("flats"), "--dark",
                        data("darks"), "-g", f / "tooth.xml", "--detector-origin", "-300,0", "--range", "12",
                        "--report", f / "r.json"});  // as if it were at column 300
  EXPECT_NEAR(nlohmann::json::parse(content(f / "r.json")).at("results").at("column").get<double>(), 296, 0.5);
  expect_contains(ran.out, {"0 detector pixels are bad"});
  EXPECT_EQ(ran.err.find("warning"), std::string::npos) << ran.err;
}

}  // namespace
}  // namespace halocline::find_axis_command_test
