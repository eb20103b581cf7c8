// Boxes of voxels that are cut out of volumes.
#pragma once

#include <array>
#include <cstddef>

#include "host/volume/volume.hpp"
#include "host/volume/volume_source.hpp"

namespace halocline {

/// Voxels first ... first + size - 1 along each index axis.
struct Cutout {
  std::array<std::size_t, 3> first{0, 0, 0}, size{0, 0, 0};

  /// The box with up to `margin` more voxels on every side, as far as a volume of this size has them.
  Cutout grown(std::size_t margin, const std::array<std::size_t, 3>& volume) const;
  /// The box counted from the first voxel of `outer`, which contains it.
  Cutout within(const Cutout& outer) const;
};

/// The grid of the box's voxels: they keep their places in the world.
Grid cut_out(const Grid& grid, const Cutout& part);
/// The box must be inside the volume.
Volume cut_out(const Volume& volume, const Cutout& part);
/// Reads only the rows of the box.
Volume cut_out(const VolumeSource& source, const Cutout& part);

}  // namespace halocline
