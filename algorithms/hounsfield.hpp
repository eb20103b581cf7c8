// Attenuations as CT numbers (Hounsfield 1973): HU = 1000 (mu - mu_water)/mu_water, so water has 0 and vacuum -1000.
#pragma once

#include "host/volume.hpp"

namespace halocline {

/// Attenuations to CT numbers in place, in double, rounded once. `water` and the values in the same unit (1/mm).
inline void to_hounsfield(Volume& attenuations, double water) {
  for (float& value : attenuations.voxels) value = static_cast<float>(1000 * (value - water) / water);
}

/// The variance of attenuations to that of the CT numbers, HU^2.
inline void variance_to_hounsfield(Volume& variances, double water) {
  const double factor = (1000 / water) * (1000 / water);
  for (float& value : variances.voxels) value = static_cast<float>(value * factor);
}

}  // namespace halocline
