// labels: app itk
// Volumes that are written as one TIFF file a slice.
#include "apps/images/slice_files.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cmath>
#include <filesystem>

#include "apps/images/image_file.hpp"
#include "apps/options/file_names.hpp"
#include "host/system/error.hpp"
#include "tests/support/command_runner.hpp"
#include "tests/support/image_actions.hpp"

namespace halocline::slice_files_test {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(SliceFiles, TheRule) {
  EXPECT_TRUE(names_slice_files("a/v_%03d.tif"));
  EXPECT_TRUE(names_slice_files("v%d.TIFF"));
  EXPECT_FALSE(names_slice_files("v.tif"));
  EXPECT_FALSE(names_slice_files("a_%d/v.tif"));  // a folder's number is a frame's
  EXPECT_FALSE(names_slice_files("v_%03d.mha"));
  EXPECT_EQ(slice_file("a/v_%03d.tif", 7), "a/v_007.tif");
  for (const char* name : {"v_%03d.mha", "v_%d.nrrd", "v_%02d.nii.gz", "v%d.raw"})
    EXPECT_THAT(error_of([&] { check_writable(name); }),
                AllOf(HasSubstr("InputError"), HasSubstr(name), HasSubstr("one volume")));
  for (const char* name : {"w_%s.tif", "w_%5d%%.tif", "w_%u.tiff"})
    EXPECT_THAT(error_of([&] { check_writable(name); }), AllOf(HasSubstr("InputError"), HasSubstr("give %d, or %04d")));
  for (const char* name : {"50%.mha", "5% dose.tif", "50%sure.mha"}) EXPECT_NO_THROW(check_writable(name));
  // with frames the first place is theirs
  EXPECT_EQ(numbered("-o", "f_%02d_%03d.tif", 4), "f_04_%03d.tif");
  EXPECT_EQ(numbered("-o", "f_%02d/s_%03d.tif", 4), "f_04/s_%03d.tif");
  EXPECT_EQ(numbered("-o", "f_%02d.mha", 4), "f_04.mha");
}

#ifdef HALOCLINE_WITH_ITK

Ran phantom(const std::string& output, const Words& more = {}) {
  return run(Words{"phantom", "--type", "shepp-logan", "--size", "9,7,12", "--spacing", "2,2,2", "-o", output} + more);
}

TEST(SliceFiles, AVolumeIsReadBack) {
  const Folder f, series;
  ASSERT_EQ(phantom(f / "v.mha").code, 0);
  const Ran ran = phantom(series / "v_%02d.tif");
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("TIFF keeps neither origin nor direction nor slice spacing"));
  ASSERT_EQ(series.files().size(), 12u);
  EXPECT_EQ(series.files().front(), "v_00.tif");
  EXPECT_EQ(series.files().back(), "v_11.tif");
  const Volume volume = read_image(f / "v.mha");
  for (const std::string& name : {series / "v_%02d.tif", series / "v*.tif", series.path()}) {
    EXPECT_EQ(read_image_info(name).grid.size, volume.grid.size);
    EXPECT_EQ(read_image(name).voxels, volume.voxels) << name;
  }
  EXPECT_EQ(read_image(series / "v_05.tif").grid.size[2], 1u);
}

TEST(SliceFiles, ProjectionsAndTypes) {
  const Folder f, series;
  ASSERT_EQ(run({"geometry", "circular", "--sid", "100", "--sdd", "200", "--projections", "5", "-o", f / "g.xml"}).code,
            0);
  const auto project = [&](const std::string& output) {
    return run({"project", "--phantom", "shepp-logan", "--phantom-size", "10", "-g", f / "g.xml", "--detector", "9,7",
                "--pixel", "3,3", "-o", output});
  };
  ASSERT_EQ(project(f / "p.mha").code, 0);
  ASSERT_EQ(project(series / "p_%d.tif").code, 0);
  EXPECT_THAT(series.files(), ElementsAre("p_0.tif", "p_1.tif", "p_2.tif", "p_3.tif", "p_4.tif"));
  EXPECT_EQ(read_image(series / "p_%d.tif").voxels, read_image(f / "p.mha").voxels);
  // in pieces, and of another type
  Grid grid{.size = {5, 4, 3}};
  Volume volume(grid);
  for (std::size_t n = 0; n < volume.voxels.size(); ++n) volume.voxels[n] = static_cast<float>(n);
  const auto sink = create_image(series / "u%02d.tif", grid, {Component::uint8, {}});
  sink->begin();
  copy_voxels(MemorySource(volume), *sink);
  EXPECT_FALSE(fs::exists(series / "u00.tif"));
  sink->commit();
  EXPECT_EQ(read_image_info(series / "u%02d.tif").component, "uint8");
  EXPECT_EQ(read_image(series / "u%02d.tif").voxels, volume.voxels);
}

TEST(SliceFiles, FilesOfALongerSeriesAreTold) {
  const Folder f;
  for (const char* name : {"v_012.tif", "v_013.tif"}) write_text(f / name, "x");
  const Ran ran = phantom(f / "v_%03d.tif");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.err, AllOf(HasSubstr("2 files are left of a longer series"), HasSubstr("v_012.tif"),
                             HasSubstr("remove them")));
  EXPECT_EQ(content(f / "v_012.tif"), "x");
  EXPECT_EQ(phantom(f / "v_%03d.tif").code, 0);  // again: those of the series itself are replaced
}

TEST(SliceFiles, InputsAreNeverReplaced) {
  const Folder f;
  ASSERT_EQ(phantom(f / "v_%02d.tif").code, 0);
  const std::string before = content(f / "v_03.tif");
  fs::create_hard_link(f / "v_03.tif", f / "hard.tif");
  for (const std::string& input : {f / "v_%02d.tif", f / "v*.tif", f.path(), f / "v_03.tif", f / "hard.tif"}) {
    const Ran ran = run({"denoise", "-i", input, "--method", "median", "-o", f / "v_%02d.tif"});
    EXPECT_EQ(ran.code, 2) << input;
    EXPECT_THAT(ran.err, HasSubstr("is the input of -i")) << input;
  }
  EXPECT_EQ(content(f / "v_03.tif"), before);
  const Ran ran = run({"phantom", "--type", "shepp-logan", "--size", "9,7,3", "--spacing", "2,2,2", "-o",
                       f / "v_%02d.tif", "--report", f / "v_01.tif"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, HasSubstr("give each output a name of its own"));
}

TEST(SliceFiles, AllOrNothing) {
  const Folder f;
  fs::create_directory(f / "v_07.tif");
  const Ran ran = phantom(f / "v_%02d.tif");
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, AllOf(HasSubstr("v_07.tif"), HasSubstr("is a folder")));
  EXPECT_THAT(f.files(), ElementsAre("v_07.tif"));
  write_text(f / "w_%d.tif", "x");
  EXPECT_THAT(phantom(f / "w_%d.tif").err, HasSubstr("a file of that very name"));
  // more slices than a process may have open files
  const int status = in_child([&] {
    rlimit limit{40, 40};
    setrlimit(RLIMIT_NOFILE, &limit);
    Grid grid{.size = {2, 2, 100}};
    write_image(Volume(grid, 1), f / "many_%d.tif");
    return 0;
  });
  EXPECT_EQ(status, 0);
  EXPECT_EQ(read_image(f / "many_%d.tif").grid.size[2], 100u);
}

#endif

}  // namespace
}  // namespace halocline::slice_files_test
