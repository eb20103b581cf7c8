// labels: app
// Parts of volumes that are far larger than what a job may take of the host: nothing but the part is read.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "apps/images/image_file.hpp"
#include "tests/support/command_runner.hpp"
#include "tests/support/compressed_images.hpp"

namespace halocline::large_input_test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::HasSubstr;

constexpr std::size_t side = 3000;  // 27e9 voxels of uint16 are 50 GiB, of which the disk holds one slice

// A sparse file: slice 1234 has 7 in it, and a brighter box; all else is 0.
class LargeInput : public testing::Test {
 protected:
  void SetUp() override {
    write_text(f_ / "large.mhd",
               "NDims = 3\nDimSize = 3000 3000 3000\nElementType = MET_USHORT\nElementDataFile = large.raw\n");
    std::vector<std::uint16_t> slice(side * side, 7);
    for (std::size_t row = 100; row < 110; ++row)
      for (std::size_t column = 200; column < 220; ++column) slice[column + side * row] = 500;
    std::ofstream file(f_ / "large.raw", std::ios::binary);
    file.seekp(static_cast<std::streamoff>(2 * side * side * 1234));
    file.write(reinterpret_cast<const char*>(slice.data()), static_cast<std::streamsize>(2 * slice.size()));
    file.close();
    std::error_code code;
    fs::resize_file(f_ / "large.raw", 2 * side * side * side, code);
    if (code) GTEST_SKIP() << "the disk has no files so large: " << code.message();
  }
  Folder f_;
};

TEST_F(LargeInput, PreviewReadsOneSlice) {
  const std::string picture = f_ / "p.png";
  const Ran ran = done({"preview", "-i", f_ / "large.mhd", "--slice", "1234", "-o", picture, "--host-memory", "2G"});
  EXPECT_THAT(ran.out, HasSubstr("slice 1234 of 3000"));
  EXPECT_GT(fs::file_size(picture), 100u);
  // and with a window; a few million voxels along another axis
  EXPECT_EQ(run({"preview", "-i", f_ / "large.mhd", "--slice", "0", "--window", "0,9", "-o", picture}).code, 0);
  done({"preview", "-i", f_ / "large.mhd", "--axis", "y", "--slice", "105", "--window", "0,9", "-o", picture,
        "--host-memory", "2G"});
}

TEST_F(LargeInput, MetricsReadsTheBoxes) {
  const Ran ran = done({"metrics", "-i", f_ / "large.raw", "--roi", "200,100,1234,220,110,1235", "--roi",
                        "300,300,1234,310,310,1235", "--json", "--host-memory", "2G"});
  const json results = json::parse(ran.out);
  EXPECT_EQ(results["boxes"][0]["voxels"], 200);
  EXPECT_EQ(results["boxes"][0]["mean"], 500.0);
  EXPECT_EQ(results["boxes"][1]["mean"], 7.0);
  EXPECT_TRUE(results["boxes"][1].contains("cnr_to_first"));
  // what needs all of it is refused as ever
  EXPECT_EQ(run({"metrics", "-i", f_ / "large.raw", "--host-memory", "2G"}).code, 2);
}

// Boxes say the same whether the whole volume is measured beside them or not.
TEST(MetricsOfParts, AreThoseOfTheVolume) {
  const Folder f;
  Grid grid{.size = {13, 7, 9}};
  Volume volume(grid);
  for (std::size_t n = 0; n < volume.voxels.size(); ++n) volume.voxels[n] = std::sin(0.1f * static_cast<float>(n));
  write_image(volume, f / "v.mha");
  write_compressed_meta(volume, f / "c.mha");
  const auto boxes = [&](const std::string& name, const Words& more) {
    const Ran ran =
        run(Words{"metrics", "-i", f / name, "--roi", "1,2,3,11,6,8", "--roi", "0,0,0,13,7,9", "--json"} + more);
    EXPECT_EQ(ran.code, 0) << ran.err;
    return json::parse(ran.out)["boxes"];
  };
  const json alone = boxes("v.mha", {});
  EXPECT_EQ(alone, boxes("v.mha", {"--reference", f / "v.mha"}));
  EXPECT_EQ(alone, boxes("c.mha", {}));
}

}  // namespace
}  // namespace halocline::large_input_test
