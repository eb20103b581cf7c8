// labels: app device
// Rates that a run shows to be wrong are measured again by the next process, and only then.
#include "scheduling/execution/rate_validation.hpp"

#include <gmock/gmock.h>

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>

#include "apps/images/image_file.hpp"
#include "host/opencl/program_cache.hpp"
#include "scheduling/profiling/measure.hpp"
#include "scheduling/profiling/rates.hpp"
#include "scheduling/profiling/rates_text.hpp"
#include "tests/reference/tv_reference.hpp"
#include "tests/support/command_runner.hpp"

namespace halocline::rate_validation_test {
namespace {

using testing::HasSubstr;
using testing::Not;

std::int64_t now() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::seconds>(since).count();
}

TEST(RateValidation, DoubtsRatesByTheTimeThatTheyPredicted) {
  EXPECT_EQ(rate_deviation(13.8, 1.98), "too low");  // as was seen
  EXPECT_EQ(rate_deviation(1, 0.59), "too low");
  EXPECT_EQ(rate_deviation(1, 0.61), "");
  EXPECT_EQ(rate_deviation(1, 1.99), "");
  EXPECT_EQ(rate_deviation(1, 2.01), "too high");
  EXPECT_EQ(rate_deviation(1, 0.19), "");  // too short to judge
  EXPECT_EQ(rate_deviation(0.01, 0.19), "");
  EXPECT_EQ(rate_deviation(0, 5), "");  // nothing was predicted
}

TEST(RateValidation, PredictsTheIterationsThatWereDone) {
  RunResult result;
  result.plan.requirements.algorithm = "pdu";
  result.plan.requirements.size = {64, 64, 64};
  result.plan.requirements.iterations = 100;
  result.plan.requirements.cost.bytes = 32;
  result.plan.devices.resize(1);
  result.plan.slabs = {{.device = 0, .interior = {0, 64}, .extended = {0, 64}, .rows = {}}};
  result.plan.seconds = 100;
  result.iterations = 100;
  EXPECT_EQ(plan_of_completed_work(result).seconds, 100);  // as the planner said
  result.iterations = 50;
  const double half = plan_of_completed_work(result).seconds;
  result.iterations = 25;
  EXPECT_LT(plan_of_completed_work(result).seconds, half);
  EXPECT_LT(half, 100);
}

// Best of these seconds, one after the other, the last repeated; and the number of runs.
std::pair<double, int> best_of(const std::vector<double>& seconds) {
  int calls = 0;
  const double best =
      best_of_tries([&] { return seconds[std::min(static_cast<std::size_t>(calls++), seconds.size() - 1)]; });
  return {best, calls};
}

TEST(BestOfTries, AsksUntilThreeAgree) {
  using Result = std::pair<double, int>;
  EXPECT_EQ(best_of({2e-3, 1e-3}), Result(1e-3, 4));                                           // the first compiled
  EXPECT_EQ(best_of({1e-3}), Result(1e-3, 4));                                                 // nothing to compile
  EXPECT_EQ(best_of({9e-3, 4e-3, 7e-3, 3.9e-3, 1e-3, 5e-3, 1.05e-3, 1e-3}), Result(1e-3, 8));  // others work as well
  std::vector<double> never;
  for (int n = 0; n < 30; ++n) never.push_back(1e-3 * std::pow(0.8, n));
  EXPECT_EQ(best_of(never), Result(never[12], 13));
  EXPECT_EQ(best_of({0.7, 1e-3}), Result(1e-3, 2));  // a stall
  EXPECT_EQ(best_of({5}), Result(5, 1));             // an interpreter
}

// A separate cache, in which a process has kept the rates of the usual device.
class ForgottenRates : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_device()) GTEST_SKIP() << "no OpenCL device";
    if (const char* folder = std::getenv("HALOCLINE_CACHE_DIR")) before_ = folder;
    ::setenv("HALOCLINE_CACHE_DIR", f.path().c_str(), 1);
    write_image(reference::two_balls(64, 0.1), f / "v.mha");
    start("--dry-run");
    for (const auto& name : f.files()) {
      const std::string text = content(f / name);
      std::uint64_t length = 0;
      if (text.size() > 16) std::memcpy(&length, text.data() + 8, sizeof length);
      if (text.compare(16, 6, "rates ") == 0) key_ = text.substr(16, length);
    }
    ASSERT_FALSE(key_.empty());
  }
  void TearDown() override {
    if (before_.empty())
      ::unsetenv("HALOCLINE_CACHE_DIR");
    else
      ::setenv("HALOCLINE_CACHE_DIR", before_.c_str(), 1);
  }

  /// Another process; what it says.
  std::string start(const std::string& options) {
    const std::string words = "'" HALOCLINE_COMMAND "' denoise -i '" + (f / "v.mha") + "' -o '" + (f / "u.mha") +
                              "' --method pdu --alpha 10 --gap 0 --stages 0 --no-tune --log-level debug " + options +
                              " >'" + (f / "log") + "' 2>&1";
    EXPECT_EQ(std::system(words.c_str()), 0) << content(f / "log");
    return content(f / "log");
  }
  std::optional<DeviceRates> kept() const {
    const auto bytes = ProgramCache().load(key_);
    return bytes ? rates_from_text({bytes->begin(), bytes->end()}) : std::nullopt;
  }
  void keep(const DeviceRates& rates) const {
    const std::string text = rates_text(rates);
    ProgramCache().store(key_, {text.begin(), text.end()});
  }

  Folder f;
  std::string key_, before_;
};

TEST_F(ForgottenRates, AreMeasuredByTheNextProcessAtMostOnceADayForEachReason) {
  const auto devices = open_devices({});
  DeviceRates spoiled = kept().value();
  const double good = spoiled.upload;
  spoiled.upload = 1e3;
  keep(spoiled);
  EXPECT_THAT(start("--dry-run"), Not(HasSubstr("measured again")));
  EXPECT_EQ(kept()->upload, 1e3);  // rates are kept from run to run
  ASSERT_EQ(device_rates(devices.front()).value().upload, 1e3);

  RunResult result;
  result.plan.batch = 1;  // all of it was done
  result.plan.seconds = 13.8;
  result.seconds = 10;
  validate_rates(result, devices);
  EXPECT_TRUE(kept());
  const std::int64_t first = now();
  result.seconds = 1.98;
  validate_rates(result, devices);
  EXPECT_FALSE(kept());
  // This process continues with the rates that it knew, and does not store them again.
  keep_kernel_rate(devices.front(), "something of hindsight_test", 1e9);
  EXPECT_FALSE(kept());

  start("--dry-run");
  ASSERT_TRUE(kept());
  EXPECT_GT(kept()->upload, good / 100);  // busy as the machine may be
  EXPECT_GE(kept()->doubted.at("too low"), first);

  // A second run: rates that were measured again are left alone.
  spoiled = *kept();
  spoiled.upload = 1e3;
  keep(spoiled);
  validate_rates(result, devices);
  EXPECT_EQ(kept().value().upload, 1e3);
  forget_rates(devices, "too low", first + 23 * 3600);
  EXPECT_TRUE(kept());
  // Another reason, on another day.
  forget_rates(devices, "too high", now());
  EXPECT_FALSE(kept());
  keep(spoiled);
  forget_rates(devices, "too low", now() + 25 * 3600);
  EXPECT_FALSE(kept());
}

TEST_F(ForgottenRates, ARunFindsThem) {
  DeviceRates spoiled = kept().value();
  spoiled.upload = spoiled.download = 5e4;  // 1 MiB each way: 42 s
  spoiled.doubted["too high"] = now();      // whatever compiling takes
  keep(spoiled);
  const std::string said = start("--iterations 1500 --report '" + (f / "r.json") + "'");
  const auto run = nlohmann::json::parse(content(f / "r.json"))["runs"]["denoise"];
  if (run["seconds"].get<double>() < 0.2) GTEST_SKIP() << "this device is too fast for the test";
  EXPECT_GT(run["predicted"]["seconds"].get<double>(), 40);
  EXPECT_THAT(said, HasSubstr("its rates seem too low, and are measured again at the next start"));
  EXPECT_FALSE(kept());
  start("--iterations 1");
  ASSERT_TRUE(kept());
  EXPECT_GT(kept()->upload, 5e5);
}

}  // namespace
}  // namespace halocline::rate_validation_test
