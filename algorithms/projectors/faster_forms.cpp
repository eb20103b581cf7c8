#include "algorithms/projectors/faster_forms.hpp"

#include <algorithm>

#include "algorithms/projectors/joseph_slices_adjoint.hpp"
#include "algorithms/projectors/scan_forms.hpp"
#include "host/opencl/quirks.hpp"
#include "host/system/error.hpp"
#include "scheduling/planning/program_plan.hpp"
#include "scheduling/transport/rank_devices.hpp"

namespace halocline {
namespace {

bool all_cpu(std::span<const DeviceModel> models) {
  return std::all_of(models.begin(), models.end(), [](const DeviceModel& each) { return each.cpu; });
}

}  // namespace

ProjectionParameters faster_forms(ProjectionParameters parameters, std::span<const DeviceModel> devices,
                                  const Geometry& geometry, const Grid& volume, const Grid& projections) {
  parameters.gpu = parameters.gpu || !all_cpu(devices);
  parameters.slices_innermost =
      parameters.slices_innermost ||
      (parameters.projector == Projector::joseph && slices_innermost_pay(devices, geometry, volume, projections));
  parameters.upright = parameters.upright || upright_pays(devices, parameters.projector, projections);
  parameters.texel_pairs =
      std::all_of(devices.begin(), devices.end(), [](const auto& each) { return each.texel_pairs; });
  return parameters;
}

// On an H200 images are faster by a quarter (benchmarks/results/nvidia-h200.md).
bool siddon_from_images(std::span<const DeviceModel> devices, const Grid& volume, const Grid& projections) {
  const auto models = models_for(devices, volume.size, projections.size);
  const auto takes = [side = std::max(volume.size[0], volume.size[1]), layers = volume.size[2]](const auto& device) {
    if (device.cpu || side > device.image_side || layers > device.image_layers) return false;
    const auto tuned = device.choices.find(siddon_form_choice);
    return tuned != device.choices.end() ? tuned->second == images_form : is_hopper(device.platform, device.name);
  };
  return !models.empty() && std::all_of(models.begin(), models.end(), takes);
}

bool images_pay(const Geometry& geometry, const Grid& volume, const Grid& projections, ProjectionParameters parameters,
                std::span<const DeviceModel> devices, const PlanOptions& options) {
  if (parameters.images || parameters.upright || parameters.projector != Projector::siddon ||
      !siddon_from_images(devices, volume, projections))
    return false;
  const auto slabs = [&](bool images) {
    parameters.images = images;
    return plan_program(program_of(RayProjection(geometry, volume, projections, parameters)), devices, options)
        .slabs.size();
  };
  try {
    return slabs(true) <= slabs(false);
  } catch (const PlanError&) {  // too little memory for images, or for anything, which the run will report
    return false;
  }
}

std::shared_ptr<const BackprojectionMethod> faster_adjoint(const Geometry& geometry, const Grid& projections,
                                                           const Grid& volume, const Projector& projector,
                                                           std::span<const DeviceModel> devices) {
  if (auto slices = faster_in_slices(geometry, projections, volume, projector, devices)) return slices;
  return std::make_shared<RayBackprojection>(geometry, projections, volume, projector, !all_cpu(devices),
                                             faster_brick(devices, projector));
}

std::vector<DeviceModel> without_faults(std::vector<DeviceModel> models, const FormWorks& works,
                                        const Projector& projector, Directions directions, const Geometry& geometry,
                                        const Grid& volume, const Grid& projections) {
  models = models_for(models, volume.size, projections.size);
  if (projector.users() != nullptr) return models;
  const auto check = [&](const Variant& variant, const char* choice, const char* other, const char* instead) {
    if (works(variant, instead)) return;
    for (DeviceModel& model : models) model.choices[choice] = other;
  };
  if (directions != Directions::adjoint) {
    if (projector == Projector::joseph && slices_innermost_pay(models, geometry, volume, projections))
      check(variant_of("joseph-slices"), slice_form_choice, rays_form, "the volume as it lies serves");
    if (upright_pays(models, projector, projections))
      check(variant_of(projector_name(projector) + "-upright"), upright_form_choice, rays_form,
            "rays in any order serve");
    if (projector == Projector::siddon && siddon_from_images(models, volume, projections))
      check(variant_of("siddon-images"), siddon_form_choice, buffers_form, "buffers serve");
  }
  if (directions != Directions::forward) {
    if (faster_in_slices(geometry, projections, volume, projector, models))
      check(variant_of("joseph-adjoint-slices"), slice_form_choice, rays_form, "stacks of voxels serve");
    if (const AdjointBrick* brick = faster_brick(models, projector))
      if (const auto variant = brick_variant(*brick, projector))
        check(*variant, brick_form_choice, rays_form, "others serve");
  }
  return models;
}

std::vector<DeviceModel> checked_models(const std::vector<Device>& devices, const Projector& projector,
                                        Directions directions, const Geometry& geometry, const Grid& volume,
                                        const Grid& projections, const PlanOptions& options) {
  const auto works = [&](const Variant& variant, const std::string& instead) {
    return variant_works(variant, devices, instead, ranks_of(options));
  };
  return without_faults(models_of_all(devices, options), works, projector, directions, geometry, volume, projections);
}

}  // namespace halocline
