// labels: device slab
// Arrays that outlive programs: they keep their contents while more are allocated, whatever that does to the plan.
#include "scheduling/execution/session.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "host/system/error.hpp"
#include "tests/reference/projector_reference.hpp"
#include "tests/reference/projector_scenes.hpp"
#include "tests/support/kernel_folder.hpp"

namespace halocline::session_test {
namespace {

const Grid grid{{17, 9, 12}};

Program sizes() {
  return {.needs = {.size = grid.size}};
}

constexpr const char* kernel = R"(
__kernel void doubled(__global const float* restrict x, __global float* restrict y, ulong first, ulong end) {
  const ulong n = first + get_global_id(0);
  if (n < end) y[n] = 2.0f * x[n];
}
)";

// y = 2 x
Step doubled(const std::string& x, const std::string& y) {
  Step step{.name = "double", .over = Domain::slices, .arrays = {in(x), out(y)}};
  step.work = [=](Slab& slab, const WorkRange& part, const Scalars&) {
    const std::size_t layer = grid.slice(), count = layer * static_cast<std::size_t>(part.slices.count());
    const auto first = layer * static_cast<std::size_t>(part.slices.begin - slab.offset());
    slab.launch({"doubled.cl", "doubled", ""}, {count, 1, 1},
                {in(x), out(y), std::uint64_t{first}, std::uint64_t{first + count}});
  };
  return step;
}

Volume read(Session& session, const std::string& name) {
  Volume result = Volume::uninitialised(grid);
  MemorySink sink(result);
  session.read(name, sink);
  return result;
}

TEST(Sessions, KeepContentsUntilNothingFits) {
  const KernelFolder kernels{"doubled.cl", kernel};
  // three volumes with what belongs to them, then slabs, then not even slices
  Session session(open_devices({.device = reference::cpu_or_default(), .sub_devices = 0, .device_memory = 30000}), {});
  session.extend(sizes());
  std::vector<std::string> names;
  std::vector<Volume> values;
  bool resident = false, streamed = false, full = false;
  for (unsigned n = 0; n < 100 && !full; ++n) {
    try {
      names.push_back(session.allocate(ArrayKind::volume));
    } catch (const PlanError&) {
      full = true;
      break;
    }
    values.push_back(reference::random_volume(grid, n));
    session.write(names.back(), MemorySource(values.back()));
    (session.plan().resident ? resident : streamed) = true;
  }
  EXPECT_TRUE(resident);
  EXPECT_TRUE(streamed);
  EXPECT_TRUE(full);
  for (std::size_t n = 0; n < names.size(); ++n) EXPECT_TRUE(read(session, names[n]).voxels == values[n].voxels) << n;
  session.perform(doubled(names[1], names[0]));
  const Volume found = read(session, names[0]);
  for (std::size_t n = 0; n < found.voxels.size(); ++n) ASSERT_EQ(found.voxels[n], 2 * values[1].voxels[n]);
}

TEST(Sessions, KeepStepsAndReplayThem) {
  const KernelFolder kernels{"doubled.cl", kernel};
  Session session(reference::device(), {});
  session.extend(sizes());
  const std::string x = session.allocate(ArrayKind::volume), y = session.allocate(ArrayKind::volume),
                    z = session.allocate(ArrayKind::volume);
  session.write(x, MemorySource(reference::random_volume(grid, 1)));
  const auto steps = session.keep({doubled(x, y), doubled(y, z)});
  EXPECT_EQ(steps->kernels.commands.size(), 2u);
  EXPECT_EQ(steps->kernels.accesses.size(), 3u);
  for (unsigned seed = 1; seed < 4; ++seed) {
    const Volume values = reference::random_volume(grid, seed);
    session.write(x, MemorySource(values));
    if (seed > 1) session.replay(*steps);
    const Volume found = read(session, z);
    for (std::size_t n = 0; n < found.voxels.size(); ++n) ASSERT_EQ(found.voxels[n], 4 * values.voxels[n]);
  }
  session.allocate(ArrayKind::volume);  // there is room for it
  session.replay(*steps);
  session.extend_halo(1, 1);  // arrays are placed again
  EXPECT_THROW(session.replay(*steps), InputError);
}

TEST(Sessions, KeepNoStepsThatTheHostTakesPartIn) {
  const KernelFolder kernels{"doubled.cl", kernel};
  PlanOptions slabs;
  slabs.minimum_slabs = 2;
  for (const bool split : {false, true}) {
    Session session(reference::device(), split ? slabs : PlanOptions{});
    session.extend(sizes());
    const std::string x = session.allocate(ArrayKind::volume), y = session.allocate(ArrayKind::volume);
    session.write(x, MemorySource(reference::random_volume(grid, 1)));
    if (split) {
      EXPECT_THROW(session.keep({doubled(x, y)}), InputError);
      continue;
    }
    Step reading = doubled(x, y), swapping = doubled(x, y);
    reading.work = [=](Slab& slab, const WorkRange&, const Scalars&) {
      float first = 0;
      slab.read(x, &first, sizeof first);
    };
    swapping.work = [=](Slab& slab, const WorkRange&, const Scalars&) { slab.swap(x, y); };
    for (const Step& step : {reading, swapping}) {
      EXPECT_NO_THROW(session.perform(step));
      EXPECT_THROW(session.keep({step}), InputError);
    }
    EXPECT_NO_THROW(session.keep({doubled(x, y)}));
  }
}

TEST(Sessions, TakeWhatWasReleased) {
  Session session(reference::device(), {});
  session.extend(sizes());
  const std::string x = session.allocate(ArrayKind::volume), y = session.allocate(ArrayKind::volume);
  session.write(x, MemorySource(reference::random_volume(grid, 1)));
  session.release(y);
  EXPECT_EQ(session.allocate(ArrayKind::volume), y);
  EXPECT_NE(session.allocate(ArrayKind::volume), y);
}

TEST(Sessions, GrowByHalosAndProjections) {
  for (const int slabs : {0, 4}) {
    PlanOptions options{.minimum_slabs = slabs};
    Session session(reference::device(), options);
    session.extend(sizes());
    const std::string x = session.allocate(ArrayKind::volume);
    const Volume values = reference::random_volume(grid, 1);
    session.write(x, MemorySource(values));
    session.extend_halo(2, 1);
    EXPECT_EQ(session.plan().requirements.halo_low, 2);
    EXPECT_TRUE(read(session, x).voxels == values.voxels);
    Program more{.needs = {.stack = {5, 4, 3}}};
    session.extend(more);
    const std::string r = session.allocate(ArrayKind::projections);
    const Volume rays = reference::random_volume({{5, 4, 3}}, 2);
    session.write(r, MemorySource(rays));
    Volume found = Volume::uninitialised(rays.grid);
    MemorySink sink(found);
    session.read(r, sink);
    EXPECT_TRUE(found.voxels == rays.voxels);
    EXPECT_TRUE(read(session, x).voxels == values.voxels);
    session.add_arrays({.needs = {.arrays = {{.name = "table", .kind = ArrayKind::fixed, .elements = 3}}}});
    session.add_arrays({.needs = {.halo_high = 3}});
    EXPECT_EQ(session.plan().requirements.halo_high, 3);
    EXPECT_TRUE(read(session, x).voxels == values.voxels);
  }
}

}  // namespace
}  // namespace halocline::session_test
