#include "host/volume/voxel_work.hpp"

#include <cstdint>
#include <vector>

namespace halocline {
namespace {

Event launch_on_voxels(const KernelSpec& spec, const DevicePlace& at, std::size_t count,
                       std::initializer_list<KernelArgument> numbers, const Event& after) {
  if (count == 0) return after;
  std::vector<KernelArgument> arguments{&at.buffer, std::uint64_t{at.offset / sizeof(float)}, std::uint64_t{count}};
  arguments.insert(arguments.end(), numbers);
  return at.device.launch(spec, {count, 1, 1}, arguments, std::span(&after, after ? 1 : 0));
}

}  // namespace

Event subtract_on_device(const DevicePlace& at, std::size_t count, float shift, const Event& after) {
  return launch_on_voxels({"voxels.cl", "voxels_subtract", ""}, at, count, {shift}, after);
}

Event divide_on_device(const DevicePlace& at, std::size_t count, double divisor, const Event& after) {
  return launch_on_voxels({"voxels.cl", "voxels_divide", "-D USE_FP64"}, at, count, {divisor}, after);
}

Event hounsfield_on_device(const DevicePlace& at, std::size_t count, double water, bool variance, const Event& after) {
  const char* options = variance ? "-D USE_FP64 -D VARIANCE" : "-D USE_FP64";
  return launch_on_voxels({"voxels.cl", "voxels_hounsfield", options}, at, count, {water}, after);
}

Event clamp_on_device(const DevicePlace& at, std::size_t count, float minimum, float maximum, const Event& after) {
  return launch_on_voxels({"voxels.cl", "voxels_clamp", ""}, at, count, {minimum, maximum}, after);
}

}  // namespace halocline
