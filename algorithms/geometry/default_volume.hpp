// Default grid on which a scan is reconstructed.
#pragma once

#include <array>
#include <cstddef>
#include <optional>

#include "algorithms/geometry/geometry.hpp"
#include "host/volume/volume.hpp"

namespace halocline {

/// Wishes for the grid; the rest is chosen.
struct WantedVolume {
  std::optional<std::array<std::size_t, 3>> size;
  std::optional<std::array<double, 3>> spacing;  ///< mm
};

/// A grid as default_grid() that covers what the detector sees round the rotation axis: voxels as large as the pixels
/// are at the isocentre, as many across as the detector has columns, and as many slices as it has rows, round the
/// height where the middle row sees the axis. `displaced`: the detector's long side counts, twice. A given size is
/// spread over the same extent, and a spacing divides it. Parallel beams are not magnified; for a cylindrical detector
/// the arc counts.
Grid default_volume(const Geometry& geometry, const Grid& projections, bool displaced, const WantedVolume& wanted = {});

}  // namespace halocline
