// labels: unit
// Sources, sinks and the threads that move voxels between them.
#include "host/volume/volume_source.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <thread>

#include "host/system/error.hpp"
#include "host/system/thread_pool.hpp"
#include "host/volume/finite_source.hpp"
#include "host/volume/typed_volume.hpp"
#include "tests/support/refusal.hpp"

namespace halocline::volume_source_test {
namespace {

using testing::HasSubstr;

Grid grid_of(std::size_t x, std::size_t y, std::size_t z) {
  return {.size = {x, y, z}};
}

// Larger than a few pieces, and no multiple of one.
Volume sample() {
  Volume volume(grid_of(301, 103, 29));
  for (std::size_t n = 0; n < volume.voxels.size(); ++n)
    volume.voxels[n] = static_cast<float>(n * 7919 % 65536) - 1000.25f;
  return volume;
}

// Another source whose memory is hidden, so that it has to be read.
class Hidden : public VolumeSource {
 public:
  explicit Hidden(const Volume& volume) : source_(volume) {}
  const Grid& grid() const override { return source_.grid(); }
  void read(std::size_t first, std::size_t count, float* to) const override { source_.read(first, count, to); }

 private:
  MemorySource source_;
};

TEST(ThreadPool, DoesEveryPartOnce) {
  for (const std::size_t parts : {0, 1, 2, 7, 1000}) {
    std::vector<std::atomic<int>> done(parts);
    parallel_parts(parts, [&](std::size_t n) { ++done[n]; });
    for (const auto& each : done) EXPECT_EQ(each, 1);
  }
  std::vector<std::atomic<int>> voxels(1003);
  parallel_ranges(voxels.size(), 100, [&](std::size_t first, std::size_t count) {
    EXPECT_EQ(count, first == 1000 ? 3u : 100u);
    for (std::size_t n = first; n < first + count; ++n) ++voxels[n];
  });
  for (const auto& each : voxels) EXPECT_EQ(each, 1);
}

TEST(ThreadPool, HandsOnTheFirstErrorAndStops) {
  std::atomic<int> begun = 0;
  EXPECT_THROW(parallel_parts(100000,
                              [&](std::size_t) {
                                ++begun;
                                throw InputError("no");
                              }),
               InputError);
  EXPECT_LT(begun, 100);
  std::atomic<int> after = 0;
  parallel_parts(10, [&](std::size_t) { ++after; });
  EXPECT_EQ(after, 10);
}

TEST(ThreadPool, ServesSeveralCallersAndCallsWithinCalls) {
  std::atomic<int> done = 0;
  {
    std::vector<std::jthread> callers;
    for (int caller = 0; caller < 4; ++caller)
      callers.emplace_back([&] {
        for (int round = 0; round < 50; ++round)
          parallel_parts(5, [&](std::size_t) { parallel_parts(3, [&](std::size_t) { ++done; }); });
      });
  }
  EXPECT_EQ(done, 4 * 50 * 5 * 3);
}

TEST(Volume, UninitialisedHasItsSizeAndNewOnesAreZero) {
  const Grid grid = grid_of(300, 200, 100);
  EXPECT_EQ(Volume::uninitialised(grid).voxels.size(), grid.count());
  for (const float value : Volume(grid).voxels) ASSERT_EQ(value, 0);
  Voxels voxels = std::vector<float>{1, 2, 3};
  const std::vector<float> copy = voxels;
  EXPECT_EQ(voxels, copy);
  EXPECT_TRUE((voxels == std::vector<float>{1, 2, 3}) && (std::vector<float>{1, 2, 3} == voxels));
  EXPECT_FALSE(voxels == Voxels(3, 0.0f));
  voxels.resize(5, 0);
  EXPECT_THAT(voxels, testing::ElementsAre(1, 2, 3, 0, 0));
}

TEST(VolumeSource, CopiesMeetInEveryWay) {
  const Volume volume = sample();
  EXPECT_EQ(read_volume(MemorySource(volume)).voxels, volume.voxels);
  EXPECT_EQ(read_volume(Hidden(volume)).voxels, volume.voxels);
  Volume other = Volume(volume.grid);
  MemorySink sink(other);
  copy_voxels(Hidden(volume), sink);
  EXPECT_EQ(other.voxels, volume.voxels);
  const auto [least, greatest] = value_range(Hidden(volume));
  EXPECT_EQ(least, -1000.25f);
  EXPECT_EQ(greatest, 65535 - 1000.25f);
}

TEST(VolumeSource, AShiftIsUndoneAndRoundedOnce) {
  const Volume volume = sample();
  const float shift = 123.456f;
  const MemorySource memory(volume);
  const Hidden hidden(volume);
  const Volume shifted = read_volume(ShiftedSource(memory, shift));
  EXPECT_EQ(read_volume(ShiftedSource(hidden, shift)).voxels, shifted.voxels);
  Volume there(volume.grid), piecewise(volume.grid);
  TypedVolume typed(volume.grid, Component::float32);
  MemorySink memory_sink(there), other_sink(piecewise);
  TypedSink typed_sink(typed);
  ShiftedSink into_memory(memory_sink, shift), into_typed(typed_sink, shift);
  copy_voxels(MemorySource(shifted), into_memory);
  copy_voxels(MemorySource(shifted), into_typed);
  for (std::size_t n = 0; n < volume.voxels.size(); ++n) {
    ASSERT_EQ(shifted.voxels[n], volume.voxels[n] - shift);
    ASSERT_EQ(there.voxels[n], shifted.voxels[n] + shift);
  }
  EXPECT_EQ(to_volume(typed).voxels, there.voxels);
  // a run may have the sink's own memory hold the values that it then reports
  ShiftedSink in_place(other_sink, shift);
  ASSERT_EQ(in_place.data(), piecewise.voxels.data());
  piecewise.voxels = shifted.voxels;
  MemorySink moved(piecewise);
  ShiftedSink again(moved, shift);
  again.write(100, 1000, again.data() + 100);
  EXPECT_EQ(piecewise.voxels[99], shifted.voxels[99]);
  EXPECT_EQ(piecewise.voxels[100], there.voxels[100]);
  EXPECT_EQ(piecewise.voxels[1099], there.voxels[1099]);
  EXPECT_EQ(piecewise.voxels[1100], shifted.voxels[1100]);
}

TEST(VolumeSource, DividesInDouble) {
  const Volume volume = sample();
  const Volume divided = read_volume(DividedSource(MemorySource(volume), 3.7));
  for (std::size_t n = 0; n < volume.voxels.size(); n += 97)
    ASSERT_EQ(divided.voxels[n], static_cast<float>(volume.voxels[n] / 3.7));
}

TEST(TypedVolume, IsReadAndWrittenInPieces) {
  Volume volume = sample();
  for (auto& value : volume.voxels) value = std::floor(value);
  for (const auto& name : {"int32", "float32", "float64"}) {
    TypedVolume typed(volume.grid, component_named(name));
    TypedSink sink(typed);
    copy_voxels(MemorySource(volume), sink);
    EXPECT_EQ(sink.changed(), 0u);
    EXPECT_EQ(read_volume(TypedSource(typed)).voxels, volume.voxels) << name;
    EXPECT_EQ(to_volume(std::move(typed)).voxels, volume.voxels) << name;
  }
  TypedVolume narrow(volume.grid, Component::uint16, {2, -1001});
  TypedSink sink(narrow);
  copy_voxels(MemorySource(volume), sink);
  EXPECT_EQ(sink.changed(), 0u);
  const Volume back = to_volume(narrow);
  for (std::size_t n = 0; n < volume.voxels.size(); ++n) ASSERT_NEAR(back.voxels[n], volume.voxels[n], 1);
  EXPECT_EQ(narrow.byte_count(), 2 * volume.grid.count());
  EXPECT_LE(narrow.memory.size() * sizeof(float), narrow.byte_count() + 4);
  TypedVolume bytes(volume.grid, Component::uint8);
  TypedSink clamping(bytes);
  copy_voxels(MemorySource(volume), clamping);
  std::size_t beyond = 0;
  for (const float value : volume.voxels) beyond += value < 0 || value > 255 ? 1 : 0;
  EXPECT_EQ(clamping.changed(), beyond);
  clamping.begin();
  EXPECT_EQ(clamping.changed(), 0u);
}

// A run that ended in the middle may have written anything.
TEST(WatchedSink, ForgetsWhatWasWrittenBeforeItBeganAnew) {
  Volume volume(Grid{.size = {3, 1, 1}});
  MemorySink memory(volume);
  WatchedSink watched(memory);
  std::vector<float> wrong{-7, std::numeric_limits<float>::infinity(), 0}, right{2, 5, 3};
  watched.begin();
  watched.write(0, 2, wrong.data());
  EXPECT_EQ(watched.range().least, -7);
  watched.begin();
  watched.write(0, 3, right.data());
  EXPECT_EQ(watched.range().least, 2);
  EXPECT_EQ(watched.range().greatest, 5);
}

TEST(FiniteSource, SaysWhereOrSetsToZero) {
  Volume volume = sample();
  const auto open = [&](bool allow) { return FiniteSource(std::make_unique<Hidden>(volume), "'in.mha'", allow); };
  EXPECT_EQ(read_volume(open(false)).voxels, volume.voxels);
  volume.at(300, 102, 28) = std::numeric_limits<float>::infinity();
  volume.at(17, 50, 20) = std::numeric_limits<float>::quiet_NaN();
  volume.at(1, 0, 21) = -std::numeric_limits<float>::infinity();
  const auto refused = open(false);
  float three[3];
  refused.read(0, 3, three);  // nothing wrong with these
  for (int again = 0; again < 2; ++again) {
    EXPECT_THAT(refusal_of([&] { read_volume(refused); }),
                HasSubstr("'in.mha': 3 values are NaN or infinite, the first at index (17,50,20)"));
  }
  const auto allowed = open(true);
  read_volume(allowed);
  const Volume mended = read_volume(allowed);
  EXPECT_EQ(*allowed.replaced(), 3u);  // read twice, counted once
  for (float* value : {&volume.at(300, 102, 28), &volume.at(17, 50, 20), &volume.at(1, 0, 21)}) *value = 0;
  EXPECT_EQ(mended.voxels, volume.voxels);
}

}  // namespace
}  // namespace halocline::volume_source_test
