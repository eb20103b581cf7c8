// labels: app
// Images that are read without ITK: whatever both read has the same grid, type, notes and values, to the bit.
#include "apps/images/stored_image.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <numbers>
#include <optional>

#include "apps/images/image_file.hpp"
#include "tests/support/command_runner.hpp"
#include "tests/support/image_actions.hpp"
#ifdef HALOCLINE_WITH_ITK
#include "apps/images/itk_image.hpp"
#endif

namespace halocline::stored_image_test {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

Volume values_of(const std::string& path) {
  return read_volume(*open_stored_image(*stored_image(path), path));
}

#ifdef HALOCLINE_WITH_ITK
bool same_bits(const Volume& a, const Volume& b) {
  return a.voxels.size() == b.voxels.size() &&
         std::memcmp(a.voxels.data(), b.voxels.data(), a.voxels.size() * sizeof(float)) == 0;
}

// True if the file is read here; it is then read through ITK, too.
bool is_read_as_by_itk(const std::string& path) {
  std::optional<StoredImage> image;
  try {
    image = stored_image(path);
  } catch (const InputError&) {
  }
  if (!image) return false;
  ImageInfo info;
  try {
    info = read_itk_image_info(path);
  } catch (const InputError&) {  // a list of files
    return false;
  }
  EXPECT_EQ(image->info.grid.size, info.grid.size) << path;
  EXPECT_EQ(image->info.grid.spacing, info.grid.spacing) << path;
  EXPECT_EQ(image->info.grid.origin, info.grid.origin) << path;
  EXPECT_EQ(image->info.grid.direction, info.grid.direction) << path;
  EXPECT_EQ(image->info.component, info.component) << path;
  EXPECT_EQ(image->info.format, info.format) << path;
  EXPECT_EQ(image->info.scaling, info.scaling) << path;
  EXPECT_EQ(image->info.notes.format, info.notes.format) << path;
  EXPECT_EQ(image->info.notes.entries, info.notes.entries) << path;
  const Volume expected = to_volume(read_itk_typed(path)), found = values_of(path);
  EXPECT_TRUE(same_bits(found, expected)) << path;
  Volume part(expected.grid);  // by pieces that do not end with rows
  const auto source = open_stored_image(*image, path);
  for (std::size_t at = 0; at < part.voxels.size(); at += 7)
    source->read(at, std::min<std::size_t>(7, part.voxels.size() - at), part.voxels.data() + at);
  EXPECT_TRUE(same_bits(part, expected)) << path << " in pieces";
  return true;
}

// A rotation about a slanted axis, of float32 or in full.
Grid turned(const std::array<std::size_t, 3>& size, double spacing, double angle) {
  Grid grid;
  grid.size = size;
  grid.spacing = {spacing, 1.25 * spacing, 3.1 * spacing};
  grid.origin = {-12.3456789 * spacing, 0, 1000.1 * spacing};
  const double c = std::cos(angle), s = std::sin(angle);
  grid.direction = {c, -s, 0, s * c, c * c, -s, s * s, s * c, c};
  return grid;
}

TEST(StoredImage, FilesOfItkAreReadAsByItk) {
  const Folder f;
  std::size_t number = 0, read = 0;
  for (const double spacing : {1.0, 0.0123, 7.7})
    for (const double angle : {0.0, 0.3, std::numbers::pi})
      for (const auto& size : {std::array<std::size_t, 3>{7, 5, 3}, {1, 93, 2}, {4, 1, 1}})
        for (const std::string name : {"a.nrrd", "b.nii", "c.nii.gz", "d.tif"})
          for (const Component component :
               {Component::uint8, Component::int16, Component::uint16, Component::float32}) {
            const Grid grid = turned(size, spacing, angle);
            Volume volume(grid);
            for (std::size_t n = 0; n < volume.voxels.size(); ++n) volume.voxels[n] = static_cast<float>(n % 251);
            const std::string path = f / fmt::format("{}{}", number++, name);
            TypedVolume typed(grid, component);
            convert_from_float(component, volume.voxels.data(), typed.bytes(), grid.count());
            write_itk_image(grid, {component}, typed.bytes(), path, false);
            read += is_read_as_by_itk(path);
            fs::remove(path);
          }
  EXPECT_EQ(read, number);
}

TEST(StoredImage, OtherTypesAndGzip) {
  const Folder f;
  for (const Component component :
       {Component::int8, Component::int32, Component::uint32, Component::int64, Component::uint64, Component::float64})
    for (const std::string name : {"a.nrrd", "b.nii"})
      for (const bool compressed : {false, true}) {
        const Grid grid = turned({7, 5, 3}, 0.1, 0.2);
        TypedVolume typed(grid, component);
        std::fill_n(typed.bytes(), typed.byte_count(), std::byte{0x2a});
        write_itk_image(grid, {component}, typed.bytes(), f / name, compressed);
        EXPECT_TRUE(is_read_as_by_itk(f / name)) << name << " " << component_name(component);
      }
}

// ITK reads it as 0.
TEST(StoredImage, NanInNiftiIsReported) {
  const Folder f;
  Volume volume(Grid{.size = {3, 2, 1}}, 1.0f);
  volume.voxels[4] = std::nanf("");
  write_itk_image(volume.grid, {}, volume.voxels.data(), f / "n.nii", false);
  EXPECT_EQ(to_volume(read_itk_typed(f / "n.nii")).voxels[4], 0);
  EXPECT_THAT(error_of([&] { read_image(f / "n.nii"); }), AllOf(HasSubstr("n.nii"), HasSubstr("(1,1,0)")));
  EXPECT_EQ(read_image(f / "n.nii", true).voxels[4], 0);
}

// The corpora of the fuzzer, of all forms that occur.
TEST(StoredImage, SeedsAreReadAsByItk) {
  const Folder f;
  write_text(f / "input-0.raw", std::string(32, '\1'));
  write_text(f / "input-1.raw", std::string(32, '\2'));
  write_text(f / "input.img", std::string(64, '\1'));
  write_text(f / "input.txt", "1 2 3 4 5 6 7 8\n");
  std::map<std::string, std::size_t> read;
  for (const std::string format : {"nrrd", "nifti", "tiff"})
    for (const auto& entry : fs::directory_iterator(fs::path(HALOCLINE_SOURCE_DIR) / "tests/fuzz/seeds" / format)) {
      std::ifstream in(entry.path(), std::ios::binary);
      const std::string bytes{std::istreambuf_iterator<char>(in), {}};
      const std::string stem = entry.path().filename().string();
      const bool pair = format == "nifti" && (bytes.size() == 348 || bytes.size() == 540);
      const char* extension = format == "nrrd" && bytes.find("input") != std::string::npos ? ".nhdr"
                              : format == "tiff"                                           ? ".tif"
                              : format == "nrrd"                                           ? ".nrrd"
                              : bytes.starts_with("\x1f\x8b")                              ? ".nii.gz"
                                                                                           : ".nii";
      const std::string path = f / (pair ? "input.hdr" : stem + extension);
      write_text(path, bytes);
      SCOPED_TRACE(format + " " + stem);
      read[format] += is_read_as_by_itk(path);
    }
  EXPECT_GE(read["nrrd"], 9u);
  EXPECT_GE(read["nifti"], 6u);
  EXPECT_GE(read["tiff"], 10u);
}
#endif

TEST(StoredImage, UnsupportedFormsAreNamed) {
  const Folder f;
  const auto refused = [&](const std::string& name, const std::string& text) {
    write_text(f / name, text);
    try {
      stored_image(f / name);
    } catch (const UnsupportedImage& error) {
      return std::string(error.what());
    }
    return std::string("none");
  };
  const std::string header = "NRRD0004\ntype: uint8\ndimension: 2\nsizes: 2 1\n";
  EXPECT_THAT(refused("a.nrrd", header + "encoding: ascii\n\n1 2\n"), AllOf(HasSubstr("a.nrrd"), HasSubstr("ascii")));
  EXPECT_THAT(refused("b.nrrd", header + "encoding: raw\nkinds: time domain\n\n12"), HasSubstr("'time'"));
  EXPECT_THAT(refused("c.tif", std::string("II*\0\0\0\0\0", 8)), AllOf(HasSubstr("c.tif"), HasSubstr("no page")));
}

TEST(StoredImage, ShortFilesAreRefused) {
  const Folder f;
  write_text(f / "a.nrrd", "NRRD0004\ntype: uint8\ndimension: 2\nsizes: 2 2\nencoding: raw\n\n123");
  EXPECT_THAT(error_of([&] { values_of(f / "a.nrrd"); }),
              AllOf(HasSubstr("InputError"), HasSubstr("truncated"), HasSubstr("found 3")));
}

}  // namespace
}  // namespace halocline::stored_image_test
