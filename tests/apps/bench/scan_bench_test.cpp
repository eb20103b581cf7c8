// labels: app device error
// What plans of the benches of scans refuse by the name of an option, and which modes they leave out.
#include "apps/bench/scan_bench.hpp"

#include <fmt/ranges.h>
#include <gmock/gmock.h>

#include "host/system/error.hpp"
#include "scheduling/execution/device_selection.hpp"
#include "tests/support/command_runner.hpp"
#include "tests/support/refusal.hpp"

namespace halocline::scan_bench_test {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ScanBenchPlans : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_device()) GTEST_SKIP() << "no OpenCL device";
  }
  static ScanBenchPlan plan(ScanBench bench, const ScanBenchOptions& options) {
    return plan_scan_bench(bench, open_devices({}).front(), options);
  }
  static std::string refusal(ScanBench bench, const ScanBenchOptions& options) {
    return refusal_of([&] { plan(bench, options); });
  }
};

TEST_F(ScanBenchPlans, RefuseSizesOutOfRangeByName) {
  using enum ScanBench;
  const struct {
    ScanBench bench;
    ScanBenchOptions options;
    const char *name, *found, *expected;
  } cases[] = {
      {project, {.size = 1}, "`size`", "1", "2 to 8192"},
      {project, {.size = 8193}, "`size`", "8193", "2 to 8192"},
      {project, {.size = 9, .views = 0}, "`views`", "0", "1 to 65536"},
      {fdk, {.size = 9, .views = 11}, "`views`", "11", "12 to 65536"},
      {slices, {.size = 9, .views = 65537}, "`views`", "65537", "12 to 65536"},
      {project, {.size = 9, .slices = 0}, "`slices`", "0", "1 to 8192"},
      {project, {.size = 9, .slices = 2, .rows = 8193}, "`rows`", "8193", "1 to 8192"},
      {project, {.detector = {{9, 9}}, .volume = {{9, 0, 9}}}, "`volume`", "0", "1 to 8192"},
      {project, {.detector = {{9, 0}}, .volume = {{9, 9, 9}}}, "`detector`", "0", "1 to 8192"},
      {slices, {.detector = {{1, 9}}}, "`detector`", "1", "2 to 8192"},
      {slices, {.slice = {{9, 8193}}}, "`slice`", "8193", "2 to 8192"},
  };
  for (const auto& [bench, options, name, found, expected] : cases)
    EXPECT_THAT(refusal(bench, options), AllOf(HasSubstr(name), HasSubstr(found), HasSubstr(expected)));
}

TEST_F(ScanBenchPlans, RefuseSizesThatContradictEachOther) {
  using enum ScanBench;
  const struct {
    ScanBench bench;
    ScanBenchOptions options;
    const char* text;
  } cases[] = {
      {project, {.size = 9, .rows = 3}, "give `slices`, their number"},
      {project, {.size = 9, .fan_stack = true}, "give `slices`, their number"},
      {slices, {.size = 9, .detector = {{9, 9}}, .slice = {{9, 9}}}, "`size` has no use"},
      {project, {.size = 9, .detector = {{9, 9}}, .volume = {{9, 9, 9}}}, "leave `size` and `slices` out"},
      {project, {.slices = 9, .detector = {{9, 9}}, .volume = {{9, 9, 9}}}, "leave `size` and `slices` out"},
      {project, {.volume = {{9, 9, 9}}}, "`volume` and `detector` go together"},
      {fdk, {.detector = {{9, 9}}}, "`volume` and `detector` go together"},
      {project, {.size = 9, .modes = {"joseph", "magic"}}, "`modes` has \"magic\"; expected some of: joseph, "},
  };
  for (const auto& [bench, options, text] : cases) EXPECT_THAT(refusal(bench, options), HasSubstr(text));
}

TEST_F(ScanBenchPlans, LeaveModesOutThatTheScanOrTheDeviceDoesNotTake) {
  const ScanBenchPlan cone = plan(ScanBench::fdk, {.size = 16, .modes = {"exact", "gridding"}});
  EXPECT_THAT(cone.modes, ElementsAre("exact"));
  EXPECT_THAT(cone.left_out, ElementsAre("gridding: it takes parallel beams: give `slices`"));
  const std::string nothing = refusal_of<PlanError>([&] { plan(ScanBench::fdk, {.size = 16, .modes = {"gridding"}}); });
  EXPECT_THAT(nothing, AllOf(HasSubstr("bench fdk: nothing of what was asked for runs on"), HasSubstr("16 x 16 x 16"),
                             HasSubstr("gridding: it takes parallel beams"), HasSubstr("Give a smaller `size`")));
  for (const std::size_t views : {15, 16}) {
    const ScanBenchPlan turns =
        plan(ScanBench::project, {.size = 20, .views = views, .modes = {"joseph", "joseph-half"}});
    const std::string reason = fmt::format("joseph-half: {} views of 20 x 20 pixels do not lie in quartets", views);
    EXPECT_THAT(turns.modes, Contains("joseph"));
    if (views == 15)
      EXPECT_THAT(turns.left_out, ElementsAre(HasSubstr("joseph-half: ")));
    else
      EXPECT_THAT(turns.left_out, testing::Not(Contains(HasSubstr(reason))));
  }
}

TEST_F(ScanBenchPlans, RefuseWhatDoesNotFitByTheOptionThatSetsIt) {
  DeviceSelection selection;
  selection.device_memory = std::size_t{1} << 20;
  const auto devices = open_devices(selection);
  const auto refusal = [&](ScanBench bench, const ScanBenchOptions& options) {
    return refusal_of<PlanError>([&] { plan_scan_bench(bench, devices.front(), options); });
  };
  EXPECT_THAT(
      refusal(ScanBench::backproject, {.size = 200}),
      AllOf(HasSubstr("exact: does not fit the device's memory as one slab"), HasSubstr("Give a smaller `size`")));
  EXPECT_THAT(refusal(ScanBench::project, {.views = 9, .detector = {{99, 99}}, .volume = {{200, 200, 200}}}),
              HasSubstr("Give a smaller `volume`"));
  EXPECT_THAT(refusal(ScanBench::slices, {.views = 64, .detector = {{300, 300}}, .slice = {{9, 9}}}),
              HasSubstr("Give a smaller `detector`"));
}

}  // namespace
}  // namespace halocline::scan_bench_test
