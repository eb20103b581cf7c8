// Number of iterations a pass over memory does, and how duals are stored.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "algorithms/denoise/denoise.hpp"

namespace halocline {

/// The form in which iterations are done, and the plan that it was chosen by.
struct PlannedForm {
  FusedForm form;
  Plan plan;
};

/// Plans with the fastest form, which takes about twice the memory, unless it would have to be streamed and the one in
/// place would be resident, and streaming takes longer.
/// fastest: as known of these devices, or tried.
PlannedForm plan_form(const Grid& grid, const DenoiseParameters& parameters, FusedForm fastest,
                      std::span<const DeviceModel> devices, const PlanOptions& options);

/// The form for these devices, which may have to be tried first, by a plan of it that was made before, or another one.
/// Throws InputError that names `stages` or `dual_bits` if a form is given that one of them cannot take or computes
/// wrongly.
PlannedForm plan_form_of_run(const std::vector<Device>& devices, const Grid& grid, const DenoiseParameters& parameters,
                             const PlanOptions& options, const std::optional<Plan>& planned = {});

}  // namespace halocline
