// Volumes made smaller by means over boxes of voxels, and then 8 bits deep, for pictures.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "host/volume/volume.hpp"
#include "host/volume/volume_source.hpp"

namespace halocline {

struct BinnedVolume {
  Grid whole;                            ///< grid of the volume that this is made of
  std::array<std::size_t, 3> factors{};  ///< voxels of it along each side of a box
  std::array<std::size_t, 3> size{};     ///< boxes along each axis; the last may hold fewer voxels
  std::vector<float> voxels;             ///< mean of each box, first axis fastest

  std::size_t count() const { return size[0] * size[1] * size[2]; }
};

/// The least factors that leave at most `limit` boxes along each axis.
std::array<std::size_t, 3> binning_factors(const std::array<std::size_t, 3>& size, std::size_t limit);

/// The mean of each box. NaN and infinite values are left out; a box of nothing else is 0. The source is read once,
/// some rows at a time.
BinnedVolume bin_volume(const VolumeSource& volume, const std::array<std::size_t, 3>& factors);

/// Boxes of `more` times as many voxels of the same volume.
BinnedVolume bin_further(const BinnedVolume& volume, const std::array<std::size_t, 3>& more);

/// Factors with which bin_further() makes at most `most` boxes: the axis with most boxes gets larger ones first.
std::array<std::size_t, 3> factors_for(const std::array<std::size_t, 3>& size, double most);

/// value = offset + slope * byte.
struct ByteVolume {
  double offset = 0, slope = 0;
  bool below = false, above = false;  ///< values lie beyond those of the bytes 0 and 255, and became these
  std::vector<std::uint8_t> bytes;
};

/// Over the range of the voxels. Where a few of them (1 in 10,000) would take more than three quarters of that range,
/// over the range of the others.
ByteVolume to_bytes(const BinnedVolume& volume);

}  // namespace halocline
