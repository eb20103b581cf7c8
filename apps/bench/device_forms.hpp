// Projectors and their adjoints in a form, as a device takes them.
#pragma once

#include <memory>

#include "algorithms/fdk/fdk_parameters.hpp"
#include "algorithms/projectors/scan_forms.hpp"
#include "host/opencl/device.hpp"

namespace halocline {

std::unique_ptr<ProjectionMethod> projection_on(const Device& device, const ScanForm& form, const Scan& scan);
/// Joseph's adjoint in bricks where a device takes them by default.
std::unique_ptr<BackprojectionMethod> backprojection_on(const Device& device, ScanForm form, const Scan& scan);

/// Name of the form of fdk() in Fourier space.
inline constexpr const char* gridding_mode = "gridding";

/// Parameters of a call of fdk() with voxel-driven back-projection in that form, or of gridding_mode.
FdkParameters fdk_parameters(const ScanForm& form);

}  // namespace halocline
