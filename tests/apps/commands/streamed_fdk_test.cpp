// labels: app device error
// `halocline fdk` from file to file: neither projections nor volume need to be in host memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "apps/images/image_file.hpp"
#include "tests/support/command_runner.hpp"
#include "tests/support/sanitized.hpp"

namespace halocline::streamed_fdk_test {
namespace {

class StreamedFdk : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_device()) GTEST_SKIP() << "no OpenCL device";
    ASSERT_EQ(
        run({"geometry", "circular", "--sid", "500", "--sdd", "1000", "--projections", "24", "-o", f / "g.xml"}).code,
        0);
    ASSERT_EQ(run({"project", "--phantom", "shepp-logan", "--phantom-size", "60", "-g", f / "g.xml", "--detector",
                   "40,32", "--pixel", "4,4", "-o", f / "p.mha"})
                  .code,
              0);
  }
  Ran fdk_of(const std::string& slices, const std::string& output, std::vector<std::string> more = {}) const {
    std::vector<std::string> words{"fdk",
                                   "-i",
                                   f / "p.mha",
                                   "-g",
                                   f / "g.xml",
                                   "--size",
                                   "256,256," + slices,
                                   "--spacing",
                                   "0.25,0.25,0.25",
                                   "-o",
                                   f / output,
                                   "--report",
                                   f / (output + ".json")};
    words.insert(words.end(), more.begin(), more.end());
    return run(words);
  }
  nlohmann::json report(const std::string& output) const {
    return nlohmann::json::parse(content(f / (output + ".json")));
  }
  Folder f;
};

// The volume has 64 MiB; on a CPU the device's arrays are in host memory too, so they are kept small.
TEST_F(StreamedFdk, TheHostNeverHoldsTheVolume) {
  if (sanitized) GTEST_SKIP() << "a sanitizer keeps freed memory";
  ASSERT_EQ(fdk_of("16", "warm.mha", {"--device-memory", "6M"}).code, 0);
  const double before = report("warm.mha")["host_peak_bytes"];
  const Ran ran = fdk_of("256", "a.mha", {"--device-memory", "6M"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_GT(report("a.mha")["runs"]["fdk"]["plan"]["slabs"].size(), 10u);
  EXPECT_LT(report("a.mha")["host_peak_bytes"].get<double>() - before, 0.5 * 256 * 256 * 256 * 4);
  ASSERT_EQ(fdk_of("256", "b.mha").code, 0);
  EXPECT_EQ(content(f / "a.mha"), content(f / "b.mha"));
}

TEST_F(StreamedFdk, EveryOutputGoesItsWay) {
  ASSERT_EQ(fdk_of("20", "a.mha",
                   {"--hu", "0.02", "--output-type", "int16", "--photons", "1e4", "--variance-out", f / "v.mha",
                    "--halves-out", (f / "odd.mha") + "," + (f / "even.mha")})
                .code,
            0);
  ASSERT_EQ(fdk_of("20", "mu.mha").code, 0);
  const Volume hu = read_image(f / "a.mha"), mu = read_image(f / "mu.mha");
  EXPECT_EQ(read_image_info(f / "a.mha").component, "int16");
  double difference = 0;
  for (std::size_t n = 0; n < mu.voxels.size(); ++n)
    difference = std::max(difference, std::abs(hu.voxels[n] - 1000 * (mu.voxels[n] - 0.02) / 0.02));
  EXPECT_LE(difference, 0.5001);  // rounded to whole numbers, after float32
  const Volume odd = read_image(f / "odd.mha"), even = read_image(f / "even.mha"), variance = read_image(f / "v.mha");
  EXPECT_NE(odd.voxels, even.voxels);
  EXPECT_GT(*std::min_element(variance.voxels.begin(), variance.voxels.end()), -1e-12f);
  for (const auto& name : f.files()) EXPECT_EQ(name.find("tmp"), std::string::npos) << name;
}

TEST_F(StreamedFdk, NoHalfFileIsLeft) {
  // a projection that is not finite, found while the volume is made
  Volume projections = read_image(f / "p.mha");
  projections.voxels[projections.voxels.size() - 5] = std::numeric_limits<float>::quiet_NaN();
  write_image(projections, f / "p.mha");
  const auto before = f.files();
  const Ran ran = fdk_of("20", "a.mha");
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, testing::HasSubstr("--allow-nonfinite"));
  EXPECT_EQ(f.files(), before);
}

}  // namespace
}  // namespace halocline::streamed_fdk_test
