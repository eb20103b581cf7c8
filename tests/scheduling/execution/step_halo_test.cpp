// labels: device slab
// Steps over slices that read neighbours: the bits of a plain loop, however the volume is split.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "algorithms/solvers/projector_operator.hpp"
#include "host/system/error.hpp"
#include "scheduling/execution/program_run.hpp"
#include "scheduling/planning/program_plan.hpp"
#include "scheduling/planning/step_tasks.hpp"
#include "scheduling/profiling/rates.hpp"
#include "tests/reference/projector_scenes.hpp"
#include "tests/support/kernel_folder.hpp"

namespace halocline::step_halo_test {
namespace {

constexpr const char* kernel = R"(
#pragma OPENCL FP_CONTRACT OFF
__kernel void weighted_z(__global const float* restrict from, __global const float* restrict add,
                         __global float* restrict to, int nx, int ny, int nz, int offset, int begin, int end, int low,
                         int high, float scale) {
  const int x = (int)get_global_id(0), y = (int)get_global_id(1), z = begin + (int)get_global_id(2);
  if (x >= nx || y >= ny || z >= end) return;
  const size_t layer = (size_t)nx * ny, i = x + (size_t)nx * y + layer * (z - offset);
  float sum = 0.0f;
  for (int d = -low; d <= high; ++d)
    if (z + d >= 0 && z + d < nz) sum = fma((float)(d + 5), from[i + d * (long)layer], sum);
  to[i] = fma(sum, scale, add[i]);
}
)";

struct Halos {
  int low, high;
};

// to = add + scale * the sum of (d + 5) from(z + d).
Step weighted(const std::string& from, const std::string& add, const std::string& to, Halos halo) {
  return {.name = "weighted_z",
          .over = Domain::slices,
          .arrays = {in(from), in(add), out(to)},
          .halo_low = halo.low,
          .halo_high = halo.high,
          .work = [=](Slab& slab, const auto&, const Scalars&) {
            const Range slices = slab.interior();
            slab.launch({"weighted_z.cl", "weighted_z", ""}, slices,
                        {in(from), in(add), out(to), slab.nx(), slab.ny(), slab.nz(), slab.offset(),
                         static_cast<std::int32_t>(slices.begin), static_cast<std::int32_t>(slices.end), halo.low,
                         halo.high, 0.0625f});
          }};
}

Volume weighted(const Volume& from, const Volume& add, Halos halo) {
  Volume to(from.grid);
  const std::size_t layer = from.grid.size[0] * from.grid.size[1];
  const auto slices = static_cast<std::int64_t>(from.grid.size[2]);
  for (std::int64_t z = 0; z < slices; ++z)
    for (std::size_t n = 0; n < layer; ++n) {
      float sum = 0;
      for (int d = -halo.low; d <= halo.high; ++d)
        if (z + d >= 0 && z + d < slices)
          sum = std::fma(static_cast<float>(d + 5), from.voxels[n + layer * static_cast<std::size_t>(z + d)], sum);
      const std::size_t i = n + layer * static_cast<std::size_t>(z);
      to.voxels[i] = std::fma(sum, 0.0625f, add.voxels[i]);
    }
  return to;
}

const Grid grid{{7, 5, 11}, {1, 1, 1}};

Program stencils(Halos first, Halos second) {
  Program program{.needs = {.algorithm = "stencils", .form = ProgramForm::steps, .size = grid.size, .iterations = 3}};
  expressions::Recording on(program, grid, grid);
  on.volume("f", Lifetime::input);
  on.volume("u", Lifetime::iteration);
  const auto x = on.volume("x", Lifetime::output);
  auto squares = on.number("x x");
  on.first([&] { on.step(weighted("f", "f", "x", first)); });
  on.each([&] {
    on.step(weighted("x", "f", "u", first));
    on.step(weighted("u", "f", "x", second));
    squares = dot(x, x);
  });
  return on.finish();
}

// Devices and the number of slabs.
struct Split {
  int devices, slabs;
};
const std::vector<Split> splits = {{1, 2}, {1, 3}, {1, 11}, {2, 0}, {3, 0}, {2, 5}, {3, 11}};

class StepHalo : public testing::Test {
 protected:
  KernelFolder kernels_{"weighted_z.cl", kernel};
};

// The third of three is the first again, for a CPU may have only two parts.
std::vector<Device> devices_of(const Split& split) {
  if (split.devices == 1) return reference::undivided();
  std::vector<Device> devices = reference::sub_devices(2);
  if (split.devices == 3) devices.push_back(devices.front());
  return devices;
}

struct Done {
  Volume volume;
  RunResult result;
};
Done run(const Program& program, const std::string& input, const Volume& f, const Grid& output,
         const std::vector<Device>& devices, int slabs = 0, int batch = 0) {
  Done done{Volume::uninitialised(output), {}};
  MemorySink sink(done.volume);
  RunOptions options{.plan = {.minimum_slabs = slabs, .batch = batch}};
  if (devices.size() > 1)
    for (const Device& device : devices) options.plan.speeds[device.info().name] = 1;
  const MemorySource source(f);
  done.result = run_program(program, {{input, &source}}, sink, devices, options);
  EXPECT_EQ(done.result.bus_bytes, done.result.plan.bus_bytes);
  std::size_t declared = 0;
  for (const auto& slab : done.result.plan.slabs) declared = std::max(declared, slab.bytes);
  if (devices.size() < 3) {
    EXPECT_EQ(done.result.peak_bytes, declared);
  }
  return done;
}

TEST_F(StepHalo, HasTheBitsOfAPlainLoop) {
  const Volume f = reference::random_volume(grid, 3);
  for (const auto& [first, second] : {std::pair<Halos, Halos>{{1, 1}, {1, 1}},
                                      {{2, 2}, {1, 1}},
                                      {{0, 1}, {2, 0}},
                                      {{2, 1}, {0, 2}},
                                      {{0, 0}, {3, 0}}}) {
    Volume x = weighted(f, f, first);
    for (int n = 0; n < 3; ++n) x = weighted(weighted(x, f, first), f, second);
    const Program program = stencils(first, second);
    const auto whole = run(program, "f", f, grid, reference::undivided());
    EXPECT_TRUE(whole.volume.voxels == x.voxels);
    for (const Split& split : splits) {
      SCOPED_TRACE(testing::Message() << first.low << first.high << second.low << second.high << ": " << split.devices
                                      << " devices, " << split.slabs << " slabs");
      const auto found = run(program, "f", f, grid, devices_of(split), split.slabs);
      EXPECT_GE(found.result.plan.slabs.size(), std::max<std::size_t>(split.slabs, split.devices));
      EXPECT_TRUE(found.volume.voxels == x.voxels);
      EXPECT_EQ(found.result.scalars, whole.result.scalars);
    }
  }
}

TEST_F(StepHalo, IsStreamedWhereTheDeviceIsSmall) {
  const Volume f = reference::random_volume(grid, 3);
  const Program program = stencils({1, 2}, {2, 0});
  const auto whole = run(program, "f", f, grid, reference::undivided());
  const std::size_t bytes = whole.result.plan.slabs.front().bytes;
  const auto small =
      open_devices({.device = reference::cpu_or_default(), .sub_devices = 0, .device_memory = bytes * 3 / 4});
  const auto found = run(program, "f", f, grid, small);
  EXPECT_GT(found.result.plan.slabs.size(), 1u);
  EXPECT_TRUE(found.volume.voxels == whole.volume.voxels);
}

// A stencil between a projection and its adjoint: ray sums of slabs that hold slices below their own, too.
TEST_F(StepHalo, StandsBesideRaySums) {
  for (const auto& scene : reference::scenes())
    for (const Projector projector : {Projector::joseph, Projector::siddon, Projector::distance_driven}) {
      SCOPED_TRACE(scene.name + " " + projector_name(projector));
      const auto models = device_models(reference::undivided());
      const RayOperator A(scene.geometry, scene.grid, scene.projections, projector, models);
      Program begun = A.program("smoothed");
      begun.needs.iterations = 2;
      expressions::Recording on(begun, scene.grid, scene.projections);
      const auto rays = expressions::projector(on, A);
      auto x = on.volume("x", Lifetime::output), u = on.volume("u", Lifetime::iteration),
           r = on.projections("r", Lifetime::state);
      const auto data = on.projections("b", Lifetime::input);
      on.first([&] { x = adjoint(rays) * data; });
      on.each([&] {
        on.step(weighted("x", "x", "u", {2, 1}));
        x = 0.01 * u;
        r = rays * x;
        u = adjoint(rays) * r;
        x = fma(0.1, u, x);
      });
      const Program program = on.finish();
      const Volume b = reference::random_volume(scene.projections, 5);
      const auto whole = run(program, "b", b, scene.grid, reference::undivided());
      for (const Split& split : {Split{1, 3}, Split{2, 0}, Split{3, 0}, Split{2, 4}})
        for (const int batch : {0, 2}) {
          SCOPED_TRACE(testing::Message() << split.devices << " devices, " << split.slabs << " slabs, " << batch);
          const auto found = run(program, "b", b, scene.grid, devices_of(split), split.slabs, batch);
          EXPECT_TRUE(found.volume.voxels == whole.volume.voxels);
        }
    }
}

// One array of projections alone, whose second buffer does not fit beside it.
TEST_F(StepHalo, RaySumsDoWithoutSecondBuffers) {
  const auto scene = reference::scenes().front();
  const RayOperator A(scene.geometry, scene.grid, scene.projections, Projector::joseph,
                      device_models(reference::undivided()));
  Program begun = A.program("smoothed");
  begun.needs.iterations = 2;
  expressions::Recording on(begun, scene.grid, scene.projections);
  const auto rays = expressions::projector(on, A);
  const auto start = on.volume("f", Lifetime::input);
  auto x = on.volume("x", Lifetime::output), u = on.volume("u", Lifetime::iteration),
       r = on.projections("r", Lifetime::iteration);
  on.first([&] { x = start; });
  on.each([&] {
    r = rays * x;
    u = adjoint(rays) * r;
    x = fma(0.01, u, x);
  });
  const Program program = on.finish();
  const Volume f = reference::random_volume(scene.grid, 5);
  const auto whole = run(program, "f", f, scene.grid, reference::undivided());
  const auto doubled = run(program, "f", f, scene.grid, reference::sub_devices(2), 2, 1);
  const auto has_spare = [](const Plan& plan) {
    const auto& arrays = plan.requirements.arrays;
    return std::any_of(arrays.begin(), arrays.end(),
                       [](const ArrayNeed& need) { return need.name.starts_with("spare"); });
  };
  EXPECT_TRUE(has_spare(doubled.result.plan));
  EXPECT_TRUE(doubled.volume.voxels == whole.volume.voxels);
  auto models = device_models(reference::sub_devices(2));
  PlanOptions options{.minimum_slabs = 2, .batch = 1};
  for (const auto& model : models) options.speeds[model.name] = 1;
  std::size_t bytes = doubled.result.plan.slabs.front().bytes;
  for (bool spare = true; spare; bytes -= spare ? 16 : 0) {
    for (auto& model : models) model.memory = bytes;
    spare = has_spare(plan_program(program, models, options));
  }
  const auto small = open_devices({.device = reference::cpu_or_default(), .sub_devices = 2, .device_memory = bytes});
  const auto found = run(program, "f", f, scene.grid, small, 2, 1);
  EXPECT_FALSE(has_spare(found.result.plan));
  EXPECT_TRUE(found.volume.voxels == whole.volume.voxels);
}

TEST_F(StepHalo, NeedsRoomAndAnotherArray) {
  const auto models = device_models(reference::undivided());
  Program program = stencils({1, 1}, {1, 1});
  EXPECT_NO_THROW(plan_program(program, models));
  program.each.front().halo_low = 2;
  EXPECT_THROW(plan_program(program, models), std::logic_error);
  program.each.front().halo_low = 1;
  program.each.front().arrays = {in("f"), inout("x")};
  EXPECT_THROW(plan_program(program, models), std::logic_error);
}

}  // namespace
}  // namespace halocline::step_halo_test
