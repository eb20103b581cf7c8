// The settings of iterative reconstruction.
#pragma once

#include <optional>
#include <string>

#include "algorithms/jobs/denoise_settings.hpp"
#include "algorithms/jobs/ray_settings.hpp"
#include "algorithms/preprocessing/counts.hpp"
#include "algorithms/solvers/methods.hpp"
#include "algorithms/solvers/ray_weights.hpp"

namespace halocline {

struct ReconstructSettings {
  ReconstructionParameters parameters;
  PenaltySettings penalty;
  RaySettings rays;
  bool counts = false;
  std::string interpolation = "exact", precondition = "none", operator_form = "auto";
  std::optional<double> lambda, alpha;  // none: lambda is chosen
  std::optional<double> photons;        // of the open beam in a pixel
  double electronic = 0;                // photons
  bool no_weights = false;
  std::string init;       // "fdk", "zero" or the name of an image; empty: by the method
  double time_limit = 0;  // s; 0: none
  bool keep_partial = false;

  bool penalised() const { return solver_method(parameters.method).penalty; }
  bool chooses_lambda() const { return penalised() && !lambda && !alpha; }
  /// The image to begin with: "fdk", "zero" or the name of an image.
  std::string start() const { return !init.empty() ? init : begins_with_fdk(parameters) ? "fdk" : "zero"; }
  bool starts_from_image() const { return start() != "fdk" && start() != "zero"; }
  /// Returns true if rays get weights. given: weights are among the inputs.
  bool weighted(bool given) const;
  /// Weights of line integrals, by `photons` or the calibration's open beam. pixels: of the detector in each of theirs.
  WeightsOfCounts weights_of(const VolumeSource& line_integrals, const CountsCalibration* calibration,
                             double pixels = 1) const;
};

/// counts: gets the settings of how counts become line integrals.
void add_reconstruct_settings(Settings& settings, ReconstructSettings& reconstruct, CountsOptions& counts);

/// Arrays that a job of reconstruction is given.
struct ReconstructArrays {
  bool weights = false, reference = false, gap_map = false;
};

/// Completes `parameters`. Throws InputError that names the settings which do not go together.
void take_reconstruct_settings(ReconstructSettings& reconstruct, const ReconstructArrays& given);

}  // namespace halocline
