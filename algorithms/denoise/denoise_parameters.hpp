// Parameters of the iterations from those of the user.
#pragma once

#include <optional>
#include <string>

#include "algorithms/denoise/denoise.hpp"

namespace halocline {

/// True if the method is a descent, which has a step instead of an alpha.
bool descends(const DenoiseParameters& parameters);
/// True if several iterations may be done in a pass over memory.
bool fuses(const DenoiseParameters& parameters);
bool gives_alpha(const DenoiseParameters& parameters);

/// 1 / alpha and its square must be float32 numbers: else an InputError that names `parameter`.
void check_alpha(const std::string& parameter, const std::optional<double>& alpha);

/// The box with bounds that float32 has: results are such numbers, and none of them may be outside.
Regulariser within_float32(Regulariser regulariser);

/// Parameters that do not depend on the voxels.
MethodParameters method_parameters(const Grid& grid, const DenoiseParameters& parameters);

/// The h of alpha_sigma. A weight of time is not in it: it says how alike frames are made, not how smooth each is.
double strength_spacing(Grid grid, const DenoiseParameters& parameters);

}  // namespace halocline
