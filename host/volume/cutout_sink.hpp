// A sink for a volume of which only a box is wanted.
#pragma once

#include "host/volume/cutout.hpp"
#include "host/volume/volume_source.hpp"

namespace halocline {

class CutoutSink : public VolumeSink {
 public:
  /// Takes voxels of `whole` and gives those of the box `part` to `inner`, whose grid is the box's.
  CutoutSink(const Grid& whole, const Cutout& part, VolumeSink& inner) : whole_(whole), part_(part), inner_(inner) {}
  const Grid& grid() const override { return whole_; }
  void begin() override { inner_.begin(); }
  void write(std::size_t first, std::size_t count, float* from) override;

 private:
  Grid whole_;
  Cutout part_;
  VolumeSink& inner_;
};

}  // namespace halocline
