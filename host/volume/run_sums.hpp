// Sums over runs of voxels on a device, computed there.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "host/opencl/device.hpp"

namespace halocline {

/// Voxels [begin, end), numbered as in Volume::voxels.
struct VoxelRange {
  std::size_t begin = 0, end = 0;
  bool empty() const { return end <= begin; }
  std::size_t count() const { return empty() ? 0 : end - begin; }
};

/// A place in a device's memory for float32 voxels.
struct DevicePlace {
  Device& device;
  const Buffer& buffer;
  std::size_t offset = 0;  ///< in bytes
};

/// Sums over a run of neighbouring voxels, in the order of the voxels, in float64.
struct RunSums {
  double sum = 0, squares = 0;             ///< of the finite values
  double finite = 0, positive = 0;         ///< how many there are
  double uniform = 0;                      ///< voxels in stretches of 27 or more equal values
  double bad = -1;                         ///< place in the run of the first negative or non-finite value
  double least_positive = 0, largest = 0;  ///< of the values up to there; infinite and 0 where there is none
  double least = 0, greatest = 0;          ///< of all
  double stretch = 0, last = 0, seen = 0, reserved = 0;  ///< where the run continues in the next piece
};

/// Sums of no voxels.
std::vector<RunSums> empty_sums(std::size_t runs);

/// Adds runs of voxels, numbered from `at` on, to the sums of as many runs once `after` has ended, with the bits of one
/// thread of the host. False where the device lacks float64, or room for the sums.
bool add_runs(const DevicePlace& at, std::span<const VoxelRange> runs, std::span<RunSums> sums, const Event& after);

/// The least and the greatest value.
struct ValueRange {
  float least = 0, greatest = 0;
  /// The largest magnitude.
  double largest() const { return std::max(std::abs(least), std::abs(greatest)); }
  /// The range of both.
  ValueRange with(const ValueRange& other) const;
};

/// Facts that are independent of the order of voxels.
struct VoxelFacts {
  ValueRange range;
  std::size_t not_finite = 0;
};
/// Facts of `count` voxels at a place, at least one, once `after` has ended. Nothing where the device has no room for
/// them.
std::optional<VoxelFacts> facts_at(const DevicePlace& at, std::size_t count, const Event& after);

}  // namespace halocline
