// The norm of a volume or of projections, wherever their values are.
#pragma once

#include "host/volume/volume_source.hpp"

namespace halocline {

/// sqrt(sum of squares), added in double in an order that depends on the size alone.
double norm_of(const VolumeSource& values);

}  // namespace halocline
