// labels: app device
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <random>

#include "algorithms/jobs/setting_values.hpp"
#include "apps/images/image_file.hpp"
#include "apps/job/progress.hpp"
#include "host/opencl/device.hpp"
#include "host/system/error.hpp"
#include "tests/reference/tv_reference.hpp"
#include "tests/support/command_runner.hpp"

namespace halocline::command_test {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::Test;

const Words small_grid{"--size", "24,24,24", "--spacing", "8,8,8"};
const Words small_detector{"--detector", "52,44", "--pixel", "8,8"};

void expect_done(const Ran& ran, int line) {
  EXPECT_EQ(ran.code, 0) << "line " << line << ": " << ran.err;
}
#define EXPECT_DONE(...) expect_done(__VA_ARGS__, __LINE__)

// The thin path: made once, used by several tests.
class Command : public Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new Folder;
    const Folder& f = *folder_;
    const Words circular{"geometry", "circular", "--sid", "1000", "--sdd", "1500", "--projections", "30"};
    EXPECT_DONE(run(Words{"phantom", "--type", "shepp-logan-hc", "-o", f / "v.mha"} + small_grid));
    EXPECT_DONE(run(circular + Words{"-o", f / "g.xml"}));
    EXPECT_DONE(run(Words{"project", "--phantom", "shepp-logan-hc", "--phantom-size", "192", "--geometry", f / "g.xml",
                          "-o", f / "p.mha"} +
                    small_detector));
    noise_ =
        run({"noise", "-i", f / "p.mha", "--photons", "3000", "--electronic", "5", "--seed", "7", "-o", f / "pn.mha"});
    EXPECT_DONE(noise_);
    if (!has_device()) return;
    fdk_ = run(Words{"fdk", "-i", f / "pn.mha", "--geometry", f / "g.xml", "--variance-out", f / "var.mha", "--photons",
                     "3000", "--electronic", "5", "-o", f / "r.mha", "--report", f / "report.json", "--trace",
                     f / "trace.json"} +
               small_grid);
    EXPECT_DONE(fdk_);
  }
  static void TearDownTestSuite() {
    delete folder_;
    folder_ = nullptr;
  }
  static std::string path(const std::string& name) { return *folder_ / name; }
  static json metrics(const std::string& name) {
    const Ran ran = run({"metrics", "-i", path(name), "--reference", path("v.mha"), "--json"});
    EXPECT_DONE(ran);
    return json::parse(ran.out);
  }
  static double rmse(const std::string& name) { return metrics(name)["reference"]["rmse"]; }

  static Folder* folder_;
  static Ran noise_, fdk_;
};
Folder* Command::folder_ = nullptr;
Ran Command::noise_, Command::fdk_;

class CommandOnDevice : public Command {
 protected:
  void SetUp() override {
    if (!has_device()) GTEST_SKIP() << "no OpenCL device";
  }
};

TEST_F(Command, NoiseReportsTheCountsThatWereNotPositive) {
  EXPECT_NE(noise_.out.find("of 68640 counts were <= 0"), std::string::npos) << noise_.out;
}

TEST_F(Command, NoiseIsTheSameForTheSameSeedOnly) {
  EXPECT_DONE(run(
      {"noise", "-i", path("p.mha"), "--photons", "3000", "--electronic", "5", "--seed", "7", "-o", path("pn7.mha")}));
  EXPECT_DONE(run(
      {"noise", "-i", path("p.mha"), "--photons", "3000", "--electronic", "5", "--seed", "8", "-o", path("pn8.mha")}));
  EXPECT_TRUE(content(path("pn7.mha")) == content(path("pn.mha")));
  EXPECT_FALSE(content(path("pn8.mha")) == content(path("pn.mha")));
}

TEST_F(Command, NoiseWarnsWhereLittleIsLeft) {
  EXPECT_THAT(noise_.err, Not(HasSubstr("warning")));
  const Ran ran = run({"noise", "-i", path("p.mha"), "--photons", "1e-30", "-o", path("dark.mha")});
  EXPECT_DONE(ran);
  EXPECT_THAT(ran.err, AllOf(HasSubstr("most counts (68640 of 68640) were <= 0"), HasSubstr("give more --photons")));
}

TEST_F(CommandOnDevice, FdkSaysWhatWasDone) {
  expect_contains(fdk_.out, {"24 x 24 x 24 of 8 x 8 x 8 mm", "30 views (cone beam)", "window ram-lak with cut-off 1",
                             "slab", "fdk ", " s"});
  EXPECT_NE(fdk_.out.find("noise variance"), std::string::npos) << fdk_.out;
}

TEST_F(CommandOnDevice, FdkComesNearTheTruth) {
  const auto m = metrics("r.mha");
  EXPECT_GT(m["reference"]["r"].get<double>(), 0.7);
  EXPECT_LT(m["reference"]["rmse"].get<double>(), 0.005);
}

TEST_F(CommandOnDevice, VarianceIsPositive) {
  const Volume variance = read_image(path("var.mha"));
  for (const float value : variance.voxels) ASSERT_GE(value, 0);
  EXPECT_GT(variance.at(12, 12, 12), 0);
}

TEST_F(CommandOnDevice, EachMethodDenoises) {
  const double noisy = rmse("r.mha");
  const double pdu = [&] {
    const Ran ran = run({"denoise", "-i", path("r.mha"), "--method", "pdu", "-o", path("pdu.mha")});
    EXPECT_DONE(ran);
    EXPECT_NE(ran.out.find("alpha"), std::string::npos) << ran.out;
    EXPECT_NE(ran.out.find("gap"), std::string::npos) << ran.out;
    return rmse("pdu.mha");
  }();
  EXPECT_LT(pdu, 0.9 * noisy);
  EXPECT_DONE(
      run({"denoise", "-i", path("r.mha"), "--method", "spdu", "--weights", path("var.mha"), "-o", path("spdu.mha")}));
  // The scan's variances remove noise alone, not the streaks of 30 views, which are most of the error of r.mha: against
  // the result without noise.
  EXPECT_DONE(
      run(Words{"fdk", "-i", path("p.mha"), "--geometry", path("g.xml"), "-o", path("clean.mha")} + small_grid));
  const auto noise = [](const std::string& name) {
    const Ran ran = run({"metrics", "-i", path(name), "--reference", path("clean.mha"), "--json"});
    EXPECT_DONE(ran);
    return json::parse(ran.out)["reference"]["rmse"].get<double>();
  };
  EXPECT_LT(noise("spdu.mha"), 0.95 * noise("r.mha"));
  EXPECT_LT(rmse("spdu.mha"), noisy);
  EXPECT_DONE(run({"denoise", "-i", path("r.mha"), "--method", "tvgd", "-o", path("tvgd.mha")}));
  EXPECT_LT(rmse("tvgd.mha"), 0.95 * noisy);
  const Ran variant = run({"denoise", "-i", path("r.mha"), "--method", "tvgd", "--weights", path("var.mha"),
                           "--adaptive-delta", "0.004", "-o", path("aw.mha"), "--report", path("aw.json")});
  EXPECT_DONE(variant);
  EXPECT_NE(variant.out.find("larger where there is more noise, adaptive with delta 0.004"), std::string::npos)
      << variant.out;
  EXPECT_LT(rmse("aw.mha"), 0.95 * noisy);
  const json results = json::parse(content(path("aw.json")))["results"];
  EXPECT_EQ(results["statistical"], true);
  EXPECT_EQ(results["adaptive_delta"], 0.004);
  const Ran edges = run({"denoise", "-i", path("v.mha"), "--method", "tvgd", "--step", "1e-4", "--target-fidelity", "1",
                         "--adaptive-delta", "1e-12", "-o", path("aw.mha")});  // no noise, nothing below it
  EXPECT_EQ(edges.code, 0) << edges.err;
  EXPECT_NE(edges.err.find("at 0 nothing is left below --adaptive-delta; give a larger one"), std::string::npos)
      << edges.err;
}

TEST_F(CommandOnDevice, IncompleteArcsAreReconstructedIfAllowed) {
  EXPECT_DONE(run({"geometry", "circular", "--sid", "1000", "--sdd", "1500", "--projections", "30", "--arc", "170",
                   "--proj-offset-x", "9", "-o", path("short.xml")}));
  EXPECT_DONE(run(Words{"project", "--phantom", "shepp-logan-hc", "--phantom-size", "192", "--geometry",
                        path("short.xml"), "-o", path("short-p.mha")} +
                  small_detector));
  const Words words =
      Words{
          "fdk",   "-i", path("short-p.mha"), "--geometry", path("short.xml"), "-o", path("short.mha"), "--nodisplaced",
          "--pad", "0.5"} +
      small_grid;
  EXPECT_EQ(run(words).code, 2);
  const Ran ran = run(words + Words{"--allow-incomplete-arc"});
  EXPECT_DONE(ran);
  EXPECT_NE(ran.err.find("weighted as the middle of such an arc"), std::string::npos) << ran.err;
}

TEST_F(CommandOnDevice, FramesAreDenoisedTogether) {
  // three frames of one object, each with its own noise
  for (const char* seed : {"1", "2", "3"}) {
    const std::string name = path(std::string("noisy") + seed);
    EXPECT_DONE(run({"noise", "-i", path("p.mha"), "--photons", "3000", "--seed", seed, "-o", name + "p.mha"}));
    EXPECT_DONE(run(Words{"fdk", "-i", name + "p.mha", "--geometry", path("g.xml"), "-o", name + ".mha"} + small_grid));
  }
  const Ran ran =
      run({"denoise", "-i", path("noisy1.mha"), "-i", path("noisy2.mha"), "-i", path("noisy3.mha"), "--method", "pdu4d",
           "--time-weight", "1", "--alpha", "2000", "-o", path("frame_%02d.mha"), "--report", path("frames.json")});
  EXPECT_DONE(ran);
  EXPECT_NE(ran.out.find("3 frames of 24 x 24 x 24"), std::string::npos) << ran.out;
  const json results = json::parse(content(path("frames.json")))["results"];
  EXPECT_EQ(results["frames"], 3);
  EXPECT_EQ(results["time_weight"], 1);
  EXPECT_LE(results["relative_gap"].get<double>(), 1e-3);
  for (const char* frame : {"frame_00.mha", "frame_01.mha", "frame_02.mha"}) {
    EXPECT_EQ(read_image(path(frame)).grid.origin, read_image(path("noisy1.mha")).grid.origin);
    EXPECT_LT(rmse(frame), 0.95 * rmse("noisy1.mha")) << frame;  // most of that is of too few views
  }
  const auto apart = [&](const std::string& a, const std::string& b) {
    const Volume one = read_image(path(a)), other = read_image(path(b));
    double sum = 0;
    for (std::size_t n = 0; n < one.voxels.size(); ++n) sum += std::pow(one.voxels[n] - other.voxels[n], 2);
    return std::sqrt(sum);
  };
  EXPECT_LT(apart("frame_00.mha", "frame_01.mha"), 0.5 * apart("noisy1.mha", "noisy2.mha"));
  EXPECT_FALSE(std::filesystem::exists(path("frame_03.mha")));
  const Ran plan = run({"denoise", "-i", path("noisy1.mha"), "-i", path("noisy2.mha"), "--method", "pdu4d",
                        "--time-weight", "1", "-o", path("frame_%02d.mha"), "--dry-run"});
  EXPECT_NE(plan.out.find("2 frames of 24 x 24 x 24"), std::string::npos) << plan.out;
}

TEST_F(CommandOnDevice, AnAxisCanBeTime) {
  const Words common{"denoise", "-i", path("r.mha"), "--method", "pdu", "--alpha", "2000"};
  EXPECT_DONE(run(common + Words{"-o", path("space.mha")}));
  EXPECT_DONE(run(common + Words{"--time-axis", "z", "--time-weight", "8", "-o", path("same.mha")}));
  EXPECT_DONE(run(common + Words{"--time-axis", "z", "--time-weight", "80", "-o", path("loose.mha")}));
  EXPECT_EQ(read_image(path("space.mha")).voxels, read_image(path("same.mha")).voxels);  // z's spacing is 8 mm
  EXPECT_NE(read_image(path("space.mha")).voxels, read_image(path("loose.mha")).voxels);
  EXPECT_DONE(
      run({"phantom", "--type", "shepp-logan", "--size", "24,24,1", "--spacing", "8,8,8", "-o", path("1.mha")}));
  const Ran slice = run({"denoise", "-i", path("1.mha"), "--method", "pdu", "--alpha", "9", "--time-axis", "z",
                         "--time-weight", "8", "-o", path("2.mha")});
  EXPECT_EQ(slice.code, 2);
  EXPECT_THAT(slice.err, HasSubstr("--time-axis z: the volume has one slice"));
}

TEST_F(CommandOnDevice, FiltersSayWhatTheyDidAndNoMore) {
  for (const std::string name : {"gaussian", "median", "nlm"}) {
    const Ran ran = run({"denoise", "-i", path("r.mha"), "--method", name, "-o", path(name + ".mha"), "--report",
                         path(name + ".json")});
    EXPECT_DONE(ran);
    EXPECT_NE(ran.out.find(name + "; RMS change"), std::string::npos) << ran.out;
    EXPECT_EQ(ran.out.find("nan"), std::string::npos) << ran.out;
    EXPECT_EQ(ran.out.find("estimated noise") != std::string::npos, name == "nlm") << ran.out;
    EXPECT_EQ(ran.err.find("warning"), std::string::npos) << ran.err;
    const json results = json::parse(content(path(name + ".json")))["results"];
    EXPECT_GT(results["fidelity"].get<double>(), 0);
    for (const char* none : {"alpha", "gap", "relative_gap", "schedule", "history", "converged", "tv"})
      EXPECT_FALSE(results.contains(none)) << name << " " << none;
  }
}

TEST_F(CommandOnDevice, OtherRegularisersDenoiseAndSayWhatTheyDid) {
  const Ran ran = run({"denoise", "-i", path("r.mha"), "--method", "spdu", "--weights", path("var.mha"), "--tv",
                       "huber", "--huber-delta", "1e-5", "--nonnegative", "--reference", path("v.mha"), "-o",
                       path("family.mha"), "--report", path("family.json")});
  EXPECT_DONE(ran);
  expect_contains(ran.out, {"Huber with delta 1e-05", "within [0, inf]", "guided by"});
  EXPECT_LT(rmse("family.mha"), 0.8 * rmse("r.mha"));
  for (const float value : read_image(path("family.mha")).voxels) ASSERT_GE(value, 0);
  const json results = json::parse(content(path("family.json")))["results"];
  EXPECT_EQ(results["tv"], "huber");
  EXPECT_EQ(results["huber_delta"], 1e-5);
  EXPECT_EQ(results["minimum"], 0);
  EXPECT_FALSE(results.contains("maximum"));
  EXPECT_GT(results["reference_eta"].get<double>(), 0);
}

TEST_F(CommandOnDevice, HalvesTellTheNoiseAndTheStrength) {
  const std::string pair = path("odd.mha") + "," + path("even.mha");
  const Ran fdk = run(Words{"fdk", "-i", path("pn.mha"), "--geometry", path("g.xml"), "--halves-out", pair, "-o",
                            path("whole.mha"), "--report", path("halves.json")} +
                      small_grid);
  EXPECT_DONE(fdk);
  EXPECT_NE(fdk.out.find("odd.mha: the same from the 15 odd views"), std::string::npos) << fdk.out;
  EXPECT_TRUE(content(path("whole.mha")) == content(path("r.mha")));
  const json report = json::parse(content(path("halves.json")));
  EXPECT_TRUE(report["runs"]["odd views"].contains("plan"));
  EXPECT_TRUE(report["runs"]["even views"].contains("plan"));
  const Volume whole = read_image(path("whole.mha")), odd = read_image(path("odd.mha")),
               even = read_image(path("even.mha"));
  double difference = 0, noise = 0;
  for (std::size_t n = 0; n < whole.voxels.size(); ++n) {
    difference = std::max(difference, std::abs(0.5 * (odd.voxels[n] + even.voxels[n]) - whole.voxels[n]));
    noise = std::max(noise, 0.5 * std::abs(odd.voxels[n] - even.voxels[n]));
  }
  EXPECT_LT(difference, 1e-4 * noise);

  const Words pdu{"denoise", "-i", path("whole.mha"), "--method", "pdu", "--halves", pair, "-o", path("halved.mha")};
  const Ran chosen = run(pdu);
  EXPECT_DONE(chosen);
  EXPECT_NE(chosen.out.find("(split halves, with a noise of"), std::string::npos) << chosen.out;
  EXPECT_EQ(run(pdu + Words{"--alpha", "halves", "--quiet"}).code, 0);
  EXPECT_LT(rmse("halved.mha"), 0.9 * rmse("r.mha"));

  EXPECT_DONE(run({"noise-map", "--halves", pair, "-o", path("map.mha"), "--report", path("map.json")}));
  const json from_halves = json::parse(content(path("map.json")))["results"];
  EXPECT_EQ(from_halves["reliable"], true);
  EXPECT_GT(from_halves["noise_sigma"].get<double>(), 0);
  const Ran alone = run({"noise-map", "-i", path("whole.mha"), "-o", path("alone.mha"), "--report", path("map.json")});
  EXPECT_DONE(alone);
  EXPECT_NE(alone.err.find("less reliable"), std::string::npos) << alone.err;
  EXPECT_EQ(json::parse(content(path("map.json")))["results"]["reliable"], false);

  // The estimate of denoise is the one that noise-map writes.
  const Words spdu{"denoise", "-i", path("whole.mha"), "--method", "spdu", "--alpha", "300", "-o"};
  EXPECT_DONE(run(spdu + Words{path("a.mha"), "--weights", "halves", "--halves", pair, "--report", path("w.json")}));
  EXPECT_EQ(json::parse(content(path("w.json")))["results"]["weights"], "from the difference of the two halves");
  EXPECT_DONE(run(spdu + Words{path("b.mha"), "--weights", path("map.mha")}));
  EXPECT_TRUE(content(path("a.mha")) == content(path("b.mha")));
  const Ran estimated = run(spdu + Words{path("a.mha"), "--weights", "estimate"});
  EXPECT_DONE(estimated);
  EXPECT_NE(estimated.out.find("weights: noise estimated from the volume alone"), std::string::npos) << estimated.out;
  EXPECT_DONE(run(spdu + Words{path("b.mha"), "--weights", path("alone.mha")}));
  EXPECT_TRUE(content(path("a.mha")) == content(path("b.mha")));
  const Words tvgd{"denoise", "-i", path("whole.mha"), "--method", "tvgd", "-o"};
  EXPECT_DONE(run(tvgd + Words{path("a.mha"), "--weights", "halves", "--halves", pair}));
  EXPECT_DONE(run(tvgd + Words{path("b.mha"), "--weights", path("map.mha")}));
  EXPECT_TRUE(content(path("a.mha")) == content(path("b.mha")));

  // pdu chooses its strength by them
  for (const char* rule : {"sure", "discrepancy"}) {
    const Words by{"denoise", "-i", path("whole.mha"), "--method", "pdu", "--alpha", rule, "-o"};
    const Ran ran = run(by + Words{path("c.mha"), "--weights", "halves", "--halves", pair});
    EXPECT_DONE(ran);
    EXPECT_THAT(ran.out, AllOf(HasSubstr("weights: noise from the difference"), HasSubstr(" from the variances")));
    EXPECT_DONE(run(by + Words{path("d.mha"), "--weights", path("map.mha")}));
    EXPECT_TRUE(content(path("c.mha")) == content(path("d.mha")));
  }
  EXPECT_LT(rmse("a.mha"), 0.95 * rmse("r.mha"));
}

TEST_F(CommandOnDevice, RulesForAlpha) {
  const Words words{"denoise", "-i", path("r.mha"), "--method", "pdu", "-o", path("rule.mha"), "--alpha"};
  for (const auto& [rule, how] : {std::pair("auto", "Monte Carlo SURE"),
                                  {"sure", "Monte Carlo SURE"},
                                  {"discrepancy", "discrepancy principle"},
                                  {"250", "given"}}) {
    const Ran ran = run(words + Words{rule});
    EXPECT_DONE(ran);
    EXPECT_NE(ran.out.find(how), std::string::npos) << ran.out;
  }
  const Ran target = run(words + Words{"target", "--target-fidelity", "0.1"});
  EXPECT_DONE(target);
  EXPECT_NE(target.out.find("||u - f|| = 0.1"), std::string::npos) << target.out;
  const Ran weak = run(words + Words{"1e9"});
  EXPECT_DONE(weak);
  EXPECT_NE(weak.err.find("hardly anything was changed"), std::string::npos) << weak.err;
  const Ran flat =
      run({"denoise", "-i", path("r.mha"), "--method", "gaussian", "--sigma", "1e6", "-o", path("flat.mha")});
  EXPECT_DONE(flat);
  EXPECT_THAT(flat.err, AllOf(HasSubstr("nothing is left"), HasSubstr("a smaller --sigma smooths less")));
  const Ran mild = run({"denoise", "-i", path("r.mha"), "--method", "gaussian", "-o", path("mild.mha")});
  EXPECT_DONE(mild);
  EXPECT_THAT(mild.err, Not(HasSubstr("nothing is left")));
}

TEST_F(CommandOnDevice, AGapNotReachedIsAWarning) {
  const Ran ran = run({"denoise", "-i", path("r.mha"), "--method", "pdu", "--alpha", "2000", "--iterations", "2",
                       "--gap", "1e-6", "-o", path("short.mha")});
  EXPECT_DONE(ran);
  EXPECT_NE(ran.err.find("warning"), std::string::npos) << ran.err;
  EXPECT_NE(ran.err.find("gap"), std::string::npos) << ran.err;
  EXPECT_TRUE(std::filesystem::exists(path("short.mha")));
}

TEST_F(CommandOnDevice, ATimeLimitIsAWarning) {
  const Ran ran =
      run({"denoise", "-i", path("r.mha"), "--method", "pdu", "--alpha", "2000", "--iterations", "1000000", "--gap",
           "1e-30", "--time-limit", "1e-6", "-o", path("timed.mha"), "--report", path("timed.json")});
  EXPECT_DONE(ran);
  expect_contains(ran.err, {"warning: the time limit of 1e-06 s", "iterations", "a relative gap of"});
  EXPECT_EQ(json::parse(content(path("timed.json")))["results"]["stopped_by"], "time");
  EXPECT_TRUE(std::filesystem::exists(path("timed.mha")));
}

TEST_F(CommandOnDevice, AGapBeyondFloat32IsAWarning) {
  const Ran ran = run({"denoise", "-i", path("r.mha"), "--method", "pdu", "--alpha", "2000", "--iterations", "1000000",
                       "--gap", "1e-15", "-o", path("floor.mha"), "--report", path("floor.json")});
  EXPECT_DONE(ran);
  EXPECT_NE(ran.err.find("warning: the relative gap of 1e-15 cannot be reached in float32"), std::string::npos)
      << ran.err;
  const json results = json::parse(content(path("floor.json")))["results"];
  EXPECT_EQ(results["stopped_by"], "stalled");
  EXPECT_LT(results["relative_gap"].get<double>(), 1e-6);
}

// Two balls with white noise: the noise is known, the values are between 0 and 1.7.
class TwoNoisyBalls : public CommandOnDevice {
 protected:
  void SetUp() override {
    if (!has_device()) GTEST_SKIP() << "no OpenCL device";
    const Volume balls = reference::two_balls(24, 0.1);
    write_image(balls, f / "b.mha");
  }
  // Warnings of the command; its report goes to `report`.
  std::string told(const Words& rest) {
    const Ran ran =
        run(Words{"denoise", "-i", f / "b.mha", "-o", f / "out.mha", "--report", f / "r.json", "--method"} + rest);
    EXPECT_DONE(ran);
    out = ran.out;
    report = json::parse(content(f / "r.json"))["results"];
    return ran.err;
  }

  Folder f;
  std::string out;
  json report;
};

TEST_F(TwoNoisyBalls, DescentsSayWhatEndedThem) {
  EXPECT_THAT(told({"tvgd", "--target-fidelity", "5", "--iterations", "3"}), HasSubstr("= 5 was not reached"));
  EXPECT_THAT(out, HasSubstr("target: ||u - f|| = 5, as given; ended by the number of iterations after 3 iterations"));
  EXPECT_THAT(told({"tvgd"}), Not(HasSubstr("warning")));
  EXPECT_THAT(out, HasSubstr("ended by the target after"));
  EXPECT_THAT(told({"tvgd", "--step", "0.001", "--iterations", "1000000", "--time-limit", "1e-6"}),
              HasSubstr("the time limit of 1e-06 s"));
  EXPECT_THAT(out, HasSubstr("target: iterations alone; ended by the time limit"));
  write_image(Volume(read_image(f / "b.mha").grid, 2), f / "b.mha");
  EXPECT_THAT(told({"tvgd", "--step", "0.1"}), HasSubstr("the volume is constant"));
  EXPECT_THAT(out, HasSubstr("ended by flatness after 0 iterations"));
  EXPECT_EQ(report["stopped_by"], "flat");
  EXPECT_THAT(told({"tvgd", "--step", "0.1", "--output-type", "int16", "--rescale"}), Not(HasSubstr("rounding to")));
}

TEST_F(TwoNoisyBalls, DescentsWarnOfStepsThatDoNothingOrTooMuch) {
  EXPECT_THAT(told({"tvgd", "--step", "1e-30", "--iterations", "9"}),
              AllOf(HasSubstr("hardly anything was changed"), HasSubstr("steps of 1e-30 are lost in float32")));
  EXPECT_THAT(told({"tvgd", "--target-fidelity", "1e-9", "--iterations", "9"}),
              AllOf(HasSubstr("float32 rounds these grey values"), Not(HasSubstr("more --iterations"))));
  EXPECT_THAT(told({"tvgd", "--step", "100", "--iterations", "9"}), HasSubstr("the steps of 100 overshoot"));
}

TEST_F(TwoNoisyBalls, TargetsThatNoAlphaMeetsAreNamed) {
  EXPECT_THAT(
      told({"pdu", "--target-fidelity", "1e9"}),
      AllOf(HasSubstr("no alpha takes away as much as --target-fidelity 1e+09"), Not(HasSubstr("an --alpha above"))));
  EXPECT_EQ(report["rule_met"], false);
  EXPECT_EQ(report["target_fidelity"], 1e9);
  EXPECT_THAT(told({"pdu", "--target-fidelity", "1e-9"}),
              HasSubstr("no alpha takes away as little as --target-fidelity 1e-09 asks"));
  told({"pdu"});
  EXPECT_EQ(report["rule_met"], true);
}

TEST_F(TwoNoisyBalls, AGapThatStaysNamesItsType) {
  EXPECT_THAT(told({"pdu", "--alpha", "15", "--duals", "snorm16", "--gap", "1e-7", "--iterations", "3000"}),
              AllOf(HasSubstr("cannot be reached with --duals snorm16"), Not(HasSubstr("float32"))));
}

TEST_F(TwoNoisyBalls, ABoxThatExcludesAllValuesIsNamed) {
  EXPECT_THAT(told({"pdu", "--alpha", "15", "--minimum", "5", "--maximum", "6"}),
              AllOf(HasSubstr("--minimum 5 leaves no value as it was"), Not(HasSubstr("an --alpha"))));
  EXPECT_THAT(told({"pdu", "--alpha", "15", "--maximum", "-5"}), HasSubstr("--maximum -5 leaves no value"));
}

TEST_F(TwoNoisyBalls, AStartBeyondTheTargetIsNamed) {
  write_image(reference::two_balls(24, 0.1, 5), f / "other.mha");
  EXPECT_THAT(told({"tvgd", "--init", f / "other.mha"}),
              AllOf(HasSubstr("--init lies beyond the target already"), HasSubstr("leave --init out")));
  EXPECT_THAT(out, HasSubstr("ended by the target after 0 iterations"));
  write_image(reference::two_balls(24, 0.05), f / "near.mha");  // half of the noise is gone
  EXPECT_THAT(told({"tvgd", "--init", f / "near.mha"}), Not(HasSubstr("--init")));
}

TEST_F(TwoNoisyBalls, WhatIsAdvisedHelps) {
  EXPECT_THAT(told({"pdu", "--alpha", "15", "--gap", "1e-12"}),
              AllOf(HasSubstr("give a --gap of at least 1.19e-07, as float32"), Not(HasSubstr("--iterations"))));
  EXPECT_THAT(told({"tvgd", "--target-fidelity", "1e9"}),
              AllOf(HasSubstr("even a flat volume is only"), Not(HasSubstr("--iterations"))));
  EXPECT_THAT(told({"tvgd", "--target-fidelity", "13", "--iterations", "3"}), HasSubstr("give more --iterations"));
  Volume weights = read_image(f / "b.mha");
  for (std::size_t n = 0; n < weights.voxels.size(); ++n)
    weights.voxels[n] = std::pow(10.0f, static_cast<float>(n % 24) - 12);
  write_image(weights, f / "w.mha");
  EXPECT_THAT(told({"spdu", "--weights", f / "w.mha", "--alpha", "15", "--iterations", "20"}),
              HasSubstr("give --weights that span less than a factor of 1e+23, more --iterations"));
  EXPECT_THAT(told({"pdu", "--alpha", "15", "--time-limit", "1e-9"}),
              AllOf(HasSubstr("the time limit of 1e-09 s"), Not(HasSubstr("--alpha"))));
}

TEST_F(TwoNoisyBalls, RescalingKnowsBoundsAndStarts) {
  const Words bytes{"--output-type", "uint8", "--rescale"};
  for (const Words& box : {Words{"--minimum", "50"}, {"--minimum", "-1", "--maximum", "0.5"}, {"--maximum", "-50"}}) {
    EXPECT_THAT(told(Words{"pdu", "--alpha", "15"} + box + bytes), Not(HasSubstr("--rescale")));
    EXPECT_EQ(report["output"]["clamped"], 0);
  }
  Volume start = read_image(f / "b.mha");
  for (float& value : start.voxels) value = 3 - 4 * value;
  write_image(start, f / "start.mha");
  told(Words{"pdu", "--alpha", "15", "--iterations", "1", "--init", f / "start.mha"} + bytes);
  EXPECT_EQ(report["output"]["clamped"], 0);
}

// A batch over many volumes is not to end at one that has nothing in it.
TEST_F(TwoNoisyBalls, ConstantVolumesPassThrough) {
  for (const std::size_t n : {1, 6}) {
    Grid grid{.size = {n, n, n}};
    const Volume constant(grid, 2.5f);
    write_image(constant, f / "b.mha");
    write_image(Volume(grid, 1.0f), f / "w.mha");
    for (const Words& method : {Words{"pdu"},
                                {"pdu", "--alpha", "discrepancy"},
                                {"pdu", "--alpha", "1.5/sigma"},
                                {"pdu", "--target-fidelity", "3"},
                                {"spdu", "--weights", f / "w.mha"},
                                {"spdu", "--weights", "estimate"},
                                {"spdu", "--weights", "estimate", "--alpha", "15"},
                                {"pdu", "--weights", "estimate"},
                                {"tvgd", "--weights", "estimate"},
                                {"tvgd"},
                                {"tvgd", "--weights", f / "w.mha"},
                                {"nlm"}}) {
      EXPECT_THAT(told(method), AllOf(HasSubstr("the volume is constant: there is nothing to denoise"),
                                      Not(HasSubstr("subtract an offset"))))
          << method[0];
      EXPECT_EQ(read_image(f / "out.mha").voxels, constant.voxels) << method[0];
      EXPECT_FALSE(report["warnings"].empty()) << method[0];
      if (!report.contains("relative_gap")) continue;
      EXPECT_EQ(report["relative_gap"], 0) << method[0];
      EXPECT_EQ(report["converged"], true) << method[0];
    }
    // variances of 0 are no estimate, but wrong
    write_image(Volume(grid, 0.0f), f / "w.mha");
    const Ran zeros =
        run({"denoise", "-i", f / "b.mha", "--method", "spdu", "--weights", f / "w.mha", "-o", f / "out.mha"});
    EXPECT_EQ(zeros.code, 2);
    EXPECT_THAT(zeros.err, HasSubstr("--weights: the variances are all 0"));
    const Ran frames = run({"denoise", "-i", f / "b.mha", "-i", f / "b.mha", "--method", "pdu4d", "--time-weight", "1",
                            "-o", f / "t%d.mha"});
    EXPECT_DONE(frames);
    EXPECT_THAT(frames.err, HasSubstr("the volume is constant"));
    EXPECT_EQ(read_image(f / "t1.mha").voxels, constant.voxels);
  }
}

TEST_F(TwoNoisyBalls, AlphaIsToldInUnitsOfTheNoiseToo) {
  EXPECT_THAT(told({"pdu", "--alpha", "1.5/sigma"}), Not(HasSubstr("warning")));
  const double sigma = report["noise_sigma"], alpha = report["alpha"];
  EXPECT_NEAR(alpha * sigma, 1.5, 1e-12);
  EXPECT_DOUBLE_EQ(report["alpha_sigma"].get<double>(), alpha * sigma);
  EXPECT_THAT(out, HasSubstr(fmt::format("alpha {:.6g} = 1.5/sigma (for a noise of {:.4g})", alpha, sigma)));
  told({"pdu"});
  EXPECT_THAT(out, HasSubstr(fmt::format(" = {:.4g}/sigma (Monte Carlo", report["alpha_sigma"].get<double>())));
  told({"pdu", "--alpha", "15"});
  EXPECT_THAT(out, HasSubstr("alpha 15 (given)"));
  EXPECT_FALSE(report.contains("alpha_sigma"));
}

// Every alpha is given: nothing goes by the noise.
TEST_F(TwoNoisyBalls, PathsAskForNoNoise) {
  const Ran ran = run({"denoise", "-i", f / "b.mha", "--method", "pdu", "--alpha-path", "40,20", "--preview-roi",
                       "3,3,3,3,3,3", "-o", f / "out.mha", "--report", f / "r.json"});
  EXPECT_DONE(ran);
  EXPECT_THAT(ran.err, Not(HasSubstr("noise")));
  EXPECT_FALSE(json::parse(content(f / "r.json"))["results"].contains("noise_sigma"));
}

TEST_F(TwoNoisyBalls, RoundingAdvisesWhatHelps) {
  const Words weak{"pdu", "--alpha", "3000", "--output-type"};
  EXPECT_THAT(told(weak + Words{"int16"}), HasSubstr("give --rescale or --output-type float32"));
  EXPECT_THAT(told(weak + Words{"uint8", "--rescale"}), HasSubstr("give --output-type uint16 or float32"));
}

// Weights over 20 decades at random, which have nothing to do with the noise.
TEST_F(TwoNoisyBalls, WeightsThatFitNothingAreNamed) {
  Volume weights = read_image(f / "b.mha");
  std::mt19937 random(3);
  for (float& weight : weights.voxels) weight = std::pow(10.0f, std::uniform_real_distribution<float>(-10, 10)(random));
  write_image(weights, f / "w.mha");
  const Words spdu{"spdu", "--weights", f / "w.mha", "--iterations", "20"};
  EXPECT_THAT(told(spdu), HasSubstr("--weights do not agree with the noise"));
}

TEST_F(TwoNoisyBalls, NoiseOfFewVoxelsIsDoubtful) {
  write_image(reference::two_balls(7, 0.1), f / "b.mha");
  EXPECT_THAT(told({"pdu"}), HasSubstr("places only, too few to be sure of it; give --alpha a number"));
  EXPECT_THAT(told({"tvgd"}), HasSubstr("give --step and --target-fidelity"));
  EXPECT_THAT(told({"pdu", "--alpha", "15"}), Not(HasSubstr("places only")));
  write_image(Volume(read_image(f / "b.mha").grid, 0.01f),
              f / "w.mha");  // weights, with which the noise is better known
  for (const char* method : {"pdu", "spdu", "tvgd"})
    EXPECT_THAT(told({method, "--weights", f / "w.mha"}),
                AllOf(Not(HasSubstr("places only")), Not(HasSubstr("--weights"))));
}

// Inputs of float64, and of whole numbers.
TEST_F(TwoNoisyBalls, ValuesFinerThanWhatIsKeptAreTold) {
  const Volume balls = reference::two_balls(24, 0.1);
  for (const double offset : {0.0, 1e7}) {
    std::ofstream file(f / "b.mha", std::ios::binary);
    file << "ObjectType = Image\nNDims = 3\nDimSize = 24 24 24\nElementType = MET_DOUBLE\nElementDataFile = LOCAL\n";
    for (const double voxel : balls.voxels) {
      const double value = voxel + offset;
      file.write(reinterpret_cast<const char*>(&value), sizeof value);
    }
    file.close();
    const auto steps = AllOf(HasSubstr("holds float64 values of up to 1e+07"), HasSubstr("subtract an offset"));
    EXPECT_THAT(told({"pdu"}), offset > 0 ? testing::Matcher<std::string>(steps) : Not(HasSubstr("float64"))) << offset;
  }
  for (const float contrast : {4.0f, 20.0f}) {
    Volume scaled = balls;
    for (float& value : scaled.voxels) value = std::round(contrast * value);
    const auto image = create_image(f / "b.mha", scaled.grid, {Component::int16, {}});
    image->begin();
    copy_voxels(MemorySource(scaled), *image);
    image->commit();
    const auto half = HasSubstr("hardly more than half a step of 1");
    EXPECT_THAT(told({"pdu"}), contrast < 10 ? testing::Matcher<std::string>(half) : Not(half)) << contrast;
  }
}

// Forms for GPUs are many times slower on CPUs.
TEST_F(TwoNoisyBalls, FormsForGpusAreToldOnCpus) {
  if (!open_devices({}).front().info().cpu()) GTEST_SKIP() << "no CPU";
  EXPECT_THAT(told({"pdu", "--alpha", "15", "--duals", "snorm16"}),
              HasSubstr("--duals takes kernels that are made for"));
  EXPECT_THAT(told({"pdu", "--alpha", "15", "--stages", "2"}), HasSubstr("--stages takes kernels that are made for"));
  EXPECT_THAT(told({"pdu", "--alpha", "15", "--stages", "0"}), Not(HasSubstr("GPUs")));
}

TEST_F(CommandOnDevice, AlphaPathsWriteAFileEach) {
  const Ran ran = run({"denoise", "-i", path("r.mha"), "--method", "pdu", "--alpha-path", "4000, 2000,1000.5", "-o",
                       path("den.mha"), "--report", path("path.json"), "--png", path("den.png")});
  EXPECT_DONE(ran);
  EXPECT_NE(ran.out.find("relative gap  RMS change"), std::string::npos) << ran.out;
  EXPECT_FALSE(std::filesystem::exists(path("den.mha")));
  EXPECT_TRUE(std::filesystem::exists(path("den.png")));
  const json results = json::parse(content(path("path.json")))["results"];
  ASSERT_EQ(results["stages"].size(), 3u);
  double last = 0;
  for (const char* name : {"den_alpha4000.mha", "den_alpha2000.mha", "den_alpha1000.5.mha"}) {
    const Volume noisy = read_image(path("r.mha")), denoised = read_image(path(name));
    double change = 0;
    for (std::size_t n = 0; n < noisy.voxels.size(); ++n) change += std::pow(noisy.voxels[n] - denoised.voxels[n], 2);
    EXPECT_GT(change, last);  // the smaller alpha is, the more is taken away
    last = change;
  }
  EXPECT_EQ(results["stages"][2]["output"], path("den_alpha1000.5.mha"));
  EXPECT_NEAR(results["stages"][2]["fidelity"].get<double>(), std::sqrt(last), 1e-4 * std::sqrt(last));
}

TEST_F(CommandOnDevice, AWarmStartChangesTheResultByTheGapOnly) {
  const Words words{"denoise", "-i", path("r.mha"), "--method", "pdu", "--alpha", "2000", "--gap", "1e-5"};
  EXPECT_DONE(run(words + Words{"-o", path("cold.mha"), "--report", path("cold.json")}));
  EXPECT_DONE(run(words + Words{"-o", path("warm.mha"), "--init", path("v.mha"), "--report", path("warm.json")}));
  const Volume cold = read_image(path("cold.mha")), warm = read_image(path("warm.mha"));
  double distance2 = 0;
  for (std::size_t n = 0; n < cold.voxels.size(); ++n) distance2 += std::pow(cold.voxels[n] - warm.voxels[n], 2);
  double bound = 0;
  for (const char* name : {"cold.json", "warm.json"})
    bound += std::sqrt(2 * json::parse(content(path(name)))["results"]["gap"].get<double>());
  EXPECT_LE(std::sqrt(distance2), bound);
  EXPECT_NE(content(path("cold.mha")), content(path("warm.mha")));
}

TEST_F(CommandOnDevice, WithoutAGapIterationsShareAPassOverTheBus) {
  EXPECT_DONE(
      run(Words{"phantom", "--type", "two-balls", "--size", "12,14,200", "--spacing", "1,1,1", "-o", path("t.mha")}));
  const Words words{"denoise", "-i",           path("t.mha"), "--method", "pdu", "--alpha",
                    "20",      "--iterations", "7",           "--gap",    "0"};
  const Ran whole = run(words + Words{"-o", path("in.mha"), "--report", path("in.json")});
  EXPECT_DONE(whole);
  EXPECT_EQ(whole.err.find("warning"), std::string::npos) << whole.err;
  EXPECT_EQ(json::parse(content(path("in.json")))["runs"]["denoise"]["iterations"], 7);
  const auto bytes = json::parse(content(path("in.json")))["runs"]["denoise"]["peak_bytes"].get<std::size_t>();
  EXPECT_DONE(run(words + Words{"--device-memory", std::to_string(bytes / 2), "-o", path("out.mha"), "--report",
                                path("out.json")}));
  const json plan = json::parse(content(path("out.json")))["runs"]["denoise"]["plan"];
  EXPECT_GT(plan["slabs"].size(), 1u);
  EXPECT_LE(plan["passes"].get<double>(), 3);  // of 7 iterations; the gap would be evaluated after 5
  EXPECT_EQ(content(path("in.mha")), content(path("out.mha")));
}

TEST_F(CommandOnDevice, ARegionIsThatOfTheWholeNearly) {
  // 24^3 with a margin of 12: only along x is anything left out
  EXPECT_DONE(
      run(Words{"phantom", "--type", "two-balls", "--size", "64,24,24", "--spacing", "3,8,8", "-o", path("b.mha")}));
  Volume noisy = read_image(path("b.mha"));
  for (std::size_t n = 0; n < noisy.voxels.size(); ++n)
    noisy.voxels[n] += 0.002f * static_cast<float>(std::sin(static_cast<double>(n * n % 10007)));
  write_image(noisy, path("b.mha"));
  const Words words{"denoise", "-i", path("b.mha"), "--method", "pdu", "--alpha", "150", "--gap", "1e-5"};
  EXPECT_DONE(run(words + Words{"-o", path("whole.mha")}));
  const Ran ran = run(words + Words{"--preview-roi", "20,2,3,16,20,18", "-o", path("part.mha"), "--report",
                                    path("part.json"), "--png", path("part.png")});
  EXPECT_DONE(ran);
  EXPECT_NE(ran.out.find("16 x 20 x 18"), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("margin of 12 voxels"), std::string::npos) << ran.out;
  EXPECT_EQ(content(path("part.png")).substr(1, 3), "PNG");
  const json slabs = json::parse(content(path("part.json")))["runs"]["denoise"]["plan"]["slabs"];
  EXPECT_EQ(slabs.size(), 1u);
  const Volume whole = cut_out(read_image(path("whole.mha")), {{20, 2, 3}, {16, 20, 18}}),
               part = read_image(path("part.mha"));
  ASSERT_EQ(part.grid.size, whole.grid.size);
  for (int axis = 0; axis < 3; ++axis) EXPECT_NEAR(part.grid.origin[axis], whole.grid.origin[axis], 1e-9);
  EXPECT_EQ(part.grid.direction, whole.grid.direction);
  double difference2 = 0, removed2 = 0;
  const Volume input = cut_out(noisy, {{20, 2, 3}, {16, 20, 18}});
  for (std::size_t n = 0; n < whole.voxels.size(); ++n) {
    difference2 += std::pow(part.voxels[n] - whole.voxels[n], 2);
    removed2 += std::pow(input.voxels[n] - whole.voxels[n], 2);
  }
  EXPECT_LT(std::sqrt(difference2), 0.02 * std::sqrt(removed2));
  EXPECT_DONE(run(words + Words{"--preview-roi", "centre", "-o", path("all.mha")}));
  EXPECT_EQ(content(path("all.mha")), content(path("whole.mha")));  // it has no more than 128^3
}

TEST_F(CommandOnDevice, ReportTellsOptionsDevicesPlanAndTimes) {
  const json report = json::parse(content(path("report.json")));
  EXPECT_EQ(report["command"], "fdk");
  EXPECT_EQ(report["options"]["--size"], "24,24,24");
  EXPECT_EQ(report["options"]["--window"], "ram-lak");
  EXPECT_EQ(report["options"]["--photons"], 3000);
  EXPECT_EQ(report["inputs"][0]["grid"]["size"], json({52, 44, 30}));
  EXPECT_FALSE(report["devices"][0]["name"].get<std::string>().empty());
  EXPECT_TRUE(report["runs"]["fdk"].contains("plan"));
  EXPECT_TRUE(report["runs"]["variance"].contains("plan"));
  EXPECT_GT(report["seconds"]["fdk"].get<double>(), 0);
  EXPECT_EQ(report["results"]["grid"]["size"], json({24, 24, 24}));
}

TEST_F(CommandOnDevice, TraceNamesTheKernels) {
  const json trace = json::parse(content(path("trace.json")));
  bool found = false;
  for (const auto& event : trace["traceEvents"]) found = found || event["name"].get<std::string>().find("fdk_") == 0;
  EXPECT_TRUE(found);
}

TEST_F(CommandOnDevice, ImagesDoNotDependOnThePlan) {
  const Words words{"fdk",         "-i",       path("pn.mha"),    "--geometry",
                    path("g.xml"), "-o",       path("again.mha"), "--device-memory",
                    "0.07M",       "--report", path("again.json")};
  const Ran ran = run(words + small_grid);
  EXPECT_DONE(ran);
  EXPECT_GT(json::parse(content(path("again.json")))["runs"]["fdk"]["plan"]["slabs"].size(), 1u);
  EXPECT_TRUE(content(path("again.mha")) == content(path("r.mha")));
}

TEST_F(CommandOnDevice, ProjectingTheVolumeComesNearTheExactProjections) {
  EXPECT_DONE(run(Words{"phantom", "--type", "two-balls", "-o", path("balls.mha")} + small_grid));
  const Words rest = Words{"--geometry", path("g.xml")} + small_detector;
  EXPECT_DONE(run(Words{"project", "-i", path("balls.mha"), "-o", path("joseph.mha")} + rest));
  EXPECT_DONE(run(Words{"project", "--phantom", "two-balls", "--phantom-size", "192", "-o", path("exact.mha")} + rest));
  const Volume exact = read_image(path("exact.mha")), joseph = read_image(path("joseph.mha"));
  ASSERT_EQ(exact.grid.size, joseph.grid.size);
  double difference = 0, norm = 0;
  for (std::size_t n = 0; n < exact.voxels.size(); ++n) {
    difference += std::pow(exact.voxels[n] - joseph.voxels[n], 2.0);
    norm += std::pow(exact.voxels[n], 2.0);
  }
  EXPECT_LT(std::sqrt(difference / norm), 0.06);  // 0.04 by the voxels; it falls with their size
  for (const char* projector : {"joseph", "siddon", "distance-driven"}) {
    // <A x, y> = <x, A^T y>, from file to file
    EXPECT_DONE(run(Words{"project", "-i", path("balls.mha"), "-o", path("ax.mha"), "--projector", projector} + rest));
    EXPECT_DONE(run(Words{"backproject", "-i", path("exact.mha"), "--geometry", path("g.xml"), "-o", path("aty.mha"),
                          "--projector", projector} +
                    small_grid));
    const Volume ax = read_image(path("ax.mha")), aty = read_image(path("aty.mha")), x = read_image(path("balls.mha"));
    const double forward = std::inner_product(ax.voxels.begin(), ax.voxels.end(), exact.voxels.begin(), 0.0);
    EXPECT_NEAR(std::inner_product(aty.voxels.begin(), aty.voxels.end(), x.voxels.begin(), 0.0) / forward, 1, 1e-5);
    EXPECT_TRUE(std::string(projector) != "joseph" || ax.voxels == joseph.voxels);
  }
  EXPECT_DOUBLE_EQ(exact.grid.origin[0], -0.5 * 51 * 8);
  EXPECT_DOUBLE_EQ(exact.grid.origin[1], -0.5 * 43 * 8);
  EXPECT_DOUBLE_EQ(exact.grid.spacing[2], 1);
}

TEST_F(CommandOnDevice, DryRunPrintsThePlanAndWritesNothing) {
  const auto before = folder_->files();
  for (const auto& words :
       {Words{"fdk", "-i", path("pn.mha"), "--geometry", path("g.xml"), "-o", path("x.mha")} + small_grid,
        Words{"project", "-i", path("v.mha"), "--geometry", path("g.xml"), "-o", path("x.mha")} + small_detector,
        Words{"backproject", "-i", path("pn.mha"), "--geometry", path("g.xml"), "-o", path("x.mha")} + small_grid,
        Words{"denoise", "-i", path("r.mha"), "--method", "pdu", "-o", path("x.mha")},
        Words{"denoise", "-i", path("r.mha"), "--method", "spdu", "--weights", "estimate", "-o", path("x.mha")},
        Words{"denoise", "-i", path("r.mha"), "--method", "tvgd", "--weights", path("var.mha"), "-o", path("x.mha")},
        Words{"fdk", "-i", path("pn.mha"), "--geometry", path("g.xml"), "--halves-out",
              path("x.mha") + "," + path("y.mha"), "-o", path("z.mha")} +
            small_grid}) {
    const Ran ran = run(words + Words{"--dry-run", "--report", path("x.json"), "--trace", path("y.json")});
    EXPECT_DONE(ran);
    EXPECT_NE(ran.out.find("slab"), std::string::npos) << words[0] << ": " << ran.out;
  }
  for (const auto& words :
       {Words{"phantom", "--type", "blade", "-o", path("x.mha")} + small_grid,
        Words{"noise", "-i", path("p.mha"), "--photons", "10", "-o", path("x.mha")},
        Words{"noise-map", "-i", path("v.mha"), "-o", path("x.mha")},
        Words{"noise-map", "--halves", path("v.mha") + "," + path("r.mha"), "-o", path("x.mha")},
        Words{"geometry", "circular", "--sid", "10", "--sdd", "0", "--projections", "9", "-o", path("x.xml")},
        Words{"preview", "-i", path("v.mha"), "-o", path("x.png")}}) {
    const Ran ran = run(words + Words{"--dry-run", "--report", path("x.json"), "--trace", path("y.json")});
    EXPECT_DONE(ran);
    EXPECT_NE(ran.out.find("would write"), std::string::npos) << words[0] << ": " << ran.out;
  }
  EXPECT_EQ(folder_->files(), before);
}

TEST_F(Command, QuietPrintsNothingButWhatWasAskedFor) {
  const Ran made = run(Words{"phantom", "--type", "two-balls", "-o", path("q.mha"), "--quiet"} + small_grid);
  EXPECT_DONE(made);
  EXPECT_EQ(made.out + made.err, "");
  EXPECT_NE(run({"metrics", "-i", path("q.mha"), "--quiet"}).out, "");
}

TEST_F(Command, PreviewIsAPng) {
  EXPECT_DONE(run(
      {"preview", "-i", path("v.mha"), "-o", path("v.png"), "--axis", "y", "--slice", "3", "--window", "-0.01,0.03"}));
  EXPECT_EQ(content(path("v.png")).substr(1, 3), "PNG");
  EXPECT_DONE(run({"preview", "-i", path("v.mha"), "-o", path("m.png"), "--montage"}));
  EXPECT_EQ(content(path("m.png")).substr(1, 3), "PNG");
}

TEST_F(Command, MetricsOfBoxes) {
  const Ran ran = run({"metrics", "-i", path("v.mha"), "--roi", "0,0,0,4,4,4", "--roi", "10,10,10,14,14,14", "--json"});
  EXPECT_DONE(ran);
  const json boxes = json::parse(ran.out)["boxes"];
  ASSERT_EQ(boxes.size(), 2u);
  EXPECT_EQ(boxes[0]["voxels"], 64);
  EXPECT_EQ(boxes[0]["mean"], 0.0);
  EXPECT_GT(boxes[1]["mean"].get<double>(), 0);
  EXPECT_TRUE(boxes[1].contains("cnr_to_first"));
  const Ran words = run({"metrics", "--roi", "0", "0", "0", "4", "4", "4", "-i", path("v.mha")});
  EXPECT_DONE(words);
  EXPECT_NE(words.out.find("1 0,0,0,4,4,4"), std::string::npos) << words.out;
}

TEST_F(Command, CountsBecomeLineIntegrals) {
  Grid grid{.size = {5, 3, 4}};
  Volume counts(grid, 110);
  counts.at(2, 1, 3) = 60;
  counts.at(0, 0, 0) = 5;
  grid.size[2] = 2;
  Volume flats(grid, 110), darks(grid, 10);
  write_image(counts, path("counts.mha"));
  write_image(flats, path("flats.mha"));
  write_image(darks, path("darks.mha"));
  const Ran ran = run({"counts", "-i", path("counts.mha"), "--flats", path("flats.mha"), "--darks", path("darks.mha"),
                       "-o", path("li.mha")});
  EXPECT_DONE(ran);
  EXPECT_NE(ran.out.find("1 value failed in a view and is interpolated"), std::string::npos) << ran.out;
  const Volume integrals = read_image(path("li.mha"));
  EXPECT_FLOAT_EQ(integrals.at(1, 1, 1), 0);
  EXPECT_FLOAT_EQ(integrals.at(2, 1, 3), std::log(2.0f));
  EXPECT_FLOAT_EQ(integrals.at(0, 0, 0), 0);  // 5, below the dark field, among pixels that see the beam
}

TEST_F(Command, GeometryShowTellsTheCoverage) {
  const Ran full = run({"geometry", "show", path("g.xml")});
  EXPECT_DONE(full);
  EXPECT_NE(full.out.find("full circle"), std::string::npos) << full.out;
  EXPECT_NE(full.out.find("1500 mm"), std::string::npos) << full.out;
  EXPECT_DONE(run({"geometry", "circular", "--sid", "100", "--sdd", "150", "--projections", "100", "--arc", "-200",
                   "--first-angle", "-10", "--proj-offset-x", "-3.5", "-o", path("short.xml")}));
  const Ran part = run({"geometry", "show", path("short.xml")});
  EXPECT_DONE(part);
  EXPECT_NE(part.out.find("short scan of 198 degrees"), std::string::npos) << part.out;
  EXPECT_NE(part.out.find("350, 348, ... 152 degrees"), std::string::npos) << part.out;
  EXPECT_NE(part.out.find("-3.5 mm"), std::string::npos) << part.out;
}

TEST_F(Command, GeometryFromAFileOfAngles) {
  write_text(path("angles.txt"), "# degrees\n0\n10.5\n\n 21 # the third\n");
  EXPECT_DONE(
      run({"geometry", "circular", "--sid", "100", "--sdd", "0", "--angles", path("angles.txt"), "-o", path("a.xml")}));
  const Ran show = run({"geometry", "show", path("a.xml")});
  EXPECT_NE(show.out.find("0, 10.5, ... 21 degrees"), std::string::npos) << show.out;
  EXPECT_NE(show.out.find("not enough to reconstruct"), std::string::npos) << show.out;
}

// Lists, with commas or spaces, negative numbers among them, directly before another option or at the end.
TEST_F(Command, GridOptions) {
  const auto grid_of = [&](const Words& words) {
    const Ran ran = run(Words{"phantom", "--type", "two-balls"} + words + Words{"-o", path("grid.mha")});
    EXPECT_DONE(ran);
    return read_image_info(path("grid.mha")).grid;
  };
  Grid grid = grid_of({"--size", "4,5,6", "--spacing", "1,2,3"});
  EXPECT_EQ(grid.size, (std::array<std::size_t, 3>{4, 5, 6}));
  EXPECT_EQ(grid.direction, (std::array<double, 9>{1, 0, 0, 0, 0, 1, 0, 1, 0}));
  EXPECT_EQ(grid.origin, (std::array<double, 3>{-1.5, -7.5, -4}));
  grid = grid_of({"--origin", "-10,-5,3", "--size", "4", "5", "6", "--spacing", "1,2,3"});
  EXPECT_EQ(grid.origin, (std::array<double, 3>{-10, -5, 3}));
  grid = grid_of({"--origin", "-10", "-.5", "-3e-1", "--size=4,5,6", "--spacing", "1, 2, 3"});
  EXPECT_EQ(grid.origin, (std::array<double, 3>{-10, -0.5, -0.3}));
  for (const auto& direction : {Words{"0,-1,0,1,0,0,0,0,1"}, Words{"0 -1 0 1 0 0 0 0 1"},
                                Words{"0", "-1", "0", "1", "0", "0", "0", "0", "1"}}) {
    grid = grid_of(Words{"--direction"} + direction + Words{"--size", "4,5,6", "--spacing", "1,2,3"});
    EXPECT_EQ(grid.direction, (std::array<double, 9>{0, -1, 0, 1, 0, 0, 0, 0, 1}));
    EXPECT_EQ(grid.origin, (std::array<double, 3>{4, -1.5, -7.5}));  // centred
  }
  std::filesystem::copy_file(path("grid.mha"), path("like.mha"), std::filesystem::copy_options::overwrite_existing);
  const Grid like = grid_of({"--like", path("like.mha")});
  EXPECT_EQ(like.direction, grid.direction);
  EXPECT_EQ(like.origin, grid.origin);
}

TEST(CommandLine, EverySubcommandHasHelpWithAnExample) {
  for (const char* name : {"devices", "phantom", "geometry", "project", "backproject", "noise", "counts", "fdk",
                           "noise-map", "denoise", "metrics", "plot", "preview", "view"}) {
    const Ran ran = done({name, "--help"});
    EXPECT_NE(ran.out.find("Example:"), std::string::npos) << name;
    EXPECT_EQ(ran.err, "");
  }
  // a line for each rule, under the option's text
  const std::string help = run({"denoise", "--help"}).out;
  EXPECT_NE(help.find("\n" + std::string(34, ' ') + "discrepancy: takes away as much as there is noise\n"),
            std::string::npos)
      << help;
  EXPECT_EQ(run({"--help"}).code, 0);
  EXPECT_EQ(run({"geometry", "circular", "--help"}).code, 0);
}

TEST(CommandLine, HelpIsASubcommandToo) {
  EXPECT_EQ(run({"help"}).out, run({"--help"}).out);
  EXPECT_THAT(run({"help", "fdk"}).out, HasSubstr("Usage: halocline fdk [OPTIONS]"));
  EXPECT_THAT(run({"help", "geometry", "circular"}).out, HasSubstr("Usage: halocline geometry circular [OPTIONS]"));
  const Ran unknown = run({"help", "fkd"});
  EXPECT_EQ(unknown.code, 2);
  EXPECT_THAT(unknown.err, HasSubstr("did you mean 'fdk'?"));
}

TEST(CommandLine, TheVersionNamesCommitAndFeatures) {
  const Ran version = done({"--version"});
  EXPECT_THAT(version.out,
              AllOf(HasSubstr("halocline 0."), HasSubstr("(commit "), HasSubstr("OpenCL 1.2"), HasSubstr("ITK")));
  EXPECT_EQ(run({"-V"}).out, version.out);
}

TEST(CommandLine, AnUnknownSubcommandIsToldWithTheOneSpeltLikeIt) {
  const auto told = [](const Words& words) {
    const Ran ran = run(words);
    EXPECT_EQ(ran.code, 2);
    return ran.err;
  };
  EXPECT_THAT(told({"denoize"}), HasSubstr("did you mean 'denoise'?"));
  EXPECT_THAT(told({"fkd", "-i", "p.mha"}), HasSubstr("did you mean 'fdk'?"));
  EXPECT_THAT(told({"geometry", "find_axis"}), HasSubstr("did you mean 'find-axis'?"));
  EXPECT_THAT(told({"levitate-it"}), AllOf(HasSubstr("there is no subcommand"), Not(HasSubstr("did you mean"))));
}

TEST(CommandLine, HelpTellsWhatBecomesOfNan) {
  std::string help = run({"--help"}).out;
  help.erase(std::unique(help.begin(), help.end(), [](char a, char b) { return std::isspace(a) && std::isspace(b); }),
             help.end());  // lines are broken anywhere
  std::replace(help.begin(), help.end(), '\n', ' ');
  EXPECT_THAT(help, HasSubstr("were not measured, so they are interpolated, and get the weight 0 in reconstruct"));
}

TEST(CommandLine, AnUnknownOptionIsToldWithThoseSpeltLikeIt) {
  const auto told = [](const Words& words) {
    const Ran ran = run(words);
    EXPECT_EQ(ran.code, 2);
    return ran.err;
  };
  const Words denoise{"denoise", "-i", "v.mha", "--method", "pdu", "-o", "o.mha"};
  EXPECT_THAT(told(denoise + Words{"--aplha", "3"}),
              HasSubstr("denoise: error: there is no option --aplha; there is --alpha\nSee"));
  EXPECT_THAT(told(denoise + Words{"--time=1"}),
              HasSubstr("no option --time; there are --time-limit, --time-weight, --time-axis"));
  EXPECT_THAT(told(denoise + Words{"--max-iterations", "3"}), HasSubstr("there is --iterations\n"));
  EXPECT_THAT(told(denoise + Words{"--divice", "0"}), HasSubstr("there is --device\n"));  // one of all subcommands
  EXPECT_THAT(told(denoise + Words{"--xyzzy"}), HasSubstr("there is no option --xyzzy\n"));
  EXPECT_THAT(told(denoise + Words{"-q"}), HasSubstr("there is no option -q\n"));
  // and not what is missing because of it
  EXPECT_THAT(told({"denoise", "-i", "v.mha", "--methd", "pdu", "-o", "o.mha"}),
              HasSubstr("no option --methd; there is --method\n"));
  EXPECT_THAT(told({"denoise", "-i", "v.mha", "-o", "o.mha"}), HasSubstr("--method is required"));
}

TEST(CommandLine, DevicesAsJson) {
  if (!has_device()) GTEST_SKIP() << "no OpenCL device";
  const Ran ran = run({"devices", "--json"});
  EXPECT_DONE(ran);
  const json list = json::parse(ran.out);
  ASSERT_FALSE(list.empty());
  int selected = 0;
  for (const auto& device : list) selected += device["selected"].get<bool>() ? 1 : 0;
  EXPECT_EQ(selected, 1);
  EXPECT_NE(run({"devices"}).out.find(list[0]["name"].get<std::string>()), std::string::npos);
}

TEST(CommandLine, ADeviceThatIsNamedTwiceIsToldOfOnce) {
  if (!has_device()) GTEST_SKIP() << "no OpenCL device";
  const std::string text = "warning: --device names '0' twice; it is used once\n";
  // listed, opened, and both
  for (const Words& words : {Words{"devices"}, Words{"tune", "--forget", "--dry-run"}, Words{"devices", "--check"}}) {
    const Ran ran = done(words + Words{"--device", "0,0", "--quiet"});
    const auto at = ran.err.find(text);
    ASSERT_NE(at, std::string::npos) << ran.err;
    EXPECT_EQ(ran.err.find(text, at + 1), std::string::npos) << ran.err;
    EXPECT_EQ(run(words + Words{"--device", "0,all", "--quiet"}).err.find("--device"), std::string::npos);
  }
}

TEST(CommandLine, Bytes) {
  EXPECT_EQ(parse_bytes("--device-memory", "4096"), 4096u);
  EXPECT_EQ(parse_bytes("--device-memory", "64M"), 64u << 20);
  EXPECT_EQ(parse_bytes("--device-memory", "1.5g"), std::size_t{3} << 29);
  EXPECT_EQ(parse_bytes("--device-memory", "2KiB"), 2048u);
  for (const char* bad : {"", "M", "-1M", "0", "64X", "64MM", "1e3", "nan", "1..5G", "99999999T"})
    EXPECT_THROW(parse_bytes("--device-memory", bad), InputError) << bad;
}

TEST(Progress, PlainLinesAreFew) {
  testing::internal::CaptureStderr();
  {
    const auto progress = make_progress(false);
    for (int n = 0; n <= 1000; ++n) progress({"fdk", static_cast<double>(n), 1000, ""});
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");  // over in no time
}

TEST(Progress, ATerminalGetsOneLineThatIsClearedInTheEnd) {
  testing::internal::CaptureStderr();
  {
    const auto progress = make_progress(true);
    for (int n = 0; n <= 1000; ++n) progress({"fdk", static_cast<double>(n), 1000, "gap 1e-2"});
  }
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_EQ(text.find('\n'), std::string::npos);
  EXPECT_NE(text.find("fdk:   0 %, gap 1e-2"), std::string::npos) << text;
  EXPECT_EQ(text.substr(text.size() - 4), "\r\x1b[K");
}

}  // namespace
}  // namespace halocline::command_test
