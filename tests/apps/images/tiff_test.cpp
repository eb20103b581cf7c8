// labels: app itk
// TIFF files of every type of samples and every layout: values as stored, or a refusal that names the reason.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <type_traits>

#include "apps/images/image_file.hpp"
#include "host/system/error.hpp"
#include "host/volume/component.hpp"
#include "tests/support/command_runner.hpp"
#include "tests/support/image_actions.hpp"
#include "tests/support/tiff_writer.hpp"

#ifdef HALOCLINE_WITH_ITK

namespace halocline::tiff_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using Tags = TiffWriter::Tags;

constexpr std::uint16_t new_subfile_type = 254, width = 256, height = 257, bits = 258, compression = 259,
                        photometric = 262, strip_offsets = 273, orientation = 274, samples = 277, rows_per_strip = 278,
                        strip_bytes = 279, x_resolution = 282, y_resolution = 283, planar = 284, resolution_unit = 296,
                        color_map = 320, tile_width = 322, tile_height = 323, tile_offsets = 324, tile_bytes = 325,
                        extra_samples = 338, sample_format = 339, image_depth = 32997, gdal_nodata = 42113;

Tags tags_of(std::uint64_t columns, std::uint64_t rows, std::uint64_t bits_a_value, std::uint64_t format = 1) {
  return {{width, {columns}}, {height, {rows}}, {bits, {bits_a_value}},   {compression, {1}},
          {photometric, {1}}, {samples, {1}},   {rows_per_strip, {rows}}, {sample_format, {format}}};
}

// Differs in all its bytes, and from value to value.
template <typename T>
T value_at(std::size_t n) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(0x9e3779b97f4a7c15ULL * (n + 1) >> (64 - 8 * sizeof(T)));
  else
    return static_cast<T>(1.37 * static_cast<double>(n) - 20.5);
}

struct Half {
  std::uint16_t bits = 0;
};

template <typename T>
std::string bytes_of(std::size_t n, bool msb_first) {
  if constexpr (std::is_same_v<T, Half>)
    return ordered_bytes(half_from_float(value_at<float>(n)), msb_first);
  else
    return ordered_bytes(value_at<T>(n), msb_first);
}

template <typename T>
float as_float(std::size_t n) {
  if constexpr (std::is_same_v<T, Half>)
    return float_from_half(half_from_float(value_at<float>(n)));
  else
    return static_cast<float>(value_at<T>(n));
}

struct Layout {
  bool msb_first, big, tiled;
  std::size_t pages;
};

// 19 x 7 pixels: in strips of three rows, or in tiles of 16 x 16, which reach over the edge.
template <typename T>
std::string file_of(const Layout& layout, std::uint64_t format) {
  constexpr std::size_t columns = 19, rows = 7, strip = 3, tile = 16;
  TiffWriter writer(layout.msb_first, layout.big);
  for (std::size_t page = 0; page < layout.pages; ++page) {
    Tags tags = tags_of(columns, rows, 8 * sizeof(T), format);
    std::vector<std::string> pieces;
    const auto pixel = [&](std::size_t x, std::size_t y) {
      return x < columns && y < rows ? bytes_of<T>((page * rows + y) * columns + x, layout.msb_first)
                                     : std::string(sizeof(T), '\x55');
    };
    const std::size_t piece_rows = layout.tiled ? tile : strip, piece_columns = layout.tiled ? tile : columns;
    for (std::size_t top = 0; top < rows; top += piece_rows)
      for (std::size_t left = 0; left < columns; left += piece_columns) {
        std::string& piece = pieces.emplace_back();
        for (std::size_t y = top; y < (layout.tiled ? top + tile : std::min(rows, top + strip)); ++y)
          for (std::size_t x = left; x < left + piece_columns; ++x) piece += pixel(x, y);
      }
    tags[rows_per_strip] = {strip};
    if (layout.tiled) {
      tags.erase(rows_per_strip);
      tags[tile_width] = tags[tile_height] = {tile};
    }
    writer.page(tags, pieces);
  }
  return writer.file();
}

template <typename T>
void expect_every_layout(const char* name, std::uint64_t format) {
  const Folder f;
  for (const bool msb_first : {false, true})
    for (const bool big : {false, true})
      for (const bool tiled : {false, true})
        for (const std::size_t pages : {1, 3}) {
          SCOPED_TRACE(testing::Message() << name << (msb_first ? " MM" : " II") << (big ? " BigTIFF" : "")
                                          << (tiled ? " tiles " : " strips ") << pages);
          write_text(f / "x.tif", file_of<T>({msb_first, big, tiled, pages}, format));
          EXPECT_EQ(read_image_info(f / "x.tif").component, name);
          const Volume volume = read_image(f / "x.tif");
          ASSERT_EQ(volume.grid.size, (std::array<std::size_t, 3>{19, 7, pages}));
          std::size_t wrong = 0;
          for (std::size_t n = 0; n < volume.voxels.size(); ++n) wrong += volume.voxels[n] != as_float<T>(n);
          EXPECT_EQ(wrong, 0u);
        }
}

TEST(Tiff, UnsignedSamples) {
  expect_every_layout<std::uint8_t>("uint8", 1);
  expect_every_layout<std::uint16_t>("uint16", 1);
  expect_every_layout<std::uint32_t>("uint32", 1);
  expect_every_layout<std::uint64_t>("uint64", 1);
  expect_every_layout<std::uint16_t>("uint16", 4);  // "undefined": as unsigned ones
}

TEST(Tiff, SignedSamples) {
  expect_every_layout<std::int8_t>("int8", 2);
  expect_every_layout<std::int16_t>("int16", 2);
  expect_every_layout<std::int32_t>("int32", 2);
  expect_every_layout<std::int64_t>("int64", 2);
}

TEST(Tiff, FloatingPointSamples) {
  expect_every_layout<Half>("float16", 3);
  expect_every_layout<float>("float32", 3);
  expect_every_layout<double>("float64", 3);
}

// Samples that share bytes, the first in the highest bits; rows begin at whole bytes.
TEST(Tiff, SamplesOfAnyNumberOfBits) {
  const Folder f;
  constexpr std::size_t columns = 13, rows = 3;
  for (const bool msb_first : {false, true})
    for (unsigned count = 1; count < 16; ++count) {
      if (count == 8) continue;
      SCOPED_TRACE(count);
      std::string data;
      std::vector<float> expected;
      for (std::size_t y = 0; y < rows; ++y) {
        std::string row;  // of digits
        for (std::size_t x = 0; x < columns; ++x) {
          const unsigned value = value_at<std::uint16_t>(y * columns + x) & ((1U << count) - 1);
          expected.push_back(static_cast<float>(value));
          for (unsigned bit = count; bit-- > 0;) row.push_back((value >> bit & 1) != 0 ? '1' : '0');
        }
        row.resize((row.size() + 7) / 8 * 8, '0');
        for (std::size_t n = 0; n < row.size(); n += 8)
          data.push_back(static_cast<char>(std::stoi(row.substr(n, 8), nullptr, 2)));
      }
      TiffWriter writer(msb_first, false);
      writer.page(tags_of(columns, rows, count), {data});
      write_text(f / "x.tif", writer.file());
      EXPECT_EQ(read_image_info(f / "x.tif").component, count < 8 ? "uint8" : "uint16");
      EXPECT_EQ(read_image(f / "x.tif").voxels, expected);
    }
}

// A file of one page of 2 x 3 bytes 1, ..., 6 with other tags.
class TiffTags : public testing::Test {
 protected:
  static Tags small(const Tags& others) {
    Tags tags = tags_of(2, 3, 8);
    for (const auto& [tag, values] : others) tags[tag] = values;
    return tags;
  }
  std::string reading(const Tags& others, std::string data = "\1\2\3\4\5\6", const std::string& text = "") {
    TiffWriter writer;
    writer.page(small(others), {std::move(data)}, text);
    write_text(path(), writer.file());
    return error_of([&] { read_ = read_image(path()); });
  }
  std::string path() const { return f_ / "x.tif"; }

  Folder f_;
  Volume read_;
};

TEST_F(TiffTags, ValuesAreThoseThatAreStored) {
  std::vector<std::uint64_t> ramp;
  for (int channel = 0; channel < 3; ++channel)
    for (std::uint64_t n = 0; n < 256; ++n) ramp.push_back(257 * n);
  const std::vector<float> stored{1, 2, 3, 4, 5, 6};
  for (const Tags& tags : {Tags{}, Tags{{photometric, {0}}}, Tags{{photometric, {3}}, {color_map, ramp}},
                           Tags{{planar, {2}}}, Tags{{rows_per_strip, {0xffffffff}}}}) {
    EXPECT_EQ(reading(tags), "no error");
    EXPECT_EQ(read_.voxels, stored);
  }
  // packed by PackBits: a run of three, then three bytes as they are
  EXPECT_EQ(reading({{compression, {32773}}}, std::string("\xfe\x07\x02\x01\x02\x03", 6)), "no error");
  EXPECT_EQ(read_.voxels, (std::vector<float>{7, 7, 7, 1, 2, 3}));
}

// RFC 1950 and 1951: one stored block.
std::string deflated(const std::string& data) {
  std::uint32_t a = 1, b = 0;
  for (const char byte : data) {
    a = (a + static_cast<unsigned char>(byte)) % 65521;
    b = (b + a) % 65521;
  }
  const auto size = static_cast<std::uint16_t>(data.size());
  return "\x78\x01\x01" + ordered_bytes(size, false) + ordered_bytes(static_cast<std::uint16_t>(~size), false) + data +
         ordered_bytes(b << 16 | a, true);
}

// Some writers pad the last strip to the height of the others.
TEST_F(TiffTags, PiecesOfMoreBytesThanTheirRows) {
  const std::vector<float> stored{1, 2, 3, 4, 5, 6};
  std::string tile(256, 'x');
  for (std::size_t y = 0; y < 3; ++y)
    for (std::size_t x = 0; x < 2; ++x) tile[16 * y + x] = static_cast<char>(2 * y + x + 1);
  for (const std::uint64_t method : {1, 8, 32946}) {
    SCOPED_TRACE(method);
    const auto packed = [&](const std::string& data) { return method == 1 ? data : deflated(data); };
    EXPECT_EQ(reading({{compression, {method}}}, packed("\1\2\3\4\5\6more")), "no error");
    EXPECT_EQ(read_.voxels, stored);
    TiffWriter strips, tiles;
    for (int page = 0; page < 2; ++page) {
      strips.page(small({{compression, {method}}, {rows_per_strip, {2}}}), {packed("\1\2\3\4"), packed("\5\6xx")});
      Tags tags = small({{compression, {method}}, {tile_width, {16}}, {tile_height, {16}}});
      tags.erase(rows_per_strip);
      tiles.page(tags, {packed(tile + "more")});
    }
    for (const TiffWriter* writer : {&strips, &tiles}) {
      write_text(path(), writer->file());
      const Volume volume = read_image(path());
      EXPECT_TRUE(std::equal(stored.begin(), stored.end(), volume.voxels.begin()));
      EXPECT_TRUE(std::equal(stored.begin(), stored.end(), volume.voxels.begin() + 6));
    }
  }
  std::string damaged = deflated("\1\2\3\4\5\6");
  damaged.back() = static_cast<char>(damaged.back() + 1);  // of its sum
  for (const std::string& data : {deflated("\1\2\3\4\5"), damaged})
    EXPECT_THAT(reading({{compression, {8}}}, data), AllOf(HasSubstr("cannot read page 1"), HasSubstr(path())));
}

// Convention of GDAL's SPARSE_OK and tifffile: neither place nor size means zeros.
TEST_F(TiffTags, PiecesThatAreNotStored) {
  constexpr std::uint64_t whole = 0xffffffff;
  for (const auto& [tags, data, expected] :
       {std::tuple(Tags{{rows_per_strip, {1}}, {strip_offsets, {8, 0, 12}}, {strip_bytes, {2, 0, 2}}},
                   std::string("\1\2\3\4\5\6"), std::vector<float>{1, 2, 0, 0, 5, 6}),
        {Tags{{strip_offsets, {0}}, {strip_bytes, {0}}}, "\1\2\3\4\5\6", std::vector<float>(6, 0)},
        {Tags{{rows_per_strip, {2}}, {compression, {8}}, {strip_offsets, {8, 0}}, {strip_bytes, {15, 0}}},
         deflated("\1\2\3\4"), std::vector<float>{1, 2, 3, 4, 0, 0}},
        {Tags{{tile_width, {16}}, {tile_height, {16}}, {tile_offsets, {0}}, {tile_bytes, {0}}}, "\1",
         std::vector<float>(6, 0)},
        // one strip without a size reaches as far as its rows
        {Tags{{rows_per_strip, {whole}}, {strip_bytes, {0}}}, "\1\2\3\4\5\6", std::vector<float>{1, 2, 3, 4, 5, 6}}}) {
    EXPECT_EQ(reading(tags, data), "no error");
    EXPECT_EQ(read_.voxels, expected);
  }
  const Folder other;
  TiffWriter writer;
  writer.page(small({{rows_per_strip, {1}}, {strip_offsets, {8, 0, 0}}, {strip_bytes, {2, 0, 0}}}), {"\1\2"});
  write_text(other / "x.tif", writer.file());
  const Ran ran = done({"metrics", "-i", other / "x.tif"});
  EXPECT_THAT(ran.err, AllOf(HasSubstr(other / "x.tif"), HasSubstr("strips with neither place nor size: 2")));
}

TEST_F(TiffTags, PiecesThatAreMissingAreRefused) {
  const std::string piece = deflated(std::string(256, '\1'));  // all stored pieces share it
  const std::uint64_t size = piece.size();
  for (const std::uint64_t method : {1, 8}) {
    const auto refused = [&](Tags tags, const std::string& reason) {
      tags[compression] = {method};
      EXPECT_THAT(reading(tags, piece), AllOf(HasSubstr("InputError"), HasSubstr(path()), HasSubstr(reason)));
    };
    const auto lines = [](const std::vector<std::uint64_t>& offsets, const std::vector<std::uint64_t>& sizes) {
      return Tags{{rows_per_strip, {1}}, {strip_offsets, offsets}, {strip_bytes, sizes}};
    };
    const auto tiles = [](const std::vector<std::uint64_t>& offsets, const std::vector<std::uint64_t>& sizes) {
      return Tags{
          {height, {20}}, {tile_width, {16}}, {tile_height, {16}}, {tile_offsets, offsets}, {tile_bytes, sizes}};
    };
    refused(lines({8, 8}, {size, size}), "strip 3 of page 1 is not in the file: 2 of 3 are listed");
    refused(lines({8, 8, 8}, {size, size}), "strip 3 of page 1 is not in the file");
    refused(lines({8, 0, 8}, {size, size, size}), "strip 2 of page 1 is not in the file: it is listed at byte 0");
    refused(lines({8, 8, 8}, {size, 0, size}), "strip 2 of page 1 is not in the file: it is listed with 0 bytes");
    refused({{strip_offsets, {0}}, {strip_bytes, {size}}}, "strip 1 of page 1 is not in the file");
    refused(tiles({8}, {size}), "tile 2 of page 1 is not in the file");
    refused(tiles({8, 0}, {size, size}), "tile 2 of page 1 is not in the file");
    // zeros would not be the value that such pieces have
    Tags tags = lines({8, 0, 8}, {size, 0, size});
    tags[gdal_nodata] = {7};
    refused(tags, "GDAL_NODATA");
  }
}

TEST_F(TiffTags, PiecesOfFewerBytesThanTheirRowsAreRefused) {
  const auto refused = [&](const Tags& tags, const std::string& reason) {
    EXPECT_THAT(reading(tags, std::string(400, '\1')),
                AllOf(HasSubstr("InputError"), HasSubstr(path()), HasSubstr("truncated"), HasSubstr(reason)));
  };
  refused({{strip_bytes, {5}}}, "strip 1 of page 1 has 5 bytes, its rows need 6");
  refused({{bits, {12}}, {width, {7}}, {height, {9}}, {rows_per_strip, {9}}, {strip_bytes, {96}}},
          "strip 1 of page 1 has 96 bytes, its rows need 99");
  refused({{rows_per_strip, {1}}, {strip_offsets, {8, 10, 12}}, {strip_bytes, {2, 2, 1}}},
          "strip 3 of page 1 has 1 bytes, its rows need 2");
  refused({{rows_per_strip, {1}}, {strip_offsets, {8, 10, 12}}, {strip_bytes, {2, 1, 2}}},
          "strip 2 of page 1 has 1 bytes");
  refused({{tile_width, {16}}, {tile_height, {16}}, {tile_bytes, {255}}}, "tile 1 of page 1 has 255 bytes");
}

std::string doubles(const std::vector<double>& values) {
  std::string out;
  for (const double value : values) out += ordered_bytes(value, false);
  return out;
}

TEST_F(TiffTags, ValuesBeyondFloat32AreRefused) {
  const Tags tags{{bits, {64}}, {sample_format, {3}}};
  const auto refused = [&](const std::vector<double>& values, const std::string& what) {
    EXPECT_THAT(reading(tags, doubles(values)), AllOf(HasSubstr("InputError: '" + path() + "'"), HasSubstr(what),
                                                      HasSubstr("float32"), HasSubstr("scale the values")));
    for (const bool allow_nonfinite : {false, true})
      EXPECT_THAT(error_of([&] { open_image(path(), allow_nonfinite); }), HasSubstr(what));
    std::filesystem::copy_file(path(), f_ / "p1.tif", std::filesystem::copy_options::overwrite_existing);
    EXPECT_THAT(error_of([&] { read_image(f_ / "p*.tif"); }), AllOf(HasSubstr("p1.tif'"), HasSubstr(what)));
  };
  refused({1, 2, 3, 1e300, 5, 6}, "1 value lies beyond");
  refused({1, 2, 3, 1e300, 5, 6}, "1e+300 at index (1,1,0) the first");
  refused({1, -3.5e38, 3, 1e300, 5, 6}, "-3.5e+38 at index (1,0,0) the first");
  EXPECT_EQ(reading(tags, doubles({1, -3.4028234e38, 3, 1e-300, 5, 6})), "no error");
  EXPECT_EQ(read_.voxels, (std::vector<float>{1, -3.4028234e38F, 3, 0, 5, 6}));
  EXPECT_THAT(reading(tags, doubles({1, INFINITY, 3, 4, 5, 6})), HasSubstr("NaN or infinite"));
}

TEST_F(TiffTags, OrientationIsNamedAndNotApplied) {
  for (std::uint64_t n = 1; n <= 8; ++n) {
    EXPECT_EQ(reading({{orientation, {n}}}), "no error");
    EXPECT_EQ(read_.grid.size, (std::array<std::size_t, 3>{2, 3, 1}));
    EXPECT_EQ(read_.voxels, (std::vector<float>{1, 2, 3, 4, 5, 6}));
  }
  const Folder other;
  TiffWriter writer;
  writer.page(small({{orientation, {6}}}), {"\1\2\3\4\5\6"});
  for (const char* name : {"p1.tif", "p2.tif"}) write_text(other / name, writer.file());
  const Ran ran = done({"metrics", "-i", other / "p*.tif"});
  EXPECT_THAT(ran.err, AllOf(HasSubstr("p1.tif' has the orientation 6"), Not(HasSubstr("p2.tif'"))));
}

TEST_F(TiffTags, OnePixelWideAndHigh) {
  for (const auto& [columns, rows] : {std::pair<std::uint64_t, std::uint64_t>{1, 6}, {6, 1}}) {
    EXPECT_EQ(reading({{width, {columns}}, {height, {rows}}, {rows_per_strip, {rows}}}), "no error");
    EXPECT_EQ(read_.grid.size, (std::array<std::size_t, 3>{columns, rows, 1}));
    EXPECT_EQ(read_.voxels, (std::vector<float>{1, 2, 3, 4, 5, 6}));
  }
  // a stack of columns, which tifffile stores as one page
  EXPECT_EQ(reading({}, "\1\2\3\4\5\6", "{\"shape\": [3, 2, 1]}"), "no error");
  EXPECT_EQ(read_.grid.size, (std::array<std::size_t, 3>{1, 2, 3}));
}

TEST_F(TiffTags, EverythingElseIsRefusedByName) {
  const std::vector<std::uint64_t> eight3{8, 8, 8}, eight4{8, 8, 8, 8};
  std::vector<std::uint64_t> fire(3 * 256, 0);
  fire[255] = 65535;  // red alone
  const std::string data(6 * 16, 'x');
  const auto refused = [&](const Tags& tags, const std::string& reason) {
    EXPECT_THAT(reading(tags, data),
                AllOf(HasSubstr("InputError"), HasSubstr(path()), HasSubstr(reason), Not(HasSubstr("ITK"))));
  };
  refused({{samples, {3}}, {bits, eight3}, {photometric, {2}}, {sample_format, {1, 1, 1}}}, "3 values a pixel (RGB)");
  refused({{samples, {4}}, {bits, eight4}, {photometric, {2}}, {extra_samples, {2}}, {sample_format, {1, 1, 1, 1}}},
          "4 values a pixel (RGBA)");
  refused({{samples, {3}}, {bits, eight3}, {planar, {2}}, {sample_format, {1, 1, 1}}, {extra_samples, {0, 0}}},
          "3 values a pixel");
  refused({{photometric, {3}}, {color_map, fire}}, "places in a table of colours");
  refused({{photometric, {32803}}}, "filter array");
  refused({{photometric, {32845}}}, "photometric interpretation 32845");
  refused({{sample_format, {5}}, {bits, {32}}}, "complex values of 32 bits");
  refused({{sample_format, {6}}, {bits, {64}}}, "complex values of 64 bits");
  refused({{bits, {24}}}, "unsigned values of 24 bits");
  refused({{bits, {12}}, {sample_format, {2}}}, "signed values of 12 bits");
  refused({{bits, {24}}, {sample_format, {3}}}, "floating-point values of 24 bits");
  refused({{compression, {34712}}}, "compressed by a method that libtiff does not read here: 34712");
  refused({{image_depth, {2}}}, "2 slices in a page");
}

TEST_F(TiffTags, PreviewsAndMasksAreNoSlices) {
  TiffWriter writer;
  writer.page(small({{new_subfile_type, {1}}, {width, {1}}, {height, {1}}, {rows_per_strip, {1}}}), {"p"});
  writer.page(small({{new_subfile_type, {0}}}), {"\1\2\3\4\5\6"});
  writer.page(small({{new_subfile_type, {4}}}), {"maskma"});
  writer.page(small({{new_subfile_type, {2}}}), {"\7\1\2\3\4\5"});
  writer.page(small({}), {"\2\2\2\2\2\2"});
  write_text(path(), writer.file());
  const Volume volume = read_image(path());
  EXPECT_EQ(volume.grid.size, (std::array<std::size_t, 3>{2, 3, 3}));
  EXPECT_EQ(volume.voxels, (std::vector<float>{1, 2, 3, 4, 5, 6, 7, 1, 2, 3, 4, 5, 2, 2, 2, 2, 2, 2}));
}

TEST_F(TiffTags, PagesOfDifferentKindsAreRefused) {
  for (const auto& [tags, reason] :
       {std::pair(Tags{{width, {3}}}, "page 2 has width 3, page 1 has 2"),
        {Tags{{height, {2}}, {rows_per_strip, {2}}}, "page 2 has height 2, page 1 has 3"},
        {Tags{{bits, {16}}}, "page 2 has bits a value 16, page 1 has 8"},
        {Tags{{sample_format, {2}}}, "page 2 has sample format signed, page 1 has unsigned"},
        {Tags{{photometric, {0}}}, "page 2 has photometric interpretation 0"},
        {Tags{{orientation, {3}}}, "page 2 has orientation 3, page 1 has 1"},
        {Tags{{samples, {2}}, {bits, {8, 8}}, {sample_format, {1, 1}}}, "page 2, has 2 values"}}) {
    TiffWriter writer;
    writer.page(small({}), {"\1\2\3\4\5\6"});
    writer.page(small(tags), {std::string(24, 'x')});
    write_text(path(), writer.file());
    EXPECT_THAT(error_of([&] { read_image(path()); }),
                AllOf(HasSubstr("InputError"), HasSubstr(path()), HasSubstr(reason)));
  }
}

// Stacks keep one spacing, which that of the first page is.
TEST_F(TiffTags, ResolutionsThatDifferAreNamed) {
  const auto warned = [&](const std::vector<std::uint64_t>& second) {
    const Folder other;
    TiffWriter writer;
    writer.page(small({{x_resolution, {20, 1}}, {y_resolution, {25, 1}}, {resolution_unit, {3}}}), {"\1\2\3\4\5\6"});
    writer.page(small({}), {"\1\2\3\4\5\6"});  // says nothing
    writer.page(small({{x_resolution, second}, {y_resolution, {25, 1}}, {resolution_unit, {3}}}), {"\1\2\3\4\5\6"});
    write_text(other / "x.tif", writer.file());
    const Ran ran = done({"metrics", "-i", other / "x.tif"});
    const Volume volume = read_image(other / "x.tif");
    EXPECT_FLOAT_EQ(static_cast<float>(volume.grid.spacing[0]), 0.5F);
    EXPECT_FLOAT_EQ(static_cast<float>(volume.grid.spacing[1]), 0.4F);
    return ran.err;
  };
  EXPECT_THAT(warned({40, 1}), AllOf(HasSubstr("x.tif': page 3 has pixels of 0.25 x 0.4 mm, page 1 of 0.5 x 0.4 mm"),
                                     HasSubstr("warning")));
  EXPECT_THAT(warned({2000001, 100000}), Not(HasSubstr("page 3")));  // rounded
}

TEST_F(TiffTags, SpacingThatImageJDescribes) {
  const auto spacing = [&](const std::string& lines) {
    TiffWriter writer;
    for (int page = 0; page < 2; ++page)
      writer.page(small({{x_resolution, {2, 1}}, {y_resolution, {4, 1}}, {resolution_unit, {1}}}), {"\1\2\3\4\5\6"},
                  page == 0 ? "ImageJ=1.54f\nimages=2\nslices=2\n" + lines : "");
    write_text(path(), writer.file());
    EXPECT_EQ(read_image(path()).grid.spacing, read_image_info(path()).grid.spacing);
    return read_image_info(path()).grid.spacing;
  };
  for (const auto& [unit, mm] : {std::pair<std::string, double>{"mm", 1},
                                 {"um", 1e-3},
                                 {"\xb5m", 1e-3},
                                 {"\xc2\xb5m", 1e-3},
                                 {"\\u00B5m", 1e-3},
                                 {"micron", 1e-3},
                                 {"cm", 10},
                                 {"m", 1000},
                                 {"inch", 25.4}}) {
    const auto found = spacing("unit=" + unit + "\nspacing=2.5\nloop=false\n");
    EXPECT_NEAR(found[0], 0.5 * mm, 1e-9 * mm) << unit;
    EXPECT_NEAR(found[1], 0.25 * mm, 1e-9 * mm) << unit;
    EXPECT_NEAR(found[2], 2.5 * mm, 1e-9 * mm) << unit;
  }
  EXPECT_EQ(spacing("spacing=2.5\nunit=pixel\n"), (std::array<double, 3>{1, 1, 1}));
  EXPECT_EQ(spacing("spacing=2.5\n"), (std::array<double, 3>{1, 1, 1}));
  EXPECT_EQ(spacing("unit=mm\nzunit=cm\nspacing=2\n"), (std::array<double, 3>{0.5, 0.25, 20}));
  const Ran ran = done({"denoise", "-i", path(), "--method", "gaussian", "-o", f_ / "y.mha"});
  EXPECT_THAT(ran.err, AllOf(HasSubstr("neither origin nor direction; taken for"), HasSubstr("0.5 x 0.25 x 20 mm")));
}

// ImageJ and tifffile describe the first page alone of what has more than 4 GB.
TEST_F(TiffTags, SlicesThatFollowTheOnlyPage) {
  const std::string three = "\1\2\3\4\5\6\7\1\2\3\4\5\2\2\2\2\2\2";
  Tags tags = small({});
  for (const std::string text :
       {"ImageJ=1.54f\nimages=3\nslices=3\n", "ImageJ=1.54f\nimages=3\n",
        "ImageJ=1.54f\nimages=3\nframes=3\nslices=1\n", "{\"shape\": [3, 3, 2], \"truncated\": true}"}) {
    SCOPED_TRACE(text);
    const auto write = [&](const std::string& data, std::size_t room) {
      TiffWriter writer;
      writer.page(tags, {data.substr(0, 6)}, text);
      std::string bytes = writer.file();
      // the values move to the end, which no page describes
      const std::string place = writer.number(bytes.size(), 4);
      const auto entry = bytes.find(writer.number(273, 2) + writer.number(4, 2) + writer.number(1, 4));
      bytes.replace(entry + 8, 4, place);
      write_text(path(), bytes + data + std::string(room, 'x'));
    };
    write(three, 0);
    const Volume volume = read_image(path());
    EXPECT_EQ(volume.grid.size, (std::array<std::size_t, 3>{2, 3, 3}));
    EXPECT_EQ(volume.voxels, std::vector<float>(three.begin(), three.end()));
    write(three.substr(0, 17), 0);
    EXPECT_THAT(error_of([&] { read_image(path()); }),
                AllOf(HasSubstr(path()), HasSubstr("truncated"), HasSubstr("3 images")));
    write(three.substr(0, 8), 0);
    EXPECT_THAT(error_of([&] { read_image(path()); }), HasSubstr("truncated"));
    if (text.find("truncated") != std::string::npos) continue;
    write(three.substr(0, 6), 1);  // one of a stack that was taken apart
    EXPECT_EQ(read_image(path()).grid.size[2], 1u);
  }
  tags = small({});
  TiffWriter hyperstack;
  for (int page = 0; page < 6; ++page)
    hyperstack.page(tags, {"\1\2\3\4\5\6"}, page == 0 ? "ImageJ=1.54f\nimages=6\nchannels=2\nslices=3\n" : "");
  write_text(path(), hyperstack.file());
  EXPECT_THAT(error_of([&] { read_image(path()); }),
              AllOf(HasSubstr(path()), HasSubstr("6 images along 2 axes (2 x 3)")));
}

// Cut anywhere: read as it was, for the end may be a text, or refused.
TEST(Tiff, TruncatedFilesAreRefused) {
  const Folder f;
  for (const bool tiled : {false, true}) {
    const std::string whole = file_of<std::uint32_t>({false, false, tiled, 3}, 1);
    write_text(f / "x.tif", whole);
    const Volume expected = read_image(f / "x.tif");
    for (std::size_t size = 0; size < whole.size(); size += size + 45 < whole.size() ? 37 : 1) {
      write_text(f / "x.tif", whole.substr(0, size));
      const std::string text = error_of([&] { EXPECT_EQ(read_image(f / "x.tif").voxels, expected.voxels) << size; });
      if (text != "no error") {
        EXPECT_THAT(text, AllOf(HasSubstr("InputError"), HasSubstr(f / "x.tif"))) << size;
      }
    }
  }
}

}  // namespace
}  // namespace halocline::tiff_test

#endif
