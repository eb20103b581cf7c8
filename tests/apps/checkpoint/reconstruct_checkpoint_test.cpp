// labels: app device slow
// halocline reconstruct: killed at ten moments and resumed, and out of core under 64 MB, to bitwise identical results.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <random>
#include <thread>

#include "algorithms/solvers/methods.hpp"
#include "tests/support/command_process.hpp"
#include "tests/support/command_runner.hpp"

namespace halocline {
namespace {

using Seconds = std::chrono::duration<double>;

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

class KilledRuns : public ReconstructRuns {};

// When a run comes to its end before it is killed, another begins.
TEST_P(KilledRuns, AreResumedAtTenMomentsToTheSameBits) {
  const Words words = reconstruct("24,24,24", "5,5,5", "20") + Words{"--device-memory", "1100K"};
  const auto run_through = [&](const Words& all, double kill_after) {
    const Process process(all, f / "log");
    if (kill_after > 0) {
      std::this_thread::sleep_for(Seconds(kill_after));
      process.signal(SIGKILL);
    }
    const int code = process.wait();
    if (code > 0) ADD_FAILURE() << process.output();
    return code;
  };
  ASSERT_EQ(run_through(words, 0), 0);  // compiles kernels
  const auto start = std::chrono::steady_clock::now();
  ASSERT_EQ(run_through(words, 0), 0);
  const double seconds = Seconds(std::chrono::steady_clock::now() - start).count();
  const std::string expected = content(f / "x.mha");
  std::filesystem::remove(f / "x.mha");
  const Words resumable = words + Words{"--checkpoint", f / "state", "--checkpoint-every", "0.02", "--resume"};
  std::mt19937 random(5);
  int killed = 0, with_state = 0, finished = 0;
  while (killed < 10 || finished == 0) {
    const double moment = std::uniform_real_distribution<double>(0.2, 0.9)(random) * seconds;
    if (run_through(resumable, killed < 10 ? moment : 0) < 0) {
      ++killed;
      with_state += std::filesystem::exists(f / "state") ? 1 : 0;
    } else {
      ++finished;
      EXPECT_TRUE(content(f / "x.mha") == expected);
      EXPECT_FALSE(std::filesystem::exists(f / "state"));
    }
    if (std::filesystem::exists(f / "x.mha")) {  // also where it was killed while it ended
      EXPECT_TRUE(content(f / "x.mha") == expected);
      std::filesystem::remove(f / "x.mha");
    }
  }
  EXPECT_GT(with_state, 0) << "some were killed with a state to go on from";
}

INSTANTIATE_TEST_SUITE_P(, KilledRuns, testing::Values("spdhg", "fista", "os-fista", "pdhg"),
                         [](const auto& each) { return named(each.param); });

class SmallDevices : public ReconstructRuns {};

TEST_P(SmallDevices, TakeSlabsInTurnToTheSameBits) {
  const Words words = reconstruct("128,128,128", "1,1,1", "1");
  ASSERT_EQ(run(words).code, 0);
  const std::string expected = content(f / "x.mha");
  const char* memory = solver_method(GetParam()).penalty ? "64M" : "16M";
  const Ran ran = run(words + Words{"--device-memory", memory});
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, testing::ContainsRegex(", [0-9]+ slabs, "));
  EXPECT_TRUE(content(f / "x.mha") == expected) << memory;
}

INSTANTIATE_TEST_SUITE_P(, SmallDevices, testing::Values("spdhg", "fista", "os-fista", "pdhg", "cgls", "sirt", "fdk"),
                         [](const auto& each) { return named(each.param); });

}  // namespace
}  // namespace halocline
