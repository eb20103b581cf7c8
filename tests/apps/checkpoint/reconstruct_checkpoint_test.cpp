// labels: app device dealt
// halocline reconstruct: killed at ten moments and resumed, and out of core under 64 MB, to bitwise identical results.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "algorithms/solvers/methods.hpp"
#include "tests/support/command_runner.hpp"
#include "tests/support/killed_runs.hpp"

namespace halocline::reconstruct_checkpoint_test {
namespace {

std::string named(const std::string& method) {
  std::string name = method;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

// A scan of a phantom, and the command with what its method needs.
class ReconstructRuns : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (!has_device()) GTEST_SKIP() << "there is no OpenCL device";
    const auto made = [](const Ran& ran) { ASSERT_EQ(ran.code, 0) << ran.err; };
    made(run({"geometry", "circular", "--sid", "500", "--sdd", "800", "--projections", "24", "-o", f / "g.xml"}));
    made(run({"project", "--phantom", "blade", "--phantom-size", "100", "-g", f / "g.xml", "--detector", "96,96",
              "--pixel", "2,2", "-o", f / "p.mha"}));
  }
  Words reconstruct(const std::string& size, const std::string& spacing, const std::string& passes) const {
    Words words{"reconstruct", "-i",     f / "p.mha", "-g",        f / "g.xml", "--size",   size,
                "--spacing",   spacing,  "-o",        f / "x.mha", "--method",  GetParam(), "--iterations",
                passes,        "--init", "zero",      "--device",  "cpu",       "--no-tune"};
    if (solver_method(GetParam()).penalty) words = words + Words{"--lambda", "0.01", "--gap", "0"};
    return words;
  }
  Folder f;
};

class KilledReconstructions : public ReconstructRuns {};

TEST_P(KilledReconstructions, AreResumedToTheSameBits) {
  const Words resumable{"--checkpoint", f / "state", "--checkpoint-every", "0.02", "--resume"};
  const KilledRuns runs = killed_ten_times(reconstruct("24,24,24", "5,5,5", "20") + Words{"--device-memory", "1100K"},
                                           resumable, f / "x.mha", f / "state", f / "log", 0.2, 0.9);
  EXPECT_GT(runs.with_state, 0) << "some were killed with a state to go on from";
}

INSTANTIATE_TEST_SUITE_P(, KilledReconstructions, testing::Values("spdhg", "fista", "os-fista"),
                         [](const auto& each) { return named(each.param); });

class SmallDevices : public ReconstructRuns {};

TEST_P(SmallDevices, TakeSlabsInTurnToTheSameBits) {
  const Words words = reconstruct("128,128,128", "1,1,1", "1");
  ASSERT_EQ(run(words).code, 0);
  const std::string expected = content(f / "x.mha");
  const char* memory = solver_method(GetParam()).penalty ? "64M" : "16M";
  const Ran ran = done(words + Words{"--device-memory", memory});
  EXPECT_THAT(ran.out, testing::ContainsRegex(", [0-9]+ slabs, "));
  EXPECT_TRUE(content(f / "x.mha") == expected) << memory;
}

INSTANTIATE_TEST_SUITE_P(, SmallDevices, testing::Values("spdhg", "fista", "os-fista", "cgls", "sirt", "fdk"),
                         [](const auto& each) { return named(each.param); });

}  // namespace
}  // namespace halocline::reconstruct_checkpoint_test
