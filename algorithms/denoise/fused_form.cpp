#include "algorithms/denoise/fused_form.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "algorithms/calibration/form_trial.hpp"
#include "algorithms/calibration/tune.hpp"
#include "algorithms/denoise/denoise_parameters.hpp"
#include "algorithms/denoisers/fused_variants.hpp"
#include "algorithms/denoisers/recorded_reduction.hpp"
#include "algorithms/denoisers/registry.hpp"
#include "host/system/error.hpp"
#include "scheduling/execution/failover.hpp"
#include "scheduling/planning/layout.hpp"
#include "scheduling/planning/program_plan.hpp"
#include "scheduling/profiling/rates.hpp"
#include "scheduling/transport/rank_devices.hpp"

namespace halocline {

namespace {

// The form that the user or the method says; nothing where that is the planner's choice.
std::optional<FusedForm> given_form(const DenoiseParameters& parameters, FusedForm& fastest) {
  if (!fuses(parameters)) return FusedForm{};
  if (parameters.stages) fastest.stages = *parameters.stages;
  if (parameters.dual_bits) fastest.dual_bits = *parameters.dual_bits;
  if (fastest.stages == 0 && fastest.dual_bits != 32) fastest.stages = 1;
  if (parameters.stages && *parameters.stages == 0) return FusedForm{};
  if (parameters.stages || parameters.dual_bits || fastest.stages == 0) return fastest;
  return std::nullopt;
}

// A method of this form, for the planner.
class FormedMethod {
 public:
  FormedMethod(FusedForm form, const Grid& grid, const DenoiseParameters& parameters)
      : parameters_(method_parameters(grid, parameters)) {
    parameters_.fused = form;
    denoiser_ = make_denoiser(parameters.method, parameters_);
    recorded_.emplace(*denoiser_, parameters_);
  }
  Program program() { return recorded_->program(); }

 private:
  MethodParameters parameters_;
  std::unique_ptr<DenoiseMethod> denoiser_;
  std::optional<RecordedReduction> recorded_;
};

Plan plan_with(FusedForm form, const Grid& grid, const DenoiseParameters& parameters,
               std::span<const DeviceModel> devices, const PlanOptions& options) {
  return plan_program(FormedMethod(form, grid, parameters).program(), devices, options);
}

}  // namespace

PlannedForm plan_form(const Grid& grid, const DenoiseParameters& parameters, FusedForm fastest,
                      std::span<const DeviceModel> devices, const PlanOptions& options) {
  const auto with = [&](FusedForm form) {
    return PlannedForm{form, plan_with(form, grid, parameters, devices, options)};
  };
  if (const auto given = given_form(parameters, fastest)) return with(*given);
  const auto fits = [](const Plan& plan) { return plan.resident || plan.streamed; };
  try {
    PlannedForm fused = with(fastest);
    if (fits(fused.plan)) return fused;
    PlannedForm in_place = with({});
    return !fits(in_place.plan) || fused.plan.seconds < in_place.plan.seconds ? fused : in_place;
  } catch (const PlanError&) {
    return with({});
  }
}

namespace {

// Form that tuning found on all ranks, or that is known for devices like theirs; for others, that of a trial, which is
// then kept, if the work is worth its tenths of a second: the least of all ranks.
FusedForm fastest_form(const std::vector<Device>& devices, const Grid& grid, const DenoiseParameters& parameters,
                       const PlanOptions& options) {
  const auto models = models_of_all(devices, options);
  if (const auto stages = tuned_stages(models, parameters.method)) return {*stages, 32};
  if (const auto known = known_form(models)) return *known;
  constexpr double worth_a_trial = 5e9;  // voxel-iterations: 464^3 voxels and more, as often as is usual
  constexpr double usual_iterations = 50;
  const double work = static_cast<double>(grid.count()) * std::min<double>(usual_iterations, parameters.iterations);
  if (!fuses(parameters) || parameters.stages || parameters.dual_bits || work < worth_a_trial) return {};
  const int stages = with_failover(devices, [&](const std::vector<Device>& working) {
    const auto trial = [&](const Device& device) {
      if (const auto known = known_form(device_models({device}))) return known->stages;
      return tried_form({device}, parameters.method == "spdu", grid.size).stages;
    };
    return tuned_or_tried_stages(working, parameters.method, trial);
  });
  return {static_cast<int>(ranks_of(options).least("iterations a pass", stages)), 32};
}

// The form, if all devices, of all ranks, have work-groups that are large enough for it and compute it rightly.
FusedForm form_on(const std::vector<Device>& devices, FusedForm form, const Grid& grid,
                  const DenoiseParameters& parameters, Ranks& all) {
  const auto small = std::find_if(devices.begin(), devices.end(), [&](const Device& device) {
    return !takes_stages(device.info(), form.stages, grid.size[0]);
  });
  if (small != devices.end() && (parameters.stages || parameters.dual_bits))
    throw InputError(
        fmt::format("`stages = {}`: the work-groups of {} are too small; give fewer", form.stages, small->info().name));
  if (all.any("whether work-groups are too small", small != devices.end())) return {};
  if (form.stages == 0) return form;
  const Variant variant = fused_variant(parameters.method == "spdu", form.stages);
  if (parameters.stages || parameters.dual_bits) {
    require_variant(variant, devices, parameters.stages ? fmt::format("`stages = {}`", form.stages) : "`dual_bits`");
  } else if (!variant_works(variant, devices, "two kernels in place do the iterations", all)) {
    return {};
  }
  return form;
}

}  // namespace

PlannedForm plan_form_of_run(const std::vector<Device>& devices, const Grid& grid, const DenoiseParameters& parameters,
                             const PlanOptions& options, const std::optional<Plan>& planned) {
  Ranks& all = ranks_of(options);
  FusedForm fastest = fastest_form(devices, grid, parameters, options);
  const auto given = given_form(parameters, fastest);
  const FusedForm wanted = given.value_or(fastest);
  if (planned)
    for (const FusedForm form : {wanted, FusedForm{}})
      if (is_plan_of(*planned, FormedMethod(form, grid, parameters).program().needs) &&
          form_on(devices, form, grid, parameters, all).stages == form.stages)
        return {form, *planned};
  const auto models = models_of_all(devices, options);
  std::optional<PlannedForm> chosen;
  if (!given) chosen = plan_form(grid, parameters, fastest, models, options);
  const FusedForm works = form_on(devices, chosen ? chosen->form : wanted, grid, parameters, all);
  if (chosen && works.stages == chosen->form.stages) return *chosen;
  return {works, plan_with(works, grid, parameters, models, options)};
}

}  // namespace halocline
