// labels: app error
// --truth of halocline reconstruct, denoise and fdk --denoise: what the report says, and what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "tests/support/command_runner.hpp"

namespace halocline::truth_command_test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

const Words grid{"--size", "21,19,9", "--spacing", "3,3,4"};

class TruthCommand : public testing::Test {
 protected:
  void SetUp() override {
    done({"geometry", "circular", "--sid", "200", "--sdd", "300", "--projections", "16", "-o", g});
    done(Words{"phantom", "--type", "blade", "--phantom-size", "50", "-o", truth} + grid);
    done(
        {"phantom", "--type", "blade", "--phantom-size", "50", "--size", "21,19,8", "--spacing", "3,3,4", "-o", small});
    done({"phantom", "--type", "blade", "--phantom-size", "50", "--size", "21,19,9", "--spacing", "3,3,3", "-o", thin});
    done({"project", "-i", truth, "-g", g, "--detector", "37,21", "--pixel", "3,4", "-o", p});
    done(reconstruct + Words{"-o", f});
  }
  json results(const Words& words) const {
    done(words + Words{"--report", report});
    return json::parse(content(report)).at("results");
  }
  double measure(const std::string& name, const std::string& path) const {
    return json::parse(done({"metrics", "-i", path, "--reference", truth, "--json"}).out).at("reference").at(name);
  }
  void expect_records(const json& found, const std::string& path) const {
    EXPECT_NEAR(found.at("truth_rmse"), measure("rmse", path), 1e-5 * measure("rmse", path));
    EXPECT_NEAR(found.at("truth_psnr"), measure("psnr_db", path), 1e-3);
    EXPECT_EQ(found.at("history").back().at("truth_rmse"), found.at("truth_rmse"));
    double seconds = 0;
    for (const json& record : found.at("history")) {
      EXPECT_GE(record.at("seconds"), seconds);
      seconds = record.at("seconds");
      EXPECT_GT(record.at("truth_rmse"), 0);
      EXPECT_GT(record.at("truth_psnr"), 0);
      EXPECT_NEAR(record.at("truth_relative").get<double>() / record.at("truth_rmse").get<double>(),
                  found.at("truth_relative").get<double>() / found.at("truth_rmse").get<double>(), 1e-3);
    }
  }
  Folder folder;
  const std::string g = folder / "g.xml", truth = folder / "truth.mha", small = folder / "small.mha",
                    thin = folder / "thin.mha", p = folder / "p.mha", f = folder / "f.mha", x = folder / "x.mha",
                    y = folder / "y.mha", report = folder / "r.json", state = folder / "state";
  const Words reconstruct = Words{"reconstruct", "-i", p, "-g", g, "--method", "cgls", "--iterations", "3"} + grid;
};

TEST_F(TruthCommand, RecordsOfReconstructHaveTheErrorToIt) {
  expect_records(results(reconstruct + Words{"--truth", truth, "-o", x}), x);
  EXPECT_EQ(content(x), content(f));
  const json without = results(reconstruct + Words{"-o", y});
  EXPECT_TRUE(without.at("history").back().contains("seconds"));
  EXPECT_FALSE(without.at("history").back().contains("truth_rmse"));
}

TEST_F(TruthCommand, RecordsOfDenoiseHaveTheErrorToIt) {
  for (const Words& method : {Words{"pdu", "--alpha", "300", "--gap", "1e-6"}, Words{"tvgd", "--step", "1e-4"}}) {
    const Words words = Words{"denoise", "-i", f, "--iterations", "20", "--method"} + method;
    const json found = results(words + Words{"--truth", truth, "-o", x});
    EXPECT_GT(found.at("history").size(), 1u);
    expect_records(found, x);
    done(words + Words{"-o", y});
    EXPECT_EQ(content(x), content(y));
  }
  EXPECT_GT(results({"denoise", "-i", f, "--method", "median", "--truth", truth, "-o", x}).at("truth_rmse"), 0);
}

TEST_F(TruthCommand, RecordsOfFdkThatDenoisesHaveTheErrorToIt) {
  const Words words = Words{"fdk", "-i", p, "-g", g, "--denoise", "pdu", "--alpha", "300"} + grid;
  expect_records(results(words + Words{"--truth", truth, "-o", x}).at("denoise"), x);
}

TEST_F(TruthCommand, IsRefusedWhereItDoesNotFit) {
  const Words denoise{"denoise", "-i", f, "--method", "pdu", "--alpha", "300", "-o", x};
  refused(reconstruct + Words{"--truth", small, "-o", x}, {"--truth", "small.mha", "21 x 19 x 8", "21 x 19 x 9"});
  refused(reconstruct + Words{"--truth", thin, "-o", x}, {"--truth", "thin.mha", "same grid"});
  refused(denoise + Words{"--truth", small}, {"--truth", "small.mha", "21,19,8"});
  refused(denoise + Words{"--truth", thin}, {"--truth", "thin.mha", "same grid"});
  refused(Words{"fdk", "-i", p, "-g", g, "--denoise", "pdu", "--truth", small, "-o", x} + grid,
          {"--truth", "small.mha"});
  refused(Words{"fdk", "-i", p, "-g", g, "--truth", truth, "-o", x} + grid, {"--truth requires --denoise"});
  refused(reconstruct + Words{"--truth", truth, "--pad-volume", "6", "-o", x}, {"--pad-volume", "--truth"});
  refused({"denoise", "-i", f, "-i", f, "--method", "pdu4d", "--time-weight", "3", "--truth", truth, "-o",
           folder / "f%d.mha"},
          {"--truth"});
}

TEST_F(TruthCommand, BelongsToAPlanAndToACheckpoint) {
  EXPECT_THAT(done(reconstruct + Words{"--truth", truth, "--dry-run", "-o", x}).out, HasSubstr("truth"));
  const Words long_run = reconstruct + Words{"--checkpoint", state, "--checkpoint-every", "0", "-o", x};
  done(long_run + Words{"--truth", truth, "--time-limit", "1e-9"});
  refused(long_run + Words{"--resume"}, {"--checkpoint"});
  done(long_run + Words{"--truth", truth, "--resume"});
  EXPECT_EQ(content(x), content(f));
}

}  // namespace
}  // namespace halocline::truth_command_test
