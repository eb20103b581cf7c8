// labels: app device nightly
// halocline bench reconstruct: what it measures, says and refuses.
#include <nlohmann/json.hpp>

#include "algorithms/solvers/methods.hpp"
#include "apps/bench/reconstruct_bench.hpp"
#include "tests/support/bench_times.hpp"
#include "tests/support/command_runner.hpp"

namespace halocline::bench_reconstruct_test {
namespace {

using nlohmann::json;

class BenchReconstruct : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_device()) GTEST_SKIP() << "no OpenCL device";
  }
};

void expect_sane(const json& row) {
  const auto seconds = [&](const char* name) { return row[name].get<double>(); };
  expect_times(row, "run_seconds");
  EXPECT_NEAR(seconds("forward_seconds") + seconds("adjoint_seconds") + seconds("rest_seconds"), seconds("seconds"),
              1e-9)
      << row;
  // kernels of a whole run are in one queue, one after the other
  EXPECT_LE((seconds("forward_seconds") + seconds("adjoint_seconds")) * 6, seconds("run_seconds")) << row;
  EXPECT_GE(seconds("mean_seconds"), seconds("seconds")) << row;
  EXPECT_GE(seconds("deviation_seconds"), 0) << row;
  for (const char* part : {"forward_seconds", "adjoint_seconds", "other_kernel_seconds"})
    EXPECT_GE(seconds(part), 0) << row;
  EXPECT_GE(seconds("rest_seconds"), (1 - 1e-9) * seconds("other_kernel_seconds")) << row;
  EXPECT_EQ(row["run_passes"], 2 + 6) << row;
}

TEST_F(BenchReconstruct, SplitsAPassOfEveryMethod) {
  std::string methods;
  for (const std::string& method : reconstruction_methods()) methods += (methods.empty() ? "" : ",") + method;
  const Ran ran = done(
      {"bench", "reconstruct", "--size", "16", "--method", methods, "--iterations", "6", "--repeats", "2", "--json"});
  for (const json& bench : json(json::parse(ran.out)["benches"])) {
    EXPECT_EQ(bench["volume"], (json{16, 16, 16}));
    EXPECT_EQ(bench["detector"], (json{16, 16}));
    EXPECT_EQ(bench["views"], 16);
    EXPECT_EQ(bench["methods"].size(), reconstruction_methods().size()) << bench["left_out"];
    for (const json& row : bench["methods"]) {
      expect_sane(row);
      EXPECT_GE(row["peak_bytes"], 2 * 4 * 16 * 16 * 16) << row;
      EXPECT_TRUE(row["resident"].get<bool>()) << row;
      EXPECT_TRUE(row["method"] != "cgls" || row["subsets"] == 1) << row;
    }
  }
}

// Runs so much longer than the short ones that no other user of the machine turns the difference.
TEST_F(BenchReconstruct, AAndItsAdjointArePartsOfAPass) {
  const Ran ran = done({"bench", "reconstruct", "--size", "24", "--method", "cgls,fdk", "--iterations", "60",
                        "--repeats", "3", "--json"});
  for (const json& bench : json(json::parse(ran.out)["benches"]))
    for (const json& row : bench["methods"]) {
      for (const char* part : {"forward_seconds", "adjoint_seconds", "other_kernel_seconds", "rest_seconds"})
        EXPECT_GT(row[part].get<double>(), 0) << row;
      EXPECT_LE(row["seconds"].get<double>() * 60, row["run_seconds"].get<double>()) << row;
    }
}

TEST(PassTimes, AreWhatFurtherPassesAdd) {
  const SolverTimes times =
      times_of_pass({RunTimes({3, 2}), {0.5, 0.25, 0.125}}, {RunTimes({10, 14}), {2.5, 1.25, 0.5}}, 4);
  EXPECT_DOUBLE_EQ(times.seconds.least, 2);
  EXPECT_DOUBLE_EQ(times.seconds.mean, 2.5);
  EXPECT_DOUBLE_EQ(times.kernels.forward, 0.5);
  EXPECT_DOUBLE_EQ(times.kernels.adjoint, 0.25);
  EXPECT_DOUBLE_EQ(times.kernels.other, 0.09375);
}

TEST(PassTimes, AreNeverNegative) {
  const SolverTimes times = times_of_pass({RunTimes({1.0}), {0.2, 0.5, 0.125}}, {RunTimes({0.9}), {0.4, 0.4, 0.25}}, 2);
  EXPECT_DOUBLE_EQ(times.kernels.forward, 0.1);
  EXPECT_EQ(times.kernels.adjoint, 0);
  EXPECT_DOUBLE_EQ(times.kernels.other, 0.0625);
  EXPECT_DOUBLE_EQ(times.seconds.least, 0.1625);
  EXPECT_DOUBLE_EQ(times.seconds.mean, 0.1625);
}

TEST_F(BenchReconstruct, TakesListsAndAnyScan) {
  const Ran lists =
      done({"bench", "reconstruct", "--size", "9,12", "--views", "7", "--iterations", "6", "--repeats", "1", "--json"});
  const json benches = json::parse(lists.out)["benches"];
  EXPECT_EQ(benches[0]["volume"], (json{9, 9, 9}));
  EXPECT_EQ(benches[1]["volume"], (json{12, 12, 12}));
  for (const json& bench : benches) {
    EXPECT_EQ(bench["views"], 7);
    expect_sane(bench["methods"][0]);
  }
  const Ran any = done({"bench", "reconstruct", "--volume", "15,13,7", "--detector", "21,9", "--views", "1", "--method",
                        "sirt", "--iterations", "3", "--repeats", "1"});
  expect_contains(any.out, {", 15 x 13 x 7 voxels, 1 view of 21 x 9 pixels\n", "s of 5 passes", "\nsirt "});
}

TEST_F(BenchReconstruct, StreamsWhatDoesNotFit) {
  const Ran ran = done({"bench", "reconstruct", "--size", "32", "--device-memory", "600K", "--iterations", "6",
                        "--repeats", "1", "--json"});
  for (const json& bench : json(json::parse(ran.out)["benches"]))
    for (const json& row : bench["methods"]) {
      expect_sane(row);
      EXPECT_FALSE(row["resident"].get<bool>()) << row;
      EXPECT_GT(row["slabs"], 1) << row;
      EXPECT_LE(row["peak_bytes"], 600 * 1024) << row;
    }
}

TEST_F(BenchReconstruct, RefusesWhatIsNotThere) {
  const Words bench{"bench", "reconstruct"};
  refused(bench + Words{"--method", "magic"}, {"--method has \"magic\"; expected some of: ", "cgls"});
  refused(bench + Words{"--size", "1"}, {"--size", "from 2 to 8192"});
  refused(bench + Words{"--views", "0"}, {"--views"});
  refused(bench + Words{"--volume", "8,8,8"}, {"--detector"});
  refused(bench + Words{"--volume", "8,8,8", "--detector", "8,8", "--size", "8"}, {"--size"});
  refused(bench + Words{"--iterations", "0"}, {"--iterations"});
  const Folder f;
  refused(bench + Words{"--trace", f / "t.json"}, {"--trace"});
  const Ran dry = done(bench + Words{"--size", "8,9", "--method", "cgls,sirt", "--dry-run"});
  expect_contains(dry.out,
                  {"would measure on", "9^3 voxels, 9 views of 9^2 pixels: cgls, sirt, runs of 2 and 12 passes"});
  const Ran many = done(bench + Words{"--size", "8", "--method", "ba-gmres", "--iterations", "600"});
  expect_contains(many.out, {"left out: ba-gmres: ", "500"});
}

}  // namespace
}  // namespace halocline::bench_reconstruct_test
