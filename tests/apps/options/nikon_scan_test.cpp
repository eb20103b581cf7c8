// labels: app device
// A Nikon scan as its file describes it: the volume stands as the object stood, and WhiteLevel is the beam.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "apps/images/image_file.hpp"
#include "tests/support/command_runner.hpp"

namespace halocline::nikon_scan_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr double sid = 100, sdd = 200, pixel = 1.6, white = 50000;
constexpr std::size_t columns = 40, rows = 30, views = 60;

// Centre in the file's own frame (x to the right as the source sees, y up, z towards the source), radius, 1/mm.
struct Ball {
  std::array<double, 3> at;
  double radius, value;
};
constexpr Ball balls[] = {{{2, 4, -3}, 5, 0.05}, {{-5, -3, 4}, 3, 0.08}};

// The line integral to a pixel, after the object has turned by `turn` about y, anticlockwise seen from above being
// positive. Column 0 is on the right, row 0 on top.
double integral(std::size_t column, std::size_t row, double turn) {
  const std::array<double, 3> way{-(static_cast<double>(column) - 0.5 * (columns - 1)) * pixel,
                                  -(static_cast<double>(row) - 0.5 * (rows - 1)) * pixel, -sdd};
  const double length = std::hypot(way[0], way[1], way[2]);
  double sum = 0;
  for (const Ball& ball : balls) {
    const auto& [x, y, z] = ball.at;
    const double c = std::cos(turn), s = std::sin(turn);
    const std::array<double, 3> to{x * c + z * s, y, z * c - x * s - sid};
    const double along = (to[0] * way[0] + to[1] * way[1] + to[2] * way[2]) / length;
    const double beside = to[0] * to[0] + to[1] * to[1] + to[2] * to[2] - along * along;
    sum += 2 * ball.value * std::sqrt(std::max(0.0, ball.radius * ball.radius - beside));
  }
  return sum;
}

class NikonCounts : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_device()) GTEST_SKIP() << "no OpenCL device";
    Grid grid;
    grid.size = {columns, rows, views};
    grid.spacing = {pixel, pixel, 1};
    grid.origin = {-0.5 * (columns - 1) * pixel, -0.5 * (rows - 1) * pixel, 0};
    Volume counts(grid);
    for (std::size_t n = 0; n < views; ++n)
      for (std::size_t row = 0; row < rows; ++row)
        for (std::size_t column = 0; column < columns; ++column)
          counts.at(column, row, n) = static_cast<float>(
              white * std::exp(-integral(column, row, -step * static_cast<double>(n) * std::numbers::pi / 180)));
    const auto image = create_image(f_ / "c.mha", grid, {Component::uint16, {}});
    image->begin();
    image->write(0, counts.voxels.size(), Volume(counts).voxels.data());
    image->commit();
    write_text(f_ / "s.xtekct", text);
    write_text(f_ / "white.xtekct", text + "WhiteLevel=50000\n");
  }
  Ran fdk(const std::string& geometry, const Words& more = {}) const {
    return run(Words{"fdk", "-i", f_ / "c.mha", "--counts", "-g", f_ / geometry, "--size", "21,21,17", "--spacing",
                     "1,1,1", "-o", f_ / "v.mha"} +
               more);
  }
  double at(const Volume& volume, double x, double y, double z) const {
    const auto index = volume.grid.index(x, y, z);
    return volume.at(static_cast<std::size_t>(std::lround(index[0])), static_cast<std::size_t>(std::lround(index[1])),
                     static_cast<std::size_t>(std::lround(index[2])));
  }

  static constexpr double step = 6;
  Folder f_;
  const std::string text =
      "[XTekCT]\nSrcToObject=100\nSrcToDetector=200\nProjections=60\nInitialAngle=0\nAngularStep=6\nDetectorPixelsX="
      "40\n"
      "DetectorPixelsY=30\nDetectorPixelSizeX=1.6\nDetectorPixelSizeY=1.6\n";
};

TEST_F(NikonCounts, StandUprightWithWhiteLevelAsTheBeam) {
  const Ran ran = fdk("white.xtekct");
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out + ran.err, AllOf(HasSubstr("50000"), HasSubstr("WhiteLevel of")));
  const Volume volume = read_image(f_ / "v.mha");
  EXPECT_NEAR(at(volume, 2, 4, -3), 0.05, 0.005);
  EXPECT_NEAR(at(volume, -5, -3, 4), 0.08, 0.008);
  // upside down, mirrored, and where nothing is
  for (const auto& [x, y, z] :
       {std::array{-2.0, -4.0, -3.0}, {5.0, 3.0, 4.0}, {5.0, -3.0, 4.0}, {-5.0, 3.0, 4.0}, {-5.0, -3.0, -4.0}})
    EXPECT_LT(std::min(std::abs(at(volume, x, y, z)), std::abs(at(volume, x, y, z) - 0.05)), 0.01);
  EXPECT_NEAR(at(volume, 5, -3, -4), 0, 0.01);
  EXPECT_NEAR(at(volume, -2, -4, -6), 0, 0.01);
}

TEST_F(NikonCounts, NeedABeamFromSomewhere) {
  const Ran without = fdk("s.xtekct");
  EXPECT_EQ(without.code, 2);
  EXPECT_THAT(without.err, HasSubstr("--flat"));
  const Ran air = fdk("white.xtekct", {"--air", "0,0,2,30"});
  EXPECT_EQ(air.code, 0) << air.err;
  EXPECT_THAT(air.out + air.err, Not(HasSubstr("WhiteLevel")));
  // the other commands that take counts
  EXPECT_EQ(
      run({"slices", "-i", f_ / "c.mha", "--counts", "-g", f_ / "white.xtekct", "--plane", "axial", "-o", f_ / "a.mha"})
          .code,
      0);
  EXPECT_EQ(run({"reconstruct", "-i", f_ / "c.mha", "--counts", "-g", f_ / "white.xtekct", "--method", "sirt",
                 "--iterations", "1", "--size", "21,21,17", "--spacing", "1,1,1", "-o", f_ / "r.mha"})
                .code,
            0);
}

TEST_F(NikonCounts, HaveASenseThatIsShown) {
  const Ran shown = run({"geometry", "show", f_ / "s.xtekct"});
  EXPECT_THAT(shown.out, AllOf(HasSubstr("the source turns anticlockwise, a sample on a turntable clockwise"),
                               HasSubstr("row 0 on top, column 0 on the right")));
  EXPECT_EQ(run({"geometry", "check", f_ / "s.xtekct"}).out.find("in-plane"), std::string::npos);
  ASSERT_EQ(run({"geometry", "circular", "--sid", "100", "--sdd", "200", "--projections", "9", "--arc", "-360", "-o",
                 f_ / "c.xml"})
                .code,
            0);
  EXPECT_THAT(run({"geometry", "show", f_ / "c.xml"}).out,
              AllOf(HasSubstr("the source turns clockwise, a sample on a turntable anticlockwise"),
                    HasSubstr("row 0 below, column 0 on the left")));
}

}  // namespace
}  // namespace halocline::nikon_scan_test
