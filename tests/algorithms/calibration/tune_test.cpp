// labels: app device
// The forms measured to be fastest on a device: chosen, kept, used, and without influence on any result.
#include "algorithms/calibration/tune.hpp"

#include <gmock/gmock.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "algorithms/calibration/denoise_phantom.hpp"
#include "algorithms/calibration/tune_time.hpp"
#include "algorithms/denoise/denoise.hpp"
#include "algorithms/fdk/fdk.hpp"
#include "algorithms/projectors/projector.hpp"
#include "host/system/error.hpp"
#include "scheduling/profiling/rates.hpp"
#include "tests/support/command_runner.hpp"

namespace halocline::tune_test {
namespace {

using nlohmann::json;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

// A separate cache folder, so that the machine's is unchanged.
class Tune : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_device()) GTEST_SKIP() << "no OpenCL device";
    const char* before = std::getenv("HALOCLINE_CACHE_DIR");
    before_ = before != nullptr ? before : "";
    ::setenv("HALOCLINE_CACHE_DIR", (folder_ / "cache").c_str(), 1);
  }
  void TearDown() override {
    if (before_.empty())
      ::unsetenv("HALOCLINE_CACHE_DIR");
    else
      ::setenv("HALOCLINE_CACHE_DIR", before_.c_str(), 1);
  }
  static Device open() { return open_devices({}).front(); }

  Folder folder_;
  std::string before_;
};

TEST(ClearlyFastest, WantsMoreThanNoise) {
  const double times[] = {1.2, 0.9, 0.95};
  EXPECT_EQ(clearly_fastest(times, 1.0), 1u);
  EXPECT_EQ(clearly_fastest(times, 0.92), std::nullopt) << "0.9 is less than a thirtieth faster";
  EXPECT_EQ(clearly_fastest({}, 1.0), std::nullopt);
  const double none[] = {std::numeric_limits<double>::quiet_NaN()};
  EXPECT_EQ(clearly_fastest(none, 1.0), std::nullopt);
}

TEST(TuneTime, WhatIsLeftIsSharedAmongThePartsToCome) {
  double now = 100;
  TuneTime time(12, [&] { return now; });
  ASSERT_TRUE(time.begin(3));
  EXPECT_DOUBLE_EQ(time.left(), 4);
  EXPECT_TRUE(time.fits(4));
  EXPECT_FALSE(time.fits(4.1));
  now += 1;  // it needed less
  EXPECT_DOUBLE_EQ(time.spent(), 1);
  EXPECT_TRUE(time.fits(3));
  ASSERT_TRUE(time.begin(2));
  EXPECT_DOUBLE_EQ(time.left(), 5.5);
  now += 9;  // and this one more
  EXPECT_FALSE(time.fits(0));
  ASSERT_TRUE(time.begin(1));
  EXPECT_DOUBLE_EQ(time.left(), 2);
  now += 3;
  EXPECT_FALSE(time.begin(1));
}

// Compiling takes longer than all the rest where the kernels are new.
TEST(TuneTime, WhatWouldNotFitByWhatOthersTookIsNotBegun) {
  double now = 0;
  TuneTime time(12, [&] { return now; });
  ASSERT_TRUE(time.begin(4)) << "nothing is known of the first";
  now = 2;
  time.must_take(1.5);
  ASSERT_TRUE(time.begin(3));
  now = 7;
  time.must_take(5);
  time.must_take(1);
  ASSERT_TRUE(time.begin(2));
  now = 7.5;
  EXPECT_FALSE(time.begin(1)) << "4.5 s are left, and another took 5";
}

TEST_F(Tune, IsKeptForTheNextTimeTheDeviceIsOpened) {
  const Device device = open();
  EXPECT_EQ(stored_tuning(device.info()), std::nullopt);
  Tuning tuning;
  tuning.groups["joseph_project"] = {8, 8, 2};
  tuning.choices["stages of pdu"] = "2";
  tuning.classes = {"project"};
  store_tuning(device.info(), tuning);
  EXPECT_TRUE(tuning_of(device) == Tuning{}) << "an open device changes only when it is told to";
  EXPECT_TRUE(tuning_of(open()) == tuning);
  EXPECT_EQ(device_models({open()}).front().choices, tuning.choices);
  DeviceInfo twin = device.info(), other = device.info(), newer = device.info();
  twin.name += " #1";
  other.name += " (part 1 of 2)";
  newer.driver += ".1";
  EXPECT_TRUE(stored_tuning(twin) == tuning) << "a second card of the model";
  EXPECT_EQ(stored_tuning(other), std::nullopt);
  EXPECT_EQ(stored_tuning(newer), std::nullopt) << "another driver";
}

TEST_F(Tune, WhatIsDamagedIsAsIfItWereNotThere) {
  const Device device = open();
  Tuning tuning;
  tuning.groups["joseph_project"] = {8, 0, 2};  // no group
  store_tuning(device.info(), tuning);
  EXPECT_EQ(stored_tuning(device.info()), std::nullopt);
  tuning.groups["joseph_project"] = {8, 8, 2};
  store_tuning(device.info(), tuning);
  ASSERT_TRUE(stored_tuning(device.info()));
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_ / "cache"))
    if (entry.is_regular_file()) std::filesystem::resize_file(entry.path(), entry.file_size() - 5);
  EXPECT_EQ(stored_tuning(device.info()), std::nullopt);
  EXPECT_TRUE(tuning_of(open()) == Tuning{});
}

TEST_F(Tune, ShapesChangeNoBit) {
  const std::size_t n = 21;
  const Geometry geometry = circular_geometry({.projections = 13});
  const Grid grid = default_grid({n, 17, 9}, {3, 3, 3});
  Grid stack{.size = {31, 11, 13}, .spacing = {4, 4, 1}, .origin = {-58, -21, 0}};
  const Volume volume = [&] {
    Volume result(grid);
    for (std::size_t i = 0; i < result.voxels.size(); ++i) result.voxels[i] = static_cast<float>(i % 7);
    return result;
  }();
  const auto all = [&](const Device& device) {
    std::vector<std::vector<float>> results;
    const Volume views = project(volume, geometry, stack, {device}).output;
    results.emplace_back(views.voxels.begin(), views.voxels.end());
    for (const Volume& result : {fdk(views, geometry, grid, {}, {device}).output,
                                 backproject(views, geometry, grid, Projector::siddon, {device}).output})
      results.emplace_back(result.voxels.begin(), result.voxels.end());
    return results;
  };
  const Device device = open();
  const auto standard = all(device);
  EXPECT_THAT(shaped_kernels(device), Contains(HasSubstr("siddon")));
  for (const std::array<std::size_t, 3> shape : {std::array<std::size_t, 3>{1, 1, 1}, {3, 5, 2}, {4096, 64, 64}}) {
    Tuning tuning;
    for (const auto& kernel : shaped_kernels(device)) tuning.groups[kernel] = shape;
    use_tuning(device, tuning);
    EXPECT_TRUE(all(device) == standard) << shape[0];
  }
}

TEST_F(Tune, LeavesTheDeviceAsItWasAndReplacesOnlyWhatIsFaster) {
  const Device device = open();
  TuneOptions options{.classes = {"project"}, .seconds = 2, .size = 16};
  const TuneResult result = tune(device, options);
  EXPECT_TRUE(tuning_of(device) == Tuning{});
  ASSERT_FALSE(result.items.empty());
  EXPECT_THAT(result.tuning.classes, Contains("project"));
  for (const auto& item : result.items) {
    EXPECT_EQ(item.tune_class, "project");
    EXPECT_GT(item.seconds_after, 0);
    EXPECT_EQ(item.changed(), result.tuning.groups.contains(item.name)) << item.name;
    if (item.changed()) EXPECT_LT(item.seconds_after, item.seconds_before) << item.name;
  }
}

TEST_F(Tune, TheFormFoundForAllDevicesIsTheOneThatDenoisingTakes) {
  const Device device = open();
  const std::vector<Device> devices{device};
  EXPECT_EQ(tuned_stages(devices, "pdu"), std::nullopt);
  keep_stages(device, "pdu", 1);
  EXPECT_EQ(tuned_stages(devices, "pdu"), 1);
  EXPECT_EQ(tuned_stages(std::vector{device, open()}, "pdu"), 1);
  EXPECT_EQ(tuned_stages(devices, "spdu"), std::nullopt);
  DenoiseParameters parameters{.method = "pdu", .alpha = 10, .iterations = 6};
  const Volume noisy = denoise_phantom(16, 0.1);
  const auto fused = denoise(noisy, nullptr, parameters, devices);
  EXPECT_EQ(fused.form.stages, 1);
  use_tuning(device, {});
  const auto in_place = denoise(noisy, nullptr, parameters, devices);
  EXPECT_EQ(in_place.form.stages, 0);
  EXPECT_TRUE(fused.output.voxels == in_place.output.voxels);
}

TEST_F(Tune, WhatIsKnownOfADeviceIsNotReplacedForTheSakeOfAnother) {
  const Device tuned = open();
  keep_stages(tuned, "pdu", 2);
  int trials = 0;
  const auto trial = [&](const Device&) { return ++trials, 1; };
  EXPECT_EQ(tuned_or_tried_stages(std::vector{tuned}, "pdu", trial), 2);
  EXPECT_EQ(trials, 0);
  const Device other = open(), twin = open();
  use_tuning(other, {});
  use_tuning(twin, {});
  EXPECT_EQ(tuned_or_tried_stages(std::vector{other, tuned, twin}, "pdu", trial), 1);
  EXPECT_EQ(trials, 1);
  EXPECT_EQ(tuned_stages(std::vector{tuned}, "pdu"), 2);
  EXPECT_EQ(tuned_stages(std::vector{other}, "pdu"), 1);
  EXPECT_EQ(tuned_stages(std::vector{twin}, "pdu"), 1);
}

TEST_F(Tune, CommandPrintsATableKeepsAndForgets) {
  const Ran ran = done({"tune", "--class", "project", "--seconds", "0.5", "--size", "12", "--quiet", "--device", "0"});
  EXPECT_THAT(ran.out, HasSubstr("siddon_backproject"));
  ASSERT_TRUE(stored_tuning(open().info()));
  EXPECT_THAT(stored_tuning(open().info())->classes, Contains("project"));
  const Ran again = done({"tune", "--class", "project", "--seconds", "0.1", "--size", "12", "--quiet", "--json"});
  EXPECT_FALSE(json::parse(again.out).at(0).at("items").empty());
  EXPECT_EQ(run({"tune", "--forget"}).code, 0);
  EXPECT_TRUE(stored_tuning(open().info()) == Tuning{});
}

TEST_F(Tune, RefusesWhatItDoesNotKnow) {
  const Ran unknown = run({"tune", "--class", "fdk,cooking"});
  EXPECT_EQ(unknown.code, 2);
  EXPECT_THAT(unknown.err, HasSubstr("--class 'cooking'"));
  EXPECT_THAT(unknown.err, HasSubstr("pdu, spdu, fdk, project"));
  EXPECT_EQ(run({"tune", "--seconds", "0"}).code, 2);
  EXPECT_EQ(run({"tune", "--size", "4"}).code, 2);
  const Ran large = run({"tune", "--size", "100000"});
  EXPECT_EQ(large.code, 2);
  EXPECT_THAT(large.err, HasSubstr("--size"));
}

TEST_F(Tune, NothingThatFitsIsAnError) {
  const Ran ran = run({"tune", "--class", "pdu", "--size", "32", "--device-memory", "10K"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, HasSubstr("no kernel was measured: pdu: "));
  EXPECT_THAT(ran.err, HasSubstr("--device-memory"));
  EXPECT_THAT(ran.err, HasSubstr("smaller --size"));
  EXPECT_EQ(stored_tuning(open().info()), std::nullopt);
}

TEST(MeasuredDefaults, AreThoseOfTheDevicesThatWereMeasured) {
  DeviceInfo device{.name = "NVIDIA H200", .platform = "NVIDIA CUDA", .type = "gpu"};
  EXPECT_TRUE(has_measured_defaults(device));
  device.name = "NVIDIA GeForce RTX 3060";
  EXPECT_FALSE(has_measured_defaults(device));
  device.platform = "AMD Accelerated Parallel Processing";
  EXPECT_FALSE(has_measured_defaults(device));
  device.type = "cpu";
  EXPECT_TRUE(has_measured_defaults(device));
}

}  // namespace
}  // namespace halocline::tune_test
