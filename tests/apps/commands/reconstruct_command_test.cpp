// labels: app error
// halocline reconstruct: what it writes, how it goes on, and what it refuses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/support/command_runner.hpp"

namespace halocline {
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
    const Ran ran = run({"metrics", "-i", path, "--reference", truth, "--json"});
    EXPECT_EQ(ran.code, 0) << ran.err;
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
  const Ran ran = run(
      Words{"reconstruct", "-i", noisy, "-g", g, "-o", x, "--photons", "1e4", "--iterations", "3", "--report", report} +
      grid);
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("with it half of the views predict the others best"));
  const auto results = nlohmann::json::parse(content(report)).at("results");
  EXPECT_GE(results.at("strengths").size(), 3u);
  EXPECT_GT(results.at("lambda"), 0);
}

TEST_F(ReconstructCommand, DevicesAndTheirMemoryChangeNoBit) {
  for (const char* method : {"sirt", "cgls", "spdhg", "os-fista"}) {
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

TEST_F(ReconstructCommand, ADryRunWritesNothing) {
  const Ran ran = reconstruct(x, {"--dry-run", "--checkpoint", state});
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("Plan of spdhg: volume 21 x 19 x 9"));
  EXPECT_THAT(ran.out, HasSubstr("800 iterations"));  // 100 passes of 8 subsets
  EXPECT_THAT(ran.out, HasSubstr("checkpoint: "));
  EXPECT_FALSE(std::filesystem::exists(x));
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
  refused({"--method", "sirt", "--tolerance", "0.1"}, "or take one of: cgls, lsqr");
  refused({"--method", "sirt", "--photons", "1e4"}, "(--weights) goes with another method than sirt");
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

}  // namespace
}  // namespace halocline
