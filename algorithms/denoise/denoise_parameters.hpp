// What parameters as a user gives them mean to the iterations.
#pragma once

#include <optional>
#include <string>

#include "algorithms/denoise/denoise.hpp"

namespace halocline {

/// Whether the method is a descent, which has a step instead of an alpha.
bool descends(const DenoiseParameters& parameters);
/// Whether several iterations may be done in a pass over memory.
bool fuses(const DenoiseParameters& parameters);
bool gives_alpha(const DenoiseParameters& parameters);

/// 1 / alpha and its square must be float32 numbers: else an InputError that names `parameter`.
void check_alpha(const std::string& parameter, const std::optional<double>& alpha);

/// The box with bounds that float32 has: results are such numbers, and none of them may lie outside.
Regulariser within_float32(Regulariser regulariser);

/// What needs no look at the volume.
MethodParameters method_parameters(const Grid& grid, const DenoiseParameters& parameters);

/// The h of alpha_sigma. A weight of time is not in it: it says how alike frames are made, not how smooth each is.
double strength_spacing(Grid grid, const DenoiseParameters& parameters);

}  // namespace halocline
