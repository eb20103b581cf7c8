// What a back-projection has delivered, kept where it outlives the run.
#pragma once

#include <cstddef>

#include "host/volume/volume_source.hpp"
#include "scheduling/planning/range_set.hpp"

namespace halocline {

class OutputStore {
 public:
  virtual ~OutputStore() = default;
  /// Once, before the work: writes to `output` what an earlier run of the same job has kept, each voxel once and whole
  /// slices only; which voxels these are. They are neither computed nor kept again.
  virtual RangeSet give_back(VolumeSink& output) = 0;
  /// Voxels [first, first + count) as the method made them, which are final. By several threads at a time.
  virtual void keep(std::size_t first, std::size_t count, const float* values) = 0;
};

}  // namespace halocline
