// The variances that weigh a denoising problem, as a whole.
#pragma once

#include "host/volume/volume_source.hpp"

namespace halocline {

struct WeightStatistics {
  double mean = 0;  ///< all of the positive ones
  float least = 0, largest = 0;
};

/// Looks at every weight: the mean, the least and the largest of the positive ones. Throws InputError that names
/// `weights` for negative and non-finite ones, and if there is no positive one.
WeightStatistics weight_statistics(const VolumeSource& weights);

}  // namespace halocline
