// labels: app device
// halocline bench device: a card has findings, rates and rows of each kind of work, and says what is left out.
#include <nlohmann/json.hpp>
#include <set>

#include "algorithms/calibration/self_check.hpp"
#include "host/opencl/select_devices.hpp"
#include "tests/support/command_runner.hpp"

namespace halocline::bench_device_test {
namespace {

using nlohmann::json;

class BenchDevice : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_device()) GTEST_SKIP() << "no OpenCL device";
  }
  static std::vector<std::string> words(const std::vector<std::string>& more) {
    std::vector<std::string> all{"bench", "device", "--device", "0", "--size", "16", "--seconds", "0.001"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
};

TEST_F(BenchDevice, ACardHasAllKindsOfWork) {
  const Folder f;
  const Ran ran = done(words({"--json", "--report", f / "card.json"}));
  const json results = json::parse(ran.out);
  EXPECT_EQ(json::parse(content(f / "card.json"))["results"], results);
  ASSERT_EQ(results["benches"].size(), 1u);
  const json& card = results["benches"][0];
  EXPECT_EQ(card["check"].size(), all_variants().size());
  std::set<std::string> works, units;
  for (const json& row : card["rows"]) {
    works.insert(row["work"]);
    units.insert(row["unit"]);
    const double rate = row["rate_per_s"], seconds = row["seconds"];
    EXPECT_GT(rate, 0) << row;
    EXPECT_GT(seconds, 0) << row;
    EXPECT_EQ(row.contains("share_of_limit"), row["work"] != "fdk") << row;
    const double number = row["work"] == "project" ? 16 * 16 * 16 : row["work"] == "denoise" ? 0 : 16 * 16 * 16 * 16;
    if (number > 0) {  // rays, or voxels times views
      EXPECT_NEAR(rate * seconds, number, 1e-6 * number) << row;
    }
  }
  EXPECT_EQ(works, (std::set<std::string>{"project", "backproject", "fdk", "denoise"}));
  EXPECT_EQ(units, (std::set<std::string>{"rays", "updates", "voxel iterations"}));
  EXPECT_NE(card["left_out"].dump().find("RabbitCT: it has 128^3 voxels and more"), std::string::npos);
}

TEST_F(BenchDevice, ATableNamesWhatDoesNotFit) {
  const Ran ran = done(words({"--device-memory", "300K"}));
  EXPECT_NE(ran.out.find("\nfdk "), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("self-check: of "), std::string::npos);
  EXPECT_NE(ran.out.find("left out: project: "), std::string::npos) << ran.out;
}

TEST_F(BenchDevice, IsRefusedByName) {
  const Folder f;
  for (const auto& [more, part] :
       std::vector<std::pair<std::vector<std::string>, std::string>>{{{"--trace", f / "t.json"}, "--trace"},
                                                                     {{"--host-memory", "1K"}, "smaller --size"},
                                                                     {{"--size", "4"}, "--size"}}) {
    const Ran ran = run(words(more));
    EXPECT_NE(ran.code, 0);
    EXPECT_NE(ran.err.find(part), std::string::npos) << ran.err;
  }
  EXPECT_EQ(f.files(), std::vector<std::string>{});
  const Ran dry = done(words({"--dry-run"}));
  EXPECT_NE(dry.out.find("would check and measure"), std::string::npos) << dry.out;
}

}  // namespace
}  // namespace halocline::bench_device_test
