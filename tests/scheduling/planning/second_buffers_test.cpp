// labels: unit
// Second buffers of arrays in host memory: the arrays that have one, their share of the memory, and the choice where
// memory is short.
#include "scheduling/planning/second_buffers.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "scheduling/planning/program_plan.hpp"
#include "scheduling/planning/step_tasks.hpp"

namespace halocline::second_buffers_test {
namespace {

constexpr std::size_t side = 64, batch_bytes = 4 * side * side * 16, volume_bytes = 4 * side * side * side;

// One array of projections.
Program small_program() {
  Program program;
  program.needs.algorithm = "example";
  program.needs.size = {side, side, side};
  program.needs.form = ProgramForm::steps;
  program.needs.stack = {side, side, 160};
  program.needs.iterations = 4;
  program.needs.arrays = {{.name = "x", .kind = ArrayKind::volume, .lifetime = Lifetime::output},
                          {.name = "r", .kind = ArrayKind::projections, .lifetime = Lifetime::state}};
  program.each = {{.name = "project", .over = Domain::ray_sums, .arrays = {in("x"), out("r")}, .units = 1e6},
                  {.name = "backproject", .over = Domain::voxel_sums, .arrays = {in("r"), out("x")}, .units = 1e6}};
  return program;
}

// Three that a step over views names together.
Program larger_program() {
  Program program = small_program();
  program.needs.arrays.push_back({.name = "b", .kind = ArrayKind::projections, .lifetime = Lifetime::state});
  program.needs.arrays.push_back({.name = "w", .kind = ArrayKind::projections, .lifetime = Lifetime::state});
  program.each.push_back({.name = "residual", .over = Domain::views, .arrays = {in("b"), in("w"), inout("r")}});
  return program;
}

Plan plan_of(const Program& program, std::size_t memory) {
  DeviceModel device{.name = "0"};
  device.memory = device.max_allocation = memory;
  return plan_program(program, std::vector{device});
}

int count_spares(const Plan& plan) {
  int count = 0;
  for (const auto& need : plan.requirements.arrays) count += need.name.starts_with("spare") ? 1 : 0;
  return count;
}

void expect_whole(const Plan& plan) {
  std::size_t bytes = 0;
  for (const auto& need : plan.requirements.arrays)
    bytes += array_bytes(need, plan.requirements, plan.slabs.front().extended.count(), side, plan.batch);
  EXPECT_EQ(plan.slabs.front().bytes, bytes) << "what is declared is what is planned";
  EXPECT_LE(bytes, plan.devices.front().memory);
}

TEST(SecondBuffers, AreTakenWhereArraysLieAtHome) {
  const Program program = small_program();
  const Plan in_core = plan_of(program, std::size_t{1} << 30);
  EXPECT_EQ(count_spares(in_core), 0);
  for (const Step& step : program.each) EXPECT_TRUE(second_buffers(step, in_core).empty());
  const Plan plan = plan_of(program, volume_bytes + 2 * batch_bytes);
  EXPECT_EQ(place_of(plan, "r"), Place::host);
  EXPECT_EQ(plan.batch, 16);
  EXPECT_EQ(count_spares(plan), 1);
  for (const Step& step : program.each) {
    EXPECT_EQ(second_buffers(step, plan).size(), 1u);
    EXPECT_TRUE(overlaps(step, plan));
  }
  expect_whole(plan);
}

TEST(SecondBuffers, AreWorthASmallerBatch) {
  const Program program = small_program();
  const Plan plan = plan_of(program, volume_bytes + 2 * batch_bytes - 4);
  EXPECT_EQ(plan.batch, 8);
  EXPECT_EQ(count_spares(plan), 1);
  expect_whole(plan);
  const Plan none = plan_of(program, volume_bytes + batch_bytes / 16);
  EXPECT_EQ(none.batch, 1) << "not even two views beside the volume";
  EXPECT_EQ(count_spares(none), 0);
  EXPECT_FALSE(overlaps(program.each.front(), none));
  expect_whole(none);
}

TEST(SecondBuffers, AreOthersThatAStepDoesNotName) {
  const Program program = larger_program();
  // steps over rays and voxels need no extra one, steps over views three
  const Plan plan = plan_of(program, volume_bytes + 6 * batch_bytes);
  EXPECT_EQ(count_spares(plan), 3);
  EXPECT_EQ(plan.batch, 16);
  for (const Step& step : program.each) {
    EXPECT_TRUE(overlaps(step, plan));
    std::set<std::string> all;
    for (const auto& [name, second] : second_buffers(step, plan)) {
      all.insert(second);
      for (const auto& array : step.arrays) EXPECT_NE(second, array.name);
    }
    EXPECT_EQ(all.size(), second_buffers(step, plan).size());
  }
  const Plan smaller = plan_of(program, volume_bytes + 6 * batch_bytes - 4);
  EXPECT_EQ(count_spares(smaller), 0);
  EXPECT_EQ(smaller.batch, 16) << "steps over views alone are not worth a smaller batch";
  EXPECT_TRUE(overlaps(program.each[0], smaller));
  EXPECT_TRUE(overlaps(program.each[1], smaller));
  EXPECT_FALSE(overlaps(program.each[2], smaller));
  expect_whole(smaller);
}

TEST(SecondBuffers, HaveTheShapeOfTheirArray) {
  Program program = larger_program();
  program.needs.arrays.back().components = 2;  // w
  const Plan plan = plan_of(program, volume_bytes + 9 * batch_bytes);
  for (const Step& step : program.each)
    for (const auto& [name, second] : second_buffers(step, plan)) {
      const ArrayNeed &a = array_of(plan.requirements, name), &b = array_of(plan.requirements, second);
      EXPECT_EQ(array_bytes(a, plan.requirements, 1, side, 7), array_bytes(b, plan.requirements, 1, side, 7));
    }
  EXPECT_TRUE(overlaps(program.each.back(), plan));
}

TEST(SecondBuffers, HideTransfersInTheForecast) {
  Program program = small_program();
  for (Step& step : program.each) step.units = 1e12;  // kernels take longer than transfers
  const Plan with = plan_of(program, volume_bytes + 2 * batch_bytes),
             without = plan_of(program, volume_bytes + batch_bytes / 16);
  EXPECT_EQ(with.bus_bytes, without.bus_bytes);
  EXPECT_LT(with.seconds, without.seconds);
}

}  // namespace
}  // namespace halocline::second_buffers_test
