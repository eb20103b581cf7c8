// Projections of which some detector rows are in host memory.
#pragma once

#include <cstddef>
#include <memory>

#include "host/volume/volume_source.hpp"

namespace halocline {

/// A stack (u, v, view) whose rows [begin, end) are read once, by many threads, and held: begin <= end <= size[1]. The
/// other rows are read from `source` each time that they are asked for. Throws what it throws.
class HeldRows : public VolumeSource {
 public:
  HeldRows(std::unique_ptr<VolumeSource> source, std::size_t begin, std::size_t end);
  const Grid& grid() const override { return source_->grid(); }
  void read(std::size_t first, std::size_t count, float* to) const override;

 private:
  std::unique_ptr<VolumeSource> source_;
  std::size_t begin_, view_;  // the first held pixel of a view; held pixels of a view
  Voxels voxels_;
};

}  // namespace halocline
