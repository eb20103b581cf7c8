// labels: device
// Contexts and memory of another OpenCL program in this process.
#include <gtest/gtest.h>

#include <cstdlib>
#include <limits>
#include <memory>

#include "host/opencl/opencl.hpp"
#include "host/system/error.hpp"
#include "host/volume/device_array.hpp"

namespace halocline::adopted_device_test {
namespace {

constexpr std::size_t offset = 64;

// The other program: a context, and a buffer with values behind some bytes.
struct Foreign {
  cl::Context context;
  cl::Device id;
  cl::CommandQueue queue;
  cl::Buffer buffer;

  explicit Foreign(const Volume& volume) {
    id = open_devices({}).front().state()->device;
    context = cl::Context(id);
    queue = cl::CommandQueue(context, id);
    buffer = cl::Buffer(context, CL_MEM_READ_WRITE, offset + volume.voxels.size() * sizeof(float));
    queue.enqueueWriteBuffer(buffer, CL_TRUE, offset, volume.voxels.size() * sizeof(float), volume.voxels.data());
  }
  Device adopt() const { return adopt_device(context(), id()); }
};

Volume ramp() {
  Grid grid{.size = {7, 5, 9}};
  Volume volume(grid);
  for (std::size_t n = 0; n < volume.voxels.size(); ++n) volume.voxels[n] = 0.25f * static_cast<float>(n) - 3;
  return volume;
}

class Adopted : public testing::Test {
 protected:
  void SetUp() override {
    if (list_devices().empty()) GTEST_SKIP() << "no OpenCL device";
    foreign_ = std::make_unique<Foreign>(volume_);
  }
  const Volume volume_ = ramp();
  std::unique_ptr<Foreign> foreign_;
};

TEST_F(Adopted, ContextAndMemoryLiveAsLongAsTheyAreUsed) {
  Device device = foreign_->adopt();
  EXPECT_EQ(device.info().name, open_devices({}).front().info().name);
  DistributedArray array(volume_.grid, device, Buffer::adopt(device, "array", foreign_->buffer()), offset);
  foreign_.reset();
  EXPECT_EQ(device.ledger().in_use(), 0u);
  EXPECT_TRUE(read_volume(array).voxels == volume_.voxels);
  EXPECT_EQ(array.bus_bytes(), volume_.voxels.size() * sizeof(float));
  array.spill();
  EXPECT_FALSE(array.spilled()) << "it is not the array's to move";
  const ValueRange range = value_range(array);
  EXPECT_EQ(array.bus_bytes(), volume_.voxels.size() * sizeof(float));
  EXPECT_EQ(range.least, -3);
  EXPECT_EQ(range.greatest, volume_.voxels.back());
}

TEST_F(Adopted, VoxelsComeAndGoWithoutTheBus) {
  Device device = foreign_->adopt();
  const DistributedArray from(volume_.grid, device, Buffer::adopt(device, "from", foreign_->buffer()), offset);
  DistributedArray to(volume_.grid, device, Buffer::for_others(device, "to", volume_.voxels.size() * sizeof(float)));
  EXPECT_EQ(device.ledger().in_use(), 0u);
  const Buffer between = device.buffer("between", volume_.voxels.size() * sizeof(float));
  const Event copied = from.copy_to({device, between}, 0, volume_.voxels.size(), {});
  WatchedSink watched(to);
  ShiftedSink shifted(watched, 2.5f);
  shifted.take_from({device, between}, 0, volume_.voxels.size(), std::span(&copied, 1), {});
  EXPECT_EQ(watched.bus_bytes(), 0u);
  EXPECT_EQ(watched.range().least, -0.5f);
  Volume expected = volume_;
  for (float& voxel : expected.voxels) voxel += 2.5f;
  EXPECT_TRUE(read_volume(to).voxels == expected.voxels);
  EXPECT_TRUE(read_volume(from).voxels == volume_.voxels);
}

TEST_F(Adopted, TellsWhatItsVoxelsAre) {
  Volume volume = ramp();
  volume.voxels[100] = std::numeric_limits<float>::quiet_NaN();
  volume.voxels[200] = -std::numeric_limits<float>::infinity();
  foreign_ = std::make_unique<Foreign>(volume);
  Device device = foreign_->adopt();
  const DistributedArray array(volume.grid, device, Buffer::adopt(device, "array", foreign_->buffer()), offset);
  const auto facts = array.facts();
  ASSERT_TRUE(facts);
  EXPECT_EQ(facts->not_finite, 2u);
  EXPECT_EQ(facts->range.least, -std::numeric_limits<float>::infinity());
  EXPECT_EQ(facts->range.greatest, volume.voxels.back());
  EXPECT_EQ(array.bus_bytes(), 0u);
  Grid grid{.size = {93, 91, 89}};
  Volume large(grid);
  for (std::size_t n = 0; n < large.voxels.size(); ++n) large.voxels[n] = static_cast<float>(n * 7919 % 65536);
  large.voxels.back() = -1;
  foreign_ = std::make_unique<Foreign>(large);
  device = foreign_->adopt();
  const DistributedArray of_large(large.grid, device, Buffer::adopt(device, "array", foreign_->buffer()), offset);
  const ValueRange range = value_range(of_large), expected = value_range(MemorySource(large));
  EXPECT_EQ(range.least, expected.least);
  EXPECT_EQ(range.greatest, expected.greatest);
}

TEST_F(Adopted, RefusesWhatIsNotOfTheContext) {
  Device device = foreign_->adopt();
  const Foreign other(volume_);
  EXPECT_THROW(Buffer::adopt(device, "array", other.buffer()), InputError);
  EXPECT_THROW(DistributedArray(volume_.grid, device, Buffer::adopt(device, "array", foreign_->buffer()), offset + 4),
               std::logic_error);
  EXPECT_THROW(DistributedArray(volume_.grid, device, Buffer::adopt(device, "array", foreign_->buffer()), 2),
               std::logic_error);
  std::vector<cl::Device> parts;
  const cl_device_partition_property halves[] = {CL_DEVICE_PARTITION_EQUALLY, 1, 0};
  try {
    foreign_->id.createSubDevices(halves, &parts);
  } catch (const cl::Error&) {
    GTEST_SKIP() << "the device cannot be split";
  }
  EXPECT_THROW(adopt_device(foreign_->context(), parts.front()()), InputError);
}

TEST_F(Adopted, IsMeantByNoNameAndByItsOwn) {
  ::unsetenv("HALOCLINE_DEVICE");
  const Device device = foreign_->adopt();
  const auto selected = [&](const std::string& name, int sub_devices = 0) {
    return means({.device = name, .sub_devices = sub_devices}, device);
  };
  EXPECT_TRUE(selected(""));
  EXPECT_TRUE(selected(std::to_string(device.info().index)));
  EXPECT_EQ(selected("all"), list_devices().size() == 1);
  EXPECT_FALSE(selected("", 2));
  EXPECT_THROW(selected("nosuch"), InputError);
  ::setenv("HALOCLINE_DEVICE", "nosuch", 1);
  EXPECT_THROW(selected(""), InputError);
  ::unsetenv("HALOCLINE_DEVICE");
}

}  // namespace
}  // namespace halocline::adopted_device_test
