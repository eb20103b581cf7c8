// A scan split in two: every other view. Reconstructed alone, each half shows the same object with independent noise.
// The difference gives the noise of the whole and the right strength of denoising.
#pragma once

#include <array>
#include <vector>

#include "algorithms/geometry/geometry.hpp"
#include "host/volume/typed_volume.hpp"

namespace halocline {

struct HalfScan {
  std::vector<std::size_t> views;  // of the whole scan, in the order of acquisition
  Geometry geometry;
};

/// The odd (1st, 3rd, ...) and the even views in the order on the circle, whatever the order of acquisition; views at
/// the same angle, and for a parallel beam opposite ones, follow each other; where a parallel beam goes all round, so
/// do both halves, as a displaced detector needs it. Throws InputError if there are fewer than two views, or as
/// angular_coverage() does.
std::array<HalfScan, 2> half_scans(const Geometry& geometry);

/// These views of a stack.
TypedVolume select_views(const TypedVolume& projections, const std::vector<std::size_t>& views);
Volume select_views(const Volume& projections, const std::vector<std::size_t>& views);

}  // namespace halocline
