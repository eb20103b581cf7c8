// labels: app device
// fdk of parts of a scan: bitwise identical to the same part made beforehand.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "algorithms/fdk/half_scan.hpp"
#include "algorithms/geometry/geometry_xml.hpp"
#include "algorithms/preprocessing/projection_part.hpp"
#include "apps/images/image_file.hpp"
#include "host/volume/cutout.hpp"
#include "tests/reference/real_data.hpp"
#include "tests/support/command_runner.hpp"

namespace halocline::projection_options_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr std::size_t views = 40;

// Three frames of a small scan, begun at other angles and each brighter than the one before: none is like another.
class ProjectionOptionsTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new Folder;
    if (!has_device()) return;
    const Folder& f = *folder_;
    for (const std::string n : {"0", "1", "2"}) {
      done({"geometry", "circular", "--sid", "500", "--sdd", "800", "--projections", std::to_string(views),
            "--first-angle", std::to_string(7 * std::stoi(n)), "-o", f / ("g" + n + ".xml")});
      done({"project", "--phantom", "shepp-logan-hc", "--phantom-size", "90", "--geometry", f / ("g" + n + ".xml"),
            "--detector", "31,23", "--pixel", "6,7", "-o", f / ("p" + n + ".mha")});
      Volume p = read_image(f / ("p" + n + ".mha"));
      for (float& value : p.voxels) value *= 1 + 0.1f * std::stof(n);
      write_image(p, f / ("p" + n + ".mha"));
    }
    Volume all = read_image(f / "p0.mha");
    Geometry geometry = read_geometry(f / "g0.xml");
    for (const std::string n : {"1", "2"}) {
      const Volume p = read_image(f / ("p" + n + ".mha"));
      all.voxels.insert(all.voxels.end(), p.voxels.begin(), p.voxels.end());
      const Geometry g = read_geometry(f / ("g" + n + ".xml"));
      geometry.views.insert(geometry.views.end(), g.views.begin(), g.views.end());
    }
    all.grid.size[2] = 3 * views;
    write_image(all, f / "all.mha");
    write_text(f / "all.xml", geometry_xml(geometry));
  }
  static void TearDownTestSuite() {
    delete folder_;
    folder_ = nullptr;
  }
  void SetUp() override {
    if (!has_device()) GTEST_SKIP() << "no OpenCL device";
  }

  static std::string path(const std::string& name) { return *folder_ / name; }
  static void expect_done(const Ran& ran) { EXPECT_EQ(ran.code, 0) << ran.err; }
  static Words words(const std::string& input, const std::string& geometry, const std::string& output) {
    return {"fdk",       "-i",      path(input), "--geometry",  path(geometry), "--size",    "17,13,11",
            "--spacing", "4,5,4.5", "--origin",  "-30,-21,-28", "-o",           path(output)};
  }
  static Ran fdk(const std::string& input, const std::string& geometry, const std::string& output,
                 const Words& more = {}) {
    return done(words(input, geometry, output) + more);
  }
  static void refused(const Words& words, const std::vector<std::string>& parts) {
    const auto before = folder_->files();
    halocline::refused(words, parts);
    EXPECT_EQ(folder_->files(), before);
  }
  static void expect_same(const std::string& a, const std::string& b) {
    EXPECT_TRUE(content(path(a)) == content(path(b))) << a << " is not " << b;
  }

  static Folder* folder_;
};
Folder* ProjectionOptionsTest::folder_ = nullptr;

TEST_F(ProjectionOptionsTest, ViewsAreThoseOfTheExtractedStack) {
  const Volume p = read_image(path("p0.mha"));
  const Geometry g = read_geometry(path("g0.xml"));
  struct Case {
    const char* views;
    std::size_t first, last, step;
  };
  // every other view, a short scan, all of them
  for (const Case& c :
       {Case{"1:39:2", 1, 39, 2}, Case{"1:38:2", 1, 38, 2}, Case{"3:36", 3, 36, 1}, {"0:39", 0, 39, 1}}) {
    SCOPED_TRACE(c.views);
    std::vector<std::size_t> chosen;
    Geometry part;
    for (std::size_t n = c.first; n <= c.last; n += c.step) {
      chosen.push_back(n);
      part.views.push_back(g.views[n]);
    }
    write_image(select_views(p, chosen), path("part.mha"));
    write_text(path("part.xml"), geometry_xml(part));
    fdk("part.mha", "part.xml", "expected.mha");
    const Ran ran = fdk("p0.mha", "g0.xml", "found.mha", {"--views", c.views});
    EXPECT_THAT(ran.out, HasSubstr("FDK of " + std::to_string(chosen.size()) + " views"));
    expect_same("found.mha", "expected.mha");
  }
  fdk("p0.mha", "g0.xml", "expected.mha");
  expect_same("found.mha", "expected.mha");  // of 0:39
  refused(words("p0.mha", "g0.xml", "x.mha") + Words{"--views", "0:40"},
          {"--views 0:40", "40 views", "the last is 39"});
  refused(words("p0.mha", "g0.xml", "x.mha") + Words{"--views", "9:3"}, {"--views 9:3", "comes after the last"});
  refused(words("p0.mha", "g0.xml", "x.mha") + Words{"--views", "0:9:0"}, {"step is 0"});
  for (const char* text : {"5", "0-9", "a:b", "0:", "0:9:", "-1:9"})
    refused(words("p0.mha", "g0.xml", "x.mha") + Words{std::string("--views=") + text}, {"FIRST:LAST:STEP"});
  refused(words("p0.mha", "all.xml", "x.mha") + Words{"--views", "0:9"},
          {"p0.mha' has 40 views", "all.xml' has 120", "all projections"});
}

TEST_F(ProjectionOptionsTest, FramesAreThoseOfSeparateRuns) {
  const Words noise{"--photons", "10000"};
  const auto outputs = [&](const std::string& name, const std::string& n) {
    return Words{"--variance-out", path(name + "v" + n + ".mha"), "--halves-out",
                 path(name + "a" + n + ".mha") + "," + path(name + "b" + n + ".mha")} +
           noise;
  };
  for (const std::string n : {"0", "1", "2"})
    fdk("p" + n + ".mha", "g" + n + ".xml", "one" + n + ".mha", outputs("one", n));
  const Ran ran = fdk("all.mha", "all.xml", "frame%d.mha",
                      outputs("frame", "%d") + Words{"--views-per-frame", "40", "--report", path("r.json")});
  EXPECT_THAT(ran.out, HasSubstr("40 views of frame 2"));
  EXPECT_EQ(ran.out.find("\n  on "), ran.out.rfind("\n  on ")) << "devices and times are told once: " << ran.out;
  for (const std::string n : {"0", "1", "2"})
    for (const std::string kind : {"", "v", "a", "b"})
      expect_same("frame" + kind + n + ".mha", "one" + kind + n + ".mha");
  const auto report = nlohmann::json::parse(content(path("r.json")));
  EXPECT_EQ(report["results"]["frames"], 3);
  EXPECT_EQ(report["results"]["views"], 40);
  EXPECT_TRUE(report["runs"].contains("fdk of frame 2")) << report["runs"];

  // one frame's geometry is used for all; and views of each frame
  fdk("p2.mha", "g0.xml", "expected.mha");
  fdk("all.mha", "g0.xml", "same%02d.mha", {"--views-per-frame", "40"});
  expect_same("same02.mha", "expected.mha");
  fdk("p1.mha", "g1.xml", "expected.mha", {"--views", "1:39:2"});
  fdk("all.mha", "all.xml", "half%02d.mha", {"--views-per-frame", "40", "--views", "1:39:2"});
  expect_same("half01.mha", "expected.mha");
  EXPECT_FALSE(std::filesystem::exists(path("half03.mha")));

  const Words frames{"--views-per-frame", "40"};
  refused(words("all.mha", "all.xml", "x.mha") + frames, {"-o", "x.mha' is one name", "frame_%02d.mha"});
  refused(words("all.mha", "all.xml", "x%d.mha") + frames + noise + Words{"--variance-out", path("v.mha")},
          {"--variance-out", "v.mha' is one name"});
  refused(words("all.mha", "all.xml", "x%d.mha") + Words{"--views-per-frame", "50"}, {"120 views", "whole number"});
  refused(words("all.mha", "g0.xml", "x%d.mha") + Words{"--views-per-frame", "60"},
          {"g0.xml' has 40 views", "the 60 of a frame or the 120 of all"});
  const Ran plan = run(words("all.mha", "all.xml", "x%d.mha") + frames + Words{"--dry-run"});
  EXPECT_THAT(plan.out, HasSubstr("each of 3 frames"));
  EXPECT_FALSE(std::filesystem::exists(path("x0.mha")));
}

// The mean of bins, one after the other, straight from the definition.
Volume binned(const Volume& p, std::size_t bu, std::size_t bv) {
  Grid grid = p.grid;
  grid.size = {p.grid.size[0] / bu, p.grid.size[1] / bv, p.grid.size[2]};
  grid.origin = p.grid.world((static_cast<double>(bu) - 1) / 2, (static_cast<double>(bv) - 1) / 2, 0);
  grid.spacing[0] *= static_cast<double>(bu);
  grid.spacing[1] *= static_cast<double>(bv);
  Volume out(grid);
  for (std::size_t k = 0; k < grid.size[2]; ++k)
    for (std::size_t j = 0; j < grid.size[1]; ++j)
      for (std::size_t i = 0; i < grid.size[0]; ++i) {
        double sum = 0;
        for (std::size_t b = 0; b < bv; ++b)
          for (std::size_t a = 0; a < bu; ++a) sum += p.at(bu * i + a, bv * j + b, k);
        out.at(i, j, k) = static_cast<float>(sum / static_cast<double>(bu * bv));
      }
  return out;
}

TEST_F(ProjectionOptionsTest, BinningIsThatOfBinningBefore) {
  const Volume p = read_image(path("p0.mha"));
  const auto expect = [&](const std::string& bin, std::size_t u, std::size_t v) {
    SCOPED_TRACE(bin);
    write_image(binned(p, u, v), path("part.mha"));
    fdk("part.mha", "g0.xml", "expected.mha");
    fdk("p0.mha", "g0.xml", "found.mha", {"--bin", bin});
    expect_same("found.mha", "expected.mha");
  };
  expect("2", 2, 2);  // 31 and 23 are odd: a column and a row are left out
  expect("3,1", 3, 1);
  expect("1,4", 1, 4);
  // four pixels have four times the photons, and twice the electronic noise, which adds up as squares
  write_image(binned(p, 2, 2), path("part.mha"));
  fdk("part.mha", "g0.xml", "mu.mha",
      {"--variance-out", path("expected.mha"), "--photons", "4000", "--electronic", "6"});
  fdk("p0.mha", "g0.xml", "mu.mha",
      {"--bin", "2", "--variance-out", path("found.mha"), "--photons", "1000", "--electronic", "3"});
  expect_same("found.mha", "expected.mha");
  refused(words("p0.mha", "g0.xml", "x.mha") + Words{"--bin", "1,24"}, {"--bin", "24 rows", "there are 23"});
  refused(words("p0.mha", "g0.xml", "x.mha") + Words{"--bin", "0"}, {"--bin", "at least 1"});
  refused(words("p0.mha", "g0.xml", "x.mha") + Words{"--bin", "1,2,3"}, {"--bin", "U[,V]"});

  // where the pixels go: of a plane through them, the mean of a bin is its value at the bin's centre
  Grid grid{.size = {7, 5, 2}, .spacing = {0.5, 2, 1}, .origin = {-3, 11, 0}};
  grid.direction = {1, 0, 0, 0, -1, 0, 0, 0, -1};  // rows counted downwards
  Volume plane(grid);
  for (std::size_t k = 0; k < 2; ++k)
    for (std::size_t j = 0; j < 5; ++j)
      for (std::size_t i = 0; i < 7; ++i) {
        const auto at = grid.world(static_cast<double>(i), static_cast<double>(j), static_cast<double>(k));
        plane.at(i, j, k) = static_cast<float>(at[0] + 4 * at[1] + 100 * static_cast<double>(k));
      }
  ProjectionPart part{.views = {1, 0}, .first = {1, 1}, .size = {6, 3}, .bin = {2, 3}};
  const Volume out = take_part(MemorySource(plane), part);
  ASSERT_EQ(out.grid.size, (std::array<std::size_t, 3>{3, 1, 2}));
  EXPECT_EQ(out.grid.spacing, (std::array<double, 3>{1, 6, 1}));
  for (std::size_t k = 0; k < 2; ++k)
    for (std::size_t i = 0; i < 3; ++i) {
      const auto at = out.grid.world(static_cast<double>(i), 0, 0);
      EXPECT_FLOAT_EQ(out.at(i, 0, k), static_cast<float>(at[0] + 4 * at[1] + (k == 0 ? 100 : 0)));
    }
}

TEST_F(ProjectionOptionsTest, CroppingIsThatOfCroppingBefore) {
  const Volume p = read_image(path("p0.mha"));
  // about the middle, and a window from which the long side reaches farther than the short one: a displaced detector
  for (const auto& [crop, first, size, displaced] :
       {std::tuple{"2,3,27,15", std::array<std::size_t, 3>{2, 3, 0}, std::array<std::size_t, 3>{27, 15, views}, false},
        std::tuple{"9,0,22,23", std::array<std::size_t, 3>{9, 0, 0}, std::array<std::size_t, 3>{22, 23, views},
                   true}}) {
    SCOPED_TRACE(crop);
    write_image(cut_out(p, Cutout{first, size}), path("part.mha"));
    fdk("part.mha", "g0.xml", "expected.mha");
    const Ran ran = fdk("p0.mha", "g0.xml", "found.mha", {"--crop", crop});
    expect_same("found.mha", "expected.mha");
    EXPECT_EQ(ran.err.find("displaced") != std::string::npos, displaced) << ran.err;
  }
  // cropped, then binned
  write_image(binned(cut_out(p, Cutout{{2, 3, 0}, {27, 15, views}}), 3, 2), path("part.mha"));
  fdk("part.mha", "g0.xml", "expected.mha");
  fdk("p0.mha", "g0.xml", "found.mha", {"--crop", "2,3,27,15", "--bin", "3,2"});
  expect_same("found.mha", "expected.mha");
  refused(words("p0.mha", "g0.xml", "x.mha") + Words{"--crop", "5,0,27,23"},
          {"--crop 5,0,27,23", "27 columns from 5 on"});
  refused(words("p0.mha", "g0.xml", "x.mha") + Words{"--crop", "0,0,31,0"}, {"--crop", "0 rows"});
  refused(words("p0.mha", "g0.xml", "x.mha") + Words{"--crop", "0,0,31"}, {"--crop", "U0,V0,NU,NV"});
}

TEST_F(ProjectionOptionsTest, PixelsThatTheFileDoesNotPlace) {
  Volume p = read_image(path("p0.mha"));
  p.grid.spacing = {1, 1, 1};
  p.grid.origin = {0, 0, 0};
  write_image(p, path("unplaced.mha"));
  fdk("p0.mha", "g0.xml", "expected.mha");
  fdk("unplaced.mha", "g0.xml", "found.mha", {"--pixel", "6,7"});  // centred, as p0
  expect_same("found.mha", "expected.mha");
  p.grid.spacing = {6, 7, 1};
  p.grid.origin = {-75, -80, 0};
  write_image(p, path("aside.mha"));
  fdk("aside.mha", "g0.xml", "expected.mha", {"--crop", "3,2,20,20"});
  fdk("unplaced.mha", "g0.xml", "found.mha", {"--pixel", "6,7", "--detector-origin", "-75,-80", "--crop", "3,2,20,20"});
  expect_same("found.mha", "expected.mha");
}

// Every command that reads projections: refused without --pixel, as TIFF files keep no places; the same with it as from
// a file that keeps them.
TEST_F(ProjectionOptionsTest, TiffFilesNeedTheirPixels) {
#ifndef HALOCLINE_WITH_ITK
  GTEST_SKIP() << "this build is without ITK, which reads TIFF";
#endif
  const Volume p = read_image(path("p0.mha"));
  Volume counts = p;
  for (float& value : counts.voxels) value = std::round(10000 * std::exp(-value));
  for (const std::string end : {".mha", ".tif"}) {
    write_image(p, path("p" + end));
    write_image(counts, path("c" + end));
  }
  const std::string geometry = path("g0.xml");
  const Words grid{"--size", "17,13,11", "--spacing", "4,5,4.5"};
  const auto commands = [&](const std::string& end, const std::string& output) {
    return std::vector<Words>{
        words("p" + end, "g0.xml", output + ".mha"),
        Words{"backproject", "-i", path("p" + end), "-g", geometry, "-o", path(output + ".mha")} + grid,
        Words{"noise", "-i", path("p" + end), "--photons", "1000", "-o", path(output + ".mha")},
        Words{"counts", "-i", path("c" + end), "--air", "0,0,2,23", "-o", path(output + ".mha")},
        Words{"geometry", "find-axis", "-i", path("p" + end), "-g", geometry, "--method", "correlation", "-o",
              path(output + ".xml")},
        Words{"geometry", "check", geometry, "-i", path("p" + end)} + grid,
        Words{"geometry", "show", geometry, "-i", path("p" + end)} + grid};
  };
  const auto from_tiff = commands(".tif", "found"), expected = commands(".mha", "expected");
  for (std::size_t n = 0; n < from_tiff.size(); ++n) {
    refused(from_tiff[n], {from_tiff[n][0] == "counts" ? "c.tif" : "p.tif", "--pixel DU,DV"});
    const Ran ran = run(from_tiff[n] + Words{"--pixel", "6,7"}), other = run(expected[n]);
    expect_done(ran);
    expect_done(other);
    if (expected[n][0] != "geometry") {
      expect_same("found.mha", "expected.mha");
      std::filesystem::remove(path("found.mha"));
    } else if (expected[n][1] == "find-axis") {
      // which notes, for a TIFF file, the pixels that the file does not say
      std::string found = content(path("found.xml"));
      const auto note = found.find("  <?halocline-detector");
      ASSERT_NE(note, std::string::npos);
      found.erase(note, found.find('\n', note) + 1 - note);
      EXPECT_EQ(found, content(path("expected.xml")));
    } else {
      EXPECT_EQ(ran.out, other.out) << expected[n][1];
    }
  }
}

TEST_F(ProjectionOptionsTest, TiffVolumesTellWhichGridIsTaken) {
#ifndef HALOCLINE_WITH_ITK
  GTEST_SKIP() << "this build is without ITK, which reads TIFF";
#endif
  write_image(Volume(default_grid({17, 13, 11}, {4, 5, 4.5}), 0.02f), path("v.tif"));
  write_image(read_image(path("p0.mha")), path("p.tif"));
  const std::string geometry = path("g0.xml"),
                    lost = "TIFF keeps neither origin nor direction nor slice spacing; taken";
  const Words grid{"--size", "17,13,11", "--spacing", "4,5,4.5"};
  const auto warnings = [&](const Words& words) {
    const Ran ran = run(words + Words{"--dry-run"});
    expect_done(ran);
    std::size_t count = 0;
    for (auto at = ran.err.find(lost); at != std::string::npos; at = ran.err.find(lost, at + 1)) ++count;
    if (count > 0) {
      EXPECT_THAT(ran.err, AllOf(HasSubstr("v.tif': TIFF"), HasSubstr(" x 1 mm, origin 0, 0, 0 mm"),
                                 HasSubstr("direction 1 0 0 0 1 0 0 0 1"), HasSubstr(".mha, .nrrd or .nii")));
    }
    return count;
  };
  const std::string v = path("v.tif"), p0 = path("p0.mha"), p = path("p.tif"), out = path("x.mha");
  EXPECT_EQ(warnings({"project", "-i", v, "-g", geometry, "--detector", "31,23", "--pixel", "6,7", "-o", out}), 1u);
  EXPECT_EQ(warnings({"denoise", "-i", v, "--method", "tvgd", "-o", out}), 1u);
  EXPECT_EQ(warnings({"denoise", "-i", v, "--method", "tvgd", "--init", v, "-o", out}), 1u);
  EXPECT_EQ(warnings({"fdk", "-i", p0, "-g", geometry, "--like", v, "-o", out}), 1u);
  EXPECT_EQ(warnings({"backproject", "-i", p0, "-g", geometry, "--like", v, "-o", out}), 1u);
  EXPECT_EQ(warnings(Words{"backproject", "-i", p, "--pixel", "6,7", "-g", geometry, "-o", out} + grid), 0u);
  EXPECT_EQ(warnings({"counts", "-i", p, "--flats", p, "--pixel", "6,7", "-o", out}), 0u);
}

TEST_F(ProjectionOptionsTest, HounsfieldUnits) {
  const double water = 0.0213;
  const Words noise{"--photons", "10000"};
  fdk("p0.mha", "g0.xml", "mu.mha", noise + Words{"--variance-out", path("mu-v.mha")});
  const Ran ran = fdk("p0.mha", "g0.xml", "hu.mha",
                      noise + Words{"--variance-out", path("hu-v.mha"), "--hu", "0.0213", "--report", path("r.json")});
  EXPECT_THAT(ran.out, HasSubstr("HU with water at 0.0213/mm"));
  const auto results = nlohmann::json::parse(content(path("r.json")))["results"];
  EXPECT_EQ(results["water_per_mm"], water);
  EXPECT_EQ(results["unit"], "HU");
  const Volume mu = read_image(path("mu.mha")), hu = read_image(path("hu.mha"));
  const Volume mu_v = read_image(path("mu-v.mha")), hu_v = read_image(path("hu-v.mha"));
  for (std::size_t n = 0; n < mu.voxels.size(); ++n) {
    ASSERT_FLOAT_EQ(hu.voxels[n], static_cast<float>(1000 * (mu.voxels[n] - water) / water));
    ASSERT_FLOAT_EQ(hu_v.voxels[n], static_cast<float>(mu_v.voxels[n] * 1e6 / (water * water)));
  }
  // of nothing, -1000; of projections that make water somewhere, 0 there: scale them so that a voxel becomes water
  Volume p = read_image(path("p0.mha"));
  write_image(Volume(p.grid, 0), path("air.mha"));
  fdk("air.mha", "g0.xml", "air-hu.mha", {"--hu", "0.0213"});
  for (const float value : read_image(path("air-hu.mha")).voxels) ASSERT_EQ(value, -1000);
  const float inside = mu.at(8, 6, 5);
  ASSERT_GT(inside, 0);
  const Ran exact = fdk("p0.mha", "g0.xml", "water-hu.mha", {"--hu", fmt::format("{:.9g}", inside)});
  // nine digits give the float back, but for half a unit in its last place
  EXPECT_NEAR(read_image(path("water-hu.mha")).at(8, 6, 5), 0, 1000 * 0x1p-24);

  fdk("p0.mha", "g0.xml", "int.mha", {"--hu", "0.0213", "--output-type", "int16", "--report", path("r.json")});
  EXPECT_EQ(read_image_info(path("int.mha")).component, "int16");
  EXPECT_EQ(nlohmann::json::parse(content(path("r.json")))["results"]["output"]["clamped"], 0);
  const Volume whole = read_image(path("int.mha"));
  for (std::size_t n = 0; n < hu.voxels.size(); ++n) ASSERT_EQ(whole.voxels[n], std::nearbyint(hu.voxels[n]));
  const Ran clamped = fdk("p0.mha", "g0.xml", "int.mha", {"--hu", "0.0213", "--output-type", "uint8"});
  EXPECT_THAT(clamped.err, AllOf(HasSubstr("voxels lay beyond what uint8 can hold"), HasSubstr("float32")));
  refused(words("p0.mha", "g0.xml", "x.mha") + Words{"--output-type", "int16"}, {"--output-type int16", "--hu WATER"});
  refused(words("p0.mha", "g0.xml", "x.mha") + Words{"--hu", "0"}, {"--hu", "positive"});
}

TEST_F(ProjectionOptionsTest, VolumesOutsideTheFieldOfViewAreToldOf) {
  const std::string warning = "the volume reaches outside the field of view";
  const auto wide = [&](const std::string& spacing) {
    const Ran ran = run({"fdk", "-i", path("p0.mha"), "--geometry", path("g0.xml"), "--size", "20,20,10", "--spacing",
                         spacing, "-o", path("wide.mha"), "--report", path("r.json")});
    expect_done(ran);
    return ran;
  };
  // the detector sees a cylinder of about 500/800 * 93 mm round the axis
  EXPECT_THAT(wide("2,2,2").err, Not(HasSubstr(warning)));
  EXPECT_EQ(nlohmann::json::parse(content(path("r.json")))["results"]["coverage"]["every_view"], 1);
  const Ran ran = wide("8,8,2");
  const double seen = nlohmann::json::parse(content(path("r.json")))["results"]["coverage"]["every_view"];
  // pi r^2 over the square's area, r = 93 / sqrt(800^2 + 93^2) * 500, but for the grid's steps
  const double r = 93 / std::hypot(800, 93) * 500;
  EXPECT_NEAR(seen, 3.14159 * r * r / (160 * 160), 0.03);
  EXPECT_THAT(ran.err, AllOf(HasSubstr(warning), HasSubstr(fmt::format("{:.1f} % of it", 100 * seen))));
  refused({"fdk", "-i", path("p0.mha"), "--geometry", path("g0.xml"), "--size", "20,20,10", "--spacing", "1,1,1",
           "--origin", "250,0,0", "-o", path("wide.mha")},
          {"no part of the volume is seen in as many as half of the views", "--origin"});
}

TEST_F(ProjectionOptionsTest, FramesKeepTheirTypeThroughDenoise) {
  fdk("all.mha", "all.xml", "t%d.mha", {"--views-per-frame", "40", "--hu", "0.02", "--output-type", "int16"});
  const Words denoise{"denoise",  "-i",    path("t0.mha"),  "-i", path("t1.mha"), "-i",  path("t2.mha"),
                      "--method", "pdu4d", "--time-weight", "1",  "--alpha",      "0.02"};
  done(denoise + Words{"-o", path("d%d.mha")});
  done(denoise + Words{"-o", path("i%d.mha"), "--output-type", "same", "--report", path("r.json")});
  done(denoise + Words{"-o", path("s%d.mha"), "--output-type", "uint8", "--rescale"});
  EXPECT_EQ(nlohmann::json::parse(content(path("r.json")))["results"]["output"]["component"], "int16");
  Scaling scaling;
  for (const std::string n : {"0", "1", "2"}) {
    const Volume exact = read_image(path("d" + n + ".mha")), whole = read_image(path("i" + n + ".mha")),
                 spread = read_image(path("s" + n + ".mha"));
    const ImageInfo info = read_image_info(path("s" + n + ".mha"));
    if (n == "0") scaling = info.scaling;
    EXPECT_EQ(info.scaling, scaling);  // one for all frames
    EXPECT_EQ(read_image_info(path("i" + n + ".mha")).component, "int16");
    for (std::size_t k = 0; k < exact.voxels.size(); ++k) {
      ASSERT_EQ(whole.voxels[k], std::nearbyint(exact.voxels[k]));
      ASSERT_NEAR(spread.voxels[k], exact.voxels[k], 0.501 * scaling.slope);
    }
  }
}

TEST(RealFrames, TheDynamicGelInOneCommand) {
  SKIP_WITHOUT("fan_gel_dynamic/gel_17x72_projections.mha");
  if (!has_device()) GTEST_SKIP() << "no OpenCL device";
  const Folder f;
  const std::string stack = real_data("fan_gel_dynamic/gel_17x72_projections.mha");
  ASSERT_EQ(
      run({"geometry", "circular", "--sid", "99.9995", "--sdd", "299.99926", "--projections", "72", "-o", f / "g.xml"})
          .code,
      0);
  const Words grid{"--geometry", f / "g.xml", "--size", "128,128,1", "--spacing", "0.26667,0.26667,0.26667"};
  done(Words{"fdk", "-i", stack, "--views-per-frame", "72", "-o", f / "gel_%02d.mha"} + grid);
  for (int n = 0; n < 17; ++n) EXPECT_TRUE(std::filesystem::exists(f / fmt::format("gel_{:02}.mha", n))) << n;
  EXPECT_FALSE(std::filesystem::exists(f / "gel_17.mha"));
  std::vector<std::size_t> chosen;
  for (std::size_t view = 10 * 72; view < 11 * 72; ++view) chosen.push_back(view);
  write_image(select_views(read_image(stack), chosen), f / "p.mha");
  ASSERT_EQ(run(Words{"fdk", "-i", f / "p.mha", "-o", f / "alone.mha"} + grid).code, 0);
  EXPECT_TRUE(content(f / "alone.mha") == content(f / "gel_10.mha"));
  EXPECT_FALSE(content(f / "gel_00.mha") == content(f / "gel_10.mha"));
}

}  // namespace
}  // namespace halocline::projection_options_test
