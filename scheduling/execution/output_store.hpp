// Storage for the finished slices of a back-projection.
#pragma once

#include <cstddef>

#include "host/volume/volume_source.hpp"
#include "scheduling/planning/range_set.hpp"

namespace halocline {

class OutputStore {
 public:
  virtual ~OutputStore() = default;
  /// Writes the voxels that an earlier run of the same job has stored to `output`, each once and in whole slices, and
  /// returns their numbers. Called once, before the work; these voxels are neither computed nor stored again.
  virtual RangeSet give_back(VolumeSink& output) = 0;
  /// Stores final voxels [first, first + count). Called by several threads at a time.
  virtual void keep(std::size_t first, std::size_t count, const float* values) = 0;
};

}  // namespace halocline
