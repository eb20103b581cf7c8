// labels: app error
// halocline reconstruct: its outputs, how it resumes, and its errors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <regex>

#include "algorithms/solvers/methods.hpp"
#include "tests/support/command_runner.hpp"

namespace halocline::reconstruct_command_test {
namespace {

using testing::HasSubstr;

const Words grid{"--size", "21,19,9", "--spacing", "3,3,4"};

// A phantom without symmetry and its projections.
class ReconstructCommand : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(run({"geometry", "circular", "--sid", "200", "--sdd", "300", "--projections", "16", "-o", g}).code, 0);
    ASSERT_EQ(run(Words{"phantom", "--type", "blade", "--phantom-size", "50", "-o", truth} + grid).code, 0);
    ASSERT_EQ(run({"project", "-i", truth, "-g", g, "--detector", "37,21", "--pixel", "3,4", "-o", p}).code, 0);
  }
  Ran reconstruct(const std::string& to, const Words& more = {}) const {
    return run(Words{"reconstruct", "-i", p, "-g", g, "-o", to} + grid + more);
  }
  double error_of(const std::string& path) const {
    const Ran ran = done({"metrics", "-i", path, "--reference", truth, "--json"});
    return nlohmann::json::parse(ran.out).at("reference").at("mse");
  }
  Folder folder;
  const std::string g = folder / "g.xml", truth = folder / "truth.mha", p = folder / "p.mha", x = folder / "x.mha",
                    y = folder / "y.mha", state = folder / "state";
};

TEST_F(ReconstructCommand, SaysWhatItDid) {
  const std::string report = folder / "r.json";
  const Ran ran = reconstruct(x, {"--method", "cgls", "--iterations", "8", "--report", report});
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("x.mha: 21 x 19 x 9 of 3 x 3 x 4 mm, 8 passes by cgls (joseph) of 16 views"));
  const auto results = nlohmann::json::parse(content(report)).at("results");
  EXPECT_EQ(results.at("iterations"), 8);
  EXPECT_EQ(results.at("stopped_by"), "iterations");
  EXPECT_GT(results.at("relative_residual"), 0);
  EXPECT_LT(results.at("relative_residual"), 0.1);
}

TEST_F(ReconstructCommand, IterationsBringItNearerToTheObject) {
  for (const char* method : {"sirt", "cgls"}) {
    ASSERT_EQ(reconstruct(x, {"--method", method, "--iterations", "1"}).code, 0);
    ASSERT_EQ(reconstruct(y, {"--method", method, "--iterations", "30"}).code, 0);
    EXPECT_LT(error_of(y), 0.5 * error_of(x)) << method;
  }
}

TEST_F(ReconstructCommand, PenalisedMethodsTellHowFarTheyAre) {
  const std::string report = folder / "r.json", map = folder / "map.mha";
  const Ran ran = reconstruct(x, {"--photons", "1e4", "--lambda", "30", "--gap", "0.05", "--subsets", "8", "--gap-map",
                                  map, "--iterations", "200", "--report", report});
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("% above its minimum over [0, "));
  const auto results = nlohmann::json::parse(content(report)).at("results");
  EXPECT_EQ(results.at("stopped_by"), "gap");
  EXPECT_LE(results.at("relative_gap"), 0.05);
  EXPECT_LE(results.at("dual"), results.at("primal"));
  EXPECT_GT(results.at("history").size(), 1u);
  EXPECT_LT(results.at("iterations"), 200);
  EXPECT_TRUE(std::filesystem::exists(map));
}

TEST_F(ReconstructCommand, EveryMethodReports) {
  const std::string report = folder / "r.json";
  for (const SolverMethod& method : solver_methods()) {
    SCOPED_TRACE(method.name);
    Words more{"--method", method.name, "--iterations", "2", "--report", report};
    if (method.weights) more = more + Words{"--photons", "1e5"};
    if (method.penalty) more = more + Words{"--lambda", "30"};
    const Ran ran = reconstruct(x, more);
    ASSERT_EQ(ran.code, 0) << ran.err;
    const auto results = nlohmann::json::parse(content(report)).at("results");
    EXPECT_EQ(results.at("method"), method.name);
    EXPECT_EQ(results.at("iterations"), 2);
    EXPECT_EQ(results.at("stopped_by"), "iterations");
    EXPECT_LT(results.at("relative_residual"), 1);
    EXPECT_EQ(results.contains("chi2"), method.weights);
    EXPECT_EQ(results.contains("normal_residual"), method.tolerance) << "what --tolerance looks at";
    if (method.tolerance) {
      EXPECT_LT(results.at("normal_residual"), 1);
    }
    for (const char* key : {"primal", "dual", "relative_gap"}) EXPECT_EQ(results.contains(key), method.penalty) << key;
    EXPECT_GE(results.at("history").size(), method.penalty ? 1u : 2u);
    EXPECT_EQ(results.at("history").back().at("passes"), 2);
    EXPECT_EQ(results.at("history").back().contains("normal_residual"), method.tolerance);
  }
}

TEST_F(ReconstructCommand, TellsWhichKindOfStopItWas) {
  const std::string report = folder / "r.json";
  const auto stopped_by = [&](const Words& more) {
    const Ran ran = reconstruct(x, more + Words{"--report", report});
    EXPECT_EQ(ran.code, 0) << ran.err;
    return nlohmann::json::parse(content(report)).at("results").at("stopped_by").get<std::string>();
  };
  for (const char* method : {"cgls", "sirt", "fdk", "nesterov"})
    EXPECT_EQ(stopped_by({"--method", method, "--tolerance", "0.3"}), "tolerance") << method;
  EXPECT_EQ(stopped_by({"--method", "sirt", "--time-limit", "1e-9"}), "time");
  EXPECT_EQ(stopped_by({"--lambda", "1", "--gap", "0.5", "--iterations", "100"}), "gap");
}

TEST_F(ReconstructCommand, SubsetsOfOneViewDoNotDiverge) {
  const std::string report = folder / "r.json";
  const auto primal_of = [&](const Words& more) {
    const Ran ran = reconstruct(x, Words{"--lambda", "0.01", "--gap", "0", "--report", report} + more);
    EXPECT_EQ(ran.code, 0) << ran.err;
    const auto results = nlohmann::json::parse(content(report)).at("results");
    EXPECT_EQ(results.at("stopped_by"), "iterations");
    return results.at("primal").get<double>();
  };
  const Words many{"--method", "os-fista", "--subsets", "16"};
  const double first = primal_of(many + Words{"--iterations", "1"});
  EXPECT_LT(primal_of(many + Words{"--iterations", "60"}), first);
  EXPECT_LT(primal_of({"--method", "os-fista", "--iterations", "20"}), first) << "by default";
}

TEST_F(ReconstructCommand, SaysWhatAVolumeToBeginWithDoesNotBring) {
  const std::string start = folder / "start.mha";
  ASSERT_EQ(reconstruct(start, {"--method", "cgls", "--iterations", "2"}).code, 0);
  for (const char* method : {"cgls", "lsqr", "ba-gmres"})
    EXPECT_THAT(
        reconstruct(x, {"--method", method, "--iterations", "1", "--init", start}).out,
        HasSubstr(std::string(method) + " begins with the image of --init and without the search directions that "
                                        "made it, so that its first passes gain less; --checkpoint and --resume "
                                        "go on with them"));
  EXPECT_THAT(reconstruct(x, {"--method", "nesterov", "--iterations", "1", "--init", start}).out,
              HasSubstr("without the momentum"));
  EXPECT_THAT(reconstruct(x, {"--method", "spdhg", "--lambda", "3", "--iterations", "1", "--init", start}).out,
              HasSubstr("without the duals"));
  for (const Words& more : {Words{"--method", "sirt", "--init", start}, Words{"--method", "cgls"}})
    EXPECT_THAT(reconstruct(x, more + Words{"--iterations", "1"}).out, testing::Not(HasSubstr("begins with")));
}

TEST_F(ReconstructCommand, OneColumnIsEnough) {
  for (const Words& part : {Words{"--crop", "18,0,1,21"}, Words{"--bin", "37,1"}}) {
    const Ran ran = reconstruct(x, part + Words{"--method", "cgls", "--iterations", "3"});
    EXPECT_EQ(ran.code, 0) << ran.err;
    const Ran filtered = reconstruct(y, part + Words{"--method", "fdk", "--iterations", "3"});
    EXPECT_EQ(filtered.code, 2);
    EXPECT_THAT(filtered.err, HasSubstr("filtering goes along the columns"));
  }
}

TEST_F(ReconstructCommand, WarnsOfBoundsThatTheDataContradict) {
  const Words low{"--maximum", "0.01", "--iterations", "5"};
  const char* text =
      "a bound (--minimum, --maximum), --lambda, the weights or the geometry do not suit them, and the "
      "certificate holds for images within the bounds alone";
  const Ran weighted = reconstruct(x, low + Words{"--photons", "1e5", "--lambda", "30"});
  EXPECT_THAT(weighted.err, testing::AllOf(HasSubstr("times their noise only (chi2 "), HasSubstr(text)));
  const Ran unweighted = reconstruct(x, low + Words{"--lambda", "0.01"});
  EXPECT_THAT(unweighted.err, testing::AllOf(HasSubstr("the projections are met to 3"), HasSubstr(text)));
  const Ran high = reconstruct(x, {"--maximum", "0.1", "--iterations", "5", "--lambda", "0.01"});
  EXPECT_THAT(high.err, testing::Not(HasSubstr(text)));
}

TEST_F(ReconstructCommand, WarnsOfViewsThatSeeNothing) {
  std::string text = std::regex_replace(content(g), std::regex("<Matrix>[^<]*</Matrix>"), "");
  const std::string tag = "<Projection>";
  const auto second = text.find(tag, text.find(tag) + 1), third = text.find(tag, second + 1);
  ASSERT_NE(third, std::string::npos);
  text.insert(third + tag.size(), "<ProjectionOffsetX>0</ProjectionOffsetX>");  // else that of the view before
  text.insert(second + tag.size(), "<ProjectionOffsetX>2000</ProjectionOffsetX>");
  const std::string moved = folder / "moved.xml";
  std::ofstream(moved) << text;
  for (const char* method : {"sirt", "sart", "osem", "spdhg"}) {
    const Words penalty = method == std::string("spdhg") ? Words{"--lambda", "0.01"} : Words{};
    const Ran ran = done(Words{"reconstruct", "-i", p, "-g", moved, "-o", x, "--method", method, "--iterations", "2"} +
                         grid + penalty);
    EXPECT_THAT(ran.err,
                HasSubstr("the volume is not seen in 1 of 16 views (the first: view 1), and these views do not "
                          "count"))
        << method;
    EXPECT_LT(error_of(x), 1e-4) << method;
  }
}

// The projections are those of the reference: differences across its edges are free.
TEST_F(ReconstructCommand, AReferenceKeepsTheEdges) {
  const Words strong{"--lambda", "100", "--gap", "0", "--iterations", "50"};
  ASSERT_EQ(reconstruct(x, strong).code, 0);
  const Ran ran = reconstruct(y, strong + Words{"--reference", truth});
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_LT(error_of(y), 0.5 * error_of(x));
  const Ran refused = reconstruct(y, strong + Words{"--reference", truth, "--reference-eta", "1e-30"});
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, HasSubstr("--reference-eta is 1e-30; expected at least a billionth"));
}

TEST_F(ReconstructCommand, ChoosesTheStrengthByHalves) {
  const std::string noisy = folder / "noisy.mha", report = folder / "r.json";
  ASSERT_EQ(run({"noise", "-i", p, "-o", noisy, "--photons", "1e4"}).code, 0);
  const Ran ran = done(
      Words{"reconstruct", "-i", noisy, "-g", g, "-o", x, "--photons", "1e4", "--iterations", "3", "--report", report} +
      grid);
  EXPECT_THAT(ran.out, HasSubstr("with it half of the views predict the others best"));
  const auto results = nlohmann::json::parse(content(report)).at("results");
  EXPECT_GE(results.at("strengths").size(), 3u);
  EXPECT_GT(results.at("lambda"), 0);
}

TEST_F(ReconstructCommand, DevicesAndTheirMemoryChangeNoBit) {
  for (const char* method : {"sirt", "cgls", "spdhg", "os-fista", "fdk"}) {
    Words common{"--method", method, "--iterations", "5", "--device", "cpu"};
    if (method == std::string("spdhg") || method == std::string("os-fista"))
      common = common + Words{"--lambda", "0.01", "--gap", "0"};
    ASSERT_EQ(reconstruct(x, common).code, 0);
    const Ran small = reconstruct(y, common + Words{"--device-memory", "150K"});
    ASSERT_EQ(small.code, 0) << small.err;
    EXPECT_TRUE(content(x) == content(y)) << method << " in little memory";
    ASSERT_EQ(reconstruct(y, common + Words{"--sub-devices", "2"}).code, 0);
    EXPECT_TRUE(content(x) == content(y)) << method << " on two devices";
  }
}

TEST_F(ReconstructCommand, GoesOnFromItsCheckpoint) {
  const Words common{"--method", "cgls", "--iterations", "6"};
  ASSERT_EQ(reconstruct(x, common).code, 0);
  const Words keeping = common + Words{"--checkpoint", state};
  const Ran cut = reconstruct(y, keeping + Words{"--time-limit", "1e-9"});
  ASSERT_EQ(cut.code, 0) << cut.err;
  EXPECT_THAT(cut.err, HasSubstr("the time limit of 1e-09 s ended the run after 1 passes"));
  EXPECT_THAT(cut.out, HasSubstr("the same command with --resume goes on from there"));
  EXPECT_FALSE(content(x) == content(y));
  EXPECT_EQ(reconstruct(y, keeping).code, 2) << "without --resume the state is not to be lost";
  const Ran other = reconstruct(y, {"--method", "sirt", "--checkpoint", state, "--resume"});
  EXPECT_EQ(other.code, 2);
  EXPECT_THAT(other.err, HasSubstr("is of another job"));
  const Ran resumed = reconstruct(y, keeping + Words{"--resume", "--device-memory", "150K"});
  ASSERT_EQ(resumed.code, 0) << resumed.err;
  EXPECT_THAT(resumed.err, HasSubstr("going on after 1 iterations"));
  EXPECT_TRUE(content(x) == content(y));
  EXPECT_FALSE(std::filesystem::exists(state));
}

TEST_F(ReconstructCommand, RefusesTheStateOfAnotherStart) {
  const Words keeping{"--method", "fista",        "--lambda", "0.01",         "--gap",
                      "0",        "--iterations", "6",        "--checkpoint", state};
  for (const auto& [kept, other] : {std::pair{"fdk", "zero"}, {"zero", "fdk"}}) {
    const Ran cut = reconstruct(y, keeping + Words{"--init", kept, "--time-limit", "1e-9"});
    ASSERT_EQ(cut.code, 0) << cut.err;
    const Ran resumed = reconstruct(y, keeping + Words{"--init", other, "--resume"});
    EXPECT_EQ(resumed.code, 2);
    EXPECT_THAT(resumed.err, HasSubstr("is of another job"));
    EXPECT_THAT(resumed.err, HasSubstr("the start"));
    ASSERT_EQ(reconstruct(y, keeping + Words{"--init", kept, "--resume"}).code, 0);
  }
}

TEST_F(ReconstructCommand, ADryRunWritesNothing) {
  const Ran ran = reconstruct(x, {"--dry-run", "--checkpoint", state});
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("Plan of spdhg: volume 21 x 19 x 9"));
  EXPECT_THAT(ran.out, HasSubstr("800 iterations"));  // 100 passes of 8 subsets
  EXPECT_THAT(ran.out, HasSubstr("checkpoint: "));
  EXPECT_FALSE(std::filesystem::exists(x));
}

// Memory and time of it, which are more than those of the run where that has few passes.
TEST_F(ReconstructCommand, ADryRunCountsTheChoiceOfLambda) {
  const auto report_of = [&](const Words& more) {
    const Ran ran = reconstruct(x, more + Words{"--dry-run"});
    EXPECT_EQ(ran.code, 0) << ran.err;
    return ran.out;
  };
  const std::string chosen = report_of({}), given = report_of({"--lambda", "3"});
  EXPECT_THAT(chosen, HasSubstr("Choice of --lambda before the run: 3 to 9 trials on half of the views, "));
  EXPECT_THAT(chosen, HasSubstr("80 iterations"));  // 20 passes of 4 subsets of 8 views
  EXPECT_THAT(given, testing::Not(HasSubstr("Choice of --lambda")));
  const auto plans_in = [](const std::string& text) {
    int count = 0;
    for (auto at = text.find("Plan of spdhg"); at != text.npos; at = text.find("Plan of spdhg", at + 1)) ++count;
    return count;
  };
  EXPECT_EQ(plans_in(chosen), 2);
  EXPECT_EQ(plans_in(given), 1);
  const Ran few = reconstruct(x, {"--views", "0:2", "--dry-run"});
  EXPECT_EQ(few.code, 2);
  EXPECT_THAT(few.err, HasSubstr("--lambda is a choice by halves of fewer than four views"));
}

TEST_F(ReconstructCommand, AVolumeToBeginWithLiesWhereTheResultDoes) {
  const std::string start = folder / "start.mha";
  const auto refused = [&](const Words& place, const std::string& option, const std::string& text) {
    ASSERT_EQ(run(Words{"phantom", "--type", "blade", "--phantom-size", "50", "-o", start} + place).code, 0);
    const Ran ran = reconstruct(x, {"--lambda", "3", "--iterations", "1", option, start});
    EXPECT_EQ(ran.code, 2);
    EXPECT_THAT(ran.err,
                testing::AllOf(HasSubstr("the volume and " + option), HasSubstr("start.mha"), HasSubstr(text)));
    EXPECT_FALSE(std::filesystem::exists(x));
  };
  for (const char* option : {"--init", "--reference"}) {
    refused({"--size", "21,19,9", "--spacing", "2,3,4"}, option, "their spacing differs");
    refused({"--size", "21,19,9", "--spacing", "3,3,4", "--origin", "0,0,0"}, option, "their origin differs");
  }
  ASSERT_EQ(reconstruct(start, {"--method", "cgls", "--iterations", "2"}).code, 0);
  EXPECT_EQ(reconstruct(x, {"--lambda", "3", "--iterations", "1", "--init", start}).code, 0) << "a result of the same";
}

TEST_F(ReconstructCommand, NansInAVolumeToBeginWithAreRefused) {
  const std::string start = folder / "start.mha";
  std::string bytes = content(truth);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  bytes.replace(bytes.size() - 1000 * sizeof nan, sizeof nan,
                std::string(reinterpret_cast<const char*>(&nan), sizeof nan));
  std::ofstream(start, std::ios::binary) << bytes;
  for (const char* option : {"--init", "--reference"}) {
    const Ran ran = reconstruct(x, {"--lambda", "3", "--iterations", "1", option, start});
    EXPECT_EQ(ran.code, 2);
    EXPECT_THAT(ran.err, testing::AllOf(HasSubstr("start.mha"), HasSubstr("NaN")));
    EXPECT_FALSE(std::filesystem::exists(x));
  }
}

TEST_F(ReconstructCommand, PicturesHaveTheNameOfTheirFormat) {
  const std::string plot = folder / "gap.png";
  const Ran ran = reconstruct(x, {"--lambda", "3", "--iterations", "1", "--plot", plot});
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, testing::AllOf(HasSubstr("--plot"), HasSubstr("gap.png"), HasSubstr("ends with .svg")));
  EXPECT_FALSE(std::filesystem::exists(plot));
  EXPECT_FALSE(std::filesystem::exists(x));
  const Ran shown = run({"geometry", "show", g, "--svg", plot});
  EXPECT_EQ(shown.code, 2);
  EXPECT_THAT(shown.err, HasSubstr("ends with .svg"));
  EXPECT_FALSE(std::filesystem::exists(plot));
}

TEST_F(ReconstructCommand, RefusesWhatCannotBe) {
  const auto refused = [&](const Words& more, const std::string& text) {
    const Ran ran = reconstruct(x, more);
    EXPECT_EQ(ran.code, 2) << text;
    EXPECT_THAT(ran.err, HasSubstr(text));
    EXPECT_FALSE(std::filesystem::exists(x));
  };
  refused({"--method", "art"}, "--method");
  refused({"--iterations", "0"}, "--iterations");
  refused({"--method", "sirt", "--relaxation", "2"}, "--relaxation");
  refused({"--method", "sirt", "--relaxation", "nan"}, "--relaxation");
  refused({"--method", "cgls", "--nonnegative"}, "(--minimum, --maximum) goes with another method than cgls");
  refused({"--method", "mlem", "--tolerance", "0.1"}, "or take one of: cgls, lsqr");
  refused({"--method", "sart", "--subsets", "4"}, "--subsets goes with another method than sart");
  refused({"--method", "lsqr", "--precondition", "ramp"}, "--precondition goes with another method than lsqr");
  refused({"--method", "sirt", "--photons", "1e4"}, "--photons weights the rays, and sirt takes no weights");
  refused({"--method", "ba-gmres", "--iterations", "3000"}, "at most 500 of ba-gmres");
  refused({"--method", "cgls", "--lambda", "3"}, "or take one of: spdhg");
  refused({"--method", "cgls", "--subsets", "3"}, "--subsets");
  refused({"--subsets", "17"}, "a number from 1 to that of the views, 16");
  refused({"--lambda", "-1"}, "--lambda");
  refused({"--lambda", "1", "--alpha", "1"}, "--alpha");
  refused({"--minimum", "2", "--maximum", "1"}, "--minimum");
  refused({"--weights", truth}, "truth.mha' is 21 x 19 x 9 values; expected those of the projections, 37 x 21 x 16");
  refused({"--init", p}, "expected those of the volume, 21 x 19 x 9");
  refused({"--electronic", "3"}, "--photons");
  refused({"--checkpoint-every", "3"}, "--checkpoint");
  refused({"--device-memory", "2K"}, "fits the device memory");
  refused({"--projector", "voxel"}, "--projector");
  std::filesystem::resize_file(p, 5000);
  refused({}, "p.mha");
}

TEST_F(ReconstructCommand, BoundsThatLeaveNothingAreRefused) {
  for (const char* most : {"-1", "0"}) {
    const Ran ran = reconstruct(x, {"--lambda", "1", "--maximum", most});
    EXPECT_EQ(ran.code, 2);
    EXPECT_THAT(ran.err, HasSubstr("--maximum"));
    EXPECT_THAT(ran.err, HasSubstr("more than the minimum, 0"));
  }
}

TEST_F(ReconstructCommand, OptionsOfOtherMethodsAreRefused) {
  for (const Words& more : {Words{"--method", "cgls", "--gap", "0.01"}, Words{"--method", "cgls", "--seed", "3"},
                            Words{"--method", "sirt", "--photons", "1e4"}}) {
    const Ran ran = reconstruct(x, more);
    EXPECT_EQ(ran.code, 2) << more[2];
    EXPECT_THAT(ran.err, HasSubstr(more[2])) << "the option that was given";
  }
}

}  // namespace
}  // namespace halocline::reconstruct_command_test
