// labels: device
// Volumes that reside on devices: as sources and sinks, spilled and back, in the budgets of later jobs.
#include "host/volume/device_array.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "algorithms/preprocessing/hounsfield.hpp"
#include "algorithms/support/volume_sample.hpp"
#include "host/system/error.hpp"
#include "scheduling/profiling/rates.hpp"

namespace halocline::device_array_test {
namespace {

using testing::HasSubstr;

Grid cube(std::size_t edge) {
  return {.size = {edge, edge, edge}};
}

Volume sample(std::size_t edge) {
  Volume volume(cube(edge));
  for (std::size_t n = 0; n < volume.voxels.size(); ++n)
    volume.voxels[n] = 0.01f * static_cast<float>(n * 7919 % 65536) - 100.3f + (n % 700 > 600 ? 0 : 1e-3f);
  return volume;
}

bool same_bits(const Voxels& a, const Voxels& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

// One device, or the parts of a CPU.
std::vector<Device> devices(int parts) {
  DeviceSelection selection;
  if (parts > 1) selection.device = "cpu", selection.sub_devices = parts;
  return open_devices(selection);
}

std::vector<DistributedArray::Share> shares(const std::vector<Device>& devices, std::size_t slices) {
  std::vector<DistributedArray::Share> result;
  const auto count = static_cast<std::int64_t>(devices.size()), all = static_cast<std::int64_t>(slices);
  for (std::int64_t n = 0; n < count; ++n) result.push_back({devices[n], all * n / count, all * (n + 1) / count});
  return result;
}

class Arrays : public testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    if (list_devices().empty()) GTEST_SKIP() << "no OpenCL device";
    try {
      devices_ = devices(GetParam());
    } catch (const InputError& error) {
      GTEST_SKIP() << error.what();
    }
  }
  std::vector<std::size_t> edges() const {
    return GetParam() == 1 ? std::vector<std::size_t>{1, 7, 93} : std::vector<std::size_t>{7, 93};
  }
  std::vector<Device> devices_;
};
INSTANTIATE_TEST_SUITE_P(Devices, Arrays, testing::Values(1, 2));

TEST_P(Arrays, GiveBackWhatTheyGot) {
  for (const std::size_t edge : edges()) {
    const Volume volume = sample(edge);
    DistributedArray array("test", volume.grid, shares(devices_, edge));
    EXPECT_EQ(array.data(), nullptr);
    copy_voxels(MemorySource(volume), array);
    EXPECT_TRUE(same_bits(read_volume(array).voxels, volume.voxels)) << edge;
    EXPECT_EQ(array.bus_bytes(), 2 * sizeof(float) * volume.voxels.size());
    // a part that is on both of two devices
    const std::size_t first = volume.voxels.size() / 3, count = volume.voxels.size() / 2;
    std::vector<float> values(count, 3.5f), found(count);
    array.write(first, count, values.data());
    array.read(first, count, found.data());
    EXPECT_EQ(found, values);
  }
}

TEST_P(Arrays, AreSpilledWithTheSameBits) {
  for (const std::size_t edge : edges()) {
    const Volume volume = sample(edge);
    std::vector<std::size_t> before;
    for (const auto& device : devices_) before.push_back(device.ledger().in_use());
    DistributedArray array("test", volume.grid, shares(devices_, edge));
    copy_voxels(MemorySource(volume), array);
    array.spill();
    EXPECT_TRUE(array.spilled());
    ASSERT_NE(array.data(), nullptr);
    EXPECT_EQ(std::memcmp(array.data(), volume.voxels.data(), sizeof(float) * volume.voxels.size()), 0);
    for (std::size_t d = 0; d < devices_.size(); ++d) {
      EXPECT_EQ(devices_[d].ledger().in_use(), before[d]);
      EXPECT_EQ(devices_[d].ledger().available(), devices_[d].ledger().budget());
    }
    EXPECT_TRUE(same_bits(read_volume(array).voxels, volume.voxels)) << edge;
  }
}

TEST_P(Arrays, AreInTheBudgetsOfLaterJobs) {
  const auto free_before = device_models(devices_);
  {
    const DistributedArray array("test", cube(93), shares(devices_, 93));
    const auto free_now = device_models(devices_);
    std::size_t held = 0;
    for (std::size_t n = 0; n < devices_.size(); ++n) held += free_before[n].memory - free_now[n].memory;
    EXPECT_EQ(held, sizeof(float) * 93 * 93 * 93);
    EXPECT_GT(free_before.back().memory, free_now.back().memory);
  }
  EXPECT_EQ(device_models(devices_).front().memory, free_before.front().memory);
}

TEST_P(Arrays, CopyWithinADeviceWithoutTheBus) {
  for (const std::size_t edge : edges()) {
    const Volume volume = sample(edge);
    DistributedArray array("test", volume.grid, shares(devices_, edge)), copy("copy", volume.grid, array.shares());
    copy_voxels(MemorySource(volume), array);
    const std::size_t before = array.bus_bytes();
    const ShiftedSource shifted(array, 17.23f);
    const DividedSource divided(shifted, 3.7);
    HounsfieldSink units(copy, 0.0193, false);
    for (Device device : devices_) {
      const VoxelRange here = divided.voxels_on(device);
      if (!device.info().fp64) GTEST_SKIP() << "no float64";
      ASSERT_FALSE(here.empty());
      const Buffer buffer = device.buffer("voxels", 64 + sizeof(float) * here.count());
      const Event copied = divided.copy_to({device, buffer, 64}, here.begin, here.count(), {});
      units.take_from({device, buffer, 64}, here.begin, here.count(), std::span(&copied, 1), {});
    }
    EXPECT_EQ(array.bus_bytes(), before);
    EXPECT_EQ(copy.bus_bytes(), 0u);
    Volume expected(volume.grid);
    const MemorySource memory(volume);
    MemorySink sink(expected);
    HounsfieldSink on_host(sink, 0.0193, false);
    copy_voxels(DividedSource(ShiftedSource(memory, 17.23f), 3.7), on_host);
    EXPECT_TRUE(same_bits(read_volume(copy).voxels, expected.voxels)) << edge;
  }
}

TEST_P(Arrays, AreSummedUpWhereTheyLie) {
  Volume volume = sample(93);
  std::fill(volume.voxels.begin() + 400000, volume.voxels.begin() + 410000, 0.25f);
  volume.voxels[5000] = std::numeric_limits<float>::infinity();
  DistributedArray array("test", volume.grid, shares(devices_, 93));
  copy_voxels(MemorySource(volume), array);
  if (!devices_.front().info().fp64) GTEST_SKIP() << "no float64";
  const std::size_t before = array.bus_bytes();
  const VolumeSample found = sample_volume(array), expected = sample_volume(MemorySource(volume));
  EXPECT_EQ(found.mean, expected.mean);
  EXPECT_EQ(found.spread, expected.spread);
  EXPECT_EQ(found.active_fraction, expected.active_fraction);
  const ValueRange range = value_range(array), of_memory = value_range(MemorySource(volume));
  EXPECT_EQ(range.least, of_memory.least);
  EXPECT_EQ(range.greatest, of_memory.greatest);
  // runs that two devices share
  const std::vector<VoxelRange> runs{{0, volume.voxels.size()}, {17, 18}, {390000, 420001}};
  const auto sums = array.sums_of_runs(runs);
  ASSERT_TRUE(sums);
  for (std::size_t n = 0; n < runs.size(); ++n) {
    double sum = 0, finite = 0;
    for (std::size_t at = runs[n].begin; at < runs[n].end; ++at)
      if (std::isfinite(volume.voxels[at])) sum += volume.voxels[at], ++finite;
    EXPECT_EQ((*sums)[n].sum, sum) << n;
    EXPECT_EQ((*sums)[n].finite, finite) << n;
  }
  EXPECT_EQ(sums->front().bad, 0);  // the first is negative
  EXPECT_EQ((*sums)[2].uniform, 10000);
  EXPECT_EQ(array.bus_bytes(), before);
}

TEST(DistributedArray, MakesRoomForWorkThatNeedsIt) {
  if (list_devices().empty()) GTEST_SKIP() << "no OpenCL device";
  Device device = open_devices({.device_memory = 100000}).front();
  const Volume volume = sample(20);  // 32000 bytes
  DistributedArray array("test", volume.grid, {{device, 0, 20}});
  copy_voxels(MemorySource(volume), array);
  DistributedArray* const arrays[] = {&array, nullptr};
  int tries = 0;
  with_room(arrays, [&] {
    ++tries;
    device.buffer("fits", 60000);
  });
  EXPECT_EQ(tries, 1);
  EXPECT_FALSE(array.spilled());
  with_room(arrays, [&] {
    ++tries;
    device.buffer("does not fit", 80000);
  });
  EXPECT_EQ(tries, 3);
  EXPECT_TRUE(array.spilled());
  EXPECT_TRUE(same_bits(read_volume(array).voxels, volume.voxels));
  EXPECT_THROW(with_room(arrays, [&] { device.buffer("too large", 200000); }), BudgetError);
  EXPECT_THROW(with_room(arrays, [&] { throw InputError("other"); }), InputError);
}

TEST(DistributedArray, RefusesWhatIsNoPartitionOrDoesNotFit) {
  if (list_devices().empty()) GTEST_SKIP() << "no OpenCL device";
  const auto opened = open_devices({.device_memory = 1 << 16});
  EXPECT_THROW(DistributedArray("test", cube(7), {{opened.front(), 0, 6}}), std::logic_error);
  EXPECT_THROW(DistributedArray("test", cube(93), shares({opened.front()}, 93)), BudgetError);
  EXPECT_EQ(opened.front().ledger().available(), opened.front().ledger().budget());
  DistributedArray spilled("test", cube(7), {});
  EXPECT_TRUE(spilled.spilled());
  EXPECT_TRUE(spilled.voxels_on(opened.front()).empty());
}

}  // namespace
}  // namespace halocline::device_array_test
