// Line integrals without rings, subtracted as they are read.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "host/volume/volume_source.hpp"

namespace halocline {

/// Offsets that pixels of a detector (rows of columns) add to all their line integrals.
struct DetectorOffsets {
  std::vector<float> pixels;
  double rms = 0;
  std::size_t count = 0;  ///< of pixels whose offset is not 0
};

/// ring_offsets() of each detector row of line integrals (u, v, view). Reads each view once for
/// every 256 MiB of the stack, and holds so much, beside a row of all views for each of the host's threads. `name` is
/// of the projections. Throws InputError as check_ring_width() does, and for values that are not finite.
DetectorOffsets ring_offsets(const VolumeSource& line_integrals, int width, const std::string& name);

/// Takes the offsets off `count` line integrals from number `first` of the stack on.
void take_off(const DetectorOffsets& offsets, std::size_t first, std::size_t count, float* values);

/// Line integrals without these offsets.
class RingFreeSource : public VolumeSource {
 public:
  RingFreeSource(std::unique_ptr<VolumeSource> source, DetectorOffsets offsets)
      : source_(std::move(source)), offsets_(std::move(offsets)) {}
  const Grid& grid() const override { return source_->grid(); }
  void read(std::size_t first, std::size_t count, float* to) const override;

 private:
  std::unique_ptr<VolumeSource> source_;
  DetectorOffsets offsets_;
};

/// Throws InputError that names `name` if the projections have too few views or columns for rings `width` wide
/// (`ring_width`); 0: none are looked for.
void check_ring_width(int width, const Grid& projections, const std::string& name);

}  // namespace halocline
