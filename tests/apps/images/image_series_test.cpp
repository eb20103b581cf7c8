// labels: app unit error
#include "apps/images/image_series.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "apps/images/image_file.hpp"
#include "tests/support/command_runner.hpp"
#include "tests/support/image_actions.hpp"
#include "tests/support/tiff_writer.hpp"

namespace halocline::image_series_test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(ImageSeries, NumbersInNamesAreNumbers) {
  std::vector<std::string> names{"p10.tif", "p9.tif", "p09b.tif", "a/2/x7",  "a/10/x1",
                                 "p9a.tif", "q1",     "p",        "p009.tif"};
  std::sort(names.begin(), names.end(), natural_less);
  EXPECT_THAT(names,
              ElementsAre("a/2/x7", "a/10/x1", "p", "p9.tif", "p009.tif", "p9a.tif", "p09b.tif", "p10.tif", "q1"));
  EXPECT_TRUE(natural_less("x99999999999999999999998", "x99999999999999999999999"));
  EXPECT_FALSE(natural_less("a1", "a1"));
}

TEST(ImageSeries, PatternsNameFiles) {
  const Folder f;
  for (const char* name : {"p1.tif", "p2.tif", "p10.tif", "n_08.tif", "n_09.tif", "n_10.tif", "n_100.tif", "n_9.tif",
                           "n_0a.tif", "other.txt"})
    write_text(f / name, "x");
  EXPECT_THAT(series_files(f / "p*.tif"), ElementsAre(f / "p1.tif", f / "p2.tif", f / "p10.tif"));
  EXPECT_THAT(series_files(f / "p?.tif"), ElementsAre(f / "p1.tif", f / "p2.tif"));
  EXPECT_THAT(error_of([&] { series_files(f / "n_%02d.tif"); }),
              AllOf(HasSubstr("n_11.tif' is missing"), HasSubstr("8 to 100")));
  std::filesystem::remove(f / "n_100.tif");
  EXPECT_THAT(series_files(f / "n_%02d.tif"), ElementsAre(f / "n_08.tif", f / "n_09.tif", f / "n_10.tif"));
  EXPECT_THAT(error_of([&] { series_files(f / "p%d.tif"); }), HasSubstr("p3.tif' is missing"));
}

TEST(ImageSeries, WhatIsNoSeries) {
  const Folder f;
  write_text(f / "a[1].tif", "x");
  EXPECT_TRUE(series_files(f / "a[1].tif").empty());  // a file of that name
  EXPECT_TRUE(series_files(f / "none.tif").empty());
  EXPECT_TRUE(series_files(f.path()).empty());
  for (const std::string pattern : {"x*.tif", "x%04d.tif", "no/x%d.tif"})
    EXPECT_THAT(error_of([&] { series_files(f / pattern); }),
                HasSubstr("InputError: '" + (f / pattern) + "' names no"));
}

Volume scan() {
  Grid grid{.size = {9, 7, 12}, .spacing = {6, 7, 1}, .origin = {-24, -21, 0}};
  Volume stack(grid);
  for (std::size_t n = 0; n < stack.voxels.size(); ++n)
    stack.voxels[n] = 0.5f + 0.3f * std::sin(0.37f * static_cast<float>(n));
  return stack;
}

// One file a view, whose numbers sort otherwise as text.
void write_views(const Volume& stack, const Folder& f, const std::string& extension = ".tif") {
  Grid grid = stack.grid;
  grid.size[2] = 1;
  for (std::size_t k = 0; k < stack.grid.size[2]; ++k) {
    Volume view(grid);
    std::copy_n(stack.voxels.begin() + static_cast<std::ptrdiff_t>(k * grid.count()), grid.count(),
                view.voxels.begin());
    write_image(view, f / fmt::format("p{}{}", k, extension));
  }
}

// Folders that exist are no patterns, whatever their names; others are.
TEST(ImageSeries, FoldersWithWildcardsInTheirNames) {
  const Folder f;
  for (const char* folder : {"scan [1] (x) 100%", "a*b", "what?", "back\\slash", "1"}) {
    SCOPED_TRACE(folder);
    const std::string path = f / folder;
    std::filesystem::create_directories(path + "/inner [2]");
    for (const char* name : {"/p1.tif", "/p2.tif", "/inner [2]/p7.tif"}) write_text(path + name, "x");
    EXPECT_THAT(series_files(path + "/p*.tif"), ElementsAre(path + "/p1.tif", path + "/p2.tif"));
    EXPECT_THAT(series_files(path + "/inner [2]/p*.tif"), ElementsAre(path + "/inner [2]/p7.tif"));
    EXPECT_THAT(series_files(path + "/inner*/p*.tif"), ElementsAre(path + "/inner [2]/p7.tif"));
    EXPECT_THAT(files_so_far(path + "/p[1]*.tif"), ElementsAre(path + "/p1.tif"));
    EXPECT_TRUE(series_would_hold(path + "/p*.tif", path + "/p3.tif"));
    EXPECT_TRUE(series_would_hold(path + "/inner*/p*.tif", path + "/inner [2]/p3.tif"));
    EXPECT_FALSE(series_would_hold(path + "/p*.tif", f / "p3.tif"));
  }
  EXPECT_EQ(series_files(f / "[0-9]/p*.tif").size(), 2u);
}

TEST(ImageSeries, MetaImagesAreTheStack) {
  const Volume stack = scan();
  for (const char* extension : {".mha", ".mhd", ".raw"}) {
    SCOPED_TRACE(extension);
    const Folder views;
    write_views(stack, views, extension);
    const std::string name = views / ("p*" + std::string(extension));
    const ImageInfo info = read_image_info(name);
    EXPECT_EQ(info.format, "MetaImage series");
    EXPECT_EQ(info.component, "float32");
    EXPECT_EQ(info.grid.size, stack.grid.size);
    EXPECT_EQ(info.grid.spacing, stack.grid.spacing);
    EXPECT_TRUE(is_read_in_pieces(name));
    EXPECT_TRUE(read_image(name).voxels == stack.voxels);
  }
}

#ifdef HALOCLINE_WITH_ITK

TEST(ImageSeries, TiffFilesAreTheStack) {
  const Volume stack = scan();
  const Folder views;
  write_views(stack, views);
  for (const std::string& name : {views.path(), views / "p*.tif", views / "p%d.tif"}) {
    SCOPED_TRACE(name);
    const ImageInfo info = read_image_info(name);
    EXPECT_EQ(info.format, "TIFF series");
    EXPECT_EQ(info.component, "float32");
    EXPECT_EQ(info.grid.size, stack.grid.size);
    EXPECT_TRUE(read_image(name).voxels == stack.voxels);
    // pieces that end anywhere
    const auto source = open_image(name);
    std::vector<float> piece(150);
    for (const std::size_t first : {0, 62, 63, 100, 606}) {
      source->read(first, piece.size(), piece.data());
      EXPECT_TRUE(std::equal(piece.begin(), piece.end(), stack.voxels.begin() + static_cast<std::ptrdiff_t>(first)))
          << first;
    }
  }
}

TEST(ImageSeries, FilesThatDoNotBelongAreNamed) {
  const Folder f;
  write_views(scan(), f);
  Grid grid = scan().grid;
  grid.size = {9, 6, 1};
  write_image(Volume(grid, 1), f / "p5.tif");
  for (const std::string& name : {f.path(), f / "p*.tif"})
    EXPECT_THAT(error_of([&] { read_image_info(name); }),
                AllOf(HasSubstr("InputError: '" + (f / "p5.tif") + "' has 9 x 6 pixels"), HasSubstr("p0.tif"),
                      HasSubstr("9 x 7")));
  grid.size = {9, 7, 2};
  write_image(Volume(grid, 1), f / "p5.tif");
  EXPECT_THAT(error_of([&] { read_image(f / "p*.tif"); }), AllOf(HasSubstr("p5.tif"), HasSubstr("2 slices")));
  std::filesystem::resize_file(f / "p5.tif", 100);
  EXPECT_THAT(error_of([&] { read_image(f / "p*.tif"); }), AllOf(HasSubstr("InputError"), HasSubstr("p5.tif")));
  std::filesystem::remove(f / "p5.tif");
  EXPECT_THAT(error_of([&] { read_image(f / "p%d.tif"); }), HasSubstr("p5.tif' is missing"));
  EXPECT_EQ(read_image(f / "p*.tif").grid.size[2], 11u);
  Volume bad = scan();
  bad.voxels[63 * 3 + 10] = std::nanf("");
  write_views(bad, f);
  EXPECT_THAT(error_of([&] { read_image(f.path()); }), HasSubstr("(1,1,3)"));
}

// Two files of 2 x 3 bytes; the second has other tags.
std::string series_of_two(const Folder& f, const TiffWriter::Tags& first, const TiffWriter::Tags& second) {
  for (const auto& [name, others] : {std::pair("p1.tif", first), {"p2.tif", second}}) {
    TiffWriter::Tags tags{{256, {2}}, {257, {3}}, {258, {8}}, {259, {1}},
                          {262, {1}}, {277, {1}}, {278, {3}}, {339, {1}}};
    for (const auto& [tag, values] : others) tags[tag] = values;
    TiffWriter writer;
    writer.page(tags, {std::string(tags[258][0] / 8 * 6, '\1')});
    write_text(f / name, writer.file());
  }
  return f / "p*.tif";
}

TEST(ImageSeries, TiffFilesOfAnotherMeaningAreNamed) {
  const Folder f;
  const auto refused = [&](const TiffWriter::Tags& first, const TiffWriter::Tags& second, const std::string& reason) {
    const std::string pattern = series_of_two(f, first, second);
    for (const std::string& name : {pattern, f.path(), f / "p%d.tif"}) {
      EXPECT_THAT(error_of([&] { read_image(name); }),
                  AllOf(HasSubstr("InputError: '" + (f / "p2.tif") + "'"), HasSubstr(f / "p1.tif"), HasSubstr(reason)));
      EXPECT_EQ(error_of([&] { read_image_info(name); }), error_of([&] { read_image(name); }));
    }
    EXPECT_THAT(error_of([&] { require_same_kind(f / "p2.tif", f / "p1.tif", pattern); }), HasSubstr(reason));
  };
  refused({}, {{262, {0}}}, "is white-is-zero (TIFF tag 262)");
  refused({{262, {0}}}, {}, "is black-is-zero (TIFF tag 262)");
  refused({}, {{274, {6}}}, "has the orientation 6 (TIFF tag 274)");
  // all alike
  EXPECT_EQ(read_image(series_of_two(f, {{262, {0}}}, {{262, {0}}})).voxels, std::vector<float>(12, 1));
}

TEST(ImageSeries, TiffFilesOfOtherPixelsAreWarnedOf) {
  const auto warned = [](const TiffWriter::Tags& first, const TiffWriter::Tags& second) {
    const Folder f;
    const Ran ran = done({"metrics", "-i", series_of_two(f, first, second)});
    return ran.err;
  };
  const auto pixels = [](std::uint64_t a_unit, std::uint64_t unit) {
    return TiffWriter::Tags{{282, {a_unit, 1}}, {283, {a_unit, 1}}, {296, {unit}}};
  };
  EXPECT_THAT(warned(pixels(20, 3), pixels(40, 3)), AllOf(HasSubstr("p2.tif' has pixels of 0.25 x 0.25 mm"),
                                                          HasSubstr("p1.tif' and pixels of 0.5 x 0.5 mm")));
  EXPECT_THAT(warned(pixels(20, 3), pixels(20, 2)), HasSubstr("p2.tif' has pixels of 1.27 x 1.27 mm"));
  EXPECT_THAT(warned(pixels(20, 3), {}), HasSubstr("1 x 1 mm (taken where a file says none)"));
  EXPECT_THAT(warned({}, pixels(20, 3)), HasSubstr("p2.tif' has pixels of 0.5 x 0.5 mm"));
  EXPECT_THAT(warned({}, {{258, {16}}}),
              AllOf(HasSubstr("p2.tif'"), HasSubstr("holds uint16"), HasSubstr("holds uint8")));
  EXPECT_THAT(warned(pixels(20, 3), pixels(20, 3)), testing::Not(HasSubstr("p2.tif'")));
}

TEST(ImageSeries, FdkOfTiffFilesIsThatOfTheStack) {
  if (!has_device()) GTEST_SKIP() << "no OpenCL device";
  const Folder f, views;
  Volume stack = scan();
  // 36 views
  stack.grid.size[2] = 36;
  const std::vector<float> once = stack.voxels;
  for (int n = 0; n < 2; ++n) stack.voxels.insert(stack.voxels.end(), once.begin(), once.end());
  write_views(stack, views);
  write_image(stack, f / "stack.mha");
  ASSERT_EQ(
      run({"geometry", "circular", "--sid", "500", "--sdd", "800", "--projections", "36", "-o", f / "g.xml"}).code, 0);
  const auto fdk = [&](const std::string& input, const std::string& output, Words more) {
    Words words{"fdk", "-i", input, "--geometry", f / "g.xml", "--size", "5,6,3", "--spacing", "3,3,3", "-o", output};
    words.insert(words.end(), more.begin(), more.end());
    return run(words);
  };
  ASSERT_EQ(fdk(f / "stack.mha", f / "expected.mha", {}).code, 0);
  for (const std::string& name : {views.path(), views / "p*.tif", views / "p%d.tif"}) {
    const Ran ran = fdk(name, f / "found.mha", {"--pixel", "6,7"});
    ASSERT_EQ(ran.code, 0) << ran.err;
    EXPECT_TRUE(content(f / "found.mha") == content(f / "expected.mha")) << name;
  }
  const Ran without = fdk(views.path(), f / "x.mha", {});
  EXPECT_EQ(without.code, 2);
  EXPECT_THAT(without.err, AllOf(HasSubstr(views.path()), HasSubstr("--pixel DU,DV")));
  // none of its files may be replaced
  const std::string before = content(views / "p3.tif");
  for (const std::string& name : {views.path(), views / "p*.tif"}) {
    const Ran ran = fdk(name, views / "p3.tif", {"--pixel", "6,7"});
    EXPECT_EQ(ran.code, 2);
    EXPECT_THAT(ran.err, HasSubstr("is the input of -i"));
  }
  EXPECT_TRUE(content(views / "p3.tif") == before);
  EXPECT_EQ(fdk(views / "q*.tif", f / "x.mha", {"--pixel", "6,7"}).code, 2);
}

#endif

}  // namespace
}  // namespace halocline::image_series_test
