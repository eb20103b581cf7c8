// labels: app error
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/mount.h>
#include <sys/wait.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "algorithms/geometry/geometry_xml.hpp"
#include "apps/images/image_file.hpp"
#include "tests/support/command_runner.hpp"
#include "tests/support/sanitized.hpp"

namespace halocline::bad_input_test {
namespace {

Grid cube(std::size_t n) {
  return {.size = {n, n, n}};
}

class BadInput : public testing::Test {
 protected:
  void SetUp() override {
    Volume volume = Volume(default_grid({12, 12, 12}, {4, 4, 4}));
    for (std::size_t n = 0; n < volume.voxels.size(); ++n)
      volume.voxels[n] = 0.02f + 0.001f * static_cast<float>(n * 7919 % 13);
    write_image(volume, f / "v.mha");
    write_image(Volume(volume.grid, 1.0f), f / "w.mha");
    Grid stack{.size = {24, 20, 36}, .spacing = {4, 4, 1}, .origin = {-46, -38, 0}};
    write_image(Volume(stack, 0.5f), f / "p.mha");
    ASSERT_EQ(run(circular("36", "g.xml")).code, 0);
  }
  Words circular(const std::string& views, const std::string& name) const {
    return {"geometry", "circular", "--sid", "500", "--sdd", "750", "--projections", views, "-o", f / name};
  }
  Words fdk(const std::string& projections = "p.mha", const std::string& geometry = "g.xml") const {
    return {"fdk", "-i", f / projections, "--geometry", f / geometry, "-o", f / "out.mha"};
  }
  Words denoise(const std::string& volume = "v.mha", const std::string& method = "pdu") const {
    return {"denoise", "-i", f / volume, "--method", method, "-o", f / "out.mha"};
  }
  Words phantom() const { return {"phantom", "--type", "two-balls", "-o", f / "out.mha"}; }

  // Refused with `code`, a message that holds all `parts`, and no file more or less than before.
  void expect_refused(const Words& words, const std::vector<std::string>& parts, int code = 2) const {
    const auto before = f.files();
    const Ran ran = run(words);
    const std::string line = fmt::format("{}\n{}", fmt::join(words, " "), ran.err);
    EXPECT_EQ(ran.code, code) << line;
    EXPECT_EQ(ran.err.find("halocline " + words[0]), 0u) << line;
    EXPECT_NE(ran.err.find(": error: "), std::string::npos) << line;
    expect_contains(ran.err, parts);
    EXPECT_EQ(f.files(), before) << line;
  }

  Folder f;
  const Words grid{"--size", "12,12,12", "--spacing", "4,4,4"};
};

class BadInputOnDevice : public BadInput {
 protected:
  void SetUp() override {
    if (!has_device()) GTEST_SKIP() << "no OpenCL device";
    BadInput::SetUp();
  }
};

TEST_F(BadInput, MissingFiles) {
  const std::string none = f / "none.mha";
  for (const auto& words :
       {fdk("none.mha") + grid, denoise("none.mha"), Words{"metrics", "-i", none},
        Words{"metrics", "-i", f / "v.mha", "--reference", none}, Words{"preview", "-i", none, "-o", f / "out.png"},
        Words{"noise", "-i", none, "--photons", "10", "-o", f / "out.mha"}, fdk() + Words{"--like", none},
        Words{"noise-map", "-i", none, "-o", f / "out.mha"},
        Words{"counts", "-i", f / "p.mha", "--flats", none, "--darks", none, "-o", f / "out.mha"},
        denoise("v.mha", "spdu") + Words{"--weights", none}})
    expect_refused(words, {"none.mha' does not exist", "give the path"});
  expect_refused(fdk("p.mha", "none.xml") + grid, {"none.xml' does not exist"});
  expect_refused({"geometry", "show", f / "none.xml"}, {"none.xml' does not exist"});
}

TEST_F(BadInput, TruncatedImage) {
  std::filesystem::resize_file(f / "v.mha", std::filesystem::file_size(f / "v.mha") - 100);
  expect_refused({"metrics", "-i", f / "v.mha"}, {"v.mha", "6812", "6912"});  // bytes found and expected
  expect_refused(denoise(), {"v.mha"});
}

TEST_F(BadInput, TruncatedGeometry) {
  std::filesystem::resize_file(f / "g.xml", std::filesystem::file_size(f / "g.xml") / 2);
  expect_refused({"geometry", "show", f / "g.xml"}, {"g.xml", "truncated"});
  expect_refused(fdk() + grid, {"g.xml", "truncated"});
}

TEST_F(BadInput, WrongTypeOfFile) {
  write_text(f / "text.mha", "Dear diary,\nno voxels today.\n");
  expect_refused({"metrics", "-i", f / "text.mha"}, {"text.mha"});
  expect_refused(denoise("text.mha"), {"text.mha"});
  write_text(f / "text.xml", "no geometry");
  expect_refused({"geometry", "show", f / "text.xml"}, {"text.xml"});
  write_text(f / "notes.xyz", "?");
  expect_refused({"metrics", "-i", f / "notes.xyz"}, {"notes.xyz", ".mha"});
  expect_refused({"phantom", "--type", "blade", "-o", f / "out.xyz"}, {"out.xyz", ".mha"});
  expect_refused({"preview", "-i", f / "v.mha", "-o", f / "out.jpg"}, {"out.jpg", ".png"});
}

TEST_F(BadInput, WrongDimension) {
  for (const char* header :
       {"NDims = 1\nDimSize = 4\nElementSpacing = 1\n", "NDims = 4\nDimSize = 2 2 2 2\nElementSpacing = 1 1 1 1\n"}) {
    write_text(f / "d.mha", std::string("ObjectType = Image\n") + header +
                                "ElementType = MET_FLOAT\nElementDataFile = LOCAL\n" + std::string(64, '\0'));
    expect_refused({"metrics", "-i", f / "d.mha"}, {"d.mha"});
    expect_refused(denoise("d.mha"), {"d.mha"});
  }
}

TEST_F(BadInput, GeometryWithAnotherNumberOfViews) {
  ASSERT_EQ(run(circular("35", "g35.xml")).code, 0);
  expect_refused(fdk("p.mha", "g35.xml") + grid, {"p.mha", "36", "g35.xml", "35"});
}

TEST_F(BadInput, GeometryWhoseMatrixDisagrees) {
  std::string text = content(f / "g.xml");
  const auto at = text.find("<GantryAngle>10<");
  ASSERT_NE(at, std::string::npos) << text;
  text.replace(at, 16, "<GantryAngle>11<");
  write_text(f / "turned.xml", text);
  for (const auto& words : {Words{"geometry", "show", f / "turned.xml"}, fdk("p.mha", "turned.xml") + grid})
    expect_refused(words, {"turned.xml", "projection 1"});
}

TEST_F(BadInput, SizesAndSpacingsThatAreNotPositive) {
  for (const char* size : {"0,12,12", "-1,12,12", "12,12,1.5", "12,12,9999999999", "12,12,nan", "12,12,x", "12,,12"})
    expect_refused(phantom() + Words{"--size", size, "--spacing", "4,4,4"}, {"--size", size});
  expect_refused(phantom() + Words{"--size", "2000000000,2000000000,2000000000", "--spacing", "4,4,4"},
                 {"--size", "2^48"});
  for (const char* spacing : {"0,4,4", "-4,4,4", "4,4,inf", "4,4,nan"})
    expect_refused(phantom() + Words{"--size", "12,12,12", "--spacing", spacing}, {"--spacing", spacing});
  expect_refused({"project", "-i", f / "v.mha", "--geometry", f / "g.xml", "--detector", "0,4", "--pixel", "1,1", "-o",
                  f / "out.mha"},
                 {"--detector", "0"});
  expect_refused({"project", "-i", f / "v.mha", "--geometry", f / "g.xml", "--detector", "4,4", "--pixel", "1,-1", "-o",
                  f / "out.mha"},
                 {"--pixel", "-1"});
}

TEST_F(BadInput, ParametersThatAreNotPositive) {
  for (const char* value : {"0", "-2", "nan", "inf", "many"}) {
    expect_refused(denoise() + Words{"--alpha", value}, {"--alpha", value});
    expect_refused({"noise", "-i", f / "p.mha", "--photons", value, "-o", f / "out.mha"}, {"--photons", value});
    expect_refused(phantom() + grid + Words{"--phantom-size", value}, {"--phantom-size", value});
    expect_refused({"geometry", "circular", "--sid", value, "--sdd", "10", "--projections", "9", "-o", f / "out.xml"},
                   {"--sid", value});
  }
  expect_refused({"geometry", "circular", "--sid", "500", "--sdd", "100", "--projections", "9", "-o", f / "out.xml"},
                 {"500", "100"});
  expect_refused({"geometry", "circular", "--sid", "500", "--sdd", "700", "--projections", "0", "-o", f / "out.xml"},
                 {"--projections", "0"});
  expect_refused({"geometry", "circular", "--sid", "500", "--sdd", "700", "-o", f / "out.xml"},
                 {"--projections", "--angles"});
  expect_refused(denoise() + Words{"--iterations", "-5"}, {"--iterations", "-5"});
  expect_refused(denoise() + Words{"--gap", "-1"}, {"--gap", "-1"});
}

TEST_F(BadInput, ListsOfTheWrongLength) {
  expect_refused(Words{"phantom", "--type", "two-balls", "--size", "12,12", "-o", f / "out.mha", "--spacing", "4,4,4"},
                 {"--size 12,12: 2 numbers given, 3 expected", "NX,NY,NZ"});
  expect_refused(phantom() + grid + Words{"--origin", "-1"}, {"--origin -1: 1 number given, 3 expected"});
  expect_refused(phantom() + grid + Words{"--origin", "1,2,3,4"}, {"--origin 1,2,3,4: 4 numbers given, 3 expected"});
  expect_refused(phantom() + grid + Words{"--direction", "1,0,0,0,1,0,0,0"},
                 {"--direction", "8 numbers given, 9 expected"});
  expect_refused(phantom() + grid + Words{"--size", "3,3,3"}, {"--size", "6 numbers given, 3 expected"});
  expect_refused({"metrics", "-i", f / "v.mha", "--roi", "1,2,3,4,5"}, {"--roi", "5 numbers given, 6 expected"});
  expect_refused({"metrics", "-i", f / "v.mha", "--roi", "1", "2", "3"}, {"--roi", "3 numbers given, 6 expected"});
  expect_refused({"preview", "-i", f / "v.mha", "--window", "1", "-o", f / "out.png"},
                 {"--window", "1 number given, 2 expected"});
  expect_refused(phantom() + grid + Words{"--direction", "1,0,0,0,1,0,0,0,2"},
                 {"direction", "perpendicular unit vectors"});
}

TEST_F(BadInput, CommandLine) {
  const auto refused = [](const Words& words, const std::string& part) {
    const Ran ran = run(words);
    EXPECT_EQ(ran.code, 2) << ran.err;
    EXPECT_NE(ran.err.find(part), std::string::npos) << part << " is not in " << ran.err;
    EXPECT_NE(ran.err.find("--help"), std::string::npos) << ran.err;
    EXPECT_EQ(ran.out, "");
  };
  refused({}, "subcommand");
  refused({"sharpen"}, "sharpen");
  refused({"metrics"}, "--input is required");
  refused({"metrics", "-i"}, "-i");
  refused({"metrics", "-i", f / "v.mha", "--frobnicate"}, "--frobnicate");
  refused({"metrics", "-i", f / "v.mha", "extra"}, "extra");
  refused({"geometry"}, "subcommand");
  refused({"phantom", "--type", "teapot", "-o", f / "out.mha"}, "teapot");
  refused(fdk() + grid + Words{"--window", "blackman"}, "blackman");
  refused(phantom() + grid + Words{"--like", f / "v.mha"}, "--like");
  refused({"project", "-i", f / "v.mha", "--phantom-size", "3"}, "--phantom");
  expect_refused({"metrics", "-i", f / "v.mha", "--device-memory", "much"}, {"--device-memory", "much", "64M"});
  EXPECT_EQ(f.files(), (Words{"g.xml", "p.mha", "v.mha", "w.mha"}));
}

TEST_F(BadInput, NanAndInfinity) {
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    for (const char* name : {"v.mha", "p.mha"}) {
      Volume volume = read_image(f / name);
      volume.at(3, 2, 1) = bad;
      write_image(volume, f / (std::string("bad-") + name));
    }
    expect_refused({"metrics", "-i", f / "bad-v.mha"}, {"bad-v.mha", "(3,2,1)", "--allow-nonfinite"});
    expect_refused({"noise", "-i", f / "bad-p.mha", "--photons", "10", "-o", f / "out.mha"}, {"bad-p.mha", "(3,2,1)"});
    if (!has_device()) continue;
    expect_refused(denoise("bad-v.mha"), {"bad-v.mha", "(3,2,1)"});
    expect_refused(fdk("bad-p.mha") + grid, {"bad-p.mha", "(3,2,1)"});
    const std::string told = "bad-v.mha': 1 value was NaN or infinite and became 0";
    const Ran mended = done({"metrics", "-i", f / "bad-v.mha", "--allow-nonfinite"});
    EXPECT_NE(mended.err.find(told), std::string::npos) << mended.err;
    for (const char* roi : {"0,0,0,12,12,12", ""}) {  // read as a whole, and in pieces
      const Ran ran =
          done(denoise("bad-v.mha") + Words{"--alpha", "50", "--allow-nonfinite", "--report", f / "r.json"} +
               (*roi != '\0' ? Words{"--preview-roi", roi} : Words{}));
      EXPECT_NE(ran.err.find(told), std::string::npos) << ran.err;
      EXPECT_EQ(nlohmann::json::parse(content(f / "r.json"))["inputs"][0]["nonfinite_set_to_0"], 1);
      for (const char* name : {"out.mha", "r.json"}) std::filesystem::remove(f / name);
    }
  }
}

TEST_F(BadInput, HowStrongly) {
  const std::string v = f / "v.mha", w = f / "w.mha";
  expect_refused(
      denoise() + Words{"--alpha", "best"},
      {"--alpha is \"best\"; expected a positive number, target, or one of auto, discrepancy, halves, sure"});
  for (const char* noises : {"0/sigma", "-1/sigma", "x/sigma", "/sigma", "nan/sigma", "inf/sigma", "1//sigma"})
    expect_refused(
        denoise() + Words{"--alpha", noises},
        {fmt::format("--alpha is \"{}\"; expected a positive number before /sigma, as in 1.5/sigma", noises)});
  expect_refused(denoise() + Words{"--alpha", "1e-320"}, {"--alpha is", "expected a number from 1e-18"});
  expect_refused(denoise() + Words{"--alpha", "target"}, {"--alpha target needs --target-fidelity"});
  for (const char* rule : {"auto", "sure"})
    expect_refused(denoise() + Words{"--alpha", rule, "--target-fidelity", "3"},
                   {rule, "--target-fidelity exclude each other", "--alpha target"});
  expect_refused(denoise() + Words{"--alpha", "3", "--target-fidelity", "3"}, {"exclude each other"});
  for (const char* alpha : {"3", "sure"})
    expect_refused(denoise("v.mha", "tvgd") + Words{"--alpha", alpha},
                   {"--alpha belongs to the methods pdu, spdu and pdu4d"});
  expect_refused(denoise() + Words{"--alpha", "halves"}, {"--alpha halves needs --halves", "fdk --halves-out"});
  expect_refused(denoise("v.mha", "spdu") + Words{"--weights", "halves"}, {"--weights halves needs --halves"});
  expect_refused(denoise("v.mha", "tvgd") + Words{"--weights", "halves"}, {"--weights halves needs --halves"});
  for (const auto& pair : {v, v + ",", "," + v, v + "," + w + "," + v})
    expect_refused(denoise() + Words{"--halves", pair}, {"--halves is", "two files with a comma"});
  const Words halves{"--halves", v + "," + w};
  for (const auto& rest : {Words{"--alpha", "3"}, {"--alpha", "sure"}, {"--target-fidelity", "3"}})
    expect_refused(denoise() + halves + rest, {"--halves serves nothing here"});
  expect_refused(denoise("v.mha", "tvgd") + halves, {"--halves serves nothing here"});
  for (const auto& alpha : {Words{}, {"--alpha", "1.5/sigma"}, {"--alpha", "halves"}})
    expect_refused(denoise() + halves + Words{"--weights", "halves"} + alpha,
                   {"--weights serves nothing here", "--alpha goes by --halves", "give --alpha sure or discrepancy"});
  expect_refused(denoise() + Words{"--halves", v + "," + (f / "none.mha")}, {"none.mha' does not exist"});
  Volume other = read_image(v);
  other.grid.spacing[0] = 3;
  write_image(other, f / "other.mha");
  expect_refused(denoise() + Words{"--halves", v + "," + (f / "other.mha")}, {"--halves", "other.mha", "spacing"});
}

TEST_F(BadInput, NoiseMaps) {
  const std::string v = f / "v.mha", w = f / "w.mha", out = f / "out.mha";
  expect_refused({"noise-map", "-o", out}, {"give either -i VOLUME or --halves A,B"});
  expect_refused({"noise-map", "-i", v, "--halves", v + "," + w, "-o", out}, {"give only one of"});
  expect_refused({"noise-map", "--halves", v, "-o", out}, {"--halves is", "two files with a comma"});
  expect_refused({"noise-map", "--halves", v + "," + v, "-o", out}, {"v.mha", "are the same everywhere"});
  expect_refused({"noise-map", "-i", w, "-o", out}, {"no noise can be measured"});  // it is constant
  expect_refused({"noise-map", "-i", v, "-o", v}, {"v.mha", "-o"});
  Volume other = read_image(v);
  other.grid.spacing[0] = 3;
  write_image(other, f / "other.mha");
  expect_refused({"noise-map", "--halves", v + "," + (f / "other.mha"), "-o", out}, {"other.mha", "spacing"});
}

TEST_F(BadInput, HalvesOfAScan) {
  expect_refused(fdk() + grid + Words{"--halves-out", f / "a.mha"}, {"--halves-out is", "two files with a comma"});
  expect_refused(fdk() + grid + Words{"--halves-out", (f / "a.mha") + "," + (f / "a.mha")}, {"a.mha"});
  expect_refused(fdk() + grid + Words{"--halves-out", (f / "a.mha") + "," + (f / "p.mha")}, {"p.mha"});
  expect_refused(fdk() + grid + Words{"--halves-out", (f / "a.xyz") + "," + (f / "b.mha")}, {"a.xyz"});
  // eight views 45 degrees apart are enough; four 90 degrees apart are not
  ASSERT_EQ(run(circular("8", "g8.xml")).code, 0);
  Volume few = read_image(f / "p.mha");
  few.grid.size[2] = 8;
  few.voxels.resize(few.grid.count());
  write_image(few, f / "p8.mha");
  expect_refused(fdk("p8.mha", "g8.xml") + grid + Words{"--halves-out", (f / "a.mha") + "," + (f / "b.mha")},
                 {"--halves-out: the odd views of '", "g8.xml", "a gap of 90 degrees", "leave --halves-out out"});
}

TEST_F(BadInput, AVolumeThatTheDetectorNeverSees) {
  expect_refused(fdk() + grid + Words{"--origin", "0,900,0"}, {"no view sees any of the volume", "900"});
  Volume volume = read_image(f / "v.mha");
  volume.grid.origin[1] = 900;
  write_image(volume, f / "far.mha");
  expect_refused({"project", "-i", f / "far.mha", "--geometry", f / "g.xml", "--detector", "24,20", "--pixel", "4,4",
                  "-o", f / "out.mha"},
                 {"far.mha", "never seen", "v -40 to 40 mm"});
}

TEST_F(BadInputOnDevice, AVolumeRoundTheSourceIsTold) {
  ASSERT_EQ(
      run({"geometry", "circular", "--sid", "26", "--sdd", "750", "--projections", "36", "-o", f / "in.xml"}).code, 0);
  const auto told = [&](const std::string& geometry) {
    const Words common{"-g", f / geometry, "--dry-run", "-o", f / "out.mha"};
    for (const auto& words : {Words{"project", "-i", f / "v.mha", "--detector", "24,20", "--pixel", "4,4"},
                              Words{"backproject", "-i", f / "p.mha"} + grid}) {
      const Ran ran = done(words + common);
      const bool warned = ran.err.find("rays begin at the source: what lies behind") != std::string::npos;
      EXPECT_EQ(warned, geometry == "in.xml") << ran.err;
      // its corners alone, 33.9 mm off the axis, are beyond sources 26 mm off it
      EXPECT_EQ(warned, ran.err.find(" in 32 of 36 views (the first: view 1, SID 26 mm)") != std::string::npos)
          << ran.err;
    }
  };
  told("g.xml");
  told("in.xml");
}

TEST_F(BadInputOnDevice, AVolumeThatReachesBeyondTheDetectorIsTold) {
  ASSERT_EQ(
      run({"geometry", "circular", "--sid", "500", "--sdd", "500", "--projections", "36", "-o", f / "on.xml"}).code, 0);
  const auto ran = [&](const Words& words, const std::string& geometry, const std::string& rays) {
    return run(words + Words{"-g", f / geometry, "--rays", rays, "--dry-run", "-o", f / "out.mha"});
  };
  const auto says = [](const Ran& ran, const char* part) { return ran.err.find(part) != std::string::npos; };
  for (const auto& words :
       {Words{"project", "-i", f / "v.mha", "--detector", "24,20", "--pixel", "4,4"},
        Words{"backproject", "-i", f / "p.mha"} + grid, Words{"reconstruct", "-i", f / "p.mha"} + grid}) {
    for (const std::string geometry : {"g.xml", "on.xml"})
      for (const std::string rays : {"automatic", "end", "through"}) {
        const Ran here = ran(words, geometry, rays);
        EXPECT_EQ(here.code, 0) << here.err;
        EXPECT_EQ(says(here, "in 36 of 36 views (the first: view 0, SID 500 mm"),
                  geometry == "on.xml" && rays != "through")
            << here.err;
        EXPECT_EQ(says(here, "rays end at the detector"), geometry == "on.xml" && rays == "end") << here.err;
        EXPECT_EQ(says(here, "taken for a virtual one"), geometry == "on.xml" && rays == "automatic") << here.err;
        EXPECT_EQ(says(here, "--rays through"), geometry == "on.xml" && rays == "end") << here.err;
      }
  }
}

TEST_F(BadInputOnDevice, WhatTakesNoCylindricalDetectorSaysSo) {
  Geometry geometry = read_geometry(f / "g.xml");
  geometry.radius_cylindrical_detector = 750;
  write_text(f / "bent.xml", geometry_xml(geometry));
  const Words project{"project", "-i",      f / "v.mha", "-g", f / "bent.xml", "--detector",
                      "24,20",   "--pixel", "4,4",       "-o", f / "out.mha"},
      backproject = Words{"backproject", "-i", f / "p.mha", "-g", f / "bent.xml", "-o", f / "out.mha"} + grid;
  for (const auto& words : {project, backproject}) {
    const Ran ran = done(words + Words{"--dry-run"});
    EXPECT_EQ(ran.err.find("warning"), std::string::npos) << ran.err;
  }
  expect_refused(project + Words{"--interpolation", "hardware"}, {"cylindrical detector", "use exact interpolation"});
  expect_refused(backproject + Words{"--projector", "voxel"}, {"--projector voxel", "bent.xml", "750", "joseph"});
}

TEST_F(BadInput, CropThatLosesTheAxisIsNamed) {
  expect_refused(fdk() + grid + Words{"--crop", "16,0,8,20"},
                 {"misses the rotation axis in 36 of 36 views", "but for --crop 16,0,8,20 it could be reconstructed"});
  ASSERT_EQ(run(circular("36", "beside.xml") + Words{"--proj-offset-x", "60"}).code, 0);
  const Ran ran = run(fdk("p.mha", "beside.xml") + grid + Words{"--crop", "0,2,24,16"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_NE(ran.err.find("misses the rotation axis"), std::string::npos) << ran.err;
  EXPECT_EQ(ran.err.find("but for --crop"), std::string::npos) << ran.err;
}

TEST_F(BadInput, ShortScansOfADivergentBeam) {
  ASSERT_EQ(run(circular("36", "short.xml") + Words{"--arc", "180"}).code, 0);
  expect_refused(fdk("p.mha", "short.xml") + grid,
                 {"short.xml", "175 degrees", "full circle", "--allow-incomplete-arc"});
  ASSERT_EQ(run(circular("36", "both.xml") + Words{"--arc", "230", "--proj-offset-x", "20"}).code, 0);
  expect_refused(fdk("p.mha", "both.xml") + grid, {"both.xml", "displaced", "is short", "--nodisplaced"});
  ASSERT_EQ(run(circular("36", "beside.xml") + Words{"--proj-offset-x", "60"}).code, 0);
  expect_refused(fdk("p.mha", "beside.xml") + grid, {"beside.xml", "misses the rotation axis in 36 of 36 views"});
  for (const char* pad : {"1.5", "-1", "nan"}) expect_refused(fdk() + grid + Words{"--pad", pad}, {"--pad"});
}

TEST_F(BadInputOnDevice, TooLittleDeviceMemory) {
  for (const auto& words : {denoise(), fdk() + grid,
                            Words{"project", "-i", f / "v.mha", "--geometry", f / "g.xml", "--detector", "24,20",
                                  "--pixel", "4,4", "-o", f / "out.mha"}})
    expect_refused(words + Words{"--device-memory", "1K"},
                   {"not even one slice", "needed", "1.00 KiB", "--device-memory"});
}

TEST_F(BadInputOnDevice, UnknownDevice) {
  expect_refused(denoise() + Words{"--device", "abacus"}, {"--device", "abacus", "The devices are"});
  expect_refused(denoise() + Words{"--device", "9999"}, {"--device", "9999"});
}

TEST_F(BadInput, DenoiseOptions) {
  expect_refused(denoise("v.mha", "wavelet"), {"--method", "wavelet", "pdu", "spdu", "tvgd"});
  expect_refused(denoise("v.mha", "spdu"), {"--weights", "fdk --variance-out"});
  for (const auto& alpha : {Words{"--alpha", "3"}, {"--alpha-path", "4,3"}, {"--target-fidelity", "3"}})
    expect_refused(denoise("v.mha", "pdu") + Words{"--weights", f / "w.mha"} + alpha,
                   {"--weights serves nothing here: pdu takes variances to choose alpha by", "--method spdu"});
  expect_refused(denoise("v.mha", "median") + Words{"--weights", f / "w.mha"},
                 {"--weights belongs to the methods spdu, tvgd and pdu; median takes none"});
  write_image(Volume(cube(12), 1.0f), f / "other.mha");
  for (const char* method : {"spdu", "tvgd"})
    expect_refused(denoise("v.mha", method) + Words{"--weights", f / "other.mha"}, {"v.mha", "other.mha", "spacing"});
  for (const char* delta : {"0", "-0.5", "wide"})
    expect_refused(denoise("v.mha", "tvgd") + Words{"--adaptive-delta", delta}, {"--adaptive-delta", delta});
  expect_refused(denoise("v.mha", "pdu") + Words{"--adaptive-delta", "0.5"},
                 {"--adaptive-delta belongs to the method tvgd; pdu takes"});
  expect_refused(denoise() + Words{"--schedule", "fast"}, {"--schedule", "fast", "chambolle-pock"});
  for (const char* gap : {"1", "2"}) expect_refused(denoise() + Words{"--gap", gap}, {"--gap is", "below 1"});
  expect_refused(denoise() + Words{"--iterations", "99999999999"}, {"99999999999", "from 1 to 1000000"});
  for (const char* stages : {"1.5", "3", "-1"})
    expect_refused(denoise() + Words{"--stages", stages}, {"--stages", stages, "a whole number from 0 to 2"});
  expect_refused(denoise() + Words{"--duals", "snorm8"}, {"--duals", "snorm8", "snorm16"});
  expect_refused(denoise() + Words{"--stages", "2", "--schedule", "seed"}, {"schedules default or zhu-chan"});
  expect_refused(denoise("v.mha", "tvgd") + Words{"--schedule", "seed"},
                 {"--schedule is for the methods pdu, spdu and pdu4d"});
}

TEST_F(BadInput, DenoiseRegularisers) {
  expect_refused(denoise() + Words{"--tv", "round"}, {"--tv", "round", "huber"});
  expect_refused(denoise() + Words{"--tv", "huber"}, {"--huber-delta", "grey values per mm"});
  expect_refused(denoise() + Words{"--huber-delta", "-1"}, {"--huber-delta", "-1"});
  expect_refused(denoise() + Words{"--minimum", "1", "--maximum", "0"}, {"--minimum is 1", "--maximum 0"});
  expect_refused(denoise() + Words{"--minimum", "1", "--nonnegative"}, {"--minimum", "--nonnegative"});
  expect_refused(denoise("v.mha", "tvgd") + Words{"--nonnegative"}, {"--nonnegative belongs to", "tvgd"});
  expect_refused(denoise() + Words{"--nonnegative", "--maximum", "-1"}, {"--nonnegative and --maximum -1"});
  expect_refused(denoise() + Words{"--reference", f / "none.mha"}, {"--reference", "none.mha", "does not exist"});
  write_image(Volume(cube(12), 1.0f), f / "other.mha");
  expect_refused(denoise() + Words{"--reference", f / "other.mha"}, {"v.mha", "other.mha", "spacing"});
  expect_refused(denoise() + Words{"--reference-eta", "1"}, {"--reference-eta", "--reference"});
}

TEST_F(BadInput, DenoiseTime) {
  const Words two = {"denoise", "-i", f / "v.mha", "-i", f / "w.mha", "--method", "pdu4d"};
  expect_refused(two + Words{"-o", f / "out_%d.mha"}, {"--time-weight is missing", "mm"});
  expect_refused(two + Words{"-o", f / "out.mha", "--time-weight", "1"}, {"-o", "out.mha", "%02d"});
  expect_refused(two + Words{"-o", f / "out_%d.mha", "--time-weight", "0"}, {"--time-weight", "0"});
  expect_refused(two + Words{"-o", f / "out_%d.mha", "--time-weight", "1", "--weights", f / "w.mha"}, {"--weights"});
  expect_refused(two + Words{"-o", f / "out_%d.mha", "--time-weight", "1", "--time-axis", "z"},
                 {"--time-axis", "pdu4d"});
  expect_refused(two + Words{"-o", f / "out_%d.mha", "--time-weight", "1", "--nonnegative"},
                 {"--nonnegative", "pdu4d"});
  expect_refused(
      two + Words{"-o", f / "out_%d.mha", "--time-weight", "1", "--halves", (f / "v.mha") + "," + (f / "w.mha")},
      {"--halves serves nothing here", "pdu4d"});
  expect_refused(two + Words{"-o", f / "out_%d.mha", "--time-weight", "1", "--alpha", "sure"},
                 {"--alpha sure is a rule for pdu and spdu", "discrepancy (which auto is, too)"});
  write_image(Volume(cube(12), 1.0f), f / "other.mha");
  expect_refused({"denoise", "-i", f / "v.mha", f / "other.mha", "--method", "pdu4d", "--time-weight", "1", "-o",
                  f / "out_%d.mha"},
                 {"v.mha", "other.mha", "spacing"});
  expect_refused({"denoise", "-i", f / "v.mha", "-i", f / "w.mha", "--method", "pdu", "-o", f / "out.mha"},
                 {"2 volumes", "pdu4d"});
  expect_refused(denoise("v.mha", "pdu4d") + Words{"--time-weight", "1"}, {"two volumes or more", "--time-axis z"});
  expect_refused(denoise() + Words{"--time-weight", "1"}, {"--time-weight", "--time-axis z"});
  expect_refused(denoise() + Words{"--time-axis", "z"}, {"--time-axis", "--time-weight"});
  expect_refused(denoise() + Words{"--time-axis", "x", "--time-weight", "1"}, {"--time-axis", "x"});
  expect_refused(denoise("v.mha", "median") + Words{"--time-axis", "z", "--time-weight", "1"},
                 {"--time-axis", "median"});
}

TEST_F(BadInput, DenoiseFilters) {
  expect_refused(denoise("v.mha", "gaussian") + Words{"--sigma", "-1"}, {"--sigma", "-1"});
  expect_refused(denoise("v.mha", "median") + Words{"--radius", "9"}, {"--radius", "9"});
  expect_refused(denoise("v.mha", "median") + Words{"--sigma", "1"}, {"--sigma", "gaussian", "median"});
  expect_refused(denoise("v.mha", "nlm") + Words{"--alpha", "1"}, {"--alpha", "nlm", "--strength"});
  expect_refused(denoise("v.mha", "nlm") + Words{"--gap", "1e-3"}, {"--gap", "nlm", "--strength"});
  expect_refused(denoise("v.mha", "median") + Words{"--iterations", "5"}, {"--iterations", "median", "--radius"});
  expect_refused(denoise("v.mha", "gaussian") + Words{"--schedule", "seed"}, {"--schedule", "gaussian", "--sigma"});
  expect_refused(denoise("v.mha", "gaussian") + Words{"--weights", f / "w.mha"}, {"--weights", "gaussian"});
  expect_refused(denoise("v.mha", "nlm") + Words{"--time-limit", "5"}, {"--time-limit is for methods that iterate"});
  expect_refused(denoise("v.mha", "median") + Words{"--keep-partial"}, {"--keep-partial is for methods that iterate"});
}

// Errors of real runs are errors of dry runs: nothing is passed over in silence.
TEST_F(BadInput, DryRunsRefuseWhatRunsRefuse) {
  const Words halves{"--halves", (f / "v.mha") + "," + (f / "w.mha")}, path{"--alpha-path", "40,20"};
  const auto refused = [&](const std::string& method, const Words& options, const std::vector<std::string>& parts) {
    expect_refused(denoise("v.mha", method) + options, parts);
    expect_refused(denoise("v.mha", method) + options + Words{"--dry-run"}, parts);
  };
  for (const char* rule : {"auto", "sure", "discrepancy", "3"})
    refused("pdu", path + Words{"--alpha", rule}, {"--alpha-path and --alpha exclude each other"});
  refused("pdu", path + halves, {"--halves serves nothing here"});
  for (const auto& [method, own] :
       {std::pair("gaussian", "--sigma"), std::pair("median", "--radius"), std::pair("nlm", "--strength")}) {
    for (const char* alpha : {"auto", "sure", "3"})
      refused(method, {"--alpha", alpha}, {"--alpha belongs to the methods pdu, spdu and pdu4d;", method, own});
    refused(method, halves, {"--halves serves nothing here"});
    refused(method, {"--init", f / "w.mha"}, {"--init is for methods that iterate", method, own});
  }
}

TEST_F(BadInput, EmptyValues) {
  for (const char* option : {"--alpha", "--init", "--reference", "--halves", "--preview-roi", "--weights", "--png",
                             "--device", "--report", "--trace", "--output-type"})
    expect_refused(denoise() + Words{option, ""}, {option});
  expect_refused(denoise() + Words{"--alpha", ""}, {"--alpha has an empty value; give one, or leave the option out"});
  expect_refused({"noise-map", "-i", f / "v.mha", "--halves", "", "-o", f / "out.mha"}, {"--halves has an empty"});
}

TEST_F(BadInput, SeedsOfNoise) {
  for (const char* seed : {"-1", "1.5", "18446744073709551616", "dice"})
    expect_refused({"noise", "-i", f / "p.mha", "--photons", "10", "--seed", seed, "-o", f / "out.mha"},
                   {"--seed", seed, "a whole number from 0 to 18446744073709551615"});
  EXPECT_EQ(
      run({"noise", "-i", f / "p.mha", "--photons", "10", "--seed", "18446744073709551615", "-o", f / "out.mha"}).code,
      0);
}

// All 64 bits count, of which a double would lose some.
TEST_F(BadInput, SeedsOfGravel) {
  const auto phantom = [&](const char* seed, const char* name) {
    return Words{"phantom", "--type", "gravel", "--size", "12,12,12", "--spacing",
                 "9,9,9",   "--seed", seed,     "-o",     f / name};
  };
  for (const char* seed : {"-1", "1.5", "18446744073709551616", "dice"})
    expect_refused(phantom(seed, "out.mha"), {"--seed", seed, "a whole number from 0 to 18446744073709551615"});
  EXPECT_EQ(run(phantom("18446744073709551615", "one.mha")).code, 0);
  EXPECT_EQ(run(phantom("18446744073709551614", "other.mha")).code, 0);
  EXPECT_NE(content(f / "one.mha"), content(f / "other.mha"));
}

// 1e37 squared is no float32 number.
TEST_F(BadInput, GreyValuesThatFloat32CannotSquare) {
  Volume huge = read_image(f / "v.mha");
  for (std::size_t n = 0; n < huge.voxels.size(); ++n) huge.voxels[n] *= 1e38f;
  write_image(huge, f / "huge.mha");
  const std::string pair = (f / "huge.mha") + "," + (f / "v.mha");
  expect_refused({"noise-map", "-i", f / "huge.mha", "-o", f / "out.mha"}, {"grey values spread by", "scale them"});
  expect_refused({"noise-map", "--halves", pair, "-o", f / "out.mha"}, {"huge.mha", "grey values spread by"});
  if (!has_device()) return;
  for (const char* method : {"pdu", "tvgd"})
    expect_refused(denoise("v.mha", method) + Words{"--init", f / "huge.mha"},
                   {"--init: the grey values lie", "at most 1e+16"});
}

TEST_F(BadInput, NumbersBeyondAllMeasure) {
  const Words phantom{"phantom", "--type", "two-balls", "-o", f / "out.mha", "--size", "8,8,8"};
  expect_refused(phantom + Words{"--spacing", "1e30,1,1"}, {"--spacing", "no greater than 1e+18"});
  expect_refused(phantom + Words{"--spacing", "1e10,1,1"}, {"spacing 10000000000,1,1 mm", "1e-09 to 1e+09"});
  expect_refused(phantom + Words{"--spacing", "1,1,1", "--origin", "0,1e13,0"}, {"no more than 1e+12 mm"});
  expect_refused(phantom + Words{"--spacing", "1,1,1", "--mu", "1e30"}, {"1e+30 per mm", "at most 1e+09"});
  expect_refused(phantom + Words{"--spacing", "1,1,1", "--phantom-size", "1e30"}, {"1e+30 mm wide"});
  const Words circular{"geometry", "circular", "--projections", "8", "-o", f / "g.xml"};
  expect_refused(circular + Words{"--sid", "1e30", "--sdd", "2e30"}, {"the source to isocentre distance is 1e+30"});
  expect_refused(circular + Words{"--sid", "10", "--sdd", "1e12"}, {"the source to detector distance is 1e+12"});
  expect_refused(circular + Words{"--sid", "10", "--sdd", "9"},
                 {"smaller than", "virtual detector", "0 is a parallel"});
  expect_refused(circular + Words{"--sid", "10", "--sdd", "20", "--proj-offset-x", "1e20"}, {"projection offset x"});
}

TEST_F(BadInputOnDevice, StepsBeyondFloat32) {
  expect_refused(denoise("v.mha", "tvgd") + Words{"--step", "1e38"}, {"--step", "range of float32", "smaller"});
}

TEST_F(BadInputOnDevice, DryRunsSeeFilesThatAreTooShort) {
  std::filesystem::resize_file(f / "v.mha", std::filesystem::file_size(f / "v.mha") - 4);
  expect_refused(denoise() + Words{"--dry-run"}, {"v.mha' is truncated"});
  expect_refused({"preview", "-i", f / "v.mha", "-o", f / "x.png", "--dry-run"}, {"v.mha' is truncated"});
}

TEST_F(BadInputOnDevice, NegativeVariance) {
  Volume weights = read_image(f / "w.mha");
  weights.at(1, 2, 3) = -1;
  write_image(weights, f / "negative.mha");
  expect_refused(denoise("v.mha", "spdu") + Words{"--weights", f / "negative.mha"}, {"--weights", "(1, 2, 3)", "-1"});
}

TEST_F(BadInput, GridsThatDiffer) {
  write_image(Volume(cube(12)), f / "other.mha");
  expect_refused({"metrics", "-i", f / "v.mha", "--reference", f / "other.mha"}, {"v.mha", "other.mha", "spacing"});
  write_image(Volume(cube(5)), f / "flats.mha");
  expect_refused({"counts", "-i", f / "p.mha", "--flats", f / "flats.mha", "--darks", f / "p.mha", "-o", f / "out.mha"},
                 {"--flat", "flats.mha", "5 x 5", "24 x 20"});
}

TEST_F(BadInput, IndicesOutOfRange) {
  expect_refused({"metrics", "-i", f / "v.mha", "--roi", "0,0,0,13,1,1"}, {"--roi", "13", "12"});
  expect_refused({"metrics", "-i", f / "v.mha", "--roi", "4,4,4,4,5,5"}, {"--roi"});
  expect_refused({"preview", "-i", f / "v.mha", "--slice", "12", "-o", f / "out.png"}, {"--slice 12", "0 to 11"});
}

TEST_F(BadInput, NoiseOptionsOfFdk) {
  expect_refused(fdk() + grid + Words{"--variance-out", f / "var.mha"}, {"--photons", "--variance-out"});
  expect_refused(fdk() + grid + Words{"--photons", "1000"}, {"--photons", "--variance-out"});
  // A grid that is turned is not chosen by the scan; any other is (scan_grid_test).
  expect_refused(fdk() + Words{"--direction", "1,0,0,0,1,0,0,0,1"}, {"--size", "--spacing", "--like"});
}

TEST_F(BadInput, ProjectNeedsOneObject) {
  const Words rest{"--geometry", f / "g.xml", "--detector", "24,20", "--pixel", "4,4", "-o", f / "out.mha"};
  expect_refused(Words{"project"} + rest, {"-i", "--phantom"});
  expect_refused(Words{"project", "-i", f / "v.mha", "--phantom", "blade", "--phantom-size", "9"} + rest,
                 {"-i", "--phantom"});
  expect_refused(Words{"project", "--phantom", "blade"} + rest, {"--phantom-size"});
  expect_refused(Words{"project", "--phantom", "blade", "--phantom-size", "9", "--projector", "siddon"} + rest,
                 {"--phantom excludes --projector"});
  expect_refused(Words{"project", "-i", f / "v.mha", "--projector", "footprint"} + rest, {"--projector", "footprint"});
  expect_refused(Words{"project", "-i", f / "v.mha", "--projector", "siddon", "--interpolation", "hardware"} + rest,
                 {"--interpolation hardware", "--projector joseph", "siddon"});
  expect_refused({"backproject", "-i", f / "p.mha", "--geometry", f / "g.xml", "--like", f / "v.mha", "-o",
                  f / "out.mha", "--interpolation", "hardware"},
                 {"--interpolation hardware", "--projector voxel", "joseph"});
}

TEST_F(BadInput, AngleFiles) {
  const Words words{"geometry", "circular", "--sid",          "500", "--sdd",
                    "750",      "--angles", f / "angles.txt", "-o",  f / "out.xml"};
  write_text(f / "angles.txt", "0\n10\nten\n");
  expect_refused(words, {"angles.txt", "line 3", "ten"});
  write_text(f / "angles.txt", "0 10 20\n");
  expect_refused(words, {"angles.txt", "line 1", "3 numbers"});
  write_text(f / "angles.txt", "\n# none\n");
  expect_refused(words, {"angles.txt", "no angle"});
  write_text(f / "angles.txt", "0\n10\n");
  expect_refused(words + Words{"--projections", "3"}, {"--projections 3", "2 angles"});
}

TEST_F(BadInput, OutputsThatAreInputsOrEachOther) {
  const std::string before = content(f / "v.mha");
  expect_refused({"denoise", "-i", f / "v.mha", "--method", "pdu", "-o", f / "v.mha"},
                 {"-o", "v.mha", "is the input of -i"});
  expect_refused({"noise", "-i", f / "v.mha", "--photons", "10", "-o", f.path() + "/./v.mha"}, {"is the input of -i"});
  expect_refused({"metrics", "-i", f / "v.mha", "--report", f / "v.mha"}, {"--report", "is the input of -i"});
  expect_refused(fdk() + grid + Words{"--variance-out", f / "out.mha", "--photons", "9"},
                 {"-o and --variance-out both name"});
  EXPECT_TRUE(content(f / "v.mha") == before);
  write_image(read_image(f / "v.mha"), f / "pair.mhd");  // and pair.raw
  std::filesystem::create_hard_link(f / "v.mha", f / "twin.mha");
  expect_refused({"noise", "-i", f / "pair.mhd", "--photons", "10", "-o", f / "pair.raw"}, {"is the input of -i"});
  expect_refused({"noise", "-i", f / "pair.raw", "--photons", "10", "-o", f / "pair.mhd"}, {"is the input of -i"});
  expect_refused({"noise", "-i", f / "v.mha", "--photons", "10", "-o", f / "twin.mha"}, {"is the input of -i"});
}

// Files that do not exist yet, so that nothing but their names can show that they are one.
TEST_F(BadInput, NewOutputsUnderTwoSpellings) {
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(f.path());
  const Words fdk = Words{"fdk", "-i", "p.mha", "-g", "g.xml"} + grid, noisy = fdk + Words{"--photons", "9"};
  const Words two_balls = Words{"phantom", "--type", "two-balls"} + grid;
  for (const auto& other : {std::string("./o.mha"), f / "./o.mha"})
    expect_refused(noisy + Words{"-o", "o.mha", "--variance-out", other}, {"-o and --variance-out both name"});
  expect_refused(fdk + Words{"-o", "o.mha", "--halves-out", "a.mha," + f / "a.mha"},
                 {"--halves-out and --halves-out both name"});
  expect_refused(noisy + Words{"--views-per-frame", "18", "-o", "o_%02d.mha", "--variance-out", "./o_%02d.mha"},
                 {"-o and --variance-out both name './o_00.mha'"});
  expect_refused({"metrics", "-i", "v.mha", "--report", "r.json", "--trace", "./r.json"},
                 {"--report and --trace both name"});
  expect_refused(two_balls + Words{"-o", "o.mha", "--report", f / "o.mha"}, {"--report and -o both name"});
  expect_refused(two_balls + Words{"-o", "./o.mhd", "--report", "o.raw"}, {"--report and -o both name"});
  std::filesystem::current_path(before);
}

TEST_F(BadInput, FoldersThatCannotBeWritten) {
  expect_refused({"phantom", "--type", "two-balls", "-o", f / "no/such/out.mha"},
                 {"no/such", "does not exist", "mkdir"});
  std::filesystem::create_directory(f / "sealed");
  ASSERT_EQ(::chmod((f / "sealed").c_str(), 0555), 0);
  ASSERT_EQ(::chmod(f.path().c_str(), 0755), 0);
  const bool root = ::geteuid() == 0;
  ASSERT_TRUE(!root || ::seteuid(65534) == 0);  // permissions do not bind root
  const Words words{"phantom", "--type", "two-balls", "-o", f / "sealed/out.mha"};
  expect_refused(words + grid, {"sealed/out.mha", "ermission denied", "choose a folder"}, 1);
  expect_refused({"metrics", "-i", f / "v.mha", "--report", f / "sealed/report.json"},
                 {"sealed/report.json", "ermission denied"}, 1);
  ASSERT_TRUE(!root || ::seteuid(0) == 0);
}

// The command as a separate process, for what cannot be done to this one.
class Process {
 public:
  /// `before` is shell text that is run first, in the same process.
  Process(const Words& words, const std::string& log, const std::string& before) : log_(log) {
    std::string line = before + " exec '" HALOCLINE_COMMAND "'";
    for (const auto& word : words) line += " '" + word + "'";
    pid_ = ::fork();
    if (pid_ != 0) return;
    const int to = ::open(log.c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0600);
    ::dup2(to, 1);
    ::dup2(to, 2);
    ::execl("/bin/sh", "sh", "-c", line.c_str(), nullptr);
    ::_exit(126);
  }
  /// Waits until the process handles SIGINT by itself. False if it never did. Before it becomes the command, it has the
  /// handlers of this process.
  bool wait_for_handler() const {
    const std::string process = "/proc/" + std::to_string(pid_);
    for (int n = 0; n < 3000; ++n) {
      std::error_code code;
      const bool begun = std::filesystem::read_symlink(process + "/exe", code).filename() == "halocline";
      std::ifstream status(process + "/status");
      for (std::string line; begun && std::getline(status, line);)
        if (line.rfind("SigCgt:", 0) == 0 && (std::stoull(line.substr(7), nullptr, 16) >> (SIGINT - 1) & 1) != 0)
          return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
  }
  /// Threads, and those of them that SIGINT could go to.
  std::array<int, 2> threads() const {
    std::array<int, 2> count{};
    for (const auto& task : std::filesystem::directory_iterator("/proc/" + std::to_string(pid_) + "/task")) {
      std::ifstream status(task.path() / "status");
      for (std::string line; std::getline(status, line);) {
        if (line.rfind("SigBlk:", 0) != 0) continue;
        count[0] += 1;
        count[1] += (std::stoull(line.substr(7), nullptr, 16) >> (SIGINT - 1) & 1) == 0;
      }
    }
    return count;
  }
  void signal(int number) const { ::kill(pid_, number); }
  /// Exit code, or minus the signal.
  int wait() const {
    int status = 0;
    ::waitpid(pid_, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }
  std::string output() const { return content(log_); }

 private:
  std::string log_;
  pid_t pid_ = -1;
};

TEST_F(BadInput, NoOpenClPlatform) {
  Folder logs;
  const auto before = f.files();
  for (const auto& words : {denoise(), fdk() + grid, denoise() + Words{"--dry-run"}, Words{"devices"}}) {
    const Process process(words, logs / "log", "OCL_ICD_VENDORS=/nonexistent OCL_ICD_FILENAMES=");
    EXPECT_EQ(process.wait(), 2);
    EXPECT_NE(process.output().find("there is no OpenCL device"), std::string::npos) << process.output();
    EXPECT_NE(process.output().find("pocl-opencl-icd"), std::string::npos) << process.output();
  }
  const Process process({"devices", "--json"}, logs / "log", "OCL_ICD_VENDORS=/nonexistent OCL_ICD_FILENAMES=");
  EXPECT_EQ(process.wait(), 2);
  EXPECT_EQ(process.output().substr(0, 3), "[]\n") << process.output();
  EXPECT_EQ(f.files(), before);
}

TEST_F(BadInput, FileLargerThanTheLimit) {
  Folder logs;
  const auto before = f.files();
  const Process process(phantom() + Words{"--size", "32,32,32", "--spacing", "1,1,1"}, logs / "log", "ulimit -f 8;");
  EXPECT_EQ(process.wait(), 1);
  expect_contains(process.output(),
                  {"halocline phantom: error: ", "out.mha", "too large", "choose an output on another disk"});
  EXPECT_EQ(f.files(), before);
}

TEST_F(BadInput, FullDisk) {
  const std::string disk = f / "disk";
  std::filesystem::create_directory(disk);
  if (::mount("tmpfs", disk.c_str(), "tmpfs", 0, "size=64k") != 0)
    GTEST_SKIP() << "mounting a small disk is not allowed here";
  write_text(disk + "/out.mha", "older");
  const Ran ran =
      run({"phantom", "--type", "two-balls", "-o", disk + "/out.mha", "--size", "32,32,32", "--spacing", "1,1,1"});
  EXPECT_EQ(ran.code, 1);
  expect_contains(ran.err, {"out.mha", "No space left", "free some space"});
  EXPECT_EQ(content(disk + "/out.mha"), "older");
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(disk)) files += entry.is_regular_file() ? 1 : 0;
  EXPECT_EQ(files, 1);
  ::umount(disk.c_str());
}

TEST_F(BadInput, StartEndAndPartOfDenoising) {
  write_image(Volume(cube(12), 1.0f), f / "other.mha");
  write_image(Volume(default_grid({12, 12, 11}, {4, 4, 4}), 1.0f), f / "thin.mha");
  expect_refused(denoise() + Words{"--init", f / "other.mha"}, {"--init", "other.mha", "v.mha", "spacing"});
  expect_refused(denoise("v.mha", "tvgd") + Words{"--init", f / "thin.mha"}, {"--init", "thin.mha", "size"});
  expect_refused(denoise() + Words{"--init", f / "none.mha"}, {"--init", "none.mha", "does not exist"});
  for (const char* value : {"0", "-1", "soon", "nan"})
    expect_refused(denoise() + Words{"--time-limit", value}, {"--time-limit", value});
  const Words path{"--alpha-path"};
  expect_refused(denoise() + path + Words{"40,20,-10"}, {"--alpha-path", "-10"});
  expect_refused(denoise() + path + Words{"40,x"}, {"--alpha-path", "x"});
  expect_refused(denoise() + path + Words{"3/sigma,1.5/sigma"}, {"--alpha-path", "units of the noise", "give numbers"});
  expect_refused(denoise() + path + Words{","}, {"--alpha-path", "beside a comma"});
  for (const char* nothing : {"", " "}) expect_refused(denoise() + path + Words{nothing}, {"--alpha-path", "40,20,10"});
  expect_refused(denoise() + path + Words{"40,20,40"}, {"--alpha-path", "40 twice"});
  expect_refused(denoise() + path + Words{"40,20", "--alpha", "3"}, {"--alpha-path", "--alpha", "exclude"});
  expect_refused(denoise() + path + Words{"40", "--target-fidelity", "3"}, {"--alpha-path", "--target-fidelity"});
  expect_refused(denoise("v.mha", "tvgd") + path + Words{"40,20"}, {"--alpha-path", "tvgd"});
  const Words roi{"--preview-roi"};
  expect_refused(denoise() + roi + Words{"0,0,0,4,4"}, {"--preview-roi", "X,Y,Z,NX,NY,NZ"});
  expect_refused(denoise() + roi + Words{"middle"}, {"--preview-roi", "middle"});
  expect_refused(denoise() + roi + Words{"0,0,0,4,4,0"}, {"--preview-roi", "at least 1"});
  expect_refused(denoise() + roi + Words{"0,0,0.5,4,4,4"}, {"--preview-roi", "0.5"});
  expect_refused(denoise() + roi + Words{"0,9,0,4,4,4"}, {"--preview-roi", "12 x 12 x 12", "along y it ends at 13"});
  expect_refused(denoise() + roi + Words{"-1,0,0,4,4,4"}, {"--preview-roi", "-1"});
  expect_refused(denoise() + Words{"--png", f / "x.jpg"}, {"--png", "x.jpg", ".png"});
  expect_refused(denoise() + Words{"--png", f / "no/x.png"}, {"no", "does not exist"});
  std::filesystem::copy_file(f / "v.mha", f / "out_alpha40.mha");
  expect_refused(
      {"denoise", "-i", f / "out_alpha40.mha", "--method", "pdu", "--alpha-path", "20,40", "-o", f / "out.mha"},
      {"out_alpha40.mha", "input"});
}

void interrupt_and_check(const Folder& folder, const Words& words) {
  Folder logs;
  const auto before = folder.files();
  const Process process(words, logs / "log", "");
  const bool handled = process.wait_for_handler();
  std::this_thread::sleep_for(std::chrono::milliseconds(700));
  const auto start = std::chrono::steady_clock::now();
  process.signal(SIGINT);
  const int code = process.wait();
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  ASSERT_TRUE(handled) << process.output();
  EXPECT_EQ(code, 1) << process.output();
  EXPECT_LT(seconds, 20) << process.output();
  EXPECT_NE(process.output().find("halocline " + words[0] + ": error: interrupted"), std::string::npos)
      << process.output();
  EXPECT_EQ(folder.files(), before);
}

TEST_F(BadInput, InterruptedPhantom) {
  interrupt_and_check(f, phantom() + Words{"--size", "512,512,512", "--spacing", "1,1,1", "--supersampling", "16"});
}

// Steps that hardly change anything, a million of them.
const Words long_descent{"--step", "1e-9", "--iterations", "1000000"};

TEST_F(BadInputOnDevice, InterruptedDenoising) {
  interrupt_and_check(f, denoise("v.mha", "tvgd") + long_descent);
}

// Nor can it go to what drivers run: children have what is blocked from the thread that begins them.
TEST_F(BadInputOnDevice, CtrlCGoesToOneThread) {
  Folder logs;
  const Process process(denoise("v.mha", "tvgd") + long_descent, logs / "log", "");
  ASSERT_TRUE(process.wait_for_handler());
  std::this_thread::sleep_for(std::chrono::milliseconds(1500));
  const auto [all, open] = process.threads();
  process.signal(SIGTERM);
  EXPECT_EQ(process.wait(), 1) << process.output();
  EXPECT_GE(all, 2);
  EXPECT_EQ(open, 1) << "of " << all;
}

TEST_F(BadInputOnDevice, InterruptedDenoisingThatKeepsWhatThereIs) {
  Folder logs;
  const Process process(
      denoise("v.mha", "tvgd") + long_descent + Words{"--keep-partial", "--report", f / "report.json"}, logs / "log",
      "");
  ASSERT_TRUE(process.wait_for_handler());
  std::this_thread::sleep_for(std::chrono::milliseconds(sanitized ? 15000 : 1500));
  process.signal(SIGINT);
  EXPECT_EQ(process.wait(), 1) << process.output();
  expect_contains(process.output(),
                  {"denoise: error: interrupted", "out.mha' has the result after", "iterations", "||u - f||"});
  const Volume kept = read_image(f / "out.mha"), input = read_image(f / "v.mha");
  ASSERT_EQ(kept.grid.size, input.grid.size);
  for (std::size_t n = 0; n < kept.voxels.size(); ++n) ASSERT_NEAR(kept.voxels[n], input.voxels[n], 0.02) << n;
  const auto report = nlohmann::json::parse(content(f / "report.json"));
  EXPECT_EQ(report["results"]["stopped_by"], "interrupt");
  EXPECT_GT(report["results"]["iterations"].get<int>(), 0);
  EXPECT_EQ(f.files(), (std::vector<std::string>{"g.xml", "out.mha", "p.mha", "report.json", "v.mha", "w.mha"}));
}

}  // namespace
}  // namespace halocline::bad_input_test
