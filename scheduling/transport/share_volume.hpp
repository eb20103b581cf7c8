// Volumes in host memory of which each rank has made a part.
#pragma once

#include <mutex>

#include "host/volume/volume.hpp"
#include "host/volume/volume_source.hpp"
#include "scheduling/planning/range_set.hpp"
#include "scheduling/transport/ranks.hpp"

namespace halocline {

/// Passes the voxels that this rank makes on to a volume in host memory, and knows which they are.
class PartOfRank : public VolumeSink {
 public:
  explicit PartOfRank(VolumeSink& whole) : whole_(whole) {}
  const Grid& grid() const override { return whole_.grid(); }
  void write(std::size_t first, std::size_t count, float* from) override;
  const RangeSet& made() const { return made_; }

 private:
  VolumeSink& whole_;
  std::mutex mutex_;
  RangeSet made_;
};

/// Brings a float32 volume of `count` voxels to all ranks; `here`: those that this rank has, by number. Several ranks
/// may have the same ones. Throws std::logic_error for voxels that none has. No effect on one rank.
void share_volume(Ranks& ranks, const RangeSet& here, std::size_t count, float* voxels);

/// The slices that a rank writes of a volume which all of them have: an even part, in order of ranks.
Range slices_to_write(const Grid& grid, const Ranks& ranks);

}  // namespace halocline
