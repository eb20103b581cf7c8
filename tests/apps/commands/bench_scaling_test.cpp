// labels: app device
// halocline bench scaling: the runs it makes, and what it refuses.
#include <cmath>
#include <nlohmann/json.hpp>

#include "host/opencl/device.hpp"
#include "tests/support/bench_times.hpp"
#include "tests/support/command_runner.hpp"

namespace halocline::bench_scaling_test {
namespace {

using nlohmann::json;

class BenchScaling : public testing::Test {
 protected:
  void SetUp() override {
    if (list_devices().empty()) GTEST_SKIP() << "no OpenCL device";
  }
};

TEST_F(BenchScaling, OneDeviceOutOfCoreToo) {
  Folder folder;
  // Iterations enough that three times as many take longer on a busy device, too.
  const Ran ran = done({"bench", "scaling", "--size", "24", "--jobs", "pdu, fdk", "--iterations", "200", "--runs", "3",
                        "--out-of-core", "200K", "--no-tune", "--json", "--trace", folder / "trace.json"});
  // of the runs out of core, too: in core no duals travel
  EXPECT_NE(content(folder / "trace.json").find("write qx"), std::string::npos);
  const json results = json::parse(ran.out);
  EXPECT_EQ(results["device"]["name"], open_devices({}).front().info().name);
  const json runs = results["runs"];
  ASSERT_EQ(runs.size(), 4u);
  for (const auto& each : runs) {
    expect_times(each);
    EXPECT_EQ(each["updates"].get<double>(), 24.0 * 24 * 24 * (each["job"] == "pdu" ? 200 : 24)) << each;
    if (each["job"] == "pdu") {
      EXPECT_EQ(each["slabs"] == 1, each["team"] == "1 device") << each;
    }
    EXPECT_EQ(each.contains("iteration_seconds"), each["job"] == "pdu" && each["team"] == "1 device") << each;
  }
  // of the whole run over the first device's iterations alone
  EXPECT_NEAR(runs[1]["efficiency_of_iterations"].get<double>(),
              200 * runs[0]["iteration_seconds"].get<double>() / runs[1]["seconds"].get<double>(), 1e-9);
  EXPECT_NEAR(runs[3]["efficiency"].get<double>(), runs[2]["seconds"].get<double>() / runs[3]["seconds"].get<double>(),
              1e-9);
}

TEST_F(BenchScaling, DevicesTogetherAndMoreSlices) {
  if (list_devices()[0].type != "cpu") GTEST_SKIP() << "the first device is no CPU to be split";
  const Ran ran = done({"bench", "scaling", "--device", "0", "--sub-devices", "2", "--size", "40", "--jobs", "tvgd",
                        "--iterations", "4", "--runs", "1", "--weak", "--no-tune", "--json"});
  const json runs = json::parse(ran.out)["runs"];
  ASSERT_EQ(runs.size(), 3u);
  EXPECT_EQ(runs[1]["updates"], runs[0]["updates"]);
  EXPECT_EQ(runs[2]["updates"].get<double>(), 2 * runs[0]["updates"].get<double>());
}

TEST_F(BenchScaling, TakesListsOfSizesAndIterationsByJob) {
  const Words words{"bench",        "scaling",  "--size", "16,24",  "--jobs", "pdu,tvgd,fdk", "--iterations",
                    "tvgd=5,pdu=7", "--device", "0",      "--runs", "2",      "--no-tune"};
  const json runs = json::parse(done(words + Words{"--json"}).out)["runs"];
  ASSERT_EQ(runs.size(), 6u);
  for (std::size_t n = 0; n < runs.size(); ++n) {
    const double edge = n < 3 ? 16 : 24, voxels = edge * edge * edge;
    EXPECT_EQ(runs[n]["size"], edge);
    EXPECT_EQ(runs[n]["updates"], voxels * (runs[n]["job"] == "pdu" ? 7 : runs[n]["job"] == "tvgd" ? 5 : edge));
    EXPECT_EQ(runs[n].contains("iterations"), runs[n]["job"] != "fdk");
    expect_times(runs[n]);
  }
  const Words others{"bench",        "scaling",       "--size",   "16", "--jobs", "spdu,project,backproject,cgls,sirt",
                     "--iterations", "cgls=2,spdu=3", "--device", "0",  "--runs", "1",
                     "--no-tune",    "--json"};
  const json more = json::parse(done(others).out)["runs"];
  ASSERT_EQ(more.size(), 5u);
  const double voxels = 16 * 16 * 16, passes[] = {3, 16, 16, 2 * 16, 10 * 16};
  for (std::size_t n = 0; n < more.size(); ++n) EXPECT_EQ(more[n]["updates"], voxels * passes[n]) << more[n];
  expect_contains(done(words).out, {"16^3\njob ", "\n\n24^3\njob "});
  for (const char* bad : {"0", "pdu=", "=7", "pdu=2.5", "many"})
    refused({"bench", "scaling", "--iterations", bad}, {"--iterations", "tvgd=50,pdu=200"});
  refused({"bench", "scaling", "--iterations", "cgls=3"}, {"--iterations", "cgls=3", "--jobs"});
  refused({"bench", "scaling", "--iterations", "tvgd=5", "--jobs", "pdu"}, {"--iterations", "--jobs"});
}

TEST_F(BenchScaling, RefusesWhatItDoesNotKnow) {
  const Ran ran = run({"bench", "scaling", "--jobs", "pdu,nlm", "--size", "16"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_NE(
      ran.err.find("--jobs has \"nlm\"; expected some of: pdu, spdu, tvgd, fdk, fdk-texture, project, backproject, "),
      std::string::npos)
      << ran.err;
  refused({"bench", "scaling", "--jobs", "nlm", "--dry-run"}, {"--jobs", "nlm"});
  refused({"bench", "scaling", "--jobs", "fdk,project", "--iterations", "5"}, {"--iterations", "--jobs"});
  const Ran dry = done({"bench", "scaling", "--size", "16", "--dry-run", "--out-of-core", "1M"});
  EXPECT_NE(dry.out.find("16^3, on: 1 device; 1 device, 1.00 MiB"), std::string::npos) << dry.out;
}

}  // namespace
}  // namespace halocline::bench_scaling_test
