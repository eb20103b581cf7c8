// A phantom and a scan whose reconstructions are known to nine digits.
#pragma once

#include "tests/reference/projector_scenes.hpp"

namespace halocline::reference {

/// Modified Shepp-Logan (Toft 1996) on a grid of one slice: the mean of 4 x 4 points a pixel.
Volume shepp_logan(const Grid& grid);

/// 32 x 32 pixels of 1, 24 views over 180 degrees of 47 detector pixels of 1, parallel rays.
Scene small_parallel_scan();

}  // namespace halocline::reference
