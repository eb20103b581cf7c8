// Root mean square of what two volumes differ by.
#pragma once

#include <cmath>

#include "host/volume/volume.hpp"

namespace halocline {

inline double rms(const Volume& a, const Volume& b) {
  double sum = 0;
  for (std::size_t n = 0; n < a.voxels.size(); ++n) sum += std::pow(static_cast<double>(a.voxels[n]) - b.voxels[n], 2);
  return std::sqrt(sum / static_cast<double>(a.voxels.size()));
}

}  // namespace halocline
