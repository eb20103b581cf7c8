// Bitwise comparison of volumes, in which NaN equals itself.
#pragma once

#include <cstring>

#include "host/volume/volume.hpp"

namespace halocline {

inline bool same_bits(const Volume& a, const Volume& b) {
  return a.voxels.size() == b.voxels.size() &&
         std::memcmp(a.voxels.data(), b.voxels.data(), a.voxels.size() * sizeof(float)) == 0;
}

}  // namespace halocline
