// Output of a back-projection that records which voxels have arrived, over all attempts of a run.
#pragma once

#include <exception>
#include <mutex>
#include <string>
#include <vector>

#include "scheduling/execution/output_store.hpp"

namespace halocline {

class ResumableOutput {
 public:
  /// Begins `output`, with the slices that `store` (nullptr: none) has of an earlier run.
  ResumableOutput(VolumeSink& output, OutputStore* store);

  VolumeSink& output() { return output_; }
  /// Writes final voxels, each of them once even if it is computed again. Called by several threads. With a store,
  /// errors of the sink (or Ctrl-C) are thrown later, by end_if_failed(), after the computed slices have been stored.
  void write(std::size_t first, std::size_t count, float* from);
  void end_if_failed();
  /// Voxels of the sink on a device; none with a store, which needs them on the host.
  VoxelRange voxels_on(const Device& device) const {
    return store_ == nullptr ? output_.voxels_on(device) : VoxelRange{};
  }
  void take_from(const DevicePlace& from, std::size_t first, std::size_t count, std::span<const Event> waits,
                 const VoxelWork& then);
  /// Slices of which voxels have not arrived.
  std::vector<Range> missing() const;
  /// "12 of 26 slices are done" of those that were missing at first; empty if none is.
  std::string text() const;

 private:
  VolumeSink& output_;
  OutputStore* store_;
  mutable std::mutex mutex_;
  RangeSet voxels_;
  std::int64_t missing_first_;  // slices
  std::exception_ptr failure_;
};

}  // namespace halocline
