// labels: unit
// Volumes that reside on devices between jobs.
#include "scheduling/planning/resident_volumes.hpp"

#include <gtest/gtest.h>

#include "host/system/error.hpp"

namespace halocline::resident_volumes_test {
namespace {

constexpr std::size_t slice = std::size_t{4} * 64 * 64, slices = 64, volume = slice * slices;

ArrayNeed array(const std::string& name, Lifetime lifetime, std::size_t components = 1) {
  return {.name = name, .kind = ArrayKind::volume, .lifetime = lifetime, .components = components};
}

// Makes a volume; holds `scratch` more.
Requirements maker(std::size_t scratch) {
  Requirements needs;
  needs.algorithm = "maker";
  needs.size = {64, 64, slices};
  needs.form = ProgramForm::voxel_sums;
  needs.stack = {10, 10, 10};
  needs.preferred_batch = 1;
  needs.arrays = {array("volume", Lifetime::output), array("scratch", Lifetime::scratch, scratch)};
  return needs;
}

Requirements user() {
  Requirements needs{.algorithm = "user", .size = {64, 64, slices}, .iterations = 20};
  needs.halo_low = needs.halo_high = 1;
  needs.arrays = {array("f", Lifetime::input), array("u", Lifetime::output), array("p", Lifetime::state, 3)};
  return needs;
}

ResidentVolumesPlan plan(std::size_t memory, std::size_t devices = 1) {
  std::vector<DeviceModel> models;
  for (std::size_t n = 0; n < devices; ++n) {
    DeviceModel model{.name = "device " + std::to_string(n)};
    model.memory = model.max_allocation = memory;
    model.part = true;
    models.push_back(model);
  }
  const auto job = [models](const Requirements& needs) {
    return [=](const PlanOptions& options) { return make_plan(needs, models, options); };
  };
  return plan_resident_volumes({job(maker(1)), job(user())}, {{"kept", {{0, "volume"}, {1, "f"}}}});
}

TEST(Staying, KeepsAVolumeThatFitsBesideBothJobs) {
  const ResidentVolumesPlan found = plan(7 * volume);
  EXPECT_EQ(found.resident.count("kept"), 1u);
  ASSERT_EQ(found.shares.size(), 1u);
  EXPECT_EQ(found.shares.front().slices, (Range{0, slices}));
  EXPECT_EQ(found.plans.front().bus_bytes, 0);
  EXPECT_EQ(found.plans.back().bus_bytes, volume);  // the result
  EXPECT_EQ(found.plans.back().devices.front().memory, 6 * volume);
}

TEST(Staying, LeavesNoJobToBeStreamedForIt) {
  const ResidentVolumesPlan found = plan(5 * volume + volume / 2);
  EXPECT_TRUE(found.resident.empty());
  EXPECT_TRUE(found.plans.back().resident);
  EXPECT_EQ(found.plans.back().bus_bytes, 2 * volume);
}

TEST(Staying, SharesItAsTheLastJobDoes) {
  const ResidentVolumesPlan found = plan(5 * volume, 2);
  EXPECT_EQ(found.resident.count("kept"), 1u);
  ASSERT_EQ(found.plans.back().slabs.size(), 2u);
  ASSERT_EQ(found.shares.size(), 2u);
  for (std::size_t n = 0; n < 2; ++n) EXPECT_EQ(found.shares[n].slices, found.plans.back().slabs[n].interior);
}

TEST(Staying, ThrowsWhatAJobThrowsWithoutIt) {
  EXPECT_THROW(plan(slice), PlanError);
}

}  // namespace
}  // namespace halocline::resident_volumes_test
