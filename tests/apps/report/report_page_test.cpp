// labels: unit app
#include "apps/report/report_page.hpp"

#include <gmock/gmock.h>
#include <zlib.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>
#include <regex>

#include "apps/report/encoding.hpp"

namespace halocline::report_page_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

Grid grid_of(std::size_t x, std::size_t y, std::size_t z) {
  return {.size = {x, y, z}};
}

Volume counting(std::size_t x, std::size_t y, std::size_t z) {
  Volume volume(grid_of(x, y, z));
  for (std::size_t n = 0; n < volume.voxels.size(); ++n) volume.voxels[n] = static_cast<float>(n);
  return volume;
}

Volume noise(std::size_t size, unsigned seed) {
  Volume volume(grid_of(size, size, size));
  std::mt19937 random(seed);
  std::normal_distribution<float> values(0.02F, 0.01F);
  for (float& voxel : volume.voxels) voxel = values(random);
  return volume;
}

std::string from_base64(const std::string& text) {
  static const std::string digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  std::uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    if (c == '=') break;
    bits = bits << 6 | static_cast<std::uint32_t>(digits.find(c));
    count += 6;
    if (count < 8) continue;
    count -= 8;
    out += static_cast<char>(bits >> count & 255);
  }
  return out;
}

std::string from_gzip(const std::string& packed) {
  z_stream stream{};
  EXPECT_EQ(inflateInit2(&stream, 15 + 16), Z_OK);
  std::string out, piece(1 << 16, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  for (int state = Z_OK; state == Z_OK;) {
    stream.next_out = reinterpret_cast<Bytef*>(piece.data());
    stream.avail_out = static_cast<uInt>(piece.size());
    state = inflate(&stream, Z_NO_FLUSH);
    EXPECT_TRUE(state == Z_OK || state == Z_STREAM_END) << state;
    out.append(piece, 0, piece.size() - stream.avail_out);
  }
  inflateEnd(&stream);
  return out;
}

std::string element(const std::string& html, const std::string& id) {
  const auto begin = html.find('>', html.find("id=\"" + id + "\"")) + 1;
  return html.substr(begin, html.find("</script>", begin) - begin);
}

nlohmann::json about(const std::string& html) {
  return nlohmann::json::parse(element(html, "about"));
}

std::string bytes_of(const std::string& html, int n) {
  return from_gzip(from_base64(element(html, "volume-" + std::to_string(n))));
}

TEST(BinnedVolume, BoxesHoldMeansAndTheLastMayBeSmaller) {
  const Volume volume = counting(5, 3, 3);
  const BinnedVolume binned = bin_volume(MemorySource(volume), {2, 2, 2});
  EXPECT_THAT(binned.size, ElementsAre(3u, 2u, 2u));
  EXPECT_EQ(binned.whole.size, volume.grid.size);
  for (std::size_t k = 0; k < 2; ++k)
    for (std::size_t j = 0; j < 2; ++j)
      for (std::size_t i = 0; i < 3; ++i) {
        double sum = 0, count = 0;
        for (std::size_t z = 2 * k; z < std::min<std::size_t>(2 * k + 2, 3); ++z)
          for (std::size_t y = 2 * j; y < std::min<std::size_t>(2 * j + 2, 3); ++y)
            for (std::size_t x = 2 * i; x < std::min<std::size_t>(2 * i + 2, 5); ++x)
              sum += volume.at(x, y, z), count += 1;
        EXPECT_FLOAT_EQ(binned.voxels[i + 3 * (j + 2 * k)], static_cast<float>(sum / count)) << i << j << k;
      }
}

TEST(BinnedVolume, BinningTwiceIsBinningOnce) {
  const Volume volume = noise(23, 1);
  const BinnedVolume twice = bin_further(bin_volume(MemorySource(volume), {2, 1, 3}), {2, 4, 1});
  const BinnedVolume once = bin_volume(MemorySource(volume), {4, 4, 3});
  EXPECT_EQ(twice.factors, once.factors);
  ASSERT_EQ(twice.size, once.size);
  for (std::size_t n = 0; n < once.voxels.size(); ++n) EXPECT_NEAR(twice.voxels[n], once.voxels[n], 1e-7) << n;
}

TEST(BinnedVolume, ReadsRowsInPieces) {
  const Volume volume = counting(1 << 10, 600, 1);  // more than a piece
  const BinnedVolume binned = bin_volume(MemorySource(volume), {1 << 10, 1, 1});
  ASSERT_EQ(binned.voxels.size(), 600u);
  for (const std::size_t row : {0, 255, 256, 599})
    EXPECT_FLOAT_EQ(binned.voxels[row], static_cast<float>(row) * 1024 + 511.5F);
}

TEST(BinnedVolume, NonFiniteValuesAreLeftOut) {
  Volume volume = counting(4, 1, 1);
  volume.voxels = std::vector<float>{1, std::numeric_limits<float>::quiet_NaN(), std::nanf(""), INFINITY};
  EXPECT_THAT(bin_volume(MemorySource(volume), {2, 1, 1}).voxels, ElementsAre(1, 0));
}

TEST(BinnedVolume, FactorsKeepTheLimits) {
  EXPECT_THAT(binning_factors({256, 257, 1}, 256), ElementsAre(1u, 2u, 1u));
  EXPECT_THAT(binning_factors({1000, 10, 2048}, 256), ElementsAre(4u, 1u, 8u));
  EXPECT_THAT(factors_for({8, 8, 8}, 512), ElementsAre(1u, 1u, 1u));
  EXPECT_THAT(factors_for({8, 8, 8}, 511), ElementsAre(1u, 1u, 2u));
  EXPECT_THAT(factors_for({8, 8, 2}, 64), ElementsAre(1u, 2u, 1u));
  EXPECT_THAT(factors_for({3, 1, 1}, 0), ElementsAre(3u, 1u, 1u));
}

TEST(ByteVolume, ValuesAreWithinHalfAStep) {
  const Volume volume = noise(24, 2);
  const BinnedVolume binned = bin_volume(MemorySource(volume), {1, 1, 1});
  const ByteVolume bytes = to_bytes(binned);
  EXPECT_FALSE(bytes.below || bytes.above);
  for (std::size_t n = 0; n < binned.voxels.size(); ++n)
    EXPECT_NEAR(bytes.offset + bytes.slope * bytes.bytes[n], binned.voxels[n], 0.501 * bytes.slope);
}

TEST(ByteVolume, AnOutlierDoesNotTakeTheRange) {
  Volume volume = noise(40, 3);
  volume.voxels[77] = 100;
  const ByteVolume bytes = to_bytes(bin_volume(MemorySource(volume), {1, 1, 1}));
  EXPECT_TRUE(bytes.above);
  EXPECT_FALSE(bytes.below && bytes.offset > 0.02);
  EXPECT_LT(bytes.slope, 0.001);
  EXPECT_EQ(bytes.bytes[77], 255);
}

TEST(ByteVolume, AConstantVolumeKeepsItsValue) {
  const ByteVolume bytes = to_bytes(bin_volume(MemorySource(Volume(grid_of(3, 3, 3), 7)), {1, 1, 1}));
  EXPECT_EQ(bytes.offset, 7);
  EXPECT_EQ(bytes.slope, 0);
}

TEST(Encoding, Base64IsThatOfRfc4648) {
  for (const auto& [text, coded] : std::map<std::string, std::string>{{"", ""},
                                                                      {"f", "Zg=="},
                                                                      {"fo", "Zm8="},
                                                                      {"foo", "Zm9v"},
                                                                      {"foob", "Zm9vYg=="},
                                                                      {"fooba", "Zm9vYmE="},
                                                                      {"\xff\xfe", "//4="},
                                                                      {"foobar", "Zm9vYmFy"}})
    EXPECT_EQ(base64(text), coded);
}

TEST(ReportPage, VolumesComeBackFromThePage) {
  const Volume volume = noise(20, 4);
  ReportPage page;
  page.volumes = {page_volume("a", "1/mm", MemorySource(volume)), page_volume("b", "HU", MemorySource(volume))};
  const std::string html = report_html(page);
  const auto entry = about(html)["volumes"][1];
  EXPECT_EQ(entry["unit"], "HU");
  EXPECT_EQ(entry["size"], nlohmann::json({20, 20, 20}));
  const std::string bytes = bytes_of(html, 1);
  ASSERT_EQ(bytes.size(), volume.voxels.size());
  const double offset = entry["offset"], slope = entry["slope"];
  for (std::size_t n = 0; n < bytes.size(); ++n)
    EXPECT_NEAR(offset + slope * static_cast<unsigned char>(bytes[n]), volume.voxels[n], 0.501 * slope);
}

TEST(ReportPage, LargeVolumesAreBinnedToTheSize) {
  const Volume volume = counting(70, 33, 10);
  ReportPage page;
  page.volumes = {page_volume("a", "", MemorySource(volume), {.size = 32})};
  const auto entry = about(report_html(page))["volumes"][0];
  EXPECT_EQ(entry["factors"], nlohmann::json({3, 2, 1}));
  EXPECT_EQ(entry["size"], nlohmann::json({24, 17, 10}));
  EXPECT_EQ(entry["whole"], nlohmann::json({70, 33, 10}));
}

TEST(ReportPage, KeepsToItsBytesAndSaysSo) {
  ReportPage page;
  for (unsigned n = 0; n < 2; ++n) page.volumes.push_back(page_volume("noise", "", MemorySource(noise(64, n))));
  const std::string large = report_html(page), small = report_html(page, {.bytes = 200000});
  EXPECT_GT(large.size(), 400000u);
  EXPECT_EQ(about(large)["smaller"], false);
  EXPECT_LE(small.size(), 200000u);
  EXPECT_GT(small.size(), 100000u);  // not smaller than it need be
  EXPECT_EQ(about(small)["smaller"], true);
  EXPECT_EQ(about(small)["volumes"][0]["factors"], about(small)["volumes"][1]["factors"]);
  const auto size = about(small)["volumes"][0]["size"];
  EXPECT_EQ(bytes_of(small, 0).size(),
            size[0].get<std::size_t>() * size[1].get<std::size_t>() * size[2].get<std::size_t>());
}

TEST(ReportPage, TextsCannotBecomeHtml) {
  const std::string attack = "</script><script>alert(1)</script>\"'&{{data}}";
  ReportPage page;
  page.title = page.subtitle = attack;
  page.volumes = {page_volume(attack, attack, MemorySource(counting(2, 2, 2)))};
  page.sections = {{attack, {{attack, attack}}, attack}};
  page.curves = {{attack, attack, attack, {1, 2}, {3, 4}}};
  const std::string html = report_html(page);
  EXPECT_THAT(html, Not(HasSubstr("<script>alert")));
  EXPECT_THAT(html, HasSubstr("&lt;/script&gt;&lt;script&gt;alert(1)&lt;/script&gt;&quot;&#39;&amp;{{data}}"));
  EXPECT_EQ(about(html)["volumes"][0]["name"], attack);
  const std::regex script("<script[ >]");
  EXPECT_EQ(std::distance(std::sregex_iterator(html.begin(), html.end(), script), {}), 3);  // about, volume-0, code
}

TEST(ReportPage, IsOneFile) {
  ReportPage page{.volumes = {page_volume("a", "", MemorySource(counting(2, 2, 2)))}};
  const std::string html = report_html(page);
  static const std::regex other(R"((src|href)\s*=|url\(|@import|https?:)");
  EXPECT_FALSE(std::regex_search(html, other));
  EXPECT_THAT(html, HasSubstr("default-src 'none'"));
}

TEST(Curve, HasAxesAndLeavesOutWhatCannotBeShown) {
  const double nan = std::nan("");
  const std::string svg =
      curve_svg({"c", "passes", "relative gap", {0, 5, 10, 15, 20}, {1, 0.01, 0, nan, 1e-4}, false, true});
  EXPECT_THAT(svg, HasSubstr("relative gap"));
  EXPECT_THAT(svg, HasSubstr(">10⁻⁴</text>"));
  EXPECT_THAT(svg, HasSubstr(">20</text>"));
  static const std::regex dot("<circle");
  EXPECT_EQ(std::distance(std::sregex_iterator(svg.begin(), svg.end(), dot), {}), 3);
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
  EXPECT_THAT(svg, HasSubstr("d=\"M84.0 30.0L"));  // the first value is at the top of the axis
  EXPECT_THAT(curve_svg({"c", "x", "y", {}, {}}), HasSubstr("no values"));
  EXPECT_THAT(curve_svg_file({"c", "x", "y", {1}, {1}}), AllOf(HasSubstr("<svg xmlns="), HasSubstr("<style>")));
}

TEST(Curve, AxesMayBothBeLogarithmic) {
  const std::string svg = curve_svg({"c", "x", "y", {1, 10, 100}, {1, 2, 3}, true, false});
  EXPECT_THAT(svg, HasSubstr("M84.0 262.0L314.0 146.0L544.0 30.0"));
}

}  // namespace
}  // namespace halocline::report_page_test
