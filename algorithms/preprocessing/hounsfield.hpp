// Attenuations as CT numbers (Hounsfield 1973): HU = 1000 (mu - mu_water)/mu_water, so water has 0 and vacuum -1000.
#pragma once

#include "host/volume/volume_source.hpp"

namespace halocline {

/// Attenuations as CT numbers on their way to another sink, computed in double and rounded once; with `variance` the
/// variances of attenuations as those of the CT numbers, HU^2. `water` and the values in the same unit (1/mm).
class HounsfieldSink : public VolumeSink {
 public:
  HounsfieldSink(VolumeSink& sink, double water, bool variance) : sink_(sink), water_(water), variance_(variance) {}
  const Grid& grid() const override { return sink_.grid(); }
  void begin() override { sink_.begin(); }
  void write(std::size_t first, std::size_t count, float* from) override;
  float* data() override { return sink_.data(); }
  VoxelRange voxels_on(const Device& device) const override;
  /// The voxels at `from` are CT numbers afterwards.
  void take_from(const DevicePlace& from, std::size_t first, std::size_t count, std::span<const Event> waits,
                 const VoxelWork& then) override;
  bool on_devices() const override { return sink_.on_devices(); }
  std::size_t bus_bytes() const override { return sink_.bus_bytes(); }

 private:
  VolumeSink& sink_;
  double water_;
  bool variance_;
};

}  // namespace halocline
