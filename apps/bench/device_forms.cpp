#include "apps/bench/device_forms.hpp"

#include "scheduling/profiling/rates.hpp"

namespace halocline {

std::unique_ptr<ProjectionMethod> projection_on(const Device& device, const ScanForm& form, const Scan& scan) {
  return make_projection(form, scan, !device.info().cpu());
}

std::unique_ptr<BackprojectionMethod> backprojection_on(const Device& device, ScanForm form, const Scan& scan) {
  const bool gpu = !device.info().cpu() || form.brick != nullptr;
  if (form.projector && form.brick == nullptr) form.brick = faster_brick(device_models({device}), *form.projector);
  return make_backprojection(form, scan, gpu);
}

FdkParameters fdk_parameters(const ScanForm& form) {
  FdkParameters parameters;
  if (form.mode == gridding_mode) parameters.algorithm = FdkAlgorithm::gridding;
  parameters.hardware_interpolation = form.hardware;
  parameters.half_texels = form.half;
  return parameters;
}

}  // namespace halocline
