// labels: app device
// Warnings of `halocline fdk` and `halocline slices` about geometries and projections that look wrong, each once; right
// ones give none.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "algorithms/geometry/geometry_xml.hpp"
#include "apps/images/image_file.hpp"
#include "tests/reference/real_data.hpp"
#include "tests/support/command_runner.hpp"

namespace halocline::fdk_warnings_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class FdkWarnings : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_device()) GTEST_SKIP() << "no OpenCL device";
    circle("g.xml", {});
    project("g.xml", "p.mha", "60");
  }
  void circle(const std::string& name, const Words& more) const {
    done(Words{"geometry", "circular", "--sid", "300", "--projections", "40", "-o", f / name} +
         (more.empty() ? Words{"--sdd", "450"} : more));
  }
  void project(const std::string& geometry, const std::string& name, const std::string& width) const {
    done({"project", "--phantom", "shepp-logan-hc", "--phantom-size", width, "-g", f / geometry, "--detector", "64,8",
          "--pixel", "2,2", "-o", f / name});
  }
  std::string fdk(const std::string& input, const std::string& geometry = "g.xml", const Words& more = {}) const {
    return done(Words{"fdk", "-i", f / input, "-g", f / geometry, "--size", "7,7,4", "--spacing", "5,5,2", "-o",
                      f / "v.mha", "--quiet"} +
                more)
        .err;
  }
  std::string slices(const std::string& input, const Words& more = {}) const {
    return done(Words{"slices", "-i", f / input, "-g", f / "g.xml", "--size", "7,7,4", "--spacing", "5,5,2", "--plane",
                      "axial", "-o", f / "s.mha", "--quiet"} +
                more)
        .err;
  }
  static std::size_t times(const std::string& text, const std::string& part) {
    std::size_t count = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
    return count;
  }
  Folder f;
};

TEST_F(FdkWarnings, NothingIsSaidOfAGoodScan) {
  EXPECT_EQ(fdk("p.mha"), "");
  EXPECT_EQ(fdk("p.mha", "g.xml", {"--halves-out", (f / "a.mha") + "," + (f / "b.mha")}), "");
  EXPECT_EQ(slices("p.mha"), "");
}

TEST_F(FdkWarnings, TooFewViewsAreToldOfWithTheNumberThatWouldDo) {
  const auto fine = [&](const Words& more) {
    return done(Words{"fdk", "-i", f / "p.mha", "-g", f / "g.xml", "-o", f / "v.mha", "--quiet"} + more).err;
  };
  std::string said = fine({"--size", "40,40,4", "--spacing", "1.4,1.4,2"});
  EXPECT_THAT(said, AllOf(HasSubstr("g.xml': 40 different angles are few for 40 voxels"), HasSubstr("about 63 would")));
  EXPECT_EQ(times(said, "warning"), 1u) << said;
  // Warnings about the halves only where the whole has enough views.
  const Words halves{"--halves-out", (f / "a.mha") + "," + (f / "b.mha")};
  EXPECT_EQ(times(fine(Words{"--size", "40,40,4", "--spacing", "1.4,1.4,2"} + halves), "different angles"), 1u);
  said = fine(Words{"--size", "24,24,4", "--spacing", "2,2,2"} + halves);
  EXPECT_THAT(said, AllOf(HasSubstr("each half: 20 different angles"), HasSubstr("about 38 would")));
  EXPECT_EQ(times(said, "warning"), 1u) << said;
}

TEST_F(FdkWarnings, ProjectionsThatAreNoLineIntegralsAreToldOf) {
  Volume negated = read_image(f / "p.mha"), transmissions = negated;
  for (float& value : negated.voxels) value = -value;
  for (float& value : transmissions.voxels) value = std::exp(-value);
  write_image(negated, f / "negated.mha");
  write_image(transmissions, f / "transmissions.mha");
  for (const auto& said : {fdk("negated.mha"), slices("negated.mha")}) {
    EXPECT_THAT(said, AllOf(HasSubstr("negated.mha': most line integrals are negative"), HasSubstr("their sign")));
    EXPECT_EQ(times(said, "warning"), 1u) << said;
  }
  for (const auto& said : {fdk("transmissions.mha"), slices("transmissions.mha")}) {
    EXPECT_THAT(said, HasSubstr("transmissions.mha': the values seem to be transmissions I/I0"));
    EXPECT_EQ(times(said, "warning"), 1u) << said;
  }
  // with the remedy it is the volume of the line integrals
  fdk("p.mha");
  const Volume right = read_image(f / "v.mha");
  EXPECT_EQ(fdk("transmissions.mha", "g.xml", {"--counts", "--air", "0,0,3,8", "--floor", "0.0001"}), "");
  const Volume remedied = read_image(f / "v.mha");
  for (std::size_t n = 0; n < right.voxels.size(); ++n) ASSERT_NEAR(remedied.voxels[n], right.voxels[n], 1e-5);
}

TEST_F(FdkWarnings, RealScansAreToldOfWhereTheyAreTransmissions) {
  SKIP_WITHOUT("cone_cylinder/cylinder_transmission.mha");
  done({"geometry", "circular", "--sid", "71.6364", "--sdd", "619.7902", "--projections", "40", "-o", f / "cone.xml"});
  const auto said = [&](const std::string& file, const std::string& geometry, const std::string& size = "16,16,4") {
    return done({"fdk", "-i", real_data(file), "-g", f / geometry, "--size", size, "--spacing", "1,1,1", "-o",
                 f / "v.mha", "--quiet"})
        .err;
  };
  EXPECT_THAT(said("cone_cylinder/cylinder_transmission.mha", "cone.xml"), HasSubstr("seem to be transmissions"));
  EXPECT_EQ(said("cone_cylinder/cylinder_lineint.mha", "cone.xml"), "");
  done({"geometry", "circular", "--sid", "410.66", "--sdd", "553.74", "--projections", "721", "--arc", "360.5", "-o",
        f / "fan.xml"});
  EXPECT_THAT(said("fan_htc2022/htc_solid_disc_projections.mha", "fan.xml", "16,16,1"),
              Not(HasSubstr("line integral")));
}

TEST_F(FdkWarnings, ADetectorOnTheAxisIsToldOf) {
  circle("virtual.xml", {"--sdd", "300"});
  project("virtual.xml", "virtual.mha", "60");
  const std::string said = fdk("virtual.mha", "virtual.xml");
  EXPECT_THAT(
      said, AllOf(HasSubstr("virtual.xml': the detector stands on the rotation axis"), HasSubstr("virtual detector")));
  EXPECT_EQ(times(said, "warning"), 1u) << said;
}

TEST_F(FdkWarnings, ASourceThatJumpsIsToldOf) {
  Geometry geometry = read_geometry(f / "g.xml");
  geometry.views[11].sid = 330;
  write_text(f / "jump.xml", geometry_xml(geometry));
  const std::string said = fdk("p.mha", "jump.xml");
  EXPECT_THAT(said, HasSubstr("jump.xml': the source to isocentre distance of projection 11 is 330 mm"));
  EXPECT_EQ(times(said, "warning"), 1u) << said;
}

TEST_F(FdkWarnings, AViewThatIsWrongHasItsNumberInTheFileWhateverPartIsTaken) {
  Geometry geometry = read_geometry(f / "g.xml");
  geometry.views[11].sid = 330;
  write_text(f / "jump.xml", geometry_xml(geometry));
  const std::string jump = "jump.xml': the source to isocentre distance of projection 11 is 330 mm";
  for (const std::string views : {"1:39:2", "11:39", "0:39"}) {
    const std::string said = fdk("p.mha", "jump.xml", {"--views", views, "--allow-incomplete-arc"});
    EXPECT_THAT(said, HasSubstr(jump)) << views;
    EXPECT_EQ(times(said, "the median of all views"), 1u) << said;
  }
  EXPECT_EQ(fdk("p.mha", "jump.xml", {"--views", "0:39:2"}), "");  // which leave it out

  geometry = read_geometry(f / "g.xml");
  geometry.views[11].out_of_plane_angle = 12;  // its rays are steep, too
  geometry.views[21].in_plane_angle = 60;
  write_text(f / "steep.xml", geometry_xml(geometry));
  const Words command{"fdk",       "-i",    f / "p.mha", "-g",        f / "steep.xml", "--size", "7,7,4",
                      "--spacing", "5,5,2", "-o",        f / "v.mha", "--views",       "1:39:2"};
  const Ran refused = run(command);
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, HasSubstr("steep.xml': in projection 21 the detector's rows stand at 60 degrees"));
  geometry.views[21].in_plane_angle = 0;
  write_text(f / "steep.xml", geometry_xml(geometry));
  EXPECT_THAT(fdk("p.mha", "steep.xml", {"--views", "1:39:2"}),
              AllOf(HasSubstr("steep.xml': rays of projection 11 meet"),
                    HasSubstr("the out-of-plane angle of projection 11 is 12 degrees")));
}

TEST_F(FdkWarnings, AViewThatIsWrongIsToldOfOnceForAllFrames) {
  Geometry geometry = read_geometry(f / "g.xml");
  Volume projections = read_image(f / "p.mha");
  const std::size_t frame = projections.voxels.size();
  projections.grid.size[2] *= 2;
  projections.voxels.resize(2 * frame);
  std::copy_n(projections.voxels.begin(), frame, projections.voxels.begin() + static_cast<std::ptrdiff_t>(frame));
  write_image(projections, f / "frames.mha");
  const auto views = geometry.views;
  geometry.views.insert(geometry.views.end(), views.begin(), views.end());
  geometry.views[51].sid = 330;
  write_text(f / "frames.xml", geometry_xml(geometry));
  const Words command{"fdk",    "-i",    f / "frames.mha", "-g",     f / "frames.xml",
                      "--size", "7,7,4", "--spacing",      "5,5,2",  "--views-per-frame",
                      "40",     "-o",    f / "v%d.mha",    "--quiet"};
  for (const Words& more : {Words{}, Words{"--views", "1:39:2"}}) {
    const std::string said = done(command + more).err;
    EXPECT_THAT(said, HasSubstr("frames.xml': the source to isocentre distance of projection 51 is 330 mm"));
    EXPECT_EQ(times(said, "warning"), 1u) << said;
  }
  geometry.views[13].sid = 320;  // in the first frame; of both the one that is farther off is reported
  write_text(f / "frames.xml", geometry_xml(geometry));
  EXPECT_EQ(times(done(command).err, "the median of all views"), 1u);
}

TEST_F(FdkWarnings, SlicesTellOfViewsThatOnlyLaterWindowsHave) {
  Geometry geometry = read_geometry(f / "g.xml");
  Volume projections = read_image(f / "p.mha");
  const std::size_t window = projections.voxels.size();
  projections.grid.size[2] *= 2;
  projections.voxels.resize(2 * window);
  std::copy_n(projections.voxels.begin(), window, projections.voxels.begin() + static_cast<std::ptrdiff_t>(window));
  write_image(projections, f / "twice.mha");
  const auto views = geometry.views;
  geometry.views.insert(geometry.views.end(), views.begin(), views.end());
  geometry.views[67].sid = 330;
  write_text(f / "g.xml", geometry_xml(geometry));
  Grid single = projections.grid;
  single.size[2] = 1;
  Volume view(single);
  for (std::size_t n = 0; n < 80; ++n) {
    std::copy_n(projections.voxels.begin() + static_cast<std::ptrdiff_t>(n * single.count()), single.count(),
                view.voxels.begin());
    write_image(view, f / fmt::format("view_{:02}.mha", n));
  }
  const Words windows{"--views", "40", "--step", "20"};
  for (const std::string& said :
       {slices("twice.mha", windows), slices("view_%02d.mha", windows + Words{"--follow", "--wait", "300"})}) {
    EXPECT_THAT(said, HasSubstr("g.xml': the source to isocentre distance of projection 67 is 330 mm"));
    EXPECT_EQ(times(said, "warning"), 1u) << said;
  }
}

TEST_F(FdkWarnings, NothingMeasuredIsToldOf) {
  Volume projections = read_image(f / "p.mha");
  std::fill(projections.voxels.begin(), projections.voxels.end(), 0.0f);
  write_image(projections, f / "zero.mha");
  for (const std::string& said : {fdk("zero.mha"), fdk("zero.mha", "g.xml", {"--views", "0:39"}), slices("zero.mha")}) {
    EXPECT_THAT(said, HasSubstr("zero.mha': all line integrals are 0"));
    EXPECT_EQ(times(said, "warning"), 1u) << said;
  }
}

TEST_F(FdkWarnings, AnObjectBeyondTheEdgeIsToldOfUnlessRowsGoOn) {
  project("g.xml", "wide.mha", "130");  // 85 mm are seen
  for (const std::string& said : {fdk("wide.mha"), slices("wide.mha")}) {
    EXPECT_THAT(said, AllOf(HasSubstr("wide.mha': the object seems to reach over"), HasSubstr("--pad 1")));
    EXPECT_EQ(times(said, "warning"), 1u) << said;
  }
  EXPECT_EQ(fdk("wide.mha", "g.xml", {"--pad", "1"}), "");
  EXPECT_EQ(slices("wide.mha", {"--pad", "1"}), "");
  EXPECT_THAT(fdk("p.mha", "g.xml", {"--crop", "24,0,16,8"}), HasSubstr("--pad 1"));
}

TEST_F(FdkWarnings, AreGivenOnce) {
  circle("displaced.xml", {"--sdd", "450", "--proj-offset-x", "30"});
  project("displaced.xml", "displaced.mha", "60");
  for (const Words& more : {Words{"--halves-out", (f / "a.mha") + "," + (f / "b.mha")},
                            Words{"--variance-out", f / "n.mha", "--photons", "1000"}}) {
    const std::string said = fdk("displaced.mha", "displaced.xml", more);
    EXPECT_EQ(times(said, "Wang"), 1u) << said;
    EXPECT_EQ(times(said, "warning"), 1u) << said;
  }
  // frames, the second of which is empty
  circle("short.xml", {"--sdd", "450", "--arc", "220"});
  Volume projections = read_image(f / "p.mha");
  const std::size_t frame = projections.voxels.size();
  projections.grid.size[2] *= 3;
  projections.voxels.resize(3 * frame, 0.0f);
  std::copy_n(projections.voxels.begin(), frame, projections.voxels.begin() + static_cast<std::ptrdiff_t>(2 * frame));
  write_image(projections, f / "frames.mha");
  const std::string said = done({"fdk", "-i", f / "frames.mha", "-g", f / "short.xml", "--size", "7,7,4", "--spacing",
                                 "5,5,2", "--views-per-frame", "40", "-o", f / "v%d.mha", "--quiet"})
                               .err;
  EXPECT_EQ(times(said, "Parker"), 1u) << said;
  EXPECT_THAT(said, HasSubstr("frames.mha', frame 1: all line integrals are 0"));
  EXPECT_EQ(times(said, "warning"), 2u) << said;
}

}  // namespace
}  // namespace halocline::fdk_warnings_test
