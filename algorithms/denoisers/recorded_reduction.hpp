// The sums of a denoiser with what every record has beside them: the seconds, and the error to a truth.
#pragma once

#include "algorithms/denoisers/denoise_method.hpp"

namespace halocline {

/// A method's sums. Where MethodParameters::compared says so, sum (u - truth)^2 is added to them, with the input
/// "truth"; iterations and the results of the method do not change by that.
class RecordedReduction : public Reduction {
 public:
  /// truth_norm: ||truth||. The method outlives it.
  RecordedReduction(DenoiseMethod& method, const MethodParameters& parameters, double truth_norm = 0);

  /// The method's program. This outlives it.
  Program program();

  void begin() override { method_.begin(); }
  int next_reduction(int done) const override { return method_.next_reduction(done); }
  std::vector<int> expected_reductions(int iterations) const override {
    return method_.expected_reductions(iterations);
  }
  double expected_iterations() const override { return method_.expected_iterations(); }
  void reduce(Slab& slab, int done, Range interior) const override;
  bool reduced(int done, std::span<const double> sums) override;
  bool stage_ended() const override { return method_.stage_ended(); }
  bool ends_early(int done) override { return method_.ends_early(done); }
  std::string note() const override { return method_.note(); }
  const DeviceSteering* on_device() const override { return method_.on_device(); }

 private:
  DenoiseMethod& method_;
  bool compared_;
  double count_, truth_norm_;  // count: of voxels
  Requirements needs_;
  SliceSums error_;
};

}  // namespace halocline
