// Runs that are split in many ways, interrupted and short of memory, whose results are the same bits.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "scheduling/execution/run.hpp"
#include "tests/reference/projector_scenes.hpp"
#include "tests/support/kept_states.hpp"

namespace halocline {

/// A run with its output.
using SplitRun = std::function<RunResult(const std::vector<Device>& devices, const RunOptions& options)>;

/// Options with at least so many slabs, and batches of so many views; 0: the planner's choice.
inline RunOptions split(int slabs, int batch = 0) {
  return {.plan = {.minimum_slabs = slabs, .batch = batch}};
}

/// Options for several devices, which get equal shares.
inline RunOptions shared(const std::vector<Device>& devices, int slabs = 0, int batch = 0) {
  RunOptions options = split(slabs, batch);
  for (const Device& each : devices) options.plan.speeds[each.info().name] = 1;
  return options;
}

/// One slab against these (slabs, batch) and two devices, of a volume of so many slices; bytes over the bus are those
/// predicted.
inline void expect_same_bits(const SplitRun& run, std::size_t slices,
                             const std::vector<std::pair<int, int>>& splits = {{2, 3}, {3, 1}, {1000, 2}, {0, 2}}) {
  const auto most = static_cast<int>(slices);
  const RunResult whole = run(reference::device(), {});
  EXPECT_EQ(whole.bus_bytes, whole.plan.bus_bytes);
  for (const auto& [slabs, batch] : splits) {
    SCOPED_TRACE(testing::Message() << slabs << " slabs, batches of " << batch);
    const RunResult other = run(reference::device(), split(std::min(slabs, most), batch));
    EXPECT_GE(other.plan.slabs.size(), static_cast<std::size_t>(std::min(slabs, most)));
    EXPECT_TRUE(other.output.voxels == whole.output.voxels);
    EXPECT_EQ(other.scalars, whole.scalars);
    EXPECT_EQ(other.bus_bytes, other.plan.bus_bytes);
  }
  const RunResult one = run(reference::undivided(), {});
  const auto& devices = reference::sub_devices(2);
  for (const auto& [slabs, batch] : {std::pair{0, 0}, {most, 2}}) {
    SCOPED_TRACE(testing::Message() << "two devices, " << slabs << " slabs, batches of " << batch);
    const RunResult other = run(devices, shared(devices, slabs, batch));
    EXPECT_GE(other.plan.slabs.size(), std::min<std::size_t>(2, slices));
    EXPECT_TRUE(other.output.voxels == one.output.voxels);
    EXPECT_EQ(other.scalars, one.scalars);
  }
}

/// The state after each iteration but the last, of which there are so many, leads to the same result, on one slab and
/// on several; of every n-th state.
inline void expect_same_bits_resumed(const SplitRun& run, std::size_t states, std::size_t every = 1) {
  const RunResult whole = run(reference::device(), {});
  KeptStates memory;
  RunOptions keeping = split(2, 2);
  keeping.checkpoint_store = &memory;
  keeping.keep_every = 0;
  run(reference::device(), keeping);
  ASSERT_EQ(memory.all.size(), states);
  for (std::size_t n = 0; n < states; n += every)
    for (RunOptions options : {RunOptions(), split(3, 1)}) {
      SCOPED_TRACE(testing::Message() << "after " << memory.all[n].state.iterations);
      KeptStates kept;
      kept.from = &memory.all[n];
      options.checkpoint_store = &kept;
      const RunResult other = run(reference::device(), options);
      EXPECT_TRUE(other.output.voxels == whole.output.voxels);
      EXPECT_EQ(other.scalars, whole.scalars);
    }
}

/// Expects the same bits on a device with such a part of the memory that the run takes.
inline void expect_same_bits_streamed(const SplitRun& run, double part) {
  const RunResult whole = run(reference::undivided(), {});
  std::size_t bytes = 0;
  for (const auto& slab : whole.plan.slabs) bytes += slab.bytes;
  bytes = static_cast<std::size_t>(part * static_cast<double>(bytes));
  const RunResult other =
      run(open_devices({.device = reference::cpu_or_default(), .sub_devices = 0, .device_memory = bytes}), {});
  EXPECT_TRUE(other.plan.slabs.size() > 1 || other.plan.batch < whole.plan.batch);
  EXPECT_LE(other.peak_bytes, bytes);
  EXPECT_TRUE(other.output.voxels == whole.output.voxels);
  EXPECT_EQ(other.scalars, whole.scalars);
  EXPECT_EQ(other.bus_bytes, other.plan.bus_bytes);
}

}  // namespace halocline
