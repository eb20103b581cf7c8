// The projections of `halocline fdk`, frame by frame.
#pragma once

#include <memory>

#include "algorithms/preprocessing/counts_part.hpp"
#include "apps/commands/fdk_forecast.hpp"

namespace halocline {

/// The projections of a frame: in host memory, or left where they are and read as they are wanted.
struct FdkInput {
  TypedSource memory{TypedVolume{}};
  std::unique_ptr<VolumeSource> file;
  CountsCalibration calibration;  // calibration of counts

  const VolumeSource& source() const { return file ? *file : static_cast<const VolumeSource&>(memory); }
  /// Frees the memory of the projections.
  void release();
};

class FdkProjections {
 public:
  /// Opens a scan of which frames or other parts are taken, and calibrates its counts. plans: they say of others
  /// whether these are read as they are wanted, and the rows that are read.
  FdkProjections(Job& job, const FdkCommand& command, const FdkWork& work, const FdkPlans& plans);

  /// The projections of frame n. Warns of those that look wrong, each kind of warning once.
  FdkInput read(std::size_t n);
  /// "of the whole scan, 1 of 60 counts were raised ..."
  std::string counts_text(const FdkInput& input) const;

 private:
  TypedVolume read_voxels(std::size_t n);
  CountsCalibration calibration_of(const FdkInput& input, std::size_t n);
  void warn_of(const FdkInput& input, std::size_t n);

  Job& job_;
  const FdkCommand& command_;
  const FdkWork& work_;
  const FdkPlans& plans_;
  std::unique_ptr<VolumeSource> scan_;  // nullptr: the file is taken whole
  CountsCalibration scan_calibration_;  // calibration of counts
  bool warned_constant_ = false, warned_unlike_integrals_ = false, warned_truncated_ = false;
};

}  // namespace halocline
