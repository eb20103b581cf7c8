// labels: app itk
// Every type of voxels of NRRD, NIfTI, HDF5 and DICOM files: read in its stored type, or refused by its name.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <bit>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "apps/images/image_file.hpp"
#include "host/volume/typed_volume.hpp"
#include "tests/support/command_runner.hpp"
#include "tests/support/dicom_writer.hpp"
#include "tests/support/image_actions.hpp"
#include "tests/support/tiff_writer.hpp"
#ifdef HALOCLINE_WITH_ITK
#include "apps/images/itk_image.hpp"

namespace halocline::element_types_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr std::size_t count = 2 * 3 * 4;

double value_at(std::size_t n) {
  return static_cast<double>(n) * 5;  // in the range of all types, and exact in all
}

Voxels expected() {
  std::vector<float> values;
  for (std::size_t n = 0; n < count; ++n) values.push_back(static_cast<float>(value_at(n)));
  return values;
}

struct Type {
  const char* nrrd;
  const char* name;
  std::int16_t nifti;
  std::string (*bytes)(double value, bool msb_first);
};

template <typename T>
std::string bytes_of(double value, bool msb_first) {
  return ordered_bytes(static_cast<T>(value), msb_first);
}

const std::vector<Type>& types() {
  static const std::vector<Type> all{
      {"signed char", "int8", 256, bytes_of<std::int8_t>}, {"uchar", "uint8", 2, bytes_of<std::uint8_t>},
      {"short", "int16", 4, bytes_of<std::int16_t>},       {"uint16_t", "uint16", 512, bytes_of<std::uint16_t>},
      {"int", "int32", 8, bytes_of<std::int32_t>},         {"unsigned int", "uint32", 768, bytes_of<std::uint32_t>},
      {"longlong", "int64", 1024, bytes_of<std::int64_t>}, {"uint64", "uint64", 1280, bytes_of<std::uint64_t>},
      {"float", "float32", 16, bytes_of<float>},           {"double", "float64", 64, bytes_of<double>}};
  return all;
}

std::string values_of(const Type& type, bool msb_first) {
  std::string data;
  for (std::size_t n = 0; n < count; ++n) data += type.bytes(value_at(n), msb_first);
  return data;
}

std::string nrrd(const std::string& type, const std::string& encoding, const std::string& more) {
  return fmt::format("NRRD0004\ntype: {}\ndimension: 3\nsizes: 4 3 2\nencoding: {}\n{}\n", type, encoding, more);
}

// The header of NIfTI-1 (nifti1.h) and four bytes that say that nothing follows it.
std::string nifti(std::int16_t type, std::int16_t bits, bool msb_first) {
  std::string header(352, '\0');
  const auto put = [&](std::size_t place, auto value) {
    const std::string bytes = ordered_bytes(value, msb_first);
    header.replace(place, bytes.size(), bytes);
  };
  put(0, std::int32_t{348});
  const std::int16_t sizes[] = {3, 4, 3, 2, 1, 1, 1, 1};
  for (std::size_t n = 0; n < 8; ++n) put(40 + 2 * n, sizes[n]);
  put(70, type);
  put(72, bits);
  for (std::size_t n = 0; n < 4; ++n) put(76 + 4 * n, 1.0f);
  put(108, 352.0f);
  put(112, 1.0f);
  header.replace(344, 3, "n+1");
  return header;
}

void expect_read(const std::string& path, const std::string& type) {
  EXPECT_EQ(read_image_info(path).component, type);
  const Volume volume = read_image(path);
  EXPECT_EQ(volume.grid.size, (std::array<std::size_t, 3>{4, 3, 2}));
  EXPECT_EQ(volume.voxels, expected());
}

void expect_refused(const std::string& path, const std::string& reason) {
  EXPECT_THAT(error_of([&] { read_image(path); }),
              AllOf(HasSubstr("InputError"), HasSubstr(path), HasSubstr(reason), Not(HasSubstr("ITK ERROR"))));
}

TEST(ElementTypes, Nrrd) {
  const Folder f;
  const std::string path = f / "x.nrrd";
  for (const Type& type : types()) {
    SCOPED_TRACE(type.name);
    for (const bool msb_first : {false, true}) {
      const std::string endian = fmt::format("endian: {}\n", msb_first ? "big" : "little");
      write_text(path, nrrd(type.nrrd, "raw", endian) + values_of(type, msb_first));
      expect_read(path, type.name);
      std::string hex;
      for (const char c : values_of(type, msb_first)) hex += fmt::format("{:02x}", static_cast<unsigned char>(c));
      write_text(path, nrrd(type.nrrd, "hex", endian) + hex);
      expect_read(path, type.name);
    }
    std::string text;
    for (std::size_t n = 0; n < count; ++n) text += fmt::format("{} ", value_at(n));
    write_text(path, nrrd(type.nrrd, "ascii", "") + text);
    expect_read(path, type.name);
  }
  const std::string data(count * 8, 'x'), little = "endian: little\n";
  for (const char* type : {"half", "float16", "block", "complex float", "int24", "long double"}) {
    write_text(path, nrrd(type, "raw", little) + data);
    expect_refused(path, fmt::format("type is '{}'; int8", type));
  }
  for (const char* encoding : {"bzip2", "bz2", "zrl", "zstd"}) {
    write_text(path, nrrd("short", encoding, little) + data);
    expect_refused(path, fmt::format("encoding is '{}'; raw, gzip", encoding));
  }
  write_text(path, nrrd("int", "ascii", "") + "1 2.5e3 3" + std::string(3 * count, ' '));
  expect_refused(path, "value 2 of its text is '2.5e3', which is no whole number of type int");
  write_text(path, nrrd("uint16", "raw", "") + data);
  expect_refused(path, "says no byte order of its uint16 values");
}

TEST(ElementTypes, NrrdTextThatDoesNotFit) {
  const Folder f;
  const std::string path = f / "x.nrrd", six = "0 1 2 3 4 5 ", rest = six + six + six;
  for (const auto& [type, value] : {std::pair("uchar", "300"),
                                    {"uchar", "-1"},
                                    {"signed char", "128"},
                                    {"short", "70000"},
                                    {"uint16", "-1"},
                                    {"int", "5000000000"},
                                    {"unsigned int", "-1"},
                                    {"longlong", "50000000000000000000"},
                                    {"uint64", "-1"},
                                    {"float", "1e39"},
                                    {"double", "1e999"}}) {
    write_text(path, nrrd(type, "ascii", "") + rest + "0 1 2 3 4 " + value);
    expect_refused(path, fmt::format("value 24 of its text is '{}', which does not fit its type, {}", value, type));
    write_text(path, nrrd(type, "text", "line skip: 1\n") + "words\n" + value + " 1 2 3 4 5 " + rest);
    expect_refused(path, fmt::format("value 1 of its text is '{}', which does not fit", value));
  }
  for (const auto& [type, value] : {std::pair("uchar", "0x8"),
                                    {"int", "8x"},
                                    {"short", "1,5"},
                                    {"float", "1,5"},
                                    {"float", "x"},
                                    {"double", "8x9"},
                                    {"int", "nan"}}) {
    write_text(path, nrrd(type, "ascii", "") + rest + value + " 1 2 3 4 5");
    expect_refused(path, fmt::format("value 19 of its text is '{}', which is no ", value));
  }
  write_text(path, nrrd("int", "ascii", "") + rest + six + "6");
  expect_refused(path, "more than the 24 values of its sizes ('6' follows)");
  write_text(path, nrrd("int", "ascii", "") + rest);
  expect_refused(path, "its text holds 18 values, expected 24");
  write_text(path, nrrd("float", "ascii", "byte skip: 3\n") + "xy, +1 , -2., .5 ,3\n 1e-400 " + rest + "7");
  EXPECT_EQ(read_image(path).voxels[2], 0.5f);
}

std::string gzipped(const std::string& bytes, const std::string& path) {
  gzFile file = gzopen(path.c_str(), "wb");
  gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size()));
  gzclose(file);
  return content(path);
}

TEST(ElementTypes, NrrdDataThatAreNotThoseOfTheHeader) {
  const Folder f;
  const std::string path = f / "x.nrrd", bytes(count, '\1');
  const auto with = [&](const std::string& encoding, const std::string& data, const std::string& more = "") {
    write_text(path, nrrd("uchar", encoding, more) + data);
  };
  const auto packed = [&](const std::string& text) { return gzipped(text, f / "packed.gz"); };
  with("gzip", packed(bytes));
  EXPECT_EQ(read_image(path).voxels[23], 1);
  with("gzip", packed(bytes.substr(1)) + packed("\2"));  // two streams, one after the other
  EXPECT_EQ(read_image(path).voxels[23], 2);
  with("gzip", packed("ab" + bytes), "byte skip: 2\n");
  EXPECT_EQ(read_image(path).voxels[0], 1);
  with("gzip", packed(bytes + bytes));
  expect_refused(path, "its gzip stream holds 48 bytes of values, expected 24");
  with("gzip", packed(bytes.substr(1)));
  expect_refused(path, "its gzip stream holds 23 bytes of values, expected 24");
  with("gzip", packed(bytes).substr(0, 16));
  expect_refused(path, "is truncated: its gzip stream ends after");
  with("gzip", bytes);
  expect_refused(path, "are not gzipped");
  std::string damaged = packed(bytes);
  damaged[damaged.size() - 8] ^= 0x55;  // of the checksum
  with("gzip", damaged);
  expect_refused(path, "truncated or damaged");
  with("hex", std::string(48, 'a') + "b");
  expect_refused(path, "is too long: found 49 digits of hex, expected 48");
  with("hex", std::string(46, 'a'));
  expect_refused(path, "is truncated: found 46 digits of hex, expected 48");
  with("hex", std::string(46, 'a') + "0x");
  expect_refused(path, "'x' stands among the digits of byte 24");
  with("raw", bytes.substr(2));
  expect_refused(path, "found 22 bytes of values, expected 24");
  with("raw", "");
  expect_refused(path, "found 0 bytes of values, expected 24");
  with("raw", bytes, "byte skip: 5\n");
  expect_refused(path, "found 19 bytes of values, expected 24");
  with("raw", bytes, "byte skip: -5\n");  // it would begin in the header
  expect_refused(path, "expected 24 and 4 behind them (byte skip)");
  with("raw", bytes, "byte skip: x\n");
  expect_refused(path, "the byte skip 'x'; a whole number");
  with("hex", std::string(48, 'a'), "byte skip: -1\n");
  expect_refused(path, "below 0 it is of raw values only");
  with("raw", "ab" + bytes, "byte skip: -1\n");
  EXPECT_EQ(read_image(path).voxels[0], 1);
  with("raw", bytes + "abcd");
  EXPECT_THAT(run({"metrics", "-i", path}).err,
              AllOf(HasSubstr(path), HasSubstr("4 bytes follow the 24 of the values")));
}

TEST(ElementTypes, Nifti) {
  const Folder f;
  const std::string path = f / "x.nii";
  for (const Type& type : types())
    for (const bool msb_first : {false, true}) {
      SCOPED_TRACE(type.name);
      const auto bits = static_cast<std::int16_t>(8 * type.bytes(0, false).size());
      write_text(path, nifti(type.nifti, bits, msb_first) + values_of(type, msb_first));
      expect_read(path, type.name);
    }
  for (const auto& [type, bits, name] : {std::tuple(1, 1, "type 1 (single bits)"),
                                         {1536, 128, "type 1536 (float128)"},
                                         {2048, 256, "type 2048 (complex float128)"},
                                         {99, 8, "type 99; int8"},
                                         {32, 64, "2 values a voxel (complex)"},
                                         {128, 24, "3 values a voxel (rgb)"}}) {
    write_text(path, nifti(static_cast<std::int16_t>(type), static_cast<std::int16_t>(bits), false) +
                         std::string(count * 32, '\1'));
    expect_refused(path, name);
  }
}

// ITK's library of NIfTI takes the voxels of "x.nii" for those of "x.nii.gz" beside it.
TEST(ElementTypes, NiftiBesideAnotherOfItsName) {
  const Folder f;
  Volume one(Grid{{4, 3, 2}}, 1), other(Grid{{4, 3, 2}}, 2);
  write_image(one, f / "x.nii.gz");
  write_image(other, f / "x.nii");
  EXPECT_EQ(read_image(f / "x.nii.gz").voxels, one.voxels);
  EXPECT_EQ(read_image(f / "x.nii").voxels, other.voxels);
  EXPECT_EQ(f.files(), (Words{"x.nii", "x.nii.gz"}));
}

TEST(ElementTypes, Hdf5) {
  const Folder f;
  const std::string path = f / "x.h5";
  for (const Type& type : types()) {
    SCOPED_TRACE(type.name);
    std::filesystem::remove(path);
    const std::string data = values_of(type, std::endian::native == std::endian::big);
    write_itk_image(Grid{{4, 3, 2}}, {component_named(type.name), {}, {}}, data.data(), path, false);
    expect_read(path, type.name);
  }
}

TEST(ElementTypes, Dicom) {
  const Folder f;
  const std::string path = f / "x.dcm";
  const std::vector<std::int16_t> pixels{0, 100, 200, 300, 400, 500};
  const auto expect = [&](const std::map<std::string, std::string>& instead, const std::string& reason) {
    DicomWriter dicom;
    dicom.instead = instead;
    dicom.write(path, "7", 1, 0, pixels);
    expect_refused(path, reason);
  };
  expect({{"photometric", "MONOCHROME1"}}, "MONOCHROME1, where 0 is white");
  expect({{"stored", "12"}, {"high", "15"}}, "stores 12 bits a pixel up to bit 15");
  DicomWriter twelve;
  twelve.instead = {{"stored", "12"}, {"high", "11"}, {"slope", "1"}, {"intercept", "0"}};
  twelve.write(path, "7", 1, 0, pixels);
  EXPECT_EQ(read_image(path).voxels, (Voxels{std::vector<float>{0, 100, 200, 300, 400, 500}}));
}

}  // namespace
}  // namespace halocline::element_types_test
#endif
