// labels: app device dealt
// Devices that report smaller limits than PoCL's (limits_layer.cpp, which also refuses what breaks them): jobs give the
// same bits, and forms of kernels that are too large are not for such a device.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "tests/support/command_process.hpp"

namespace halocline::limits_test {
namespace {

using testing::HasSubstr;
using testing::Not;

// An odd size, and columns in pairs along x.
constexpr const char *size = "18,13,7", *detector = "21,15";

class Limits : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_device()) GTEST_SKIP() << "no OpenCL device";
    ASSERT_EQ(run({"phantom", "--type", "shepp-logan", "--size", size, "--spacing", "1,1.2,1.5", "--origin",
                   "-8,-9.2,-4", "-o", f_ / "v.mha"})
                  .code,
              0);
    ASSERT_EQ(
        run({"geometry", "circular", "--sid", "60", "--sdd", "100", "--projections", "12", "-o", f_ / "g.xml"}).code,
        0);
    write_scan(detector, "2,2");
  }

  void write_scan(const std::string& pixels, const std::string& pitch) {
    ASSERT_EQ(run({"project", "--phantom", "shepp-logan", "--phantom-size", "20", "--geometry", f_ / "g.xml",
                   "--detector", pixels, "--pixel", pitch, "-o", f_ / "scan.mha"})
                  .code,
              0);
  }

  static std::vector<float> voxels_of(const std::string& bytes) {
    std::vector<float> voxels(18 * 13 * 7);
    if (bytes.size() > 4 * voxels.size())
      std::memcpy(voxels.data(), bytes.data() + bytes.size() - 4 * voxels.size(), 4 * voxels.size());
    return voxels;
  }

  // Runs on a GPU that has these limits.
  Ran limited(const std::string& limits, std::vector<std::string> words) {
    words.emplace_back("--no-tune");
    return limited(limits, words, std::string(std::getenv("HALOCLINE_CACHE_DIR")) + "-limits");
  }
  Ran limited(const std::string& limits, const std::vector<std::string>& words, const std::string& cache) {
    return run_child(words, f_, [&] {
      ::setenv("OPENCL_LAYERS", HALOCLINE_LIMITS_LAYER, 1);
      ::setenv("HALOCLINE_LIMITS", ("gpu=1," + limits).c_str(), 1);
      ::setenv("HALOCLINE_CACHE_DIR", cache.c_str(), 1);
      return true;
    });
  }

  std::string output(const std::string& limits, std::vector<std::string> job) {
    const std::string file = f_ / "output.mha";
    job.insert(job.end(), {"-o", file});
    const Ran ran = limited(limits, job);
    EXPECT_EQ(ran.code, 0) << job[0] << " with " << limits << ": " << ran.out;
    std::string bytes = content(file);
    std::filesystem::remove(file);
    return bytes;
  }

  // The job's output with these limits is bitwise identical to that without.
  void expect_same(const std::vector<std::string>& all_limits, const std::vector<std::string>& job) {
    const std::string plain = output("", job);
    EXPECT_GT(plain.size(), 1000u);
    for (const auto& limits : all_limits) EXPECT_TRUE(output(limits, job) == plain) << job[0] << " with " << limits;
  }

  std::vector<std::string> project(const std::string& projector) {
    return {"project", "-i",      f_ / "v.mha", "--geometry",  f_ / "g.xml", "--detector",
            detector,  "--pixel", "2,2",        "--projector", projector};
  }
  std::vector<std::string> of_scan(const std::string& verb, const std::vector<std::string>& more = {}) {
    std::vector<std::string> words{verb, "-i", f_ / "scan.mha", "--geometry", f_ / "g.xml", "--like", f_ / "v.mha"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  std::vector<std::string> denoise(const std::string& method, const std::vector<std::string>& more = {}) {
    std::vector<std::string> words{"denoise", "-i", f_ / "v.mha", "--method", method, "--iterations", "6"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }

  const Folder f_;
};

TEST_F(Limits, ProjectionKeepsItsBits) {
  expect_same({"group=128", "group=64,items=64", "kernel=64", "group=20"}, project("joseph"));
  expect_same({"group=64"}, project("siddon"));
  expect_same({"kernel=64"}, project("distance-driven"));
}

TEST_F(Limits, BackProjectionKeepsItsBits) {
  expect_same({"group=64", "kernel=64,items=8", "group=20"}, of_scan("backproject", {"--projector", "voxel"}));
  expect_same({"group=64", "kernel=64", "group=20"}, of_scan("backproject", {"--projector", "joseph"}));
}

TEST_F(Limits, ImageArraysOfFewLayersTakeFewerViewsAtATime) {
  expect_same({"layers=3"}, of_scan("backproject", {"--projector", "voxel", "--interpolation", "hardware"}));
}

// Rows in local memory.
TEST_F(Limits, FdkKeepsItsBitsWhereGroupsAreSmall) {
  expect_same({"group=64", "kernel=64", "group=20"}, of_scan("fdk"));
}

// Rows too long for local memory take transforms in device memory, which float32 rounds in another way; by VkFFT where
// clFFT would end the process, or its kernels do not compile. Pixels are 1/50 of a voxel, so that the ramp raises
// rounding by as much.
TEST_F(Limits, FdkIsTheSameWithinRounding) {
  write_scan("2100,15", "0.02,2");  // transforms of 8192 values, 64 KiB
  const auto plain = voxels_of(output("", of_scan("fdk")));
  const float largest = *std::max_element(plain.begin(), plain.end());
  EXPECT_GT(largest, 0);
  for (const char* limits : {"local=32768", "local=40000,pointers=0", "local=16384,group=64"}) {
    const auto limited = voxels_of(output(limits, of_scan("fdk")));
    EXPECT_NE(limited, plain) << limits;
    for (std::size_t n = 0; n < plain.size(); ++n)
      EXPECT_NEAR(limited[n], plain[n], 3e-5 * largest) << limits << " " << n;
  }
}

TEST_F(Limits, FdkRunsWhereClFftDoesNotCompile) {
  write_scan("1100,15", "0.04,2");
  expect_same({"pointers=0"}, of_scan("fdk"));
  EXPECT_THAT(limited("pointers=0", {"devices", "--check"}).out,
              testing::ContainsRegex("row filter by clFFT +wrong: its kernels do not compile"));
}

TEST_F(Limits, DenoisingKeepsItsBits) {
  const std::vector<std::string> all{"group=128", "group=64", "kernel=64"};
  expect_same(all, denoise("pdu", {"--alpha", "2000", "--stages", "2"}));
  expect_same(all, denoise("tvgd"));
  expect_same({"group=64"}, denoise("pdu", {"--alpha", "2000", "--tv", "huber", "--huber-delta", "0.1"}));
}

// Too small for the sums' groups of 64: a work-item does them alone, in another order.
TEST_F(Limits, GroupsOfAFewWorkItemsDo) {
  expect_same({"group=16"}, denoise("pdu", {"--alpha", "2000", "--stages", "0"}));
  EXPECT_GT(output("group=16", denoise("tvgd")).size(), 1000u);
}

TEST_F(Limits, TheSelfCheckFindsNothingWrong) {
  const Ran ran = limited("group=64,layers=2", {"devices", "--check"});
  EXPECT_EQ(ran.code, 0);
  EXPECT_THAT(ran.out, Not(HasSubstr("CL_INVALID")));
  EXPECT_THAT(ran.out, Not(HasSubstr("wrong:")));
  EXPECT_THAT(ran.out, testing::ContainsRegex("projection from a turned volume +right"));
  EXPECT_THAT(ran.out, testing::ContainsRegex("through local memory, [^\n]+ +not for this device"));
  EXPECT_THAT(ran.out, testing::ContainsRegex("Siddon's projection from images +not for this device"));
}

// With an empty cache the first run checks variants, whose references take kernels that the scan does not.
TEST_F(Limits, VolumesOfOneSliceAreTuned) {
  for (const std::string tuned : {"fdk", "project", "patches"})
    for (const std::string pixels : {"50,50", "50,1"}) {
      const Ran ran = limited("",
                              {"tune", "--class", tuned, "--volume", "50,50,1", "--detector", pixels, "--views", "16",
                               "--seconds", "0.5", "--table", "--quiet", "--device", "0"},
                              f_ / (tuned + pixels));
      EXPECT_EQ(ran.code, 0) << tuned << " " << pixels << ": " << ran.out;
      EXPECT_THAT(ran.out, HasSubstr("before")) << tuned << " " << pixels;
    }
}

TEST_F(Limits, DevicesOf32BitsAreRefusedByName) {
  const Ran named = limited("bits=32,name=Adreno (TM) 330", denoise("pdu", {"--device", "0", "-o", f_ / "o.mha"}));
  EXPECT_EQ(named.code, 2) << named.out;
  EXPECT_THAT(named.out, HasSubstr("Adreno (TM) 330 cannot be used: its addresses have 32 bits, and 64 are needed"));
  const Ran chosen = limited("bits=32", denoise("pdu", {"-o", f_ / "o.mha"}));
  EXPECT_EQ(chosen.code, 2) << chosen.out;
  EXPECT_THAT(chosen.out, HasSubstr("32 bits"));
  EXPECT_FALSE(std::filesystem::exists(f_ / "o.mha"));
}

TEST_F(Limits, AFormWhoseKernelsAreTooLargeIsRefusedByName) {
  const Ran ran = limited("group=16", denoise("pdu", {"--alpha", "2000", "--stages", "2", "-o", f_ / "o.mha"}));
  EXPECT_EQ(ran.code, 2) << ran.out;
  EXPECT_THAT(ran.out, HasSubstr("--stages"));
}

}  // namespace
}  // namespace halocline::limits_test
