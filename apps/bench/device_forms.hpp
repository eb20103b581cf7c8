// Projectors and their adjoints in a form, as a device takes them.
#pragma once

#include <memory>

#include "algorithms/projectors/scan_forms.hpp"
#include "host/opencl/device.hpp"

namespace halocline {

std::unique_ptr<ProjectionMethod> projection_on(const Device& device, const ScanForm& form, const Scan& scan);
/// Joseph's adjoint in bricks where a device takes them by default.
std::unique_ptr<BackprojectionMethod> backprojection_on(const Device& device, ScanForm form, const Scan& scan);

}  // namespace halocline
