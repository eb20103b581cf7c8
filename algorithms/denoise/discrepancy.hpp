// The weight of the total variation from the noise in the data.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "algorithms/denoisers/denoise_method.hpp"
#include "host/opencl/device.hpp"
#include "host/volume/volume.hpp"

namespace halocline {

/// Strengths are searched for on no more voxels than these, the central ones.
constexpr std::size_t most_searched_voxels = 128 * 128 * 128;
/// Rounds strengths, so that they do not depend on rounding errors of the way to them.
double to_three_digits(double value);

struct LambdaChoice {
  double lambda = 0;
  std::string how;   // for reports: rule, noise, what it was measured on
  double sigma = 0;  // the noise, where the weight is 1
  /// Empty, or that no lambda has the distance, and which end of the search this one is.
  std::string warning;
};

/// Problem of the search: the volume, its noise, and how it is reported.
struct DiscrepancyProblem {
  std::string method;                           // of the registry, one that has a certificate
  MethodParameters parameters;                  // size, spacing and what else the method needs; lambda, iterations and
                                                // gap are replaced
  std::map<std::string, const Volume*> inputs;  // by the method's names: f at least
  double sigma = 0;                             // the noise where the weight is 1; 0: none
  double variance = 1;                          // its mean square over the voxels, in units of sigma^2
  std::string noise;                            // for reports: where sigma is from, as " from the variances"
  std::optional<double> target_fidelity;        // instead of the noise
  std::size_t whole_voxels = 0;                 // of which f is a part; target_fidelity is for so many
  double spacing = 1;                           // typical_spacing()
  std::string object = "volume", part;          // for reports: what f is, and which part, as ", on the central ..."
};

/// Morozov's discrepancy principle (1966; for total variation Chambolle 2004): the lambda for which the denoised u has
/// ||u - f||^2 = sigma^2 variance N, N voxels; with target_fidelity, for which ||u - f||_2 is that. Found by secants on
/// the logarithms with runs to a relative gap of 3e-3 on `device`, and rounded to three digits: it does not depend on
/// devices or slabs. Throws InputError that names `alpha` where there is no noise to go by.
LambdaChoice choose_lambda(DiscrepancyProblem problem, const Device& device);

/// 1 mm for unit voxels; where differences along the finest axes weigh most, their spacing: lambda over it goes with
/// grey values alone.
double typical_spacing(const Grid& grid);

}  // namespace halocline
