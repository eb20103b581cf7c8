// labels: unit
// Geometry files of every format as editors and languages save them: byte order marks, UTF-16, ends of lines, decimal
// commas. Each must say what the plain file says.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cctype>
#include <filesystem>
#include <fstream>

#include "algorithms/geometry/geometry_text.hpp"
#include "algorithms/geometry/geometry_xml.hpp"
#include "algorithms/geometry/scan_file.hpp"
#include "host/system/error.hpp"
#include "tests/support/refusal.hpp"

namespace halocline::geometry_encodings_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

Geometry circle() {
  CircularOptions options;
  options.sid = 500.5;
  options.sdd = 1000.25;
  options.projections = 7;
  options.first_angle = 1.5;
  options.projection_offset_x = -2.125;
  return circular_geometry(options);
}

struct Format {
  const char *name, *file;
  std::string text;
};

std::vector<Format> formats() {
  DetectorPixels pixels{.size = {{64, 48}}, .spacing = {{0.75, 0.5}}};
  return {{"Xtekct", "s.xtekct",
           "[XTekCT]\nSrcToObject=100.5\nSrcToDetector=200.25\nDetectorPixelsX=64\nDetectorPixelSizeX=0.75\n"
           "DetectorPixelsY=48\nDetectorPixelSizeY=0.5\nProjections=7\nAngularStep=-3.5\nObjectOffsetX=1.5e-1\n"},
          {"Pca", "s.pca",
           "[Geometry]\nFDD=800.5\nFOD=160.25\ncx=30.5\ncy=22.25\n[CT]\nNumberImages=7\nRotationSector=360.0\n[Image]\n"
           "DimX=64\nDimY=48\n[Detector]\nPixelsizeX=0.75\nPixelsizeY=0.5\n"},
          {"Rtk", "s.xml", geometry_xml(circle(), pixels)},
          {"Astra", "s.txt", geometry_text(circle(), TextFormat::astra, pixels)},
          {"Matrices", "s.txt", geometry_text(circle(), TextFormat::matrices, pixels)}};
}

std::string utf16(const std::string& text, bool big, bool mark) {
  std::string out = !mark ? "" : big ? "\xfe\xff" : "\xff\xfe";
  for (const char c : text) out += big ? std::string{'\0', c} : std::string{c, '\0'};
  return out;
}

std::string with_line_ends(const std::string& text, const std::string& end) {
  std::string out;
  for (const char c : text) out += c == '\n' ? end : std::string(1, c);
  return out;
}

class GeometryEncodings : public testing::TestWithParam<std::size_t> {
 protected:
  GeometryEncodings() : format_(formats()[GetParam()]) {
    folder_ = std::filesystem::path(testing::TempDir()) / fmt::format("halocline_encodings_{}", format_.name);
    std::filesystem::create_directories(folder_);
  }
  ~GeometryEncodings() override { std::filesystem::remove_all(folder_); }
  ScanFile read(const std::string& bytes) const {
    const std::string path = (folder_ / format_.file).string();
    std::ofstream(path, std::ios::binary) << bytes;
    return read_scan_file(path, {}, {});
  }
  std::string refusal(const std::string& bytes) const {
    return refusal_of([&] { read(bytes); });
  }

  Format format_;
  std::filesystem::path folder_;
};

INSTANTIATE_TEST_SUITE_P(Formats, GeometryEncodings, testing::Range<std::size_t>(0, 5),
                         [](const auto& format) { return std::string(formats()[format.param].name); });

void expect_same(const ScanFile& a, const ScanFile& b) {
  EXPECT_EQ(geometry_xml(a.geometry), geometry_xml(b.geometry));
  EXPECT_EQ(a.detector.size, b.detector.size);
  EXPECT_EQ(a.detector.spacing, b.detector.spacing);
}

TEST_P(GeometryEncodings, SayTheSame) {
  const ScanFile plain = read(format_.text);
  ASSERT_EQ(plain.geometry.views.size(), 7u);
  for (const char* end : {"\n", "\r\n", "\r"}) {
    const std::string text = with_line_ends(format_.text, end);
    SCOPED_TRACE(fmt::format("lines end with {} bytes, the first {}", std::string(end).size(), int{end[0]}));
    expect_same(read(text), plain);
    expect_same(read("\xef\xbb\xbf" + text), plain);
    for (const bool big : {false, true})
      for (const bool mark : {false, true}) expect_same(read(utf16(text, big, mark)), plain);
  }
}

TEST_P(GeometryEncodings, Utf32IsRefusedByName) {
  std::string text("\xff\xfe\0\0", 4);
  for (const char c : format_.text) text += std::string{c, '\0', '\0', '\0'};
  EXPECT_THAT(refusal(text), HasSubstr("UTF-32"));
}

// Converts numbers alone; quoted text keeps its points.
std::string with_commas(const std::string& text) {
  std::string out = text;
  const auto digit = [&](std::size_t n) { return std::isdigit(static_cast<unsigned char>(text[n])) != 0; };
  bool quoted = false;
  for (std::size_t n = 1; n + 1 < text.size(); ++n) {
    quoted = quoted != (text[n] == '"');
    if (!quoted && text[n] == '.' && digit(n - 1) && digit(n + 1)) out[n] = ',';
  }
  return out;
}

TEST_P(GeometryEncodings, MayHaveDecimalCommas) {
  const ScanFile plain = read(format_.text);
  const std::string commas = with_commas(format_.text);
  ASSERT_NE(commas, format_.text);
  expect_same(read(commas), plain);
  // one number with a point: what the commas are is not known
  const auto one = commas.rfind(',');
  std::string mixed = commas;
  mixed[one] = '.';
  EXPECT_NE(refusal(mixed), "");
}

TEST(GeometryCommas, BetweenNumbersSeparate) {
  const std::string rows = "# format: astra cone_vec\n0,-500,0,0,250,0,1,0,0,0,0,2\n";
  const ScanFile scan = read_geometry_text(rows, "rows");
  EXPECT_NEAR(scan.geometry.views.front().sid, 500, 1e-9);
  EXPECT_EQ(*scan.detector.spacing, (std::array<double, 2>{1, 2}));
  const ScanFile semicolons = read_geometry_text(
      "# format: astra cone_vec\n# pixel: 0,5 0,25\n0;-500,5;0;0;250,0;0;0,5;0;0;0;0;0,25\n", "rows");
  EXPECT_NEAR(semicolons.geometry.views.front().sid, 500.5, 1e-9);
  EXPECT_EQ(*semicolons.detector.spacing, (std::array<double, 2>{0.5, 0.25}));
}

}  // namespace
}  // namespace halocline::geometry_encodings_test
