// labels: app device nightly
// Devices of other vendors, described by their names and limits (limits_layer.cpp) on top of PoCL: the main job runs on
// each, with the bits of the same job on PoCL as a GPU, or within the rounding of sums without float64; forms that the
// device lacks are refused by name.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "tests/support/command_process.hpp"

namespace halocline::described_devices_test {
namespace {

using testing::HasSubstr;

struct Described {
  const char *name, *limits;
  bool images, fp64;
  const char* wrong = "";  // form that PoCL cannot compile for it
};
constexpr const char *clfft = "row filter by clFFT",  // whose pointers lack casts
    *units = "system matrix on matrix units";         // whose functions are the vendor's

std::ostream& operator<<(std::ostream& out, const Described& device) {
  return out << device.name;
}

constexpr std::size_t voxels = 18 * 13 * 7;

class DescribedDevices : public testing::TestWithParam<Described> {
 protected:
  void SetUp() override {
    if (!has_device()) GTEST_SKIP() << "no OpenCL device";
    expect_done(run({"phantom", "--type", "shepp-logan", "--size", "18,13,7", "--spacing", "1,1.2,1.5", "--origin",
                     "-8,-9.2,-4", "-o", f_ / "v.mha"}));
    expect_done(
        run({"geometry", "circular", "--sid", "60", "--sdd", "100", "--projections", "12", "-o", f_ / "g.xml"}));
    expect_done(run({"project", "--phantom", "shepp-logan", "--phantom-size", "20", "--geometry", f_ / "g.xml",
                     "--detector", "21,15", "--pixel", "2,2", "-o", f_ / "scan.mha"}));
  }
  static void expect_done(const Ran& ran) { ASSERT_EQ(ran.code, 0) << ran.out << ran.err; }

  Ran on(const std::string& limits, std::vector<std::string> words) const {
    words.insert(words.end(), {"--no-tune", "--quiet"});
    const std::string cache = std::string(std::getenv("HALOCLINE_CACHE_DIR")) + "-limits";
    return run_child(words, f_, [&] {
      ::setenv("OPENCL_LAYERS", HALOCLINE_LIMITS_LAYER, 1);
      ::setenv("HALOCLINE_LIMITS", ("gpu=1," + limits).c_str(), 1);
      ::setenv("HALOCLINE_CACHE_DIR", cache.c_str(), 1);
      return true;
    });
  }

  std::vector<float> output(const std::string& limits, std::vector<std::string> job) const {
    const std::string file = f_ / "output.mha";
    job.insert(job.end(), {"-o", file});
    const Ran ran = on(limits, job);
    EXPECT_EQ(ran.code, 0) << job[0] << " with " << limits << ": " << ran.out;
    const std::string bytes = content(file);
    std::filesystem::remove(file);
    std::vector<float> values(voxels);
    if (bytes.size() > 4 * voxels) std::memcpy(values.data(), bytes.data() + bytes.size() - 4 * voxels, 4 * voxels);
    return values;
  }

  std::vector<std::string> of_scan(const std::string& verb, const std::vector<std::string>& more = {}) const {
    std::vector<std::string> words{verb, "-i", f_ / "scan.mha", "--geometry", f_ / "g.xml", "--like", f_ / "v.mha"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  std::vector<std::string> denoise(const std::string& method) const {
    return {"denoise", "-i", f_ / "v.mha", "--method", method, "--iterations", "6"};
  }

  const Folder f_;
};

TEST_P(DescribedDevices, TheMainJobHasItsBits) {
  std::vector<std::string> pdu = denoise("pdu");
  pdu.insert(pdu.end(), {"--alpha", "2000"});
  for (const auto& job : {of_scan("backproject"), of_scan("backproject", {"--projector", "voxel"}), of_scan("fdk"), pdu,
                          of_scan("reconstruct", {"--method", "sirt", "--iterations", "2"})}) {
    const auto plain = output("", job);
    EXPECT_GT(*std::max_element(plain.begin(), plain.end()), 0) << job[0];
    EXPECT_EQ(output(GetParam().limits, job), plain) << job[0];
  }
}

// Its steps depend on sums over the volume, which devices without float64 make of pairs of floats.
TEST_P(DescribedDevices, GradientDescentIsTheSameWithinTheRoundingOfSums) {
  const auto plain = output("", denoise("tvgd")), found = output(GetParam().limits, denoise("tvgd"));
  const float largest = *std::max_element(plain.begin(), plain.end());
  for (std::size_t n = 0; n < voxels; ++n) EXPECT_NEAR(found[n], plain[n], GetParam().fp64 ? 0 : 1e-6 * largest) << n;
}

TEST_P(DescribedDevices, TexturesServeWhereThereAreSomeAndAreRefusedElsewhere) {
  auto job = of_scan("fdk", {"--interpolation", "hardware", "-o", f_ / "o.mha"});
  const Ran ran = on(GetParam().limits, job);
  EXPECT_EQ(ran.code, GetParam().images ? 0 : 2) << ran.out;
  if (!GetParam().images) {
    EXPECT_THAT(ran.out, HasSubstr("use exact interpolation"));
  }
}

TEST_P(DescribedDevices, TheSelfCheckFindsNothingElseWrong) {
  const Ran ran = on(GetParam().limits, {"devices", "--check"});
  EXPECT_EQ(ran.code, 0) << ran.out;
  const std::string wrong = GetParam().wrong;
  EXPECT_THAT(ran.out, testing::ContainsRegex(wrong.empty() ? "right" : wrong + " +wrong: .*do(es)? not compile"));
  const std::size_t first = ran.out.find("wrong:"), last = ran.out.rfind("wrong:");
  EXPECT_EQ(first == std::string::npos, wrong.empty()) << ran.out;
  EXPECT_EQ(first, last) << ran.out;
}

// Float32 serves in place of matrix units that do not compile.
TEST_P(DescribedDevices, TheStoredMatrixHasItsBits) {
  expect_done(run({"geometry", "circular", "--sid", "60", "--sdd", "0", "--projections", "12", "-o", f_ / "g.xml"}));
  expect_done(run({"project", "--phantom", "shepp-logan", "--phantom-size", "20", "--geometry", f_ / "g.xml",
                   "--detector", "21,7", "--pixel", "1.5,1.2", "-o", f_ / "scan.mha"}));
  expect_done(
      run({"phantom", "--type", "shepp-logan", "--size", "18,13,7", "--spacing", "1,1.5,1.2", "-o", f_ / "v.mha"}));
  const auto job = of_scan("reconstruct", {"--method", "sirt", "--iterations", "3", "--operator", "matrix"});
  const auto plain = output("", job);
  EXPECT_GT(*std::max_element(plain.begin(), plain.end()), 0);
  EXPECT_EQ(output(GetParam().limits, job), plain);
}

constexpr Described devices[] = {
    {"MI300X",
     "group=256,local=65536,images=0,platform=AMD Accelerated Parallel Processing,vendor=Advanced Micro Devices Inc.,"
     "name=gfx942:sramecc+:xnack-",
     false, true, units},
    {"RX7900",
     "group=256,local=65536,platform=AMD Accelerated Parallel Processing,vendor=Advanced Micro Devices Inc.,"
     "name=gfx1100",
     true, true, units},
    {"ArcB580",
     "group=1024,local=131072,matrix=16,platform=Intel(R) OpenCL Graphics,vendor=Intel(R) Corporation,name=Intel(R) "
     "Arc(TM) B580 Graphics",
     true, true, units},
    {"DataCenterMax",
     "group=1024,local=131072,matrix=16,platform=Intel(R) OpenCL Graphics,vendor=Intel(R) Corporation,name=Intel(R) "
     "Data Center GPU Max 1550",
     true, true, units},
    {"IrisXe",
     "group=512,local=65536,fp64=0,platform=Intel(R) OpenCL Graphics,vendor=Intel(R) Corporation,name=Intel(R) Iris(R) "
     "Xe Graphics",
     true, false},
    {"Mali", "group=512,kernel=256,local=32768,fp64=0,pointers=0,platform=ARM Platform,vendor=ARM,name=Mali-G715", true,
     false, clfft},
    {"Adreno",
     "group=1024,kernel=128,local=32768,fp64=0,side=16384,layers=2048,platform=QUALCOMM Snapdragon(TM),"
     "vendor=QUALCOMM,name=QUALCOMM Adreno(TM) 740",
     true, false},
    {"Apple", "group=256,local=32768,fp64=0,layers=2048,platform=Apple,vendor=Apple,name=Apple M2", true, false},
};

INSTANTIATE_TEST_SUITE_P(All, DescribedDevices, testing::ValuesIn(devices),
                         [](const auto& each) { return std::string(each.param.name); });

}  // namespace
}  // namespace halocline::described_devices_test
