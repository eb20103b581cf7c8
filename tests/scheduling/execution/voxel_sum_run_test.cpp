// labels: device slab error
// Runs of voxel sums: which device takes which slab, what waits for what, and where the volume goes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#include "algorithms/fdk/fdk.hpp"
#include "algorithms/projectors/backprojection.hpp"
#include "host/system/error.hpp"
#include "scheduling/execution/output_store.hpp"
#include "scheduling/execution/program_run.hpp"
#include "scheduling/execution/slab_queue.hpp"
#include "scheduling/planning/missing_slices.hpp"
#include "scheduling/profiling/rates.hpp"
#include "scheduling/slabs/graph.hpp"
#include "tests/reference/projector_scenes.hpp"

namespace halocline::voxel_sum_run_test {
namespace {

using reference::device;

// ---- who takes which slab

// Slabs of `slices` each, the first `of_first` of device 0 and the rest of device 1.
Plan plan_of(const std::vector<std::int64_t>& slices, std::size_t of_first) {
  Plan plan;
  std::int64_t at = 0;
  for (const auto count : slices) {
    const Range range{at, at + count};
    at += count;
    plan.slabs.push_back({plan.slabs.size() < of_first ? 0 : 1, range, range, {0, 10}, 0});
  }
  return plan;
}

std::vector<std::size_t> taken(SlabQueue& queue, const std::vector<std::pair<int, double>>& calls) {
  std::vector<std::size_t> numbers;
  for (const auto& [device, seconds] : calls) {
    const auto number = queue.take(device, seconds);
    numbers.push_back(number ? *number : 99);
  }
  return numbers;
}

TEST(SlabQueue, EqualDevicesKeepTheirOwn) {
  SlabQueue queue(plan_of({5, 5, 5, 5}, 2));
  EXPECT_THAT(taken(queue, {{0, 0}, {1, 0}, {0, 1}, {1, 1}, {0, 2}, {1, 2}}), testing::ElementsAre(0, 2, 1, 3, 99, 99));
  EXPECT_THAT(queue.taken_by(), testing::ElementsAre(0, 0, 1, 1));
}

TEST(SlabQueue, WhoIsFreeTakesFromTheEndOfTheSlowest) {
  SlabQueue queue(plan_of({5, 5, 5, 5, 5, 5}, 1));
  EXPECT_THAT(taken(queue, {{0, 0}, {1, 0}, {0, 1}, {0, 2}, {1, 3}, {0, 3}, {1, 6}, {0, 6}}),
              testing::ElementsAre(0, 1, 5, 4, 2, 3, 99, 99));
  EXPECT_THAT(queue.taken_by(), testing::ElementsAre(0, 1, 1, 0, 0, 0));
}

TEST(SlabQueue, ASlowDeviceLeavesTheLastSlabsToTheOthers) {
  // device 1 took ten times as long for the slab that it had: the two left would be done before its second
  SlabQueue queue(plan_of({5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5}, 12));
  std::vector<std::pair<int, double>> calls{{1, 0}};
  for (int n = 0; n < 10; ++n) calls.emplace_back(0, n);
  calls.emplace_back(1, 10);
  calls.emplace_back(0, 10);
  calls.emplace_back(0, 11);
  EXPECT_THAT(taken(queue, calls), testing::ElementsAre(12, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 99, 10, 11));
}

TEST(SlabQueue, NobodyTakesWhatItsArraysCannotHold) {
  SlabQueue queue(plan_of({4, 5, 5, 5}, 1));
  EXPECT_THAT(taken(queue, {{1, 0}, {0, 0}, {0, 1}, {1, 9}, {1, 10}}), testing::ElementsAre(1, 0, 99, 2, 3));
  Plan plan = plan_of({5, 5, 5, 5}, 1);
  plan.slabs[0].rows = {0, 9};
  SlabQueue of_rows(plan);
  EXPECT_THAT(taken(of_rows, {{1, 0}, {0, 0}, {0, 1}}), testing::ElementsAre(1, 0, 99));
}

TEST(SlabQueue, NobodyTakesAnythingOnceADeviceHasFailed) {
  SlabQueue queue(plan_of({5, 5, 5, 5}, 2));
  EXPECT_THAT(taken(queue, {{0, 0}, {1, 0}}), testing::ElementsAre(0, 2));
  queue.stop();
  EXPECT_THAT(taken(queue, {{0, 1}, {1, 1}}), testing::ElementsAre(99, 99));
}

// ---- what waits for what

// The order of commands that the executor keeps: upload of the next batch after this one's kernels.
TEST(BackprojectionOrder, ABatchIsUploadedWhileTheOneBeforeIsFilteredAndAdded) {
  DependencyGraph<std::string> graph;
  const auto enqueue = [&](const std::vector<std::pair<std::string, Access>>& accesses, const std::string& name,
                           int lane) {
    auto waits = graph.waits(accesses);
    graph.add(accesses, name, lane);
    return std::set<std::string>(waits.begin(), waits.end());
  };
  enqueue({{"raw (next)", Access::out}}, "upload 0", 0);
  for (int n = 0; n < 4; ++n) {
    const std::string number = std::to_string(n);
    graph.swap("raw", "raw (next)");
    EXPECT_THAT(enqueue({{"raw", Access::in}, {"filtered", Access::out}}, "filter " + number, 1),
                testing::Contains("upload " + number));
    enqueue({{"filtered", Access::in}, {"volume", Access::inout}}, "add " + number, 1);
    const auto waits = enqueue({{"raw (next)", Access::out}}, "upload " + std::to_string(n + 1), 0);
    if (n == 0)
      EXPECT_THAT(waits, testing::IsEmpty());
    else  // the filter that read this array, and the upload before it: neither of this batch
      EXPECT_THAT(waits, testing::ElementsAre("filter " + std::to_string(n - 1), "upload " + std::to_string(n - 1)));
  }
}

// Events on the host, in order: a batch's kernels, then the reading of the next batch.
class Log {
 public:
  void add(const std::string& what) {
    const std::lock_guard lock(mutex_);
    if (lines_.empty() || lines_.back() != what) lines_.push_back(what);
  }
  std::vector<std::string> lines() const { return lines_; }

 private:
  std::mutex mutex_;
  std::vector<std::string> lines_;
};

class LoggedMethod : public BackprojectionMethod {
 public:
  LoggedMethod(const Backprojection& method, Log& log) : method_(method), log_(log) {}
  Requirements requirements() const override { return method_.requirements(); }
  std::vector<int> order() const override { return method_.order(); }
  void start(Slab& slab) const override { method_.start(slab); }
  void filter(Slab& slab, Range views, const Scalars& scalars) const override {
    log_.add("filter " + std::to_string(views.begin));
    method_.filter(slab, views, scalars);
  }
  void accumulate(Slab& slab, Range views, Range slices, const Scalars& scalars) const override {
    log_.add("add " + std::to_string(views.begin));
    ++pieces;
    method_.accumulate(slab, views, slices, scalars);
  }
  mutable std::atomic<int> pieces{0};

 private:
  const Backprojection& method_;
  Log& log_;
};

// Source that reads only the requested voxels, and logs them.
class LoggedSource : public VolumeSource {
 public:
  LoggedSource(const Volume& volume, Log* log) : volume_(volume), log_(log) {}
  const Grid& grid() const override { return volume_.grid; }
  void read(std::size_t first, std::size_t count, float* to) const override {
    MemorySource(volume_).read(first, count, to);
    read_ += count;
    if (log_ != nullptr) log_->add("read " + std::to_string(first / volume_.grid.slice() / 8 * 8));
  }
  std::size_t values_read() const { return read_; }

 private:
  const Volume& volume_;
  Log* log_;
  mutable std::atomic<std::size_t> read_{0};
};

// A tall volume: many pieces a slab.
reference::Scene tall() {
  auto scene = reference::scenes().front();
  scene.grid = default_grid({9, 7, 203}, {2.5, 2.5, 0.2});
  return scene;
}

class TallVolume : public testing::Test {
 protected:
  RunOptions split(int slabs, int batch) const { return RunOptions{.plan = {.minimum_slabs = slabs, .batch = batch}}; }
  reference::Scene scene = tall();
  Volume projections = reference::random_volume(scene.projections, 11);
};

TEST_F(TallVolume, KernelsOfABatchAreEnqueuedBeforeTheNextIsRead) {
  const Backprojection method(scene.geometry, scene.projections, scene.grid);
  Log log;
  const LoggedMethod logged(method, log);
  const LoggedSource source(projections, &log);
  Volume output = Volume::uninitialised(scene.grid);
  MemorySink sink(output);
  run_program(program_of(logged), {{"raw", &source}}, sink, device(), split(0, 8));
  std::vector<std::string> expected;
  for (std::size_t first = 0; first < scene.projections.size[2]; first += 8)
    for (const char* what : {"read ", "filter ", "add "}) expected.push_back(what + std::to_string(first));
  EXPECT_EQ(log.lines(), expected);
  // 203 slices in pieces of 32 for the last batch, at once for the others
  EXPECT_EQ(logged.pieces, static_cast<int>((scene.projections.size[2] + 7) / 8) - 1 + 7);
  EXPECT_EQ(source.values_read(), projections.voxels.size());
  EXPECT_EQ(output.voxels,
            backproject(projections, scene.geometry, scene.grid, BackprojectionParameters{}, device()).output.voxels);
}

TEST_F(TallVolume, PiecesSlabsBatchesAndSourcesChangeNoBit) {
  for (const bool hardware : {false, true}) {
    if (hardware && !device().front().info().images) GTEST_SKIP() << device().front().info().name << " has no images";
    FdkParameters parameters{.hardware_interpolation = hardware};
    const auto run = [&](int slabs, int batch) {
      return fdk(projections, scene.geometry, scene.grid, parameters, device(), split(slabs, batch));
    };
    const auto thin = run(20, 7);  // of one piece each
    EXPECT_GE(thin.plan.slabs.size(), 20u);
    for (const auto& [slabs, batch] : {std::pair{1, 7}, {1, 100}, {2, 8}, {3, 100}, {5, 1}})
      EXPECT_EQ(run(slabs, batch).output.voxels, thin.output.voxels) << slabs << " slabs, batches of " << batch;
    const LoggedSource source(projections, nullptr);
    for (const int slabs : {1, 3}) {
      Volume output = Volume::uninitialised(scene.grid);
      MemorySink sink(output);
      const auto result =
          fdk_into(source, scene.projections, scene.geometry, sink, parameters, device(), split(slabs, 8));
      EXPECT_EQ(output.voxels, thin.output.voxels) << slabs << " slabs from a source";
      EXPECT_TRUE(result.output.voxels.empty());
    }
  }
}

TEST_F(TallVolume, TwoDevicesShareManySlabs) {
  const auto& parts = reference::sub_devices(2);
  const auto whole = fdk(projections, scene.geometry, scene.grid, {}, reference::undivided());
  for (const int slabs : {2, 9}) {
    const auto result = fdk(projections, scene.geometry, scene.grid, {}, parts, split(slabs, 8));
    EXPECT_EQ(result.output.voxels, whole.output.voxels);
    ASSERT_EQ(result.taken_by.size(), result.plan.slabs.size());
    EXPECT_THAT(result.taken_by, testing::Each(testing::AllOf(testing::Ge(0), testing::Lt(2))));
  }
}

TEST_F(TallVolume, HoldsWhatWasPlanned) {
  for (const bool hardware : {false, true}) {
    if (hardware && !device().front().info().images) continue;
    for (const int slabs : {1, 4}) {
      FdkParameters parameters{.hardware_interpolation = hardware};
      const auto result = fdk(projections, scene.geometry, scene.grid, parameters, device(), split(slabs, 8));
      std::size_t most = 0;
      for (const auto& slab : result.plan.slabs) most = std::max(most, slab.bytes);
      EXPECT_EQ(result.peak_bytes, most);
      EXPECT_NEAR(result.bus_bytes, result.plan.bus_bytes, 1e-9 * result.plan.bus_bytes);
    }
  }
}

TEST(BackprojectionPlan, UnlikeDevicesGetMoreSlabs) {
  const auto scene = tall();
  auto devices = device_models(device());
  devices.front().rates.clear();
  devices.front().memory_bandwidth = 1e9;  // so slow that two are worth while for a small volume
  devices.front().latency = 1e-6;
  devices.push_back(devices.front());
  const auto plan = [&] { return plan_fdk(scene.geometry, scene.projections, scene.grid, {}, devices); };
  EXPECT_EQ(plan().slabs.size(), 2u);
  devices.front().speed = 1;
  devices.back().speed = 3;
  EXPECT_GE(plan().slabs.size(), 8u);
}

// ---- finished work is kept

// Counts how often each voxel is written. It has no memory, so that it sees what a file would.
class CountingSink : public VolumeSink {
 public:
  explicit CountingSink(const Grid& grid) : volume_(Volume::uninitialised(grid)), times_(grid.count(), 0) {}
  const Grid& grid() const override { return volume_.grid; }
  void begin() override { ++begun; }
  void write(std::size_t first, std::size_t count, float* from) override {
    MemorySink(volume_).write(first, count, from);
    for (std::size_t n = first; n < first + count; ++n) ++times_[n];
  }
  const Volume& volume() const { return volume_; }
  const std::vector<int>& times() const { return times_; }
  int begun = 0;

 private:
  Volume volume_;
  std::vector<int> times_;
};

// Counts how often each slice is begun, and fails before it begins when `fail` returns true.
class FailingMethod : public BackprojectionMethod {
 public:
  using Fail = std::function<void(const Slab& slab, int slabs_begun)>;
  FailingMethod(const Backprojection& method, Fail fail)
      : method_(method), fail_(std::move(fail)), begun_(method.requirements().size[2], 0) {}
  Requirements requirements() const override { return method_.requirements(); }
  std::vector<int> order() const override { return method_.order(); }
  void start(Slab& slab) const override { method_.start(slab); }
  void filter(Slab& slab, Range views, const Scalars& scalars) const override {
    if (views.begin == 0) {
      const std::lock_guard lock(mutex_);
      fail_(slab, slabs_[slab.device().name]);
      ++slabs_[slab.device().name];
    }
    method_.filter(slab, views, scalars);
  }
  void accumulate(Slab& slab, Range views, Range slices, const Scalars& scalars) const override {
    if (views.begin == 0) {
      const std::lock_guard lock(mutex_);
      for (auto z = slices.begin; z < slices.end; ++z) ++begun_[static_cast<std::size_t>(z)];
    }
    method_.accumulate(slab, views, slices, scalars);
  }
  const std::vector<int>& begun() const { return begun_; }
  int slabs(const std::string& device) const { return slabs_[device]; }

 private:
  const Backprojection& method_;
  Fail fail_;
  mutable std::mutex mutex_;
  mutable std::vector<int> begun_;
  mutable std::map<std::string, int> slabs_;
};

constexpr int device_not_available = -2, out_of_memory = -4;  // codes of OpenCL

TEST_F(TallVolume, ALostDevicesSlabsAreMadeByTheOthersAndNoOther) {
  const auto whole =
      backproject(projections, scene.geometry, scene.grid, BackprojectionParameters{}, reference::undivided()).output;
  for (const int lost_after : {0, 1, 3}) {
    const auto parts = open_devices({.device = reference::cpu_or_default(),
                                     .sub_devices = 2,
                                     .device_memory = 0});  // the lost one is still left out
    const std::string lost = parts.back().info().name;
    const Backprojection method(scene.geometry, scene.projections, scene.grid);
    const FailingMethod failing(method, [&](const Slab& slab, int slabs) {
      if (slab.device().name == lost && slabs == lost_after) throw ClError("lost", device_not_available, lost);
    });
    CountingSink sink(scene.grid);
    testing::internal::CaptureStderr();
    testing::internal::CaptureStdout();
    const auto result = run_program(
        program_of(failing), {{"raw", ArraySource(reinterpret_cast<const std::byte*>(projections.voxels.data()))}},
        sink, parts, split(12, 8));
    const std::string told = testing::internal::GetCapturedStderr() + testing::internal::GetCapturedStdout();
    EXPECT_TRUE(sink.volume().voxels == whole.voxels);
    EXPECT_THAT(sink.times(), testing::Each(1));
    EXPECT_EQ(sink.begun, 1);
    EXPECT_EQ(failing.slabs(lost), lost_after);
    // Slabs that had been begun were brought to their end; the one that failed had not.
    EXPECT_THAT(failing.begun(), testing::Each(1));
    if (lost_after > 0) {
      EXPECT_NE(told.find(" of 203 slices are done, and the rest is made by"), std::string::npos) << told;
    }
    std::int64_t planned = 0;
    for (const auto& slab : result.plan.slabs) planned += slab.interior.count();
    EXPECT_LE(planned, 203);  // the other may not have begun when the first slab of all is lost
    if (lost_after > 0) {
      EXPECT_LT(planned, 203);
    }
  }
}

TEST_F(TallVolume, SlicesThatAreDoneStayWhenMemoryRunsOut) {
  const auto whole = backproject(projections, scene.geometry, scene.grid, BackprojectionParameters{}, device()).output;
  bool failed = false;
  const Backprojection method(scene.geometry, scene.projections, scene.grid);
  const FailingMethod failing(method, [&](const Slab& slab, int slabs) {
    if (slabs == 2 && !std::exchange(failed, true)) throw ClError("full", out_of_memory, slab.device().name);
  });
  CountingSink sink(scene.grid);
  run_program(program_of(failing),
              {{"raw", ArraySource(reinterpret_cast<const std::byte*>(projections.voxels.data()))}}, sink, device(),
              split(5, 0));  // fewer views at a time take less
  EXPECT_TRUE(failed);
  EXPECT_TRUE(sink.volume().voxels == whole.voxels);
  EXPECT_THAT(sink.times(), testing::Each(1));
  EXPECT_THAT(failing.begun(), testing::Each(1));
}

// Keeps in memory, and forgets what a test says.
class MemoryStore : public OutputStore {
 public:
  explicit MemoryStore(const Grid& grid) : volume_(Volume::uninitialised(grid)) {}
  RangeSet give_back(VolumeSink& output) override {
    RangeSet given;
    for (const auto& slices : slices_) {
      const auto slice = volume_.grid.slice(), first = slice * static_cast<std::size_t>(slices.begin),
                 count = slice * static_cast<std::size_t>(slices.count());
      std::vector<float> values(volume_.voxels.begin() + static_cast<std::ptrdiff_t>(first),
                                volume_.voxels.begin() + static_cast<std::ptrdiff_t>(first + count));
      output.write(first, count, values.data());
      given.add({static_cast<std::int64_t>(first), static_cast<std::int64_t>(first + count)});
    }
    kept = 0;
    return given;
  }
  void keep(std::size_t first, std::size_t count, const float* values) override {
    std::copy(values, values + count, volume_.voxels.begin() + static_cast<std::ptrdiff_t>(first));
    kept += count;
  }
  void remember(std::vector<Range> slices) { slices_ = std::move(slices); }
  std::atomic<std::size_t> kept{0};

 private:
  Volume volume_;
  std::vector<Range> slices_;
};

TEST_F(TallVolume, WhatAnEarlierRunKeptIsNotComputedAgain) {
  const Backprojection method(scene.geometry, scene.projections, scene.grid);
  MemoryStore store(scene.grid);
  const ArraySource stack(reinterpret_cast<const std::byte*>(projections.voxels.data()));
  CountingSink first(scene.grid);
  auto options = split(4, 8);
  options.output_store = &store;
  run_program(program_of(method), {{"raw", stack}}, first, device(), options);
  EXPECT_EQ(store.kept, scene.grid.count());
  for (const auto& kept : {std::vector<Range>{{0, 203}}, {{0, 1}, {5, 60}, {202, 203}}, {{100, 203}}}) {
    store.remember(kept);
    const FailingMethod counting(method, [](const Slab&, int) {});
    CountingSink again(scene.grid);
    const auto result = run_program(program_of(counting), {{"raw", stack}}, again, device(), options);
    EXPECT_TRUE(again.volume().voxels == first.volume().voxels);
    EXPECT_THAT(again.times(), testing::Each(1));
    std::vector<int> missing(203, 1);
    for (const auto& range : kept) std::fill(missing.begin() + range.begin, missing.begin() + range.end, 0);
    EXPECT_EQ(counting.begun(), missing);
    EXPECT_EQ(store.kept, scene.grid.slice() * static_cast<std::size_t>(std::count(missing.begin(), missing.end(), 1)));
    EXPECT_EQ(result.taken_by.size(), result.plan.slabs.size());
    // A run into memory, where values may be read in their place.
    RunOptions to_memory = options;
    EXPECT_TRUE(
        run_program(program_of(method), {{"raw", &projections}}, scene.grid, device(), to_memory).output.voxels ==
        first.volume().voxels);
  }
}

TEST(MissingSlices, AreSharedAsThoughTheyWereAll) {
  const auto scene = tall();
  auto devices = device_models(device());
  devices.push_back(devices.front());
  for (auto& each : devices) each.speed = 1;
  const auto requirements = Backprojection(scene.geometry, scene.projections, scene.grid).requirements();
  PlanOptions options{.minimum_slabs = 6};
  const std::vector<Range> missing{{3, 10}, {100, 101}, {150, 203}};
  const Plan plan = plan_missing(requirements, devices, options, missing);
  RangeSet seen;
  std::int64_t at = 0;
  std::array<std::int64_t, 2> of_device{0, 0};
  for (const auto& slab : plan.slabs) {
    EXPECT_GE(slab.interior.begin, at);
    at = slab.interior.end;
    seen.add(slab.interior);
    of_device[static_cast<std::size_t>(slab.device)] += slab.interior.count();
  }
  EXPECT_EQ(seen.missing({0, 203}), (std::vector<Range>{{0, 3}, {10, 100}, {101, 150}}));
  EXPECT_EQ(of_device[0] + of_device[1], 61);
  EXPECT_NEAR(of_device[0], 30.5, 1);
  EXPECT_EQ(plan.requirements.size, requirements.size);
}

TEST(RangeSet, KnowsWhatIsMissing) {
  RangeSet set;
  EXPECT_EQ(set.missing({2, 5}), (std::vector<Range>{{2, 5}}));
  set.add({4, 6});
  set.add({10, 12});
  set.add({12, 13});
  EXPECT_EQ(set.missing({0, 20}), (std::vector<Range>{{0, 4}, {6, 10}, {13, 20}}));
  EXPECT_EQ(set.missing({5, 11}), (std::vector<Range>{{6, 10}}));
  EXPECT_TRUE(set.contains({10, 13}));
  EXPECT_FALSE(set.contains({9, 13}));
  set.add({5, 11});
  EXPECT_EQ(set.missing({0, 20}), (std::vector<Range>{{0, 4}, {13, 20}}));
  set.add({0, 30});
  EXPECT_TRUE(set.missing({0, 30}).empty());
  EXPECT_EQ(set.missing({29, 31}), (std::vector<Range>{{30, 31}}));
}

// ---- where the volume goes

TEST_F(TallVolume, AFullDiskEndsTheRunAndTheDeviceServesOn) {
  class FullSink : public VolumeSink {
   public:
    explicit FullSink(const Grid& grid) : grid_(grid) {}
    const Grid& grid() const override { return grid_; }
    void write(std::size_t first, std::size_t, float*) override {
      if (first > 0) throw FileError("the disk is full");
    }

   private:
    Grid grid_;
  };
  for (const int slabs : {1, 4}) {
    FullSink sink(scene.grid);
    const LoggedSource source(projections, nullptr);
    try {
      fdk_into(source, scene.projections, scene.geometry, sink, {}, device(), split(slabs, 8));
      ADD_FAILURE() << "the run went on";
    } catch (const FileError& error) {
      EXPECT_STREQ(error.what(), "the disk is full");
    }
    EXPECT_EQ(device().front().ledger().in_use(), 0u);
  }
  EXPECT_NO_THROW(fdk(projections, scene.geometry, scene.grid, {}, device()));
}

}  // namespace
}  // namespace halocline::voxel_sum_run_test
