// Speed of fetches, the limit of everything that interpolates.
#pragma once

#include <string>

#include "host/opencl/device.hpp"

namespace halocline {

/// Values that a kernel reads at places that it computes: texels of an image array, or numbers of a buffer.
struct Fetch {
  bool image = false;
  int channels = 1;      ///< 1, 2 or 4; of a buffer 1 or 4
  bool half = false;     ///< texels of half precision
  bool nearest = false;  ///< of texels the nearest one, not interpolated
  friend bool operator==(const Fetch&, const Fetch&) = default;
};
/// "texels of 2 x float32", "nearest texels of 1 x float32", "reads of 16 B".
std::string fetch_name(const Fetch& fetch);

/// Fetches a second by a kernel that does little else, at places like those of neighbouring voxels and views
/// (cl/bench.cl): the limit of the texture units or the caches. Throws ClError.
double fetch_rate(const Device& device, const Fetch& fetch, double seconds);

}  // namespace halocline
