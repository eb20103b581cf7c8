// What of a back-projection's result has reached its sink, through all attempts of a run.
#pragma once

#include <exception>
#include <mutex>
#include <string>
#include <vector>

#include "scheduling/execution/output_store.hpp"

namespace halocline {

class ResumableOutput {
 public:
  /// Begins `output`, with what `store` (nullptr: none) has of an earlier run.
  ResumableOutput(VolumeSink& output, OutputStore* store);

  VolumeSink& output() { return output_; }
  /// Final voxels on their way to the sink, which gets each of them once whatever is computed again. Several threads.
  /// With a store, what the sink throws (at Ctrl-C, say) does not end it: the rest of the slices that have been
  /// computed is kept first, and end_if_failed() throws.
  void write(std::size_t first, std::size_t count, float* from);
  void end_if_failed();
  /// As those of the sink; of a store, which is to have the voxels, none is on a device.
  VoxelRange voxels_on(const Device& device) const {
    return store_ == nullptr ? output_.voxels_on(device) : VoxelRange{};
  }
  void take_from(const DevicePlace& from, std::size_t first, std::size_t count, std::span<const Event> waits,
                 const VoxelWork& then);
  /// Slices of which voxels have not arrived.
  std::vector<Range> missing() const;
  /// "12 of 26 slices are done"; empty if none is.
  std::string text() const;

 private:
  VolumeSink& output_;
  OutputStore* store_;
  mutable std::mutex mutex_;
  RangeSet voxels_;
  std::exception_ptr failure_;
};

}  // namespace halocline
