#include "algorithms/denoise/fused_form.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "algorithms/calibration/form_trial.hpp"
#include "algorithms/calibration/tune.hpp"
#include "algorithms/denoise/denoise_parameters.hpp"
#include "algorithms/denoisers/fused_variants.hpp"
#include "algorithms/denoisers/registry.hpp"
#include "host/system/error.hpp"
#include "scheduling/execution/failover.hpp"
#include "scheduling/planning/program_plan.hpp"
#include "scheduling/profiling/rates.hpp"

namespace halocline {

FusedForm form_for(const Grid& grid, const DenoiseParameters& parameters, FusedForm fastest,
                   std::span<const DeviceModel> devices, const PlanOptions& options) {
  if (!fuses(parameters)) return {};
  FusedForm form = fastest;
  if (parameters.stages) form.stages = *parameters.stages;
  if (parameters.dual_bits) form.dual_bits = *parameters.dual_bits;
  if (form.stages == 0 && form.dual_bits != 32) form.stages = 1;
  if (parameters.stages && *parameters.stages == 0) return {};
  if (parameters.stages || parameters.dual_bits || form.stages == 0) return form;
  MethodParameters method = method_parameters(grid, parameters);
  PlanOptions staying = options;
  staying.may_stream = false;
  const auto plan = [&](FusedForm each, const PlanOptions& how) {
    method.fused = each;
    return plan_program(make_denoiser(parameters.method, method)->program(), devices, how);
  };
  try {
    if (plan(form, staying).resident || !plan({}, staying).resident) return form;
    return plan(form, options).seconds < plan({}, options).seconds ? form : FusedForm{};
  } catch (const PlanError&) {
    return {};
  }
}

namespace {

// What tuning found, or what is known of devices like these; of others, by a trial if the work is worth its tenths of a
// second, which is then kept.
FusedForm fastest_form(const std::vector<Device>& devices, const Grid& grid, const DenoiseParameters& parameters) {
  if (const auto stages = tuned_stages(devices, parameters.method)) return {*stages, 32};
  if (const auto known = known_form(device_models(devices))) return *known;
  constexpr double worth_a_trial = 5e9;  // voxel-iterations: 464^3 voxels and more, as often as is usual
  constexpr double usual_iterations = 50;
  const double work = static_cast<double>(grid.count()) * std::min<double>(usual_iterations, parameters.iterations);
  if (!fuses(parameters) || parameters.stages || parameters.dual_bits || work < worth_a_trial) return {};
  return with_failover(devices, [&](const std::vector<Device>& working) {
    const auto trial = [&](const Device& device) {
      if (const auto known = known_form(device_models({device}))) return known->stages;
      return tried_form({device}, parameters.method == "spdu", grid.size).stages;
    };
    return FusedForm{tuned_or_tried_stages(working, parameters.method, trial), 32};
  });
}

// The form, if all devices have work-groups that are large enough for it and compute it rightly.
FusedForm form_on(const std::vector<Device>& devices, FusedForm form, const Grid& grid,
                  const DenoiseParameters& parameters) {
  for (const auto& device : devices)
    for (int stages = 1; stages <= form.stages; ++stages)
      if (!has_fused_tile(device.info(), stages, grid.size[0])) {
        if (parameters.stages || parameters.dual_bits)
          throw InputError(fmt::format("`stages = {}`: the work-groups of {} are too small; give fewer", form.stages,
                                       device.info().name));
        return {};
      }
  if (form.stages == 0) return form;
  const Variant variant = fused_variant(parameters.method == "spdu", form.stages);
  if (parameters.stages || parameters.dual_bits) {
    require_variant(variant, devices, parameters.stages ? fmt::format("`stages = {}`", form.stages) : "`dual_bits`");
  } else if (!variant_works(variant, devices, "two kernels in place do the iterations")) {
    return {};
  }
  return form;
}

}  // namespace

FusedForm form_of_run(const std::vector<Device>& devices, const Grid& grid, const DenoiseParameters& parameters,
                      const PlanOptions& options) {
  const FusedForm fastest = fastest_form(devices, grid, parameters);
  return form_on(devices, form_for(grid, parameters, fastest, device_models(devices), options), grid, parameters);
}

Plan plan_with(FusedForm form, const Grid& grid, const DenoiseParameters& parameters,
               std::span<const DeviceModel> devices, const PlanOptions& options) {
  MethodParameters method = method_parameters(grid, parameters);
  method.fused = form;
  return plan_program(make_denoiser(parameters.method, method)->program(), devices, options);
}

}  // namespace halocline
