// Choosing the weight of the total variation without trial and error.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "algorithms/denoisers/denoise_method.hpp"
#include "host/opencl/device.hpp"
#include "host/volume/volume_source.hpp"

namespace halocline {

/// auto, discrepancy, halves, sure.
const std::vector<std::string>& parameter_rules();

/// Problem whose strength is chosen. The volumes are on one grid.
struct ParameterProblem {
  std::string method = "pdu";                   // of the registry; its input f has a mean near 0
  MethodParameters parameters;                  // of the run; size, lambda, iterations and gap are replaced
  std::map<std::string, const Volume*> inputs;  // by the method's names: f, and w for spdu
  const Volume* variance = nullptr;             // pdu: of the noise of each voxel over sigma^2, known from elsewhere
  std::optional<double> sigma;                  // the noise where w or variance is 1, if it is known
  std::optional<double> target_fidelity;        // ||u - f||_2 to be reached; only for the rule "auto"
  std::optional<std::size_t> whole_voxels;      // of which f is a part; target_fidelity is for so many
  std::optional<double> lambda_by_noise;        // mm: lambda over sigma, see ParameterChoice; only for the rule "auto"
  const Volume* half_a = nullptr;               // reconstructions of the odd and even views; for "halves", and for
  const Volume* half_b = nullptr;               // "auto", which then is "halves"
};

struct ParameterChoice {
  double lambda = 0;  // 1 / alpha
  double sigma = 0;   // the noise that it was chosen by: RMS over the volume, or where w or variance is 1
  std::string how;    // for reports
  /// False: the rule is not met, because the search came to an end of its range; this is the nearest.
  bool met = true;
  std::vector<std::string> warnings;  // warnings that it is not met, or that the weights do not fit the noise
};

/// Chooses lambda by one of the rules. Runs on the first device, on the central part of at most 128^3 voxels, with PDU
/// runs to a relative gap of 3e-3, and rounded to three digits: it does not depend on devices or slabs, scales with
/// grey values and spacing, and does not change with an offset.
///
/// sure: the lambda with the least mean squared error to the unknown truth, estimated with more noise of the same kind:
/// if f = x + n and d is independent of n with its covariance, then f + t d and f - d / t have independent noise, so
/// that ||u(f + t d) - (f - d / t)||^2 is the error of u at sqrt(1 + t^2) times the noise plus a constant (Oliveira,
/// Lei & Tibshirani 2022; Pang, Zheng, Quan & Ji 2021). For t -> 0 it is Monte Carlo SURE (Ramani, Blu & Unser 2008),
/// whose finite difference it replaces: t = 1/2 has less variance and no bias, and the lambda found is divided by
/// sqrt(1 + t^2), because the best lambda is proportional to the noise. With few voxels the mean with d and -d is
/// taken, without which chance in d decides more than that in f. d is drawn with a fixed seed; its variance is the
/// noise_map() of f, or sigma^2 w where there are weights or variances; neighbours share it as estimate_noise() sees in
/// f.
///
/// halves: the same with d = (A - B) / 2 from reconstructions of the odd and even views, which has the covariance of
/// the noise of f = (A + B) / 2 whatever it is. Since f + d = A and f - d = B, t = 1 is to minimise ||u(A) - B||^2, and
/// t = 1/2 the same at 1.12 instead of 1.41 times the noise. Where views are sparse, d has stronger streaks than f;
/// noise_without_streaks() takes them down to what f holds, from the lambda that suits d, and lambda is searched for
/// again. A warning says so where less than 80 % of d is left.
///
/// discrepancy: ||u - f||^2 is the noise's (Morozov 1966; choose_lambda()).
///
/// auto: target_fidelity or lambda_by_noise if there is one, else halves if they are given, else sure. lambda_by_noise
/// times the noise that halves or sure would go by is not searched for and not rounded, so that the result in other
/// units is the same to float32's rounding.
///
/// Measured excess of the RMSE over that of the best lambda by search (two balls, Shepp-Logan and blade of 32^3 to
/// 64^3, slices of 128^2 and 256^2, three noise levels, noise that varies threefold). White noise: halves 2 %, sure 1.6
/// %, on foam of the finest holes 0.5 % in 48^3, 1.1 % in 64^2 voxels, once 2.3 %, where chance in the noise estimate
/// decides; discrepancy 2 to 29 %, for a hundredth of the noise decides there. Noise that went through FDK (Ram-Lak,
/// Hann; 120, 180 views): halves 1 %, against a truth that has no streaks 3 % (64^3 voxels from 80 views and 2e4
/// photons on 0 to 8 %, from 20 views 17 to 40 %); sure 2 % for S-PDU with propagated variances and 2 % for PDU, but on
/// the blade, whose noise is gathered in a small part of the volume, 45 %; discrepancy 23 %.
///
/// Throws InputError that names `alpha` where there is nothing to choose by: no noise, a single voxel, values that are
/// not finite; or `half_a, half_b`, if they are missing, on another grid, the same, or not those of f.
ParameterChoice choose_parameter(const std::string& rule, const ParameterProblem& problem,
                                 const std::vector<Device>& devices);

/// Advice how to smooth more or less, as "an `alpha` below 7 smooths more"; empty: not known.
struct EffectAdvice {
  std::string smoother, gentler;
};

/// The geometric mean of the spacings along axes with more than one voxel; 1 if there is none. Alpha without a unit is
/// alpha sigma times this.
double mean_spacing(const Grid& grid);

constexpr const char* constant_warning = "the volume is constant: there is nothing to denoise";

/// Warning after a run: a constant volume, a change below 1e-3 of the noise (no noise given: of the input's range), or
/// a result that is flat to 1e-3 of the input's range. Empty if neither.
std::string effect_warning(const ValueRange& input, const ValueRange& output, double rms_change, double noise,
                           const EffectAdvice& advice = {});

}  // namespace halocline
