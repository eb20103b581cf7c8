// labels: app device
// The forms measured to be fastest on a device: chosen, kept, used, and without influence on any result.
#include "algorithms/calibration/tune.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "algorithms/calibration/denoise_phantom.hpp"
#include "algorithms/calibration/scan_loop.hpp"
#include "algorithms/calibration/tune_time.hpp"
#include "algorithms/denoise/denoise.hpp"
#include "algorithms/fdk/fdk.hpp"
#include "algorithms/projectors/adjoint_bricks.hpp"
#include "algorithms/projectors/projector.hpp"
#include "algorithms/projectors/tunables.hpp"
#include "host/system/error.hpp"
#include "scheduling/execution/program_run.hpp"
#include "scheduling/profiling/rates.hpp"
#include "tests/support/command_runner.hpp"
#include "tests/support/sanitized.hpp"

namespace halocline::tune_test {
namespace {

using nlohmann::json;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
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
  const auto problem = problem_class({300, 300, 1200}, {300, 1548, 3});
  tuning.problems[*problem].groups["joseph_project"] = {16, 1, 1};
  tuning.problems[*problem].choices[exact_form_choice] = images_form;
  store_tuning(device.info(), tuning);
  EXPECT_TRUE(tuning_of(device) == Tuning{}) << "an open device changes only when it is told to";
  EXPECT_TRUE(tuning_of(open()) == tuning);
  const auto models = device_models({open()});
  EXPECT_EQ(models.front().choices, tuning.choices);
  const auto alike = models_for(models, {260, 300, 1100}, {290, 1300, 3}).front().choices;
  EXPECT_EQ(alike.at(exact_form_choice), images_form);
  EXPECT_EQ(alike.at("stages of pdu"), "2") << "of all problems";
  EXPECT_EQ(models_for(models, {300, 300, 1200}, {300, 1548, 300}).front().choices, tuning.choices);
  DeviceInfo twin = device.info(), other = device.info(), newer = device.info();
  twin.name = twin.name.substr(0, twin.name.find(" #")) + " #7";
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

// The key says which layout it is; this is one that another program wrote under the same key.
TEST_F(Tune, WhatIsOfAnOlderLayoutIsAsIfItWereNotThere) {
  const Device device = open();
  Tuning tuning;
  tuning.groups["joseph_project"] = {8, 8, 2};
  store_tuning(device.info(), tuning);
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_ / "cache")) {
    if (!entry.is_regular_file()) continue;
    std::string text = content(entry.path());
    const std::string part = "\"problems\"";
    const auto at = text.find(part);
    ASSERT_NE(at, std::string::npos);
    text.replace(at, part.size(), "\"pr0blems\"");
    std::ofstream(entry.path(), std::ios::binary) << text;
  }
  EXPECT_EQ(stored_tuning(device.info()), std::nullopt);
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

// Forms for GPUs run on CPUs, too.
TEST_F(Tune, TunablesChangeNoBit) {
  const Device device = open();
  const Scan scan = bench_scan({21, 18, 19}, {23, 27}, 13);
  const Volume views = bench_numbers(scan.stack);
  const auto adjoint = [&](bool hardware, int batch) {
    VoxelDriven::Options options{.hardware_interpolation = hardware, .distance_weight = true};
    options.exact_batch = options.image_batch = batch;
    const auto method = std::make_shared<Backprojection>(scan.geometry, scan.stack, scan.volume, options);
    return run_program(program_of(method), {{"raw", &views}}, scan.volume, {device}).output.voxels;
  };
  const auto rays = [&](Projector projector) {
    const auto method = std::make_shared<RayBackprojection>(scan.geometry, scan.stack, scan.volume, projector);
    return run_program(program_of(method), {{"raw", &views}}, scan.volume, {device}).output.voxels;
  };
  const bool images = device.info().images;
  const auto exact = adjoint(false, 0), siddon = rays(Projector::siddon);
  const auto textures = images ? adjoint(true, 0) : exact;
  for (const Tunable& tunable : tunables()) {
    for (const int value : tunable.candidates) {
      SCOPED_TRACE(tunable.key() + " " + std::to_string(value));
      Tuning tuning;
      tuning.choices[tunable.key()] = std::to_string(value);
      use_tuning(device, tuning);
      const int batch = tunable.name == batch_tunable ? value / 8 : 0;  // 13 views are few
      if (tunable.kernel == "backproject_exact") {
        EXPECT_TRUE(adjoint(false, batch) == exact);
      }
      if (tunable.kernel == "backproject_image" && images) {
        EXPECT_TRUE(adjoint(true, batch) == textures);
      }
      if (tunable.kernel == "siddon_backproject") {
        EXPECT_TRUE(rays(Projector::siddon) == siddon);
      }
    }
  }
}

TEST_F(Tune, BatchesAreAsTunedForTheProblem) {
  const Scan scan = bench_scan({32, 32, 32}, {32, 32}, 400), other = bench_scan({32, 32, 32}, {32, 32}, 200);
  DeviceModel gpu;
  gpu.problems[*problem_class(scan.volume.size, scan.stack.size)].choices["backproject_exact views"] = "32";
  const auto batch_of = [](const Scan& each, const std::vector<DeviceModel>& devices) {
    VoxelDriven::Options options;
    set_device_options(options, devices, each.stack, each.volume);
    return Backprojection(each.geometry, each.stack, each.volume, options).requirements().preferred_batch;
  };
  EXPECT_EQ(batch_of(scan, {gpu}), 32);
  EXPECT_EQ(batch_of(other, {gpu}), batch_of(other, {DeviceModel{}}));
  EXPECT_EQ(batch_of(scan, {gpu, DeviceModel{}}), batch_of(other, {DeviceModel{}})) << "one of them has none";
}

TEST_F(Tune, IsKeptForTheClassOfProblemAlone) {
  const Device device = open();
  Tuning before;
  before.groups["joseph_project"] = {8, 8, 2};
  before.classes = {"fdk"};
  use_tuning(device, before);
  const ScanSizes sizes{{20, 18, 24}, {22, 30}, 3};
  const TuneResult result = tune(device, {.classes = {"project"}, .seconds = 3, .problem = sizes});
  EXPECT_TRUE(tuning_of(device) == before);
  EXPECT_EQ(result.tuning.groups, before.groups);
  EXPECT_EQ(result.tuning.choices, before.choices);
  EXPECT_EQ(result.tuning.classes, before.classes);
  ASSERT_FALSE(result.items.empty());
  for (const auto& item : result.items) {
    const auto at = result.tuning.problems.find(*sizes.problem());
    const bool group = at != result.tuning.problems.end() && at->second.groups.contains(item.name);
    if (group) {
      EXPECT_TRUE(item.changed()) << item.name;
    }
    EXPECT_LE(item.least_gain, item.largest_gain) << item.name;
  }
  EXPECT_THROW(tune(device, {.classes = {"pdu"}, .problem = sizes}), InputError);
  EXPECT_THROW(tune(device, {.problem = ScanSizes{{20, 0, 24}, {22, 30}, 3}}), InputError);
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
    const auto& choices = result.tuning.choices;
    const bool found = result.tuning.groups.contains(item.name) || choices.contains(item.name) ||
                       std::any_of(tunables().begin(), tunables().end(), [&](const Tunable& tunable) {
                         return tunable.kernel == item.name && choices.contains(tunable.key());
                       });
    EXPECT_EQ(item.changed(), found) << item.name;
    if (item.changed()) {
      EXPECT_LT(item.seconds_after, item.seconds_before) << item.name;
    }
  }
}

TEST(Tunables, TakeTheirCandidatesAlone) {
  const std::string key = "siddon_backproject K_UNROLL";
  EXPECT_EQ(candidate_or(4, key, 8), 8);
  for (const int damaged : {0, -2, 3, 1 << 30}) EXPECT_EQ(candidate_or(4, key, damaged), 4);
  EXPECT_EQ(candidate_or(4, "siddon_backproject", 8), 4);
  DeviceModel eight, sixteen, damaged;
  eight.choices[key] = "8", sixteen.choices[key] = "16", damaged.choices[key] = "1000000";
  EXPECT_EQ(tuned_on_all(std::vector{sixteen, eight}, key), 8);
  EXPECT_EQ(tuned_on_all(std::vector{eight, damaged}, key), 0);
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
  const auto by_default = denoise(noisy, nullptr, parameters, devices);
  EXPECT_NE(by_default.form.stages, 1);
  EXPECT_TRUE(fused.output.voxels == by_default.output.voxels);
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

bool siddon_in_bricks() {
  return faster_brick(device_models(open_devices({})), Projector::siddon) != nullptr;
}

TEST_F(Tune, CommandPrintsATableKeepsAndForgets) {
  const Ran ran = done({"tune", "--class", "project", "--seconds", "0.5", "--size", "12", "--quiet", "--device", "0"});
  EXPECT_THAT(ran.out, HasSubstr(siddon_in_bricks() ? "siddon_" : "siddon_backproject"));
  ASSERT_TRUE(stored_tuning(open().info()));
  EXPECT_THAT(stored_tuning(open().info())->classes, Contains("project"));
  const Ran again = done({"tune", "--class", "project", "--seconds", "0.1", "--size", "12", "--quiet", "--json"});
  EXPECT_FALSE(json::parse(again.out).at(0).at("items").empty());
  EXPECT_EQ(run({"tune", "--forget"}).code, 0);
  EXPECT_TRUE(stored_tuning(open().info()) == Tuning{});
}

TEST_F(Tune, TheTableHasEveryCandidate) {
  if (siddon_in_bricks()) GTEST_SKIP() << "bricks have no such values";
  const Ran ran = done({"tune", "--class", "project", "--volume", "14,12,13", "--detector", "16,15", "--views", "5",
                        "--seconds", "600", "--table", "--json", "--quiet", "--device", "0"});
  const json result = json::parse(ran.out).at(0);
  EXPECT_EQ(result["problems"], "problems like 16 x 16 x 16 voxels, 8 views of 16 x 16 pixels");
  std::map<std::string, std::set<std::string>> values;
  bool seen = false;
  for (const auto& item : result["items"]) {
    int before = 0;
    for (const auto& trial : item["trials"]) {
      values[item["name"].get<std::string>() + " " + trial["tunable"].get<std::string>()].insert(trial["value"]);
      before += trial["mark"] == "before" ? 1 : 0;
      EXPECT_GT(trial["seconds"], 0);
      EXPECT_GE(trial["median_seconds"], trial["seconds"]);
      EXPECT_GE(trial["runs"], 1);
    }
    EXPECT_EQ(before, 1) << item["name"];
    seen = seen || item["name"] == "siddon_backproject";
  }
  ASSERT_TRUE(seen);
  EXPECT_THAT(values["siddon_backproject group"], IsSupersetOf({"64 x 4 x 1", "16 x 16 x 1", "8 x 8 x 4"}));
  EXPECT_GE(values["siddon_backproject group"].size(), 16u);
  EXPECT_THAT(values["siddon_backproject K_UNROLL"], ElementsAre("16", "2", "4", "8"));
  const Ran text = done({"tune", "--class", "project", "--volume", "14,12,13", "--detector", "16,15", "--views", "5",
                         "--seconds", sanitized ? "20" : "1", "--table", "--quiet", "--device", "0"});
  EXPECT_THAT(text.out, HasSubstr("K_UNROLL"));
  EXPECT_THAT(text.out, HasSubstr("before"));
  EXPECT_THAT(text.out, HasSubstr("spread"));
}

TEST_F(Tune, SlicesOfAWorkItemAreTriedAsFarAsTheVolumeFillsThem) {
  if (siddon_in_bricks()) GTEST_SKIP() << "bricks have no such values";
  const Ran ran = done({"tune", "--class", "project", "--volume", "14,12,3", "--detector", "16,15", "--views", "5",
                        "--seconds", "600", "--table", "--json", "--quiet", "--device", "0"});
  const json result = json::parse(ran.out).at(0);
  std::set<std::string> values;
  for (const auto& item : result["items"])
    for (const auto& trial : item["trials"])
      if (item["name"] == "siddon_backproject" && trial["tunable"] == "K_UNROLL") values.insert(trial["value"]);
  EXPECT_THAT(values, ElementsAre("2", "4"));
}

TEST_F(Tune, PatchesAreTunedForTheirSizes) {
  const std::vector<std::string> words{"tune",       "--class", "patches", "--volume", "16,16,1",
                                       "--detector", "16,1",    "--views", "70",       "--seconds",
                                       "600",        "--json",  "--quiet", "--device", "0"};
  const json items = json::parse(done(words).out).at(0)["items"];
  const auto patches =
      std::find_if(items.begin(), items.end(), [](const json& item) { return item["name"] == "patches_backproject"; });
  ASSERT_NE(patches, items.end());
  std::multiset<std::string> tried;
  for (const auto& trial : (*patches)["trials"]) tried.insert(trial["tunable"]);
  EXPECT_EQ(tried.count("FOLD"), 4u);
  EXPECT_EQ(tried.count("UNROLL"), 3u);
  EXPECT_EQ(tried.count("GROUP"), 5u);
  EXPECT_EQ(tried.count("group"), 0u);
  const Tuning kept = stored_tuning(open().info()).value();
  EXPECT_TRUE(kept.choices.empty() && kept.groups.empty());
  const Ran ran = run({"tune", "--class", "patches"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, HasSubstr("--volume"));
}

TEST_F(Tune, ProblemsAreGivenWhole) {
  for (const std::vector<std::string>& part :
       {std::vector<std::string>{"--volume", "9,9,9"},
        {"--views", "3"},
        {"--detector", "9,9"},
        {"--volume", "9,9,9", "--detector", "9,9", "--views", "3", "--size", "9"}}) {
    std::vector<std::string> words{"tune", "--class", "fdk"};
    words.insert(words.end(), part.begin(), part.end());
    EXPECT_EQ(run(words).code, 2) << part.front();
  }
  const Ran ran = run({"tune", "--class", "pdu", "--volume", "9,9,9", "--detector", "9,9", "--views", "3"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, HasSubstr("has no views"));
}

TEST_F(Tune, RefusesWhatItDoesNotKnow) {
  const Ran unknown = run({"tune", "--class", "fdk,cooking"});
  EXPECT_EQ(unknown.code, 2);
  EXPECT_THAT(unknown.err, HasSubstr("--class 'cooking'"));
  EXPECT_THAT(unknown.err, HasSubstr("pdu, spdu, fdk, project, patches"));
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
