// Warnings about a denoised volume.
#pragma once

#include <string>
#include <vector>

#include "algorithms/denoise/denoise.hpp"
#include "algorithms/noise/noise_estimate.hpp"

namespace halocline {

/// True if the noise was estimated at too few places to be sure of it.
bool few_places(const NoiseEstimate& noise, const Grid& grid);
void warn_of_few_places(const NoiseEstimate& noise, const Grid& grid, const DenoiseParameters& parameters,
                        std::vector<std::string>& warnings);

/// Half a unit in the last place of the largest value that is calculated with.
double largest_rounding(const ValueRange& range, float offset);

/// Warning that rounding spoils the certificate: it holds for the result before the offset is added again, which rounds
/// it: as noise of sd step / sqrt(12), whose total variation comes on top where the result is flat. Empty where that
/// does not matter.
std::string rounding_warning(const ValueRange& output, double offset, const Grid& grid, const MethodParameters& method,
                             const DenoiseResult& result);

/// Throws InputError if the result left the range of float32. For a result that is not committed yet.
void require_finite_result(const DenoiseParameters& parameters, const DenoiseResult& result, const ValueRange& output);

/// Warning about a result as a whole; empty: none. Bounds that contain all values have no
/// effect on total variation.
std::string result_warning(const ValueRange& input, const ValueRange& output, const DenoiseParameters& parameters,
                           const DenoiseResult& result, double rms_change, double noise);

}  // namespace halocline
