#include "algorithms/preprocessing/hounsfield.hpp"

#include "host/volume/voxel_work.hpp"

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
                               std::span<const Event> waits, const VoxelWork& then) {
  sink_.take_from(from, first, count, waits,
                  in_turn(then, [this](const DevicePlace& at, std::size_t voxels, const Event& after) {
                    return hounsfield_on_device(at, voxels, water_, variance_, after);
                  }));
}

}  // namespace halocline
