// labels: app device nightly
// halocline bench project, backproject, fdk and slices: what they measure, say and refuse.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "algorithms/calibration/scan_loop.hpp"
#include "algorithms/projectors/adjoint_bricks.hpp"
#include "algorithms/projectors/backproject_tile.hpp"
#include "apps/bench/group_bench.hpp"
#include "apps/bench/scan_bench.hpp"
#include "host/opencl/tuned_values.hpp"
#include "host/system/error.hpp"
#include "tests/support/bench_times.hpp"
#include "tests/support/command_runner.hpp"

namespace halocline::bench_scans_test {
namespace {

using nlohmann::json;

class BenchScans : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (!has_device()) GTEST_SKIP() << "no OpenCL device";
  }
};

// float32 and its coordinates: a few units in the last place of a sum. Texture units with fractions of 8 bits are wrong
// by 1/512 of neighbours' difference along both axes at most, half precision by 1/2048; neighbours differ by twice the
// mean.
double tolerance(const std::string& mode) {
  const auto has = [&](const char* word) { return mode.find(word) != std::string::npos; };
  const bool coarse = has("texture") || has("pairs") || has("half");
  return coarse ? 2 * (2.0 / 512 + 1.0 / 2048) : 5e-6;
}

TEST_P(BenchScans, MeasuresEveryModeOnEveryDevice) {
  const Folder f;
  const Ran ran = done({"bench", GetParam(), "--size", "20", "--views", "16", "--seconds", "0.001", "--json",
                        "--report", f / "report.json"});
  const json results = json::parse(ran.out), report = json::parse(content(f / "report.json"));
  EXPECT_EQ(report["results"], results);
  const std::size_t devices = std::getenv("HALOCLINE_DEVICE") == nullptr ? list_devices().size() : 1;
  ASSERT_GE(results["benches"].size(), devices);
  const std::map<std::string, std::size_t> count{
      {"project", 11}, {"backproject", 12 + local_tiles().size() + adjoint_bricks().size()}, {"fdk", 4}, {"slices", 2}};
  for (const auto& bench : results["benches"]) {
    EXPECT_EQ(bench["size"], 20);
    EXPECT_EQ(bench["views"], 16);
    EXPECT_EQ(bench["modes"].size() + bench["left_out"].size(), count.at(GetParam()));
    std::set<std::string> names;
    for (const auto& mode : bench["modes"]) {
      const std::string name = mode["mode"];
      names.insert(name);
      const double seconds = mode["seconds"], updates = GetParam() == "slices" ? 3 * 20 * 20 * 16 : 20 * 20 * 20 * 16;
      expect_times(mode);
      EXPECT_NEAR(mode["updates_per_s"].get<double>() * seconds, updates, 1e-9 * updates) << name;
      EXPECT_EQ(mode.contains("rays_per_s"), GetParam() != "slices");
      EXPECT_NEAR(mode.value("rays_per_s", 20 * 20 * 16 / seconds) * seconds, 20 * 20 * 16, 1e-5) << name;
      EXPECT_LT(mode["relative_rmse"].get<double>(), tolerance(name)) << name;
      EXPECT_GT(mode["relative_rmse"].get<double>(), 1e-9) << name;  // fp64 is not float32's own
      if (GetParam() == "fdk") {
        const double kernels = mode["kernel_seconds"], up = mode["upload_seconds"], down = mode["download_seconds"];
        EXPECT_GT(std::min({kernels, up, down}), 0) << name;
        EXPECT_LE(kernels, mode["device_seconds"].get<double>()) << name;  // one queue, one after the other
        EXPECT_LE(mode["device_seconds"].get<double>(), 1.01 * seconds) << name;
        EXPECT_NEAR(mode["ratio_to_least"].get<double>(), seconds / std::max(kernels, up + down), 1e-9) << name;
      } else {
        const double fetches = mode["share_of_fetches"], copy = mode["share_of_copy"];
        EXPECT_NEAR(fetches * mode["fetch_limit_per_s"].get<double>(), mode["fetches_per_s"].get<double>(), 1) << name;
        EXPECT_NEAR(copy * mode["copy_bytes_per_s"].get<double>(), mode["bytes_per_s"].get<double>(), 1) << name;
        EXPECT_GT(fetches, 0) << name;
        EXPECT_GT(copy, 0) << name;
        EXPECT_EQ(mode.contains("host_to_host_seconds"), GetParam() != "slices") << name;
        if (mode.contains("host_to_host_seconds")) expect_times(mode, "host_to_host_seconds");
        EXPECT_EQ(mode["limit"], fetches >= copy ? "fetches" : "copy") << name;
      }
    }
    EXPECT_EQ(names.size(), bench["modes"].size());
    EXPECT_TRUE(names.contains(GetParam() == "project" ? "joseph" : "exact"));
    EXPECT_EQ(bench.contains("float32_coordinates"), GetParam() == "backproject");
  }
}

TEST_P(BenchScans, PrintsTables) {
  const std::string mode = GetParam() == "project" ? "siddon" : "exact";
  const std::vector<std::string> words{"bench", GetParam(), "--size", "8", "--modes", mode, "--seconds", "0.001"};
  const Ran table = done(words);
  const std::string views = GetParam() == "slices" ? "128" : "12";  // no fewer than those
  EXPECT_NE(table.out.find((GetParam() == "slices" ? "slices of 8^2 pixels, " : "8^3 voxels, ") + views +
                           " views of 8^2 pixels\n"),
            std::string::npos)
      << table.out;
  EXPECT_NE(table.out.find("\n" + mode + " "), std::string::npos) << table.out;
  EXPECT_NE(table.out.find(GetParam() == "fdk" ? "host to host" : "of the limit"), std::string::npos) << table.out;
  auto more = words;
  more.push_back("--markdown");
  const Ran markdown = done(more);
  EXPECT_NE(markdown.out.find("\n| " + mode + " | "), std::string::npos) << markdown.out;
}

TEST_P(BenchScans, TakesListsOfSizes) {
  const std::string mode = GetParam() == "project" ? "siddon" : "exact";
  const Words words{"bench", GetParam(), "--size", "8, 13", "--modes", mode, "--seconds", "0.001"};
  const json benches = json::parse(done(words + Words{"--json"}).out)["benches"];
  ASSERT_EQ(benches.size() % 2, 0u);
  for (std::size_t n = 0; n < benches.size(); ++n) {
    EXPECT_EQ(benches[n]["size"], n % 2 == 0 ? 8 : 13);
    EXPECT_EQ(benches[n]["modes"].size(), 1u);
  }
  const std::string name = GetParam() == "slices" ? "slices of " : "", unit = name.empty() ? "^3 voxels" : "^2 pixels";
  expect_contains(done(words).out, {name + "8" + unit, "\n\n", name + "13" + unit});
  expect_contains(done(words + Words{"--dry-run"}).out, {name + "8" + unit, name + "13" + unit});
}

TEST_P(BenchScans, ADryRunMeasuresNothing) {
  const Folder f;
  const Ran ran = done({"bench", GetParam(), "--size", "16", "--dry-run", "--report", f / "report.json"});
  EXPECT_NE(ran.out.find("would measure"), std::string::npos) << ran.out;
  EXPECT_TRUE(f.files().empty());
}

TEST_P(BenchScans, RefusesWhatIsNotThere) {
  const auto refuses = [](const std::vector<std::string>& options, const std::string& part) {
    std::vector<std::string> words{"bench", GetParam()};
    words.insert(words.end(), options.begin(), options.end());
    const Ran ran = run(words);
    EXPECT_EQ(ran.code, 2) << part;
    EXPECT_NE(ran.err.find(part), std::string::npos) << ran.err;
  };
  refuses({"--size", "1"}, "--size");
  refuses({"--size", "100000"}, "--size");
  refuses({"--views", GetParam() == "fdk" || GetParam() == "slices" ? "3" : "0"}, "--views");
  refuses({"--modes", "magic"}, "--modes has \"magic\"");
  refuses({"--seconds", "0"}, "--seconds");
  if (GetParam() == "fdk") {
    const Folder f;
    refuses({"--trace", f / "trace.json"}, "--trace");
  }
  refuses({"--json", "--markdown"}, "--markdown");
  refuses({"--size", "2048", "--device-memory", "1M"}, "smaller --size");
  refuses({"--size", "2048", "--device-memory", "1M", "--dry-run"}, "--device-memory");
}

INSTANTIATE_TEST_SUITE_P(All, BenchScans, testing::Values("project", "backproject", "fdk", "slices"),
                         [](const auto& each) { return each.param; });

TEST(BenchScansParallel, MeasuresStacksOfSlices) {
  if (!has_device()) GTEST_SKIP() << "no OpenCL device";
  for (const auto& [bench, modes] :
       {std::pair{"project", "joseph,joseph-slices"}, std::pair{"backproject", "joseph-adjoint,joseph-adjoint-slices"}})
    for (const char* rows : {"9", "11"}) {
      const Ran ran = done({"bench", bench, "--size", "16", "--slices", "9", "--rows", rows, "--views", "16", "--modes",
                            modes, "--seconds", "0.001", "--json"});
      for (const auto& each : json(json::parse(ran.out)["benches"])) {
        EXPECT_EQ(each["beam"], "parallel");
        EXPECT_EQ(each["slices"], 9);
        EXPECT_EQ(fmt::format("{}", each["rows"].get<int>()), rows);
        // the adjoint with slices innermost needs a row on each slice
        const bool both = std::string(bench) == "project" || std::string(rows) == "9";
        ASSERT_EQ(each["modes"].size(), both ? 2u : 1u);
        for (const auto& mode : each["modes"]) EXPECT_LT(mode["relative_rmse"].get<double>(), 5e-6) << mode["mode"];
      }
    }
  for (const char* slices : {"1", "5"}) {
    const Ran fans = done({"bench", "project", "--size", "16", "--slices", slices, "--fan-stack", "--views", "16",
                           "--modes", "joseph,joseph-slices,siddon,distance-driven", "--seconds", "0.001", "--json"});
    for (const auto& each : json(json::parse(fans.out)["benches"])) {
      EXPECT_EQ(each["beam"], "fan-stack");
      ASSERT_EQ(each["modes"].size(), 4u);
      for (const auto& mode : each["modes"]) EXPECT_LT(mode["relative_rmse"].get<double>(), 5e-6) << mode["mode"];
    }
  }
  const Ran ran = run({"bench", "project", "--rows", "5"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_NE(ran.err.find("--slices"), std::string::npos) << ran.err;
}

TEST(BenchScansParallel, MeasuresFdkByGridding) {
  if (!has_device()) GTEST_SKIP() << "no OpenCL device";
  const Ran ran = done({"bench", "fdk", "--size", "16", "--slices", "5", "--views", "16", "--modes", "exact,gridding",
                        "--seconds", "0.001", "--json"});
  for (const auto& each : json(json::parse(ran.out)["benches"])) {
    EXPECT_EQ(each["beam"], "parallel");
    ASSERT_EQ(each["modes"].size(), 2u);
    EXPECT_LT(each["modes"][0]["relative_rmse"].get<double>(), 5e-6);
    EXPECT_LT(each["modes"][1]["relative_rmse"].get<double>(), 0.5);  // of noise that only linear interpolation sees
  }
  const Ran cone = run({"bench", "fdk", "--size", "16", "--views", "16", "--modes", "gridding"});
  EXPECT_NE(cone.code, 0);
  EXPECT_NE(cone.err.find("gridding: it takes parallel beams: give --slices"), std::string::npos) << cone.err;
}

TEST(BenchScansSlices, TakesAnyDetectorAndSlice) {
  if (!has_device()) GTEST_SKIP() << "no OpenCL device";
  const std::vector<std::string> words{"bench", "slices",  "--detector", "24,30",     "--views",
                                       "16",    "--slice", "18,13",      "--seconds", "0.001"};
  auto more = words;
  more.push_back("--json");
  for (const auto& each : json(json::parse(done(more).out)["benches"])) {
    EXPECT_EQ(each["detector"], (json{24, 30}));
    EXPECT_EQ(each["slice"], (json{18, 13}));
    for (const auto& mode : each["modes"]) {
      const double updates = 3 * 18 * 13 * 16;
      EXPECT_NEAR(mode["updates_per_s"].get<double>() * mode["seconds"].get<double>(), updates, 1e-9 * updates);
      EXPECT_LT(mode["relative_rmse"].get<double>(), tolerance(mode["mode"]));
    }
  }
  EXPECT_NE(done(words).out.find("three slices of 18 x 13 pixels, 16 views of 24 x 30 pixels\n"), std::string::npos);
  for (const auto& [option, value, part] :
       {std::array{"--size", "20", "--size has no use"}, std::array{"--modes", "magic", "--modes"}}) {
    auto refused = words;
    refused.insert(refused.end(), {option, value});
    const Ran ran = run(refused);
    EXPECT_EQ(ran.code, 2) << ran.out;
    EXPECT_NE(ran.err.find(part), std::string::npos) << ran.err;
  }
  EXPECT_NE(run({"bench", "slices", "--detector", "1,20"}).err.find("--detector"), std::string::npos);
  EXPECT_NE(run({"bench", "slices", "--slice", "20,9000"}).err.find("--slice"), std::string::npos);
  EXPECT_NE(run({"bench", "fdk", "--slice", "20,20"}).err.find("--slice"), std::string::npos);
}

// Graas et al. (2024), 4.3: three sources about a column, at a tenth of its size.
const std::vector<std::string> column{"--volume", "30,28,120", "--detector", "30,150", "--views", "3"};

std::vector<std::string> bench_of_column(const std::string& bench, const std::vector<std::string>& more) {
  std::vector<std::string> words{"bench", bench, "--seconds", "0.001"};
  words.insert(words.end(), column.begin(), column.end());
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

TEST(BenchScansVolume, TakesAVoxelAndAPixel) {
  if (!has_device()) GTEST_SKIP() << "no OpenCL device";
  const Ran ran = done({"bench", "project", "--volume", "1,1,1", "--detector", "1,1", "--views", "1", "--modes",
                        "joseph", "--seconds", "0.001"});
  EXPECT_EQ(ran.out.find("nan"), std::string::npos) << ran.out;
}

TEST(BenchScansVolume, TakesAnyProblem) {
  if (!has_device()) GTEST_SKIP() << "no OpenCL device";
  for (const auto& [bench, modes] :
       {std::pair{"project", "joseph,siddon"}, std::pair{"backproject", "exact,siddon-adjoint"}})
    for (const auto& each :
         json(json::parse(done(bench_of_column(bench, {"--modes", modes, "--json"})).out)["benches"])) {
      EXPECT_EQ(each["volume"], (json{30, 28, 120}));
      EXPECT_EQ(each["detector"], (json{30, 150}));
      EXPECT_EQ(each["views"], 3);
      ASSERT_EQ(each["modes"].size(), 2u);
      for (const auto& mode : each["modes"]) {
        const double updates = 30 * 28 * 120 * 3;
        EXPECT_NEAR(mode["updates_per_s"].get<double>() * mode["seconds"].get<double>(), updates, 1e-9 * updates);
        EXPECT_LT(mode["relative_rmse"].get<double>(), 2e-5) << mode["mode"];
      }
    }
  EXPECT_NE(done(bench_of_column("backproject", {"--modes", "exact"}))
                .out.find("30 x 28 x 120 voxels, 3 views of 30 x 150 pixels\n"),
            std::string::npos);
  for (const auto& [more, part] : {std::pair{std::vector<std::string>{"--size", "9"}, "--size"},
                                   {std::vector<std::string>{"--slices", "9"}, "--slices"}}) {
    const Ran ran = run(bench_of_column("backproject", more));
    EXPECT_EQ(ran.code, 2) << ran.out;
    EXPECT_NE(ran.err.find(part), std::string::npos) << ran.err;
  }
  EXPECT_NE(run({"bench", "backproject", "--volume", "9,9,9"}).err.find("--detector"), std::string::npos);
  EXPECT_NE(run({"bench", "backproject", "--detector", "9,9"}).err.find("--volume"), std::string::npos);
  EXPECT_NE(run(bench_of_column("fdk", {})).err.find("--views"), std::string::npos);
}

TEST(BenchGroups, MeasuresEveryShapeOnce) {
  if (!has_device()) GTEST_SKIP() << "no OpenCL device";
  const Ran ran =
      done(bench_of_column("backproject", {"--groups", "16x4,8x1,16x4,64x1", "--modes", "exact", "--json"}));
  for (const auto& each : json(json::parse(ran.out)["benches"])) {
    std::map<std::string, int> seen;
    int defaults = 0, fastest = 0;
    double least = 1e9, first = 0;
    for (const auto& row : each["groups"]) {
      ++seen[row["group"].dump()];
      defaults += row["default"] ? 1 : 0;
      fastest += row["fastest"] ? 1 : 0;
      least = std::min(least, row["seconds"].get<double>());
      if (row["fastest"]) first = row["seconds"];
      expect_times(row);
      EXPECT_GE(row["median_seconds"], row["seconds"]);
      EXPECT_GE(row["runs"], 3);
    }
    EXPECT_EQ(seen["[16,4]"], 1);
    EXPECT_EQ(seen["[8,1]"], 1);
    EXPECT_EQ(seen["[64,1]"], 0) << "wider than the 30 voxels";
    EXPECT_EQ(fastest, 1);
    EXPECT_EQ(first, least);
    EXPECT_LE(defaults, 1);
    EXPECT_NE(each["left_out"].dump().find("64 x 1: wider than the volume"), std::string::npos);
  }
}

TEST(BenchGroups, AllArePowersOfTwoThatTheDeviceTakes) {
  const auto groups = groups_of("all", 256, 300, 300);
  const std::set<GroupShape> distinct(groups.begin(), groups.end());
  EXPECT_EQ(distinct.size(), groups.size());
  EXPECT_EQ(groups.size(), 6u + 7 + 8 + 9);  // of 32, 64, 128 and 256 work-items
  EXPECT_TRUE(distinct.contains({16, 4, 1}));
  EXPECT_TRUE(distinct.contains({1, 256, 1}));
  for (const GroupShape& group : groups_of("all", 256, 30, 5)) {
    EXPECT_LE(group[0], 32u);
    EXPECT_LE(group[1], 8u);
  }
  EXPECT_EQ(groups_of("all", 256, 2, 1), (std::vector<GroupShape>{{2, 1, 1}}));
  EXPECT_EQ(groups_of("152x1,16x4", 256, 8, 8), (std::vector<GroupShape>{{152, 1, 1}, {16, 4, 1}}));
  for (const char* bad : {"", "16", "16x", "x4", "16x4x1", "0x4", "16x4,", "16*4", "16x-4", "every"})
    EXPECT_THROW(groups_of(bad, 256, 8, 8), InputError) << bad;
}

TEST(BenchGroups, LeaveTheTuningAsItWas) {
  if (!has_device()) GTEST_SKIP() << "no OpenCL device";
  const Device device = open_devices({}).front();
  const Tuning before = tuning_of(device);
  const Scan scan = bench_scan({20, 20, 8}, {20, 12}, 5);
  const ModeGroups found = bench_groups(device, scan_form("exact"), scan, {{4, 4, 1}, {8, 2, 1}}, 1e-3);
  EXPECT_EQ(found.kernel, "backproject_exact");
  EXPECT_GE(found.times.size(), 2u);
  EXPECT_TRUE(tuning_of(device) == before);
  EXPECT_THROW(bench_groups(device, scan_form("local"), scan, {{4, 4, 1}}, 1e-3), InputError);
}

// filters: rows are weighted and filtered, too.
void expect_stages(const json& row, bool filters) {
  const auto seconds = [&](const char* name) { return row[name].get<double>(); };
  double sum = seconds("host_seconds");
  for (const char* stage : {"upload_seconds", "layout_seconds", "kernel_seconds", "download_seconds"}) {
    EXPECT_GT(seconds(stage), 0) << stage << row;
    EXPECT_LT(seconds(stage), seconds("seconds")) << stage << row;
    sum += seconds(stage);
  }
  sum += seconds("texture_copy_seconds");
  EXPECT_EQ(seconds("texture_copy_seconds") > 0, row["mode"] == "texture") << row;
  EXPECT_EQ(row.contains("filter_seconds"), filters) << row;
  if (filters) {
    EXPECT_GT(seconds("filter_seconds"), 0) << row;
    sum += seconds("filter_seconds");
  }
  EXPECT_GT(seconds("host_seconds"), 0) << row;
  EXPECT_GE(sum, (1 - 1e-9) * seconds("seconds")) << row;  // more where commands overlap
  EXPECT_GT(seconds("first_call_seconds"), 0) << row;
  expect_times(row);
}

TEST(BenchStages, AddUpToTheCall) {
  if (!has_device()) GTEST_SKIP() << "no OpenCL device";
  const Words modes{"--stages", "--modes", "exact,texture", "--json"};
  for (const auto& each : json(json::parse(done(bench_of_column("backproject", modes)).out)["benches"])) {
    ASSERT_EQ(each["stages"].size() + each["left_out"].size(), 2u);
    for (const auto& row : each["stages"]) expect_stages(row, false);
  }
  const Ran fdk = done(Words{"bench", "fdk", "--size", "16,20"} + modes);
  const json benches = json::parse(fdk.out)["benches"];
  EXPECT_EQ(benches[1]["volume"][0], 20);
  for (const auto& each : benches) {
    ASSERT_EQ(each["stages"].size() + each["left_out"].size(), 2u);
    for (const auto& row : each["stages"]) expect_stages(row, true);
  }
  expect_contains(done({"bench", "fdk", "--size", "16", "--stages", "--modes", "exact"}).out,
                  {"upload  weighting + filtering ", " layout  texture copy ", "host alone"});
  const Folder f;
  for (const auto& [more, part] :
       {std::pair{std::vector<std::string>{"--stages", "--modes", "siddon-adjoint"}, "--modes"},
        {std::vector<std::string>{"--stages", "--groups", "all"}, "--groups"},
        {std::vector<std::string>{"--stages", "--trace", f / "t.json"}, "--trace"},
        {std::vector<std::string>{"--groups", "16"}, "--groups"},
        {std::vector<std::string>{"--groups", "all", "--modes", "local"}, "--modes"}}) {
    const Ran ran = run(bench_of_column("backproject", more));
    EXPECT_EQ(ran.code, 2) << ran.out;
    EXPECT_NE(ran.err.find(part), std::string::npos) << ran.err;
  }
}

TEST(BenchScansPlan, FitsTheDevice) {
  if (!has_device()) GTEST_SKIP() << "no OpenCL device";
  DeviceSelection selection;
  selection.device_memory = std::size_t{6} << 20;  // 128^3 voxels are 8 MiB
  const auto devices = open_devices(selection);
  const auto plan = plan_scan_bench(ScanBench::backproject, devices.front(), {});
  EXPECT_LT(plan.size, 128u);
  EXPECT_GT(plan.size, 32u);
  EXPECT_LE(plan.bytes, selection.device_memory);
  EXPECT_EQ(plan.views, plan.size);
}

}  // namespace
}  // namespace halocline::bench_scans_test
