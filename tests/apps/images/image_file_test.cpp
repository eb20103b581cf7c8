// labels: app
// Image files: what is written is read back bitwise identical, headers of other programs are understood, and every
// damage is named.
#include "apps/images/image_file.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>
#include <thread>

#include "algorithms/preprocessing/calibrate_counts.hpp"
#include "apps/images/atomic_file.hpp"
#include "apps/images/meta_image.hpp"
#include "host/system/error.hpp"
#include "host/system/interrupt.hpp"
#include "tests/support/command_runner.hpp"
#include "tests/support/compressed_images.hpp"
#include "tests/support/dicom_writer.hpp"
#include "tests/support/image_actions.hpp"
#ifdef HALOCLINE_WITH_ITK
#include "apps/images/itk_image.hpp"
#endif

#ifdef HALOCLINE_WITH_ITK
// Under LeakSanitizer: these two libraries of ITK 5.2 lose some bytes when a file is damaged or cannot be written.
extern "C" const char* __lsan_default_suppressions() {
  return "leak:libITKniftiio\nleak:libITKNrrdIO\n";
}
#endif

namespace halocline::image_file_test {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

// A separate folder for each test, removed afterwards.
class ImageFile : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "halocline-image-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::vector<std::string> names() const {
    std::vector<std::string> out;
    for (const auto& entry : fs::directory_iterator(folder_)) out.push_back(entry.path().filename().string());
    std::sort(out.begin(), out.end());
    return out;
  }
  void write_text(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name, std::ios::binary) << text;
  }
  std::string read_text(const std::string& name) const {
    std::ostringstream out;
    out << std::ifstream(folder_ / name, std::ios::binary).rdbuf();
    return out.str();
  }

  fs::path folder_;
};

// A rotation about an oblique axis: its transpose is another matrix.
std::array<double, 9> oblique() {
  const double a = 0.3, b = -0.7, c = 1.1;
  const double ca = std::cos(a), sa = std::sin(a), cb = std::cos(b), sb = std::sin(b), cc = std::cos(c),
               sc = std::sin(c);
  return {ca * cb,
          ca * sb * sc - sa * cc,
          ca * sb * cc + sa * sc,
          sa * cb,
          sa * sb * sc + ca * cc,
          sa * sb * cc - ca * sc,
          -sb,
          cb * sc,
          cb * cc};
}

Volume sample(std::array<std::size_t, 3> size, bool rotated = true) {
  Grid grid{.size = size, .spacing = {0.4512, 1.0 / 3.0, 2.5}, .origin = {-101.4616, 7.0 / 9.0, 1e-3}};
  if (rotated) grid.direction = oblique();
  Volume volume(grid);
  for (std::size_t n = 0; n < volume.voxels.size(); ++n)
    volume.voxels[n] = static_cast<float>(std::sin(0.7 * static_cast<double>(n)) * 1000);
  return volume;
}

void expect_same(const Volume& found, const Volume& expected, double tolerance = 0) {
  ASSERT_EQ(found.grid.size, expected.grid.size);
  for (int a = 0; a < 3; ++a) {
    EXPECT_NEAR(found.grid.spacing[a], expected.grid.spacing[a], tolerance) << a;
    EXPECT_NEAR(found.grid.origin[a], expected.grid.origin[a], 100 * tolerance) << a;
  }
  for (int n = 0; n < 9; ++n) EXPECT_NEAR(found.grid.direction[n], expected.grid.direction[n], tolerance) << n;
  EXPECT_EQ(found.voxels, expected.voxels);
}

TEST_F(ImageFile, MetaImageComesBackBitForBit) {
  for (const auto& size : {std::array<std::size_t, 3>{1, 1, 1}, {7, 5, 3}, {93, 1, 2}, {1, 93, 7}, {256, 128, 70}})
    for (const char* name : {"a.mha", "b.mhd", "C.MHA", "packed.mha"}) {
      const Volume volume = sample(size);
      if (name == std::string("packed.mha"))
        write_compressed_meta(volume, path(name));
      else
        write_image(volume, path(name));
      expect_same(read_image(path(name)), volume);
      const ImageInfo info = read_image_info(path(name));
      EXPECT_EQ(info.grid.size, size);
      EXPECT_EQ(info.component, "float32");
      EXPECT_EQ(info.format, "MetaImage");
    }
  EXPECT_THAT(names(), testing::ElementsAre("C.MHA", "a.mha", "b.mhd", "b.raw", "packed.mha"));
}

TEST_F(ImageFile, RawGoesThroughItsSidecar) {
  const Volume volume = sample({7, 5, 3});
  write_image(volume, path("a.raw"));
  EXPECT_THAT(names(), testing::ElementsAre("a.mhd", "a.raw"));
  EXPECT_EQ(fs::file_size(path("a.raw")), 7 * 5 * 3 * sizeof(float));
  expect_same(read_image(path("a.raw")), volume);
  EXPECT_EQ(read_image_info(path("a.raw")).grid.size, volume.grid.size);

  fs::copy(path("a.raw"), path("b.raw"));
  EXPECT_THAT(error_of([&] { read_image(path("b.raw")); }), AllOf(HasSubstr("InputError"), HasSubstr("b.mhd")));
  fs::copy(path("a.mhd"), path("b.mhd"));  // still names a.raw
  EXPECT_THAT(error_of([&] { read_image(path("b.raw")); }), HasSubstr("describes another file"));
}

template <typename T>
std::string bytes_of(const std::vector<double>& values, bool msb) {
  std::string out;
  for (const double value : values) {
    const auto typed = static_cast<T>(value);
    std::array<char, sizeof(T)> one;
    std::memcpy(one.data(), &typed, sizeof(T));
    if (msb != (std::endian::native == std::endian::big)) std::reverse(one.begin(), one.end());
    out.append(one.data(), one.size());
  }
  return out;
}

TEST_F(ImageFile, EveryTypeInBothByteOrders) {
  const std::vector<double> whole{0, 1, 2, 100, 101, 127}, negative{-128, -1, 0, 1, 2, 127},
      wide{-30000, -1, 0, 1, 258, 30000}, positive{0, 1, 258, 772, 40000, 65535}, real{-1.5, 0.25, 3e10, -1e-20, 0, 7};
  struct Case {
    const char* type;
    const char* name;
    std::string (*bytes)(const std::vector<double>&, bool);
    const std::vector<double>& values;
  };
  const Case cases[] = {{"MET_CHAR", "int8", bytes_of<std::int8_t>, negative},
                        {"MET_UCHAR", "uint8", bytes_of<std::uint8_t>, whole},
                        {"MET_SHORT", "int16", bytes_of<std::int16_t>, wide},
                        {"MET_USHORT", "uint16", bytes_of<std::uint16_t>, positive},
                        {"MET_INT", "int32", bytes_of<std::int32_t>, wide},
                        {"MET_UINT", "uint32", bytes_of<std::uint32_t>, positive},
                        {"MET_LONG", "int32", bytes_of<std::int32_t>, wide},
                        {"MET_LONG_LONG", "int64", bytes_of<std::int64_t>, wide},
                        {"MET_ULONG_LONG", "uint64", bytes_of<std::uint64_t>, positive},
                        {"MET_FLOAT", "float32", bytes_of<float>, real},
                        {"MET_DOUBLE", "float64", bytes_of<double>, real}};
  for (const Case& c : cases)
    for (const bool msb : {false, true})
      for (const char* key : {"ElementByteOrderMSB", "BinaryDataByteOrderMSB"}) {
        write_text("t.mha", std::string("ObjectType = Image\nNDims = 3\nDimSize = 3 2 1\n") + key + " = " +
                                (msb ? "True" : "False") + "\nElementType = " + c.type + "\nElementDataFile = LOCAL\n" +
                                c.bytes(c.values, msb));
        const Volume volume = read_image(path("t.mha"));
        for (std::size_t n = 0; n < 6; ++n)
          EXPECT_EQ(volume.voxels[n], static_cast<float>(c.values[n])) << c.type << " " << msb << " " << n;
        EXPECT_EQ(read_image_info(path("t.mha")).component, c.name);
      }
}

TEST_F(ImageFile, PartsAreThoseOfTheWhole) {
  const Volume volume = sample({13, 11, 9});
  const auto expect_part = [&](const std::string& name, const Volume& whole) {
    for (const auto& part : {Cutout{{0, 0, 0}, {13, 11, 9}}, Cutout{{3, 2, 1}, {7, 9, 5}},
                             Cutout{{12, 10, 8}, {1, 1, 1}}, Cutout{{0, 5, 0}, {13, 1, 9}}})
      expect_same(read_image_part(path(name), part), cut_out(whole, part));
  };
  for (const char* name : {"a.mha", "b.mhd", "c.raw"}) {
    write_image(volume, path(name));
    expect_part(name, volume);
  }
  write_compressed_meta(volume, path("d.mha"));
  expect_part("d.mha", volume);
  std::vector<double> values;
  for (int n = 0; n < 13 * 11 * 9; ++n) values.push_back(n * 37 % 30011 - 15000);
  for (const bool msb : {false, true})
    for (const int header : {0, 100, -1}) {
      write_text("e.mhd", std::string("NDims = 3\nDimSize = 13 11 9\nElementByteOrderMSB = ") +
                              (msb ? "True" : "False") + "\nElementType = MET_SHORT\nHeaderSize = " +
                              std::to_string(header) + "\nElementDataFile = e.bin\n");
      write_text("e.bin", std::string(header == 0 ? 0 : 100, 'x') + bytes_of<std::int16_t>(values, msb));
      expect_part("e.mhd", read_image(path("e.mhd")));
    }
  write_text("e.bin", "too short");
  EXPECT_THAT(error_of([&] { read_image_part(path("e.mhd"), {{0, 0, 0}, {1, 1, 1}}); }), HasSubstr("truncated"));
  Volume bad = volume;
  bad.at(5, 5, 5) = std::numeric_limits<float>::quiet_NaN();
  write_image(bad, path("n.mha"));
  EXPECT_EQ(error_of([&] { read_image_part(path("n.mha"), {{6, 0, 0}, {7, 11, 9}}); }), "no error");
  EXPECT_THAT(error_of([&] {
                read_image_part(path("n.mha"), {{4, 5, 3}, {5, 2, 4}});
              }),
              AllOf(HasSubstr("n.mha"), HasSubstr("(5,5,5)")));
  EXPECT_EQ(read_image_part(path("n.mha"), {{5, 5, 5}, {1, 1, 1}}, true).voxels.front(), 0);
}

TEST_F(ImageFile, LargeIntegerImagesAreConvertedPieceByPiece) {
  // more than two pieces of 4 MiB, and not a multiple of one
  const std::size_t count = 1031 * 1033 * 5;
  std::string data(count * 2, '\0');
  for (std::size_t n = 0; n < count; ++n) {
    const auto value = static_cast<std::int16_t>(n * 7919);
    std::memcpy(&data[2 * n], &value, 2);
  }
  write_text("big.mha", "NDims = 3\nDimSize = 1031 1033 5\nElementType = MET_SHORT\nElementDataFile = LOCAL\n" + data);
  const Volume volume = read_image(path("big.mha"));
  std::size_t wrong = 0;
  for (std::size_t n = 0; n < count; ++n) wrong += volume.voxels[n] != static_cast<std::int16_t>(n * 7919);
  EXPECT_EQ(wrong, 0U);
}

TEST_F(ImageFile, HeaderVariants) {
  const std::string four = bytes_of<std::uint8_t>({1, 2, 3, 4}, false);
  // 2D, Windows line ends, the other names, no blanks
  write_text("a.mhd",
             "ObjectType = Image\r\nNDims=2\r\nDimSize = 2 2\r\nElementSize = 0.5 0.25\r\nOrigin = +3 -4e0\r\n"
             "Rotation = 0 1 -1 0\r\nElementType = MET_UCHAR\r\nHeaderSize = 3\r\nElementDataFile = some data.bin\r\n");
  write_text("some data.bin", "xyz" + four + "trailer");
  const Volume flat = read_image(path("a.mhd"));
  EXPECT_EQ(flat.grid.size, (std::array<std::size_t, 3>{2, 2, 1}));
  EXPECT_EQ(flat.grid.spacing, (std::array<double, 3>{0.5, 0.25, 1}));
  EXPECT_EQ(flat.grid.origin, (std::array<double, 3>{3, -4, 0}));
  // first row: index axis 0 points along world y
  EXPECT_EQ(flat.grid.direction, (std::array<double, 9>{0, -1, 0, 1, 0, 0, 0, 0, 1}));
  EXPECT_EQ(flat.voxels, (std::vector<float>{1, 2, 3, 4}));

  // ElementSpacing goes before ElementSize; four dimensions; the voxels at the end of the file
  write_text("b.mhd",
             "NDims = 4\nDimSize = 2 1 2 1\nElementSize = 9 9 9 9\nElementSpacing = 1 2 3 4\nPosition = 5 6 7 8\n"
             "Orientation = 0 1 0 0 0 0 1 0 1 0 0 0 0 0 0 1\nElementType = MET_UCHAR\nHeaderSize = -1\nElementDataFile "
             "= b.bin\n");
  write_text("b.bin", "a long header" + four);
  const Volume tall = read_image(path("b.mhd"));
  EXPECT_EQ(tall.grid.size, (std::array<std::size_t, 3>{2, 1, 2}));
  EXPECT_EQ(tall.grid.spacing, (std::array<double, 3>{1, 2, 3}));
  EXPECT_EQ(tall.grid.origin, (std::array<double, 3>{5, 6, 7}));
  const auto one = tall.grid.world(1, 0, 0);  // axis 0 points along y
  EXPECT_EQ(one, (std::array<double, 3>{5, 7, 7}));
  EXPECT_EQ(tall.voxels, (std::vector<float>{1, 2, 3, 4}));
}

TEST_F(ImageFile, HeadersThatContradictThemselves) {
  const std::string head = "NDims = 3\nDimSize = 2 2 2\nElementType = MET_UCHAR\n", data = "12345678";
  const auto with = [&](const std::string& more, const std::string& place = "ElementDataFile = LOCAL\n") {
    write_text("x.mha", head + more + place + data);
    return error_of([&] { read_image(path("x.mha")); });
  };
  const auto refused = [](const std::string& what) {
    return AllOf(HasSubstr("InputError"), HasSubstr("x.mha"), HasSubstr(what));
  };
  for (const char* line :
       {"DimSize = 2 2 1", "NDims = 2", "ElementType = MET_CHAR", "ElementSpacing = 1 1 1\nElementSpacing = 2 2 2",
        "Offset = 1 1 1\nOffset = 2 2 2", "ElementToIntensityFunctionSlope = 2\nElementToIntensityFunctionSlope = 3",
        "BinaryDataByteOrderMSB = True\nBinaryDataByteOrderMSB = False"})
    EXPECT_THAT(with(line + std::string("\n")), AllOf(refused("twice, as '"), HasSubstr("remove"))) << line;
  for (const char* lines : {"Offset = 1 1 1\nPosition = 1 1 2", "Origin = 1 1 1\nOffset = 0 1 1",
                            "TransformMatrix = 1 0 0 0 1 0 0 0 1\nOrientation = 0 1 0 1 0 0 0 0 1",
                            "BinaryDataByteOrderMSB = True\nElementByteOrderMSB = False"})
    EXPECT_THAT(with(lines + std::string("\n")), refused("mean the same thing and differ")) << lines;
  EXPECT_EQ(with("DimSize = 2 2 2\nComment = a\nComment = b\nOffset = 1 0.3333333 1\nPosition = 1.0 0.333333 1\n"),
            "no error");
  // MetaIO passes over a key in other letters
  EXPECT_THAT(with("elementspacing = 2 2 2\n"), refused("'elementspacing = 2 2 2', but the key is written ElementSp"));
  EXPECT_THAT(with("", "Elementdatafile = LOCAL\n"), refused("is written ElementDataFile"));
  for (const char* flag : {"BinaryDataByteOrderMSB", "CompressedData", "BinaryData"})
    EXPECT_THAT(with(flag + std::string(" = yes\n")), refused("is 'yes'; expected True or False")) << flag;
  // the voxels follow the header
  EXPECT_THAT(with("HeaderSize = 10\n"), AllOf(refused("HeaderSize is 10"), HasSubstr("ends after 90 bytes")));
  EXPECT_EQ(with("HeaderSize = 90\n"), "no error");
  EXPECT_EQ(with("HeaderSize = -1\n"), "no error");
}

TEST_F(ImageFile, LengthsInOtherUnits) {
  const auto with = [&](const std::string& unit) {
    write_text("x.mha",
               "NDims = 3\nDimSize = 2 2 2\nElementType = MET_UCHAR\nElementSpacing = 2 4 8\nOffset = 1 2 3\n" + unit +
                   "ElementDataFile = LOCAL\n12345678");
    return read_image(path("x.mha")).grid;
  };
  for (const auto& [unit, mm] : {std::pair("mm", 1.0), {"um", 1e-3}, {"cm", 10.0}, {"?", 1.0}}) {
    const Grid grid = with(fmt::format("DistanceUnits = {}\n", unit));
    EXPECT_EQ(grid.spacing, (std::array<double, 3>{2 * mm, 4 * mm, 8 * mm})) << unit;
    EXPECT_EQ(grid.origin, (std::array<double, 3>{1 * mm, 2 * mm, 3 * mm})) << unit;
  }
  EXPECT_THAT(error_of([&] { with("DistanceUnits = furlong\n"); }),
              AllOf(HasSubstr("InputError"), HasSubstr("x.mha"), HasSubstr("'furlong'; mm, um and cm")));
}

TEST_F(ImageFile, DamagedFilesAreNamedWithFoundAndExpected) {
  const std::string head = "NDims = 3\nDimSize = 2 2 2\n", rest = "ElementType = MET_SHORT\nElementDataFile = LOCAL\n";
  const std::string data(16, 'x');
  const auto with = [&](const std::string& text) {
    write_text("x.mha", text);
    return error_of([&] { read_image(path("x.mha")); });
  };
  EXPECT_EQ(with(head + rest + data), "no error");
  EXPECT_THAT(with(head + rest + data.substr(1)),
              AllOf(HasSubstr("InputError"), HasSubstr("x.mha"), HasSubstr("found 15"), HasSubstr("expected 16")));
  EXPECT_THAT(with(head + rest), AllOf(HasSubstr("found 0"), HasSubstr("expected 16")));
  EXPECT_THAT(with(head + rest + data + "x"),
              AllOf(HasSubstr("found 17"), HasSubstr("expected 16"), HasSubstr("too long")));
  EXPECT_THAT(with(head), HasSubstr("before 'ElementDataFile"));
  EXPECT_THAT(with(""), HasSubstr("before 'ElementDataFile"));
  EXPECT_THAT(with(std::string(1 << 20, 'z')), HasSubstr("not a MetaImage"));
  EXPECT_THAT(with("hello\nworld\n"), HasSubstr("line 1"));
  EXPECT_THAT(with("NDims = 3\n" + rest + data), HasSubstr("no DimSize"));
  EXPECT_THAT(with("NDims = 3\nDimSize = 2 2\n" + rest + data),
              AllOf(HasSubstr("DimSize"), HasSubstr("3 were expected")));
  EXPECT_THAT(with("NDims = 3\nDimSize = 2 2 -2\n" + rest + data), HasSubstr("DimSize"));
  EXPECT_THAT(with("NDims = 3\nDimSize = 2 2 0\n" + rest + data), HasSubstr("at least 1"));
  EXPECT_THAT(with("NDims = 5\nDimSize = 2 2 2 1 1\n" + rest + data), HasSubstr("NDims is 5"));
  EXPECT_THAT(with("NDims = 4\nDimSize = 2 2 1 2\n" + rest + data), HasSubstr("fourth size"));
  EXPECT_THAT(with("NDims = 3\nDimSize = 4000000000 4000000000 4000000000\n" + rest + data),
              HasSubstr("absurdly large"));
  EXPECT_THAT(with("NDims = 3\nDimSize = 100000 100000 100000\n" + rest + data),
              HasSubstr("expected 2000000000000000"));
  EXPECT_THAT(with("NDims = 3\nCompressedData = True\nDimSize = 100000 100000 100000\n" + rest + data),
              HasSubstr("cannot hold"));
  EXPECT_THAT(with(head + "ElementType = MET_COLOUR\nElementDataFile = LOCAL\n" + data),
              AllOf(HasSubstr("MET_COLOUR"), HasSubstr("MET_FLOAT")));
  EXPECT_THAT(with(head + "ElementNumberOfChannels = 3\n" + rest + data), HasSubstr("3 channels"));
  EXPECT_THAT(with(head + "BinaryData = False\n" + rest + data), HasSubstr("as text"));
  EXPECT_THAT(with(head + "ElementSpacing = 1 0 1\n" + rest + data), HasSubstr("spacing"));
  EXPECT_THAT(with(head + "ElementSpacing = 1 one 1\n" + rest + data), HasSubstr("1 one 1"));
  EXPECT_THAT(with(head + "TransformMatrix = 1 0 0 0 1 0 0 1 1\n" + rest + data), HasSubstr("direction"));
  EXPECT_THAT(with(head + "ElementType = MET_SHORT\nElementDataFile = LIST\na.raw\n"), HasSubstr("several files"));
  EXPECT_THAT(with(head + "ElementType = MET_SHORT\nElementDataFile = s%03d.raw 1 2 1\n"), HasSubstr("several files"));
  EXPECT_THAT(with(head + "ElementType = MET_SHORT\nElementDataFile = gone.raw\n"),
              AllOf(HasSubstr("gone.raw"), HasSubstr("x.mha"), HasSubstr("missing")));
  EXPECT_THAT(with("ObjectType = Tube\n" + head + rest + data), HasSubstr("Tube"));
}

TEST_F(ImageFile, DamagedCompressedData) {
  const Volume volume = sample({31, 17, 5});
  write_compressed_meta(volume, path("c.mha"));
  const std::string good = read_text("c.mha");
  EXPECT_THAT(good, HasSubstr("CompressedData = True"));
  const std::size_t start = good.find("LOCAL\n") + 6;
  const auto with = [&](const std::string& text) {
    write_text("x.mha", text);
    return error_of([&] { read_image(path("x.mha")); });
  };
  EXPECT_THAT(with(good.substr(0, good.size() - 1)), AllOf(HasSubstr("truncated"), HasSubstr("CompressedDataSize")));
  // without the size, the missing end shows in the data themselves
  std::string unsized = good;
  unsized.replace(unsized.find("CompressedDataSize"), 18, "Comment           ");
  EXPECT_EQ(with(unsized), "no error");
  EXPECT_THAT(with(unsized.substr(0, unsized.size() - 1)), AllOf(HasSubstr("truncated"), HasSubstr("10540")));
  EXPECT_THAT(with(unsized.substr(0, unsized.size() / 2)), AllOf(HasSubstr("truncated"), HasSubstr("10540")));
  std::string bad = good;
  bad[start + 40] = static_cast<char>(bad[start + 40] ^ 0x55);
  EXPECT_THAT(with(bad), HasSubstr("InputError"));
  std::string checksum = good;
  checksum.back() = static_cast<char>(checksum.back() ^ 1);
  EXPECT_THAT(with(checksum), HasSubstr("damaged"));
  std::string small = good;
  small.replace(small.find("31 17 5"), 7, "31 17 4");
  EXPECT_THAT(with(small), HasSubstr("hold more than"));
  std::string large = good;
  large.replace(large.find("31 17 5"), 7, "31 17 6");
  EXPECT_THAT(with(large), AllOf(HasSubstr("hold 10540 bytes"), HasSubstr("expected 12648")));
}

TEST_F(ImageFile, NonFiniteValuesAreRefusedOrSetToZero) {
  Volume volume = sample({7, 5, 3});
  volume.at(2, 4, 1) = std::numeric_limits<float>::quiet_NaN();
  volume.at(3, 4, 2) = -std::numeric_limits<float>::infinity();
  write_image(volume, path("n.mha"));
  EXPECT_THAT(error_of([&] { read_image(path("n.mha")); }),
              AllOf(HasSubstr("InputError"), HasSubstr("n.mha"), HasSubstr("2 values"), HasSubstr("(2,4,1)")));
  const Volume mended = read_image(path("n.mha"), true);
  volume.at(2, 4, 1) = 0;
  volume.at(3, 4, 2) = 0;
  EXPECT_EQ(mended.voxels, volume.voxels);
}

TEST_F(ImageFile, UnknownNamesAreRefusedWithTheKnownOnes) {
  const Volume volume = sample({2, 2, 2});
  EXPECT_THAT(error_of([&] { write_image(volume, path("a.xyz")); }),
              AllOf(HasSubstr("InputError"), HasSubstr(".xyz"), HasSubstr(".mha"), HasSubstr(".nii.gz")));
  EXPECT_THAT(error_of([&] { check_writable(path("a")); }), HasSubstr(".mha"));
  EXPECT_THAT(error_of([&] { read_image(path("gone.mha")); }),
              AllOf(HasSubstr("gone.mha"), HasSubstr("does not exist")));
  write_text("notes.xyz", "hello");
  EXPECT_THAT(error_of([&] { read_image(path("notes.xyz")); }), AllOf(HasSubstr("InputError"), HasSubstr(".mhd")));
#ifndef HALOCLINE_WITH_ITK
  write_text("v.h5", "HDF");
  EXPECT_THAT(error_of([&] { read_image(path("v.h5")); }), HasSubstr("HALOCLINE_WITH_ITK=ON"));
  EXPECT_THAT(error_of([&] { check_writable(path("v.nii")); }), HasSubstr("HALOCLINE_WITH_ITK=ON"));
#endif
}

TEST_F(ImageFile, EarlyCheckOfTheOutput) {
  check_writable(path("a.mha"));
  check_writable(path("a.mhd"));
#ifdef HALOCLINE_WITH_ITK
  for (const char* name : {"v.NII", "v.Nii.GZ", "v.nii.GZ"}) {
    EXPECT_THAT(error_of([&] { check_writable(path(name)); }), HasSubstr("in lower case"));
    EXPECT_THAT(error_of([&] { create_image(path(name), Grid(), {}); }), HasSubstr("in lower case"));
  }
#endif
  EXPECT_THAT(error_of([&] { check_writable(path("v.RAW")); }), HasSubstr("in lower case"));
  for (const char* name : {"p_%04d.RAW", "p_%04d.raw"})
    EXPECT_NO_THROW(check_readable_series(path(name))) << "files that are read may have any case";
  EXPECT_TRUE(names().empty());
  EXPECT_THAT(error_of([&] { check_writable(path("no/such/a.mha")); }),
              AllOf(HasSubstr("InputError"), HasSubstr("no/such"), HasSubstr("does not exist")));
  write_text("file", "x");
  EXPECT_THAT(error_of([&] { check_writable(path("file/a.mha")); }), HasSubstr("is not a folder"));
  fs::create_directory(path("d.mha"));
  EXPECT_THAT(error_of([&] { check_writable(path("d.mha")); }), HasSubstr("is a folder"));
  EXPECT_THAT(error_of([&] { check_output_path("/dev/null"); }), HasSubstr("not a regular file"));
  EXPECT_THAT(error_of([&] { check_output_path(path("d.mha/")); }), HasSubstr("ends with a slash"));
  EXPECT_THAT(error_of([&] { check_output_path(path(std::string(300, 'n') + "/a.mha")); }),
              HasSubstr("does not exist"));
  EXPECT_EQ(names().size(), 2U);
}

TEST_F(ImageFile, FailedWritesLeaveTheOldFileAndNothingElse) {
  write_text("report.json", "old");
  EXPECT_THROW(write_file_atomically(path("report.json"),
                                     [](std::ostream& out) {
                                       out << "half of";
                                       throw InputError("stop");
                                     }),
               InputError);
  EXPECT_EQ(read_text("report.json"), "old");
  EXPECT_EQ(names().size(), 1U);
  write_file_atomically(path("report.json"), [](std::ostream& out) { out << "new"; });
  EXPECT_EQ(read_text("report.json"), "new");

  const Volume volume = sample({64, 64, 64});
  for (const char* name : {"v.mha", "v.mhd"}) {
    request_interrupt(true);
    EXPECT_THROW(write_image(volume, path(name)), Interrupted);
    request_interrupt(false);
    EXPECT_EQ(names().size(), 1U);
  }
}

// A process that is killed cannot take its temporary file away; the next one that writes there does.
TEST_F(ImageFile, WhatAKilledProcessLeftGoes) {
  const auto begin = [&](const std::string& folder, bool killed) {
    fs::create_directory(path(folder));
    int begun[2];  // the child reports through a pipe
    EXPECT_EQ(::pipe(begun), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      auto* file = new TemporaryFile(path(folder + "/v.mha"));
      file->stream() << "half of";
      [[maybe_unused]] const auto told = ::write(begun[1], "!", 1);
      if (!killed) ::pause();
      ::_exit(0);
    }
    char byte;
    EXPECT_EQ(::read(begun[0], &byte, 1), 1);
    ::close(begun[0]);
    ::close(begun[1]);
    return child;
  };
  const auto left = [&](const std::string& folder) {
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(path(folder)))
      if (entry.path().filename().string().rfind(".halocline-", 0) == 0) files.push_back(entry.path());
    return files;
  };
  ASSERT_GT(::waitpid(begin("killed", true), nullptr, 0), 0);
  ASSERT_EQ(left("killed").size(), 1U);
  // the same of another host, and what only begins like it
  const std::string name = left("killed")[0].filename().string(), tail = name.substr(name.find('-', 11));
  const fs::path elsewhere = path("killed/.halocline-elsewhere" + tail);
  std::ofstream(elsewhere) << "theirs";
  std::ofstream(path("killed/.halocline-notes.tmp")) << "mine";
  write_file_atomically(path("killed/r.json"), [](std::ostream& out) { out << "{}"; });
  EXPECT_FALSE(fs::exists(path("killed/" + name)));
  EXPECT_TRUE(fs::exists(elsewhere));
  EXPECT_TRUE(fs::exists(path("killed/.halocline-notes.tmp")));

  const pid_t writer = begin("alive", false);
  // still written, although under the name of a process that is no more: one of another container
  ASSERT_EQ(left("alive").size(), 1U);
  const pid_t gone = ::fork();
  if (gone == 0) ::_exit(0);
  ::waitpid(gone, nullptr, 0);
  const std::string prefix = left("alive")[0].string();
  const std::string there =
      prefix.substr(0, prefix.rfind("-" + std::to_string(writer) + "-") + 1) + std::to_string(gone) + "-0.tmp.mha";
  fs::rename(left("alive")[0], there);
  write_file_atomically(path("alive/r.json"), [](std::ostream& out) { out << "{}"; });
  EXPECT_TRUE(fs::exists(there));
  ::kill(writer, SIGKILL);
  ::waitpid(writer, nullptr, 0);
}

TEST_F(ImageFile, LinksStayAndPermissionsToo) {
  write_text("real.mha", "old");
  fs::permissions(path("real.mha"), fs::perms::owner_read | fs::perms::owner_write);
  fs::create_symlink("real.mha", path("link.mha"));
  const Volume volume = sample({3, 2, 1});
  write_image(volume, path("link.mha"));
  EXPECT_TRUE(fs::is_symlink(path("link.mha")));
  EXPECT_FALSE(fs::is_symlink(path("real.mha")));
  expect_same(read_image(path("real.mha")), volume);
  EXPECT_EQ(fs::status(path("real.mha")).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_EQ(names().size(), 2U);
}

TEST_F(ImageFile, LinksAreFollowedToFilesThatAreNotThere) {
  fs::create_directory(path("other"));
  fs::create_symlink("other/one.mha", path("link.mha"));
  fs::create_symlink("link.mha", path("chain.mha"));  // to a link
  const Volume volume = sample({3, 2, 1});
  write_image(volume, path("chain.mha"));
  EXPECT_TRUE(fs::is_symlink(path("link.mha")) && fs::is_symlink(path("chain.mha")));
  EXPECT_FALSE(fs::is_symlink(path("other/one.mha")));
  expect_same(read_image(path("other/one.mha")), volume);
  // what leads nowhere is found before anything is made
  fs::create_symlink("nowhere/v.mha", path("lost.mha"));
  fs::create_symlink("loop.mha", path("loop.mha"));
  EXPECT_THAT(error_of([&] { check_writable(path("lost.mha")); }),
              AllOf(HasSubstr("InputError"), HasSubstr("symbolic link to"), HasSubstr("nowhere' does not exist")));
  EXPECT_THAT(error_of([&] { check_writable(path("loop.mha")); }),
              AllOf(HasSubstr("InputError"), HasSubstr("nowhere")));
  EXPECT_TRUE(fs::is_symlink(path("lost.mha")));
}

TEST_F(ImageFile, NamesThatAreTooLongAreFoundAtOnce) {
  const std::string just(251, 'x'), long_name(252, 'x'), ending(60, 'y');
  EXPECT_NO_THROW(check_writable(path(just + ".mha")));
  EXPECT_NO_THROW(check_output_path(path("r." + ending)));
  write_file_atomically(path("r." + ending), [](std::ostream& out) { out << "{}"; });
  EXPECT_THAT(error_of([&] { check_writable(path(long_name + ".mha")); }),
              AllOf(HasSubstr("InputError"), HasSubstr("256 bytes, 255")));
  EXPECT_THAT(error_of([&] { check_output_path(path("report." + long_name)); }),
              AllOf(HasSubstr("InputError"), HasSubstr("too long")));
  std::string deep;
  for (int n = 0; n < 50; ++n) deep += std::string(100, 'd') + "/";
  EXPECT_THAT(error_of([&] { check_output_path(path(deep + "v.mha")); }), HasSubstr("InputError"));
  fs::create_symlink(long_name + ".mha", path("link.mha"));
  EXPECT_THAT(error_of([&] { check_writable(path("link.mha")); }),
              AllOf(HasSubstr("InputError"), HasSubstr("symbolic link to"), HasSubstr("too long")));
  EXPECT_EQ(names().size(), 2U);  // the link and the report
}

TEST_F(ImageFile, ADiskThatIsFull) {
  std::vector<std::string> cases{"v.mha", "v.mhd", "v.raw"};
#ifdef HALOCLINE_WITH_ITK
  for (const char* name : {"v.nrrd", "v.nii", "v.nii.gz", "v.tif"}) cases.emplace_back(name);
#endif
  Volume volume = sample({128, 128, 16}, false);
  for (std::size_t n = 0; n < volume.voxels.size(); ++n)  // nothing that compresses
    volume.voxels[n] = static_cast<float>(static_cast<std::uint32_t>(n * 2654435761U) >> 8);
  for (const std::string& name : cases) {
    const int status = in_child([&] {
      std::signal(SIGXFSZ, SIG_IGN);
      const rlimit limit{100000, 100000};
      setrlimit(RLIMIT_FSIZE, &limit);
      const std::string text = error_of([&] { write_image(volume, path(name)); });
      const bool named = text.find("FileError") == 0 && text.find(path("v.")) != std::string::npos &&
                         text.find("disk") != std::string::npos && text.find("ulimit -f") != std::string::npos &&
                         text.find("ITK") == std::string::npos;
      if (!named) std::fprintf(stderr, "%s: %s\n", name.c_str(), text.c_str());
      return named ? 0 : 1;
    });
    EXPECT_EQ(status, 0) << name;
    EXPECT_TRUE(names().empty()) << name << ": " << testing::PrintToString(names());
    for (const auto& left : names()) fs::remove(path(left));
  }
}

TEST_F(ImageFile, AFolderThatMayNotBeWritten) {
  fs::permissions(folder_,
                  fs::perms::owner_read | fs::perms::owner_exec | fs::perms::others_read | fs::perms::others_exec);
  const Volume volume = sample({2, 2, 2});
  const int status = in_child([&] {
    if (geteuid() == 0 && setuid(65534) != 0) return 2;  // root may write everywhere
    const std::string early = error_of([&] { check_writable(path("v.mha")); });
    const std::string late = error_of([&] { write_image(volume, path("v.mha")); });
    for (const std::string& text : {early, late})
      if (text.find("FileError") != 0 || text.find("v.mha") == std::string::npos ||
          text.find("folder") == std::string::npos)
        return 1;
    return 0;
  });
  fs::permissions(folder_, fs::perms::owner_all);
  if (status == 2) GTEST_SKIP() << "this sandbox does not let the test change its user";
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(names().empty());
}

std::string data_folder() {
  const char* folder = std::getenv("HALOCLINE_TEST_DATA");
  return folder != nullptr ? folder : HALOCLINE_SOURCE_DIR "/../shared/data";
}

TEST_F(ImageFile, ARealScan) {
  const std::string file = data_folder() + "/volume_headsq/headsq.mha";
  if (!fs::exists(file)) GTEST_SKIP() << "volume_headsq is absent; set HALOCLINE_TEST_DATA";
  const ImageInfo info = read_image_info(file);
  EXPECT_EQ(info.component, "int16");
  EXPECT_EQ(info.grid.size, (std::array<std::size_t, 3>{64, 64, 93}));
  EXPECT_EQ(info.grid.spacing, (std::array<double, 3>{3.2, 3.2, 1.5}));
  const Volume volume = read_image(file);
  EXPECT_GT(*std::max_element(volume.voxels.begin(), volume.voxels.end()), 1000);
#ifdef HALOCLINE_WITH_ITK
  expect_same(volume, to_volume(read_itk_typed(file)));
#endif
}

// A parallel beam sees the same mass from everywhere: the sum of the line integrals over a detector row is the same in
// all views.
TEST_F(ImageFile, RealCountsBecomeLineIntegrals) {
  const std::string folder = data_folder() + "/parallel_tooth/";
  if (!fs::exists(folder)) GTEST_SKIP() << "parallel_tooth is absent; set HALOCLINE_TEST_DATA";
  Volume counts = read_image(folder + "tooth_counts.mha");
  const Volume flats = read_image(folder + "tooth_flats.mha"), darks = read_image(folder + "tooth_darks.mha");
  CountsFields fields{.flats = {.stack = &flats}, .darks = {.stack = &darks}};
  const CountsCalibration calibration = calibrate_counts(MemorySource(counts), fields, {});
  counts_to_line_integrals(counts, calibration);
  EXPECT_EQ(calibration.report.pixels, 181U * 2 * 640);
  EXPECT_EQ(calibration.report.bad_pixels, 0U);
  EXPECT_EQ(calibration.report.raised, 0U);
  for (std::size_t row = 0; row < 2; ++row) {
    double least = 1e30, most = 0;
    for (std::size_t view = 0; view < 181; ++view) {
      double mass = 0;
      for (std::size_t u = 0; u < 640; ++u) mass += counts.at(u, row, view);
      least = std::min(least, mass);
      most = std::max(most, mass);
    }
    EXPECT_GT(least, 100);
    EXPECT_LT(most / least, 1.1) << row;
  }
}

#ifdef HALOCLINE_WITH_ITK

TEST_F(ImageFile, OursAndItksMetaImageAgree) {
  const Volume volume = sample({13, 7, 5});
  for (const bool compressed : {false, true})
    for (const char* name : {"x.mha", "x.mhd"}) {
      write_itk_image(volume, path(name), compressed);
      expect_same(read_image(path(name)), volume, 1e-12);
    }
  for (const char* name : {"x.mha", "x.mhd"}) {
    write_image(volume, path(name));
    expect_same(to_volume(read_itk_typed(path(name))), volume, 1e-12);
  }
  // 2D, with a rotation in the plane
  write_text("flat.mha",
             "NDims = 2\nDimSize = 2 2\nElementSpacing = 0.5 0.25\nOffset = 3 4\nTransformMatrix = 0 1 -1 0\n"
             "ElementType = MET_UCHAR\nElementDataFile = LOCAL\nabcd");
  expect_same(read_image(path("flat.mha")), to_volume(read_itk_typed(path("flat.mha"))));
}

// As the command does, or compressed.
void write(const Volume& volume, const std::string& path, bool compressed) {
  compressed ? write_itk_image(volume, path, true) : write_image(volume, path);
}

TEST_F(ImageFile, OtherFormatsKeepValuesAndGrid) {
  // NIfTI holds rotations as float32 quaternions
  for (const auto& [name, tolerance] : {std::pair{"x.nrrd", 1e-12}, {"x.nii", 1e-5}, {"x.nii.gz", 1e-5}})
    for (const auto& size : {std::array<std::size_t, 3>{1, 1, 1}, {13, 7, 5}, {93, 7, 1}})
      for (const bool compressed : {false, true}) {
        SCOPED_TRACE(std::string(name) + (compressed ? " compressed" : ""));
        Volume volume = sample(size);
        write(volume, path(name), compressed);
        expect_same(read_image(path(name)), volume, tolerance);
        EXPECT_EQ(read_image_info(path(name)).component, "float32");
        // a reflection, as the default reconstruction grid is one
        volume.grid = default_grid(size, {0.5, 0.5, 2});
        write(volume, path(name), compressed);
        expect_same(read_image(path(name)), volume, tolerance);
        fs::remove(path(name));
      }
  EXPECT_TRUE(names().empty());
}

TEST_F(ImageFile, TiffStacksKeepValues) {
  for (const auto& size : {std::array<std::size_t, 3>{13, 7, 5}, {93, 7, 1}})
    for (const bool compressed : {false, true}) {
      const Volume volume = sample(size);
      write(volume, path("x.tif"), compressed);
      const Volume back = read_image(path("x.tif"));
      ASSERT_EQ(back.grid.size, size);
      EXPECT_EQ(back.voxels, volume.voxels);
    }
}

TEST_F(ImageFile, Hdf5IsRead) {
  const Volume volume = sample({13, 7, 5});
  write_itk_image(volume, path("x.h5"), false);
  expect_same(read_image(path("x.h5")), volume, 1e-12);
  fs::resize_file(path("x.h5"), fs::file_size(path("x.h5")) / 2);
  EXPECT_THAT(error_of([&] { read_image(path("x.h5")); }), AllOf(HasSubstr("InputError"), HasSubstr("x.h5")));
  EXPECT_THAT(error_of([&] { check_writable(path("x.h5")); }), HasSubstr(".nrrd"));
}

TEST_F(ImageFile, DamagedFilesThroughItk) {
  const Volume volume = sample({13, 7, 5});
  for (const char* name : {"x.nrrd", "x.nii", "x.nii.gz", "x.tif"}) {
    for (const double part : {0.1, 0.5, 0.9, 1.0}) {
      if (part == 1 && std::string(name) == "x.tif") continue;  // the last byte is in a comment
      write_image(volume, path(name));
      const auto size = static_cast<double>(fs::file_size(path(name)));
      fs::resize_file(path(name), static_cast<std::uintmax_t>(part < 1 ? part * size : size - 1));
      const std::string text = error_of([&] { read_image(path(name)); });
      EXPECT_THAT(text, AllOf(HasSubstr("InputError"), HasSubstr(name))) << name << " " << part;
    }
    write_text(name, "garbage");
    EXPECT_THAT(error_of([&] { read_image(path(name)); }), AllOf(HasSubstr("InputError"), HasSubstr(name))) << name;
  }
  write_text("x.nhdr", "NRRD0004\ntype: uint8\ndimension: 3\nsizes: 2 2 2\nencoding: raw\ndata file: x.bin\n");
  EXPECT_THAT(error_of([&] { read_image(path("x.nhdr")); }), AllOf(HasSubstr("InputError"), HasSubstr("x.nhdr")));
  write_text("x.bin", "1234567");
  EXPECT_THAT(error_of([&] { read_image(path("x.nhdr")); }), AllOf(HasSubstr("InputError"), HasSubstr("x.nhdr")));
  write_text("x.bin", "12345678");
  EXPECT_EQ(error_of([&] { read_image(path("x.nhdr")); }), "no error");
  // colours and several volumes
  write_text("rgb.nrrd",
             "NRRD0004\ntype: uint8\ndimension: 4\nkinds: RGB-color domain domain domain\nsizes: 3 1 1 1\n"
             "encoding: raw\n\nabc");
  EXPECT_THAT(error_of([&] { read_image(path("rgb.nrrd")); }), HasSubstr("InputError"));
  write_text("four.nrrd", "NRRD0004\ntype: uint8\ndimension: 4\nsizes: 1 1 1 3\nencoding: raw\n\nabc");
  EXPECT_THAT(error_of([&] { read_image(path("four.nrrd")); }),
              AllOf(HasSubstr("InputError"), HasSubstr("4 dimensions")));
}

TEST_F(ImageFile, RealNifti) {
  const std::string file = data_folder() + "/volume_engine/engine.nii.gz";
  if (!fs::exists(file)) GTEST_SKIP() << "volume_engine is absent; set HALOCLINE_TEST_DATA";
  const ImageInfo info = read_image_info(file);
  EXPECT_EQ(info.grid.size, (std::array<std::size_t, 3>{256, 256, 128}));
  EXPECT_EQ(info.component, "uint8");
  EXPECT_EQ(info.format, "NIfTI");
  const Volume volume = read_image(file);
  EXPECT_EQ(*std::min_element(volume.voxels.begin(), volume.voxels.end()), 0);
  EXPECT_GT(*std::max_element(volume.voxels.begin(), volume.voxels.end()), 200);
}

TEST_F(ImageFile, DicomSeries) {
  DicomWriter dicom;
  // named and numbered against their order along the axis, which alone must count
  for (int k = 0; k < 4; ++k) {
    std::vector<std::int16_t> pixels(6);
    for (int n = 0; n < 6; ++n) pixels[n] = static_cast<std::int16_t>(10 * k + n);
    dicom.write(path("slice" + std::to_string(9 - k)), "7", 9 - k, -5 + 1.25 * k, pixels);
  }
  const ImageInfo info = read_image_info(folder_.string());
  EXPECT_EQ(info.format, "DICOM series");
  const Volume volume = read_image(folder_.string());
  ASSERT_EQ(volume.grid.size, (std::array<std::size_t, 3>{3, 2, 4}));
  EXPECT_EQ(volume.grid.size, info.grid.size);
  EXPECT_EQ(volume.grid.spacing, (std::array<double, 3>{0.25, 0.5, 1.25}));
  // columns run along world y, rows along -x, slices along their cross product z
  const auto at = volume.grid.world(2, 1, 3);
  EXPECT_NEAR(at[0], 10 - 0.5, 1e-9);
  EXPECT_NEAR(at[1], 20 + 0.5, 1e-9);
  EXPECT_NEAR(at[2], -5 + 3.75, 1e-9);
  for (int k = 0; k < 4; ++k)
    for (int n = 0; n < 6; ++n) EXPECT_EQ(volume.voxels[6 * k + n], 2 * (10 * k + n) - 1024) << k << " " << n;

  EXPECT_EQ(read_image(path("slice9")).grid.size, (std::array<std::size_t, 3>{3, 2, 1}));  // known by its content

  // as a command's input, of which no slice can be an output; a picture in TIFF beside the slices is no part of it
  Grid picture{.size = {5, 4, 1}};
  write_image(Volume(picture, 1), path("picture.tif"));
  const Ran shown = done({"metrics", "-i", folder_.string()});
  EXPECT_THAT(shown.out, HasSubstr("-1024"));
  fs::rename(path("slice8"), path("slice8.mha"));
  const std::string slice = content(path("slice8.mha"));
  const Ran onto = run({"noise", "-i", folder_.string(), "--photons", "10", "-o", path("slice8.mha")});
  EXPECT_EQ(onto.code, 2);
  EXPECT_THAT(onto.err, HasSubstr("is the input of -i"));
  EXPECT_TRUE(content(path("slice8.mha")) == slice);
  fs::rename(path("slice8.mha"), path("slice8"));
  fs::remove(path("picture.tif"));

  fs::rename(path("slice7"), folder_.string() + "-moved");
  EXPECT_THAT(error_of([&] { read_image(folder_.string()); }),
              AllOf(HasSubstr("InputError"), HasSubstr("a slice is missing")));
  fs::rename(folder_.string() + "-moved", path("slice7"));
  dicom.write(path("other"), "8", 1, 0, std::vector<std::int16_t>(6));
  EXPECT_THAT(error_of([&] { read_image(folder_.string()); }),
              AllOf(HasSubstr("2 DICOM series"), HasSubstr("1.2.3.4.7"), HasSubstr("1.2.3.4.8")));
  fs::remove(path("other"));
  fs::resize_file(path("slice9"), fs::file_size(path("slice9")) - 4);
  EXPECT_THAT(error_of([&] { read_image(folder_.string()); }), AllOf(HasSubstr("InputError"), HasSubstr("slice9")));
  fs::create_directory(path("empty"));
  EXPECT_THAT(error_of([&] { read_image(path("empty")); }), HasSubstr("no DICOM series"));
}

#endif

}  // namespace
}  // namespace halocline::image_file_test
