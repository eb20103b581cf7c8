// One denoising run on given devices, in steps.
#pragma once

#include <optional>
#include <vector>

#include "algorithms/denoise/denoise.hpp"
#include "algorithms/noise/noise_estimate.hpp"
#include "algorithms/support/volume_sample.hpp"
#include "host/volume/volume_source.hpp"

namespace halocline {

/// Job of denoise_into() once its devices are chosen; its arguments are the same. The caller keeps them alive.
class DenoiseJob {
 public:
  DenoiseJob(const VolumeSource& f, const VolumeSource* weights, const DenoiseParameters& parameters,
             const std::vector<Device>& devices, const Volume* reference);
  /// Throws as denoise_into() does.
  DenoiseResult run(VolumeSink& output, const RunOptions& options);

 private:
  void check();
  /// Weights are divided by their mean.
  void normalise_weights();
  /// The grey values are taken less their mean.
  void centre();
  /// Estimates the noise where something has to be chosen by it.
  void judge_noise();
  void estimate();
  void warn_of_other_variances();
  /// Chooses the method's parameter: the step, the noise of a filter or lambda.
  void choose();
  void choose_descent();
  void choose_filter();
  void choose_lambda();
  ParameterChoice make_choice();
  ParameterChoice choice_of_frames();
  ParameterChoice choice_by_rule();
  void take_choice(const ParameterChoice& choice);
  /// Chooses the form, and returns a plan of it.
  Plan choose_form(const RunOptions& options);
  void iterate(VolumeSink& output, const RunOptions& options);
  void warn_of_result(const ValueRange& input, const ValueRange& output);
  void warn_of_filtered(const ValueRange& input, const ValueRange& output);

  const VolumeSource& f_;
  const VolumeSource* weights_;
  const Volume* reference_;
  DenoiseParameters parameters_;
  const std::vector<Device>& devices_;
  const Grid grid_;
  const bool frames_;  // pdu4d

  bool weighted_ = false;   // the problem itself
  bool variances_ = false;  // pdu: weights are all that there is to say of the noise
  std::optional<DividedSource> normalised_;
  double propagated_ = 0;  // the noise that the weights, taken for variances, say
  VolumeSample sample_;
  float offset_ = 0;
  WatchedSource watched_input_;
  std::optional<ShiftedSource> centred_;
  NoiseEstimate noise_;
  bool agree_ = false;                          // the noise by the weights, and as seen
  bool constant_ = false;                       // no strength changes it
  Volume part_, weight_part_, reference_part_;  // the noise is judged by them
  double truth_norm_ = 0;
  MethodParameters method_;
  DenoiseResult result_;
};

}  // namespace halocline
