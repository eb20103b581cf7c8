// labels: app device
// Output that users see before, during and after a run: predictions beside results.
#include <gmock/gmock.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <thread>

#include "apps/images/image_file.hpp"
#include "apps/job/progress.hpp"
#include "tests/support/command_runner.hpp"
#include "tests/support/noise_volumes.hpp"

namespace halocline::plan_command_test {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;

const std::string machines = std::string(HALOCLINE_SOURCE_DIR) + "/apps/machines/";

TEST(PlanCommand, needsNoDevice) {
  for (const char* machine : {"w8100x4.json", "h200.json", "h200x8.json", "laptop.json", "cluster-node.json"})
    for (const char* method : {"pdu", "tvgd", "fdk", "project", "backproject"}) {
      const Ran ran =
          run({"plan", "--machine", machines + machine, "--method", method, "--size", "256", "--device", "none such"});
      EXPECT_EQ(ran.code, 0) << machine << ", " << method << ": " << ran.err;
      EXPECT_THAT(ran.out, AllOf(HasSubstr("predicted: "), HasSubstr("host memory: "), HasSubstr("256 x 256 x 256")));
    }
}

TEST(PlanCommand, tellsHowDevicesScale) {
  const Ran ran = done({"plan", "--machine", machines + "h200x8.json", "--method", "fdk", "--size", "2048",
                        "--device-count", "1,2,4,8", "--json"});
  const json list = json::parse(ran.out)["forecasts"];
  ASSERT_EQ(list.size(), 4u);
  for (std::size_t n = 1; n < 4; ++n)
    EXPECT_LT(list[n]["plan"]["seconds"].get<double>(), list[n - 1]["plan"]["seconds"].get<double>());
  const Ran table = run({"plan", "--machine", machines + "h200x8.json", "--method", "pdu", "--size", "512,512,720",
                         "--device-count", "1,2"});
  EXPECT_THAT(table.out, AllOf(HasSubstr("efficiency"), HasSubstr("100.0 %")));
}

TEST(PlanCommand, PlansNodesAndTheTrafficBetweenThem) {
  const auto forecasts = [](const char* method) {
    const Ran ran = done({"plan", "--machine", machines + "cluster.json", "--method", method, "--size", "1024",
                          "--node-count", "1,4,16", "--json"});
    return json::parse(ran.out)["forecasts"];
  };
  const json pdu = forecasts("pdu"), fdk = forecasts("fdk");
  const double stack = 4.0 * 1024 * 1024 * 1024;
  ASSERT_EQ(pdu.size(), 3u);
  for (std::size_t n = 0; n < 3; ++n) {
    EXPECT_EQ(pdu[n]["devices"], std::vector<int>({8, 32, 128})[n]);
    if (n == 0) continue;
    EXPECT_LT(fdk[n]["plan"]["seconds"], fdk[n - 1]["plan"]["seconds"]);
    EXPECT_EQ(fdk[n]["plan"]["rank_bytes"], 0);
    EXPECT_GT(fdk[n]["plan"]["read_bytes"].get<double>(), stack);
    EXPECT_GT(pdu[n]["plan"]["rank_bytes"].get<double>(), 0);
  }
  EXPECT_FALSE(pdu[0]["plan"].contains("rank_bytes"));
  EXPECT_GT(pdu[2]["plan"]["rank_bytes"], pdu[1]["plan"]["rank_bytes"]);
  EXPECT_GT(fdk[2]["plan"]["read_bytes"], fdk[1]["plan"]["read_bytes"]);
  const Ran table = done({"plan", "--machine", machines + "cluster.json", "--method", "fdk", "--size", "512"});
  EXPECT_THAT(table.out, AllOf(HasSubstr("rank 63: NVIDIA H200 #7"), HasSubstr("between ranks: 0 B")));
}

TEST(PlanCommandErrors, nameWhatIsWrong) {
  const auto error = [](const Words& words) {
    const Ran ran = run(Words{"plan", "--machine", machines + "h200x8.json"} + words);
    EXPECT_EQ(ran.code, 2) << ran.err;
    return ran.err;
  };
  EXPECT_THAT(error({"--method", "pdq", "--size", "8"}), AllOf(HasSubstr("--method"), HasSubstr("backproject")));
  EXPECT_THAT(error({"--method", "pdu", "--size", "8,8"}), AllOf(HasSubstr("--size"), HasSubstr("NX,NY,NZ")));
  EXPECT_THAT(error({"--method", "pdu", "--size", "0"}), HasSubstr("--size"));
  EXPECT_THAT(error({"--method", "pdu", "--size", "64", "--device-count", "9"}),
              AllOf(HasSubstr("--device-count 9"), HasSubstr("only 8")));
  EXPECT_THAT(error({"--method", "pdu", "--size", "64", "--node-count", "2"}),
              AllOf(HasSubstr("--node-count 2"), HasSubstr("only 1")));
  EXPECT_THAT(error({"--method", "pdu", "--size", "4096", "--host-memory", "100G"}),
              AllOf(HasSubstr("the host's memory is too small"), HasSubstr("slices of 4096 x 4096 voxels would fit")));
  EXPECT_THAT(error({"--method", "pdu", "--size", "64", "--device-memory", "4K"}),
              HasSubstr("not even one slice of the volume"));
  EXPECT_THAT(error({"--method", "fdk", "--size", "64", "--iterations", "9"}),
              AllOf(HasSubstr("--iterations does not go with --method fdk"), HasSubstr("methods of denoise")));
  EXPECT_THAT(error({"--method", "project", "--size", "64", "--stages", "1"}), HasSubstr("--stages does not go with"));
  EXPECT_THAT(error({"--method", "fdk", "--size", "64", "--duals", "snorm16"}), HasSubstr("--duals does not go with"));
  EXPECT_THAT(error({"--method", "pdu", "--size", "64", "--views", "9"}),
              AllOf(HasSubstr("--views does not go with --method pdu"), HasSubstr("fdk, project and backproject")));
  EXPECT_THAT(error({"--method", "tvgd", "--size", "64", "--detector", "9,9"}), HasSubstr("--detector does not go"));
  EXPECT_THAT(error({"--method", "pdu", "--size", "64", "--interpolation", "exact"}),
              HasSubstr("--interpolation does"));
  EXPECT_THAT(error({"--method", "tvgd", "--size", "64", "--duals", "snorm16"}), HasSubstr("--duals belong"));
  EXPECT_THAT(error({"--method", "pdu4d", "--size", "64"}), HasSubstr("expected one of: pdu, "));
  EXPECT_THAT(error({"--method", "pdu", "--size", "64", "--sub-devices", "2"}), HasSubstr("--sub-devices splits"));
  const Ran folder = run({"plan", "--machine", machines, "--method", "pdu", "--size", "8"});
  EXPECT_EQ(folder.code, 2);
  EXPECT_THAT(folder.err, AllOf(HasSubstr("is a folder"), HasSubstr("JSON")));
  const Ran absent = run({"plan", "--machine", "/nowhere/m.json", "--method", "pdu", "--size", "8"});
  EXPECT_EQ(absent.code, 2);
  EXPECT_THAT(absent.err, HasSubstr("/nowhere/m.json"));
}

TEST(PlanCommand, FindsTheMachinesThatComeWithTheCommandByName) {
  const Words job{"--method", "pdu", "--size", "64"};
  const Ran named = done(Words{"plan", "--machine", "h200x8"} + job);
  EXPECT_EQ(named.out, run(Words{"plan", "--machine", machines + "h200x8.json"} + job).out);
  const Ran absent = run(Words{"plan", "--machine", "h100x8"} + job);
  EXPECT_EQ(absent.code, 2);
  EXPECT_THAT(absent.err,
              AllOf(HasSubstr("h100x8"), HasSubstr("cluster, cluster-node, h200, h200x8, laptop, w8100x4")));
}

TEST(PlanCommand, takesNoMoreEqualDevicesThanPay) {
  const Ran ran = done({"plan", "--machine", machines + "h200x8.json", "--method", "pdu", "--size", "64", "--json"});
  const json plan = json::parse(ran.out)["forecasts"][0]["plan"];
  EXPECT_EQ(plan["slabs"].size(), 1u);
  ASSERT_EQ(plan["notes"].size(), 1u);
  EXPECT_THAT(plan["notes"][0].get<std::string>(), AllOf(HasSubstr("left out: "), HasSubstr("NVIDIA H200 #7")));
}

TEST(CommandLineErrors, nameTheKindsOfBench) {
  const Ran ran = run({"bench", "foo"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, AllOf(HasSubstr("there is no subcommand 'foo'"), HasSubstr("backproject"), HasSubstr("slices")));
}

// Output of a separate process; its stderr goes to `log`.
std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(CommandLineErrors, tellThatStdoutCannotBeWritten) {
  const Folder f;
  if (!std::ofstream("/dev/full")) GTEST_SKIP() << "no /dev/full";
  const std::string command = HALOCLINE_COMMAND;
  EXPECT_EQ(exit_code(command + " plan --machine " + machines + "h200.json --method pdu --size 64 >/dev/full 2>" +
                      (f / "log")),
            1);
  EXPECT_THAT(text_of(f / "log"), HasSubstr("the standard output could not be written: No space left"));
  EXPECT_EQ(exit_code(command + " --help >/dev/full 2>" + (f / "log")), 1);
}

TEST(CommandLineErrors, refuseWhatTheHostCannotHold) {
  const Folder f;
  write_image(noisy_volume(64), f / "v.mha");  // 1 MiB
  run({"geometry", "circular", "--sid", "2000", "--sdd", "3000", "--projections", "64", "-o", f / "g.xml"});
  std::vector<Words> commands{
      {"noise", "-i", f / "v.mha", "--photons", "1e5", "-o", f / "o.mha"},
      {"noise-map", "-i", f / "v.mha", "-o", f / "o.mha"},
      {"noise-map", "--halves", (f / "v.mha") + "," + (f / "v.mha"), "-o", f / "o.mha"},
      {"phantom", "--type", "shepp-logan", "--size", "64,64,64", "--spacing", "1,1,1", "-o", f / "o.mha"},
      {"metrics", "-i", f / "v.mha"},
      {"preview", "-i", f / "v.mha", "-o", f / "o.png"},
      {"counts", "-i", f / "v.mha", "--air", "0,0,4,4", "-o", f / "o.mha"},
      {"geometry", "find-axis", "-i", f / "v.mha", "-g", f / "g.xml"},
  };
  if (has_device()) {
    run({"project", "-i", f / "v.mha", "--geometry", f / "g.xml", "--detector", "96,96", "--pixel", "2,2", "-o",
         f / "p.mha"});
    commands.push_back({"slices", "-i", f / "p.mha", "-g", f / "g.xml", "--size", "64,64,64", "--spacing", "1,1,1",
                        "--plane", "axial", "-o", f / "o.mha"});
    commands.push_back({"tune", "--class", "project", "--size", "16", "--seconds", "1"});
    commands.push_back({"bench", "fdk", "--size", "16", "--seconds", "0.1"});
  }
  for (const Words& command : commands) {
    const Ran ran = run(command + Words{"--host-memory", "64K"});
    EXPECT_EQ(ran.code, 2) << command[0] << ": " << ran.err;
    EXPECT_THAT(ran.err, AllOf(HasSubstr("host's memory is too small"), HasSubstr("--host-memory"))) << command[0];
    if (command[0] == "tune" || command[0] == "bench") {
      EXPECT_THAT(ran.err, HasSubstr("A smaller --size takes less. --host-memory sets")) << command[0];
    }
    EXPECT_FALSE(std::ifstream(f / "o.mha").good()) << command[0];
  }
  if (!has_device()) return;
  const Ran sized =
      run({"tune", "--volume", "64,64,64", "--detector", "64,64", "--views", "9", "--host-memory", "64K"});
  EXPECT_THAT(sized.err, AllOf(HasSubstr("A smaller --volume or --detector"), Not(HasSubstr("--size"))));
}

TEST(Progress, tellsTheRate) {
  testing::internal::CaptureStderr();
  {
    const auto progress = make_progress(true);
    progress({"pdu", 1, 100, "", 1e9, "voxel-iterations"});
    std::this_thread::sleep_for(std::chrono::milliseconds(700));
    progress({"pdu", 50, 100, "", 50e9, "voxel-iterations"});
  }
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr(" Gvoxel-iterations/s"));
}

TEST(Progress, tellsHowFastSlabsComeAndGo) {
  testing::internal::CaptureStderr();
  const auto wait = [] { std::this_thread::sleep_for(std::chrono::milliseconds(200)); };
  const auto start = std::chrono::steady_clock::now();
  {
    const auto progress = make_progress(true);
    progress({"pdu", 1, 100, "", 0, "", 50e9, 70e9});  // before this stage
    wait();
    progress({"pdu", 2, 100, "gap 1", 0, "", 50e9 + 6e9, 70e9 + 1.5e9});
    wait();
    progress({"pdu", 3, 100, "gap 2", 0, "", 50e9 + 6e9, 70e9 + 1.5e9});  // nothing moved
    wait();
    progress({"pdu", 4, 100, "gap 3", 0, "", 50e9 + 6e9, 70e9 + 4.5e9});
  }
  const double longest = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const std::string text = testing::internal::GetCapturedStderr();
  std::smatch found;
  ASSERT_TRUE(
      std::regex_search(text, found, std::regex("pdu:   2 %[^\\r]*, up ([0-9.]+) GB/s, down ([0-9.]+) GB/s, gap 1")))
      << text;
  const double up = std::stod(found[1]), down = std::stod(found[2]);
  EXPECT_LE(up, 6 / 0.2 * 1.01);  // three digits
  EXPECT_GE(up, 6 / longest * 0.99);
  EXPECT_NEAR(up / down, 4, 0.1);
  EXPECT_THAT(text, HasSubstr("pdu:   1 %\x1b"));
  EXPECT_TRUE(std::regex_search(text, std::regex("pdu:   3 %(, [^,]* left)?, gap 2"))) << text;
  ASSERT_TRUE(std::regex_search(text, found, std::regex("pdu:   4 %[^\\r]*, up 0 GB/s, down ([0-9.]+) GB/s, gap 3")))
      << text;
  EXPECT_LE(std::stod(found[1]), 3 / 0.2 * 1.01);
}

}  // namespace
}  // namespace halocline::plan_command_test
