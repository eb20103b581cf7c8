#include "host/volume/cutout.hpp"

#include <algorithm>

namespace halocline {

Cutout Cutout::grown(std::size_t margin, const std::array<std::size_t, 3>& volume) const {
  Cutout result;
  for (int axis = 0; axis < 3; ++axis) {
    result.first[axis] = first[axis] - std::min(first[axis], margin);
    result.size[axis] = std::min(volume[axis], first[axis] + size[axis] + margin) - result.first[axis];
  }
  return result;
}

Cutout Cutout::within(const Cutout& outer) const {
  Cutout result = *this;
  for (int axis = 0; axis < 3; ++axis) result.first[axis] -= outer.first[axis];
  return result;
}

Grid cut_out(const Grid& grid, const Cutout& part) {
  Grid result = grid;
  result.size = part.size;
  result.origin = grid.world(static_cast<double>(part.first[0]), static_cast<double>(part.first[1]),
                             static_cast<double>(part.first[2]));
  return result;
}

Volume cut_out(const Volume& volume, const Cutout& part) {
  Volume result(cut_out(volume.grid, part));
  const auto& size = volume.grid.size;
  for (std::size_t k = 0; k < part.size[2]; ++k)
    for (std::size_t j = 0; j < part.size[1]; ++j) {
      const float* row = &volume.voxels[part.first[0] + size[0] * (part.first[1] + j + size[1] * (part.first[2] + k))];
      std::copy(row, row + part.size[0], &result.at(0, j, k));
    }
  return result;
}

Volume cut_out(const VolumeSource& source, const Cutout& part) {
  Volume result = Volume::uninitialised(cut_out(source.grid(), part));
  const auto& size = source.grid().size;
  for (std::size_t k = 0; k < part.size[2]; ++k)
    for (std::size_t j = 0; j < part.size[1]; ++j)
      source.read(part.first[0] + size[0] * (part.first[1] + j + size[1] * (part.first[2] + k)), part.size[0],
                  &result.at(0, j, k));
  return result;
}

}  // namespace halocline
