// labels: app device nightly
// `halocline fdk --denoise`: the bytes of fdk and denoise one after the other, and what moves over the bus.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "apps/images/image_file.hpp"
#include "tests/support/command_runner.hpp"

namespace halocline::fdk_denoise_test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

const Words grid{"--size", "40,36,33", "--spacing", "4,4,4"};
constexpr std::size_t volume_bytes = std::size_t{4} * 40 * 36 * 33;

class FdkDenoise : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new Folder;
    const Folder& f = *folder_;
    const Words steps[] = {
        Words{"geometry", "circular", "--sid", "1000", "--sdd", "1500", "--projections", "40", "-o", f / "g.xml"},
        Words{"project", "--phantom", "shepp-logan-hc", "--phantom-size", "150", "--geometry", f / "g.xml",
              "--detector", "60,50", "--pixel", "5,5", "-o", f / "clean.mha"},
        Words{"noise", "-i", f / "clean.mha", "--photons", "3000", "--seed", "7", "-o", f / "p.mha"}};
    for (const auto& words : steps) {
      done(words);
    }
  }
  static void TearDownTestSuite() {
    delete folder_;
    folder_ = nullptr;
  }
  void SetUp() override {
    if (!has_device()) GTEST_SKIP() << "no OpenCL device";
  }
  static std::string path(const std::string& name) { return *folder_ / name; }
  static Words fdk(const std::string& output) {
    return Words{"fdk", "-i", path("p.mha"), "-g", path("g.xml"), "-o", output, "--quiet"} + grid;
  }
  static json report(const Words& words) {
    done(words + Words{"--report", path("report.json")});
    return json::parse(content(path("report.json")));
  }

  // Expects the same files both ways. `how`: options of the method; `of_fdk`: of the reconstruction.
  static void expect_same(const std::string& method, const Words& how, const Words& of_fdk, const Words& devices) {
    const bool weighted = method == "spdu";
    const Words noise{"--photons", "3000"}, variance{"--variance-out", path("w.mha")};
    done(fdk(path("f.mha")) + of_fdk + (weighted ? noise + variance : Words{}));
    done(Words{"denoise", "-i", path("f.mha"), "--method", method, "-o", path("two.mha"), "--quiet"} + how +
         (weighted ? Words{"--weights", path("w.mha")} : Words{}));
    done(fdk(path("one.mha")) + Words{"--denoise", method, "--undenoised", path("f1.mha")} + how + of_fdk +
         (weighted ? noise + Words{"--variance-out", path("w1.mha")} : Words{}) + devices);
    EXPECT_EQ(content(path("one.mha")), content(path("two.mha"))) << method;
    EXPECT_EQ(content(path("f1.mha")), content(path("f.mha"))) << method;
    if (weighted) {
      EXPECT_EQ(content(path("w1.mha")), content(path("w.mha")));
    }
  }
  static void expect_all_same(const Words& of_fdk, const Words& devices) {
    const Words iterations{"--iterations", "30"};
    const std::string alpha = of_fdk.empty() ? "3000" : "0.05";
    expect_same("pdu", Words{"--alpha", alpha} + iterations, of_fdk, devices);
    expect_same("spdu", Words{"--alpha", alpha} + iterations, of_fdk, devices);
    expect_same("tvgd", iterations, of_fdk, devices);
  }

  static Folder* folder_;
};
Folder* FdkDenoise::folder_ = nullptr;

TEST_F(FdkDenoise, IsFdkThenDenoise) {
  expect_all_same({}, {});
}

TEST_F(FdkDenoise, IsFdkThenDenoiseInHounsfieldUnits) {
  expect_all_same({"--hu", "0.0193"}, {});
}

TEST_F(FdkDenoise, IsFdkThenDenoiseWhereBothAreStreamed) {
  expect_all_same({}, {"--device-memory", "700K"});
}

TEST_F(FdkDenoise, IsFdkThenDenoiseOnTwoDevices) {
  if (list_devices()[0].type != "cpu") GTEST_SKIP() << "the first device is no CPU to be split";
  expect_all_same({}, {"--device", "cpu", "--sub-devices", "2"});
}

TEST_F(FdkDenoise, ChoosesTheSameStrength) {
  expect_same("pdu", {"--iterations", "20"}, {}, {});
  expect_same("spdu", {"--iterations", "20", "--alpha", "1.5/sigma"}, {}, {});
}

TEST_F(FdkDenoise, DenoisesEveryFrame) {
  const Words frames{"--views-per-frame", "20"}, how{"--alpha", "3000", "--iterations", "10"};
  write_text(path("angles.txt"), [] {
    std::string text;
    for (int n = 0; n < 40; ++n) text += fmt::format("{}\n", 18 * (n % 20));
    return text;
  }());
  done(
      {"geometry", "circular", "--sid", "1000", "--sdd", "1500", "--angles", path("angles.txt"), "-o", path("g2.xml")});
  const Words words = Words{"fdk", "-i", path("p.mha"), "-g", path("g2.xml"), "--quiet"} + grid + frames;
  done(words + Words{"-o", path("f_%d.mha")});
  done(words + how + Words{"--denoise", "pdu", "-o", path("one_%d.mha")});
  for (const char* n : {"0", "1"}) {
    done(Words{"denoise", "-i", path(fmt::format("f_{}.mha", n)), "--method", "pdu", "-o", path("two.mha")} + how);
    EXPECT_EQ(content(path(fmt::format("one_{}.mha", n))), content(path("two.mha"))) << n;
  }
  EXPECT_NE(content(path("one_0.mha")), content(path("one_1.mha")));
}

// Projections are uploaded, once for the volume and once for its variances, and one volume is downloaded.
TEST_F(FdkDenoise, MovesNoVolumeInBetween) {
  for (const std::string method : {"pdu", "spdu", "tvgd"}) {
    Words words = fdk(path("out.mha")) + Words{"--denoise", method, "--iterations", "10"};
    if (method != "tvgd") words = words + Words{"--alpha", "3000", "--gap", "0"};
    if (method == "tvgd") words = words + Words{"--step", "1e-4"};
    if (method == "spdu") words = words + Words{"--photons", "3000"};
    const json found = report(words);
    const auto& kept = found["results"]["denoise"];
    EXPECT_TRUE(kept["volume"]["on_devices"]) << method;
    // tvgd estimates the noise on the host
    if (method != "tvgd") {
      EXPECT_EQ(kept["volume"]["bus_bytes"], 0) << method;
    }
    if (method == "spdu") {
      EXPECT_EQ(kept["variance"]["bus_bytes"], 0);
    }
    const auto& runs = found["runs"];
    EXPECT_EQ(runs.size(), method == "spdu" ? 3u : 2u);
    for (const auto& [name, each] : runs.items())
      EXPECT_EQ(each["actual"]["bus_bytes"], each["predicted"]["bus_bytes"]) << method << ", " << name;
    EXPECT_EQ(runs["denoise"]["bus_bytes"], volume_bytes) << method;
    const std::size_t projections = std::size_t{4} * 60 * 50 * 40;
    EXPECT_LE(runs["fdk"]["bus_bytes"], projections) << method;
    EXPECT_GT(runs["fdk"]["bus_bytes"], projections / 2) << method;
  }
}

TEST_F(FdkDenoise, TakesTheWayThroughTheHostWhereItDoesNotFit) {
  const json found = report(fdk(path("out.mha")) + Words{"--denoise", "pdu", "--alpha", "3000", "--iterations", "10",
                                                         "--device-memory", "1150K"});
  for (const auto& [name, each] : found["runs"].items())
    EXPECT_EQ(each["actual"]["bus_bytes"], each["predicted"]["bus_bytes"]) << name;
  EXPECT_FALSE(found["results"]["denoise"]["volume"]["on_devices"]);
}

TEST_F(FdkDenoise, PrintsBothPlans) {
  const Ran ran = done(fdk(path("none.mha")) + Words{"--denoise", "spdu", "--photons", "3000", "--dry-run"});
  for (const char* text : {"fdk", "fdk variance", "spdu", "stays on the devices", "is on the devices already"})
    EXPECT_THAT(ran.out, HasSubstr(text));
}

TEST_F(FdkDenoise, RefusesWhatDoesNotGoTogether) {
  const auto refused = [&](const Words& words) {
    const Ran ran = run(fdk(path("none.mha")) + words);
    EXPECT_EQ(ran.code, 2) << ran.err;
    return ran.err;
  };
  for (const char* option : {"--alpha", "--gap", "--iterations", "--step", "--target-fidelity", "--undenoised"})
    EXPECT_THAT(refused({option, "1"}), HasSubstr(std::string(option) + " requires --denoise"));
  EXPECT_THAT(refused({"--denoise", "median"}), HasSubstr("--denoise"));
  EXPECT_THAT(refused({"--denoise", "spdu"}), testing::AllOf(HasSubstr("--photons"), HasSubstr("--denoise spdu")));
  EXPECT_THAT(refused({"--denoise", "tvgd", "--gap", "0.1"}), HasSubstr("--gap"));
  EXPECT_THAT(refused({"--denoise", "tvgd", "--alpha", "3"}), HasSubstr("--alpha"));
  EXPECT_THAT(refused({"--denoise", "pdu", "--alpha", "halves"}), HasSubstr("--halves-out"));
  EXPECT_THAT(refused({"--denoise", "pdu", "--step", "3"}), HasSubstr("--step"));
  EXPECT_THAT(refused({"--denoise", "pdu", "--checkpoint", path("c")}), HasSubstr("--checkpoint"));
  EXPECT_THAT(refused({"--denoise", "pdu", "--halves-out", path("a.mha") + "," + path("b.mha")}),
              HasSubstr("--halves-out"));
  EXPECT_THAT(refused({"--photons-per-count", "2"}), HasSubstr("--counts"));
}

}  // namespace
}  // namespace halocline::fdk_denoise_test
