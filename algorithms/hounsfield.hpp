// Attenuations as CT numbers (Hounsfield 1973): HU = 1000 (mu - mu_water)/mu_water, so water has 0 and vacuum -1000.
#pragma once

#include "host/volume.hpp"

namespace halocline {

/// Attenuations to CT numbers in place, in double, rounded once. `water` and the values in the same unit (1/mm).
void to_hounsfield(Volume& attenuations, double water);

/// The variance of attenuations to that of the CT numbers, HU^2.
void variance_to_hounsfield(Volume& variances, double water);

}  // namespace halocline
