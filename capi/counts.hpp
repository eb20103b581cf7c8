// Projections that are a detector's counts, for the verbs that take them.
#pragma once

#include <memory>
#include <optional>

#include "algorithms/preprocessing/calibrate_counts.hpp"
#include "capi/verb.hpp"

namespace halocline::capi {

class CountsSettings {
 public:
  void add_to(Settings& settings);
  bool counts() const { return counts_; }
  /// Names of the inputs beside the projections.
  static std::vector<std::string> inputs() { return {"flats", "darks", "bad-pixels"}; }
  /// Nothing if the projections are line integrals. Throws InputError as calibrate_counts() does, and for settings and
  /// inputs that are for counts alone.
  std::optional<CountsCalibration> calibration(const Work& work) const;
  /// Line integrals as they are to be taken: without rings, if that is wanted. Of counts nothing is done here.
  const VolumeSource& projections(const Work& work, std::unique_ptr<VolumeSource>& keeps) const;

 private:
  bool counts_ = false, any_ = false;
  CountsOptions options_;
};

}  // namespace halocline::capi
