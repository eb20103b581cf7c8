// Strength of the total variation of a reconstruction, chosen by halves of the views.
#pragma once

#include <vector>

#include "algorithms/solvers/reconstruct.hpp"

namespace halocline {

struct StrengthTrial {
  double lambda = 0;  ///< of all views
  double misfit = 0;  ///< 1/2 sum w (A x - b)^2 of the half that was left out, per ray
};

struct PenaltyStrength {
  double lambda = 0;
  std::vector<StrengthTrial> trials;  ///< in the order in which they were made
};

/// The strength that predicts views best which were left out: every second view (by gantry angle) is reconstructed with
/// a path of strengths, a factor of 2 apart, each from the result of the one before, and the projections of the others
/// are compared with what was measured there (cross-validation; Stone 1974). Between strengths a parabola is fitted.
/// Half of the views have half of the weight, and the noise of the data term's gradient grows with its root, so lambda
/// of all views is the root of 2 times that of the half. Takes as long as 25 to 50 passes of all views. `grid`: that of
/// the volume. `parameters`: those of a method with a penalty; lambda is ignored. Throws as reconstruct() does, and
/// InputError for fewer than four views.
PenaltyStrength choose_strength(const ReconstructionInputs& inputs, const Geometry& geometry, const Grid& grid,
                                const ReconstructionParameters& parameters, const std::vector<Device>& devices,
                                const RunOptions& options = {});

/// Forecast of choose_strength(), for plans.
struct StrengthForecast {
  Plan plan;  ///< of the first trial, which needs the most memory
  int least_trials = 0, most_trials = 0;
  double least_seconds = 0, most_seconds = 0;  ///< of so many trials
  double host_bytes = 0;                       ///< of what trials hold beside the inputs and the plan
};
/// Throws as choose_strength() does, PlanError.
StrengthForecast plan_strength(const Grid& projections, const Geometry& geometry, const Grid& grid,
                               const ReconstructionParameters& parameters, const GivenInputs& given,
                               const std::vector<DeviceModel>& devices, const PlanOptions& options = {});

}  // namespace halocline
