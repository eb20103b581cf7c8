// The weight of the total variation from the noise in the data.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "algorithms/regulariser.hpp"
#include "algorithms/volume_sample.hpp"
#include "host/device.hpp"
#include "host/volume.hpp"

namespace halocline {

/// Strengths are searched for on no more voxels than these, the central ones.
constexpr std::size_t most_searched_voxels = 128 * 128 * 128;
/// Strengths are rounded, so that they hang on no rounding of the way to them.
double to_three_digits(double value);

struct LambdaChoice {
  double lambda = 0;
  std::string how;   // for reports: rule, noise, what it was measured on
  double sigma = 0;  // the noise, where the weight is 1
  /// Empty, or that no lambda has the distance, and which end of the search this one is.
  std::string warning;
};

/// Morozov's discrepancy principle (1966; for total variation Chambolle 2004): the lambda for which the denoised u has
/// ||u - f||^2 = sigma^2 sum w (w = 1 without weights) with estimate_noise()'s sigma; with target_fidelity, for which
/// ||u - f||_2 is that. The norm has no weights: weighted with 1 / w it would count most where noise is least, and
/// there S-PDU leaves much of it, because it smooths by lambda w against a noise of sigma sqrt w; the noisy places
/// would have to be smoothed far too much to make up for that. Found by secants on the logarithms with PDU runs to a
/// relative gap of 3e-3, on the first device; of volumes with more than 128^3 voxels on a central part of at most so
/// many, with that part's noise. Rounded to three digits: it does not depend on devices or slabs. Throws InputError
/// that names --alpha where there is no noise to go by. `sigma`: the noise where the weight is 1, if it is known
/// (propagated variances), instead of the estimate. `whole_voxels`: of how many voxels f is a part,
/// if it is one; target_fidelity is for so many. regulariser, reference: of the problem whose lambda it is (see
/// Regulariser).
LambdaChoice choose_lambda(const Volume& f, const Volume* weights, std::optional<double> target_fidelity,
                           const std::vector<Device>& devices, std::optional<double> sigma = std::nullopt,
                           std::optional<std::size_t> whole_voxels = std::nullopt, const Regulariser& regulariser = {},
                           const Volume* reference = nullptr);

struct LambdaSolution {
  double lambda = 0;
  bool reached = false;  // false: no lambda has that distance, and this one comes nearest
  bool flat = false;     // that is so because a flat image is not so far away
};

/// distance(lambda) = target, where distance grows with lambda until the image is flat; from `start`, to three digits.
LambdaSolution solve_for_lambda(const std::function<double(double)>& distance, double target, double start);

/// LambdaChoice::warning of one that was not reached: the distance is that of a noise of `sigma`, or target_fidelity.
std::string unreached_warning(const LambdaSolution& solution, double sigma, std::optional<double> target_fidelity);

/// 1 mm for unit voxels; where differences along the finest axes weigh most, their spacing: lambda over it goes with
/// grey values alone.
double typical_spacing(const Grid& grid);

}  // namespace halocline
