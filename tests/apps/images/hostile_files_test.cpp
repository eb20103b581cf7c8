// labels: app error dealt
// Inputs that are no files, that never end, that may not be read or that are made to overwhelm their reader: all are
// refused by name, at once, and with exit code 2.
#include <gmock/gmock.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "apps/images/image_file.hpp"
#include "tests/support/command_process.hpp"
#include "tests/support/compressed_images.hpp"

namespace halocline::hostile_files_test {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class HostileFiles : public testing::Test {
 protected:
  // A child: it may wait for ever, or end by a signal.
  Ran refused(const Words& words) const {
    const Ran ran = run_child(words, f_, [] {
      ::alarm(30);
      return true;
    });
    EXPECT_EQ(ran.code, 2) << words[0] << " " << words.back() << ": " << ran.out;
    EXPECT_LT(ran.out.size(), 3000u);
    return ran;
  }
  Words angles(const std::string& file) const {
    return {"geometry", "circular", "--sid", "500", "--sdd", "750", "--angles", file, "-o", f_ / "g.xml"};
  }
  Words machine(const std::string& file) const { return {"plan", "--machine", file, "--method", "pdu", "--size", "8"}; }
  Words denoise(const std::string& file) const {
    return {"denoise", "-i", file, "--method", "pdu", "--alpha", "1", "-o", f_ / "o.mha"};
  }
  Words fdk(const std::string& projections, const std::string& geometry) const {
    return {"fdk", "-i", projections, "-g", geometry, "-o", f_ / "o.mha"};
  }
  std::string nested(const std::string& open, const std::string& close, std::size_t depth) const {
    std::string text;
    for (std::size_t n = 0; n < depth; ++n) text += open;
    for (std::size_t n = 0; n < depth; ++n) text += close;
    return text;
  }
  Volume cube() const {
    Grid grid{.size = {4, 4, 4}};
    return Volume(grid, 1.0f);
  }

  Folder f_;
};

TEST_F(HostileFiles, AGeometryOfManyLevels) {
  const std::string file = f_ / "deep.xml";
  write_text(file, "<RTKThreeDCircularGeometry version=\"3\">\n" + nested("<a>", "</a>", 30000) +
                       "</RTKThreeDCircularGeometry>");
  EXPECT_THAT(refused({"geometry", "show", file}).out, AllOf(HasSubstr("deep.xml, line 2"), HasSubstr("32 deep")));
  write_text(file, nested("<a>", "</a>", 30000));
  refused({"geometry", "show", file});
}

TEST_F(HostileFiles, AMachineOfManyLevels) {
  const std::string file = f_ / "deep.json";
  write_text(file, "{\"name\": " + nested("[", "]", 200000) + "}");
  EXPECT_THAT(refused(machine(file)).out, AllOf(HasSubstr("deep.json"), HasSubstr("32 deep")));
}

// 20 GB of zeros, of which the disk holds none.
TEST_F(HostileFiles, GeometriesThatAreTooLarge) {
  for (const char* name : {"x.raw", "x.xml", "x.txt", "x.xtekct", "x.pca", "x.json", "x.nii"}) {
    const std::string file = f_ / name;
    write_text(file, "");
    std::error_code code;
    fs::resize_file(file, std::uintmax_t{20} << 30, code);
    if (code) GTEST_SKIP() << "the disk has no files so large: " << code.message();
    EXPECT_THAT(refused({"geometry", "show", file}).out, HasSubstr(name));
    refused(fdk(f_ / "p.mha", file));
    EXPECT_THAT(refused(angles(file)).out, AllOf(HasSubstr("--angles"), HasSubstr(name)));
    EXPECT_THAT(refused(machine(file)).out, AllOf(HasSubstr("--machine"), HasSubstr(name)));
    refused({"metrics", "-i", file});
  }
  struct rusage usage {};
  ::getrusage(RUSAGE_CHILDREN, &usage);
  EXPECT_LT(usage.ru_maxrss, 500 * 1000);  // KiB
}

TEST_F(HostileFiles, ImagesThatAreTooLarge) {
  for (const char* beginning : {"", "NRRD0004\n", "NDims = 3\n", "II*", "DICM", "\x1f\x8b\x08"})
    for (const char* name :
         {"x.mha", "x.mhd", "x.nrrd", "x.nhdr", "x.nii", "x.nii.gz", "x.tif", "x.dcm", "x.h5", "x"}) {
      const std::string file = f_ / name;
      write_text(file, beginning);
      std::error_code code;
      fs::resize_file(file, std::uintmax_t{20} << 30, code);
      if (code) GTEST_SKIP() << "the disk has no files so large: " << code.message();
      EXPECT_THAT(refused({"metrics", "-i", file}).out, HasSubstr(name)) << beginning;
    }
  struct rusage usage {};
  ::getrusage(RUSAGE_CHILDREN, &usage);
  EXPECT_LT(usage.ru_maxrss, 500 * 1000);
}

// A text is refused at its first piece if that is binary, and what is reported of it is short.
TEST_F(HostileFiles, TextsThatAreNone) {
  const std::string file = f_ / "x.txt", long_word(2000000, 'x');
  write_text(file, std::string("1 2 3\n\0\n", 8));
  for (const Words& words : {Words{"geometry", "show", file}, angles(file), machine(file)})
    EXPECT_THAT(refused(words).out, AllOf(HasSubstr("x.txt"), HasSubstr("binary data (byte 6 is 0)")));
  for (const std::string& text :
       {long_word, "# format: " + long_word, "<a>" + long_word, "[XTekCT]\nSrcToObject=" + long_word}) {
    write_text(file, text);
    for (const Words& words : {Words{"geometry", "show", file}, angles(file), machine(file)}) refused(words);
  }
  write_text(file, "<RTKThreeDCircularGeometry version=\"3\"><Projection><GantryAngle>" + long_word +
                       "\x1b[2J</GantryAngle></Projection></RTKThreeDCircularGeometry>");
  EXPECT_THAT(refused({"geometry", "show", file}).out, HasSubstr("one finite number is expected"));
}

TEST_F(HostileFiles, PipesAndDevicesAreNoFiles) {
  for (const char* name : {"pipe", "pipe.mha", "pipe.raw", "pipe.nii", "pipe.tif", "pipe.xml", "pipe.h5"})
    ASSERT_EQ(::mkfifo((f_ / name).c_str(), 0600), 0);
  write_image(cube(), f_ / "p.mha");
  const auto is_none = [](const std::string& name) {
    return AllOf(HasSubstr("error: "), HasSubstr(name), HasSubstr("is not a regular file"));
  };
  for (const auto& name : f_.files()) {
    if (!name.starts_with("pipe")) continue;
    const std::string pipe = f_ / name;
    for (const Words& words : {denoise(pipe), Words{"geometry", "show", pipe}, angles(pipe), machine(pipe)})
      EXPECT_THAT(refused(words).out, AllOf(is_none(name), HasSubstr("pipe"))) << words[0];
    EXPECT_THAT(refused(fdk(f_ / "p.mha", pipe)).out, is_none(name));
  }
  for (const char* device : {"/dev/zero", "/dev/null"}) {
    for (const Words& words : {denoise(device), Words{"geometry", "show", device}, angles(device), machine(device)})
      EXPECT_THAT(refused(words).out, AllOf(is_none(device), HasSubstr("a device")));
  }
}

TEST_F(HostileFiles, HeadersThatPointElsewhere) {
  ASSERT_EQ(::mkfifo((f_ / "pipe").c_str(), 0600), 0);
  ASSERT_EQ(::mkfifo((f_ / "slice2").c_str(), 0600), 0);
  write_text(f_ / "slice1", "1234");
  for (const std::string target : {"/dev/zero", "pipe"}) {
    write_text(f_ / "x.mhd", "NDims = 3\nDimSize = 2 2 2\nElementType = MET_UCHAR\nElementDataFile = " + target + "\n");
    EXPECT_THAT(refused(denoise(f_ / "x.mhd")).out, AllOf(HasSubstr(target), HasSubstr("is not a regular file")));
  }
#ifdef HALOCLINE_WITH_ITK
  for (const std::string target :
       {"/dev/zero", "pipe", "slice%d 1 2 1", "slice%01d 2 1 -1", "LIST\nslice1\nslice2", "LIST 2\nslice1\nslice2"}) {
    write_text(f_ / "x.nhdr",
               "NRRD0004\ntype: uint8\ndimension: 3\nsizes: 2 2 2\nencoding: raw\nData File: " + target + "\n");
    EXPECT_THAT(refused(denoise(f_ / "x.nhdr")).out, HasSubstr("is not a regular file")) << target;
  }
  write_image(cube(), f_ / "x.nii");
  std::string header = content(f_ / "x.nii").substr(0, 352);
  header.replace(344, 4, std::string("ni1\0", 4));
  write_text(f_ / "x.hdr", header);
  ASSERT_EQ(::mkfifo((f_ / "x.img").c_str(), 0600), 0);
  for (const char* name : {"x.hdr", "x.img"})
    EXPECT_THAT(refused(denoise(f_ / name)).out, AllOf(HasSubstr("x.img"), HasSubstr("is not a regular file")));
#endif
}

// Input format: several files of voxels behind a header of NRRD.
#ifdef HALOCLINE_WITH_ITK
TEST_F(HostileFiles, HeadersThatPointAtFilesAreRead) {
  write_text(f_ / "slice1", "1234");
  write_text(f_ / "slice2", "5678");
  for (const std::string target : {"slice%d 1 2 1", "LIST\nslice1\nslice2"}) {
    write_text(f_ / "x.nhdr",
               "NRRD0004\ntype: uint8\ndimension: 3\nsizes: 2 2 2\nencoding: raw\ndata file: " + target + "\n");
    const Volume volume = read_image(f_ / "x.nhdr");
    EXPECT_THAT(volume.voxels, testing::ElementsAre('1', '2', '3', '4', '5', '6', '7', '8')) << target;
  }
}
#endif

class Forbidden : public HostileFiles {
 protected:
  void SetUp() override {
    ::chmod(f_.path().c_str(), 0777);
    if (run_child({"--version"}, f_, become_nobody).code != 0)
      GTEST_SKIP() << "other users cannot run " << HALOCLINE_COMMAND;
  }
  void TearDown() override {
    for (const auto& name : f_.files()) ::chmod((f_ / name).c_str(), 0700);
  }
  static bool become_nobody() {
    constexpr unsigned nobody = 65534;
    ::alarm(30);
    return ::geteuid() != 0 || (::setgroups(0, nullptr) == 0 && ::setgid(nobody) == 0 && ::setuid(nobody) == 0);
  }
  void expect_forbidden(const Words& words, const std::string& name) const {
    const Ran ran = run_child(words, f_, become_nobody);
    EXPECT_EQ(ran.code, 2) << ran.out;
    EXPECT_THAT(ran.out, AllOf(HasSubstr(name), HasSubstr("ermission denied"), HasSubstr("chmod"))) << words[0];
  }
};

TEST_F(Forbidden, Files) {
  for (const char* name : {"x.mha", "x.nii", "x.tif", "x.nrrd", "x", "x.xml", "x.txt", "x.pca", "x.h5", "x.json"}) {
    write_text(f_ / name, "something");
    ASSERT_EQ(::chmod((f_ / name).c_str(), 0), 0);
    const std::string file = f_ / name;
    for (const Words& words : {denoise(file), Words{"geometry", "show", file}, angles(file), machine(file)})
      expect_forbidden(words, name);
  }
}

TEST_F(Forbidden, FilesThatHeadersName) {
  write_text(f_ / "x.mhd", "NDims = 3\nDimSize = 2 2 2\nElementType = MET_UCHAR\nElementDataFile = x.raw\n");
  write_text(f_ / "x.raw", "12345678");
  ASSERT_EQ(::chmod((f_ / "x.raw").c_str(), 0), 0);
  expect_forbidden(denoise(f_ / "x.mhd"), "x.raw");
  expect_forbidden(denoise(f_ / "x.raw"), "x.raw");
}

TEST_F(Forbidden, Folders) {
  fs::create_directory(f_ / "sealed");
  write_image(cube(), f_ / "sealed/x.mha");
  write_text(f_ / "sealed/a_001.tif", "something");
  ASSERT_EQ(::chmod((f_ / "sealed").c_str(), 0), 0);
  for (const char* name : {"sealed", "sealed/x.mha", "sealed/*.tif", "sealed/a_%03d.tif", "sealed/none"})
    expect_forbidden(denoise(f_ / name), "sealed");
  for (const char* name : {"sealed/a_%03d.tif", "sealed/*.tif", "sealed"})
    expect_forbidden({"slices", "--follow", "-i", f_ / name, "-g", f_ / "g.xml", "--pixel", "1,1", "--size", "9,9,9",
                      "--spacing", "1,1,1", "-o", f_ / "a.mha,b.mha,c.mha"},
                     "sealed");
  for (const Words& words :
       {Words{"geometry", "show", f_ / "sealed/g.xml"}, angles(f_ / "sealed/a"), machine(f_ / "sealed/m")})
    expect_forbidden(words, "sealed");
}

#ifdef HALOCLINE_WITH_ITK
// A folder with a pipe among its files.
TEST_F(HostileFiles, SeriesWithAPipe) {
  fs::create_directory(f_ / "s");
  ASSERT_EQ(::mkfifo((f_ / "s/b.tif").c_str(), 0600), 0);
  EXPECT_THAT(refused(denoise(f_ / "s")).out, AllOf(HasSubstr("b.tif"), HasSubstr("is not a regular file")));
  EXPECT_THAT(refused(denoise(f_ / "s/*.tif")).out, AllOf(HasSubstr("b.tif"), HasSubstr("is not a regular file")));
  fs::rename(f_ / "s/b.tif", f_ / "s/b");
  EXPECT_THAT(refused(denoise(f_ / "s")).out, HasSubstr("holds no DICOM series"));
}

// An unknown tag of a compressed TIFF: libtiff has something to say.
TEST_F(HostileFiles, NoiseOfLibrariesIsTold) {
  write_itk_image(cube(), f_ / "x.tif", true);
  std::string bytes = content(f_ / "x.tif");
  const auto place = bytes.find(std::string("\x31\x01\x02\x00", 4));  // tag 305, a text: the name of the program
  ASSERT_NE(place, std::string::npos);
  bytes.replace(place, 2, "\xe8\xfd");  // 65000
  write_text(f_ / "x.tif", bytes);
  const Ran quiet = run({"metrics", "-i", f_ / "x.tif"});
  EXPECT_THAT(quiet.err, Not(HasSubstr("TIFFReadDirectory")));
  const Ran all = run({"metrics", "-i", f_ / "x.tif", "--log-level", "debug"});
  EXPECT_EQ(all.code, quiet.code);
  EXPECT_THAT(all.err, AllOf(HasSubstr("halocline: debug: libtiff: "), HasSubstr("TIFFReadDirectory")));
}
#endif

}  // namespace
}  // namespace halocline::hostile_files_test
