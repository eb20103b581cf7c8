#include "algorithms/preprocessing/hounsfield.hpp"

namespace halocline {

void HounsfieldSink::write(std::size_t first, std::size_t count, float* from) {
  float* to = sink_.data() != nullptr ? sink_.data() + first : from;
  for (std::size_t n = 0; n < count; ++n) {
    const double value = from[n];
    to[n] =
        static_cast<float>(variance_ ? value * (1000 / water_) * (1000 / water_) : 1000 * (value - water_) / water_);
  }
  sink_.write(first, count, to);
}

VoxelRange HounsfieldSink::voxels_on(const Device& device) const {
  return device.info().fp64 ? sink_.voxels_on(device) : VoxelRange{};
}

void HounsfieldSink::take_from(const DevicePlace& from, std::size_t first, std::size_t count,
                               std::span<const Event> waits) {
  if (count == 0) return;
  const KernelArgument arguments[] = {&from.buffer, std::uint64_t{from.offset / sizeof(float)}, std::uint64_t{count},
                                      water_};
  const KernelSpec kernel{"voxels.cl", "voxels_hounsfield", variance_ ? "-D USE_FP64 -D VARIANCE" : "-D USE_FP64"};
  const Event converted = from.device.launch(kernel, {count, 1, 1}, arguments, waits);
  sink_.take_from(from, first, count, std::span(&converted, 1));
}

}  // namespace halocline
