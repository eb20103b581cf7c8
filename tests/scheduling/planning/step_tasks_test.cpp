// labels: unit
// The tasks of a program's steps: every ray and voxel gets every part once, in an order that no split changes.
#include "scheduling/planning/step_tasks.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "host/system/error.hpp"
#include "scheduling/planning/program_plan.hpp"

namespace halocline::step_tasks_test {
namespace {

using Move = Residence::Move;

Program program_of(std::array<std::size_t, 3> size, std::array<std::size_t, 3> stack) {
  Program program;
  program.needs.algorithm = "example";
  program.needs.size = size;
  program.needs.form = ProgramForm::steps;
  program.needs.stack = stack;
  program.needs.halo_high = 1;
  program.needs.iterations = 4;
  program.needs.arrays = {{.name = "x", .kind = ArrayKind::volume, .lifetime = Lifetime::output},
                          {.name = "u", .kind = ArrayKind::volume, .lifetime = Lifetime::iteration},
                          {.name = "b", .kind = ArrayKind::projections, .lifetime = Lifetime::input},
                          {.name = "r", .kind = ArrayKind::projections, .lifetime = Lifetime::state},
                          {.name = "lines", .kind = ArrayKind::projections, .components = 4}};
  program.each = {{.name = "project", .over = Domain::ray_sums, .arrays = {in("x"), out("r")}},
                  {.name = "residual", .over = Domain::views, .arrays = {in("b"), inout("r")}},
                  {.name = "backproject", .over = Domain::voxel_sums, .arrays = {in("r"), out("u")}},
                  {.name = "update", .over = Domain::slices, .arrays = {in("u"), inout("x")}}};
  return program;
}

std::vector<DeviceModel> devices_of(int count, std::size_t memory) {
  std::vector<DeviceModel> devices;
  for (int n = 0; n < count; ++n) {
    DeviceModel device{.name = std::to_string(n)};
    device.memory = device.max_allocation = memory;
    devices.push_back(device);
  }
  return devices;
}

struct Split {
  int devices, slabs, batch;
};
std::vector<Split> splits() {
  std::vector<Split> all;
  for (const int devices : {1, 2, 3})
    for (const int slabs : {0, 3, 7})
      for (const int batch : {0, 1, 2, 5}) all.push_back({devices, slabs, batch});
  return all;
}
Plan plan_of(const Program& program, const Split& split) {
  PlanOptions options{.minimum_slabs = split.slabs, .batch = split.batch};
  const auto devices = devices_of(split.devices, std::size_t{1} << 30);
  for (const auto& device : devices) options.speeds[device.name] = 1;
  return plan_program(program, devices, options);
}

std::vector<Task> tasks_on(const Program& program, const Step& step, const Plan& plan, int device) {
  return tasks_of(program, step, views_of(step, program.needs, {}), plan, device, {step, plan});
}

TEST(Tasks, GiveEveryRayEverySlabOnceInOrder) {
  const Program program = program_of({5, 4, 7}, {6, 5, 9});
  for (const Split& split : splits()) {
    const Plan plan = plan_of(program, split);
    std::map<std::int64_t, std::vector<std::size_t>> slabs_of_view;
    std::int64_t views = 0;
    std::map<std::int64_t, int> begun;
    for (int device = 0; device < split.devices; ++device)
      for (const Task& task : tasks_on(program, program.each[0], plan, device)) {
        EXPECT_EQ(plan.slabs[task.slab].device, device);
        EXPECT_LE(task.views.count(), plan.batch);
        EXPECT_EQ(task.rows, (Range{0, 5}));
        for (auto view = task.views.begin; view < task.views.end; ++view) {
          slabs_of_view[view].push_back(task.slab);
          begun[view] += task.begins ? 1 : 0;
          ++views;
        }
      }
    EXPECT_EQ(views, 9 * static_cast<std::int64_t>(plan.slabs.size()));
    for (const auto& [view, slabs] : slabs_of_view) {
      EXPECT_TRUE(std::is_sorted(slabs.begin(), slabs.end()));
      EXPECT_EQ(begun[view], 1) << "set to 0 by the first slab alone";
    }
  }
}

TEST(Tasks, GiveEveryVoxelEveryViewOnceInOrder) {
  Program program = program_of({5, 4, 7}, {6, 5, 9});
  program.needs.detector_rows = [](Range slices) {
    return Range{slices.begin / 2, std::min<std::int64_t>(5, slices.end)};
  };
  for (const Split& split : splits()) {
    const Plan plan = plan_of(program, split);
    std::map<std::size_t, std::int64_t> next;
    for (int device = 0; device < split.devices; ++device)
      for (const Task& task : tasks_on(program, program.each[2], plan, device)) {
        EXPECT_EQ(task.views.begin, next[task.slab]);
        EXPECT_EQ(task.begins, task.views.begin == 0);
        next[task.slab] = task.views.end;
        if (plan.slabs.size() > 1) {
          EXPECT_EQ(task.rows, program.needs.detector_rows(plan.slabs[task.slab].extended));
        }
      }
    ASSERT_EQ(next.size(), plan.slabs.size());
    for (const auto& [slab, end] : next) EXPECT_EQ(end, 9);
  }
}

TEST(Tasks, GoOverEveryViewAndSliceOnce) {
  const Program program = program_of({5, 4, 7}, {6, 5, 9});
  for (const Split& split : splits()) {
    const Plan plan = plan_of(program, split);
    std::multiset<std::int64_t> views, slices;
    for (int device = 0; device < split.devices; ++device) {
      for (const Task& task : tasks_on(program, program.each[1], plan, device))
        for (auto view = task.views.begin; view < task.views.end; ++view) views.insert(view);
      for (const Task& task : tasks_on(program, program.each[3], plan, device))
        for (auto z = plan.slabs[task.slab].interior.begin; z < plan.slabs[task.slab].interior.end; ++z)
          slices.insert(z);
    }
    EXPECT_THAT(views, testing::ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8));
    EXPECT_THAT(slices, testing::ElementsAre(0, 1, 2, 3, 4, 5, 6));
  }
}

TEST(Residence, BringsWhatIsReadAndTakesBackWhatChanged) {
  Plan plan;  // the batch is smaller than the stack, so "r" is in host memory
  plan.requirements.stack = {5, 5, 4};
  plan.requirements.arrays = {{.name = "r", .kind = ArrayKind::projections, .lifetime = Lifetime::iteration},
                              {.name = "x", .lifetime = Lifetime::state}};
  plan.batch = 2;
  Residence residence(plan);
  const Residence::Part first{{0, 2}, {0, 5}}, second{{2, 4}, {0, 5}};
  const auto kinds = [](const std::vector<Move>& moves) {
    std::string text;
    for (const auto& move : moves)
      text += move.kind == Move::Kind::load ? 'L' : move.kind == Move::Kind::store ? 'S' : 'Z';
    return text;
  };
  EXPECT_EQ(kinds(residence.before_use("r", first, Access::in, false)), "L");
  EXPECT_EQ(kinds(residence.before_use("r", first, Access::inout, false)), "") << "it is there";
  EXPECT_EQ(kinds(residence.before_use("r", second, Access::out, false)), "S") << "the first has changed";
  EXPECT_EQ(kinds(residence.before_use("r", first, Access::out, true)), "SZ");
  EXPECT_EQ(kinds(residence.store_all()), "S");
  EXPECT_EQ(kinds(residence.store_all()), "");
  EXPECT_EQ(kinds(residence.before_use("r", first, Access::in, false)), "L") << "nothing is held after store_all()";
  EXPECT_EQ(kinds(residence.before_use("r", second, Access::in, false)), "L") << "nothing had changed";
  EXPECT_EQ(kinds(residence.before_use("x", first, Access::inout, false)), "");
  EXPECT_EQ(kinds(residence.before_use("x", first, Access::out, true)), "Z");
  EXPECT_EQ(kinds(residence.store_all()), "");
}

TEST(ProgramPlan, KeepsEverythingOnTheDeviceWhereItFits) {
  const Program program = program_of({64, 64, 64}, {64, 64, 60});
  const auto all = plan_program(program, devices_of(1, std::size_t{1} << 30));
  EXPECT_EQ(all.slabs.size(), 1u);
  for (const ArrayNeed& need : all.requirements.arrays)
    if (is_kept(need)) {
      EXPECT_EQ(place_of(all, need), Place::working) << need.name;
    }
  EXPECT_EQ(all.bus_bytes, 4.0 * (64 * 64 * 64 + 64 * 64 * 60)) << "b up and x down";
  // less memory: scratch arrays for batches alone, then projections in host memory, then the volume in slabs
  const auto stored = plan_program(program, devices_of(1, std::size_t{7} << 20));
  EXPECT_EQ(place_of(stored, "r"), Place::device);
  EXPECT_EQ(stored.bus_bytes, all.bus_bytes);
  const auto batches = plan_program(program, devices_of(1, std::size_t{3} << 20));
  EXPECT_EQ(place_of(batches, "r"), Place::host);
  EXPECT_EQ(place_of(batches, "x"), Place::working);
  EXPECT_GT(batches.bus_bytes, all.bus_bytes);
  const auto slabs = plan_program(program, devices_of(1, std::size_t{1} << 20));
  EXPECT_EQ(place_of(slabs, "x"), Place::host);
  EXPECT_GT(slabs.slabs.size(), 1u);
  for (const Plan* plan : {&all, &stored, &batches, &slabs})
    for (const auto& slab : plan->slabs) EXPECT_LE(slab.bytes, plan->devices.front().memory);
  EXPECT_THROW(plan_program(program, devices_of(1, 1000)), PlanError);
  EXPECT_THROW(plan_program(program, {}), PlanError);
}

}  // namespace
}  // namespace halocline::step_tasks_test
