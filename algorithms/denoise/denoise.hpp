// Denoising a volume, from parameters as a user gives them to a result that says what was done.
#pragma once

#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "algorithms/denoise/parameter_choice.hpp"
#include "algorithms/denoisers/denoise_method.hpp"
#include "scheduling/execution/run.hpp"

namespace halocline {

constexpr int most_iterations = 1000000;

/// Parameters of denoise(). Lengths in mm. `statistical`, Regulariser::guided and `compared` are for plan_denoise():
/// denoise() goes by its weights, its reference and `truth`.
struct DenoiseParameters : GivenParameters {
  std::string method = "pdu";
  std::optional<double> alpha;  // pdu, spdu: 1 / lambda; none: chosen by `strength` (choose_parameter)
  /// Strength in place of alpha, without a unit: alpha = alpha_sigma / (sigma h), where sigma is the noise that
  /// `strength` "auto" uses (pdu with weights: their RMS; pdu4d: estimate_noise_of_frames()) and h mean_spacing(), in
  /// space. The same number has the same effect on a volume in other grey values, with an offset or in other lengths.
  std::optional<double> alpha_sigma;
  int iterations = 500;  // at most
  double gap = 1e-3;     // pdu, spdu: relative duality gap to stop at, below 1; 0: all iterations
  /// pdu, spdu with the schedules default or zhu-chan: iterations a pass over memory (0: two kernels in place, which
  /// need the least memory) and bits of a stored dual component. None: what is fastest on the devices and fits them.
  std::optional<int> stages, dual_bits;
  std::optional<double> step;  // tvgd: RMS change per voxel and iteration; none: a tenth of the estimated noise
  /// ||u - f||_2. tvgd: stop there; none: at the estimated noise, but with `step` given only the iterations count. pdu,
  /// spdu: choose alpha so that it is reached.
  std::optional<double> target_fidelity;
  /// pdu, spdu: these values of alpha one after the other, each from the result and the duals of the one before, each
  /// to the gap or to `iterations`. RunOptions::stage_output gets the results but the last.
  std::vector<double> alpha_path;
  const Volume* init = nullptr;   // the image to start from instead of f, on f's grid; the caller keeps it alive
  const Volume* truth = nullptr;  // the image that records have the error to, on f's grid; it changes no result
  bool compared = false;          // there is one
  std::string strength = "auto";  // pdu, spdu without alpha: one of parameter_rules()
  /// Reconstructions of the odd and even views on f's grid, for the rules "halves" and "auto". The caller's.
  const Volume* half_a = nullptr;
  const Volume* half_b = nullptr;
  /// Choice of an earlier run that RunOptions::checkpoint_store continues, instead of choosing again.
  std::optional<ParameterChoice> chosen;
  /// Called before the run if there was something to choose.
  std::function<void(const ParameterChoice&)> on_parameter_chosen;
};

struct DenoiseResult {
  Volume output;
  int iterations = 0;
  // not a number for tvgd and the filters, but for fidelity
  double alpha = std::numeric_limits<double>::quiet_NaN(), lambda = std::numeric_limits<double>::quiet_NaN();
  /// alpha in units of the noise (DenoiseParameters::alpha_sigma); not a number where noise_sigma is none or 0.
  double alpha_sigma = std::numeric_limits<double>::quiet_NaN();
  double relative_gap = std::numeric_limits<double>::quiet_NaN(), gap = std::numeric_limits<double>::quiet_NaN();
  double primal = std::numeric_limits<double>::quiet_NaN(), dual = std::numeric_limits<double>::quiet_NaN();
  double fidelity = 0;  // ||u - f||_2
  double truth_rmse = std::numeric_limits<double>::quiet_NaN(),
         truth_relative = std::numeric_limits<double>::quiet_NaN();  // of the last record
  double truth_maximum = std::numeric_limits<double>::quiet_NaN();   // the largest value of the truth
  bool converged = false;                                            // gap or target reached; filters: true
  std::string alpha_choice;                                          // how alpha (tvgd: the target) was chosen
  /// Estimated in the input; with weights, where the weight is 1. Not a number where nothing needed it: alpha was
  /// given.
  double noise_sigma = std::numeric_limits<double>::quiet_NaN();
  double step = 0, epsilon = 0,
         target_fidelity = 0;  // tvgd: as used; the target is infinite where iterations alone count
  FusedForm form;              // pdu, spdu
  std::vector<IterationRecord> history;
  Plan plan;
  double seconds = 0;
  std::size_t peak_bytes = 0;
  double bus_bytes = 0;
  double rank_bytes = 0;            // RunResult::rank_bytes
  std::vector<StageRecord> stages;  // of a path: those that were begun; numbers above are those of the last
  bool stalled = false;             // given up, because float32 (or the type of the duals) gets no nearer
  StoppedBy stopped_by = StoppedBy::iterations;
  Regulariser regulariser;  // as used: reference_eta is set if there was a reference
  bool rule_met = true;     // false: alpha is an end of the search for it (ParameterChoice::met)
  double rounding = 0;      // tvgd: grey values; a step below it is lost in float32
  double spread = 0;        // of the input: RMS about its mean, of a sample where it is large
  double largest = 0;       // of the input's grey values, without their sign
  double weight_span = 1;   // spdu, tvgd with weights: the largest over the least positive one
  /// Warnings: that nothing happened or nothing is left (effect_warning), that alpha, the noise or the weights are
  /// doubtful.
  std::vector<std::string> warnings;
};

/// Types of stored duals: "float32", "snorm16", and their bits.
const std::vector<std::string>& dual_names();
int dual_bits_named(const std::string& name);

/// Throws InputError that names `method`, `alpha`, `alpha_path`, `iterations`, `gap`, `step`, `target_fidelity`,
/// `adaptive_delta`, `stages`, `dual_bits` or what check_regulariser() and check_filter_parameters() and
/// check_time_axis() name if a value is out of range or belongs to another method.
void check_denoise_parameters(const DenoiseParameters& parameters);
/// Throws InputError that names `weights` where they would have no use. `halves`: they are given.
void check_use_of_weights(const DenoiseParameters& parameters, bool halves);
/// "`step`, `iterations` and `target_fidelity`" for tvgd, and so on: what to give instead of another method's
/// parameter.
std::string own_options(const std::string& method);

/// Denoises `f`. weights: the noise variance at every voxel up to a factor, on f's grid; spdu needs it, tvgd takes it
/// (its steps are then proportional to the noise's standard deviation), and pdu takes the variance itself to choose
/// alpha by, its problem having no weights; for others it is an InputError. It is divided by the mean of its positive
/// values, 0 means that no view saw the voxel, negative or non-finite values are an InputError. The mean of f (of a
/// fixed sample, where it is large) is subtracted before and added afterwards: grey values with a large offset do not
/// lose digits. Where alpha or the step have to be chosen, the noise is estimated in the central part of at most 256^3
/// voxels. reference: that of directional total variation, on f's grid, for pdu and spdu. For pdu4d f is stacked frames
/// (see algorithms/denoise/frames.hpp), and so is the output. A constant volume, or a single voxel, needs no alpha, no
/// step and no noise (unless there are halves): it is returned unchanged, with a warning.
/// DenoiseParameters::init takes the place of RunOptions::initial. Throws what run_program() throws, too.
DenoiseResult denoise(const Volume& f, const Volume* weights, const DenoiseParameters& parameters,
                      const std::vector<Device>& devices, const RunOptions& options = {},
                      const Volume* reference = nullptr);

/// Denoises from and to wherever the voxels are stored: a file, a caller's own memory (MemorySource, MemorySink),
/// volumes of whole numbers (TypedSource). DenoiseResult::output stays empty.
DenoiseResult denoise_into(const VolumeSource& f, const VolumeSource* weights, VolumeSink& output,
                           const DenoiseParameters& parameters, const std::vector<Device>& devices,
                           const RunOptions& options = {}, const Volume* reference = nullptr);

/// The plan for a volume that need not be there yet: in the form that denoise() would take on these devices, which may
/// have to be tried first.
Plan plan_denoise(const Grid& grid, const DenoiseParameters& parameters, const std::vector<Device>& devices,
                  const PlanOptions& options = {});
/// Plan for devices that need not be present either.
Plan plan_denoise(const Grid& grid, const DenoiseParameters& parameters, std::span<const DeviceModel> devices,
                  const PlanOptions& options = {});

}  // namespace halocline
