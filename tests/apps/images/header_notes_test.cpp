// labels: app itk
// Header entries beside grid and type are copied from input to output where both have one format.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <limits>

#include "apps/images/image_file.hpp"
#include "tests/support/command_runner.hpp"

#ifdef HALOCLINE_WITH_ITK

namespace halocline::header_notes_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// nifti1.h
template <typename T>
void put(std::string& bytes, std::size_t at, T value) {
  std::memcpy(bytes.data() + at, &value, sizeof value);
}
template <typename T>
T value_at(const std::string& bytes, std::size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

struct Codes {
  std::int16_t qform = 1, sform = 4;
  float sform_shift = 0;  // mm, by which the second transform differs from the first
};

// 5 x 4 x 3 of int16 that mean 0.123456789 stored - 1000.
std::string nifti_file(const Codes& codes = {}, float slope = 0.123456789f) {
  std::string bytes(352, '\0');
  put<std::int32_t>(bytes, 0, 348);
  for (const auto& [n, size] : {std::pair(0, 3), {1, 5}, {2, 4}, {3, 3}, {4, 1}, {5, 1}, {6, 1}, {7, 1}})
    put<std::int16_t>(bytes, static_cast<std::size_t>(40 + 2 * n), static_cast<std::int16_t>(size));
  put<std::int16_t>(bytes, 70, 4);  // int16
  put<std::int16_t>(bytes, 72, 16);
  const float spacing[] = {1, 1.5f, 2, 2.5f};
  for (std::size_t n = 0; n < 4; ++n) put<float>(bytes, 76 + 4 * n, spacing[n]);
  put<float>(bytes, 108, 352);
  put<float>(bytes, 112, slope);
  put<float>(bytes, 116, -1000);
  bytes[123] = 2;  // mm
  std::memcpy(bytes.data() + 148, "a tooth, scanned on a Monday", 28);
  std::memcpy(bytes.data() + 228, "tooth.aux", 9);
  put<std::int16_t>(bytes, 252, codes.qform);
  put<std::int16_t>(bytes, 254, codes.sform);
  const float offset[] = {-1, -2, -3};
  for (std::size_t n = 0; n < 3; ++n) {
    put<float>(bytes, 268 + 4 * n, offset[n]);
    put<float>(bytes, 280 + 16 * n + 4 * n, spacing[n + 1]);
    put<float>(bytes, 280 + 16 * n + 12, offset[n] + codes.sform_shift);
  }
  std::memcpy(bytes.data() + 344, "n+1", 4);
  for (std::int16_t n = 0; n < 60; ++n) {
    const auto value = static_cast<std::int16_t>(n % 2 == 0 ? 8000 : 8003);
    bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  return bytes;
}

std::string unpacked(const std::string& path) {
  std::string bytes(1 << 16, '\0');
  gzFile file = gzopen(path.c_str(), "rb");
  const int got = gzread(file, bytes.data(), static_cast<unsigned>(bytes.size()));
  gzclose(file);
  bytes.resize(static_cast<std::size_t>(std::max(got, 0)));
  return bytes;
}

Ran denoise(const std::string& input, const std::string& output, const std::string& type) {
  return run({"denoise", "-i", input, "--method", "median", "-o", output, "--output-type", type});
}

TEST(HeaderNotes, ScaledNiftiIsReadAsBefore) {
  const Folder f;
  write_text(f / "v.nii", nifti_file());
  const ImageInfo info = read_image_info(f / "v.nii");
  EXPECT_EQ(info.component, "int16");
  EXPECT_EQ(info.scaling.slope, 0.123456789f);
  EXPECT_EQ(info.scaling.offset, -1000);
  const Volume volume = read_image(f / "v.nii");
  EXPECT_EQ(volume.voxels[0], static_cast<float>(8000 * static_cast<double>(0.123456789f) - 1000));
  EXPECT_EQ(volume.voxels[1], static_cast<float>(8003 * static_cast<double>(0.123456789f) - 1000));
}

TEST(HeaderNotes, NiftiKeepsSlopeDescriptionAndCodes) {
  if (!has_device()) GTEST_SKIP() << "no OpenCL device";
  const Folder f;
  write_text(f / "v.nii", nifti_file());
  const std::string input = content(f / "v.nii");
  for (const char* name : {"same.nii", "same.nii.gz"}) {
    SCOPED_TRACE(name);
    const Ran ran = denoise(f / "v.nii", f / name, "same");
    ASSERT_EQ(ran.code, 0) << ran.err;
    const std::string header = unpacked(f / name);
    ASSERT_EQ(header.size(), 352u + 120);
    EXPECT_EQ(value_at<std::int16_t>(header, 70), 4);
    EXPECT_EQ(value_at<float>(header, 112), 0.123456789f);
    EXPECT_EQ(value_at<float>(header, 116), -1000);
    EXPECT_STREQ(header.c_str() + 148, "a tooth, scanned on a Monday");
    EXPECT_STREQ(header.c_str() + 228, "tooth.aux");
    EXPECT_EQ(value_at<std::int16_t>(header, 252), 1);
    EXPECT_EQ(value_at<std::int16_t>(header, 254), 4);
    EXPECT_EQ(header.substr(280, 48), input.substr(280, 48));
    EXPECT_EQ(value_at<std::int16_t>(header, 352 + 2 * 31) % 8000 % 3, 0);  // a number that is stored
    EXPECT_EQ(read_image_info(f / name).component, "int16");
  }
  // also as float32, where there is nothing to scale
  ASSERT_EQ(denoise(f / "v.nii", f / "float.nii", "float32").code, 0);
  const std::string header = unpacked(f / "float.nii");
  EXPECT_STREQ(header.c_str() + 148, "a tooth, scanned on a Monday");
  EXPECT_EQ(value_at<std::int16_t>(header, 254), 4);
  EXPECT_EQ(value_at<std::int16_t>(header, 70), 16);
}

TEST(HeaderNotes, ACodeOfAnotherTransformIsNotKept) {
  const Folder f;
  write_text(f / "v.nii", nifti_file({2, 4, 10}));  // two places: ITK takes one and writes it twice
  const Grid grid = read_image_info(f / "v.nii").grid;
  ASSERT_EQ(run({"noise", "-i", f / "v.nii", "--photons", "1e4", "-o", f / "n.nii"}).code, 0);
  const std::string header = unpacked(f / "n.nii");
  const auto taken = static_cast<std::int16_t>(grid.origin[2] == -3 ? 2 : 4);
  EXPECT_EQ(value_at<std::int16_t>(header, 252), taken);
  EXPECT_EQ(value_at<std::int16_t>(header, 254), taken);
}

template <typename T>
std::string nifti_with(std::size_t at, T value, std::string bytes = nifti_file()) {
  put<T>(bytes, at, value);
  return bytes;
}

std::string told_of(const std::string& path) {
  const Ran ran = run({"metrics", "-i", path});
  return ran.code == 0 ? ran.err : fmt::format("code {}: {}", ran.code, ran.err);
}

TEST(HeaderNotes, NiftiScalesThatAreNone) {
  const Folder f;
  constexpr float nan = std::numeric_limits<float>::quiet_NaN(), infinity = std::numeric_limits<float>::infinity();
  int n = 0;
  const auto with = [&](float slope, float offset, bool floats) {
    std::string bytes = nifti_with(116, offset, nifti_file({}, slope));
    if (floats) {
      put<std::int16_t>(bytes, 70, 16);
      put<std::int16_t>(bytes, 72, 32);
      bytes.resize(352);
      for (int voxel = 0; voxel < 60; ++voxel) bytes.append(std::string("\0\0\xfa\x45", 4));  // 8000
    }
    const std::string path = f / fmt::format("v{}.nii", n++);
    write_text(path, bytes);
    return path;
  };
  for (const bool floats : {false, true}) {
    const std::string zero = with(0, 5, floats);
    EXPECT_THAT(told_of(zero), AllOf(HasSubstr(zero), HasSubstr("scl_inter (5) is passed over")));
    EXPECT_EQ(read_image(zero).voxels[0], 8000);
    EXPECT_EQ(read_image_info(zero).component, floats ? "float32" : "int16");
    for (const float offset : {0.0f, nan}) EXPECT_EQ(read_image(with(nan, offset, floats)).voxels[0], 8000);
    EXPECT_FLOAT_EQ(read_image(with(1e-17f, 0, floats)).voxels[0], 8e-14f);
    for (const auto& [slope, offset] :
         {std::pair(nan, 5.0f), {infinity, 0.0f}, {2.0f, nan}, {2.0f, infinity}, {1.0f, nan}})
      EXPECT_THAT(told_of(with(slope, offset, floats)), AllOf(HasSubstr("code 2"), HasSubstr("scl_slope, scl_inter")));
  }
}

TEST(HeaderNotes, NiftiHeadersOutOfRangeAreRefusedByName) {
  const Folder f;
  const std::string path = f / "v.nii";
  const auto with = [&](const std::string& bytes) {
    write_text(path, bytes);
    return told_of(path);
  };
  const auto refused = [&](const char* what) { return AllOf(HasSubstr("code 2"), HasSubstr(path), HasSubstr(what)); };
  EXPECT_THAT(with(nifti_with(46, std::int16_t{-3})), refused("-3 samples along axis 3"));
  EXPECT_THAT(with(nifti_with(44, std::int16_t{0})), refused("0 samples along axis 2"));
  EXPECT_THAT(with(nifti_with(48, std::int16_t{-3}, nifti_with(40, std::int16_t{4}))),
              refused("-3 samples along axis 4"));
  EXPECT_THAT(with(nifti_with(40, std::int16_t{9})), refused("9 axes in dim[0]"));
  EXPECT_THAT(with(nifti_with(84, 0.0f)), refused("4 samples along axis 2 are 0 apart (pixdim[2])"));
  EXPECT_THAT(with(nifti_with(84, -2.0f)), refused("are -2 apart"));
  EXPECT_THAT(with(nifti_with(84, std::numeric_limits<float>::quiet_NaN())), refused("pixdim"));
  EXPECT_THAT(with(nifti_with(108, 0.0f)), refused("begin at byte 0 (vox_offset)"));
  EXPECT_THAT(with(nifti_with(108, -5.0f)), refused("at byte -5 (vox_offset)"));
  EXPECT_THAT(with(nifti_with(108, 352.5f)), refused("at byte 352.5 (vox_offset)"));
  EXPECT_THAT(with(nifti_with(72, std::int16_t{8})), refused("8 bits a voxel (bitpix), but its datatype 4 has 16"));
  EXPECT_THAT(with(nifti_with(123, '\5')), refused("the unit 5 (xyzt_units)"));
  EXPECT_THAT(with(nifti_with(344, 'x')), refused("does not say 'n+1'"));
  EXPECT_THAT(with(nifti_with(256, 1.0f, nifti_with(260, 1.0f))), refused("a quaternion (1 1 0)"));
  EXPECT_THAT(with(nifti_with(284, 1.0f, nifti_file({0, 1}))), refused("places the voxels by its sform"));
  EXPECT_THAT(with(nifti_file().substr(0, 200)), refused("has 200 bytes, where a NIfTI header has 348"));
  // one slice of unknown thickness
  const std::string slice = nifti_with(88, 0.0f, nifti_with(46, std::int16_t{1}, nifti_file({1, 0})));
  EXPECT_THAT(with(slice), AllOf(HasSubstr(path), HasSubstr("pixdim[3]"), HasSubstr("taken for 1 mm")));
}

TEST(HeaderNotes, NiftiInPairsAndPacked) {
  const Folder f;
  std::string header = nifti_with(344, std::array{'n', 'i', '1', '\0'}, nifti_with(108, 0.0f));
  write_text(f / "v.img", header.substr(352));
  EXPECT_THAT(told_of(f / "v.img"), AllOf(HasSubstr("code 2"), HasSubstr("v.hdr"), HasSubstr("is missing")));
  write_text(f / "v.hdr", header.substr(0, 348));
  for (const char* name : {"v.hdr", "v.img"})
    EXPECT_EQ(read_image(f / name).voxels[0], static_cast<float>(8000 * static_cast<double>(0.123456789f) - 1000));
  EXPECT_EQ(read_image_info(f / "v.img").component, "int16");
  std::filesystem::rename(f / "v.img", f / "w.img");
  EXPECT_THAT(told_of(f / "v.hdr"), AllOf(HasSubstr("code 2"), HasSubstr("v.img' are missing")));
  std::filesystem::rename(f / "w.img", f / "v.img");
  // Analyze 7.5 has other fields where NIfTI has scale, unit and transforms
  header = nifti_with(344, 0, nifti_with(123, '\1', header));
  for (std::size_t at = 256; at < 344; ++at) header[at] = '\x7f';
  write_text(f / "v.hdr", header.substr(0, 348));
  EXPECT_EQ(read_image(f / "v.hdr").voxels[0], 8000);
  EXPECT_FLOAT_EQ(static_cast<float>(read_image(f / "v.hdr").grid.spacing[0]), 1.5f);
  // a checksum that is wrong
  const std::string packed = f / "v.nii.gz", bytes = nifti_file();
  gzFile file = gzopen(packed.c_str(), "wb");
  gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size()));
  gzclose(file);
  std::string damaged = content(packed);
  damaged[damaged.size() - 6] ^= 0x55;
  write_text(packed, damaged);
  EXPECT_THAT(told_of(packed), AllOf(HasSubstr("code 2"), HasSubstr(packed), HasSubstr("checksum")));
  write_text(packed, content(packed).substr(0, content(packed).size() - 12));
  EXPECT_THAT(told_of(packed), AllOf(HasSubstr("code 2"), HasSubstr(packed), HasSubstr("gzip stream breaks off")));
}

TEST(HeaderNotes, NiftiThatLiesInTwoPlacesIsWarnedOf) {
  const Folder f;
  const std::string differ = "its qform and its sform place the voxels differently; the ";
  write_text(f / "a.nii", nifti_file());
  EXPECT_THAT(told_of(f / "a.nii"), testing::Not(HasSubstr("qform")));
  for (const auto& [name, bytes] : {std::pair("shifted.nii", nifti_file({1, 1, 10})),
                                    {"turned.nii", nifti_with(280, -1.5f, nifti_file({1, 1}))},
                                    {"scaled.nii", nifti_with(280, 3.0f, nifti_file({1, 1}))}}) {
    write_text(f / name, bytes);
    const Grid grid = read_image_info(f / name).grid;
    const bool by_q = grid.origin[2] == -3 && grid.direction[0] == -1;
    EXPECT_THAT(told_of(f / name), testing::Not(HasSubstr("code")));
    write_text(f / (std::string("other_") + name), bytes);
    EXPECT_THAT(told_of(f / (std::string("other_") + name)),
                AllOf(HasSubstr(name), HasSubstr(differ + (by_q ? "qform" : "sform") + " is taken")));
  }
}

// Lengths of NIfTI may be in m or micrometres, those of the origin, too.
TEST(HeaderNotes, NiftiOfOtherUnitsHasItsOriginInThem) {
  const Folder f;
  for (const auto& [unit, mm] : {std::pair('\1', 1000.0), {'\2', 1.0}, {'\3', 1e-3}})
    for (const auto& [qform, sform] : {std::pair(1, 4), {1, 0}, {0, 1}}) {
      std::string bytes = nifti_file({static_cast<std::int16_t>(qform), static_cast<std::int16_t>(sform)});
      bytes[123] = unit;
      write_text(f / "v.nii", bytes);
      for (const Grid& grid : {read_image_info(f / "v.nii").grid, read_image(f / "v.nii").grid}) {
        EXPECT_NEAR(grid.spacing[1], 2 * mm, 1e-6 * mm);
        EXPECT_NEAR(grid.origin[0], 1 * mm, 1e-6 * mm);
        EXPECT_NEAR(grid.origin[1], 2 * mm, 1e-6 * mm);
        EXPECT_NEAR(grid.origin[2], -3 * mm, 1e-6 * mm);
      }
    }
}

TEST(HeaderNotes, NrrdKeepsKeysOfItsWriters) {
  const Folder f;
  std::string text =
      "NRRD0004\ntype: float\ndimension: 3\nspace: right-anterior-superior\nsizes: 2 2 2\n"
      "space directions: (1.5,0,0) (0,2,0) (0,0,2.5)\nspace origin: (1,2,3)\nencoding: raw\nendian: little\n"
      "content: a tooth\nscanner:=number 7\nnote:=two words\n\n";
  const std::vector<float> values{1, 2, 3, 4, 5, 6, 7, 8};
  text.append(reinterpret_cast<const char*>(values.data()), 4 * values.size());
  write_text(f / "p.nrrd", text);
  ASSERT_EQ(run({"noise", "-i", f / "p.nrrd", "--photons", "1e4", "-o", f / "n.nrrd"}).code, 0);
  const std::string written = content(f / "n.nrrd");
  EXPECT_THAT(written,
              AllOf(HasSubstr("content: a tooth\n"), HasSubstr("scanner:=number 7\n"), HasSubstr("note:=two words\n")));
  const Grid before = read_image_info(f / "p.nrrd").grid, after = read_image_info(f / "n.nrrd").grid;
  EXPECT_EQ(before.origin, after.origin);
  EXPECT_EQ(before.direction, after.direction);
  // to another format they do not go
  ASSERT_EQ(run({"noise", "-i", f / "p.nrrd", "--photons", "1e4", "-o", f / "n.nii"}).code, 0);
  EXPECT_THAT(unpacked(f / "n.nii"), testing::Not(HasSubstr("tooth")));
}

TEST(HeaderNotes, RescaledValuesInNifti) {
  if (!has_device()) GTEST_SKIP() << "no OpenCL device";
  const Folder f;
  Grid grid{.size = {5, 4, 3}};
  Volume volume(grid);
  for (std::size_t n = 0; n < volume.voxels.size(); ++n) volume.voxels[n] = 0.01f * static_cast<float>(n % 7);
  write_image(volume, f / "v.mha");
  done({"denoise", "-i", f / "v.mha", "--method", "gaussian", "-o", f / "d.nii", "--output-type", "uint16",
        "--rescale"});
  ASSERT_EQ(run({"denoise", "-i", f / "v.mha", "--method", "gaussian", "-o", f / "d.mha"}).code, 0);
  const Volume found = read_image(f / "d.nii"), expected = read_image(f / "d.mha");
  EXPECT_EQ(read_image_info(f / "d.nii").component, "uint16");
  for (std::size_t n = 0; n < found.voxels.size(); ++n) EXPECT_NEAR(found.voxels[n], expected.voxels[n], 0.06 / 65535);
}

}  // namespace
}  // namespace halocline::header_notes_test

#endif
