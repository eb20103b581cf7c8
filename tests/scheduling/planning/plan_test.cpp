// labels: unit
#include "scheduling/planning/plan.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <set>

#include "host/system/error.hpp"
#include "scheduling/planning/skew.hpp"
#include "tests/support/refusal.hpp"

namespace halocline::plan_test {
namespace {

using ::testing::HasSubstr;

constexpr std::size_t mebi = std::size_t{1} << 20, gibi = std::size_t{1} << 30;

ArrayNeed need(std::string name, ArrayKind kind, Lifetime lifetime, std::size_t components = 1) {
  return {.name = std::move(name), .kind = kind, .lifetime = lifetime, .components = components};
}

// Primal-dual denoising: image, state and its extrapolation, three dual components, one sum a slice.
Requirements stencil(std::array<std::size_t, 3> size, int iterations = 200) {
  Requirements r{.algorithm = "pdu", .size = size, .iterations = iterations};
  r.halo_low = r.halo_high = 1;
  r.reduction_halo = 1;
  r.arrays = {need("f", ArrayKind::volume, Lifetime::input), need("u", ArrayKind::volume, Lifetime::output),
              need("bar", ArrayKind::volume, Lifetime::state), need("p", ArrayKind::volume, Lifetime::state, 3),
              need("sums", ArrayKind::slice, Lifetime::sums, 2)};
  r.arrays.back().element_bytes = 8;
  r.arrays.back().elements = 1;
  return r;
}

// Back-projection whose slabs see a band of rows.
Requirements fdk(std::array<std::size_t, 3> size, std::array<std::size_t, 3> stack) {
  Requirements r{.algorithm = "fdk", .form = ProgramForm::voxel_sums, .size = size, .stack = stack};
  const auto nz = static_cast<double>(size[2]), rows = static_cast<double>(stack[1]);
  r.detector_rows = [nz, rows](Range slices) {  // magnified by 1.3 about the middle, so it leaves the detector
    const auto row = [&](double slice) { return (slice / nz - 0.5) * 1.3 * rows + rows / 2; };
    return Range{static_cast<std::int64_t>(row(static_cast<double>(slices.begin))) - 2,
                 static_cast<std::int64_t>(row(static_cast<double>(slices.end))) + 3};
  };
  auto spectrum = need("spectrum", ArrayKind::projections, Lifetime::scratch, 2);
  spectrum.row_length = 2 * stack[0] + 3;
  auto matrices = need("matrices", ArrayKind::fixed, Lifetime::input);
  matrices.elements = 12 * stack[2];
  r.arrays = {need("raw", ArrayKind::projections, Lifetime::input),
              spectrum,
              matrices,
              need("filtered", ArrayKind::projections, Lifetime::scratch),
              need("layers", ArrayKind::image, Lifetime::scratch),
              need("volume", ArrayKind::volume, Lifetime::output)};
  return r;
}

Requirements joseph(std::array<std::size_t, 3> size, std::array<std::size_t, 3> stack) {
  Requirements r;
  r.algorithm = "joseph";
  r.form = ProgramForm::ray_sums;
  r.size = size;
  r.stack = stack;
  r.halo_high = 1;
  r.arrays = {need("volume", ArrayKind::volume, Lifetime::input),
              need("projections", ArrayKind::projections, Lifetime::output)};
  return r;
}

DeviceModel device(std::size_t memory, double speed = 1, std::size_t max_allocation = 0) {
  DeviceModel result;
  result.name = "device of " + std::to_string(memory) + " bytes";
  result.memory = memory;
  result.max_allocation = max_allocation > 0 ? max_allocation : memory;
  result.speed = speed;
  return result;
}

std::size_t bytes_of(const Plan& plan, std::int64_t slices, std::int64_t rows) {
  std::size_t sum = 0;
  for (const auto& each : plan.requirements.arrays)
    sum += array_bytes(each, plan.requirements, slices, rows, plan.batch);
  return sum;
}

// Checks the promises of every plan.
void check(const Plan& plan, int minimum_slabs) {
  const auto& r = plan.requirements;
  const auto nz = static_cast<std::int64_t>(r.size[2]);
  ASSERT_FALSE(plan.slabs.empty());
  std::int64_t at = 0;
  int device_before = -1;
  std::map<int, std::pair<std::int64_t, std::int64_t>> extents;
  for (const auto& slab : plan.slabs) {
    EXPECT_EQ(slab.interior.begin, at);
    EXPECT_FALSE(slab.interior.empty());
    at = slab.interior.end;
    const auto k = std::int64_t{plan.iterations_per_exchange};
    const Range halos = slab.interior.grown(k * r.halo_low + r.reduction_halo, k * r.halo_high + r.reduction_halo, nz);
    if (plan.resident || r.stack[2] > 0) {
      EXPECT_EQ(slab.extended, halos);
    } else {  // time-skewed regions, see skew_test.cpp
      EXPECT_LE(slab.extended.begin, slab.interior.begin);
      EXPECT_GE(slab.extended.end, slab.interior.end);
      EXPECT_LE(slab.extended.end, halos.end);
      EXPECT_GE(slab.extended.begin,
                std::max<std::int64_t>(0, halos.begin - skewed_lag(r, plan.iterations_per_exchange)));
    }
    EXPECT_GE(slab.device, device_before);
    device_before = slab.device;
    ASSERT_LT(slab.device, static_cast<int>(plan.devices.size()));
    if (r.stack[1] > 0) {
      EXPECT_FALSE(slab.rows.empty());
      EXPECT_GE(slab.rows.begin, 0);
      EXPECT_LE(slab.rows.end, static_cast<std::int64_t>(r.stack[1]));
      if (r.detector_rows) {
        const auto wanted = r.detector_rows(slab.extended);
        EXPECT_LE(slab.rows.begin, std::max<std::int64_t>(0, wanted.begin));
        EXPECT_GE(slab.rows.end, std::min<std::int64_t>(wanted.end, static_cast<std::int64_t>(r.stack[1])));
      } else {
        EXPECT_EQ(slab.rows, (Range{0, static_cast<std::int64_t>(r.stack[1])}));
      }
    }
    auto& extent = extents[slab.device];
    extent.first = std::max(extent.first, slab.extended.count());
    extent.second = std::max(extent.second, slab.rows.count());
  }
  EXPECT_EQ(at, nz);
  for (const auto& [number, extent] : extents) {
    const auto& model = plan.devices[static_cast<std::size_t>(number)];
    EXPECT_LE(bytes_of(plan, extent.first, extent.second), model.memory);
    for (const auto& each : r.arrays)
      EXPECT_LE(array_bytes(each, r, extent.first, extent.second, plan.batch), model.max_allocation) << each.name;
    for (const auto& slab : plan.slabs)
      if (slab.device == number) {
        EXPECT_EQ(slab.bytes, bytes_of(plan, extent.first, extent.second));
      }
  }
  EXPECT_GE(static_cast<std::int64_t>(plan.slabs.size()), std::min<std::int64_t>(minimum_slabs, nz));
  if (plan.resident) {
    EXPECT_EQ(extents.size(), plan.slabs.size());
  }
  if (r.stack[2] > 0) {
    EXPECT_EQ(plan.resident, extents.size() == plan.slabs.size());
  }
  EXPECT_GE(plan.iterations_per_exchange, 1);
  EXPECT_LE(plan.iterations_per_exchange, std::max(1, r.iterations));
  EXPECT_EQ(plan.batch > 0, r.stack[2] > 0);
  EXPECT_LE(plan.batch, static_cast<int>(r.stack[2]));
  EXPECT_GE(plan.passes, 1);
  EXPECT_GT(plan.bus_bytes, 0);
}

class RandomPlans : public ::testing::TestWithParam<int> {};

TEST_P(RandomPlans, keepTheirPromises) {
  std::mt19937 random(static_cast<unsigned>(GetParam()));
  const auto pick = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); };
  int planned = 0, refused = 0;
  for (int n = 0; n < 250; ++n) {
    const auto side = [&] { return static_cast<std::size_t>(pick(0, 3) == 0 ? pick(1, 4) : pick(1, 93)); };
    const std::array<std::size_t, 3> size{side(), side(), side()}, stack{side(), side(), side()};
    const int kind = pick(0, 2);
    Requirements r = kind == 0 ? stencil(size, pick(0, 300)) : kind == 1 ? fdk(size, stack) : joseph(size, stack);
    if (kind == 0) {
      r.halo_low = pick(0, 3);
      r.halo_high = pick(0, 3);
      r.reduction_halo = pick(0, 2);
      r.reduction_every_iteration = pick(0, 3) == 0;
    }
    r.preferred_batch = pick(1, 40);
    // Budgets from too small to more than enough.
    double whole = 0;
    for (const auto& each : r.arrays)
      whole += static_cast<double>(array_bytes(each, r, static_cast<std::int64_t>(size[2]),
                                               static_cast<std::int64_t>(stack[1]), r.preferred_batch));
    std::vector<DeviceModel> devices;
    for (int d = pick(1, 5); d > 0; --d) {
      const auto memory = static_cast<std::size_t>(whole * std::exp2(pick(-60, 10) / 10.0)) + 1;
      devices.push_back(device(memory, pick(1, 100) / 10.0,
                               pick(0, 1) == 0 ? memory : memory / static_cast<std::size_t>(pick(1, 4)) + 1));
    }
    PlanOptions options;
    options.minimum_slabs = pick(0, 1) == 0 ? 0 : pick(1, 9);
    options.iterations_per_exchange = pick(0, 3) == 0 ? pick(1, 5) : 0;
    options.batch = pick(0, 3) == 0 ? pick(1, 100) : 0;
    try {
      const Plan plan = make_plan(r, devices, options);
      SCOPED_TRACE(plan.text());
      check(plan, options.minimum_slabs);
      if (kind == 0) {
        if (r.reduction_every_iteration) {
          EXPECT_EQ(plan.iterations_per_exchange, 1);
        } else if (options.iterations_per_exchange > 0) {
          EXPECT_EQ(plan.iterations_per_exchange,
                    std::clamp(options.iterations_per_exchange, 1, std::max(1, r.iterations)));
        }
      } else if (options.batch > 0) {
        EXPECT_EQ(plan.batch, std::min<int>(options.batch, static_cast<int>(stack[2])));
      }
      EXPECT_EQ(plan.json().at("slabs").size(), plan.slabs.size());
      ++planned;
    } catch (const PlanError& error) {
      EXPECT_THAT(error.what(), HasSubstr("`device_memory`"));
      ++refused;
      // No job may be refused that would have fitted with one slice, one view and one iteration at a time.
      if (options.iterations_per_exchange > 1 || options.batch > 1 || kind != 0) continue;
      const auto visited = skewed_requirements(r, 1, false);  // with the seams
      // the last slab of a device between others
      const auto thickest = std::min<std::int64_t>(
          static_cast<std::int64_t>(size[2]),
          1 + std::max<std::int64_t>(r.halo_low + r.reduction_halo, skewed_lag(r, 1)) + r.halo_high + r.reduction_halo);
      for (const auto& each : devices) {
        std::size_t sum = 0, largest = 0;
        for (const auto& array : visited.arrays) {
          sum += array_bytes(array, visited, thickest, 0, 0);
          largest = std::max(largest, array_bytes(array, visited, thickest, 0, 0));
        }
        EXPECT_TRUE(sum > each.memory || largest > each.max_allocation) << error.what();
      }
    }
    if (HasFailure()) return;
  }
  EXPECT_GT(planned, 60);
  EXPECT_GT(refused, 10);
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomPlans, ::testing::Range(1, 9), ::testing::PrintToStringParamName());

TEST(Plan, keepsTheWholeVolumeOnOneDeviceThatHasRoom) {
  const Plan plan = make_plan(stencil({64, 64, 64}), std::vector{device(gibi)});
  ASSERT_EQ(plan.slabs.size(), 1u);
  EXPECT_EQ(plan.slabs[0].interior, (Range{0, 64}));
  EXPECT_EQ(plan.slabs[0].extended, (Range{0, 64}));
  EXPECT_TRUE(plan.resident);
  EXPECT_EQ(plan.iterations_per_exchange, 200);
  EXPECT_EQ(plan.passes, 1);
  EXPECT_EQ(plan.bus_bytes, 2.0 * 4 * 64 * 64 * 64);  // the image up, the result down
}

TEST(Plan, usesEveryByteThatFits) {
  const auto r = stencil({10, 10, 100});
  const std::size_t slice = 10 * 10 * 4 * 6 + 16;
  EXPECT_EQ(make_plan(r, std::vector{device(100 * slice)}).slabs.size(), 1u);
  EXPECT_GT(make_plan(r, std::vector{device(100 * slice - 1)}).slabs.size(), 1u);
  // The three dual components are one array.
  EXPECT_EQ(make_plan(r, std::vector{device(100 * slice, 1, 100 * 1200)}).slabs.size(), 1u);
  EXPECT_GT(make_plan(r, std::vector{device(100 * slice, 1, 100 * 1200 - 1)}).slabs.size(), 1u);
}

TEST(Plan, sharesSlicesBySpeed) {
  const auto r = stencil({32, 32, 100});
  const Plan plan = make_plan(r, std::vector{device(gibi, 1), device(gibi, 3), device(gibi, 6)});
  ASSERT_EQ(plan.slabs.size(), 3u);
  EXPECT_TRUE(plan.resident);
  EXPECT_EQ(plan.slabs[0].interior, (Range{0, 10}));
  EXPECT_EQ(plan.slabs[1].interior, (Range{10, 40}));
  EXPECT_EQ(plan.slabs[2].interior, (Range{40, 100}));
}

TEST(Plan, goesByTheSpeedsThatAreGivenForIt) {
  PlanOptions options;
  std::vector devices{device(gibi, 0), device(2 * gibi, 0)};
  options.speeds = {{devices[0].name, 1}, {devices[1].name, 4}};
  const Plan plan = make_plan(stencil({8, 8, 100}), devices, options);
  ASSERT_EQ(plan.slabs.size(), 2u);
  EXPECT_EQ(plan.slabs[0].interior, (Range{0, 20}));
}

TEST(Plan, sharesAnewByOtherSpeeds) {
  const std::vector devices{device(gibi, 1), device(gibi, 3), device(gibi, 6)};
  const Plan plan = make_plan(stencil({32, 32, 100}), devices);
  const auto equal = rebalanced(plan, std::vector{5.0, 5.0, 10.0});
  ASSERT_TRUE(equal);
  check(*equal, 3);
  EXPECT_TRUE(equal->resident);
  EXPECT_EQ(equal->iterations_per_exchange, plan.iterations_per_exchange);
  EXPECT_EQ(equal->slabs[0].interior, (Range{0, 25}));
  EXPECT_EQ(equal->slabs[1].interior, (Range{25, 50}));
  EXPECT_EQ(plan.slabs[0].interior, (Range{0, 10}));
  // Streamed slabs, and an excluded device.
  std::vector small{device(mebi, 1), device(1000, 1), device(mebi, 9)};
  const Plan visited = make_plan(stencil({32, 32, 100}), small);
  ASSERT_FALSE(visited.resident);
  const auto other = rebalanced(visited, std::vector{1.0, 0.0, 1.0});
  ASSERT_TRUE(other);
  check(*other, 2);
  EXPECT_FALSE(other->resident);
  std::int64_t first = 0;
  for (const auto& slab : other->slabs) {
    EXPECT_NE(slab.device, 1);
    if (slab.device == 0) first += slab.interior.count();
  }
  EXPECT_EQ(first, 50);
}

TEST(Plan, givesTheRestToOthersWhenAFastDeviceIsSmall) {
  const auto r = stencil({256, 256, 100});
  const std::size_t slice = 256 * 256 * 4 * 6 + 16;
  std::vector devices{device(20 * slice, 10), device(gibi, 1)};
  for (auto& each : devices) each.memory_bandwidth = 20e9;  // slow enough for the small device to be of use
  const Plan plan = make_plan(r, devices);
  ASSERT_EQ(plan.slabs.size(), 2u);
  EXPECT_TRUE(plan.resident);
  EXPECT_LE(plan.slabs[0].extended.count(), 20);
  EXPECT_GT(plan.slabs[0].interior.count(), 9);  // its share by speed would be 91
  EXPECT_EQ(plan.slabs[1].interior.end, 100);
}

TEST(Plan, leavesOutADeviceThatCostsMoreThanItBrings) {
  // A tiny volume: waiting for each other takes longer than the work.
  const Plan plan =
      make_plan(stencil({32, 32, 100}), std::vector{device(20 * (32 * 32 * 4 * 6 + 16), 10), device(gibi, 1)});
  ASSERT_EQ(plan.slabs.size(), 1u);
  EXPECT_EQ(plan.slabs[0].device, 1);
  EXPECT_EQ(plan.iterations_per_exchange, 200);
}

TEST(Plan, leavesOutDevicesThatWouldGetNoSlice) {
  const Plan plan = make_plan(stencil({8, 8, 2}), std::vector{device(gibi, 1), device(gibi, 5), device(gibi, 5)});
  ASSERT_EQ(plan.slabs.size(), 2u);
  EXPECT_EQ(plan.slabs[0].device, 1);  // numbered as they were given
  EXPECT_EQ(plan.slabs[1].device, 2);
  // ... and those on which nothing fits.
  const Plan other = make_plan(stencil({64, 64, 50}), std::vector{device(1000), device(gibi)});
  ASSERT_EQ(other.slabs.size(), 1u);
  EXPECT_EQ(other.slabs[0].device, 1);
}

TEST(Plan, dealsManySlabsInRegions) {
  PlanOptions options{.minimum_slabs = 7};
  const Plan plan = make_plan(stencil({8, 8, 93}), std::vector{device(gibi, 2), device(gibi, 1)}, options);
  check(plan, 7);
  EXPECT_FALSE(plan.resident);
  std::set<int> used;
  for (const auto& slab : plan.slabs) used.insert(slab.device);
  EXPECT_EQ(used.size(), 2u);
  options.minimum_slabs = 50;
  EXPECT_EQ(make_plan(stencil({8, 8, 7}), std::vector{device(gibi)}, options).slabs.size(), 7u);
}

TEST(Plan, exchangesRarelyOutOfCoreAndOftenBetweenDevices) {
  // 1024^3 in 4 GiB over a bus much slower than the device's memory: many iterations a pass.
  auto card = device(4 * gibi);
  card.bus_bandwidth = 12e9;
  card.memory_bandwidth = 1e12;
  const Plan out_of_core = make_plan(stencil({1024, 1024, 1024}), std::vector{card});
  EXPECT_FALSE(out_of_core.resident);
  EXPECT_GT(out_of_core.iterations_per_exchange, 4);
  EXPECT_LT(out_of_core.passes, 50);
  PlanOptions each{.iterations_per_exchange = 1};
  EXPECT_LT(out_of_core.bus_bytes, 0.5 * make_plan(stencil({1024, 1024, 1024}), std::vector{card}, each).bus_bytes);
  // Streamed slabs transfer nothing twice, and overlap.
  const auto& r = out_of_core.requirements;
  EXPECT_TRUE(is_overlapped(r));
  EXPECT_LT(out_of_core.bus_bytes, out_of_core.passes * 1024.0 * 1024 * 1024 * (4 + 2 * 20));
  // Reductions that do not steer do not end a pass.
  auto told = stencil({1024, 1024, 1024}, 60), steered = told;
  for (int due = 5; due < 60; due += 5) told.reductions.push_back(due);
  steered.reductions = told.reductions;
  told.reductions_steer = false;
  EXPECT_GE(make_plan(steered, std::vector{card}).passes, 12);
  EXPECT_LT(make_plan(told, std::vector{card}).passes, 6);
  // Two devices that hold it: transfers are small, computing halos twice is not.
  const Plan two = make_plan(stencil({1024, 1024, 1024}), std::vector{device(32 * gibi), device(32 * gibi)});
  EXPECT_TRUE(two.resident);
  EXPECT_LE(two.iterations_per_exchange, 8);
}

// 1024^3 that fit: 0.4 s of kernels, and 0.2 s over the bus.
DeviceModel roomy_card() {
  auto card = device(64 * gibi);
  card.bus_bandwidth = 40e9;
  card.memory_bandwidth = 8e12;
  card.latency = 4e-5;
  return card;
}

TEST(Plan, streamsSlabsThatFitWhereThatHidesTheirTransfers) {
  auto r = stencil({1024, 1024, 1024}, 60);
  r.reductions_steer = false;
  PlanOptions stay{.may_stream = false};
  for (const std::size_t count : {1, 2}) {
    const std::vector cards(count, roomy_card());
    const Plan plan = make_plan(r, cards), staying = make_plan(r, cards, stay);
    EXPECT_TRUE(plan.streamed);
    EXPECT_FALSE(plan.resident);
    EXPECT_TRUE(is_overlapped(plan.requirements));
    EXPECT_EQ(plan.passes, 1);
    EXPECT_GE(plan.slabs.size(), 3 * count);
    check(plan, static_cast<int>(count));
    EXPECT_TRUE(staying.resident);
    EXPECT_FALSE(staying.streamed);
    EXPECT_LT(plan.seconds, 0.9 * staying.seconds);
    if (count == 1) {
      EXPECT_EQ(plan.bus_bytes, staying.bus_bytes);
    }
    EXPECT_THAT(plan.text(), HasSubstr("slabs are streamed, which hides their transfers"));
  }
}

TEST(Plan, letsSlabsStayWhereStreamingWouldNotDo) {
  auto told = stencil({1024, 1024, 1024}, 60);
  told.reductions_steer = false;
  const auto expect_stays = [](const Requirements& r, const DeviceModel& card, const PlanOptions& options,
                               const char* why) {
    EXPECT_TRUE(make_plan(r, std::vector{card}, options).resident) << why;
  };
  auto steered = told;
  steered.reductions_steer = true;
  expect_stays(steered, roomy_card(), {}, "the end is not known before");
  auto first = told;
  first.reductions = {0, 30};
  expect_stays(first, roomy_card(), {}, "sums before the first iteration");
  auto shares = roomy_card();
  shares.shares_memory = true;
  expect_stays(told, shares, {}, "there is no bus");
  PlanOptions early{.may_end_early = true};
  expect_stays(told, roomy_card(), early, "all slabs may have to end early together");
  expect_stays(stencil({1024, 1024, 1024}, 2000), roomy_card(), {}, "transfers are little of it");
}

// The fewest slabs that fit may be slower than more of them: more memory is no reason for a plan that is clearly slower
// (5 % are not worth more slabs).
TEST(Plan, isNotSlowerWithMoreMemory) {
  auto r = stencil({1024, 1024, 1024}, 60);
  r.reductions_steer = false;
  auto card = roomy_card();
  double least = std::numeric_limits<double>::infinity();
  for (const std::size_t memory : {2, 4, 8, 12, 16, 20, 24, 32}) {
    card.memory = card.max_allocation = memory * gibi;
    const Plan plan = make_plan(r, std::vector{card});
    EXPECT_LE(plan.seconds, 1.06 * least) << memory << " GiB";
    least = std::min(least, plan.seconds);
  }
}

TEST(Plan, exchangesAfterEveryIterationThatReduces) {
  auto r = stencil({64, 64, 64});
  r.reduction_every_iteration = true;
  PlanOptions options{.minimum_slabs = 3, .iterations_per_exchange = 5};
  const Plan plan = make_plan(r, std::vector{device(gibi)}, options);
  EXPECT_EQ(plan.iterations_per_exchange, 1);
  EXPECT_EQ(plan.passes, 200);
}

TEST(Plan, backprojectionTradesBatchesForThickness) {
  const auto r = fdk({512, 512, 512}, {512, 512, 720});
  const Plan roomy = make_plan(r, std::vector{device(8 * gibi)});
  EXPECT_EQ(roomy.slabs.size(), 1u);
  EXPECT_EQ(roomy.batch, 16);
  const Plan tight = make_plan(r, std::vector{device(520 * mebi)});
  check(tight, 0);
  const Plan tiny = make_plan(r, std::vector{device(8 * mebi)});
  check(tiny, 0);
  EXPECT_GT(tiny.slabs.size(), 50u);
  EXPECT_LT(tiny.slabs[tiny.slabs.size() / 2].rows.count(), 100);
  // Bands of rows keep the stack from being sent whole for each slab.
  EXPECT_LT(tiny.bus_bytes, 10.0 * 4 * 512 * 512 * 720);
}

TEST(Plan, projectionFitsTheSmallestOfTheDevicesThatShareItsViews) {
  const auto r = joseph({128, 128, 128}, {64, 64, 100});
  const Plan plan = make_plan(r, std::vector{device(gibi), device(2 * mebi)});
  for (const auto& slab : plan.slabs) EXPECT_LE(slab.bytes, 2 * mebi);
  EXPECT_GT(plan.slabs.size(), 1u);
  EXPECT_EQ(plan.slabs.front().extended.end, plan.slabs.front().interior.end + 1);
  EXPECT_EQ(plan.slabs.back().extended, plan.slabs.back().interior);
}

TEST(Plan, isQuickForHugeVolumes) {
  const auto start = std::chrono::steady_clock::now();
  const Plan plan = make_plan(stencil({4096, 4096, 4096}, 1000), std::vector(4, device(14 * gibi, 1, 3 * gibi)));
  check(plan, 0);
  check(make_plan(fdk({4096, 4096, 4096}, {4096, 4096, 2000}), std::vector{device(12 * gibi)}), 0);
  EXPECT_LT(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(), 5.0);
}

std::string plan_error(const Requirements& r, const std::vector<DeviceModel>& devices,
                       const PlanOptions& options = {}) {
  return refusal_of<PlanError>([&] { make_plan(r, devices, options); });
}

TEST(PlanErrors, showNeededAndAvailableBytes) {
  const auto text = plan_error(stencil({1024, 1024, 100}), {device(64 * mebi), device(32 * mebi)});
  EXPECT_THAT(text, HasSubstr("pdu"));
  EXPECT_THAT(text, HasSubstr("1024 x 1024"));
  EXPECT_THAT(text, HasSubstr("48.00 MiB"));  // p and its seams: 3 components, 4 slices
  EXPECT_THAT(text, HasSubstr("seam of p"));
  EXPECT_THAT(text, HasSubstr("64.00 MiB"));
  EXPECT_THAT(text, HasSubstr("32.00 MiB"));
  EXPECT_THAT(text, HasSubstr("Give more with `device_memory`"));
  EXPECT_THAT(text, HasSubstr("`device`,"));
}

TEST(PlanErrors, tellALargestAllocationFromABudget) {
  const auto text = plan_error(stencil({1024, 1024, 100}), {device(gibi, 1, 16 * mebi)});
  EXPECT_THAT(text, HasSubstr("more than one allocation may have"));
  EXPECT_THAT(text, HasSubstr("`device_memory` does not change"));
}

TEST(PlanErrors, nameWhatWasAskedForTooMuch) {
  PlanOptions options{.iterations_per_exchange = 40};
  EXPECT_THAT(plan_error(stencil({256, 256, 500}), {device(32 * mebi)}, options),
              HasSubstr("40 iterations per exchange"));
  options = {};
  options.batch = 500;
  EXPECT_THAT(plan_error(joseph({16, 16, 16}, {512, 512, 500}), {device(32 * mebi)}, options), HasSubstr("500 views"));
}

TEST(PlanErrors, wantADeviceAndAVolume) {
  EXPECT_THAT(plan_error(stencil({8, 8, 8}), {}), HasSubstr("`device`"));
  EXPECT_THROW(make_plan(stencil({8, 0, 8}), std::vector{device(gibi)}), InputError);
}

TEST(PlanText, isATableOfDevicesSlabsAndArrays) {
  auto r = stencil({64, 64, 64});
  r.kernels = {"pdu_dual", "pdu_primal"};
  PlanOptions options{.minimum_slabs = 20};
  const Plan plan = make_plan(r, std::vector{device(gibi)}, options);
  const auto text = plan.text();
  for (const char* part : {"pdu", "64 x 64 x 64", "200 iterations", "1.00 GiB", "with halos", "(4 more)", "bar",
                           "over the bus", "pdu_dual, pdu_primal"})
    EXPECT_THAT(text, HasSubstr(part));
  const auto json = plan.json();
  EXPECT_EQ(json.at("size"), (std::vector<int>{64, 64, 64}));
  EXPECT_EQ(json.at("slabs").size(), 20u);
  EXPECT_EQ(json.at("slabs")[0].at("interior"), (std::vector<int>{0, 3}));
  EXPECT_EQ(json.at("bus_bytes").get<double>(), plan.bus_bytes);
}

TEST(ArrayBytes, followKindElementAndComponents) {
  Requirements r{.size = {5, 7, 11}, .stack = {13, 17, 19}};
  EXPECT_EQ(array_bytes(need("", ArrayKind::volume, Lifetime::state, 3), r, 4, 9, 9), 5u * 7 * 4 * 3 * 4);
  auto slice = need("", ArrayKind::slice, Lifetime::sums, 2);
  slice.element_bytes = 8;
  slice.elements = 6;
  EXPECT_EQ(array_bytes(slice, r, 4, 9, 9), 6u * 8 * 2 * 4);
  auto padded = need("", ArrayKind::projections, Lifetime::scratch);
  EXPECT_EQ(array_bytes(padded, r, 4, 3, 2), 13u * 3 * 2 * 4);
  padded.row_length = 32;
  padded.components = 2;
  EXPECT_EQ(array_bytes(padded, r, 4, 3, 2), 32u * 3 * 2 * 8);
  EXPECT_EQ(array_bytes(need("", ArrayKind::image, Lifetime::scratch), r, 4, 3, 2), 13u * 17 * 2 * 4);
  auto image = need("", ArrayKind::image, Lifetime::scratch, 2);
  EXPECT_THAT(image_extent(image, r, 6), testing::ElementsAre(13, 17, 3));
  EXPECT_EQ(array_bytes(image, r, 4, 3, 6), 13u * 17 * 6 * 4);
  image.layer_views = 1;
  image.rows = 9;
  EXPECT_THAT(image_extent(image, r, 6), testing::ElementsAre(13, 9, 6));
  EXPECT_EQ(array_bytes(image, r, 4, 3, 6), 13u * 9 * 6 * 8);
  padded.rows = 9;
  EXPECT_EQ(array_bytes(padded, r, 4, 3, 2), 32u * 9 * 2 * 8);
  auto planes = need("", ArrayKind::planes, Lifetime::scratch);  // slices along the height: 8 for 5
  EXPECT_THAT(plane_extent(planes, r, 5), testing::ElementsAre(7, 8, 5));
  planes.axis = 1;
  EXPECT_THAT(plane_extent(planes, r, 5), testing::ElementsAre(5, 8, 7));
  EXPECT_EQ(array_bytes(planes, r, 5, 3, 2), 5u * 8 * 7 * 4);
  planes.axis = 2;
  EXPECT_THAT(plane_extent(planes, r, 5), testing::ElementsAre(5, 7, 5));
  auto fixed = need("", ArrayKind::fixed, Lifetime::input);
  fixed.elements = 12;
  EXPECT_EQ(array_bytes(fixed, r, 4, 3, 2), 48u);
  // More voxels than 32 bits count.
  r.size = {4096, 4096, 4096};
  EXPECT_EQ(array_bytes(need("", ArrayKind::volume, Lifetime::state, 3), r, 4096, 0, 0), std::size_t{3} << 38);
}

}  // namespace
}  // namespace halocline::plan_test
