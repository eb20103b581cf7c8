// labels: app device nightly
// halocline bench expressions: what it measures, says and refuses.
#include <map>
#include <nlohmann/json.hpp>

#include "apps/bench/array_statements.hpp"
#include "tests/support/bench_times.hpp"
#include "tests/support/command_runner.hpp"

namespace halocline::bench_expressions_test {
namespace {

using nlohmann::json;

class BenchExpressions : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_device()) GTEST_SKIP() << "no OpenCL device";
  }
};

// Bytes of an element that a statement reads and writes, and operators of it.
const std::map<std::string, std::pair<double, int>> expected{
    {"x = x * y", {12, 1}},
    {"x = x * y + y", {12, 2}},
    {"x = x * y + y / z", {16, 3}},
    {"x = x * y + y / z + x", {16, 4}},
    {"x = x * y + y / z + x * z", {16, 5}},
    {"x += a * y", {12, 2}},
    {"dot(x, y)", {8, 2}},
    {"norm(x)", {4, 2}},
    {"norm(a * x + y)", {8, 4}},
    {"x += a * y, dot(x, x)", {12, 4}},
    {"x = gradient(y, 0)", {8, 1}},
    {"x = gradient(y, 2)", {8, 1}},
};

TEST_F(BenchExpressions, MeasuresEveryFormOfEveryStatement) {
  const Ran ran = done({"bench", "expressions", "--size", "7,20", "--repeats", "3", "--json"});
  const json results = json::parse(ran.out);
  ASSERT_EQ(results["benches"].size() % 2, 0u);
  for (const json& bench : results["benches"]) {
    const double n = bench["volume"][0], voxels = n * n * n;
    EXPECT_EQ(bench["volume"], (json{n, n, n}));
    EXPECT_EQ(bench["repeats"], 3);
    ASSERT_EQ(bench["statements"].size(), 3 * expected.size() - 3);
    std::map<std::string, std::map<std::string, double>> peaks;
    for (const json& row : bench["statements"]) {
      const std::string form = row["form"], name = row["statement"].get<std::string>() + ", " + form;
      const auto& [bytes, operators] = expected.at(row["statement"]);
      expect_times(row);
      EXPECT_EQ(row["bytes"], bytes * voxels) << name;
      EXPECT_EQ(row["kernels"], form == "unfused" ? operators : 1) << name;
      EXPECT_NEAR(row["bytes_per_s"].get<double>() * row["seconds"].get<double>(), bytes * voxels, 1e-3) << name;
      EXPECT_NEAR(row["share_of_copy"].get<double>() * bench["copy_bytes_per_s"].get<double>(),
                  row["bytes_per_s"].get<double>(), 1)
          << name;
      peaks[row["statement"]][form] = row["peak_bytes"];
    }
    for (const auto& [statement, peak] : peaks) {
      const int operators = expected.at(statement).second;
      EXPECT_GE(peak.at("fused"), 4 * voxels) << statement;
      EXPECT_GE(peak.at("unfused"), peak.at("fused") + (operators > 1 ? 4 * voxels : 0)) << statement;
    }
  }
  EXPECT_EQ(results["benches"][0]["volume"][0], 7);
  EXPECT_EQ(results["benches"][1]["volume"][0], 20);
}

TEST_F(BenchExpressions, TheFormsComputeTheSame) {
  const auto device = open_devices({}).front();
  for (const ArrayStatement& statement : array_statements()) {
    std::vector<Voxels> results;
    for (const bool fused : {true, false}) {
      const expressions::Context on({device});
      on.fuse(fused);
      const auto space = on.volume({.size = {13, 7, 5}});
      StatementArrays arrays{expressions::uniform(space, 1), expressions::uniform(space, 2),
                             expressions::uniform(space, 3) + 1};
      (fused ? statement.fused : statement.unfused)(arrays);
      results.push_back(read(arrays.x).voxels);
    }
    EXPECT_EQ(results[0], results[1]) << statement.text;
  }
}

TEST_F(BenchExpressions, PrintsTablesOfAnyVolume) {
  const Ran table = done({"bench", "expressions", "--volume", "9,5,3", "--forms", "by-hand", "--repeats", "1"});
  expect_contains(table.out, {", 9 x 5 x 3 voxels, copy ", "peak MB", "\nx = x * y + y / z + x * z  by-hand  "});
  EXPECT_EQ(table.out.find("fused"), std::string::npos) << table.out;
  const Ran markdown =
      done({"bench", "expressions", "--size", "8", "--forms", "fused", "--repeats", "2", "--markdown"});
  expect_contains(markdown.out, {"\n| dot(x, y) | fused | 1 | ", " +- "});
  const Ran dry = done({"bench", "expressions", "--size", "8,16", "--dry-run"});
  expect_contains(dry.out,
                  {"would measure on", "8^3, 16^3 voxels, fused, unfused, by-hand, 20 times each:\n  x = x * y\n"});
}

TEST_F(BenchExpressions, LeavesOutWhatDoesNotFit) {
  // a volume is 1 MB: x, y and a temporary are too much
  const Ran ran =
      done({"bench", "expressions", "--size", "64", "--device-memory", "3300K", "--repeats", "1", "--json"});
  for (const json& bench : json(json::parse(ran.out)["benches"])) {
    EXPECT_GT(bench["left_out"].size(), 0u);
    EXPECT_GT(bench["statements"].size(), 0u);
    for (const json& row : bench["statements"]) EXPECT_LE(row["peak_bytes"], 3300 * 1024) << row;
  }
}

TEST_F(BenchExpressions, RefusesWhatIsNotThere) {
  const Words bench{"bench", "expressions"};
  refused(bench + Words{"--size", "0"}, {"--size", "from 1 to 8192"});
  refused(bench + Words{"--size", "8,many"}, {"--size", "many"});
  refused(bench + Words{"--size", "8,"}, {"--size"});
  refused(bench + Words{"--size", "8", "--volume", "8,8,8"}, {"--size", "--volume"});
  refused(bench + Words{"--repeats", "0"}, {"--repeats"});
  refused(bench + Words{"--forms", "magic"}, {"--forms has \"magic\"; expected some of: fused, unfused, by-hand"});
}

}  // namespace
}  // namespace halocline::bench_expressions_test
