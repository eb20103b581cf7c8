// labels: app itk
// Slices of DICOM are placed as each frame and each file says, in any order; files that make no volume are named.
#include "apps/images/dicom_frames.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "apps/images/image_file.hpp"
#include "host/system/error.hpp"
#include "tests/support/command_runner.hpp"
#include "tests/support/dicom_writer.hpp"
#include "tests/support/enhanced_dicom.hpp"
#include "tests/support/refusal.hpp"

#ifdef HALOCLINE_WITH_ITK

namespace halocline::dicom_frames_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// Frames at 10, 20, 30 + 2 k mm.
EnhancedDicom stack(const std::vector<int>& order, double step = 2) {
  EnhancedDicom file;
  for (const int k : order) {
    EnhancedDicom::Frame frame;
    frame.position = fmt::format("10\\20\\{}", 30 + step * k);
    frame.mark = k;
    file.frames.push_back(frame);
  }
  return file;
}

// Expects the place and contents of frame k of stack().
void expect_stack(const std::string& path, int count, double step = 2) {
  const Volume volume = read_image(path);
  EXPECT_EQ(read_image_info(path).grid.size, volume.grid.size);
  ASSERT_EQ(volume.grid.size, (std::array<std::size_t, 3>{3, 2, static_cast<std::size_t>(count)}));
  EXPECT_NEAR(volume.grid.spacing[0], 0.5, 1e-12);
  EXPECT_NEAR(volume.grid.spacing[1], 0.25, 1e-12);
  EXPECT_NEAR(volume.grid.spacing[2], std::abs(step), 1e-9);
  for (int k = 0; k < count; ++k) {
    const auto index = volume.grid.index(10, 20, 30 + step * k);
    EXPECT_NEAR(index[0], 0, 1e-9);
    EXPECT_NEAR(index[1], 0, 1e-9);
    ASSERT_NEAR(index[2], std::round(index[2]), 1e-9);
    ASSERT_TRUE(index[2] > -0.5 && index[2] < count - 0.5);
    for (std::size_t n = 0; n < 6; ++n)
      EXPECT_EQ(volume.voxels[6 * static_cast<std::size_t>(std::lround(index[2])) + n], static_cast<float>(100 * k) + n)
          << "frame " << k << ", pixel " << n;
  }
}

TEST(DicomFrames, LieWhereTheySay) {
  const Folder f;
  for (const auto& order : {std::vector<int>{0, 1, 2, 3, 4, 5},
                            {0, 1, 3, 2, 4, 5},
                            {0, 2, 4, 1, 3, 5},
                            {5, 4, 3, 2, 1, 0},
                            {3, 0, 5, 1, 4, 2}})
    for (const double step : {2.0, -2.0}) {
      SCOPED_TRACE(fmt::format("{} by {}", fmt::join(order, ","), step));
      stack(order, step).write(f / "e.dcm");
      expect_stack(f / "e.dcm", 6, step);
    }
}

TEST(DicomFrames, AreReadFromEveryEncoding) {
  const Folder f;
  for (const DicomSyntax syntax :
       {DicomSyntax::explicit_little, DicomSyntax::implicit_little, DicomSyntax::explicit_big})
    for (const bool open : {false, true})
      for (const bool shared : {false, true}) {
        SCOPED_TRACE(fmt::format("syntax {}, open {}, shared {}", static_cast<int>(syntax), open, shared));
        EnhancedDicom file = stack({2, 0, 3, 1});
        file.syntax = syntax;
        file.open = open;
        file.shared = shared;
        file.write(f / "e.dcm");
        expect_stack(f / "e.dcm", 4);
      }
}

// Rows along (0.6, 0.8, 0), columns along z: the normal is (0.8, -0.6, 0).
TEST(DicomFrames, MayStandObliquely) {
  const Folder f;
  EnhancedDicom file = stack({1, 2, 0});
  for (auto& frame : file.frames) {
    frame.orientation = "0.6\\0.8\\0\\0\\0\\1";
    frame.position = fmt::format("{}\\{}\\5", 1 + 0.8 * 1.5 * frame.mark, 2 - 0.6 * 1.5 * frame.mark);
  }
  file.write(f / "e.dcm");
  const Volume volume = read_image(f / "e.dcm");
  EXPECT_NEAR(volume.grid.spacing[2], 1.5, 1e-9);
  const auto at = volume.grid.world(2, 1, 2);
  EXPECT_NEAR(at[0], 1 + 0.6 * 0.5 * 2 + 0.8 * 3, 1e-9);
  EXPECT_NEAR(at[1], 2 + 0.8 * 0.5 * 2 - 0.6 * 3, 1e-9);
  EXPECT_NEAR(at[2], 5 + 0.25, 1e-9);
  EXPECT_EQ(volume.at(2, 1, 2), 205);
}

TEST(DicomFrames, HaveRescalesOfTheirOwn) {
  const Folder f;
  EnhancedDicom file = stack({2, 0, 1});
  for (auto& frame : file.frames) frame.slope = "2", frame.intercept = "-1024";
  file.write(f / "same.dcm");
  const Volume same = read_image(f / "same.dcm");
  for (std::size_t k = 0; k < 3; ++k) EXPECT_EQ(same.at(1, 1, k), 2 * (100.0f * static_cast<float>(k) + 4) - 1024);
  EXPECT_NE(read_image_info(f / "same.dcm").component, "float32");
  for (auto& frame : file.frames) {
    frame.slope = fmt::format("{}", 0.5 + frame.mark);
    frame.intercept = fmt::format("{}", -10 * frame.mark);
  }
  file.write(f / "each.dcm");
  EXPECT_EQ(read_image_info(f / "each.dcm").component, "float32");
  const Volume each = read_image(f / "each.dcm");
  for (std::size_t k = 0; k < 3; ++k)
    EXPECT_EQ(each.at(1, 1, k),
              (0.5f + static_cast<float>(k)) * (100.0f * static_cast<float>(k) + 4) - 10.0f * static_cast<float>(k));
}

TEST(DicomFrames, ThatMakeNoVolumeAreNamed) {
  const Folder f;
  const std::string path = f / "e.dcm";
  const auto refused = [&](const EnhancedDicom& file) {
    file.write(path);
    return refusal_of([&] { read_image(path); });
  };
  EXPECT_THAT(refused(stack({0, 1, 2, 4, 5})), AllOf(HasSubstr(path), HasSubstr("frame 4 of"), HasSubstr("frame 3 of"),
                                                     HasSubstr("4 mm"), HasSubstr("a slice is missing")));
  EXPECT_THAT(refused(stack({0, 1, 5, 2})), HasSubstr("2 slices are missing"));
  EXPECT_THAT(refused(stack({0, 1, 1, 2})),
              AllOf(HasSubstr("two slices at one place"), HasSubstr("frame 2 of"), HasSubstr("frame 3 of")));
  EnhancedDicom file = stack({0, 1, 2});
  file.frames[1].position = "10\\20\\32.3";
  EXPECT_THAT(refused(file), AllOf(HasSubstr("not evenly spaced"), HasSubstr("2.3 mm")));
  file = stack({0, 1, 2});
  file.shared = false;
  file.frames[2].orientation = "0\\1\\0\\-1\\0\\0";
  EXPECT_THAT(refused(file), AllOf(HasSubstr("different orientations"), HasSubstr("frame 3 of")));
  file.frames[2] = file.frames[1];
  file.frames[2].spacing = "0.3\\0.5";
  EXPECT_THAT(refused(file), AllOf(HasSubstr("different pixels"), HasSubstr("0.5 x 0.3")));
  file = stack({0, 1, 0, 1});
  for (std::size_t n = 0; n < 4; ++n) file.frames[n].time = n < 2 ? 1 : 2;
  EXPECT_THAT(refused(file), AllOf(HasSubstr("two slices at one place"), HasSubstr("temporal position 2")));
  file = stack({0, 1, 2});
  file.frames[1].position.clear();
  EXPECT_THAT(refused(file), AllOf(HasSubstr("frame 2 has no position")));
  file = stack({0, 1, 2});
  file.frames[1].position = "10\\23\\32";
  EXPECT_THAT(refused(file), AllOf(HasSubstr("beside"), HasSubstr("frame 2 of")));
  for (auto& frame : file.frames) frame.position = fmt::format("10\\{}\\{}", 20 + frame.mark, 30 + 2 * frame.mark);
  EXPECT_THAT(refused(file), HasSubstr("sheared"));
  file = stack({0, 1, 2});
  file.frames[1].position = "10\\x\\32";
  EXPECT_THAT(refused(file), HasSubstr("finite numbers"));
  file = stack({0, 1});
  file.frames[0].slope = "0", file.frames[0].intercept = "0";
  EXPECT_THAT(refused(file), HasSubstr("RescaleSlope of frame 1 is 0"));
}

// Stacks of two orientations in one file.
TEST(DicomFrames, OfSeveralStacksAreNamed) {
  const Folder f;
  EnhancedDicom file = stack({0, 1, 2, 3});
  file.shared = false;
  for (std::size_t n = 0; n < 4; ++n) file.frames[n].stack = n < 2 ? "AXIAL" : "SAGITTAL";
  for (std::size_t n = 2; n < 4; ++n) file.frames[n].orientation = "0\\1\\0\\0\\0\\-1";
  file.write(f / "e.dcm");
  EXPECT_THAT(refusal_of([&] { read_image(f / "e.dcm"); }), AllOf(HasSubstr("'AXIAL'"), HasSubstr("'SAGITTAL'")));
}

TEST(DicomFrames, WithoutGroupsGoByWhatElseTheFileSays) {
  const Folder f;
  const std::string path = f / "e.dcm";
  EnhancedDicom file = stack({0, 1, 2});
  file.sop_class = "1.2.840.10008.5.1.4.1.1.7.3";  // secondary capture of several frames
  const auto write = [&](std::uint32_t tag, const std::string& text) {
    const auto more = [=](DicomBytes& to) { to.element(tag, "DS", text); };
    file.early = file.late = nullptr;
    (tag < 0x00200000 ? file.early : file.late) = more;
    file.write(path, false);
  };
  write(0x3004000c, "0\\2\\4");
  expect_stack(path, 3);
  write(0x3004000c, "30\\28\\26");  // z coordinates
  expect_stack(path, 3, -2);
  write(0x3004000c, "0\\2\\5");
  EXPECT_THAT(refusal_of([&] { read_image(path); }), HasSubstr("not evenly spaced"));
  write(0x00180088, "2");
  expect_stack(path, 3);
  write(0x00180088, "-2");
  expect_stack(path, 3, -2);
}

TEST(DicomFrames, WithNothingButAThicknessAreTold) {
  const Folder f;
  EnhancedDicom file = stack({0, 1, 2});
  file.sop_class = "1.2.840.10008.5.1.4.1.1.7.3";
  file.early = [](DicomBytes& to) { to.element(0x00180050, "DS", "2"); };
  file.write(f / "t.dcm", false);
  const Ran shown = done({"metrics", "-i", f / "t.dcm"});
  EXPECT_THAT(shown.err, AllOf(HasSubstr("SliceThickness"), HasSubstr("2 mm")));
  expect_stack(f / "t.dcm", 3);
  file.early = nullptr;
  file.write(f / "n.dcm", false);
  EXPECT_THAT(run({"metrics", "-i", f / "n.dcm"}).err, HasSubstr("1 mm apart"));
}

TEST(DicomFrames, OfTooFewBytesAreTruncated) {
  const Folder f;
  const std::string path = f / "e.dcm";
  for (const DicomSyntax syntax :
       {DicomSyntax::explicit_little, DicomSyntax::implicit_little, DicomSyntax::explicit_big})
    for (const std::size_t missing : {std::size_t{6}, std::size_t{1}}) {
      EnhancedDicom file = stack({0, 1, 2, 3});
      file.syntax = syntax;
      file.missing = missing;
      file.write(path);
      EXPECT_THAT(refusal_of([&] { read_image(path); }),
                  HasSubstr(fmt::format("'{}' is truncated: its pixel data has {} bytes, 2 x 3 x 4 pixels of 16 bits "
                                        "need 48",
                                        path, 48 - 2 * missing)));
      EXPECT_THAT(refusal_of([&] { read_image_info(path); }), HasSubstr("truncated"));
      file.write(path, false);
      EXPECT_THAT(refusal_of([&] { read_image(path); }), HasSubstr("truncated"));
      // as long as its pixel data say, but the file ends before
      file.missing = 0;
      file.write(path);
      std::filesystem::resize_file(path, std::filesystem::file_size(path) - 2 * missing);
      EXPECT_THAT(refusal_of([&] { read_image(path); }), HasSubstr(fmt::format("has {} bytes", 48 - 2 * missing)));
    }
}

// Frames of 3 x 3 pixels of 8 bits, which a byte of padding follows.
TEST(DicomFrames, OfOneImageAFileAreComplete) {
  const Folder f;
  std::filesystem::create_directory(f / "s");
  DicomWriter dicom;
  dicom.instead = {{"rows", "3"}, {"bits", "8"}, {"stored", "8"}, {"high", "7"}};
  for (int n = 0; n < 3; ++n)
    dicom.write(fmt::format("{}/{}.dcm", f / "s", n), "7", n, n, std::vector<std::int16_t>(5, 0x0101));
  EXPECT_EQ(read_image(f / "s").at(2, 2, 2), 2 - 1024);
  dicom.write(f / "s/1.dcm", "7", 1, 1, std::vector<std::int16_t>(4, 0x0101));
  for (const std::string& path : {f / "s", f / "s/*.dcm", f / "s/1.dcm"})
    EXPECT_THAT(refusal_of([&] { read_image(path); }),
                HasSubstr("1.dcm' is truncated: its pixel data has 8 bytes, 3 x 3 x 1 pixels of 8 bits need 9"));
}

// 0.4 degrees: 0.007 mm to the side for each mm.
TEST(DicomFrames, MayLieHalfAPixelBesideTheirNormal) {
  const Folder f;
  const auto shear = [&](int count, double u, double v) {
    std::vector<int> order(static_cast<std::size_t>(count));
    for (int k = 0; k < count; ++k) order[static_cast<std::size_t>(k)] = k;
    EnhancedDicom file = stack(order);
    for (auto& frame : file.frames)
      frame.position = fmt::format("{}\\{}\\{}", 10 + u * frame.mark, 20 + v * frame.mark, 30 + 2 * frame.mark);
    file.write(f / "e.dcm");
    return refusal_of([&] { read_image(f / "e.dcm"); });
  };
  EXPECT_EQ(shear(18, 0.014, 0), "");  // 0.238 mm of pixels of 0.5 mm
  EXPECT_THAT(shear(20, 0.014, 0), AllOf(HasSubstr("sheared"), HasSubstr("frame 20 of"), HasSubstr("0.266 mm")));
  EXPECT_EQ(shear(9, 0, 0.014), "");  // 0.112 mm of pixels of 0.25 mm
  EXPECT_THAT(shear(11, 0, 0.014), AllOf(HasSubstr("sheared"), HasSubstr("frame 11 of"), HasSubstr("0.14 mm")));
}

TEST(DicomFrames, WithoutPositionsKeepTheirPixels) {
  const Folder f;
  EnhancedDicom file = stack({0, 1, 2});
  for (auto& frame : file.frames) frame.position.clear();
  file.early = [](DicomBytes& to) { to.element(0x00180088, "DS", "3"); };
  for (const bool with_groups : {true, false}) {
    const std::string path = f / fmt::format("{}.dcm", with_groups);
    if (!with_groups) file.sop_class = "1.2.840.10008.5.1.4.1.1.7.3";
    file.write(path, with_groups);
    EXPECT_THAT(run({"metrics", "-i", path}).err,
                AllOf(HasSubstr("no positions"), HasSubstr("3 mm"), HasSubstr("SpacingBetweenSlices")));
    EXPECT_EQ(read_image(path).grid.spacing, (std::array<double, 3>{0.5, 0.25, 3}));
    EXPECT_EQ(read_image_info(path).grid.spacing, (std::array<double, 3>{0.5, 0.25, 3}));
  }
  for (auto& frame : file.frames) frame.spacing.clear();
  file.write(f / "none.dcm", false);
  EXPECT_THAT(run({"metrics", "-i", f / "none.dcm"}).err, HasSubstr("no PixelSpacing"));
}

TEST(DicomFrames, OfOneImageAFileWithoutAPixelSizeAreWarnedOf) {
  const Folder f;
  const auto shown = [&](const std::string& folder, const std::map<std::string, std::string>& instead) {
    std::filesystem::create_directory(f / folder);
    DicomWriter dicom;
    dicom.instead = instead;
    for (int n = 0; n < 3; ++n)
      dicom.write(fmt::format("{}/{}.dcm", f / folder, n), "7", n, n, std::vector<std::int16_t>(6));
    return run({"metrics", "-i", f / folder}).err;
  };
  EXPECT_THAT(shown("a", {}), Not(HasSubstr("warning")));
  EXPECT_THAT(shown("b", {{"spacing", "1\\1"}}), Not(HasSubstr("warning")));
  const std::string none = shown("c", {{"spacing", ""}});
  EXPECT_THAT(none, AllOf(HasSubstr("no PixelSpacing"), HasSubstr("1 x 1 mm")));
  EXPECT_EQ(none.find("PixelSpacing"), none.rfind("PixelSpacing")) << "once a folder:\n" << none;
  EXPECT_THAT(shown("d", {{"spacing", ""}, {"imager", "0.3\\0.2"}}), HasSubstr("ImagerPixelSpacing says 0.2 x 0.3 mm"));
}

TEST(DicomFrames, WithoutARescaleAmongOthersAreNamed) {
  const Folder f;
  const std::string path = f / "e.dcm";
  EnhancedDicom file = stack({0, 1, 2});
  const auto refused = [&] {
    file.write(path);
    const std::string message = refusal_of([&] { read_image(path); });
    EXPECT_EQ(message, refusal_of([&] { read_image_info(path); }));
    return message;
  };
  for (auto& frame : file.frames) frame.slope = "2", frame.intercept = "-1000";
  EXPECT_EQ(refused(), "");
  file.frames[1].slope.clear();  // and so its intercept
  EXPECT_THAT(refused(), AllOf(HasSubstr(path), HasSubstr("frame 2 has no RescaleSlope"), HasSubstr("frame 1 is 2")));
  for (auto& frame : file.frames) frame.slope = "1", frame.intercept = "-1000";
  file.frames[2].intercept.clear();
  EXPECT_THAT(refused(), AllOf(HasSubstr("frame 3 has no RescaleIntercept"), HasSubstr("frame 1 is -1000")));
  // values that mean none may be left out
  for (auto& frame : file.frames) frame.slope = "1", frame.intercept = "0";
  file.frames[0].slope.clear();
  EXPECT_EQ(refused(), "");
}

// Attributes of one frame, as EnhancedDicom writes them.
DicomBytes rescale_group(const DicomBytes& to, const std::string& slope, const std::string& intercept) {
  DicomBytes values = to.inner(), item = to.inner();
  values.element(0x00281052, "DS", intercept);
  values.element(0x00281053, "DS", slope);
  item.sequence(0x00289145, {values});
  return item;
}

TEST(DicomFrames, WithTwoRescalesEachAreNamed) {
  const Folder f;
  const std::string path = f / "e.dcm";
  const auto refused = [&](const std::string& slope, const std::string& intercept) {
    EnhancedDicom file = stack({0, 1});
    file.sop_class = "1.2.840.10008.5.1.4.1.1.6.2";  // of ultrasound, which needs no places
    for (auto& frame : file.frames) frame.position.clear();
    file.late = [&](DicomBytes& to) {
      to.sequence(0x52009229, {rescale_group(to, "2", "-1000")});
      to.sequence(0x52009230, {rescale_group(to, "2", "-1000"), rescale_group(to, slope, intercept)});
    };
    file.write(path, false);
    return refusal_of([&] { read_image(path); });
  };
  EXPECT_EQ(refused("2", "-1000"), "");
  EXPECT_THAT(refused("3", "-1000"), AllOf(HasSubstr(path), HasSubstr("frame 2 has the RescaleSlope '3'"),
                                           HasSubstr("all frames together"), HasSubstr("'2'")));
  EXPECT_THAT(refused("2", "0"), HasSubstr("frame 2 has the RescaleIntercept '0'"));
}

TEST(DicomFrames, OfAFileWithoutARescaleAmongOthersAreNamed) {
  const Folder f;
  std::filesystem::create_directory(f / "s");
  DicomWriter dicom;
  for (const bool with_places : {true, false})
    for (int n = 0; n < 3; ++n) {
      dicom.instead = {{"slope", "1"}, {"intercept", n == 1 ? "" : "-1000"}};
      if (!with_places) dicom.instead["position"] = "";
      dicom.write(fmt::format("{}/{}.dcm", f / "s", n), "7", n, n, std::vector<std::int16_t>(6));
      if (n < 2) continue;
      for (const std::string& path : with_places ? std::vector{f / "s", f / "s/*.dcm"} : std::vector{f / "s/*.dcm"})
        EXPECT_THAT(refusal_of([&] { read_image(path); }),
                    AllOf(HasSubstr("'" + path + "'"), HasSubstr("1.dcm' has no RescaleIntercept"),
                          HasSubstr("0.dcm' is -1000")));
    }
}

TEST(DicomFrames, WithoutAnOrientationAreNamed) {
  const Folder f;
  const std::string path = f / "e.dcm";
  const auto refused = [&](const std::function<void(EnhancedDicom&)>& change, bool with_groups = true) {
    EnhancedDicom file = stack({0, 1, 2});
    file.shared = false;
    change(file);
    file.write(path, with_groups);
    return refusal_of([&] { read_image(path); });
  };
  EXPECT_THAT(refused([](EnhancedDicom& file) {
                for (auto& frame : file.frames) frame.orientation.clear();
              }),
              AllOf(HasSubstr(path), HasSubstr("frame 1 has a position, but no orientation (PlaneOrientation"),
                    HasSubstr(".mha")));
  EXPECT_THAT(refused([](EnhancedDicom& file) {
                for (auto& frame : file.frames) frame.orientation.clear(), frame.position.clear();
              }),
              AllOf(HasSubstr(path), HasSubstr("its frames have no orientation"), HasSubstr(".mha")));
  EXPECT_THAT(refused([](EnhancedDicom& file) { file.frames[1].orientation = "1\\0\\0\\0\\1"; }),
              HasSubstr("the orientation of frame 2 has 5 numbers, 6 are expected"));
  EXPECT_THAT(refused([](EnhancedDicom& file) { file.frames[0].position = "1\\2"; }, false),
              HasSubstr("the position of the image has 2 numbers, 3 are expected"));
  EXPECT_THAT(refused(
                  [](EnhancedDicom& file) {
                    for (auto& frame : file.frames) frame.position.clear();
                    file.late = [](DicomBytes& to) {
                      DicomBytes item = to.inner();
                      item.sequence(0x00209113, {});
                      to.sequence(0x52009230, {item, item, item});
                    };
                  },
                  false),
              HasSubstr("frame 1 has a PlanePositionSequence without an item"));
}

TEST(DicomFrames, OfOneBitOrASlopeOfZeroAreRefused) {
  const Folder f;
  EnhancedDicom file = stack({0, 1, 2});
  file.bits = 1;
  file.write(f / "e.dcm");
  EXPECT_THAT(refusal_of([&] { read_image(f / "e.dcm"); }), AllOf(HasSubstr("e.dcm"), HasSubstr("pixels of 1 bit;")));
  DicomWriter dicom;
  dicom.instead = {{"bits", "1"}, {"stored", "1"}, {"high", "0"}};
  dicom.write(f / "c.dcm", "7", 1, 0, std::vector<std::int16_t>(6));
  EXPECT_THAT(refusal_of([&] { read_image(f / "c.dcm"); }), AllOf(HasSubstr("c.dcm"), HasSubstr("pixels of 1 bit;")));
  dicom.instead = {{"slope", "0"}};
  dicom.write(f / "c.dcm", "7", 1, 0, std::vector<std::int16_t>(6));
  EXPECT_THAT(refusal_of([&] { read_image(f / "c.dcm"); }), AllOf(HasSubstr("c.dcm"), HasSubstr("RescaleSlope is 0")));
}

// A folder, and a pattern whose order of names is another.
TEST(DicomFrames, OfSeveralFilesLieWhereTheySay) {
  const Folder f;
  std::filesystem::create_directory(f / "s");
  DicomWriter dicom;
  const std::vector<int> order{3, 0, 2, 1};
  for (std::size_t n = 0; n < 4; ++n) {
    std::vector<std::int16_t> pixels(6, static_cast<std::int16_t>(order[n]));
    dicom.write(fmt::format("{}/{}.dcm", f / "s", n), "7", static_cast<int>(n), 50 - 1.25 * order[n], pixels);
  }
  for (const std::string& path : {f / "s", f / "s/*.dcm"}) {
    SCOPED_TRACE(path);
    const Volume volume = read_image(path);
    EXPECT_EQ(read_image_info(path).grid.size, volume.grid.size);
    ASSERT_EQ(volume.grid.size[2], 4u);
    EXPECT_EQ(volume.grid.spacing[2], 1.25);
    for (int k = 0; k < 4; ++k) {
      const auto index = volume.grid.index(10, 20, 50 - 1.25 * k);
      EXPECT_EQ(volume.at(0, 0, static_cast<std::size_t>(std::lround(index[2]))), 2.0f * static_cast<float>(k) - 1024);
    }
  }
  dicom.instead["position"] = "";
  dicom.write(f / "s/4.dcm", "7", 4, 0, std::vector<std::int16_t>(6));
  EXPECT_THAT(refusal_of([&] { read_image(f / "s"); }),
              AllOf(HasSubstr("4.dcm"), HasSubstr("does not say where it lies")));
  dicom.instead = {{"spacing", "0.5\\0.3"}};
  dicom.write(f / "s/4.dcm", "7", 4, 51.25, std::vector<std::int16_t>(6));
  EXPECT_THAT(refusal_of([&] { read_image(f / "s"); }), AllOf(HasSubstr("4.dcm"), HasSubstr("different pixels")));
}

}  // namespace
}  // namespace halocline::dicom_frames_test

#endif
